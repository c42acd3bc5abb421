"""What happens while a book goes in and while a question is answered, as two closed unions.

SDK callbacks, the command line's progress and streams share them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeVar, overload

if TYPE_CHECKING:
    from octavo.types import Answer, Book, Evidence, Question

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Parsed:
    """The file has been read. `warnings` are what a person should know about it."""

    title: str
    sections: int
    characters: int
    pages: int
    warnings: tuple[str, ...] = ()
    kind: Literal["parsed"] = "parsed"


@dataclass(frozen=True, slots=True)
class Compared:
    """The new edition set against the one in the library: sections, and the chunks behind them."""

    book_id: str
    title: str
    added: int
    changed: int
    removed: int
    kept: int
    chunks_new: int
    chunks_gone: int
    kind: Literal["compared"] = "compared"

    @classmethod
    def unchanged(cls, book: Book) -> Compared:
        """The very same edition is on the shelf already."""
        return cls(book.id, book.title, 0, 0, 0, book.section_count, 0, 0)


@dataclass(frozen=True, slots=True)
class Embedding:
    """`done` of `total` chunks have their vectors."""

    done: int
    total: int
    kind: Literal["embedding"] = "embedding"


@dataclass(frozen=True, slots=True)
class Storing:
    """`done` of `total` chunks are in the store."""

    done: int
    total: int
    kind: Literal["storing"] = "storing"


@dataclass(frozen=True, slots=True)
class Published:
    """The book is whole and searchable. `unchanged` when there was nothing to do."""

    book: Book
    unchanged: bool = False
    kind: Literal["published"] = "published"


IngestEvent = Parsed | Compared | Embedding | Storing | Published


@dataclass(frozen=True, slots=True)
class Asked:
    """The question is recorded. `interpreted` is what is looked for, when that differs from the words."""

    question: Question
    interpreted: str
    kind: Literal["asked"] = "asked"


@dataclass(frozen=True, slots=True)
class Scoped:
    """Where the answer may come from, in words."""

    description: str
    kind: Literal["scoped"] = "scoped"


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The passages that were found, best first."""

    evidence: tuple[Evidence, ...]
    kind: Literal["retrieved"] = "retrieved"


@dataclass(frozen=True, slots=True)
class Working:
    """What is being done just now: "searching" with the query, "reading" with the section, "writing",
    "mending" with how many claims did not hold."""

    step: str
    detail: str = ""
    kind: Literal["working"] = "working"


@dataclass(frozen=True, slots=True)
class Claimed:
    """A sentence of the answer that the evidence supports, with the numbers of its citations."""

    text: str
    citations: tuple[int, ...]
    marks: tuple[tuple[int, int], ...] = ()
    kind: Literal["claimed"] = "claimed"


@dataclass(frozen=True, slots=True)
class Answered:
    """The published answer, or the refusal. `dropped` are claims that the evidence did not support.

    `answerer` is "offline", the name of a model, or "offline, because …" where a model should have answered;
    `stages` are the milliseconds of each stage, `claims` the sentences of the answer, none for a refusal.
    """

    question: Question
    answer: Answer
    interpreted: str
    dropped: tuple[tuple[str, str], ...] = ()
    answerer: str = "offline"
    stages: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    claims: tuple[Claimed, ...] = ()
    kind: Literal["answered"] = "answered"


AskEvent = Asked | Scoped | Retrieved | Working | Claimed | Answered


@overload
async def last(
    events: AsyncGenerator[AskEvent, None], *, on_event: Callable[[AskEvent], Awaitable[None]] | None = None
) -> Answered: ...
@overload
async def last(
    events: AsyncGenerator[T, None], *, on_event: Callable[[T], Awaitable[None]] | None = None
) -> T: ...
async def last(
    events: AsyncGenerator[T, None], *, on_event: Callable[[T], Awaitable[None]] | None = None
) -> T | Answered:
    """Run a question to its end and return its last event. `on_event` is called with every event."""
    final: list[T] = []
    async with aclosing(events):
        async for event in events:
            final = [event]
            if on_event is not None:
                await on_event(event)
    if not final:
        raise RuntimeError("the flow ended without an answer")
    return final[0]
