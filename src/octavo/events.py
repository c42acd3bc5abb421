"""The events of adding a book and of answering a question, as two closed unions.

Callbacks of the SDK, the progress of the command line and the streams of the service share them.
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
class Fetched:
    """`done` of the `known` pages of a web site were fetched. More pages may become known."""

    done: int
    known: int
    kind: Literal["fetched"] = "fetched"


@dataclass(frozen=True, slots=True)
class Preparing:
    """The book is being read or cut since `seconds`: `done` of `total` pages, 0 of 0 where none are counted.

    It comes once a second, so that a long book is never silent.
    """

    step: Literal["reading", "cutting"]
    done: int
    total: int
    seconds: float
    kind: Literal["preparing"] = "preparing"


@dataclass(frozen=True, slots=True)
class Parsed:
    """The file was read. `warnings` say what a person should know about it."""

    title: str
    sections: int
    characters: int
    pages: int
    warnings: tuple[str, ...] = ()
    kind: Literal["parsed"] = "parsed"


@dataclass(frozen=True, slots=True)
class Compared:
    """The new edition was compared with the one in the library: its sections, and their chunks.

    `replaces` is the format of the one in the library; empty for a new book.
    """

    book_id: str
    title: str
    added: int
    changed: int
    removed: int
    kept: int
    chunks_new: int
    chunks_gone: int
    kind: Literal["compared"] = "compared"
    replaces: str = ""

    @classmethod
    def unchanged(cls, book: Book) -> Compared:
        """The same edition is in the library already."""
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
    """The book can be searched. `unchanged` if there was nothing to do."""

    book: Book
    unchanged: bool = False
    kind: Literal["published"] = "published"


IngestEvent = Fetched | Preparing | Parsed | Compared | Embedding | Storing | Published


@dataclass(frozen=True, slots=True)
class Asked:
    """The question is recorded. `interpreted` is the question that is looked up: a follow-up is completed."""

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
    """The passages that were found first, best first."""

    evidence: tuple[Evidence, ...]
    kind: Literal["retrieved"] = "retrieved"


@dataclass(frozen=True, slots=True)
class Working:
    """What is being done just now: "searching" with the query, "reading" with the section, "writing", or
    "mending" with the number of claims that did not hold."""

    step: str
    detail: str = ""
    kind: Literal["working"] = "working"


@dataclass(frozen=True, slots=True)
class Claimed:
    """A sentence of the answer that the evidence supports, with the numbers of its citations.

    It is `translated` where it is in another language than the words that it cites.
    """

    text: str
    citations: tuple[int, ...]
    marks: tuple[tuple[int, int], ...] = ()
    translated: bool = False
    kind: Literal["claimed"] = "claimed"


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer or the refusal, published. `dropped` are claims that the evidence did not support.

    `answerer` is "offline", the name of a model, or "offline, because …" if a model should have answered.
    `stages` has the milliseconds of each stage. `claims` are the sentences of the answer, none for a refusal.
    `interpreted` is the question that was looked up, with misspelt words corrected.
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
