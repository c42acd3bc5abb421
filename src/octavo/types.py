"""The nouns of a library: frozen values that cannot be made wrong.

A Book has Sections, a Section has canonical text, and every offset anywhere points into that text. A Chunk
is a stretch of one Section; its id is made from its content, so the same bytes give the same id. A Scope is
where a reader looks, and Evidence is what was found there. A value that breaks a rule is refused when it is
made, with the field, the rule and the value in the message. `conversation` has the nouns of asking.

The nouns of asking: a Question within a Scope gets an Answer whose Citations quote chunks to the letter.

Like everything in `types`, these are frozen values that cannot be made wrong: an answered question has
evidence and citations, a citation's snippet is its chunk's own text, and a refusal says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import pairwise
from types import MappingProxyType
from typing import Self
from uuid import uuid4

from octavo import validation
from octavo.errors import InvalidTransition, InvalidValue
from octavo.validation import AnswerState, Delivery, EvidenceState, QuestionStatus, advance

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
        validation.text("Book.id", self.id, most=200)
        validation.text("Book.title", self.title, most=500)
        object.__setattr__(self, "format", validation.member("Book.format", self.format, BookFormat))
        validation.text("Book.source_file", self.source_file)
        validation.text("Book.content_hash", self.content_hash)
        validation.text("Book.index_fingerprint", self.index_fingerprint)
        validation.texts("Book.authors", self.authors)
        validation.storable("Book.language", self.language)
        if self.base_url is not None:
            validation.url("Book.base_url", self.base_url)
        for name in ("section_count", "chunk_count", "page_count"):
            validation.whole(f"Book.{name}", getattr(self, name), least=0)
        validation.moment("Book.added_at", self.added_at)
        validation.moment("Book.updated_at", self.updated_at)


@dataclass(frozen=True, slots=True)
class PageMark:
    """From `offset` in a section's text on, the reader is on physical page `number`, printed as `label`."""

    offset: int
    number: int
    label: str | None = None

    def __post_init__(self) -> None:
        validation.whole("PageMark.offset", self.offset, least=0)
        validation.whole("PageMark.number", self.number, least=1)
        if self.label is not None:
            validation.storable("PageMark.label", self.label)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a section's text that belongs together: a code block, a table, a list."""

    start: int
    end: int

    def __post_init__(self) -> None:
        validation.span("Span", self.start, self.end)


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
        validation.text("Section.id", self.id)
        validation.text("Section.book_id", self.book_id)
        validation.text("Section.title", self.title)
        validation.text("Section.source_file", self.source_file)
        validation.texts("Section.heading_path", self.heading_path)
        if not self.heading_path or self.heading_path[-1] != self.title:
            raise InvalidValue("Section.heading_path", "must end with the section's title", self.heading_path)
        for heading in self.heading_path:
            validation.text("Section.heading_path", heading)
        validation.texts("Section.ancestors", self.ancestors)
        validation.whole("Section.level", self.level, least=1)
        validation.whole("Section.position", self.position, least=0)
        validation.url("Section.url", self.url)
        validation.storable("Section.text", self.text)
        validation.storable("Section.anchor", self.anchor)
        validation.tuple_of("Section.pages", self.pages, PageMark)
        validation.tuple_of("Section.blocks", self.blocks, Span)
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
        validation.text("Chunk.id", self.id)
        validation.whole("Chunk.chunk_id", self.chunk_id, least=1)
        validation.text("Chunk.content", self.content, least=CHUNK_LEAST, most=CHUNK_MOST)
        for name in ("book_id", "section_id", "source_file", "source_location", "source_title"):
            validation.text(f"Chunk.{name}", getattr(self, name))
        validation.storable("Chunk.chapter", self.chapter)
        validation.storable("Chunk.section", self.section)
        validation.texts("Chunk.heading_path", self.heading_path)
        validation.texts("Chunk.ancestors", self.ancestors)
        validation.whole("Chunk.document_position", self.document_position, least=0)
        validation.whole("Chunk.chunk_index", self.chunk_index, least=0)
        validation.url("Chunk.url", self.url)
        validation.span("Chunk", self.start, self.end)
        if self.end - self.start != len(self.content):
            raise InvalidValue("Chunk.end", "must be start plus the length of the content", self.end)
        if self.page_number is not None:
            validation.whole("Chunk.page_number", self.page_number, least=1)
        if self.page_end is not None:
            validation.whole("Chunk.page_end", self.page_end, least=self.page_number or 1)
        if self.page_label is not None:
            validation.storable("Chunk.page_label", self.page_label)
        if self.embedding is not None:
            validation.instance("Chunk.embedding", self.embedding, tuple)
            validation.unit_vector("Chunk.embedding", self.embedding)
        validation.json_object("Chunk.metadata", self.metadata)
        validation.moment("Chunk.created_at", self.created_at)

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
        object.__setattr__(self, "type", validation.member("Scope.type", self.type, ScopeType))
        if self.type is not ScopeType.FULL_BOOK:
            validation.text("Scope.identifier", self.identifier or "")
        elif self.identifier is not None:
            validation.storable("Scope.identifier", self.identifier)
        validation.storable("Scope.description", self.description)
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
        validation.instance("Evidence.chunk", self.chunk, Chunk)
        object.__setattr__(self, "id", self.chunk.id if self.id == "" else self.id)
        object.__setattr__(self, "state", validation.member("Evidence.state", self.state, EvidenceState))
        validation.text("Evidence.id", self.id)
        validation.share("Evidence.relevance_score", self.relevance_score)
        validation.whole("Evidence.rank", self.rank, least=1)

    def to(self, state: EvidenceState) -> Self:
        return replace(self, state=advance(self.state, state))


QUESTION_MOST, SELECTION_MOST = 1000, 500
TOP_K_DEFAULT, TOP_K_MOST = 5, 20
_EMPTY: Mapping[str, object] = MappingProxyType({})


class RefusalReason(StrEnum):
    NOT_IN_BOOK = "not_in_book"
    NOT_IN_SCOPE = "not_in_scope"
    BELOW_CONFIDENCE = "below_confidence"
    EMPTY_LIBRARY = "empty_library"


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A quotation, copied from its chunk by offset, with the way back to it."""

    id: str
    answer_id: str
    number: int
    chunk: Chunk
    start: int
    end: int
    content_snippet: str
    relevance_score: float
    confidence: float
    retrieved_content_id: str
    link: str

    def __post_init__(self) -> None:
        for name in ("id", "answer_id", "content_snippet", "retrieved_content_id"):
            validation.text(f"Citation.{name}", getattr(self, name))
        validation.whole("Citation.number", self.number, least=1)
        validation.share("Citation.relevance_score", self.relevance_score)
        validation.share("Citation.confidence", self.confidence)
        validation.span("Citation", self.start, self.end)
        validation.url("Citation.link", self.link)
        validation.instance("Citation.chunk", self.chunk, Chunk)
        inside = self.chunk.content[self.start - self.chunk.start : self.end - self.chunk.start]
        beyond = self.start < self.chunk.start or self.end > self.chunk.end
        if beyond or inside != self.content_snippet:
            rule = "must be the chunk's own text from start to end"
            raise InvalidValue("Citation.content_snippet", rule, self.content_snippet)

    @property
    def chunk_id(self) -> str:
        return self.chunk.id

    @property
    def chunk_number(self) -> int:
        """The chunk's integer id, exact in JavaScript."""
        return self.chunk.chunk_id

    @property
    def source_file(self) -> str:
        return self.chunk.source_file

    @property
    def source_location(self) -> str:
        return self.chunk.source_location

    @property
    def url(self) -> str:
        return self.chunk.url

    @property
    def section(self) -> str:
        return self.chunk.section

    @property
    def page(self) -> str | None:
        return self.chunk.page

    @property
    def title(self) -> str:
        return self.chunk.source_title


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why the book does not answer, in words, with the sections that come nearest."""

    reason: RefusalReason
    message: str
    nearest: tuple[Evidence, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", validation.member("Refusal.reason", self.reason, RefusalReason))
        validation.text("Refusal.message", self.message)
        validation.tuple_of("Refusal.nearest", self.nearest, Evidence)


@dataclass(frozen=True, slots=True)
class Trace:
    """The delivery of an answer, each step with its time; none is skipped."""

    steps: tuple[tuple[Delivery, datetime], ...] = ()

    def __post_init__(self) -> None:
        validation.tuple_of("Trace.steps", self.steps, tuple)
        for pair in self.steps:
            if len(pair) != 2:
                raise InvalidValue("Trace.steps", "must each be a step and its time", pair)
            validation.instance("Trace.steps", pair[0], Delivery)
        if self.steps and self.steps[0][0] is not Delivery.RECEIVED:
            raise InvalidTransition(f"Delivery starts with received, not with {self.steps[0][0]}")
        for (before, _), (after, _) in pairwise(self.steps):
            advance(before, after)
        for step, at in self.steps:
            validation.moment(f"Trace.{step}", at)

    def reach(self, step: Delivery, at: datetime) -> Trace:
        return Trace((*self.steps, (step, at)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the reader is told. Answered, it has evidence and citations; refused, it says why."""

    id: str
    question_id: str
    content: str
    confidence: float
    processing_time_ms: int
    timestamp: datetime
    citations: tuple[Citation, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    refusal: Refusal | None = None
    state: AnswerState = AnswerState.DRAFT
    trace: Trace = Trace()

    def __post_init__(self) -> None:
        validation.text("Answer.id", self.id)
        validation.text("Answer.question_id", self.question_id)
        validation.text("Answer.content", self.content)
        validation.share("Answer.confidence", self.confidence)
        validation.whole("Answer.processing_time_ms", self.processing_time_ms, least=1)
        validation.moment("Answer.timestamp", self.timestamp)
        validation.tuple_of("Answer.citations", self.citations, Citation)
        validation.tuple_of("Answer.evidence", self.evidence, Evidence)
        validation.instance("Answer.trace", self.trace, Trace)
        if self.refusal is not None:
            validation.instance("Answer.refusal", self.refusal, Refusal)
        object.__setattr__(self, "state", validation.member("Answer.state", self.state, AnswerState))
        if self.refusal is None and not self.evidence:
            raise InvalidValue("Answer.evidence", "must not be empty on an answered question", ())
        if self.refusal is None and not self.citations:
            raise InvalidValue("Answer.citations", "must not be empty on an answered question", ())
        if self.refusal is not None and self.citations:
            raise InvalidValue("Answer.citations", "must be empty on a refused question", self.citations)
        self._check_citations()

    def _check_citations(self) -> None:
        numbers = [c.number for c in self.citations]
        if numbers != list(range(1, len(numbers) + 1)):
            raise InvalidValue("Answer.citations", "must be numbered 1…n in order", numbers)
        found = {e.id: e.chunk.id for e in self.evidence}
        for cited in self.citations:
            if cited.answer_id != self.id:
                raise InvalidValue("Answer.citations", f"must name this answer, {self.id}", cited.answer_id)
            if found.get(cited.retrieved_content_id) != cited.chunk_id:
                rule = "must each quote a chunk of the answer's own evidence"
                raise InvalidValue("Answer.citations", rule, cited.retrieved_content_id)

    def to(self, state: AnswerState) -> Self:
        return replace(self, state=advance(self.state, state))


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of a conversation."""

    id: str
    role: str
    content: str
    timestamp: datetime
    query_id: str | None = None
    source_references: tuple[Citation, ...] = ()

    def __post_init__(self) -> None:
        validation.text("Message.id", self.id)
        validation.one_of("Message.role", self.role, ("user", "assistant"))
        validation.text("Message.content", self.content)
        validation.moment("Message.timestamp", self.timestamp)
        if self.query_id is not None:
            validation.text("Message.query_id", self.query_id)
        validation.tuple_of("Message.source_references", self.source_references, Citation)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryContext:
    """What surrounds a question: the reader's selection, what was said before, wishes and filters."""

    selected_text: str | None
    conversation_history: tuple[Message, ...]
    user_preferences: Mapping[str, object] = field(hash=False)
    filters: Mapping[str, object] = field(hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the reader asks, and within which bounds."""

    content: str
    id: str = field(default_factory=lambda: str(uuid4()))
    timestamp: datetime = field(default_factory=lambda: datetime.now(UTC))
    scope: Scope = field(default_factory=Scope)
    book_id: str | None = None
    selected_text: str | None = None
    top_k: int = TOP_K_DEFAULT
    session_id: str | None = None
    user_id: str | None = None
    user_context: Mapping[str, object] = field(default_factory=lambda: _EMPTY, hash=False)
    conversation_history: tuple[Message, ...] = ()
    user_preferences: Mapping[str, object] = field(default_factory=lambda: _EMPTY, hash=False)
    filters: Mapping[str, object] = field(default_factory=lambda: _EMPTY, hash=False)
    status: QuestionStatus = QuestionStatus.PENDING

    def __post_init__(self) -> None:
        validation.text("Question.id", self.id)
        validation.text("Question.content", self.content, most=QUESTION_MOST)
        if self.selected_text is not None:
            validation.text("Question.selected_text", self.selected_text, most=SELECTION_MOST)
        validation.whole("Question.top_k", self.top_k, least=1, most=TOP_K_MOST)
        for name in ("user_context", "user_preferences", "filters"):
            validation.json_object(f"Question.{name}", getattr(self, name))
        for name in ("book_id", "session_id", "user_id"):
            if getattr(self, name) is not None:
                validation.text(f"Question.{name}", getattr(self, name))
        validation.instance("Question.scope", self.scope, Scope)
        validation.tuple_of("Question.conversation_history", self.conversation_history, Message)
        validation.moment("Question.timestamp", self.timestamp)
        object.__setattr__(self, "status", validation.member("Question.status", self.status, QuestionStatus))

    @property
    def context(self) -> QueryContext:
        return QueryContext(
            selected_text=self.selected_text,
            conversation_history=self.conversation_history,
            user_preferences=self.user_preferences,
            filters=self.filters,
        )

    def to(self, status: QuestionStatus) -> Self:
        return replace(self, status=advance(self.status, status))


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A conversation: questions and answers in order."""

    session_id: str
    start_time: datetime
    end_time: datetime | None = None
    query_count: int = 0
    messages: tuple[Message, ...] = ()
    questions: tuple[Question, ...] = ()
    answers: tuple[Answer, ...] = ()

    def __post_init__(self) -> None:
        validation.text("Session.session_id", self.session_id)
        validation.tuple_of("Session.messages", self.messages, Message)
        validation.tuple_of("Session.questions", self.questions, Question)
        validation.tuple_of("Session.answers", self.answers, Answer)
        validation.whole("Session.query_count", self.query_count, least=len(self.questions))
        validation.moment("Session.start_time", self.start_time)
        if self.end_time is not None:
            validation.moment("Session.end_time", self.end_time)
            if self.end_time < self.start_time:
                raise InvalidValue("Session.end_time", "must not be before start_time", self.end_time)
