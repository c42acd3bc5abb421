"""Answers and questions as rows of the journal, and back: what goes in comes out equal."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

from octavo.conversation import Answer, Citation, Message, Question, Refusal, Trace
from octavo.states import Delivery
from octavo.types import Chunk, Evidence, Scope

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer as it is stored, sound or damaged. `chunks` has the passages by the id of the evidence."""

    id: str
    content: str
    citations: tuple[Values, ...]
    chunks: Mapping[str, Values]
    receipt: Mapping[str, object]


def question_values(question: Question, *, interpreted: str) -> Values:
    return {
        "id": question.id,
        "session_id": question.session_id,
        "content": question.content,
        "interpreted": interpreted,
        "book_id": question.book_id,
        "selected_text": question.selected_text,
        "scope": {k: v if v is None else str(v) for k, v in asdict(question.scope).items()},
        "top_k": question.top_k,
        "user_id": question.user_id,
        "user_context": dict(question.user_context),
        "user_preferences": dict(question.user_preferences),
        "filters": dict(question.filters),
        "timestamp": question.timestamp,
        "status": str(question.status),
    }


def question_of(row: Any) -> Question:
    names = {field.name for field in fields(Question)} - {"conversation_history", "scope"}
    return Question(scope=Scope(**row.scope), **{name: getattr(row, name) for name in names})


def answer_values(answer: Answer, *, receipt: Mapping[str, object]) -> Values:
    refusal = answer.refusal
    return {
        "id": answer.id,
        "question_id": answer.question_id,
        "state": str(answer.state),
        "content": answer.content,
        "confidence": answer.confidence,
        "processing_time_ms": answer.processing_time_ms,
        "timestamp": answer.timestamp,
        "citations": [_citation_json(citation) for citation in answer.citations],
        "evidence": [_evidence_json(item) for item in answer.evidence],
        "refusal": None
        if refusal is None
        else {
            "reason": str(refusal.reason),
            "message": refusal.message,
            "nearest": [_evidence_json(item) for item in refusal.nearest],
        },
        "trace": trace_json(answer.trace),
        "receipt": dict(receipt),
    }


def answer_of(row: Any) -> Answer:
    evidence = tuple(_evidence_of(item) for item in row.evidence)
    chunks = {item.id: item.chunk for item in evidence}
    refusal = row.refusal
    return Answer(
        id=row.id,
        question_id=row.question_id,
        content=row.content,
        confidence=row.confidence,
        processing_time_ms=row.processing_time_ms,
        timestamp=row.timestamp,
        citations=tuple(Citation(**{**c, "chunk": chunks[c["retrieved_content_id"]]}) for c in row.citations),
        evidence=evidence,
        refusal=None
        if refusal is None
        else Refusal(**{**refusal, "nearest": tuple(_evidence_of(e) for e in refusal["nearest"])}),
        state=row.state,
        trace=Trace(tuple((Delivery(step), datetime.fromisoformat(at)) for step, at in row.trace)),
    )


def messages(question: Question, answer: Answer | None) -> tuple[Message, ...]:
    """The turns of a conversation that a question and its answer are."""
    asked = Message(
        id=question.id,
        role="user",
        content=question.content,
        timestamp=question.timestamp,
        query_id=question.id,
    )
    if answer is None:
        return (asked,)
    told = Message(
        id=answer.id,
        role="assistant",
        content=answer.content,
        timestamp=answer.timestamp,
        query_id=question.id,
        source_references=answer.citations,
    )
    return asked, told


def kept_of(row: Any) -> Kept:
    chunks = {item["id"]: item["chunk"] for item in row.evidence}
    return Kept(row.id, row.content, tuple(row.citations), chunks, row.receipt)


def seal(answer: Answer | Kept) -> str:
    """A digest of what the reader was told and of where it was quoted from."""
    quoted = [
        [c.number, c.retrieved_content_id, c.start, c.end, c.content_snippet]
        if isinstance(c, Citation)
        else [c["number"], c["retrieved_content_id"], c["start"], c["end"], c["content_snippet"]]
        for c in answer.citations
    ]
    return hashlib.sha256(json.dumps([answer.content, quoted]).encode()).hexdigest()


def trace_json(trace: Trace) -> list[list[str]]:
    return [[str(step), at.isoformat()] for step, at in trace.steps]


def _citation_json(citation: Citation) -> Values:
    names = [field.name for field in fields(citation) if field.name != "chunk"]
    return {name: getattr(citation, name) for name in names}


def _evidence_json(item: Evidence) -> Values:
    chunk = {f.name: getattr(item.chunk, f.name) for f in fields(item.chunk) if f.name != "embedding"}
    chunk |= {"created_at": item.chunk.created_at.isoformat(), "metadata": dict(item.chunk.metadata)}
    kept = {
        "id": item.id,
        "relevance_score": item.relevance_score,
        "rank": item.rank,
        "state": str(item.state),
    }
    return {"chunk": chunk, **kept}


def _evidence_of(stored: Values) -> Evidence:
    chunk = stored["chunk"]
    made = Chunk(
        **{
            **chunk,
            "created_at": datetime.fromisoformat(chunk["created_at"]),
            "heading_path": tuple(chunk["heading_path"]),
            "ancestors": tuple(chunk["ancestors"]),
        }
    )
    return Evidence(**{**stored, "chunk": made})
