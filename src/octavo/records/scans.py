"""What OCR has read on the pages of PDFs.

A page is saved as soon as it is read, under the SHA-256 of its file, so that adding the book again after a
kill goes on where it stopped. An edition says which engine, with which languages, has read its file. What
engines have read is deleted with the last edition that needs it. What an add that was given up, or a preview,
has left is deleted after `KEPT_DAYS`.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, exists, func, or_, select, text

from octavo.concurrency import run_blocking
from octavo.readers.scans import ScannedPage, read_scanned_page, write_scanned_page
from octavo.records.tables import Moment, books, edition_files, scans

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from octavo.records.database import Database

KEPT_DAYS = 30
_ADD = text(
    "INSERT INTO scans (file, page, engine, confidence, words, read_at) "
    "VALUES (:file, :page, :engine, :confidence, :words, :read_at) "
    "ON CONFLICT (file, page, engine) DO NOTHING"
).bindparams(bindparam("read_at", type_=Moment))
# On a page of which OCR is less sure it has found no words.
_LEAST_SURE = 0.5
# An earlier version did not note the engine of an edition.
_OF_EDITION = (edition_files.c.hash == scans.c.file) & or_(
    edition_files.c.engine == "", edition_files.c.engine == scans.c.engine
)
_UNNEEDED = ~exists().where(_OF_EDITION)


@dataclass(frozen=True, slots=True)
class ScanSummary:
    """How many pages of a book OCR has read, and how sure it is of their words: the mean of the pages."""

    pages: int
    confidence: float


async def list_scans(database: Database, book_ids: Collection[str] | None = None) -> dict[str, ScanSummary]:
    """Sum up what OCR has read in each book that has scans, or in each of `book_ids`, by the book's id."""
    query = (
        select(
            books.c.id,
            func.count(scans.c.page.distinct()).label("pages"),
            func.avg(scans.c.confidence).label("confidence"),
        )
        .join(
            edition_files,
            (edition_files.c.book_id == books.c.id) & (edition_files.c.edition == books.c.edition),
        )
        .join(scans, _OF_EDITION)
        .where(scans.c.confidence >= _LEAST_SURE)
        .group_by(books.c.id)
    )
    if book_ids is not None:
        query = query.where(books.c.id.in_(book_ids))
    async with database.connect() as connection:
        rows = (await connection.execute(query)).all()
    return {row.id: ScanSummary(row.pages, round(float(row.confidence), 4)) for row in rows}


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
