"""Every kind of question has its own way: parts as gists, names from the map, sides, lists, two questions."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from octavo.answers.calibration import LEAST_CONFIDENCE
from octavo.answers.lists import may_want_several, wants_several
from octavo.answers.overview import Gist
from octavo.library import Library
from octavo.types import Answer, Scope, ScopeType
from tests.support.answerers import ask_truly, fill_library, open_copy
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
    async with open_copy(shelf, tmp_path, risk=0.9, chunk_tokens=64) as opened:
        yield opened


async def ask(
    library: Library, question: str, *, book: str = "the-tide-clock", scope: Scope | None = None
) -> Answer:
    return await ask_truly(library, question, book=book, scope=scope)


def list_sections(answer: Answer) -> list[str]:
    return [citation.chunk.section for citation in answer.citations]


@pytest.mark.parametrize(
    ("question", "section"),
    [
        ("What is the second chapter about?", "The Grey Heron"),
        ("summarise the chapter on Farrow Island", "Farrow Island"),
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


async def test_a_part_that_is_named_by_its_number_is_told_with_its_title(library: Library) -> None:
    numbered = await ask(library, "What is the second chapter about?")
    assert numbered.content.startswith("It is titled “The Grey Heron” (from the catalogue).")
    named = await ask(library, "summarise the chapter on Farrow Island")
    assert "titled" not in named.content


async def test_the_end_of_a_story_is_told_mostly_by_its_last_chapter(library: Library) -> None:
    told = list_sections(await ask(library, "How does the story end?"))
    assert set(told) <= {"The Tooth", "The Clock of Harrowgate"}
    assert told[-2:] == ["The Clock of Harrowgate"] * 2


async def test_a_long_part_is_told_with_less_confidence_than_a_short_one(
    library: Library, tmp_path: Path
) -> None:
    days = [f"On day {n} the keeper lit the lamp and wrote the hour into the book." for n in range(200)]
    book = tmp_path / "days.md"
    book.write_text(f"# Days\n\n## Chapter 1\n\n{' '.join(days[:5])}\n\n## Chapter 2\n\n{' '.join(days)}\n")
    await library.add(book)
    short, long = [await ask(library, f"what is chapter {n} about", book="days") for n in (1, 2)]
    assert long.confidence < 0.5 < short.confidence


async def test_a_chapter_is_told_to_its_end_however_long_its_first_sentences_are(
    library: Library, tmp_path: Path
) -> None:
    goods = "barrels of salt and barrels of tar and coils of rope and bolts of canvas and casks of lamp oil"
    days = [f"In the year {n} the keeper counted {goods}, and wrote {goods} into the book." for n in range(9)]
    end = "The schooner burned at anchor. The pilot drowned beside the lighthouse, and nobody saw him again."
    book = tmp_path / "counts.md"
    book.write_text(f"# Counts\n\n## Chapter 1\n\n{' '.join(days)} {end}\n\n## Chapter 2\n\n{days[0]}\n")
    await library.add(book)
    answer = await ask(library, "what happens in chapter 1", book="counts")
    assert "The pilot drowned beside the lighthouse" in answer.content


def test_a_whole_book_is_told_however_long_it_is() -> None:
    assert Gist((), 170 / 300_000).confidence > LEAST_CONFIDENCE


async def test_an_ending_is_told_to_its_last_sentence_of_prose(library: Library, tmp_path: Path) -> None:
    opening = "The keeper lit the lamp at dusk and wrote the hour into the book of the light.\n\n"
    chapters = [f"## Chapter {n}\n\n{opening * 4}" for n in (1, 2)]
    last = "Anna left the island. The keeper stayed and put out the lamp for good.\n\n"
    end = "- oil\n- wicks\n\n```\nlamp = off\n```\n\nTHE END\n\n## About the Author\n\nJo lives in Kent.\n"
    end += "\n## Metadata, document information\n\nThe file was generated by a program in Kent.\n"
    book = tmp_path / "keeper.md"
    book.write_text(f"# The Keeper\n\n{''.join(chapters)}## Chapter 3\n\n{opening * 4}{last}{end}")
    await library.add(book)
    answer = await ask(library, "How does it end?", book="the-keeper")
    assert answer.content.endswith("The keeper stayed and put out the lamp for good. [" + answer.content[-2:])
    assert "Kent" not in answer.content
    assert "THE END" not in answer.content


async def test_an_ending_of_one_long_sentence_is_told_whole(library: Library, tmp_path: Path) -> None:
    last = "And the ferryman " + "carried the miller over the river, and " * 13 + "no more."
    assert 80 < len(last.split()) <= 150
    pages = "\n\n".join(
        f"The ferryman carried the miller over the river for the {n}th time." for n in range(4, 20)
    )
    path = tmp_path / "ferry.md"
    path.write_text(f"# The Ferryman\n\n{pages}\n\n{last}\n", encoding="utf-8")
    book = await library.add(path)
    told = await ask(library, "How does The Ferryman end?", book=book.id)
    assert last in told.content


async def test_the_title_of_a_book_that_no_heading_has_means_the_book(
    library: Library, tmp_path: Path
) -> None:
    path = tmp_path / "river.md"
    parts = (
        "The ferryman carried the miller.",
        "The miller drowned in the flood.",
        "The heirs sold the mill.",
    )
    text = "\n\n".join(f"# Chapter {n}\n\n{part} {part}" for n, part in enumerate(parts, start=1))
    path.write_text(f"---\ntitle: Dark Water\n---\n\n{text}\n", encoding="utf-8")
    book = await library.add(path, title="Dark Water: A Novel")
    told = await ask(library, "What happens at the end of dark water?", book=book.id)
    assert "The heirs sold the mill." in told.content
    assert "carried" not in told.content


async def test_a_book_about_metadata_is_told_with_its_chapters_about_them(
    library: Library, tmp_path: Path
) -> None:
    shelves = "The shelves of the archive have numbers that are painted on their sides. " * 3
    meta = "Metadata say who wrote a record, and when it came into the archive. " * 3
    book = tmp_path / "records.md"
    book.write_text(f"# Records\n\n## Metadata\n\n{meta}\n\n## Shelves\n\n{shelves}\n", encoding="utf-8")
    added = await library.add(book)
    assert "Metadata say" in (await ask(library, "What is this book about?", book=added.id)).content


async def test_a_chapter_in_another_language_takes_no_kind_of_answer_away(
    library: Library, tmp_path: Path
) -> None:
    english = "The harbour of Ness has a crane, and the pilots lift the anchors with it at low water. "
    german = (
        "Die Häuser der Fischer standen am Hafen, und die Netze hingen vor den Türen in der Sonne. "
        "Sie waren nicht aus Stein, sondern aus Holz, das man mit dem Schiff von einer Insel geholt hatte. "
    )
    chapters = [f"## The {name}\n\n{english.replace('crane', name) * 4}\n\n" for name in ("crane", "winch")]
    book = tmp_path / "ness.md"
    book.write_text(f"# Ness\n\n{''.join(chapters)}## Anhang\n\n{german * 3}\n", encoding="utf-8")
    added = await library.add(book)
    assert "words-en+de-1" in added.index_fingerprint
    assert "The harbour of Ness" in (await ask(library, "Summarise the book.", book=added.id)).content


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
    # In the plain way there are at most three claims, each with the sentence that it points back to.
    assert len(re.findall(r"(?:\[\d+\])+", ended.content)) <= 3


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


async def test_a_lead_in_is_followed_by_its_list_whatever_is_asked(library: Library) -> None:
    answer = await ask(library, "What is the use of the cellar, and of the four goods?", book="stores")
    assert "The cellar holds four goods:" in answer.content
    assert "- rope of three sizes." in answer.content


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
        ("Who were the first members of his club?", True),
        ("names of the big moons", True),
        ("which people came along", True),
        ("what did she ask each of them to bring", True),
        ("What does a notice of the harbour contain?", True),
        ("what should i change in the settings of the server", False),
        ("What did Anna offer?", False),
        ("who was the keeper", False),
        ("what is the status of the service", False),
        ("Which ship was lost?", False),
        ("what does the boss say", False),
        ("where are the sails", False),
        ("what happens in the chapter called the attack?", False),
        ("which key updates the package list", False),
        ("who did she love, all of them", True),
    ],
)
def test_a_question_for_several_things_is_known_by_its_form(question: str, several: bool) -> None:
    assert wants_several(question) == several


@pytest.mark.parametrize(
    ("question", "several"),
    [
        ("what should i change in the settings of the server", True),
        ("What did Anna offer?", True),
        ("list the three mates", True),
        ("what does the keeper offer her when she comes", False),
        ("who was the keeper", False),
    ],
)
def test_what_one_may_do_or_is_offered_may_be_several_things(question: str, several: bool) -> None:
    assert may_want_several(question) == several


BEAMS = """# Box

## Chapter 1: Beams

Otherwise, nothing is seen of the box. A number of balls are hidden in a rectangular box. {}

## Chapter 2: Nets

The net has two sides.
"""


async def test_the_gist_of_an_explanation_opens_with_its_first_statement(
    library: Library, tmp_path: Path
) -> None:
    rest = " ".join(
        f"Beam {n} of the lamp is turned by a mirror of brass in the arena." for n in range(1, 30)
    )
    (tmp_path / "box.md").write_text(BEAMS.format(rest), encoding="utf-8")
    book = await library.add(tmp_path / "box.md")
    answer = await ask(library, "what is chapter 1 about?", book=book.id)
    assert "\n\nA number of balls are hidden in a rectangular box." in answer.content
    assert "Otherwise" not in answer.content


VIRTUES = """# The Society

## Harbour Virtues

Harbour Virtues are the habits that the society of Saltmere asks of its members, and these are their names:

Temperance.

Drink nothing before the lamps are lit.

Silence.

Speak only of what the harbour needs.

Order.

Coil every rope before dusk.

Anna kept the Harbour Virtues for a year. Nobody else in Saltmere kept the Harbour Virtues for so long.
"""


async def test_what_several_things_are_is_told_with_the_whole_list(library: Library, tmp_path: Path) -> None:
    book = tmp_path / "society.md"
    book.write_text(VIRTUES)
    await library.add(book)
    answer = await ask(library, "What were the Harbour Virtues?", book="the-society")
    assert all(f"{name}." in answer.content for name in ("Temperance", "Silence", "Order"))


GOALS = """# Robots at work

## Goals

- Understand how robots of the workshop see the world around them with cameras.
- Apply robots and their cameras to the work of the whole workshop in the morning.
- Know what the robots of the workshop do with their cameras in the evening.

## Cameras

The robots of the workshop see the world with two cameras each. The cameras are cleaned every morning.
A robot without cameras stays in the yard. The painter has the oldest ones. They were made for a ship.

## Arms

Each of the robots has one arm and a hook. The arm is oiled once a week. Nobody may stand under it.

| robot | cameras |
|---|---|
| the painter | Two cameras of the workshop see the world of the robots. |
"""


async def test_a_part_is_told_in_prose_and_not_in_items_or_rows(library: Library, tmp_path: Path) -> None:
    (tmp_path / "robots.md").write_text(GOALS, encoding="utf-8")
    book = await library.add(tmp_path / "robots.md")
    answer = await ask(library, "summarise the book", book=book.id)
    assert set(list_sections(answer)) == {"Cameras", "Arms"}
    assert not [citation for citation in answer.citations if "|" in citation.content_snippet]
