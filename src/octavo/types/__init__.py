"""The data model: frozen values that check themselves when they are made.

A Book has Sections, a Section has canonical text, and every offset anywhere points into that text. A Chunk
is a part of one Section; its id is made from its content, so the same bytes give the same id. A Scope says
where to look, and Evidence is what was found there. A Question within a Scope gets an Answer. An answered
question has evidence and citations, a citation's snippet is its chunk's own text, and a Refusal says why
there is no answer. A value that breaks a rule raises `InvalidValue` with the field, the rule and the value.

The source documents have other names for the same things. The last lines of this module give these names to
the types, and `aliases` gives them to the fields: `AgentResponse` is `Answer`, and has a `confidence_level`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import pairwise
from typing import Self
from uuid import uuid4

from octavo import validation
from octavo.errors import InvalidTransition, InvalidValue
from octavo.types.aliases import AnswerNames, CitationNames, EvidenceNames, QuestionNames
from octavo.types.books import (
    CHUNK_LEAST,
    CHUNK_MOST,
    EMPTY,
    NO_METADATA,
    Book,
    BookFormat,
    BookMetadata,
    Chunk,
    PageBox,
    PageMark,
    PrintedLine,
    PrintedPage,
    Section,
    Span,
)
from octavo.types.markup import Element, ElementKind
from octavo.validation import AnswerState, Delivery, EvidenceState, QuestionStatus, advance

__all__ = [
    "CHUNK_LEAST",
    "CHUNK_MOST",
    "COLLECTION",
    "EMBEDDING_SIZE",
    "NO_METADATA",
    "QUESTION_MOST",
    "SELECTION_MOST",
    "TOP_K_DEFAULT",
    "TOP_K_MOST",
    "UNANSWERED",
    "AgentResponse",
    "AgentSession",
    "Answer",
    "Book",
    "BookContentChunk",
    "BookFormat",
    "BookMetadata",
    "ChatMessage",
    "Chunk",
    "Citation",
    "Element",
    "ElementKind",
    "Evidence",
    "Message",
    "PageBox",
    "PageMark",
    "PrintedLine",
    "PrintedPage",
    "Query",
    "QueryContext",
    "QueryScope",
    "Question",
    "Refusal",
    "RefusalReason",
    "RetrievedContent",
    "RetrievedContentChunk",
    "Scope",
    "ScopeType",
    "Section",
    "Session",
    "ShortAnswer",
    "SourceCitation",
    "SourceReference",
    "Span",
    "Trace",
    "UserQuery",
]

COLLECTION = "ai_book_embedding"
EMBEDDING_SIZE = 384
QUESTION_MOST, SELECTION_MOST = 1000, 500
TOP_K_DEFAULT, TOP_K_MOST = 5, 20
# How a line of an answer begins that names a part of the question without an answer.
UNANSWERED = "I found no answer to this"


class ScopeType(StrEnum):
    FULL_BOOK = "full-book"
    SECTION = "section-specific"
    PAGE = "page-specific"
    SELECTION = "selection"
    UP_TO = "up-to-position"


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
class Evidence(EvidenceNames):
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
class Citation(CitationNames):
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
class ShortAnswer:
    """The words that answer, cut from a sentence that the answer cites.

    `citation` is the number of that citation. `start` and `end` point into the section's text, as its own do.
    """

    text: str
    citation: int
    start: int
    end: int

    def __post_init__(self) -> None:
        validation.check_text("ShortAnswer.text", self.text)
        validation.check_integer("ShortAnswer.citation", self.citation, least=1)
        validation.check_span("ShortAnswer", self.start, self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueStatement:
    """A sentence of an answer that the catalogue states about a book and that no passage says."""

    text: str
    book_id: str

    def __post_init__(self) -> None:
        validation.check_text("CatalogueStatement.text", self.text)
        validation.check_text("CatalogueStatement.book_id", self.book_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why the book does not answer, with the passages that come closest, each cut to a few sentences.

    Where the answer is outside of the scope, `nearest` are its places, and their text is not for the reader.
    """

    reason: RefusalReason
    message: str
    nearest: tuple[Evidence, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", validation.to_member("Refusal.reason", self.reason, RefusalReason))
        validation.check_text("Refusal.message", self.message)
        validation.check_tuple("Refusal.nearest", self.nearest, Evidence)

    @property
    def excerpts(self) -> tuple[str, ...]:
        """The text of each of the nearest passages, or "" where the reader did not ask to see it."""
        shown = self.reason is not RefusalReason.NOT_IN_SCOPE
        return tuple(item.chunk.content if shown else "" for item in self.nearest)


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
class Answer(AnswerNames):
    """The reply to a question: text with evidence and citations, or a refusal.

    Where the words that answer are known, `short` has them, and the text opens with them. `catalogue` are the
    sentences that rest on the catalogue alone; every other sentence has its citations. `translated` are those
    that a model wrote in another language than the words that they cite. `interpreted` is the question as it
    was asked of the books, where that is not as the reader asked it: completed, corrected or translated.
    """

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
    short: ShortAnswer | None = None
    catalogue: tuple[CatalogueStatement, ...] = ()
    translated: tuple[str, ...] = ()
    interpreted: str | None = None

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
        if self.interpreted is not None:
            validation.check_text("Answer.interpreted", self.interpreted)
        object.__setattr__(self, "state", validation.to_member("Answer.state", self.state, AnswerState))
        self._check_catalogue()
        self._check_translated()
        if self.refusal is None and not self.evidence and not self.catalogue:
            raise InvalidValue("Answer.evidence", "must not be empty on an answered question", ())
        if self.refusal is None and not self.citations and not self.catalogue:
            raise InvalidValue("Answer.citations", "must not be empty on an answered question", ())
        if self.refusal is not None and self.citations:
            raise InvalidValue("Answer.citations", "must be empty on a refused question", self.citations)
        self._check_citations()
        if self.short is not None:
            self._check_short(self.short)

    def _check_catalogue(self) -> None:
        validation.check_tuple("Answer.catalogue", self.catalogue, CatalogueStatement)
        if self.refusal is not None and self.catalogue:
            raise InvalidValue("Answer.catalogue", "must be empty on a refused question", self.catalogue)
        for statement in self.catalogue:
            if statement.text not in self.content:
                raise InvalidValue("Answer.catalogue", "must be sentences of the answer", statement.text)
        # Without citations, the catalogue has to state all that is answered.
        stated = {statement.text for statement in self.catalogue}
        parts = [part for part in self.content.split("\n\n") if not part.startswith(UNANSWERED)]
        left = [part for part in parts if part not in stated]
        if self.catalogue and not self.citations and left:
            raise InvalidValue("Answer.citations", "must not be empty where the catalogue is not all", left)

    def _check_translated(self) -> None:
        validation.check_tuple("Answer.translated", self.translated, str)
        if self.refusal is not None and self.translated:
            raise InvalidValue("Answer.translated", "must be empty on a refused question", self.translated)
        for sentence in self.translated:
            if not sentence or sentence not in self.content:
                raise InvalidValue("Answer.translated", "must be sentences of the answer", sentence)

    def _check_short(self, short: ShortAnswer) -> None:
        validation.check_instance("Answer.short", short, ShortAnswer)
        cited = next((c for c in self.citations if c.number == short.citation), None)
        if cited is None or not cited.start <= short.start < short.end <= cited.end:
            raise InvalidValue("Answer.short", "must stand in the words of the citation that it names", short)
        if cited.content_snippet[short.start - cited.start : short.end - cited.start] != short.text:
            raise InvalidValue("Answer.short", "must be the citation's own text from start to end", short)
        if not self.content.startswith(short.text):
            raise InvalidValue("Answer.short", "must open the text of the answer", short)

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

    @property
    def book_ids(self) -> tuple[str, ...]:
        """The books that the answer rests on."""
        return tuple(
            dict.fromkeys([*(c.chunk.book_id for c in self.citations), *(s.book_id for s in self.catalogue)])
        )

    @property
    def sources(self) -> tuple[Citation, ...]:
        return self.citations

    @property
    def source_citations(self) -> tuple[Citation, ...]:
        return self.citations

    @property
    def retrieved_chunks(self) -> tuple[Evidence, ...]:
        return self.evidence

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

    selected_text: str | None = None
    conversation_history: tuple[Message, ...] = ()
    user_preferences: Mapping[str, object] = field(default_factory=lambda: EMPTY, hash=False)
    filters: Mapping[str, object] = field(default_factory=lambda: EMPTY, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(QuestionNames):
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
    user_context: Mapping[str, object] = field(default_factory=lambda: EMPTY, hash=False)
    conversation_history: tuple[Message, ...] = ()
    user_preferences: Mapping[str, object] = field(default_factory=lambda: EMPTY, hash=False)
    filters: Mapping[str, object] = field(default_factory=lambda: EMPTY, hash=False)
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
    title: str = ""

    def __post_init__(self) -> None:
        validation.check_text("Session.session_id", self.session_id)
        validation.check_storable("Session.title", self.title)
        validation.check_tuple("Session.messages", self.messages, Message)
        validation.check_tuple("Session.questions", self.questions, Question)
        validation.check_tuple("Session.answers", self.answers, Answer)
        validation.check_integer("Session.query_count", self.query_count, least=len(self.questions))
        validation.check_datetime("Session.start_time", self.start_time)
        if self.end_time is not None:
            validation.check_datetime("Session.end_time", self.end_time)
            if self.end_time < self.start_time:
                raise InvalidValue("Session.end_time", "must not be before start_time", self.end_time)


BookContentChunk = Chunk
RetrievedContentChunk = RetrievedContent = Evidence
SourceReference = SourceCitation = Citation
AgentResponse = Answer
UserQuery = Query = Question
QueryScope = Scope
ChatMessage = Message
AgentSession = Session
