"""Digests over everything that a reader sees of an edition: its catalogue entry, sections, chunks and looks.

An edition gets its digests when it is published. They cover every field of every row, so that a changed
title, page label or address shows as surely as a changed text, and so does a row that is gone or was added.
The chunks of an edition, and its looks, are deleted when a newer one takes its place, so they have digests
of their own. The looks are links, pictures, printed lines and the file whose pages are drawn. They are
written anew when the same file is added again.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b, sha256
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Row,
    Select,
    Table,
    collate,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from octavo.concurrency import run_blocking
from octavo.records.tables import (
    books,
    chunks,
    edition_files,
    edition_images,
    editions,
    files,
    images,
    markup,
    meta,
    sections,
)
from octavo.validation import BookState

BATCH = 500
ATTEMPTS = 3
SEALED = "sealed after edition"
"""Is noted when no edition that readers see lacks a digest. Of those with a higher number none ever does."""
_CATALOGUE: tuple[str, ...] = (
    *("title", "authors", "language", "format", "source_file", "base_url", "content_hash", "words_hash"),
    *("index_fingerprint", "section_count", "chunk_count", "page_count"),
)
_LEFT_OUT = frozenset({"edition", "digest"})
_EVERYTHING = "the catalogue entry and the contents"
_OF_EDITION = frozenset({"book_id", "edition"})
# The rest of a row may be damaged, and would fail the others.
_COMPARED = (
    *(editions.c.book_id, editions.c.edition, editions.c.state),
    *(editions.c.sections_digest, editions.c.chunks_digest, editions.c.looks_digest),
)
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True, default=str).encode


@dataclass(frozen=True, slots=True)
class EditionDigests:
    """The digest of the catalogue entry and the sections, that of the chunks, and that of the looks."""

    sections: str
    chunks: str
    looks: str


@dataclass(frozen=True, slots=True)
class ChangedEdition:
    """An edition that is not what was published. `ready` tells whether readers see it.

    `looks_only` tells that only its links, pictures or printed pages differ, which the store does not have.
    """

    book_id: str
    edition: int
    ready: bool
    what: str
    looks_only: bool = False

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
    of_chunks = await _digest_rows(connection, chunks, book_id, edition)
    return EditionDigests(entry.hexdigest(), of_chunks, await _digest_looks(connection, book_id, edition))


async def save_digests(connection: AsyncConnection, book_id: str, edition: int) -> None:
    """Compute the digests of an edition and save them with it."""
    here = (editions.c.book_id == book_id, editions.c.edition == edition)
    row = (await connection.execute(select(editions).where(*here))).one()
    made = await compute_digests(connection, book_id, edition, catalogue=row)
    values = {"sections_digest": made.sections, "chunks_digest": made.chunks, "looks_digest": made.looks}
    await connection.execute(update(editions).where(*here).values(values))
    await _note_sealed(connection)


async def save_looks_digest(connection: AsyncConnection, book_id: str, edition: int) -> None:
    """Compute the digest of the looks of an edition and save it, when nothing else of it has changed."""
    here = (editions.c.book_id == book_id, editions.c.edition == edition)
    made = await _digest_looks(connection, book_id, edition)
    await connection.execute(update(editions).where(*here).values(looks_digest=made))


async def save_missing_digests(connection: AsyncConnection) -> int:
    """Give the ready editions the digests that an earlier version did not; return how many lacked any."""
    # A digest that is missing after all were there was deleted: nobody knows what it was of.
    if await _find_sealed(connection) is not None:
        return 0
    lacking = await list_undigested(connection)
    for book_id, edition, has_others in lacking:
        save = save_looks_digest if has_others else save_digests
        await save(connection, book_id, edition)
    await _note_sealed(connection)
    return len(lacking)


async def _find_sealed(connection: AsyncConnection) -> int | None:
    """Find the highest edition that may lack digests; None if any may."""
    noted = await connection.scalar(select(meta.c.value).where(meta.c.key == SEALED))
    return None if noted is None else int(noted)


async def _note_sealed(connection: AsyncConnection) -> None:
    if await _find_sealed(connection) is None and not await list_undigested(connection):
        lacking = select(func.max(editions.c.edition)).where(
            editions.c.state == str(BookState.SUPERSEDED), editions.c.sections_digest.is_(None)
        )
        last = await connection.scalar(lacking) or 0
        await connection.execute(insert(meta), {"key": SEALED, "value": str(last)})


async def list_published(connection: AsyncConnection) -> list[tuple[str, int]]:
    """List the editions that can be compared, and those that are gone while their book is not."""
    found = await _list_orphans(connection)
    has_digest: ColumnElement[bool] = editions.c.sections_digest.is_not(None)
    if (last := await _find_sealed(connection)) is not None:
        has_digest = or_(has_digest, editions.c.edition > last, editions.c.state == str(BookState.READY))
    published = select(editions.c.book_id, editions.c.edition).where(
        editions.c.state != str(BookState.PENDING), has_digest
    )
    for row in await connection.execute(published.order_by(editions.c.edition)):
        if (row.book_id, row.edition) not in found:
            found.append((row.book_id, row.edition))
    return found


async def compare_edition(connection: AsyncConnection, book_id: str, edition: int) -> list[ChangedEdition]:
    """Compare an edition with its digests. One that is published or replaced meanwhile is compared again.

    A book whose edition is gone has no digests any more, so it is listed as well.
    """
    here = (editions.c.book_id == book_id, editions.c.edition == edition)
    query = select(*_COMPARED).where(*here)
    if (book_id, edition) in await _list_orphans(connection):
        return [ChangedEdition(book_id, edition, True, _EVERYTHING)]
    row = (await connection.execute(query)).one_or_none()
    for _ in range(ATTEMPTS):
        if row is None or row.state == str(BookState.PENDING):
            return []
        last = await _find_sealed(connection)
        if row.sections_digest is None and last is None:
            return []
        found = await _compare(connection, row, sealed=last is not None)
        before, row = row, (await connection.execute(query)).one_or_none()
        if not found or row == before:
            return found
    return []


async def _list_orphans(connection: AsyncConnection) -> list[tuple[str, int]]:
    """List the books whose edition is gone, or is said not to be published."""
    here = (editions.c.book_id == books.c.id, editions.c.edition == books.c.edition)
    published = exists().where(*here, editions.c.state == str(BookState.READY))
    query = select(books.c.id, books.c.edition).where(~published).order_by(books.c.id)
    return [(row.id, row.edition) for row in await connection.execute(query)]


async def list_undigested(connection: AsyncConnection) -> list[tuple[str, int, bool]]:
    """List the ready editions that an earlier version published without digests.

    The last value tells whether only the digest of the looks is missing.
    """
    lacking = or_(editions.c.sections_digest.is_(None), editions.c.looks_digest.is_(None))
    query = select(editions.c.book_id, editions.c.edition, editions.c.sections_digest.is_not(None))
    found = await connection.execute(query.where(editions.c.state == str(BookState.READY), lacking))
    return [(book_id, edition, bool(has_others)) for book_id, edition, has_others in found]


async def _compare(connection: AsyncConnection, row: Any, *, sealed: bool) -> list[ChangedEdition]:
    ready = row.state == str(BookState.READY)
    try:
        catalogue = await _find_entry(connection, row.book_id, row.edition, ready=ready)
        if catalogue is None:
            return [ChangedEdition(row.book_id, row.edition, ready, _EVERYTHING)]
        made = await compute_digests(connection, row.book_id, row.edition, catalogue=catalogue)
    except ValueError:
        # JSON that cannot be read is not what was published.
        return [ChangedEdition(row.book_id, row.edition, ready, _EVERYTHING)]
    changed = []
    if made.sections != row.sections_digest:
        changed.append(
            ChangedEdition(row.book_id, row.edition, ready, "the title, the sections or their pages")
        )
    if ready and made.chunks != row.chunks_digest:
        changed.append(ChangedEdition(row.book_id, row.edition, ready, "the passages"))
    if ready and row.looks_digest != made.looks and (sealed or row.looks_digest is not None):
        what = "the links, the pictures or the printed pages"
        changed.append(ChangedEdition(row.book_id, row.edition, ready, what, looks_only=not changed))
    return changed


async def _find_entry(
    connection: AsyncConnection, book_id: str, edition: int, *, ready: bool
) -> Row[Any] | None:
    """Find what the catalogue says of an edition: what readers see, or what it was when it was replaced."""
    table, id_ = (books, books.c.id) if ready else (editions, editions.c.book_id)
    query = select(table).where(id_ == book_id, table.c.edition == edition)
    return (await connection.execute(query)).one_or_none()


async def _digest_looks(connection: AsyncConnection, book_id: str, edition: int) -> str:
    """Compute a digest of the markup, the pictures and the file of an edition.

    A picture and the file are read, because their names are the hashes of what they must be.
    """
    digest = blake2b((await _digest_rows(connection, markup, book_id, edition)).encode(), digest_size=16)
    shown = _match(edition_images, book_id, edition)
    for name in sorted(await connection.scalars(select(edition_images.c.hash).where(*shown))):
        data = await connection.scalar(select(images.c.data).where(images.c.hash == name))
        digest.update((await run_blocking(sha256, data or b"")).digest())
    file = select(edition_files.c.hash).where(*_match(edition_files, book_id, edition))
    if name := await connection.scalar(file):
        digest.update(name.encode())
        digest.update((await hash_parts(connection, name)).encode())
    return digest.hexdigest()


async def hash_parts(connection: AsyncConnection, name: str) -> str:
    """Compute the SHA-256 of the parts of a file, one by one. It is `name` when nothing was changed."""
    digest = sha256()
    here = files.c.hash == name
    for part in (await connection.scalars(select(files.c.part).where(here).order_by(files.c.part))).all():
        data = await connection.scalar(select(files.c.data).where(here, files.c.part == part))
        await run_blocking(digest.update, data or b"")
    return digest.hexdigest()


def _match(table: Table, book_id: str, edition: int) -> tuple[ColumnElement[bool], ...]:
    return table.c.book_id == book_id, table.c.edition == edition


async def _digest_rows(connection: AsyncConnection, table: Table, book_id: str, edition: int) -> str:
    """Compute a digest of all rows of an edition, in the order of the bytes of their ids."""
    columns = [column for column in table.c if column.name not in _LEFT_OUT]
    query = select(*columns).where(*_match(table, book_id, edition))
    digest, count = blake2b(digest_size=16), 0
    async for rows in _read_batches(connection, query, table):
        for row in rows:
            digest.update(_encode([_to_plain(value) for value in row]).encode())
            digest.update(b"\n")
        count += len(rows)
    return f"{count}:{digest.hexdigest()}"


def build_sort_key(table: Table, dialect: str) -> ColumnElement[str]:
    """Return what sorts ids by their bytes. SQLite does so anyway, PostgreSQL as its collation says."""
    id_ = _find_id(table)
    return collate(id_, "C") if dialect == "postgresql" else id_


def _find_id(table: Table) -> Column[str]:
    """Return the column that tells the rows of an edition apart."""
    return next(column for column in table.primary_key if column.name not in _OF_EDITION)


def _to_plain(value: object) -> object:
    if isinstance(value, bytes):
        return blake2b(value, digest_size=16).hexdigest()
    return value.isoformat() if isinstance(value, datetime) else value


async def _read_batches(
    connection: AsyncConnection, query: Select[Any], table: Table
) -> AsyncIterator[Sequence[Row[Any]]]:
    """Yield the rows by their ids in batches, so that other tasks of this process run in between."""
    key, last = build_sort_key(table, connection.dialect.name), None
    while True:
        page = query.order_by(key) if last is None else query.where(key > last).order_by(key)
        rows = (await connection.execute(page.limit(BATCH))).all()
        if rows:
            yield rows
        if len(rows) < BATCH:
            return
        last = rows[-1]._mapping[_find_id(table)]
