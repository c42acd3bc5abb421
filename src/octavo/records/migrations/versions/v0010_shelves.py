"""What a title page says, and the files on disk that synced books were read from."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("books", sa.Column("metadata", sa.JSON))
    op.add_column("editions", sa.Column("metadata", sa.JSON))
    op.create_table(
        "sources",
        sa.Column("path_hash", sa.String(64), primary_key=True),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("book_id", sa.String(200), nullable=False),
        sa.Column("stamp", sa.Text, nullable=False),
    )
    op.create_index("ix_sources_book_id", "sources", ["book_id"])
