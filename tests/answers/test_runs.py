"""A list that the book does not mark as one comes whole: names, titles, labels, and what is counted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from octavo.answers.runs import find_counts, leads_in
from octavo.library import Library
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from tests.support.answerers import assert_well_cited, fill_library
from tests.support.copies import copy_library

WORKSHOP = """# The Workshop

## The guild

The first members of the guild were Ann Carver, a maker of masts, who had come from the north as a girl.

Thomas Reed, a sailmaker of the old school. He never wrote a line in all his life and was proud of it.

Nora Flint, a smith, who made all anchors of the town.

And William Marsh, who kept the money.

Nobody else was let in before the great flood, and the hall of the guild stood empty for most of the year.

## The rules

The rules of the workshop, with what they mean, are:

Silence.

Speak only of the work that is in your hands.

Order.

Every tool has a nail, and every nail has a tool.

Patience.

Thrift.

Nothing is thrown away before it was offered to the others.

My aim was to have the rules read aloud every morning, and I failed with all of them before the year was over.

Breakfast.

## The fire

Most of the older guesses at the cause of the fire were one of three:

The lamp story—a lamp fell into the tar. The lightning story—a storm came over the hill that night. The
powder story—somebody kept powder under the stairs.

All of these guesses at the cause of the fire have their faults. The lamp hung on a chain.

## The move

There were reasons for the move of the workshop. First, the river had taken the yard. It took the crane too.
Second, the new harbour was deeper. Nobody had believed it. Finally, the town paid for the move.

The move of the workshop took a summer, and the yard was never used again for boats of any size.
"""


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    (folder / "workshop.md").write_text(WORKSHOP, encoding="utf-8")
    return fill_library(folder / "library", folder / "workshop.md", chunk_tokens=64)


@pytest.fixture
async def library(shelf: Path, tmp_path: Path) -> AsyncIterator[Library]:
    """One that answers whatever it finds anything for, so that no test hangs on a calibration."""
    settings = Settings(data=copy_library(shelf, tmp_path / "library"), risk=0.9, chunk_tokens=64)
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as opened:
        yield opened


async def ask(library: Library, question: str) -> str:
    answer = await library.ask(question)
    assert answer.refusal is None, answer.content
    await assert_well_cited(library, answer)
    assert all(verdict.true for verdict in await library.verify(answer.id))
    return answer.content


async def test_paragraphs_that_open_with_a_name_go_on_with_what_leads_in_to_them(library: Library) -> None:
    said = await ask(library, "Who were the first members of the guild?")
    members = ("Ann Carver", "Thomas Reed", "Nora Flint", "William Marsh")
    assert [name for name in members if name in said] == list(members)
    # Each comes with its first sentence, and the paragraph after the last one is no member.
    assert "never wrote a line" not in said
    assert "Nobody else" not in said


async def test_short_paragraphs_are_the_terms_of_a_list(library: Library) -> None:
    said = await ask(library, "What were the rules of the workshop?")
    assert "The rules of the workshop, with what they mean, are:" in said
    places = [said.find(term) for term in ("Silence.", "Order.", "Patience.", "Thrift.")]
    assert -1 not in places
    assert places == sorted(places)
    assert "Breakfast" not in said


async def test_as_many_are_told_as_the_question_says(library: Library) -> None:
    said = await ask(library, "What were the two first rules of the workshop?")
    assert "Order." in said
    assert "Patience." not in said


async def test_sentences_with_titles_are_all_told(library: Library) -> None:
    said = await ask(library, "What were the three older guesses at the cause of the fire?")
    assert [word for word in ("lamp story", "lightning story", "powder story") if word not in said] == []


async def test_sentences_that_are_counted_are_told_to_the_last(library: Library) -> None:
    said = await ask(library, "What were the reasons for the move of the workshop?")
    for reason in ("the river had taken the yard", "the new harbour was deeper", "the town paid"):
        assert reason in said
    assert "Nobody had believed it" not in said


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("what were the 13 virtues", {13}),
        ("name the three mates and the four harpooneers", {3, 4}),
        ("which goods does the cellar hold", set()),
        ("what changed in version 2.3", set()),
        ("who lived in 1726", set()),
    ],
)
def test_the_number_of_things_that_a_question_asks_for_is_read(text: str, counts: set[int]) -> None:
    assert find_counts(text) == counts


@pytest.mark.parametrize(
    ("text", "leads"),
    [
        ("The cellar holds four goods:", True),
        ("The mast shows one of the following flags.", True),
        ("The cellar is cold.", False),
    ],
)
def test_a_lead_in_says_that_a_list_comes_next(text: str, leads: bool) -> None:
    assert leads_in(text) == leads
