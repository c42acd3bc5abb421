"""The nouns of a library: frozen values that cannot be made wrong.

A Book has Sections, a Section has canonical text, and every offset anywhere points into that text. A Chunk
is a stretch of one Section; its id is made from its content, so the same bytes give the same id. A Scope is
where a reader looks, and Evidence is what was found there. A value that breaks a rule is refused when it is
made, with the field, the rule and the value in the message. `conversation` has the nouns of asking.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Self

from octavo import rules
from octavo.errors import InvalidValue
from octavo.states import EvidenceState, advance

COLLECTION = "ai_book_embedding"
EMBEDDING_SIZE = 384
CHUNK_LEAST, CHUNK_MOST = 10, 2000
_NOTHING: Mapping[str, object] = MappingProxyType({})


class BookFormat(StrEnum):
    TEXT = "text"
    MARKDOWN = "markdown"
    DOCUSAURUS = "docusaurus"
    MDBOOK = "mdbook"
    HTML = "html"
    EPUB = "epub"
    PDF = "pdf"


class ScopeType(StrEnum):
    FULL_BOOK = "full-book"
    SECTION = "section-specific"
    PAGE = "page-specific"
    SELECTION = "selection"
    UP_TO = "up-to-position"


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """The catalogue entry. `id` stays the same for a new edition; `content_hash` does not."""

    id: str
    title: str
    format: BookFormat
    source_file: str
    content_hash: str
    index_fingerprint: str
    added_at: datetime
    updated_at: datetime
    authors: tuple[str, ...] = ()
    language: str = ""
    base_url: str | None = None
    section_count: int = 0
    chunk_count: int = 0
    page_count: int = 0

    def __post_init__(self) -> None:
        rules.text("Book.id", self.id, most=200)
        rules.text("Book.title", self.title, most=500)
        object.__setattr__(self, "format", rules.member("Book.format", self.format, BookFormat))
        rules.text("Book.source_file", self.source_file)
        rules.text("Book.content_hash", self.content_hash)
        rules.text("Book.index_fingerprint", self.index_fingerprint)
        rules.texts("Book.authors", self.authors)
        rules.storable("Book.language", self.language)
        if self.base_url is not None:
            rules.url("Book.base_url", self.base_url)
        for name in ("section_count", "chunk_count", "page_count"):
            rules.whole(f"Book.{name}", getattr(self, name), least=0)
        rules.moment("Book.added_at", self.added_at)
        rules.moment("Book.updated_at", self.updated_at)


@dataclass(frozen=True, slots=True)
class PageMark:
    """From `offset` in a section's text on, the reader is on physical page `number`, printed as `label`."""

    offset: int
    number: int
    label: str | None = None

    def __post_init__(self) -> None:
        rules.whole("PageMark.offset", self.offset, least=0)
        rules.whole("PageMark.number", self.number, least=1)
        if self.label is not None:
            rules.storable("PageMark.label", self.label)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a section's text that belongs together: a code block, a table, a list."""

    start: int
    end: int

    def __post_init__(self) -> None:
        rules.span("Span", self.start, self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A node of the table of contents with the text that stands directly under its heading."""

    id: str
    book_id: str
    title: str
    heading_path: tuple[str, ...]
    level: int
    position: int
    url: str
    text: str
    source_file: str
    anchor: str = ""
    pages: tuple[PageMark, ...] = ()
    blocks: tuple[Span, ...] = ()
    ancestors: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        rules.text("Section.id", self.id)
        rules.text("Section.book_id", self.book_id)
        rules.text("Section.title", self.title)
        rules.text("Section.source_file", self.source_file)
        rules.texts("Section.heading_path", self.heading_path)
        if not self.heading_path or self.heading_path[-1] != self.title:
            raise InvalidValue("Section.heading_path", "must end with the section's title", self.heading_path)
        for heading in self.heading_path:
            rules.text("Section.heading_path", heading)
        rules.texts("Section.ancestors", self.ancestors)
        rules.whole("Section.level", self.level, least=1)
        rules.whole("Section.position", self.position, least=0)
        rules.url("Section.url", self.url)
        rules.storable("Section.text", self.text)
        rules.storable("Section.anchor", self.anchor)
        rules.tuple_of("Section.pages", self.pages, PageMark)
        rules.tuple_of("Section.blocks", self.blocks, Span)
        marks = [mark.offset for mark in self.pages]
        if marks != sorted(marks) or any(offset > len(self.text) for offset in marks):
            raise InvalidValue("Section.pages", "must be in the order of the text and inside it", self.pages)
        edges = [edge for block in self.blocks for edge in (block.start, block.end)]
        if edges != sorted(edges) or any(edge > len(self.text) for edge in edges):
            rule = "must be in the order of the text and inside it, none over another"
            raise InvalidValue("Section.blocks", rule, self.blocks)

    @property
    def page_start(self) -> int | None:
        return self.pages[0].number if self.pages else None

    @property
    def page_end(self) -> int | None:
        return self.pages[-1].number if self.pages else None

    def page_at(self, offset: int) -> PageMark | None:
        """The page that the character at `offset` stands on."""
        found = None
        for mark in self.pages:
            if mark.offset > offset:
                break
            found = mark
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A stretch of one section: `section.text[start:end] == content`, always."""

    id: str
    chunk_id: int
    content: str
    book_id: str
    section_id: str
    chapter: str
    section: str
    document_position: int
    chunk_index: int
    url: str
    source_file: str
    source_location: str
    source_title: str
    start: int
    end: int
    created_at: datetime
    heading_path: tuple[str, ...] = ()
    ancestors: tuple[str, ...] = ()
    page_number: int | None = None
    page_end: int | None = None
    page_label: str | None = None
    embedding: tuple[float, ...] | None = None
    metadata: Mapping[str, object] = field(default_factory=lambda: _NOTHING, hash=False)

    def __post_init__(self) -> None:
        rules.text("Chunk.id", self.id)
        rules.whole("Chunk.chunk_id", self.chunk_id, least=1)
        rules.text("Chunk.content", self.content, least=CHUNK_LEAST, most=CHUNK_MOST)
        for name in ("book_id", "section_id", "source_file", "source_location", "source_title"):
            rules.text(f"Chunk.{name}", getattr(self, name))
        rules.storable("Chunk.chapter", self.chapter)
        rules.storable("Chunk.section", self.section)
        rules.texts("Chunk.heading_path", self.heading_path)
        rules.texts("Chunk.ancestors", self.ancestors)
        rules.whole("Chunk.document_position", self.document_position, least=0)
        rules.whole("Chunk.chunk_index", self.chunk_index, least=0)
        rules.url("Chunk.url", self.url)
        rules.span("Chunk", self.start, self.end)
        if self.end - self.start != len(self.content):
            raise InvalidValue("Chunk.end", "must be start plus the length of the content", self.end)
        if self.page_number is not None:
            rules.whole("Chunk.page_number", self.page_number, least=1)
        if self.page_end is not None:
            rules.whole("Chunk.page_end", self.page_end, least=self.page_number or 1)
        if self.page_label is not None:
            rules.storable("Chunk.page_label", self.page_label)
        if self.embedding is not None:
            rules.instance("Chunk.embedding", self.embedding, tuple)
            rules.unit_vector("Chunk.embedding", self.embedding)
        rules.json_object("Chunk.metadata", self.metadata)
        rules.moment("Chunk.created_at", self.created_at)

    @property
    def page(self) -> str | None:
        """The page as people name it: the printed label, or else the physical number."""
        return self.page_label or (None if self.page_number is None else str(self.page_number))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Where the reader wants the answer to come from."""

    type: ScopeType = ScopeType.FULL_BOOK
    identifier: str | None = None
    description: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", rules.member("Scope.type", self.type, ScopeType))
        if self.type is not ScopeType.FULL_BOOK:
            rules.text("Scope.identifier", self.identifier or "")
        elif self.identifier is not None:
            rules.storable("Scope.identifier", self.identifier)
        rules.storable("Scope.description", self.description)
        if not self.description:
            said = "the whole book" if self.identifier is None else f"{self.type}: {self.identifier}"
            object.__setattr__(self, "description", said)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A chunk found for one question. `relevance_score` is a probability, comparable between questions.

    `id` names this find, so that a citation can point at it; the chunk's own id when none is given.
    """

    chunk: Chunk
    relevance_score: float
    rank: int
    state: EvidenceState = EvidenceState.RETRIEVED
    id: str = ""

    def __post_init__(self) -> None:
        rules.instance("Evidence.chunk", self.chunk, Chunk)
        object.__setattr__(self, "id", self.chunk.id if self.id == "" else self.id)
        object.__setattr__(self, "state", rules.member("Evidence.state", self.state, EvidenceState))
        rules.text("Evidence.id", self.id)
        rules.share("Evidence.relevance_score", self.relevance_score)
        rules.whole("Evidence.rank", self.rank, least=1)

    def to(self, state: EvidenceState) -> Self:
        return replace(self, state=advance(self.state, state))
