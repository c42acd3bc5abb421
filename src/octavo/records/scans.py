"""What OCR has read on the pages of PDFs.

A page is saved as soon as it is read, under the SHA-256 of its file, so that adding the book again after a
kill goes on where it stopped. An edition says which engine, with which languages, has read its file. What
engines have read is deleted with the last edition that needs it. What an add that was given up, or a preview,
has left is deleted after `KEPT_DAYS`.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, exists, or_, select, text

from octavo.concurrency import run_blocking
from octavo.readers.scans import ScannedPage, read_scanned_page, write_scanned_page
from octavo.records.tables import Moment, edition_files, scans

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from octavo.records.database import Database

KEPT_DAYS = 30
_ADD = text(
    "INSERT INTO scans (file, page, engine, confidence, words, read_at) "
    "VALUES (:file, :page, :engine, :confidence, :words, :read_at) "
    "ON CONFLICT (file, page, engine) DO NOTHING"
).bindparams(bindparam("read_at", type_=Moment))
# An earlier version did not note the engine of an edition.
_UNNEEDED = ~exists().where(
    edition_files.c.hash == scans.c.file,
    or_(edition_files.c.engine == "", edition_files.c.engine == scans.c.engine),
)


async def save_scan(database: Database, file: str, number: int, engine: str, page: ScannedPage) -> None:
    """Save what was read on a page."""
    words = await run_blocking(zlib.compress, write_scanned_page(page))
    values = {"file": file, "page": number, "engine": engine, "confidence": page.confidence}
    async with database.begin() as connection:
        await connection.execute(_ADD, {**values, "words": words, "read_at": datetime.now(UTC)})


async def find_scans(
    database: Database, file: str, *, engine: str = "", pages: Collection[int] = ()
) -> dict[int, ScannedPage]:
    """Find what was read in a file; `engine` and `pages` restrict it. What is damaged is left out."""
    query = select(scans.c.page, scans.c.words).where(scans.c.file == file).order_by(scans.c.read_at)
    if engine:
        query = query.where(scans.c.engine == engine)
    if pages:
        query = query.where(scans.c.page.in_(pages))
    async with database.connect() as connection:
        rows = (await connection.execute(query)).all()
    return await run_blocking(_unpack, [(row.page, bytes(row.words)) for row in rows])


def _unpack(rows: list[tuple[int, bytes]]) -> dict[int, ScannedPage]:
    found: dict[int, ScannedPage] = {}
    for number, packed in rows:
        try:
            found[number] = read_scanned_page(zlib.decompress(packed))
        except (zlib.error, ValueError):
            continue
    return found


async def delete_scans(connection: AsyncConnection, file: str) -> None:
    """Delete what was read in a file and no edition needs."""
    await connection.execute(delete(scans).where(scans.c.file == file, _UNNEEDED))


async def sweep_scans(connection: AsyncConnection) -> None:
    """Delete what is left of books that were never added."""
    old = datetime.now(UTC) - timedelta(days=KEPT_DAYS)
    await connection.execute(delete(scans).where(scans.c.read_at < old, _UNNEEDED))
