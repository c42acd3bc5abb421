"""The files of PDFs, and where the lines of their sections are printed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("markup", sa.Column("lines", sa.LargeBinary))
    op.create_table(
        "files",
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("part", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("hash", "part", name="pk_files"),
    )
    op.create_table(
        "edition_files",
        sa.Column("book_id", sa.String(200), nullable=False),
        sa.Column("edition", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("book_id", "edition", name="pk_edition_files"),
        sa.ForeignKeyConstraint(
            ["book_id", "edition"], ["editions.book_id", "editions.edition"], name="fk_edition_files_editions"
        ),
    )
    op.create_index("ix_edition_files_hash", "edition_files", ["hash"])
