"""Titles of conversations, where readers stopped, and their notes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.add_column("sessions", sa.Column("title", sa.Text))
    op.create_table(
        "reading_places",
        sa.Column("owner", sa.String(64), nullable=False),
        sa.Column("book_id", sa.String(200), nullable=False),
        sa.Column("section_id", sa.Text, nullable=False),
        sa.Column("offset", sa.Integer, nullable=False),
        sa.Column("share", sa.Float, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("owner", "book_id", name="pk_reading_places"),
    )
    op.create_table(
        "notes",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("owner", sa.String(64), nullable=False),
        sa.Column("book_id", sa.String(200), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("section_id", sa.Text, nullable=False),
        sa.Column("start", sa.Integer, nullable=False),
        sa.Column("end", sa.Integer, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("comment", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_notes"),
    )
    op.create_index("ix_notes_owner_book_id", "notes", ["owner", "book_id"])
