"""The list of English words has what enough texts have, names with a capital, and no misspelt words."""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping, Sequence
from pathlib import Path

from training.known_words import list_known, write_list


def write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    with lzma.open(path, "wt", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(row)}\n" for row in rows)


def test_words_are_listed_that_enough_texts_have(tmp_path: Path) -> None:
    books: list[dict[str, object]] = [
        {"book": "one", "paragraphs": ["The harpoon and the lantern.", {"text": "A whaler sank."}]},
        {"book": "two", "paragraphs": ["A harpoon, a whaler."]},
    ]
    common: dict[str, object] = {"i": 0, "t": "They receive letters from Bergen; the letter has a stamp."}
    misspelt: dict[str, object] = {"i": 1, "t": "They recieve stamps. They saw bergen."}
    write_rows(tmp_path / "books.jsonl.xz", books)
    write_rows(tmp_path / "contexts.jsonl.xz", [common] * 80 + [misspelt] * 4)
    assert list_known(tmp_path) == ["Bergen", "harpoon", "letter", "receive", "stamp", "whaler"]


def test_the_list_is_written_in_lines(tmp_path: Path) -> None:
    words = [f"word{number}" for number in range(100)]
    write_list(words, tmp_path / "known.txt")
    lines = (tmp_path / "known.txt").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("#")
    assert " ".join(lines[1:]).split() == words
    assert max(map(len, lines)) < 120
