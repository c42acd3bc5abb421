"""Every kind of question has its own way: parts as gists, names from the map, sides, lists, two questions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from octavo.answers.lists import wants_several
from octavo.library import Library
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from octavo.types import Answer, Scope, ScopeType
from tests.support.answerers import assert_well_cited, fill_library
from tests.support.copies import copy_library
from tests.support.mapped_books import write_manual, write_story

LISTED = """# Stores

## The cellar

Ask the keeper of the cellar first. He has the only key, and he sleeps late.

The cellar holds four goods:

- salt in barrels. It must stay dry.
- tar for the boats. Trim the lids at dusk.
- rope of three sizes.

All are counted every week by the keeper of the cellar, who writes the number of barrels into a long book.

- oil for the lamps.

## The loft

The loft is dry and the sails are kept there, and nothing else may be kept there at any time of the year.

## The flags

The signal mast shows one of the following flags every morning.

Calm

:   All boats may leave the harbour.

Warning

:   Small boats stay in the harbour. A pilot may ask for leave.

Storm

:   Nobody leaves the harbour before noon.

The harbour master keeps a list of those who did not obey, and reads it out at the end of the year.
"""


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shelf")
    stores = folder / "stores.md"
    stores.write_text(LISTED, encoding="utf-8")
    books = write_story(folder / "story.md"), write_manual(folder / "manual.md"), stores
    return fill_library(folder / "library", *books, chunk_tokens=64)


@pytest.fixture
async def library(shelf: Path, tmp_path: Path) -> AsyncIterator[Library]:
    """One that answers whatever it finds anything for, so that no test hangs on a calibration."""
    settings = Settings(data=copy_library(shelf, tmp_path / "library"), risk=0.9, chunk_tokens=64)
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as opened:
        yield opened


async def ask(
    library: Library, question: str, *, book: str = "the-tide-clock", scope: Scope | None = None
) -> Answer:
    answer = await library.ask(question, book_id=book, scope=scope)
    assert answer.refusal is None, answer.content
    await assert_well_cited(library, answer)
    assert all(verdict.true for verdict in await library.verify(answer.id))
    return answer


def list_sections(answer: Answer) -> list[str]:
    return [citation.chunk.section for citation in answer.citations]


@pytest.mark.parametrize(
    ("question", "section"),
    [
        ("What is the second chapter about?", "The Grey Heron"),
        ("summarise the chapter on Farrow Island", "Farrow Island"),
        ("How does the story end?", "The Clock of Harrowgate"),
        ("what happens in the first chapter", "The Letter"),
    ],
)
async def test_a_part_is_told_in_its_own_sentences_in_order(
    library: Library, question: str, section: str
) -> None:
    answer = await ask(library, question)
    assert set(list_sections(answer)) == {section}
    starts = [citation.start for citation in answer.citations]
    assert starts == sorted(starts)
    assert len(starts) >= 2


async def test_an_ending_is_told_to_its_last_sentence_of_prose(library: Library, tmp_path: Path) -> None:
    opening = "The keeper lit the lamp at dusk and wrote the hour into the book of the light.\n\n"
    chapters = [f"## Chapter {n}\n\n{opening * 4}" for n in (1, 2)]
    last = "Anna left the island. The keeper stayed and put out the lamp for good.\n\n"
    end = "- oil\n- wicks\n\n```\nlamp = off\n```\n\nTHE END\n\n## About the Author\n\nJo lives in Kent.\n"
    book = tmp_path / "keeper.md"
    book.write_text(f"# The Keeper\n\n{''.join(chapters)}## Chapter 3\n\n{opening * 4}{last}{end}")
    await library.add(book)
    answer = await ask(library, "How does it end?", book="the-keeper")
    assert answer.content.endswith("The keeper stayed and put out the lamp for good. [" + answer.content[-2:])
    assert "Kent" not in answer.content
    assert "THE END" not in answer.content


async def test_a_book_is_told_through_its_chapters(library: Library) -> None:
    answer = await ask(library, "what is this book about?")
    told = list_sections(answer)
    assert len(set(told)) >= 4
    assert told[0] == "The Letter"


async def test_what_happened_so_far_ends_where_the_reader_is(library: Library) -> None:
    scope = Scope(type=ScopeType.UP_TO, identifier="The Grey Heron")
    answer = await ask(library, "What happened so far?", scope=scope)
    assert set(list_sections(answer)) <= {"The Letter", "The Grey Heron"}
    ended = await library.ask("how does the story end?", book_id="the-tide-clock", scope=scope)
    assert set(list_sections(ended)) <= {"The Letter", "The Grey Heron"}
    assert len(ended.citations) <= 3


async def test_a_chapter_that_is_not_there_is_asked_for_in_the_plain_way(library: Library) -> None:
    answer = await library.ask("What is chapter 77 about?", book_id="the-tide-clock")
    assert answer.refusal is not None or len(answer.citations) <= 3


@pytest.mark.parametrize(
    ("question", "book", "said"),
    [
        ("Who is Captain Brandt?", "the-tide-clock", "Brandt was a tall man with a white beard"),
        ("who was mr pell", "the-tide-clock", "Mr. Pell was the lawyer of Harrowgate"),
        ("what is saltmere", "the-tide-clock", "Saltmere is a village of forty houses"),
        ("What is candling?", "the-pottery", "is called candling"),
        ("what is a firng schedule", "the-pottery", "A firing schedule is a list of temperatures and times."),
        ("define grog", "the-pottery", "Ground fired clay"),
    ],
)
async def test_who_or_what_something_is_comes_from_all_its_places(
    library: Library, question: str, book: str, said: str
) -> None:
    assert said in (await ask(library, question, book=book)).content


async def test_what_is_described_later_is_not_told_before(library: Library) -> None:
    scope = Scope(type=ScopeType.UP_TO, identifier="The Grey Heron")
    answer = await library.ask("Who is Captain Brandt?", book_id="the-tide-clock", scope=scope)
    assert "white beard" not in answer.content
    assert {c.chunk.section for c in answer.citations} <= {"The Letter", "The Grey Heron"}


async def test_what_something_is_goes_on_as_its_paragraph_does(library: Library) -> None:
    answer = await ask(library, "What is a kiln?", book="the-pottery")
    assert "A kiln is an oven that turns clay into stone. [1] Every kiln of the workshop" in answer.content


async def test_a_comparison_says_what_each_side_is(library: Library) -> None:
    answer = await ask(library, "What is the difference between a kiln and a glaze?", book="the-pottery")
    assert "A kiln is an oven that turns clay into stone." in answer.content
    assert "A glaze is a thin coat of glass." in answer.content


async def test_a_comparison_tells_the_difference_that_the_book_states(
    library: Library, tmp_path: Path
) -> None:
    book = tmp_path / "uploads.md"
    book.write_text(
        "# Uploads\n\n## Kinds\n\nA plain upload is a crate that is sent by somebody who is not its keeper. "
        "A bare upload is a crate of the same sort. However, it has no drawings.\n\n"
        "## Speed\n\nThe plain upload takes a day, whereas the bare upload takes an hour.\n"
    )
    await library.add(book)
    question = "What is the difference between a plain upload and a bare upload?"
    answer = await ask(library, question, book="uploads")
    assert "However, it has no drawings." in answer.content
    assert "whereas the bare upload takes an hour" in answer.content


async def test_two_questions_in_one_are_both_answered(library: Library) -> None:
    question = "What is a glaze, and who is the head of the glaze room?"
    answer = await ask(library, question, book="the-pottery")
    assert "A glaze is a thin coat of glass." in answer.content
    assert "Hanna Weil is the head of the glaze room" in answer.content


async def test_a_list_comes_whole_with_its_lead_in(library: Library) -> None:
    answer = await ask(library, "Which goods does the cellar hold?", book="stores")
    assert "The cellar holds four goods:" in answer.content
    assert "- salt in barrels." in answer.content
    assert "- tar for the boats." in answer.content
    assert "- rope of three sizes." in answer.content
    # The rest of an item is left out, and the paragraph after the last one ends the list.
    assert "Trim" not in answer.content
    assert "oil" not in answer.content


async def test_a_list_of_definitions_comes_with_all_of_its_terms(library: Library) -> None:
    """The markup says what the list is: its items have no marks, and its lead-in ends with a full stop."""
    answer = await ask(library, "Which flags does the signal mast show?", book="stores")
    assert "The signal mast shows one of the following flags every morning." in answer.content
    assert [word for word in ("Calm", "Warning", "Storm") if word in answer.content] == [
        "Calm",
        "Warning",
        "Storm",
    ]
    assert "ask for leave" not in answer.content
    assert "obey" not in answer.content


@pytest.mark.parametrize(
    ("question", "several"),
    [
        ("which limits can be set with the quota system", True),
        ("What are the four scalar types?", True),
        ("list the three mates", True),
        ("who are the mates of the ship", True),
        ("what is the status of the service", False),
        ("Which ship was lost?", False),
        ("what does the boss say", False),
        ("where are the sails", False),
    ],
)
def test_a_question_for_several_things_is_known_by_its_form(question: str, several: bool) -> None:
    assert wants_several(question) == several
