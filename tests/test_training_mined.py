"""Passages are mined from what Octavo itself finds, with what is thought of each."""

from __future__ import annotations

import importlib.util
import json
import lzma
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

PATH = Path(__file__).parents[1] / "training" / "mined.py"
TOLD = "The bridge fell at dawn, because the masons were at war with the mayor."
OTHER = "A bridge needs a keystone, and this one had a fine keystone from the quarry in the north."
CHAPTERS = [["One", OTHER, TOLD]]
ASKED = {"q": "why did the bridge fall", "kind": "why", "right": [[1, 25, 70]], "wrong": [0], "words": []}


@pytest.fixture(scope="module")
def mined() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mined", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_book(many: int) -> dict[str, Any]:
    others = [["Two", f"Passage {n} speaks of other bridges."] for n in range(2, many)]
    return {
        "book": "b",
        "part": "fit",
        "passages": [["One", OTHER], ["One", TOLD], *others],
        "asked": [ASKED],
    }


def test_a_place_is_found_in_the_passage_that_has_its_words(mined: ModuleType) -> None:
    start = TOLD.index("the masons")
    places = mined.Places(CHAPTERS, [OTHER, TOLD])
    assert places.find([0, 2, start, len(TOLD) - 1]) == [(1, start, len(TOLD) - 1)]


def test_a_place_that_no_passage_has_is_not_found(mined: ModuleType) -> None:
    assert mined.Places(CHAPTERS, [OTHER]).find([0, 2, 0, 30]) == []


def test_words_and_meaning_are_mixed_as_in_a_search(mined: ModuleType) -> None:
    mixed = mined.mix([[0, 8.0], [1, 4.0], [2, 2.0]], np.array([0.1, 0.9, 0.5]))
    shares = {n: round(score, 3) for n, score in mixed}
    assert list(shares) == [1, 0, 2]
    assert shares[0] == 0.55  # the best by words, the last by meaning
    assert shares[1] == round(0.45 + 0.55 / 3, 3)


def read_others(row: dict[str, Any]) -> dict[str, float]:
    return dict(row["others"])


def test_passages_are_learnt_with_what_the_large_model_thinks_of_them(mined: ModuleType) -> None:
    given = [[n, 0.5, 1.0, 0.0, 1.0, odds] for n, odds in enumerate((3.0, -4.0, -2.0, 1.5, -0.5))]
    row = mined.make_row(mined.Headed(make_book(5)["passages"]), ASKED, given)
    assert read_others(row) == {
        f"One: {OTHER}": 0.0,  # its writer says that it only seems to answer
        "Two: Passage 2 speaks of other bridges.": -2.0,
        "Two: Passage 3 speaks of other bridges.": 1.5,
        "Two: Passage 4 speaks of other bridges.": -0.5,
    }
    (right,) = row["right"]
    assert right["t"].startswith("One: The bridge")
    assert right["t"][right["s"] :].startswith(right["a"])
    assert right["z"] == mined.MEANT, "its writer named it, whatever the model thinks"


def test_what_the_teacher_judged_counts_with_what_the_large_model_thinks(mined: ModuleType) -> None:
    given = [[n, 0.5, 1.0, 0.0, 1.0, -1.0] for n in range(5)]
    given[1].append(6.0)
    given[3].append(2.0)
    row = mined.make_row(mined.Headed(make_book(5)["passages"]), ASKED, given)
    assert row["right"][0]["z"] == 2.5
    assert read_others(row) == {
        f"One: {OTHER}": -mined.MEANT,
        "Two: Passage 3 speaks of other bridges.": 0.5,
    }


def test_a_passage_is_read_with_what_stands_around_it_in_its_section(mined: ModuleType) -> None:
    passages = [["One", OTHER], ["One", TOLD], ["Two", "Another chapter begins."]]
    read = mined.Headed(passages, around=850)
    assert read[0] == f"One: {OTHER} {TOLD}"
    assert read[1] == f"One: {OTHER} {TOLD}"
    assert read[2] == "Two: Another chapter begins."
    start, end = read.place(0, (1, 25, 70))
    assert read[0][start:end] == TOLD[25:70]
    assert read.place(2, (1, 25, 70)) is None


def test_around_a_passage_whole_words_are_read_as_far_as_there_is_room(mined: ModuleType) -> None:
    read = mined.Headed([["", "one two three"], ["", "four"], ["", "five six seven"]], around=15)
    assert read[1] == "three four five"
    assert read.place(1, (0, 8, 13)) == (0, 5)
    assert read.place(1, (0, 4, 13)) is None
    assert read.place(1, (2, 0, 4)) == (11, 15)
    assert read.place(1, (2, 0, 8)) is None


def test_a_passage_with_the_answer_around_it_is_right(mined: ModuleType) -> None:
    given = [[n, 0.5, 1.0, 0.0, 1.0, -4.0] for n in range(4)]
    row = mined.make_row(mined.Headed(make_book(4)["passages"], around=850), ASKED, given)
    assert [right["a"] for right in row["right"]] == [TOLD[25:70]] * 2
    assert {text.partition(":")[0] for text, _ in row["others"]} == {"Two"}


def test_mined_passages_are_read_with_the_books_of_one_part(mined: ModuleType, tmp_path: Path) -> None:
    library, found = tmp_path / "library.jsonl.xz", tmp_path / "mined.jsonl"
    with lzma.open(library, "wt", encoding="utf-8") as file:
        file.write(json.dumps(make_book(3)) + "\n")
    found.write_text(json.dumps({"book": "b", "found": [[[2, 0.4, 1.0, 0.0, 1.0, -2.0]]]}) + "\n")
    (row,) = mined.read_mined(library, found, "fit")
    assert read_others(row) == {
        f"One: {OTHER}": -mined.MEANT,
        "Two: Passage 2 speaks of other bridges.": -2.0,
    }
    assert mined.read_mined(library, found, "tune") == []


def test_an_order_is_told_by_what_comes_first(mined: ModuleType) -> None:
    good, bad = [1, 0.2, 9.0, 3.0, 9.0, 3.0], [0, 0.3, -5.0, -3.0, 9.5, 3.0]
    told = mined.describe(make_book(2), [[good, bad]])
    assert told["small first"] == 1.0
    assert told["first of all"] == 0.0
