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
    from octavo.records.database import Database


async def save_cover(
    database: Database, book_id: str, cover: Cover | None, *, replacing: bool = False
) -> None:
    """Save the cover that the file of a book has, unless a person has chosen one.

    Without one the book keeps what it has, unless `replacing` an edition.
    """
    if cover is None and not replacing:
        return
    async with database.connect() as connection:
        known = await connection.scalar(select(covers.c.is_chosen).where(covers.c.book_id == book_id))
    if known or await find_cover(database, book_id) == cover:
        return
    await _write_cover(database, book_id, cover, is_chosen=False)


async def choose_cover(database: Database, book_id: str, cover: Cover | None) -> None:
    """Save the cover that a person has chosen. With None the book has no cover until its file brings one."""
    await _write_cover(database, book_id, cover, is_chosen=True)


async def _write_cover(database: Database, book_id: str, cover: Cover | None, *, is_chosen: bool) -> None:
    async with database.begin() as connection:
        await connection.execute(delete(covers).where(covers.c.book_id == book_id))
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


async def delete_cover(database: Database, book_id: str) -> None:
    async with database.begin() as connection:
        await connection.execute(delete(covers).where(covers.c.book_id == book_id))
