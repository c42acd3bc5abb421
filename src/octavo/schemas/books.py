"""The JSON shapes of books, their contents, and the jobs that add them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, Self

from pydantic import Field

from octavo.events import Compared
from octavo.records.jobs import Job, JobState
from octavo.records.scans import ScanSummary
from octavo.schemas.base import Schema, Time, omit_empty
from octavo.types import Book, BookFormat, Element, ElementKind, Section


class MetadataJson(Schema):
    """What a title page says besides title, authors and language; what it does not say is left out."""

    subjects: list[str] = omit_empty([])
    series: str = omit_empty("")
    series_position: str = omit_empty("")
    publisher: str = omit_empty("")
    published: str = omit_empty("")
    identifiers: list[str] = omit_empty([])


class BookJson(Schema):
    id: str
    title: str
    format: BookFormat
    source_file: str
    content_hash: str
    index_fingerprint: str
    added_at: Time
    updated_at: Time
    authors: list[str]
    language: str
    base_url: str | None
    section_count: int
    chunk_count: int
    page_count: int
    metadata: MetadataJson


class ScanJson(Schema):
    """How many pages of a book OCR has read, and how sure it is of their words, from 0 to 1."""

    pages: int
    confidence: float

    @classmethod
    def from_summary(cls, summary: ScanSummary | None) -> ScanJson | None:
        return None if summary is None else cls(pages=summary.pages, confidence=summary.confidence)


class TaggedBookJson(BookJson):
    """A book with its tags, and what OCR has read in it if it was scanned."""

    tags: list[str]
    scan: ScanJson | None = None


class BookWithCoverJson(TaggedBookJson):
    """A book, whether there is a cover image for it, and whether its pages can be drawn as printed."""

    cover: bool
    printed: bool


class BookListJson(Schema):
    books: list[TaggedBookJson]

    @classmethod
    def from_books(
        cls,
        books: Sequence[Book],
        tags: Mapping[str, Sequence[str]],
        scans: Mapping[str, ScanSummary] = MappingProxyType({}),
    ) -> BookListJson:
        shown = [
            TaggedBookJson.from_value(
                book, tags=list(tags.get(book.id, ())), scan=ScanJson.from_summary(scans.get(book.id))
            )
            for book in books
        ]
        return cls(books=shown)


class TagsJson(Schema):
    """The tags that a book has."""

    book_id: str
    tags: list[str]


class BookPageJson(Schema):
    """One page of the list of books; `next` is the `after` of the following page."""

    books: list[BookWithCoverJson]
    next: str | None


class ChangeJson(Schema):
    """What a new edition changes: sections, and the passages behind them.

    `replaces` is the format of the edition that was in the library; empty for a new book.
    """

    added: int
    changed: int
    removed: int
    kept: int
    chunks_new: int
    chunks_gone: int
    replaces: str = ""


class AddedBookJson(BookJson):
    """A book after `octavo add`. `unchanged` when there was nothing to do."""

    unchanged: bool
    change: ChangeJson


class PlannedBookJson(Schema):
    """What `octavo add` would change."""

    id: str
    title: str
    dry_run: Literal[True] = True
    change: ChangeJson

    @classmethod
    def from_change(cls, change: Compared) -> PlannedBookJson:
        return cls(id=change.book_id, title=change.title, change=ChangeJson.from_value(change))


class FailureJson(Schema):
    """Why something failed. `code` is for programs and never changes; the texts are for people."""

    code: str
    message: str
    hint: str


class FailedPathJson(FailureJson):
    """A path whose book was not added, and why."""

    path: str


class AddedBooksJson(Schema):
    """The result of `octavo add`."""

    books: list[AddedBookJson | PlannedBookJson]
    errors: list[FailedPathJson] = omit_empty([])


class SyncJson(Schema):
    """The result of `octavo sync`: paths to add or added, and the ids of books whose files are gone."""

    folder: str
    dry_run: bool
    new: list[str]
    changed: list[str]
    same: list[str]
    gone: list[str]
    removed: list[str]
    books: list[AddedBookJson] = omit_empty([])
    errors: list[FailedPathJson] = omit_empty([])


class RemovedBookJson(Schema):
    """The result of `octavo remove`."""

    removed: BookJson


class AttachedBookJson(Schema):
    """The result of `octavo attach`."""

    book: BookJson
    unchanged: bool


class SectionJson(Schema):
    """An entry of the table of contents, without its text."""

    id: str
    title: str
    heading_path: list[str]
    level: int
    position: int
    url: str
    anchor: str
    page_start: int | None
    page_end: int | None
    page_label: str | None
    source_file: str
    characters: int

    @classmethod
    def from_section(cls, section: Section) -> Self:
        return cls.from_value(section, characters=len(section.text))


class ContentsJson(Schema):
    """A table of contents, in reading order."""

    sections: list[SectionJson]

    @classmethod
    def from_sections(cls, sections: list[Section]) -> ContentsJson:
        return cls(sections=[SectionJson.from_section(section) for section in sections])


class BlockJson(Schema):
    """Where a block of code or a table is in a section's text."""

    start: int
    end: int


class ElementJson(Schema):
    """A part of a section's text and what it is. `depth` says how many elements before it it is inside."""

    kind: ElementKind
    start: int
    end: int
    depth: int
    attributes: dict[str, str | int] = omit_empty({})

    @classmethod
    def from_element(cls, element: Element) -> ElementJson:
        return cls.from_value(element, attributes=dict(element.attributes))


class PageStartJson(Schema):
    """Where a page begins in a section's text."""

    offset: int
    number: int
    label: str | None


class PageBoxJson(Schema):
    """A part of a page: its edges in shares of the page's width and height, from its top left corner."""

    left: float
    top: float
    right: float
    bottom: float


class PrintedPageJson(Schema):
    """A page of a PDF: its place in the file, its printed number, its size in points, and boxes on it."""

    number: int
    label: str | None
    width: float
    height: float
    boxes: list[PageBoxJson]


class PrintedPagesJson(Schema):
    """The pages of a section, with boxes around the characters that were asked for."""

    pages: list[PrintedPageJson]


class SectionTextJson(SectionJson):
    """A section with its text. `markup` is how it is drawn; a section without markup is shown as text.

    `language` is that of the section, or of the book where the section does not clearly have another.
    """

    language: str
    text: str
    blocks: list[BlockJson]
    pages: list[PageStartJson]
    markup: list[ElementJson]

    @classmethod
    def from_section(cls, section: Section, language: str = "") -> Self:
        markup = [ElementJson.from_element(element) for element in section.markup]
        return cls.from_value(section, characters=len(section.text), markup=markup, language=language)


class ProgressJson(Schema):
    """The step of a job. The last one says what became of the book: `added`, `replaced` or `unchanged`."""

    step: str = Field(examples=["waiting", "reading", "cutting", "embedding", "storing", "added"])
    done: int
    total: int


class JobJson(Schema):
    """A book that was sent to be added, and how far that is."""

    job_id: str
    state: JobState
    name: str
    progress: ProgressJson
    book_id: str | None
    error: FailureJson | None
    created_at: Time

    @classmethod
    def from_job(cls, job: Job) -> JobJson:
        error = FailureJson(**job.error) if job.error else None
        return cls.from_value(job, job_id=job.id, error=error)


class JobPageJson(Schema):
    """One page of the list of jobs; `next` is the `after` of the following page."""

    jobs: list[JobJson]
    next: str | None


class QueuedBookJson(Schema):
    job: JobJson


class FinishedJobsJson(Schema):
    """The result of `octavo work`: how many jobs it finished."""

    jobs: int
