"""An edition has a digest of how it is drawn, too: its links, pictures and printed pages."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.add_column("editions", sa.Column("looks_digest", sa.String(32)))
