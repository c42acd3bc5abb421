"""What is in a library: books, their sections, and the chunks that are found."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from octavo import validation
from octavo.errors import InvalidValue
from octavo.types.markup import Element, check_nesting

CHUNK_LEAST, CHUNK_MOST = 10, 2000
EMPTY: Mapping[str, object] = MappingProxyType({})
_WORD_RULES = re.compile(r" words-([a-z]{2,3}(?:\+[a-z]{2,3})*)-\w+ ")


class BookFormat(StrEnum):
    TEXT = "text"
    MARKDOWN = "markdown"
    DOCUSAURUS = "docusaurus"
    MDBOOK = "mdbook"
    HTML = "html"
    EPUB = "epub"
    PDF = "pdf"
    DOCX = "docx"
    ODT = "odt"
    FB2 = "fb2"
    MOBI = "mobi"
    RST = "rst"
    ASCIIDOC = "asciidoc"
    MKDOCS = "mkdocs"
    GITBOOK = "gitbook"


@dataclass(frozen=True, slots=True, kw_only=True)
class BookMetadata:
    """What a title page says besides title, authors and language. All of it may be missing.

    `published` is a date as far as it is known: `1851`, `1851-10` or `1851-10-18`. An identifier has its kind
    before it, as in `isbn:9780142437247`.
    """

    subjects: tuple[str, ...] = ()
    series: str = ""
    series_position: str = ""
    publisher: str = ""
    published: str = ""
    identifiers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        validation.check_texts("BookMetadata.subjects", self.subjects)
        validation.check_texts("BookMetadata.identifiers", self.identifiers)
        for name in ("series", "series_position", "publisher", "published"):
            validation.check_storable(f"BookMetadata.{name}", getattr(self, name))

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> BookMetadata:
        """Build it from JSON, which has lists for tuples."""
        known: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return cls(**known)

    def update(self, other: BookMetadata) -> BookMetadata:
        """Return this with everything that `other` says in its place."""
        said = {f.name: value for f in fields(other) if (value := getattr(other, f.name))}
        return replace(self, **said)


NO_METADATA = BookMetadata()


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
    metadata: BookMetadata = NO_METADATA

    def __post_init__(self) -> None:
        validation.check_text("Book.id", self.id, most=200)
        validation.check_text("Book.title", self.title, most=500)
        object.__setattr__(self, "format", validation.to_member("Book.format", self.format, BookFormat))
        validation.check_text("Book.source_file", self.source_file)
        validation.check_text("Book.content_hash", self.content_hash)
        validation.check_text("Book.index_fingerprint", self.index_fingerprint)
        validation.check_texts("Book.authors", self.authors)
        validation.check_storable("Book.language", self.language)
        if self.base_url is not None:
            validation.check_url("Book.base_url", self.base_url)
        for name in ("section_count", "chunk_count", "page_count"):
            validation.check_integer(f"Book.{name}", getattr(self, name), least=0)
        validation.check_instance("Book.metadata", self.metadata, BookMetadata)
        validation.check_datetime("Book.added_at", self.added_at)
        validation.check_datetime("Book.updated_at", self.updated_at)


def matches_metadata(book: Book, *, author: str = "", subject: str = "", language: str = "") -> bool:
    """Whether a book fits: words in one author's name, in one subject or the series, and the language."""
    subjects = (*book.metadata.subjects, book.metadata.series)
    spoken = book.language.casefold().replace("_", "-")
    wanted = language.casefold().replace("_", "-")
    return (
        _has_words(book.authors, author)
        and _has_words(subjects, subject)
        and (not wanted or spoken == wanted or spoken.startswith(f"{wanted}-"))
    )


def _has_words(values: Sequence[str], wanted: str) -> bool:
    words = wanted.casefold().split()
    return not words or any(all(word in value.casefold() for word in words) for value in values)


def read_languages(fingerprint: str) -> tuple[str, ...]:
    """Return the languages whose rules an index with this fingerprint follows; "" for English.

    The first is that of the book, the others those of some of its sections.
    """
    found = _WORD_RULES.search(fingerprint)
    return tuple("" if code == "en" else code for code in found[1].split("+")) if found else ("",)


@dataclass(frozen=True, slots=True)
class PageMark:
    """From `offset` in a section's text on, the text is on physical page `number`, printed as `label`."""

    offset: int
    number: int
    label: str | None = None

    def __post_init__(self) -> None:
        validation.check_integer("PageMark.offset", self.offset, least=0)
        validation.check_integer("PageMark.number", self.number, least=1)
        if self.label is not None:
            validation.check_storable("PageMark.label", self.label)


class PrintedLine(NamedTuple):
    """From `offset` in a section's text on, the text is a line that is printed on physical page `page`.

    On that page it is `length` characters from the character `first` on, as the page's own text counts them.
    """

    offset: int
    page: int
    first: int
    length: int


@dataclass(frozen=True, slots=True)
class PageBox:
    """A part of a page: its edges in shares of the page's width and height, from its top left corner."""

    left: float
    top: float
    right: float
    bottom: float

    def __post_init__(self) -> None:
        for name in ("left", "top", "right", "bottom"):
            validation.check_share(f"PageBox.{name}", getattr(self, name))
        if self.left > self.right or self.top > self.bottom:
            raise InvalidValue("PageBox", "must have its edges in order", self)


@dataclass(frozen=True, slots=True)
class PrintedPage:
    """A page of a PDF: its physical number, its printed label, its size in points, and boxes around words."""

    number: int
    label: str | None
    width: float
    height: float
    boxes: tuple[PageBox, ...] = ()

    def __post_init__(self) -> None:
        validation.check_integer("PrintedPage.number", self.number, least=1)
        if self.label is not None:
            validation.check_storable("PrintedPage.label", self.label)
        for name in ("width", "height"):
            validation.check_size(f"PrintedPage.{name}", getattr(self, name))
        validation.check_tuple("PrintedPage.boxes", self.boxes, PageBox)


def check_lines(field_name: str, lines: tuple[PrintedLine, ...], length: int) -> None:
    """Raise unless the lines are in the order of a text of this length, and inside it."""
    validation.check_tuple(field_name, lines, PrintedLine)
    offsets = [line.offset for line in lines]
    is_valid = all(isinstance(n, int) and n >= 0 for line in lines for n in line)
    if not is_valid or offsets != sorted(offsets) or any(offset > length for offset in offsets):
        raise InvalidValue(field_name, "must be in the order of the text and inside it", lines[:3])
    if any(line.page < 1 or line.length < 1 for line in lines):
        raise InvalidValue(field_name, "must have characters on a page", lines[:3])


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a section's text that belongs together: a code block, a table, a list."""

    start: int
    end: int

    def __post_init__(self) -> None:
        validation.check_span("Span", self.start, self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """An entry of the table of contents, with the text directly under its heading.

    `blocks` are the parts of the text that a chunk keeps together; `markup` is how the text is drawn, and
    `lines` say where it is printed, if it is from a PDF.
    """

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
    markup: tuple[Element, ...] = ()
    lines: tuple[PrintedLine, ...] = ()

    def __post_init__(self) -> None:
        validation.check_text("Section.id", self.id)
        validation.check_text("Section.book_id", self.book_id)
        validation.check_text("Section.title", self.title)
        validation.check_text("Section.source_file", self.source_file)
        validation.check_texts("Section.heading_path", self.heading_path)
        if not self.heading_path or self.heading_path[-1] != self.title:
            raise InvalidValue("Section.heading_path", "must end with the section's title", self.heading_path)
        for heading in self.heading_path:
            validation.check_text("Section.heading_path", heading)
        validation.check_texts("Section.ancestors", self.ancestors)
        validation.check_integer("Section.level", self.level, least=1)
        validation.check_integer("Section.position", self.position, least=0)
        validation.check_url("Section.url", self.url)
        validation.check_storable("Section.text", self.text)
        validation.check_storable("Section.anchor", self.anchor)
        validation.check_tuple("Section.pages", self.pages, PageMark)
        validation.check_tuple("Section.blocks", self.blocks, Span)
        marks = [mark.offset for mark in self.pages]
        if marks != sorted(marks) or any(offset > len(self.text) for offset in marks):
            raise InvalidValue("Section.pages", "must be in the order of the text and inside it", self.pages)
        edges = [edge for block in self.blocks for edge in (block.start, block.end)]
        if edges != sorted(edges) or any(edge > len(self.text) for edge in edges):
            rule = "must be in the order of the text and inside it, and must not overlap"
            raise InvalidValue("Section.blocks", rule, self.blocks)
        validation.check_tuple("Section.markup", self.markup, Element)
        check_nesting("Section.markup", self.markup, len(self.text))
        check_lines("Section.lines", self.lines, len(self.text))

    @property
    def page_start(self) -> int | None:
        return self.pages[0].number if self.pages else None

    @property
    def page_end(self) -> int | None:
        return self.pages[-1].number if self.pages else None

    @property
    def page_label(self) -> str | None:
        """The number of its first page as it is printed, where the book has one."""
        return self.pages[0].label if self.pages else None

    def page_at(self, offset: int) -> PageMark | None:
        """Return the page of the character at `offset`."""
        found = None
        for mark in self.pages:
            if mark.offset > offset:
                break
            found = mark
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A part of one section: `section.text[start:end] == content`, always."""

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
    metadata: Mapping[str, object] = field(default_factory=lambda: EMPTY, hash=False)

    def __post_init__(self) -> None:
        validation.check_text("Chunk.id", self.id)
        validation.check_integer("Chunk.chunk_id", self.chunk_id, least=1)
        validation.check_text("Chunk.content", self.content, least=CHUNK_LEAST, most=CHUNK_MOST)
        for name in ("book_id", "section_id", "source_file", "source_location", "source_title"):
            validation.check_text(f"Chunk.{name}", getattr(self, name))
        validation.check_storable("Chunk.chapter", self.chapter)
        validation.check_storable("Chunk.section", self.section)
        validation.check_texts("Chunk.heading_path", self.heading_path)
        validation.check_texts("Chunk.ancestors", self.ancestors)
        validation.check_integer("Chunk.document_position", self.document_position, least=0)
        validation.check_integer("Chunk.chunk_index", self.chunk_index, least=0)
        validation.check_url("Chunk.url", self.url)
        validation.check_span("Chunk", self.start, self.end)
        if self.end - self.start != len(self.content):
            raise InvalidValue("Chunk.end", "must be start plus the length of the content", self.end)
        if self.page_number is not None:
            validation.check_integer("Chunk.page_number", self.page_number, least=1)
        if self.page_end is not None:
            validation.check_integer("Chunk.page_end", self.page_end, least=self.page_number or 1)
        if self.page_label is not None:
            validation.check_storable("Chunk.page_label", self.page_label)
        if self.embedding is not None:
            validation.check_instance("Chunk.embedding", self.embedding, tuple)
            validation.check_unit_vector("Chunk.embedding", self.embedding)
        validation.check_json_object("Chunk.metadata", self.metadata)
        validation.check_datetime("Chunk.created_at", self.created_at)

    @property
    def page(self) -> str | None:
        """The printed page label, or the physical number if there is none."""
        return self.page_label or (None if self.page_number is None else str(self.page_number))

    @property
    def language(self) -> str:
        """The language whose rules its words follow; "" for English."""
        named = self.metadata.get("language", "")
        return named if isinstance(named, str) else ""

    @property
    def context(self) -> str:
        """The caption and the column headings of the table that it is a later part of; "" elsewhere."""
        named = self.metadata.get("context", "")
        return named if isinstance(named, str) else ""

    @property
    def source_url(self) -> str:
        return self.url

    @property
    def section_heading(self) -> str:
        return self.section

    @property
    def title(self) -> str:
        """The title of the book."""
        return self.source_title
