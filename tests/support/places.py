"""Where a test keeps records: a SQLite file or a PostgreSQL database, looked into from outside alike."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any, Protocol


class RecordsPlace(Protocol):
    """`url` is what `Records.open` takes."""

    url: str

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Runs a statement as another process would, and gives what it gives."""
        ...


class SqliteFile:
    """A SQLite file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = str(path)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        other = sqlite3.connect(self.path, isolation_level=None)
        try:
            return other.execute(statement).fetchall()
        finally:
            other.close()
