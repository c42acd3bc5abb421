"""The JSON shape of an exported session: every field of the data model, under its own name.

A citation also says where it is. A refusal has the nearest passages, without their text where that lies
outside of what the reader asked to see.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import AliasPath, Field

from octavo.schemas.base import Schema, Time
from octavo.types import Question, RefusalReason, ScopeType, Session
from octavo.validation import AnswerState, Delivery, EvidenceState, QuestionStatus


class ChunkExport(Schema):
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
    created_at: Time
    heading_path: list[str]
    ancestors: list[str]
    page_number: int | None
    page_end: int | None
    page_label: str | None
    embedding: list[float] | None
    metadata: dict[str, Any]


class ScopeExport(Schema):
    type: ScopeType
    identifier: str | None
    description: str


class EvidenceExport(Schema):
    chunk: ChunkExport
    relevance_score: float
    rank: int
    state: EvidenceState
    id: str


class CitationExport(Schema):
    id: str
    answer_id: str
    number: int
    chunk: ChunkExport
    start: int
    end: int
    content_snippet: str
    relevance_score: float
    confidence: float
    retrieved_content_id: str
    link: str
    chunk_id: str
    chunk_number: int
    source_file: str
    source_location: str
    url: str
    section: str
    page: str | None
    title: str


class NearestExport(Schema):
    source_location: str = Field(validation_alias=AliasPath("chunk", "source_location"))
    url: str = Field(validation_alias=AliasPath("chunk", "url"))


class RefusalExport(Schema):
    reason: RefusalReason
    message: str
    nearest: list[NearestExport]
    excerpts: list[str]


class TraceExport(Schema):
    """The steps of an answer's delivery, each with its time."""

    steps: list[tuple[Delivery, Time]]


class AnswerExport(Schema):
    id: str
    question_id: str
    content: str
    confidence: float
    processing_time_ms: int
    timestamp: Time
    citations: list[CitationExport]
    evidence: list[EvidenceExport]
    refusal: RefusalExport | None
    state: AnswerState
    trace: TraceExport
    short: ShortExport | None
    catalogue: list[CatalogueExport]
    translated: list[str]
    interpreted: str | None


class CatalogueExport(Schema):
    text: str
    book_id: str


class ShortExport(Schema):
    text: str
    citation: int
    start: int
    end: int


class MessageExport(Schema):
    id: str
    role: str
    content: str
    timestamp: Time
    query_id: str | None
    source_references: list[CitationExport]


class QuestionExport(Schema):
    """A question, and the words it was interpreted as."""

    id: str
    content: str
    timestamp: Time
    scope: ScopeExport
    book_id: str | None
    selected_text: str | None
    top_k: int
    session_id: str | None
    user_id: str | None
    user_context: dict[str, Any]
    conversation_history: list[MessageExport]
    user_preferences: dict[str, Any]
    filters: dict[str, Any]
    status: QuestionStatus
    interpreted_as: str

    @classmethod
    def from_question(cls, question: Question, *, interpreted: str) -> QuestionExport:
        return cls.from_value(question, interpreted_as=interpreted)


class SessionExport(Schema):
    session_id: str
    start_time: Time
    end_time: Time | None
    query_count: int
    messages: list[MessageExport]
    questions: list[QuestionExport]
    answers: list[AnswerExport]
    title: str

    @classmethod
    def from_session(cls, session: Session, *, interpreted: Mapping[str, str]) -> SessionExport:
        """`interpreted` has, by question id, the words that a question was interpreted as."""
        questions = [
            QuestionExport.from_question(question, interpreted=interpreted.get(question.id, question.content))
            for question in session.questions
        ]
        return cls.from_value(session, questions=questions)
