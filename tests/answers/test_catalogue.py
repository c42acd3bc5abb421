"""Questions about a book as a thing are answered from the catalogue, cited where the book itself says so."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from octavo.answers.catalogue import CATALOGUE_CONFIDENCE
from octavo.answers.requests import CatalogueFact, CatalogueRequest, read_catalogue_request
from octavo.library import Library
from octavo.records.options import BookOptions
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from octavo.types import Answer, BookMetadata, Scope, ScopeType
from tests.support.answerers import assert_well_cited, fill_library
from tests.support.copies import copy_library

CHAPTERS = {
    "Chapter 1. The Ebb": "The ebb begins after the moon has passed. Mira Dahl wrote a letter to the pilot.",
    "Chapter 2. The Flood": "The flood comes from the south, and it lifts every boat in the harbour of Ness.",
    "Chapter 3. The Slack": "At slack water nothing moves, and the pilots eat their bread in peace.",
}
IMPRINT = "A handbook for pilots by Ada Berg and Olaf Lind.\n\nFirst published in 1987 by the pilots' guild."


NORTH = "The north wind blows all winter over the island, and the boats stay ashore until the thaw has come."


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shelf")
    parts = "".join(f"\n## {title}\n\n{text}\n" for title, text in CHAPTERS.items())
    tides = folder / "tides.md"
    head = "---\ntitle: 'The Tides: A Handbook'\nauthors: [Ada Berg, Olaf Lind]\nlanguage: en\n---\n"
    tides.write_text(f"{head}\n## Imprint\n\n{IMPRINT}\n{parts}", encoding="utf-8")
    winds = folder / "winds.md"
    winds.write_text(f"---\ntitle: Winds\nauthor: Nils Holm\n---\n\n## North\n\n{NORTH}\n", encoding="utf-8")
    return fill_library(folder / "library", tides, winds)


@pytest.fixture
async def library(shelf: Path, tmp_path: Path) -> AsyncIterator[Library]:
    settings = Settings(data=copy_library(shelf, tmp_path / "library"), local_models=False)
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as opened:
        yield opened


async def ask(library: Library, question: str, *, book: str | None, scope: Scope | None = None) -> Answer:
    answer = await library.ask(question, book_id=book, scope=scope)
    assert answer.refusal is None, answer.content
    assert all(verdict.true for verdict in await library.verify(answer.id))
    return answer


@pytest.mark.parametrize(
    ("question", "said", "cited"),
    [
        ("Who are the authors?", "“The Tides: A Handbook” is by Ada Berg and Olaf Lind. [1]", "Imprint"),
        ("who wrote The Tides?", "“The Tides: A Handbook” is by Ada Berg and Olaf Lind. [1]", "Imprint"),
        ("When was the book published?", "First published in 1987 by the pilots' guild. [1]", "Imprint"),
    ],
)
async def test_what_the_book_says_of_itself_is_cited(
    library: Library, question: str, said: str, cited: str
) -> None:
    answer = await ask(library, question, book="the-tides-a-handbook")
    assert answer.content == said
    assert answer.citations[0].chunk.section == cited
    receipt = (await library.conversations.find_exchange(answer.id)).receipt
    assert receipt["answerer"] == "offline"
    assert answer.catalogue == ()


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("How many chapters has it?", "“The Tides: A Handbook” has 3 chapters (from the catalogue)."),
        ("what language is it in", "“The Tides: A Handbook” is in English (from the catalogue)."),
        ("What is this book called?", "The title is “The Tides: A Handbook” (from the catalogue)."),
    ],
)
async def test_what_no_passage_says_is_the_catalogues_and_has_no_citation(
    library: Library, question: str, said: str
) -> None:
    answer = await ask(library, question, book="the-tides-a-handbook")
    assert answer.content == said
    assert answer.citations == ()
    assert [(one.text, one.book_id) for one in answer.catalogue] == [(said, "the-tides-a-handbook")]
    stored = (await library.conversations.find_exchange(answer.id)).answer
    assert stored is not None
    assert stored.catalogue == answer.catalogue


async def test_a_statement_of_the_catalogue_that_was_changed_afterwards_is_found(library: Library) -> None:
    answer = await ask(library, "What is this book called?", book="the-tides-a-handbook")
    path = library.settings.data / "records.sqlite"
    with closing(sqlite3.connect(path)) as records:
        records.execute("UPDATE answers SET receipt = replace(receipt, 'the-tides', 'the-winds')")
        records.commit()
    verdicts = await library.verify(answer.id)
    assert [(one.number, one.true) for one in verdicts] == [(0, False)]


async def test_an_author_whom_no_passage_names_is_the_catalogues(library: Library) -> None:
    answer = await ask(library, "Who wrote this book?", book="winds")
    assert answer.content == "“Winds” is by Nils Holm (from the catalogue)."
    assert answer.citations == ()


async def test_the_length_is_told_in_words_and_chapters(library: Library) -> None:
    answer = await ask(library, "How long is the book?", book="the-tides-a-handbook")
    assert (
        "about 63 words and 3 chapters, which is about 1 minute of reading (from the catalogue)."
        in answer.content
    )


async def test_every_chapter_of_a_list_is_cited_to_its_own_beginning(library: Library) -> None:
    answer = await ask(library, "list the chapters", book="the-tides-a-handbook")
    assert [citation.chunk.section for citation in answer.citations] == list(CHAPTERS)
    assert [one.text for one in answer.catalogue] == [
        "“The Tides: A Handbook” has 3 chapters (from the catalogue):"
    ]
    for number, (title, citation) in enumerate(zip(CHAPTERS, answer.citations, strict=True), start=1):
        assert f"- {title} [{number}]" in answer.content
        assert CHAPTERS[title].startswith(citation.content_snippet)


async def test_chapters_ahead_of_the_reader_are_counted_and_not_named(library: Library) -> None:
    reached = Scope(type=ScopeType.UP_TO, identifier="Chapter 1. The Ebb")
    answer = await ask(library, "list the chapters", book="the-tides-a-handbook", scope=reached)
    assert "has 3 chapters, of which you have reached 1 (from the catalogue):" in answer.content
    assert "Flood" not in answer.content
    assert {citation.chunk.section for citation in answer.citations} == {"Chapter 1. The Ebb"}


async def test_several_books_are_told_one_after_the_other(library: Library) -> None:
    answer = await ask(library, "Who are the authors?", book=None)
    assert "is by Ada Berg and Olaf Lind. [1]" in answer.content
    assert "“Winds” is by Nils Holm (from the catalogue)." in answer.content
    assert [citation.chunk.book_id for citation in answer.citations] == ["the-tides-a-handbook"]
    assert answer.book_ids == ("the-tides-a-handbook", "winds")


async def test_a_date_that_the_catalogue_knows_is_told(library: Library, tmp_path: Path) -> None:
    winds = tmp_path / "winds.md"
    winds.write_text(f"# Winds\n\n## North\n\n{NORTH}\n", encoding="utf-8")
    known = BookMetadata(published="1987-05-03", publisher="Harbour Press")
    await library.ingest(winds, BookOptions(book_id="winds", metadata=known))
    answer = await ask(library, "When was it published?", book="winds")
    assert answer.content == "“Winds” was published on 3 May 1987 by Harbour Press (from the catalogue)."


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Darwin published his book on finches in 1859, and few have read it since.", False),
        ("Copyright © 1991 by the guild of pilots, who keep all rights in this book.", True),
        ("This book was first published in 1991 by the guild of pilots of Ness.", True),
    ],
)
async def test_only_a_line_about_the_book_itself_tells_when_it_was_published(
    library: Library, tmp_path: Path, said: str, told: bool
) -> None:
    finches = tmp_path / "finches.md"
    finches.write_text(f"---\ntitle: Finches\n---\n\n## Birds\n\n{NORTH}\n\n{said}\n", encoding="utf-8")
    await library.add(finches)
    answer = await library.ask("When was it published?", book_id="finches")
    assert (answer.confidence == CATALOGUE_CONFIDENCE) is told


async def test_an_author_is_cited_only_where_the_whole_name_stands(library: Library, tmp_path: Path) -> None:
    book = tmp_path / "birds.md"
    text = f"The keeper in Lincoln had a shed for the birds that he had found.\n\n{NORTH}"
    book.write_text(f"---\ntitle: Birds\nauthor: Li\n---\n\n## One\n\n{NORTH}\n\n{text}\n", encoding="utf-8")
    await library.add(book)
    answer = await ask(library, "Who wrote it?", book="birds")
    assert answer.content == "“Birds” is by Li (from the catalogue)."
    assert answer.citations == ()


async def test_without_an_author_in_the_catalogue_what_the_book_says_of_its_authors_is_quoted(
    library: Library, tmp_path: Path
) -> None:
    told = "Three pilots of Ness wrote these pages. They have sailed for twenty years."
    licence = "You must list the authors of the document on the title page of every changed copy."
    book = tmp_path / "ropes.md"
    text = f"# Ropes\n\n{NORTH}\n\n## About the Authors\n\n{told}\n\n## Licence\n\n{licence}\n"
    book.write_text(text, encoding="utf-8")
    added = await library.add(book)
    answer = await ask(library, "Who are the authors of this book?", book=added.id)
    assert [citation.content_snippet for citation in answer.citations] == [
        "Three pilots of Ness wrote these pages.",
        "They have sailed for twenty years.",
    ]


async def test_two_facts_are_told_in_one_answer(library: Library) -> None:
    answer = await ask(library, "Who wrote it and how many chapters does it have?", book="winds")
    assert answer.content == (
        "“Winds” is by Nils Holm (from the catalogue).\n\n“Winds” has 1 chapter (from the catalogue)."
    )


async def test_a_question_about_the_content_is_answered_from_the_content(library: Library) -> None:
    settings = library.settings.model_copy(update={"risk": 0.9})
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as loose:
        answer = await loose.ask(
            "Who is the author of the letter to the pilot?", book_id="the-tides-a-handbook"
        )
    assert "Mira Dahl wrote a letter to the pilot." in answer.content
    await assert_well_cited(library, answer)


@pytest.mark.parametrize("noun", ["characters", "chairs", "chandlers"])
async def test_what_is_no_part_of_a_book_is_not_counted_by_its_headings(library: Library, noun: str) -> None:
    answer = await library.ask(f"How many {noun} are in the book?", book_id="the-tides-a-handbook")
    assert "has 3" not in answer.content


async def test_what_only_a_book_has_is_not_taken_for_what_was_asked_before(library: Library) -> None:
    session = (await library.conversations.start_session()).session_id
    for question in ("Who is the pilot of Ness?", "How many chapters has it?"):
        answer = await library.ask(question, book_id="the-tides-a-handbook", session_id=session)
    assert answer.content.startswith("“The Tides: A Handbook” has 3 chapters (from")


@pytest.mark.parametrize(
    ("question", "fact", "book", "noun"),
    [
        ("who is the author", CatalogueFact.AUTHORS, "", ""),
        ("Who is it by?", CatalogueFact.AUTHORS, "it", ""),
        ("please tell me the authors of this book", CatalogueFact.AUTHORS, "this book", ""),
        ("Who is the author of the letter to Ahab?", CatalogueFact.AUTHORS, "the letter to Ahab", ""),
        ("How many pages does Winds have?", CatalogueFact.COUNT, "Winds", "page"),
        ("how many chapters are in the book", CatalogueFact.COUNT, "the book", "chapter"),
        ("How long does it take to read it?", CatalogueFact.LENGTH, "it", ""),
        ("How big is this book?", CatalogueFact.LENGTH, "this book", ""),
        ("in which language was the novel written", CatalogueFact.LANGUAGE, "the novel", ""),
        ("In what year was the book first published?", CatalogueFact.PUBLISHED, "the book", ""),
        ("What are the chapters of the book?", CatalogueFact.CHAPTERS, "the book", ""),
        ("show me the table of contents", CatalogueFact.CHAPTERS, "", ""),
    ],
)
def test_the_form_of_a_question_tells_the_fact(
    question: str, fact: CatalogueFact, book: str, noun: str
) -> None:
    assert read_catalogue_request(question) == CatalogueRequest(fact, book, noun)


@pytest.mark.parametrize(
    "question",
    [
        "Who wrote to Ahab about the author?" * 9,
        "Which languages are compared?",
        "What did the author say of the sea?",
        "When did the ship sail?",
        "How big is Treasure Island?",
        "How many men were drowned at sea?",
        "What does chapter 3 list?",
    ],
)
def test_other_questions_are_none_about_the_catalogue(question: str) -> None:
    assert read_catalogue_request(question) is None
