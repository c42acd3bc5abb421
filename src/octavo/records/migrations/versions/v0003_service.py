"""Keys, feedback, jobs, requests seen before, rate limits, covers; sessions get an owner."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("sessions", sa.Column("owner", sa.String(64)))
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("hash", sa.String(64), nullable=False),
        *_required(sa.Text, "name"),
        *_required(sa.JSON, "scopes"),
        sa.Column("books", sa.JSON),
        *_required(sa.JSON, "origins"),
        *_required(sa.Integer, "public"),
        sa.Column("per_minute", sa.Integer),
        *_required(sa.BigInteger, "created_at"),
        *(sa.Column(name, sa.BigInteger) for name in ("expires_at", "revoked_at", "used_at")),
    )
    op.create_table(
        "feedback",
        sa.Column("answer_id", sa.String(64), primary_key=True),
        sa.Column("owner", sa.String(64), primary_key=True),
        sa.Column("vote", sa.String(8), nullable=False),
        *_required(sa.JSON, "reasons"),
        *_required(sa.Text, "comment"),
        *_required(sa.BigInteger, "timestamp"),
        sa.ForeignKeyConstraint(["answer_id"], ["answers.id"], name="fk_feedback_answers"),
    )
    _jobs()
    op.create_table(
        "requests",
        sa.Column("owner", sa.String(64), primary_key=True),
        sa.Column("key", sa.String(200), primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column("response", sa.JSON),
        *_required(sa.BigInteger, "created_at"),
    )
    op.create_table(
        "hits",
        sa.Column("key", sa.String(200), primary_key=True),
        sa.Column("begins", sa.Float, primary_key=True),
        *_required(sa.Integer, "count"),
        *_required(sa.Float, "expires"),
    )
    op.create_index("ix_hits_expires", "hits", ["expires"])
    op.create_table(
        "covers",
        sa.Column("book_id", sa.String(200), primary_key=True),
        sa.Column("media_type", sa.String(64), nullable=False),
        *_required(sa.LargeBinary, "data"),
    )


def _jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(64), primary_key=True),
        *_required(sa.Integer, "number"),
        sa.Column("owner", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        *_required(sa.Text, "name", "source"),
        *_required(sa.JSON, "wishes", "progress"),
        sa.Column("book_id", sa.String(200)),
        sa.Column("error", sa.JSON),
        sa.Column("worker", sa.String(64)),
        *_required(sa.Integer, "tries"),
        *_required(sa.BigInteger, "created_at"),
        *(sa.Column(name, sa.BigInteger) for name in ("seen_at", "finished_at")),
    )
    op.create_index("ix_jobs_number", "jobs", ["number"], unique=True)
    op.create_index("ix_jobs_state", "jobs", ["state"])


def _required(kind: Any, *names: str) -> tuple[sa.Column[Any], ...]:
    return tuple(sa.Column(name, kind, nullable=False) for name in names)
