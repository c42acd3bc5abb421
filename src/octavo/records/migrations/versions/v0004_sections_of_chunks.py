"""Chunks are found by their section: for a look into one, and whenever a section is taken out."""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_index("ix_chunks_book_id_edition_section_id", "chunks", ["book_id", "edition", "section_id"])
    if op.get_context().dialect.name == "postgresql":  # which else takes books and editions for independent
        for table in ("sections", "chunks"):
            op.execute(f"CREATE STATISTICS st_{table} ON book_id, edition FROM {table}")
