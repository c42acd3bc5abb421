"""Sessions, questions and answers."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "sessions",
        sa.Column("session_id", sa.String(64), primary_key=True),
        *_required(sa.BigInteger, "start_time"),
        sa.Column("end_time", sa.BigInteger),
        *_required(sa.Integer, "query_count"),
    )
    op.create_table(
        "questions",
        sa.Column("id", sa.String(64), primary_key=True),
        *_required(sa.Integer, "number", "top_k"),
        sa.Column("session_id", sa.String(64)),
        *_required(sa.Text, "content", "interpreted"),
        sa.Column("book_id", sa.String(200)),
        *(sa.Column(name, sa.Text) for name in ("selected_text", "user_id", "error")),
        *_required(sa.JSON, "scope", "user_context", "user_preferences", "filters"),
        *_required(sa.BigInteger, "timestamp"),
        sa.Column("status", sa.String(32), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.session_id"], name="fk_questions_sessions"),
    )
    op.create_index("ix_questions_session_id", "questions", ["session_id"])
    op.create_index("ix_questions_number", "questions", ["number"], unique=True)
    op.create_table(
        "answers",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("question_id", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        *_required(sa.Text, "content"),
        *_required(sa.Float, "confidence"),
        *_required(sa.Integer, "processing_time_ms"),
        *_required(sa.BigInteger, "timestamp"),
        *_required(sa.JSON, "citations", "evidence", "trace", "receipt"),
        sa.Column("refusal", sa.JSON),
        sa.ForeignKeyConstraint(["question_id"], ["questions.id"], name="fk_answers_questions"),
    )
    op.create_index("ix_answers_question_id", "answers", ["question_id"], unique=True)


def _required(kind: Any, *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=False) for name in names]
