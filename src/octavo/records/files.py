"""The files that books were read from, for books whose pages are drawn: PDFs.

A file belongs to an edition. It is stored once, under the SHA-256 of its bytes, in parts that any database
takes, and deleted with the last edition that has it. A book that was added before files were stored gets its
own when the same file is added again.
"""

from __future__ import annotations

from collections.abc import Collection
from hashlib import sha256
from typing import TYPE_CHECKING

from sqlalchemy import and_, delete, exists, insert, select, text, update

from octavo.concurrency import run_blocking
from octavo.records.digests import hash_parts, save_looks_digest
from octavo.records.scans import delete_scans
from octavo.records.tables import books, edition_files, files

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from octavo.records.database import Database

PART_BYTES = 256 * 1024
_ADD_PART = text(
    "INSERT INTO files (hash, part, data) VALUES (:hash, :part, :data) "
    # What is there may be damaged.
    "ON CONFLICT (hash, part) DO UPDATE SET data = excluded.data"
)
_OF_READY = and_(edition_files.c.book_id == books.c.id, edition_files.c.edition == books.c.edition)


async def insert_file(
    connection: AsyncConnection, book_id: str, edition: int, data: bytes, *, engine: str = ""
) -> None:
    """Write the file of an edition, b"" for one without, and what has read its scans."""
    if not data:
        return
    name = (await run_blocking(sha256, data)).hexdigest()
    await _write_parts(connection, name, data)
    entry = {"book_id": book_id, "edition": edition, "hash": name, "engine": engine}
    await connection.execute(insert(edition_files), entry)


async def _write_parts(connection: AsyncConnection, name: str, data: bytes) -> None:
    starts = range(0, len(data), PART_BYTES)
    for part, start in enumerate(starts):
        values = {"hash": name, "part": part, "data": data[start : start + PART_BYTES]}
        await connection.execute(_ADD_PART, values)
    await connection.execute(delete(files).where(files.c.hash == name, files.c.part >= len(starts)))


async def delete_file(connection: AsyncConnection, book_id: str, edition: int) -> None:
    """Delete the file of an edition, unless another edition has the same."""
    here = (edition_files.c.book_id == book_id, edition_files.c.edition == edition)
    name = await connection.scalar(select(edition_files.c.hash).where(*here))
    if name is not None:
        await connection.execute(delete(edition_files).where(*here))
        unneeded = ~exists().where(edition_files.c.hash == name)
        await connection.execute(delete(files).where(files.c.hash == name, unneeded))
        await delete_scans(connection, name)


async def save_file(database: Database, book_id: str, data: bytes, *, engine: str = "") -> bool:
    """Give the edition that readers see the file that it was read from; return whether it was new."""
    name = (await run_blocking(sha256, data)).hexdigest()
    async with database.begin() as connection:
        edition = await connection.scalar(select(books.c.edition).where(books.c.id == book_id))
        here = (edition_files.c.book_id == book_id, edition_files.c.edition == edition)
        known = await connection.scalar(select(edition_files.c.hash).where(*here))
        if edition is None:
            return False
        if known == name:
            await connection.execute(update(edition_files).where(*here).values(engine=engine))
            await delete_scans(connection, name)
            if await hash_parts(connection, name) == name:
                return False
            await _write_parts(connection, name, data)
            await save_looks_digest(connection, book_id, edition)
            return True
        await delete_file(connection, book_id, edition)
        await insert_file(connection, book_id, edition, data, engine=engine)
        await save_looks_digest(connection, book_id, edition)
        return True


async def find_file(database: Database, book_id: str) -> str:
    """Find the hash of the file that the edition readers see was read from; "" where none is stored."""
    query = select(edition_files.c.hash).join(books, _OF_READY).where(books.c.id == book_id)
    async with database.connect() as connection:
        return await connection.scalar(query) or ""


async def find_scanner(database: Database, book_id: str) -> str:
    """Find what read the scans of the edition readers see; "" where there are none, or it was not noted."""
    query = select(edition_files.c.engine).join(books, _OF_READY).where(books.c.id == book_id)
    async with database.connect() as connection:
        return await connection.scalar(query) or ""


async def read_file(database: Database, name: str) -> bytes:
    """Read a file by its hash; b"" when it is not there, or damaged."""
    query = select(files.c.data).where(files.c.hash == name).order_by(files.c.part)
    async with database.connect() as connection:
        data = b"".join(map(bytes, await connection.scalars(query)))
    is_sound = (await run_blocking(sha256, data)).hexdigest() == name
    return data if is_sound else b""


async def list_books_with_files(database: Database, book_ids: Collection[str]) -> set[str]:
    """Return those of the books whose file is stored."""
    query = select(edition_files.c.book_id).join(books, _OF_READY).where(books.c.id.in_(book_ids))
    async with database.connect() as connection:
        return set(await connection.scalars(query))
