"""Brings a records database to the schema that this Octavo knows, one revision after the other.

All revisions run in one transaction: a database is at the old schema or at the new one. A SQLite file that
already holds something is copied beside itself first. A database from a newer Octavo is left alone.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from octavo.errors import RecordsError

SCRIPTS = Path(__file__).parent


def read_revision(connection: Connection) -> str | None:
    """Reads the revision that a database is at; None for one without tables of ours."""
    return MigrationContext.configure(connection).get_current_revision()


def upgrade(connection: Connection, *, file: Path | None, scripts: Path = SCRIPTS) -> None:
    """Runs the missing revisions in the transaction of `connection`. `file` is the SQLite file, if any."""
    config = Config()
    config.set_main_option("script_location", str(scripts).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    current = read_revision(connection)
    if current is not None and current not in known:
        raise RecordsError(
            f"the records at {file or repr(connection.engine.url)} were written by a newer Octavo "
            f"(schema {current})",
            hint="Upgrade Octavo, or open the backup that the newer one left beside them.",
        )
    if current is not None and file is not None:
        back_up(file, current)
    command.upgrade(config, "head")


def back_up(file: Path, current: str) -> Path:
    """Copies a SQLite database, as last committed, to a file beside it, which is whole or absent."""
    copy = file.with_name(f"{file.name}.backup-{current}")
    draft = copy.with_name(f"{copy.name}.new")
    draft.unlink(missing_ok=True)
    source, target = sqlite3.connect(file), sqlite3.connect(draft)
    try:
        # An interrupted draft is deleted, so it needs no journal.
        target.execute("PRAGMA journal_mode = OFF")
        source.backup(target)
    finally:
        source.close()
        target.close()
    return draft.replace(copy)
