"""What Alembic runs: the revisions, on the connection and in the transaction that `upgrade` has opened."""

from __future__ import annotations

from alembic import context

from octavo import schema_asking
from octavo.schema_service import metadata

assert schema_asking.metadata is metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transactional_ddl=True,
)
context.run_migrations()
