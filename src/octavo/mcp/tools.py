"""The tools: what each does for one visitor, whatever protocol brought the call.

A tool takes the library, the visitor and checked arguments, and returns a shape of `octavo.schemas.tools`.
A visitor with a list of books sees no others, and nothing that belongs to somebody else. What cannot be done
raises an error of ours. A refusal is a result.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from octavo.concurrency import run_blocking
from octavo.errors import NotFound
from octavo.events import Answered, Asked, AskEvent, Claimed, Retrieved, Scoped, Working, last
from octavo.library import Library
from octavo.mcp.arguments import (
    NEW,
    AskBook,
    ListBooks,
    MapBook,
    ReadSection,
    ScopeArguments,
    SearchBook,
    VerifyAnswer,
)
from octavo.schemas import Schema
from octavo.schemas.tools import (
    ToolAnswer,
    ToolBook,
    ToolBooks,
    ToolMap,
    ToolPassages,
    ToolReading,
    ToolSection,
    ToolVerdict,
    ToolVerification,
)
from octavo.search.scope import find_section, keep_tagged
from octavo.types import Book

Events = AsyncGenerator[AskEvent, None]
Report = Callable[[str], Awaitable[None]]
T = TypeVar("T")


def _pass_on(events: Events) -> Events:
    return events


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Who calls: whose questions and answers these are, and which books there are for them."""

    owner: str = ""
    books: tuple[str, ...] | None = None
    reserve: Callable[[], AbstractContextManager[None]] = field(default=nullcontext)
    """Held while a question is answered; raises when the visitor has too many at once."""
    watch: Callable[[Events], Events] = field(default=_pass_on)
    """Sees the events of each question as they pass."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool. `report` tells the caller what is being done just now."""

    library: Library
    visitor: Visitor
    report: Report


Tool = Callable[[Any, ToolCall], Awaitable[Schema]]


async def _choose_books(wanted: ListBooks | ScopeArguments, call: ToolCall) -> tuple[str, ...] | None:
    """Return the ids of the books with the tag, or of all that the visitor may read.

    A book that is named and has not the tag raises.
    """
    among = call.visitor.books
    if wanted.tag is None:
        return among
    tagged = await call.library.tagged([wanted.tag], among=among)
    if wanted.book is None:
        return tagged
    return keep_tagged([(await call.library.book(wanted.book, among=among)).id], tagged, [wanted.tag])


async def list_books(wanted: ListBooks, call: ToolCall) -> ToolBooks:
    library, among = call.library, await _choose_books(wanted, call)
    tags = await library.tags()
    if wanted.book is not None:
        book = await library.book(wanted.book, among=among)
        sections, after = _select_page(await library.contents(book.id), wanted, lambda section: section.id)
        contents = [ToolSection.from_value(s, characters=len(s.text)) for s in sections]
        return ToolBooks(books=[_describe_book(book, tags)], contents=contents, next=after)
    books = [book for book in await library.books() if among is None or book.id in among]
    shown, after = _select_page(books, wanted, lambda book: book.id)
    return ToolBooks(books=[_describe_book(book, tags) for book in shown], contents=None, next=after)


def _describe_book(book: Book, tags: Mapping[str, Sequence[str]]) -> ToolBook:
    return ToolBook.from_value(book, tags=list(tags.get(book.id, ())))


async def search_book(wanted: SearchBook, call: ToolCall) -> ToolPassages:
    found = await call.library.search(
        wanted.query,
        book_id=wanted.book,
        scope=wanted.to_scope(),
        top_k=wanted.top_k,
        books=await _choose_books(wanted, call),
    )
    return ToolPassages.from_results(found)


async def read_section(wanted: ReadSection, call: ToolCall) -> ToolReading:
    book = await call.library.book(wanted.book, among=call.visitor.books)
    sections = await call.library.contents(book.id)
    section = await run_blocking(find_section, wanted.section, sections)
    at = sections.index(section)
    end = min(wanted.offset + wanted.limit, len(section.text))
    return ToolReading(
        book_id=book.id,
        section_id=section.id,
        heading_path=list(section.heading_path),
        url=section.url,
        page_start=section.page_start,
        page_end=section.page_end,
        text=section.text[wanted.offset : end],
        offset=wanted.offset,
        next_offset=end if end < len(section.text) else None,
        characters=len(section.text),
        previous_section=sections[at - 1].id if at else None,
        next_section=sections[at + 1].id if at + 1 < len(sections) else None,
    )


async def map_book(wanted: MapBook, call: ToolCall) -> ToolMap:
    library = call.library
    book = await library.book(wanted.book, among=call.visitor.books)
    if wanted.name is not None:
        found = await library.look_up(book.id, wanted.name, up_to=wanted.up_to, mentions=wanted.limit)
        return ToolMap.from_details(book.id, found)
    return ToolMap.from_map(await library.map(book.id, up_to=wanted.up_to, limit=wanted.limit))


async def ask_book(wanted: AskBook, call: ToolCall) -> ToolAnswer:
    visitor = call.visitor
    books = await _choose_books(wanted, call)
    question = wanted.to_question(owner=visitor.owner)
    question = replace(question, session_id=await _find_session(wanted.session_id, call))

    async def report(event: AskEvent) -> None:
        if not isinstance(event, Answered):
            await call.report(_describe_step(event))

    with visitor.reserve():
        events = visitor.watch(call.library.stream(question, books=books))
        done = await last(events, on_event=report)
        await call.library.conversations.deliver(done.answer)
        return ToolAnswer.from_event(done)


async def verify_answer(wanted: VerifyAnswer, call: ToolCall) -> ToolVerification:
    visitor = call.visitor
    entry = await call.library.conversations.find_exchange(wanted.answer_id, owner=visitor.owner)
    answer = entry.answer
    if answer is None or not _can_read_all(visitor, answer.book_ids):
        raise NotFound("answer", wanted.answer_id)
    verdicts = await call.library.verify(answer.id)
    shown = [ToolVerdict.from_value(verdict) for verdict in verdicts]
    true = all(verdict.true for verdict in verdicts)
    return ToolVerification(answer_id=answer.id, true=true, citations=shown)


def _can_read_all(visitor: Visitor, books: Sequence[str]) -> bool:
    return visitor.books is None or all(book in (*visitor.books, "selection") for book in books)


async def _find_session(wanted: str | None, call: ToolCall) -> str | None:
    """Find or start the session. A caller with a key continues its own; without keys, any name will do."""
    if wanted == NEW:
        return (await call.library.conversations.start_session(owner=call.visitor.owner)).session_id
    if wanted is not None and call.visitor.owner:
        await call.library.conversations.check_owner(wanted, owner=call.visitor.owner)
    return wanted


def _describe_step(event: AskEvent) -> str:
    match event:
        case Asked():
            return "reading the question"
        case Scoped():
            return f"looking in {event.description}"
        case Retrieved():
            return f"{len(event.evidence)} passages found"
        case Working():
            return f"{event.step} {event.detail}".strip()
        case Claimed():
            return "a sentence of the answer holds"
        case Answered():
            return "answered"


def _select_page(
    items: Sequence[T], wanted: ListBooks, id_of: Callable[[T], str]
) -> tuple[Sequence[T], str | None]:
    """Select the part of a list that was asked for, and the `next` that continues it."""
    start = 0
    if wanted.after is not None:
        places = [number for number, item in enumerate(items) if id_of(item) == wanted.after]
        if not places:
            raise NotFound("entry", wanted.after, hint="Give the `next` of an earlier list, or leave it out.")
        start = places[0] + 1
    shown = items[start : start + wanted.limit]
    return shown, id_of(shown[-1]) if start + len(shown) < len(items) else None
