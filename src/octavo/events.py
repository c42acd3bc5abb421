"""What happens while a book goes in: one closed union for SDK callbacks, CLI progress and streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from octavo.types import Book


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
    """The new edition set against the one in the library, in chunks."""

    added: int
    changed: int
    removed: int
    kept: int
    kind: Literal["compared"] = "compared"


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
