"""What read the scans of an edition's file."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.add_column("edition_files", sa.Column("engine", sa.Text, nullable=False, server_default=""))
