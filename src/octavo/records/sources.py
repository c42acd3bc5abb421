"""Which file or folder on disk a synced book was read from, and in which state it was then.

`stamp` tells whether it has changed since. Several paths may lead to one book: copies, and a file that was
moved. The entries of a book are deleted with it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select

from octavo.records.rows import hash_text
from octavo.records.tables import sources

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from octavo.records.database import Database


@dataclass(frozen=True, slots=True)
class BookSource:
    """A path, the book that was read from it, and the state it was in."""

    path: Path
    book_id: str
    stamp: str


async def list_sources(database: Database, folder: Path) -> list[BookSource]:
    """List what was synced from a folder and everything below it."""
    async with database.connect() as connection:
        rows = (await connection.execute(select(sources).order_by(sources.c.path))).all()
    found = (BookSource(Path(row.path), row.book_id, row.stamp) for row in rows)
    return [source for source in found if source.path.is_relative_to(folder)]


async def save_source(database: Database, source: BookSource) -> None:
    """Save where a book was read from, in the place of what the path had before."""
    key = hash_text(str(source.path))
    entry = {"path_hash": key, "path": str(source.path), "book_id": source.book_id, "stamp": source.stamp}
    async with database.begin() as connection:
        await connection.execute(delete(sources).where(sources.c.path_hash == key))
        await connection.execute(insert(sources), entry)


async def delete_sources(database: Database, paths: Collection[Path]) -> None:
    """Forget paths that are gone."""
    keys = [hash_text(str(path)) for path in paths]
    async with database.begin() as connection:
        await connection.execute(delete(sources).where(sources.c.path_hash.in_(keys)))


async def delete_sources_of(connection: AsyncConnection, book_id: str) -> None:
    """Forget where a book came from that was removed."""
    await connection.execute(delete(sources).where(sources.c.book_id == book_id))
