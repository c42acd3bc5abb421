"""Answerers that do as a test says, and what a test needs to look over an answerer's shoulder."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from octavo.answers.replies import Reply
from octavo.errors import ModelError
from octavo.library import Library
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from octavo.types import Answer, Scope
from octavo.verification.claims import Claim, Phrase, Sentence
from tests.support import small_books
from tests.support.copies import copy_library


class ScriptedAnswerer:
    """Says the same claims whatever it is asked, and remembers what it was given."""

    name = "scripted"

    def __init__(
        self, *claims: tuple[str, Sequence[str]], answerable: float = 1.0, short: Phrase | None = None
    ) -> None:
        self.claims = tuple(Claim(text, tuple(ids)) for text, ids in claims)
        self.answerable, self.short = answerable, short
        self.given: list[Sentence] = []

    async def reply(self, question: str, given: Sequence[Sentence]) -> Reply:
        self.given = list(given)
        return Reply(self.claims, self.answerable, 0.9 * self.answerable, short=self.short)


class AllSentencesAnswerer:
    """Quotes every sentence it is given, or every one that has some words in it."""

    name = "greedy"

    def __init__(self, words: str = "") -> None:
        self.words = words

    async def reply(self, question: str, given: Sequence[Sentence]) -> Reply:
        claims = tuple(Claim(s.text, (s.id,)) for s in given if self.words in s.text)
        return Reply(claims, float(bool(claims)), 0.9 * bool(claims))


class FailingAnswerer:
    """A model that does not answer; while it `waits`, it does not even say so."""

    name = "broken"

    def __init__(self, *, waits: bool = False) -> None:
        self.waits, self.reached = waits, asyncio.Event()

    async def reply(self, question: str, given: Sequence[Sentence]) -> Reply:
        self.reached.set()
        while self.waits:  # noqa: ASYNC110 - a test in another thread lets it go
            await asyncio.sleep(0.01)
        raise ModelError("the model does not answer")


def fill_library(data: Path, *books: Path, chunk_tokens: int = 128) -> Path:
    """A library with these books, closed."""

    async def fill() -> None:
        settings = Settings(data=data, chunk_tokens=chunk_tokens)
        async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
            for book in books:
                await library.add(book)

    asyncio.run(fill())
    return data


def add_tides(folder: Path) -> Path:
    return fill_library(folder / "library", small_books.write_markdown(folder / "tides.md"))


def query_records(library: Library, statement: str) -> list[tuple[Any, ...]]:
    """What another process sees in the records at this moment."""
    other = sqlite3.connect(Path(library.settings.data) / "records.sqlite")
    try:
        return other.execute(statement).fetchall()
    finally:
        other.close()


def change_records(folder: Path, statement: str) -> None:
    """Somebody meddles with the stored records."""
    other = sqlite3.connect(folder / "records.sqlite")
    other.execute(statement)
    other.commit()
    other.close()


@asynccontextmanager
async def open_copy(shelf: Path, folder: Path, **settings: Any) -> AsyncIterator[Library]:
    """Open a copy of a library, which a test may change."""
    made = Settings(data=copy_library(shelf, folder / "library"), **settings)
    async with Library.open(settings=made, embedder=TinyEmbedder()) as library:
        yield library


async def ask_truly(
    library: Library, question: str, *, book: str | None = None, scope: Scope | None = None
) -> Answer:
    """Ask what has an answer, and see that each of its quotations stands in the book."""
    answer = await library.ask(question, book_id=book, scope=scope)
    assert answer.refusal is None, answer.content
    await assert_well_cited(library, answer)
    assert all(verdict.true for verdict in await library.verify(answer.id))
    return answer


async def assert_well_cited(library: Library, answer: Answer) -> None:
    """Every quotation is the book's text at its place, numbered as the answer first needs it."""
    assert answer.citations
    for citation in answer.citations:
        chunk = citation.chunk
        sections = {s.id: s for s in await library.contents(chunk.book_id)}
        assert sections[chunk.section_id].text[citation.start : citation.end] == citation.content_snippet
        part = chunk.content[citation.start - chunk.start : citation.end - chunk.start]
        assert part == citation.content_snippet
    marks = [int(number) for number in re.findall(r"\[(\d+)\]", answer.content)]
    assert (
        list(dict.fromkeys(marks)) == [c.number for c in answer.citations] == list(range(1, max(marks) + 1))
    )
