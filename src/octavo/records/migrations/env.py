"""What Alembic runs: the revisions, on the connection and in the transaction that `upgrade` has opened."""

from __future__ import annotations

from alembic import context

from octavo.records import tables
from octavo.records.tables import metadata

assert tables.metadata is metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transactional_ddl=True,
)
context.run_migrations()
