"""Marks of texts, from which the maps of books are made."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "text_marks",
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("marks", sa.LargeBinary, nullable=False),
    )
