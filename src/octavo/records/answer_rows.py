"""How an answer is stored: as the reader got it, with its evidence, its citations and a receipt.

An answer that is stored comes out equal. Its checksum is made when it is published. It covers the whole row
and the question, so that a change of either shows; only the moment of delivery comes later. An answer of an
earlier version keeps the checksum of that version. `StoredAnswer` is the row as it is, sound or damaged, for
those who check it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Column, ColumnElement, Text, cast, type_coerce

from octavo.records.tables import Moment, answers, count_microseconds, questions
from octavo.types import Answer, CatalogueStatement, Chunk, Citation, Evidence, Refusal, ShortAnswer, Trace
from octavo.validation import Delivery

Values = dict[str, Any]

_WHOLE, _READ = "3:", "2:"
"""What a checksum begins with that covers the whole row, or only what a reader saw below the question."""


def _read_raw(column: Column[Any]) -> ColumnElement[Any]:
    """Return a column as it is stored: JSON as text, a time as a number."""
    if isinstance(column.type, Moment):
        return type_coerce(column, BigInteger).label(column.name)
    return cast(column, Text).label(column.name) if isinstance(column.type, JSON) else column


ASKED_COLUMNS = tuple(
    questions.c[name] for name in ("content", "interpreted", "selected_text", "book_id", "timestamp")
)
"""What the checksum covers of a question."""
_SHOWN: tuple[str, ...] = (
    *("book_id", "section_id", "content", "chapter", "section", "heading_path", "page_number", "page_end"),
    *("page_label", "url", "source_file", "source_location", "source_title"),
)
"""What a citation shows, or leads to, of its passage."""
_JSON: tuple[str, ...] = ("citations", "evidence", "refusal", "trace", "receipt")
SEALED_COLUMNS: tuple[str, ...] = (
    *("id", "question_id", "state", "content", "confidence", "processing_time_ms", "timestamp"),
    *("citations", "evidence", "refusal", "trace", "receipt"),
)
"""What a checksum of the form `3:` covers of an answer. A column that comes later needs another form."""
STORED_COLUMNS = (
    *(_read_raw(answers.c[name]) for name in SEALED_COLUMNS),
    *(_read_raw(column).label(f"asked_{column.name}") for column in ASKED_COLUMNS),
)
"""What `parse_stored_answer` takes: unparsed, so that one damaged row does not fail the others."""


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer as it is stored, sound or damaged. `chunks` are the passages by the id of their evidence.

    `row` and `asked` have the columns of the answer and of its question that the checksum covers.

    Of an answer that cannot be read, only the id and the content are left, and its checksum is wrong.
    """

    id: str
    content: str
    citations: tuple[Values, ...]
    chunks: Mapping[str, Values]
    receipt: Mapping[str, object]
    refusal: Values | None = None
    row: Values = field(default_factory=dict)
    asked: Values = field(default_factory=dict)

    @property
    def short(self) -> Values | None:
        short: Values | None = self.receipt.get("short")  # type: ignore[assignment]
        return short

    @property
    def catalogue(self) -> list[Values]:
        stated: list[Values] = self.receipt.get("catalogue", [])  # type: ignore[assignment]
        return stated

    @property
    def translations(self) -> list[str]:
        translated: list[str] = self.receipt.get("translations", [])  # type: ignore[assignment]
        return translated


def seal_receipt(values: Values, asked: Mapping[str, Any]) -> Values:
    """Return the receipt in the row of a published answer with the checksum of that row."""
    known = {column.name: asked[column.name] for column in ASKED_COLUMNS}
    return {**values["receipt"], "seal": _checksum_row(values, known)}


def checksum_answer(stored: StoredAnswer) -> str:
    """Computes the checksum that the receipt of a stored answer must have, in the form that it has."""
    seal = str(stored.receipt.get("seal", ""))
    if seal.startswith(_WHOLE):
        return _checksum_row(stored.row, stored.asked)
    return _checksum_read(stored) if seal.startswith(_READ) else _checksum_quotations(stored)


def _checksum_row(values: Values, asked: Values) -> str:
    receipt = {name: value for name, value in values["receipt"].items() if name != "seal"}
    trace = [step for step in values["trace"] if step[0] != Delivery.DELIVERED]
    whole = [{**values, "receipt": receipt, "trace": trace}, asked]
    # Read back first, because JSON has no tuples, and keys that are text only.
    plain = json.loads(json.dumps(whole, default=count_microseconds))
    return _WHOLE + hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def _checksum_read(answer: StoredAnswer) -> str:
    shown = []
    for citation in answer.citations:
        chunk = answer.chunks.get(citation["retrieved_content_id"], {})
        shown.append([citation, [chunk.get(name) for name in _SHOWN]])
    named = {"catalogue": answer.catalogue, "translated": answer.translations}
    rest = [*([answer.short] if answer.short else []), *({n: value} for n, value in named.items() if value)]
    said = json.dumps([answer.content, shown, answer.refusal, *rest], sort_keys=True)
    return _READ + hashlib.sha256(said.encode()).hexdigest()


def _checksum_quotations(answer: StoredAnswer) -> str:
    quoted = [
        [c.get(name) for name in ("number", "retrieved_content_id", "start", "end", "content_snippet")]
        for c in answer.citations
    ]
    return hashlib.sha256(json.dumps([answer.content, quoted]).encode()).hexdigest()


def build_answer(answer: Answer, *, receipt: Mapping[str, object]) -> Values:
    return {
        "id": answer.id,
        "question_id": answer.question_id,
        "state": str(answer.state),
        "content": answer.content,
        "confidence": float(answer.confidence),
        "processing_time_ms": answer.processing_time_ms,
        "timestamp": answer.timestamp,
        "citations": [_build_citation(citation) for citation in answer.citations],
        "evidence": [_build_evidence(item) for item in answer.evidence],
        "refusal": _build_refusal(answer.refusal),
        "trace": build_trace(answer.trace),
        "receipt": build_receipt(answer, receipt),
    }


def build_receipt(answer: Answer, receipt: Mapping[str, object]) -> Values:
    """Builds the receipt as it is stored: with the short answer, and the sentences that are special."""
    short = {"short": asdict(answer.short)} if answer.short else {}
    stated = {"catalogue": [asdict(one) for one in answer.catalogue]} if answer.catalogue else {}
    translated = {"translations": list(answer.translated)} if answer.translated else {}
    return {**receipt, **short, **stated, **translated}


def _build_refusal(refusal: Refusal | None) -> Values | None:
    if refusal is None:
        return None
    nearest = [_build_evidence(item) for item in refusal.nearest]
    built: Values = {"reason": str(refusal.reason), "message": refusal.message, "nearest": nearest}
    return built


def parse_answer(row: Any, *, interpreted: str | None) -> Answer:
    """Parses a row, with what its question was interpreted as, where that differs."""
    evidence = tuple(_parse_evidence(item) for item in row.evidence)
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
        else Refusal(**{**refusal, "nearest": tuple(_parse_evidence(e) for e in refusal["nearest"])}),
        state=row.state,
        trace=Trace(tuple((Delivery(step), datetime.fromisoformat(at)) for step, at in row.trace)),
        short=ShortAnswer(**row.receipt["short"]) if "short" in row.receipt else None,
        catalogue=tuple(CatalogueStatement(**one) for one in row.receipt.get("catalogue", ())),
        translated=tuple(row.receipt.get("translations", ())),
        interpreted=interpreted,
    )


def parse_stored_answer(row: Any) -> StoredAnswer:
    """Parses a row whose JSON is still text. One that cannot be read has no citations and no receipt."""
    values = {name: value for name, value in row._mapping.items() if name != "number"}
    try:
        asked = {column.name: values.pop(f"asked_{column.name}") for column in ASKED_COLUMNS}
        for name in _JSON:
            values[name] = None if values[name] is None else json.loads(values[name])
        stored = StoredAnswer(
            row.id,
            row.content,
            tuple(values["citations"]),
            {item["id"]: item["chunk"] for item in values["evidence"]},
            values["receipt"],
            values["refusal"],
            values,
            asked,
        )
        checksum_answer(stored)
        _require_fields(stored)
    except (ValueError, TypeError, KeyError, AttributeError):
        return StoredAnswer(row.id, str(row.content), (), {}, {})
    return stored


def _require_fields(stored: StoredAnswer) -> None:
    """Raise unless the fields are there that a check reads."""
    for citation in stored.citations:
        chunk = stored.chunks.get(citation["retrieved_content_id"])
        for name in ("number", "content_snippet", "start", "end"):
            citation[name]
        for name in ("book_id", "section_id", "content", "source_location", "id"):
            if chunk is not None:
                chunk[name]
    if stored.short is not None:
        ShortAnswer(**stored.short)
    for one in stored.catalogue:
        CatalogueStatement(**one)


def build_trace(trace: Trace) -> list[list[str]]:
    return [[str(step), at.isoformat()] for step, at in trace.steps]


def _build_citation(citation: Citation) -> Values:
    names = [field.name for field in fields(citation) if field.name != "chunk"]
    return {name: getattr(citation, name) for name in names}


def _build_evidence(item: Evidence) -> Values:
    chunk = {f.name: getattr(item.chunk, f.name) for f in fields(item.chunk) if f.name != "embedding"}
    chunk |= {"created_at": item.chunk.created_at.isoformat(), "metadata": dict(item.chunk.metadata)}
    return {
        "chunk": chunk,
        "id": item.id,
        "relevance_score": item.relevance_score,
        "rank": item.rank,
        "state": str(item.state),
    }


def _parse_evidence(stored: Values) -> Evidence:
    chunk = stored["chunk"]
    parsed = Chunk(
        **{
            **chunk,
            "created_at": datetime.fromisoformat(chunk["created_at"]),
            "heading_path": tuple(chunk["heading_path"]),
            "ancestors": tuple(chunk["ancestors"]),
        }
    )
    return Evidence(**{**stored, "chunk": parsed})
