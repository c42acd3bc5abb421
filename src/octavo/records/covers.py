"""The covers of books: one small picture each, as the book's own file had it.

A cover comes with an edition and is deleted with the book. One that a person has chosen stays when editions
come. It is stored and returned as bytes and never decoded, and only a PNG, JPEG, GIF or WebP by its first
bytes is stored at all.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select

from octavo.readers.parsed import Cover
from octavo.records.tables import covers

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from octavo.records.database import Database


async def save_cover(
    database: Database, book_id: str, cover: Cover | None, *, replacing: bool = False
) -> None:
    """Save the cover that the file of a book has, unless a person has chosen one.

    Without one the book keeps what it has, unless `replacing` an edition.
    """
    if cover is None and not replacing:
        return
    async with database.begin(_make_turn(book_id)) as connection:
        query = select(covers.c.is_chosen, covers.c.data).where(covers.c.book_id == book_id)
        known = (await connection.execute(query)).one_or_none()
        if known is not None and (known.is_chosen or (cover is not None and known.data == cover.data)):
            return
        await _write_cover(connection, book_id, cover, is_chosen=False)


async def choose_cover(database: Database, book_id: str, cover: Cover | None) -> None:
    """Save the cover that a person has chosen. With None the book has no cover until its file brings one."""
    async with database.begin(_make_turn(book_id)) as connection:
        await _write_cover(connection, book_id, cover, is_chosen=True)


def _make_turn(book_id: str) -> str:
    """Who reads a cover to decide whether to write it waits for all others who write it."""
    return f"cover of {book_id}"


async def _write_cover(
    connection: AsyncConnection, book_id: str, cover: Cover | None, *, is_chosen: bool
) -> None:
    await delete_cover(connection, book_id)
    if cover is not None:
        entry = {
            "book_id": book_id,
            "media_type": cover.media_type,
            "data": cover.data,
            "is_chosen": is_chosen,
        }
        await connection.execute(insert(covers), entry)


async def find_cover(database: Database, book_id: str) -> Cover | None:
    """Find the cover of a book that has one."""
    async with database.connect() as connection:
        data = await connection.scalar(select(covers.c.data).where(covers.c.book_id == book_id))
        return None if data is None else Cover(data)


async def find_covered_books(database: Database, book_ids: Collection[str]) -> set[str]:
    """Return those of the books that have a cover."""
    async with database.connect() as connection:
        found = await connection.scalars(select(covers.c.book_id).where(covers.c.book_id.in_(book_ids)))
        return set(found)


async def delete_cover(connection: AsyncConnection, book_id: str) -> None:
    await connection.execute(delete(covers).where(covers.c.book_id == book_id))
