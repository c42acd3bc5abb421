"""Which question a question is a copy of."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.add_column("questions", sa.Column("copy_of", sa.String(64)))
