"""The questions that got no good answer, for the report to the author."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "gaps",
        sa.Column("question_id", sa.String(64), primary_key=True),
        sa.Column("book_id", sa.String(200), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("confidence", sa.Float, nullable=False),
        sa.Column("sections", sa.JSON, nullable=False),
        sa.Column("timestamp", sa.BigInteger, nullable=False),
        sa.ForeignKeyConstraint(["question_id"], ["questions.id"], name="fk_gaps_questions"),
    )
    op.create_index("ix_gaps_book_id_timestamp", "gaps", ["book_id", "timestamp"])
