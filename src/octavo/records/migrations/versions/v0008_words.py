"""Counts of the passages that have a word, of each edition and of the whole library."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "words",
        sa.Column("word", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("passages", sa.Integer, nullable=False),
    )
    op.create_table(
        "edition_words",
        sa.Column("book_id", sa.String(200), nullable=False),
        sa.Column("edition", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("counts", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("book_id", "edition", name="pk_edition_words"),
        sa.ForeignKeyConstraint(
            ["book_id", "edition"], ["editions.book_id", "editions.edition"], name="fk_edition_words_editions"
        ),
    )
