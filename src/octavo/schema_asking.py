"""The tables of asking: sessions, the questions asked in them, and one answer for each question.

An answer is kept as the reader got it, with its evidence, its citations and a receipt of how it was made.
"""

from __future__ import annotations

from sqlalchemy import JSON, Column, Float, ForeignKey, Index, Integer, String, Table, Text

from octavo.schema import Moment, metadata

__all__ = ["answers", "metadata", "questions", "sessions"]

sessions = Table(
    "sessions",
    metadata,
    Column("session_id", String(64), primary_key=True),
    Column("start_time", Moment, nullable=False),
    Column("end_time", Moment),
    Column("query_count", Integer, nullable=False),
    Column("owner", String(64)),
)

questions = Table(
    "questions",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("number", Integer, nullable=False),
    Column("session_id", String(64), ForeignKey("sessions.session_id")),
    Column("content", Text, nullable=False),
    Column("interpreted", Text, nullable=False),
    Column("book_id", String(200)),
    Column("selected_text", Text),
    Column("scope", JSON, nullable=False),
    Column("top_k", Integer, nullable=False),
    Column("user_id", Text),
    Column("user_context", JSON, nullable=False),
    Column("user_preferences", JSON, nullable=False),
    Column("filters", JSON, nullable=False),
    Column("timestamp", Moment, nullable=False),
    Column("status", String(32), nullable=False),
    Column("error", Text),
    Index(None, "session_id"),
    Index(None, "number", unique=True),
)

answers = Table(
    "answers",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("question_id", String(64), ForeignKey("questions.id"), nullable=False),
    Column("state", String(16), nullable=False),
    Column("content", Text, nullable=False),
    Column("confidence", Float, nullable=False),
    Column("processing_time_ms", Integer, nullable=False),
    Column("timestamp", Moment, nullable=False),
    Column("citations", JSON, nullable=False),
    Column("evidence", JSON, nullable=False),
    Column("refusal", JSON),
    Column("trace", JSON, nullable=False),
    Column("receipt", JSON, nullable=False),
    Index(None, "question_id", unique=True),
)
