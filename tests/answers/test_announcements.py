"""A sentence that only announces something is quoted with what it announces."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from octavo.answers.announcements import announces
from octavo.library import Library
from tests.support.answerers import ask_truly, fill_library, open_copy

HARBOUR = """# The Harbour

## The rival

The friendship of the pilot is won by this other method. The harbour master asks for the loan of an old
chart. The pilot sends the chart at once. Ever after they dine together on Sundays. The
council laughs about it.

## The lock

The lock of the harbour is opened as follows.

Turn the wheel until the water is level. Then lift both bars.

The lock was built by the grandfather of the harbour master in a single summer.

## The bell

The bell of the harbour is rung by the youngest pilot. It hangs in the tower, and it was cast in the north.

## The village

There were several ways to the village. The baker died in May.
"""


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("announcements")
    (folder / "harbour.md").write_text(HARBOUR, encoding="utf-8")
    return fill_library(folder / "library", folder / "harbour.md", chunk_tokens=64)


@pytest.fixture
async def library(shelf: Path, tmp_path: Path) -> AsyncIterator[Library]:
    """One that answers whatever it finds anything for, so that no test hangs on a calibration."""
    async with open_copy(shelf, tmp_path, risk=0.9, chunk_tokens=64) as opened:
        yield opened


async def ask(library: Library, question: str) -> str:
    return (await ask_truly(library, question)).content


async def test_what_is_announced_follows_in_the_same_paragraph(library: Library) -> None:
    said = await ask(library, "How is the friendship of the pilot won?")
    assert "by this other method. The harbour master asks for the loan of an old chart." in said
    assert "council laughs" not in said


async def test_what_is_announced_may_be_the_next_paragraph(library: Library) -> None:
    said = await ask(library, "How is the lock of the harbour opened?")
    assert "Turn the wheel until the water is level. Then lift both bars." in said


async def test_several_ways_announce_nothing(library: Library) -> None:
    assert "baker" not in await ask(library, "How many ways were there to the village?")


async def test_a_sentence_that_tells_all_is_not_followed(library: Library) -> None:
    assert "cast in the north" not in await ask(library, "Who rings the bell of the harbour?")


@pytest.mark.parametrize(
    "text",
    [
        "After some time he took this other method.",
        "The Sun keeps its balance in the following way.",
        "It was obtained for us in the following manner.",
        "The procedure works like this.",
        "His method was a geometric one, based on observations of the Sun.",
        "The folder that is opened at startup is determined as follows:",
        "This is how he escaped.",
        "He won his friendship by this other method.",
    ],
)
def test_a_sentence_that_announces_is_known(text: str) -> None:
    assert announces(text)


@pytest.mark.parametrize(
    "text",
    [
        "Her father found her occupied in this way.",
        "The boat cannot be reached by another way.",
        "He knew no other way than this.",
        "There were several ways to the village.",
        "There are several ways to do it.",
        "The village had another plan.",
        "The idea was a good one.",
        "Her plan was simple.",
        "She went as follows the custom of the town.",
        "The method was known to the ancients.",
        "He sent a letter to the council.",
    ],
)
def test_a_sentence_that_looks_back_or_tells_all_does_not_announce(text: str) -> None:
    assert not announces(text)
