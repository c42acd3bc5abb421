"""An edition has digests of everything that a reader sees of it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("editions", sa.Column("sections_digest", sa.String(32)))
    op.add_column("editions", sa.Column("chunks_digest", sa.String(80)))
