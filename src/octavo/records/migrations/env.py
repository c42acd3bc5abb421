"""Runs the revisions for Alembic, in the transaction that `upgrade` has opened."""

from __future__ import annotations

from alembic import context

from octavo.records.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transactional_ddl=True,
)
context.run_migrations()
