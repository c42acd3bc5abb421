"""Questions about whole books are kept without the books' words, and found again where these are the same."""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
Row = dict[str, Any]
TOLD = "The bridge fell at dawn. Nobody had mended it, because the masons were at war with the mayor."
OTHER = "A bridge needs a keystone, and this one had a fine keystone from the quarry in the north."
CHAPTERS = [{"book": "mary_the-bridge", "title": "One", "paragraphs": [OTHER, {"text": TOLD, "head": "Two"}]}]
SECTIONS = [
    {"book": "pump-manual", "title": "Start", "paragraphs": ["Open the valve before you start the pump."]}
]
ASKED = {
    "q": "why did the bridge fall",
    "kind": "why",
    "support": [{"at": "0.2", "quote": TOLD, "answer": "the masons were at war with the mayor"}],
    "wrong": [{"at": "0.1", "quote": OTHER}],
}
ASKED_OF_PUMP = {
    "q": "what comes first",
    "kind": "fact",
    "support": [{"at": "0.1", "quote": "Open the valve", "answer": "Open the valve"}],
    "wrong": [],
}


def write(path: Path, rows: list[Row]) -> None:
    with lzma.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def read(path: Path) -> list[Row]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def run(*said: object) -> None:
    command = [sys.executable, "training/novels.py", *map(str, said)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """The questions about a novel and a manual, packed. `tmp_path` has the texts."""
    write(tmp_path / "books.jsonl.xz", CHAPTERS)
    write(tmp_path / "manuals.jsonl.xz", SECTIONS)
    written = tmp_path / "written"
    written.mkdir()
    (written / "mary_the-bridge.jsonl").write_text(json.dumps(ASKED))
    (written / "pump-manual.jsonl").write_text(json.dumps(ASKED_OF_PUMP))
    path = tmp_path / "kept.jsonl.xz"
    run("pack", tmp_path, written, path)
    return path


def test_kept_questions_have_no_words_of_the_book(kept: Path) -> None:
    text = json.dumps(read(kept))
    assert not {"masons", "valve"} & set(text.split())
    assert "why did the bridge fall" in text


def test_places_are_found_again(kept: Path, tmp_path: Path) -> None:
    run("expand", tmp_path, kept, tmp_path / "out.xz")
    bridge, pump = read(tmp_path / "out.xz")
    (right,) = bridge["right"]
    assert (
        right["a"] == "the masons were at war with the mayor" == right["t"][right["s"] :][: len(right["a"])]
    )
    assert bridge["part"] == "fit"
    assert OTHER in bridge["wrong"][0]
    assert pump["right"][0]["a"] == "Open the valve"


def test_a_question_about_another_version_is_left_out(kept: Path, tmp_path: Path) -> None:
    write(tmp_path / "manuals.jsonl.xz", [SECTIONS[0] | {"paragraphs": ["Shut the valve before you start."]}])
    run("expand", tmp_path, kept, tmp_path / "out.xz")
    assert [row["book"] for row in read(tmp_path / "out.xz")] == ["mary_the-bridge"]


def test_several_kept_files_become_one(kept: Path, tmp_path: Path) -> None:
    run("expand", tmp_path, kept, kept, tmp_path / "out.xz")
    assert len(read(tmp_path / "out.xz")) == 4
