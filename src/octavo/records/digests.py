"""Digests over everything that a reader sees of an edition: its catalogue entry, its sections and its chunks.

An edition gets its digests when it is published. They cover every field of every row, so that a changed
title, page label or address shows as surely as a changed text, and so does a row that is gone or was added.
The chunks of an edition are deleted when a newer one takes its place, so they have a digest of their own.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, Table, collate, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from octavo.records.tables import books, chunks, editions, sections
from octavo.validation import BookState

BATCH = 500
_CATALOGUE: tuple[str, ...] = (
    *("title", "authors", "language", "format", "source_file", "base_url", "content_hash", "words_hash"),
    *("index_fingerprint", "section_count", "chunk_count", "page_count"),
)
_LEFT_OUT = frozenset({"edition", "digest"})
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True, default=str).encode


@dataclass(frozen=True, slots=True)
class EditionDigests:
    """The digest of the catalogue entry and the sections, and that of the chunks."""

    sections: str
    chunks: str


@dataclass(frozen=True, slots=True)
class ChangedEdition:
    """An edition that is not what was published. `ready` tells whether readers see it."""

    book_id: str
    edition: int
    ready: bool
    what: str

    def __str__(self) -> str:
        which = "" if self.ready else f" in its earlier edition {self.edition}"
        return f"{self.what} of {self.book_id!r}{which} are not what was published"


async def compute_digests(
    connection: AsyncConnection, book_id: str, edition: int, *, catalogue: Row[Any]
) -> EditionDigests:
    """Compute the digests of an edition from its rows and a catalogue entry."""
    fields = [getattr(catalogue, name) for name in _CATALOGUE]
    # Books without metadata have the digests that an earlier version gave them.
    fields += [catalogue.metadata] if catalogue.metadata else []
    entry = blake2b(_encode(fields).encode(), digest_size=16)
    of_sections = await _digest_rows(connection, sections, book_id, edition)
    entry.update(of_sections.encode())
    return EditionDigests(entry.hexdigest(), await _digest_rows(connection, chunks, book_id, edition))


async def save_digests(connection: AsyncConnection, book_id: str, edition: int) -> None:
    """Compute the digests of an edition and save them with it."""
    here = (editions.c.book_id == book_id, editions.c.edition == edition)
    row = (await connection.execute(select(editions).where(*here))).one()
    made = await compute_digests(connection, book_id, edition, catalogue=row)
    values = {"sections_digest": made.sections, "chunks_digest": made.chunks}
    await connection.execute(update(editions).where(*here).values(values))


async def find_changed(connection: AsyncConnection) -> list[ChangedEdition]:
    """Compare every published edition with its digests. An edition without digests is not compared."""
    published = select(editions).where(
        editions.c.state != str(BookState.PENDING), editions.c.sections_digest.is_not(None)
    )
    found: list[ChangedEdition] = []
    for row in (await connection.execute(published.order_by(editions.c.edition))).all():
        found += await _compare(connection, row)
    return found


async def list_undigested(connection: AsyncConnection) -> list[tuple[str, int]]:
    """List the ready editions that an earlier version published without digests."""
    query = select(editions.c.book_id, editions.c.edition).where(
        editions.c.state == str(BookState.READY), editions.c.sections_digest.is_(None)
    )
    return [(row.book_id, row.edition) for row in await connection.execute(query)]


async def _compare(connection: AsyncConnection, row: Row[Any]) -> list[ChangedEdition]:
    shown = (
        await connection.execute(
            select(books).where(books.c.id == row.book_id, books.c.edition == row.edition)
        )
    ).one_or_none()
    ready = row.state == str(BookState.READY)
    catalogue = shown if ready else row
    if catalogue is None:
        return [ChangedEdition(row.book_id, row.edition, ready, "the catalogue entry and the contents")]
    try:
        made = await compute_digests(connection, row.book_id, row.edition, catalogue=catalogue)
    except ValueError:
        return [ChangedEdition(row.book_id, row.edition, ready, "the contents")]
    changed = []
    if made.sections != row.sections_digest:
        changed.append(
            ChangedEdition(row.book_id, row.edition, ready, "the title, the sections or their pages")
        )
    if ready and made.chunks != row.chunks_digest:
        changed.append(ChangedEdition(row.book_id, row.edition, ready, "the passages"))
    return changed


async def _digest_rows(connection: AsyncConnection, table: Table, book_id: str, edition: int) -> str:
    """Compute a digest of all rows of an edition, in the order of the bytes of their ids."""
    columns = [column for column in table.c if column.name not in _LEFT_OUT]
    query = select(*columns).where(table.c.book_id == book_id, table.c.edition == edition)
    digest, count = blake2b(digest_size=16), 0
    async for rows in _read_batches(connection, query, build_sort_key(table, connection.dialect.name)):
        for row in rows:
            digest.update(_encode([_to_plain(value) for value in row]).encode())
            digest.update(b"\n")
        count += len(rows)
    return f"{count}:{digest.hexdigest()}"


def build_sort_key(table: Table, dialect: str) -> ColumnElement[str]:
    """Return what sorts ids by their bytes. SQLite does so anyway, PostgreSQL as its collation says."""
    return collate(table.c.id, "C") if dialect == "postgresql" else table.c.id


def _to_plain(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value


async def _read_batches(
    connection: AsyncConnection, query: Select[Any], key: ColumnElement[str]
) -> AsyncIterator[Sequence[Row[Any]]]:
    """Yield the rows by their key in batches, so that other tasks of this process run in between."""
    last: str | None = None
    while True:
        page = query.order_by(key) if last is None else query.where(key > last).order_by(key)
        rows = (await connection.execute(page.limit(BATCH))).all()
        if rows:
            yield rows
        if len(rows) < BATCH:
            return
        last = rows[-1].id
