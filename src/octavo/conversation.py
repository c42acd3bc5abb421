"""The nouns of asking: a Question within a Scope gets an Answer whose Citations quote chunks to the letter.

Like everything in `types`, these are frozen values that cannot be made wrong: an answered question has
evidence and citations, a citation's snippet is its chunk's own text, and a refusal says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from types import MappingProxyType
from typing import Self

from octavo import rules
from octavo.errors import InvalidTransition, InvalidValue
from octavo.states import AnswerState, Delivery, QuestionStatus, advance
from octavo.types import Chunk, Evidence, Scope

QUESTION_MOST, SELECTION_MOST = 1000, 500
TOP_K_DEFAULT, TOP_K_MOST = 5, 20
_NOTHING: Mapping[str, object] = MappingProxyType({})


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
            rules.text(f"Citation.{name}", getattr(self, name))
        rules.whole("Citation.number", self.number, least=1)
        rules.share("Citation.relevance_score", self.relevance_score)
        rules.share("Citation.confidence", self.confidence)
        rules.span("Citation", self.start, self.end)
        rules.url("Citation.link", self.link)
        rules.instance("Citation.chunk", self.chunk, Chunk)
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
        object.__setattr__(self, "reason", rules.member("Refusal.reason", self.reason, RefusalReason))
        rules.text("Refusal.message", self.message)
        rules.tuple_of("Refusal.nearest", self.nearest, Evidence)


@dataclass(frozen=True, slots=True)
class Trace:
    """The delivery of an answer, each step with its time; none is skipped."""

    steps: tuple[tuple[Delivery, datetime], ...] = ()

    def __post_init__(self) -> None:
        rules.tuple_of("Trace.steps", self.steps, tuple)
        for pair in self.steps:
            if len(pair) != 2:
                raise InvalidValue("Trace.steps", "must each be a step and its time", pair)
            rules.instance("Trace.steps", pair[0], Delivery)
        if self.steps and self.steps[0][0] is not Delivery.RECEIVED:
            raise InvalidTransition(f"Delivery starts with received, not with {self.steps[0][0]}")
        for (before, _), (after, _) in pairwise(self.steps):
            advance(before, after)
        for step, at in self.steps:
            rules.moment(f"Trace.{step}", at)

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
        rules.text("Answer.id", self.id)
        rules.text("Answer.question_id", self.question_id)
        rules.text("Answer.content", self.content)
        rules.share("Answer.confidence", self.confidence)
        rules.whole("Answer.processing_time_ms", self.processing_time_ms, least=1)
        rules.moment("Answer.timestamp", self.timestamp)
        rules.tuple_of("Answer.citations", self.citations, Citation)
        rules.tuple_of("Answer.evidence", self.evidence, Evidence)
        rules.instance("Answer.trace", self.trace, Trace)
        if self.refusal is not None:
            rules.instance("Answer.refusal", self.refusal, Refusal)
        object.__setattr__(self, "state", rules.member("Answer.state", self.state, AnswerState))
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
        rules.text("Message.id", self.id)
        rules.one_of("Message.role", self.role, ("user", "assistant"))
        rules.text("Message.content", self.content)
        rules.moment("Message.timestamp", self.timestamp)
        if self.query_id is not None:
            rules.text("Message.query_id", self.query_id)
        rules.tuple_of("Message.source_references", self.source_references, Citation)


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

    id: str
    content: str
    timestamp: datetime
    scope: Scope = field(default_factory=Scope)
    book_id: str | None = None
    selected_text: str | None = None
    top_k: int = TOP_K_DEFAULT
    session_id: str | None = None
    user_id: str | None = None
    user_context: Mapping[str, object] = field(default_factory=lambda: _NOTHING, hash=False)
    conversation_history: tuple[Message, ...] = ()
    user_preferences: Mapping[str, object] = field(default_factory=lambda: _NOTHING, hash=False)
    filters: Mapping[str, object] = field(default_factory=lambda: _NOTHING, hash=False)
    status: QuestionStatus = QuestionStatus.PENDING

    def __post_init__(self) -> None:
        rules.text("Question.id", self.id)
        rules.text("Question.content", self.content, most=QUESTION_MOST)
        if self.selected_text is not None:
            rules.text("Question.selected_text", self.selected_text, most=SELECTION_MOST)
        rules.whole("Question.top_k", self.top_k, least=1, most=TOP_K_MOST)
        for name in ("user_context", "user_preferences", "filters"):
            rules.json_object(f"Question.{name}", getattr(self, name))
        for name in ("book_id", "session_id", "user_id"):
            if getattr(self, name) is not None:
                rules.text(f"Question.{name}", getattr(self, name))
        rules.instance("Question.scope", self.scope, Scope)
        rules.tuple_of("Question.conversation_history", self.conversation_history, Message)
        rules.moment("Question.timestamp", self.timestamp)
        object.__setattr__(self, "status", rules.member("Question.status", self.status, QuestionStatus))

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
        rules.text("Session.session_id", self.session_id)
        rules.tuple_of("Session.messages", self.messages, Message)
        rules.tuple_of("Session.questions", self.questions, Question)
        rules.tuple_of("Session.answers", self.answers, Answer)
        rules.whole("Session.query_count", self.query_count, least=len(self.questions))
        rules.moment("Session.start_time", self.start_time)
        if self.end_time is not None:
            rules.moment("Session.end_time", self.end_time)
            if self.end_time < self.start_time:
                raise InvalidValue("Session.end_time", "must not be before start_time", self.end_time)
