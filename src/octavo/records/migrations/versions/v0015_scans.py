"""What OCR has read on the pages of PDFs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.create_table(
        "scans",
        sa.Column("file", sa.String(64), nullable=False),
        sa.Column("page", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("engine", sa.String(200), nullable=False),
        sa.Column("confidence", sa.Float, nullable=False),
        sa.Column("words", sa.LargeBinary, nullable=False),
        sa.Column("read_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("file", "page", "engine", name="pk_scans"),
    )
