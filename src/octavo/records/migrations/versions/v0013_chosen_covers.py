"""Whether a person has chosen the cover of a book."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.add_column("covers", sa.Column("is_chosen", sa.Boolean, nullable=False, server_default=sa.false()))
