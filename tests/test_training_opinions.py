"""What a strong reader says of passages is kept by numbers, and learnt in place of what they seem to be."""

from __future__ import annotations

import importlib.util
import json
import lzma
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

TRAINING = Path(__file__).parents[1] / "training"
PASSAGES = [
    ["One", "A bridge needs a keystone."],
    ["One", "The bridge fell at dawn, because the masons were at war with the mayor."],
    ["Two", "They say that war brought the bridge down."],
    ["Two", "The mayor had a fine hat."],
    ["Two", "Dawn is early in the north."],
    ["Two", "A bridge is a bridge."],
]
ASKED = {
    "q": "why did the bridge fall",
    "kind": "why",
    "right": [[1, 25, 70]],
    "wrong": [3],
    "words": [[1, 9.0], [5, 4.0], [2, 3.0], [0, 2.0], [4, 1.0]],
}
SAID = {"book": "b", "q": ASKED["q"], "said": {"2": 2, "3": 1, "0": 0}}


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(TRAINING))
    spec = importlib.util.spec_from_file_location(name, TRAINING / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def opinions(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    load("mined", monkeypatch)
    return load("opinions", monkeypatch)


def write_library(folder: Path, passages: list[list[str]] = PASSAGES) -> Path:
    book = {"book": "b", "part": "fit", "passages": passages, "asked": [ASKED]}
    with lzma.open(folder / "library.jsonl.xz", "wt", encoding="utf-8") as file:
        file.write(json.dumps(book) + "\n")
    return folder / "library.jsonl.xz"


def keep(opinions: ModuleType, folder: Path) -> Path:
    (folder / "said.jsonl").write_text(json.dumps(SAID) + "\n", encoding="utf-8")
    opinions.pack(write_library(folder), folder / "said.jsonl", folder / "kept.jsonl.xz")
    return folder / "kept.jsonl.xz"


def read_odds(row: dict[str, Any]) -> dict[str, float]:
    return {text.partition(": ")[2]: odds for text, odds in row["others"]}


def test_what_was_said_of_a_passage_is_learnt(opinions: ModuleType, tmp_path: Path) -> None:
    kept = keep(opinions, tmp_path)
    (row,) = opinions.read_opinions(tmp_path / "library.jsonl.xz", kept, "fit")
    odds = read_odds(row)
    assert odds[PASSAGES[2][1]] == opinions.ODDS[2]
    assert odds[PASSAGES[3][1]] == opinions.ODDS[1], "not what its writer took it for"
    assert odds[PASSAGES[0][1]] == opinions.ODDS[0]
    assert row["said"]
    assert [right["a"] for right in row["right"]] == [PASSAGES[1][1][25:70]]


def test_passages_that_nobody_was_asked_about_are_wrong_behind_the_first(
    opinions: ModuleType, tmp_path: Path
) -> None:
    library = write_library(tmp_path)
    with lzma.open(tmp_path / "none.jsonl.xz", "wt") as file:
        file.write("")
    (row,) = opinions.read_opinions(library, tmp_path / "none.jsonl.xz", "fit")
    odds = read_odds(row)
    assert odds[PASSAGES[3][1]] == opinions.SEEMING
    assert odds[PASSAGES[4][1]] == opinions.NEAR
    assert PASSAGES[5][1] not in odds, "it shares most words, so it may answer"
    assert not row["said"]


def test_kept_opinions_have_no_words_of_the_book(opinions: ModuleType, tmp_path: Path) -> None:
    (row,) = opinions.read_library(keep(opinions, tmp_path))
    assert [n for n, _, _ in row["said"]] == [2, 3, 0]
    assert not any(isinstance(value, str) for one in row["said"] for value in one)


def test_a_passage_that_was_judged_in_two_ways_is_left_out(opinions: ModuleType) -> None:
    again = {"book": "b", "q": ASKED["q"], "said": {"2": 0, "3": 1, "4": 0}}
    assert opinions.merge([SAID, again]) == {("b", ASKED["q"]): {3: 1, 0: 0, 4: 0}}


def test_an_opinion_of_other_words_is_left_out(opinions: ModuleType, tmp_path: Path) -> None:
    kept = keep(opinions, tmp_path)
    changed = [*PASSAGES[:2], ["Two", "Other words stand here now."], *PASSAGES[3:]]
    (row,) = opinions.read_opinions(write_library(tmp_path, changed), kept, "fit")
    assert "Other words stand here now." not in read_odds(row)


def test_a_passage_with_the_answer_around_it_is_right(opinions: ModuleType, tmp_path: Path) -> None:
    kept = keep(opinions, tmp_path)
    (row,) = opinions.read_opinions(tmp_path / "library.jsonl.xz", kept, "fit", around=850)
    assert len(row["right"]) == 2, "the passage before it is read with it"
    assert PASSAGES[0][1] not in " ".join(read_odds(row))
