"""The list of English words has what enough texts have, names with a capital, and no misspelt words."""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "training/known_words.py"


def write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    with lzma.open(path, "wt", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(row)}\n" for row in rows)


def list_lines(data: Path) -> list[str]:
    """The lines of the list that the script makes."""
    made = data / "known.txt"
    subprocess.run([sys.executable, str(SCRIPT), str(data), str(made)], check=True)
    return made.read_text(encoding="utf-8").splitlines()


def list_words(lines: Sequence[str]) -> list[str]:
    assert lines[0].startswith("#")
    return " ".join(lines[1:]).split()


def test_words_are_listed_that_enough_texts_have(tmp_path: Path) -> None:
    books: list[dict[str, object]] = [
        {"book": "one", "paragraphs": ["The harpoon and the lantern.", {"text": "A whaler sank."}]},
        {"book": "two", "paragraphs": ["A harpoon, a whaler."]},
    ]
    common: dict[str, object] = {"i": 0, "t": "They receive letters from Bergen; the letter has a stamp."}
    misspelt: dict[str, object] = {"i": 1, "t": "They recieve stamps. They saw bergen."}
    write_rows(tmp_path / "books.jsonl.xz", books)
    write_rows(tmp_path / "contexts.jsonl.xz", [common] * 80 + [misspelt] * 4)
    write_rows(tmp_path / "qa.jsonl.xz", [])
    write_rows(tmp_path / "rank.jsonl.xz", [])
    words = ["Bergen", "harpoon", "letter", "receive", "stamp", "whaler"]
    assert list_words(list_lines(tmp_path)) == words


def test_no_word_is_from_a_set_that_is_left_out(tmp_path: Path) -> None:
    said = ["lantern", "forceps", "scalpel", "syringe", "compass"]
    contexts = [{"i": number, "t": f"the {word} here"} for number, word in enumerate(said)]
    rows = [{"set": "mediqa_qa", "p": 1, "n": [3]}, {"set": "selqa", "p": 4, "n": [3]}]
    write_rows(tmp_path / "books.jsonl.xz", [])
    write_rows(tmp_path / "contexts.jsonl.xz", contexts * 3)
    write_rows(tmp_path / "qa.jsonl.xz", [{"set": "boolq_part", "c": 0}])
    write_rows(tmp_path / "rank.jsonl.xz", rows)
    # Two sets have the syringe; nobody asks for the scalpel, which stands between.
    assert list_words(list_lines(tmp_path)) == ["compass", "lantern", "syringe"]


def test_the_list_is_written_in_lines(tmp_path: Path) -> None:
    words = [f"word{letter}{other}" for letter in "abcdefghij" for other in "abcdefghij"]
    book = {"paragraphs": [" ".join(words)]}
    write_rows(tmp_path / "books.jsonl.xz", [{"book": "one", **book}, {"book": "two", **book}])
    for name in ("contexts", "qa", "rank"):
        write_rows(tmp_path / f"{name}.jsonl.xz", [])
    lines = list_lines(tmp_path)
    assert list_words(lines) == words
    assert max(map(len, lines)) < 120
