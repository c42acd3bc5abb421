"""A sentence that only says where a list is gives way to the list."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from octavo.answers.pointers import points_to_list
from octavo.library import Library
from tests.support.answerers import ask_truly, fill_library, open_copy

SIGNALS = """# Signals

## Signs

Every signal of the coast has its sign. You can find a list of the signals of the coast in Appendix A.

## Appendix A. Signals

The signals and what they mean:

- a red lamp, for a closed harbour
- a blue lamp, for a pilot
- two shots, for a wreck

## Lamps

You can find a list of the oils for the lamps in Appendix C. Whale oil and rape oil burn in the lamps.

## Horses

You can find a list of the fodder of the horses in Appendix F.

## Appendix F. Stores

The quay has two gates:

- the north gate
- the south gate

The fodder of the winter:

- oats and barley
- hay of the marsh
"""


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pointers")
    (folder / "signals.md").write_text(SIGNALS, encoding="utf-8")
    return fill_library(folder / "library", folder / "signals.md", chunk_tokens=64)


@pytest.fixture
async def library(shelf: Path, tmp_path: Path) -> AsyncIterator[Library]:
    async with open_copy(shelf, tmp_path, risk=0.9, chunk_tokens=64) as opened:
        yield opened


async def test_a_list_is_told_from_where_a_sentence_says_that_it_is(library: Library) -> None:
    said = (await ask_truly(library, "Which signals of the coast can I find in a list?")).content
    assert "The signals and what they mean:" in said
    assert [goods for goods in ("red lamp", "blue lamp", "two shots") if goods not in said] == []
    assert "You can find" not in said


async def test_a_sentence_that_points_nowhere_is_no_answer(library: Library) -> None:
    answer = await library.ask("Which oils for the lamps can I find in a list?")
    assert answer.refusal is not None
    assert "Appendix C" in answer.refusal.excerpts[0]


async def test_the_list_is_told_that_has_a_word_of_the_question_above_it_and_is_no_surer_than_its_title(
    library: Library,
) -> None:
    answer = await ask_truly(library, "Which fodder of the horses can I find in a list?")
    assert "The fodder of the winter:" in answer.content
    assert "hay of the marsh" in answer.content
    assert "gate" not in answer.content
    assert answer.confidence <= 0.6


def test_a_long_sentence_of_many_lists_is_read_fast() -> None:
    began = time.process_time()
    assert not points_to_list("a list in the " * 10_000)
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("You can find a list of the keywords in Appendix A.", True),
        ("The exit codes are listed in section 4.2.", True),
        ("A table of all flags is in the Appendix B.", True),
        ("The list has three items.", False),
        ("The salt was found in part A of the mine.", False),
        ("The reasons of the war are given in chapter 3.", False),
        ("The list is kept in part by the abbot.", False),
        ("The goods in chapter houses are listed by the abbot.", False),
        ("The list in Appendix A begins so:", False),
    ],
)
def test_a_sentence_points_to_a_list_by_the_part_that_it_is_in(text: str, points: bool) -> None:
    assert points_to_list(text) == points
