"""The data model: frozen values that check themselves when they are made.

A Book has Sections, a Section has canonical text, and every offset anywhere points into that text. A Chunk
is a part of one Section; its id is made from its content, so the same bytes give the same id. A Scope says
where to look, and Evidence is what was found there. A Question within a Scope gets an Answer. An answered
question has evidence and citations, a citation's snippet is its chunk's own text, and a Refusal says why
there is no answer. A value that breaks a rule raises `InvalidValue` with the field, the rule and the value.
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
QUESTION_MOST, SELECTION_MOST = 1000, 500
TOP_K_DEFAULT, TOP_K_MOST = 5, 20
_EMPTY: Mapping[str, object] = MappingProxyType({})


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
        validation.check_datetime("Book.added_at", self.added_at)
        validation.check_datetime("Book.updated_at", self.updated_at)


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


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a section's text that belongs together: a code block, a table, a list."""

    start: int
    end: int

    def __post_init__(self) -> None:
        validation.check_span("Span", self.start, self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """An entry of the table of contents, with the text directly under its heading."""

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

    @property
    def page_start(self) -> int | None:
        return self.pages[0].number if self.pages else None

    @property
    def page_end(self) -> int | None:
        return self.pages[-1].number if self.pages else None

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
    metadata: Mapping[str, object] = field(default_factory=lambda: _EMPTY, hash=False)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The part of a book that the answer must come from."""

    type: ScopeType = ScopeType.FULL_BOOK
    identifier: str | None = None
    description: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", validation.to_member("Scope.type", self.type, ScopeType))
        if self.type is not ScopeType.FULL_BOOK:
            validation.check_text("Scope.identifier", self.identifier or "")
        elif self.identifier is not None:
            validation.check_storable("Scope.identifier", self.identifier)
        validation.check_storable("Scope.description", self.description)
        if not self.description:
            said = "the whole book" if self.identifier is None else f"{self.type}: {self.identifier}"
            object.__setattr__(self, "description", said)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A chunk found for one question. `relevance_score` is a probability, comparable between questions.

    `id` names this result, so that a citation can refer to it. It defaults to the chunk's id.
    """

    chunk: Chunk
    relevance_score: float
    rank: int
    state: EvidenceState = EvidenceState.RETRIEVED
    id: str = ""

    def __post_init__(self) -> None:
        validation.check_instance("Evidence.chunk", self.chunk, Chunk)
        object.__setattr__(self, "id", self.chunk.id if self.id == "" else self.id)
        object.__setattr__(self, "state", validation.to_member("Evidence.state", self.state, EvidenceState))
        validation.check_text("Evidence.id", self.id)
        validation.check_share("Evidence.relevance_score", self.relevance_score)
        validation.check_integer("Evidence.rank", self.rank, least=1)

    def to(self, state: EvidenceState) -> Self:
        return replace(self, state=advance(self.state, state))


class RefusalReason(StrEnum):
    NOT_IN_BOOK = "not_in_book"
    NOT_IN_SCOPE = "not_in_scope"
    BELOW_CONFIDENCE = "below_confidence"
    EMPTY_LIBRARY = "empty_library"


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A quotation, copied from its chunk by offset, with a link to its place."""

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
            validation.check_text(f"Citation.{name}", getattr(self, name))
        validation.check_integer("Citation.number", self.number, least=1)
        validation.check_share("Citation.relevance_score", self.relevance_score)
        validation.check_share("Citation.confidence", self.confidence)
        validation.check_span("Citation", self.start, self.end)
        validation.check_url("Citation.link", self.link)
        validation.check_instance("Citation.chunk", self.chunk, Chunk)
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
    """Why the book does not answer, with the passages that come closest."""

    reason: RefusalReason
    message: str
    nearest: tuple[Evidence, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", validation.to_member("Refusal.reason", self.reason, RefusalReason))
        validation.check_text("Refusal.message", self.message)
        validation.check_tuple("Refusal.nearest", self.nearest, Evidence)


@dataclass(frozen=True, slots=True)
class Trace:
    """The steps of an answer's delivery with their times. No step is skipped."""

    steps: tuple[tuple[Delivery, datetime], ...] = ()

    def __post_init__(self) -> None:
        validation.check_tuple("Trace.steps", self.steps, tuple)
        for pair in self.steps:
            if len(pair) != 2:
                raise InvalidValue("Trace.steps", "must each be a step and its time", pair)
            validation.check_instance("Trace.steps", pair[0], Delivery)
        if self.steps and self.steps[0][0] is not Delivery.RECEIVED:
            raise InvalidTransition(f"Delivery starts with received, not with {self.steps[0][0]}")
        for (before, _), (after, _) in pairwise(self.steps):
            advance(before, after)
        for step, at in self.steps:
            validation.check_datetime(f"Trace.{step}", at)

    def reach(self, step: Delivery, at: datetime) -> Trace:
        return Trace((*self.steps, (step, at)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The reply to a question: text with evidence and citations, or a refusal."""

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
        validation.check_text("Answer.id", self.id)
        validation.check_text("Answer.question_id", self.question_id)
        validation.check_text("Answer.content", self.content)
        validation.check_share("Answer.confidence", self.confidence)
        validation.check_integer("Answer.processing_time_ms", self.processing_time_ms, least=1)
        validation.check_datetime("Answer.timestamp", self.timestamp)
        validation.check_tuple("Answer.citations", self.citations, Citation)
        validation.check_tuple("Answer.evidence", self.evidence, Evidence)
        validation.check_instance("Answer.trace", self.trace, Trace)
        if self.refusal is not None:
            validation.check_instance("Answer.refusal", self.refusal, Refusal)
        object.__setattr__(self, "state", validation.to_member("Answer.state", self.state, AnswerState))
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
        validation.check_text("Message.id", self.id)
        validation.check_one_of("Message.role", self.role, ("user", "assistant"))
        validation.check_text("Message.content", self.content)
        validation.check_datetime("Message.timestamp", self.timestamp)
        if self.query_id is not None:
            validation.check_text("Message.query_id", self.query_id)
        validation.check_tuple("Message.source_references", self.source_references, Citation)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryContext:
    """The context of a question: selected text, earlier messages, preferences and filters."""

    selected_text: str | None
    conversation_history: tuple[Message, ...]
    user_preferences: Mapping[str, object] = field(hash=False)
    filters: Mapping[str, object] = field(hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the reader asks, and where to look for the answer."""

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
        validation.check_text("Question.id", self.id)
        validation.check_text("Question.content", self.content, most=QUESTION_MOST)
        if self.selected_text is not None:
            validation.check_text("Question.selected_text", self.selected_text, most=SELECTION_MOST)
        validation.check_integer("Question.top_k", self.top_k, least=1, most=TOP_K_MOST)
        for name in ("user_context", "user_preferences", "filters"):
            validation.check_json_object(f"Question.{name}", getattr(self, name))
        for name in ("book_id", "session_id", "user_id"):
            if getattr(self, name) is not None:
                validation.check_text(f"Question.{name}", getattr(self, name))
        validation.check_instance("Question.scope", self.scope, Scope)
        validation.check_tuple("Question.conversation_history", self.conversation_history, Message)
        validation.check_datetime("Question.timestamp", self.timestamp)
        object.__setattr__(
            self, "status", validation.to_member("Question.status", self.status, QuestionStatus)
        )

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
        validation.check_text("Session.session_id", self.session_id)
        validation.check_tuple("Session.messages", self.messages, Message)
        validation.check_tuple("Session.questions", self.questions, Question)
        validation.check_tuple("Session.answers", self.answers, Answer)
        validation.check_integer("Session.query_count", self.query_count, least=len(self.questions))
        validation.check_datetime("Session.start_time", self.start_time)
        if self.end_time is not None:
            validation.check_datetime("Session.end_time", self.end_time)
            if self.end_time < self.start_time:
                raise InvalidValue("Session.end_time", "must not be before start_time", self.end_time)
