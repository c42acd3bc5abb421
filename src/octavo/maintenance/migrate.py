"""Copy a library from its folder to servers and back: its chunks and, if asked, its records.

The records hold everything, vectors included, so the chunks of the new store are written from them, without
a model. Chunks that are already there are not written again, so an interrupted copy continues where it
stopped. The records are copied in one transaction: the target database gets all of them or none. A database
that holds other records is refused; one that holds the same records is left as it is. At the end the stores
are compared by digests, and the tables by counts and hashes. The source is only read, except that the words
of a library of an earlier version are counted first.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from sqlalchemy import Table, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from octavo.errors import InvalidValue, RecordsError, StoreError
from octavo.ingest.context import BOOKS
from octavo.maintenance.background_check import LAST_CHECK
from octavo.maintenance.repair import LAGGING, STORE_STATE, compare_store, fill_store
from octavo.records import tables
from octavo.records.catalogue import Records
from octavo.records.tables import hits, meta
from octavo.store import Store, open_store
from octavo.store.base import LibraryLock
from octavo.types import COLLECTION, EMBEDDING_SIZE

if TYPE_CHECKING:
    from octavo.records.database import Database
    from octavo.settings import Settings

EMBEDDED = "embedded"
BATCH = 500
# Counters of the last minutes, which need not be copied.
PASSING = frozenset({hits.name})
# Notes that describe one place only.
LOCAL = frozenset({"changes", STORE_STATE, LAGGING, LAST_CHECK})
TABLES = tuple(table for table in tables.metadata.sorted_tables if table.name not in PASSING)
OnTable = Callable[[str, int], None]
OnStep = Callable[[str, int, int], None]
Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TableSum:
    """The number of rows, and a hash of all of them that does not depend on their order."""

    rows: int = 0
    hash: int = 0

    def plus(self, rows: Sequence[Values]) -> TableSum:
        added = sum(int.from_bytes(_hash_row(row), "big") for row in rows)
        return TableSum(self.rows + len(rows), (self.hash + added) % (1 << 128))


async def copy_records(
    source: Database, target: Database, *, on_table: OnTable | None = None
) -> Mapping[str, int]:
    """Copy all tables; return the number of rows of each."""
    read: dict[str, TableSum] = {}
    async with source.connect() as reading, target.begin("moving") as writing:
        there = {table.name: await _sum_table(writing, table) for table in TABLES}
        if any(there[table.name].rows for table in TABLES if table is not meta):
            return await _require_same(reading, there, target)
        await writing.execute(delete(meta))
        for table in TABLES:
            total = TableSum()
            async for rows in _read_rows(reading, table):
                await writing.execute(insert(table), rows)
                total = total.plus(rows)
            read[table.name] = total
            if on_table:
                on_table(table.name, total.rows)
        for table in TABLES:
            if await _sum_table(writing, table) != read[table.name]:
                raise RecordsError(
                    f"{table.name} is not the same in {target.place} as in {source.place}; nothing was kept",
                    hint="Make sure that nobody changes the library, and try again.",
                )
    return {name: total.rows for name, total in read.items()}


async def _require_same(
    reading: AsyncConnection, there: Mapping[str, TableSum], target: Database
) -> Mapping[str, int]:
    """Return the counts if the target has exactly what was to be copied; raise otherwise."""
    for table in TABLES:
        if await _sum_table(reading, table) != there[table.name]:
            raise RecordsError(
                f"{target.place} holds other records already ({table.name}); nothing was changed",
                hint="Use an empty database, or empty this one.",
            )
    return {name: total.rows for name, total in there.items()}


async def _sum_table(connection: AsyncConnection, table: Table) -> TableSum:
    total = TableSum()
    async for rows in _read_rows(connection, table):
        total = total.plus(rows)
    return total


async def _read_rows(connection: AsyncConnection, table: Table) -> AsyncIterator[list[Values]]:
    """Yield the rows in batches, in the order of their keys."""
    query, offset = select(table).order_by(*table.primary_key.columns).limit(BATCH), 0
    if table is meta:
        query = query.where(meta.c.key.not_in(LOCAL))
    while rows := (await connection.execute(query.offset(offset))).mappings().all():
        yield [dict(row) for row in rows]
        offset += BATCH


def _hash_row(row: Values) -> bytes:
    said = json.dumps(row, default=_to_text, sort_keys=True, ensure_ascii=False)
    return blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _to_text(value: object) -> str:
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"a {type(value).__name__} is in the records")


@dataclass(frozen=True, slots=True)
class Migration:
    """What is in the new place now, and the settings that use it.

    `written` counts the chunks that were not there before. `source_differs` says how the old store differs
    from the records, or is empty.
    """

    chunks: int
    written: int
    tables: Mapping[str, int]
    store: str
    records: str
    settings: Mapping[str, str]
    source_differs: str = ""


async def migrate_library(
    settings: Settings,
    *,
    to: str,
    records: str | None = None,
    collection: str | None = None,
    on_step: OnStep | None = None,
) -> Migration:
    """Copy the library in `settings` to the store `to`: a Qdrant server's address, or "embedded".

    With `records`, a database's address or "embedded", copy its records too. The library is locked meanwhile.
    """
    goal = _target_settings(settings, to=to, records=records, collection=collection)
    step = on_step or (lambda *_: None)
    source = await Records.open(_records_place(settings), connections=settings.records_pool)
    try:
        async with source.database.lock(BOOKS), _lock_folder(settings, goal) as lock:
            if await source.list_pending() or await source.list_unsettled() or await source.list_removals():
                raise RecordsError(
                    f"the library at {source.database.place} has an unfinished change",
                    hint="`octavo doctor --repair` finishes it.",
                )
            await source.count_missing_words()
            tables: Mapping[str, int] = {}
            if _records_place(goal) != _records_place(settings):
                tables = await _move_records(source, goal, step)
            return await _move_chunks(source, settings, goal, tables, lock, step)
    finally:
        await source.close()


def _target_settings(settings: Settings, *, to: str, records: str | None, collection: str | None) -> Settings:
    """Return the settings of the library in its new place; raise if the address is wrong."""
    changed: dict[str, object] = {"store_url": "" if to == EMBEDDED else to.rstrip("/")}
    if to != EMBEDDED and not to.startswith(("http://", "https://")):
        raise InvalidValue("--to", "must be the address of a Qdrant server, or 'embedded'", to)
    if records is not None:
        changed["records_url"] = "" if records == EMBEDDED else records
    if collection is not None:
        changed["collection"] = collection
    return settings.model_copy(update=changed)


def _records_place(settings: Settings) -> str:
    return settings.records_url or str(settings.data / "records.sqlite")


@asynccontextmanager
async def _lock_folder(settings: Settings, goal: Settings) -> AsyncIterator[LibraryLock | None]:
    """Lock the folder if anything in it is read or written."""
    if settings.store_url and goal.store_url and settings.records_url and goal.records_url:
        yield None
        return
    lock = LibraryLock(settings.data)
    try:
        yield lock
    finally:
        lock.release()


async def _move_records(source: Records, goal: Settings, step: OnStep) -> Mapping[str, int]:
    # The id must be the same in both places, or the points would belong to another library.
    await source.ensure_library_id()
    target = await Records.open(_records_place(goal), connections=goal.records_pool)
    try:
        return await copy_records(
            source.database, target.database, on_table=lambda name, rows: step(name, rows, rows)
        )
    finally:
        await target.close()


async def _move_chunks(
    source: Records,
    settings: Settings,
    goal: Settings,
    tables: Mapping[str, int],
    lock: LibraryLock | None,
    step: OnStep,
) -> Migration:
    library, dimension = await source.ensure_library_id(), await _find_dimension(source)
    differs = ""
    if (settings.store_url, settings.collection) != (goal.store_url, goal.collection):
        before = await _open_store(
            settings, dimension, library, lock, expected=bool(await source.read_digests())
        )
        try:
            found = await compare_store(source, before)
            differs = str(found) if found else ""
        finally:
            await before.close()
    store = await _open_store(goal, dimension, library, lock, expected=False)
    try:
        written = await fill_store(source, store, on_step=lambda done, total: step("chunks", done, total))
        still = await compare_store(source, store)
        if still:
            raise StoreError(
                f"{store.place} does not hold what was written to it ({still})",
                hint="Run the same command again; it continues where it stopped.",
            )
        return Migration(
            chunks=await store.count(),
            written=len(written.missing) + len(written.damaged),
            tables=tables,
            store=store.place,
            records=source.database.place if not tables else _show_place(goal),
            settings=_list_settings(goal),
            source_differs=differs,
        )
    finally:
        await store.close()


async def _open_store(
    settings: Settings, dimension: int, library: str, lock: LibraryLock | None, *, expected: bool
) -> Store:
    return await open_store(settings, dimension=dimension, expected=expected, lock=lock, library=library)


async def _find_dimension(records: Records) -> int:
    """Return the size of the vectors."""
    for id in await records.read_digests():
        (chunk,) = await records.find_embedded_chunks([id])
        return len(chunk.embedding or ()) or EMBEDDING_SIZE
    return EMBEDDING_SIZE


def _list_settings(goal: Settings) -> dict[str, str]:
    """Return the variables that name the new place; an empty one is to be unset."""
    wanted = {
        "OCTAVO_STORE_URL": goal.store_url,
        "OCTAVO_RECORDS_URL": _show_place(goal) if goal.records_url else "",
    }
    if goal.store_url and goal.collection != COLLECTION:
        wanted["OCTAVO_COLLECTION"] = goal.collection
    return wanted


def _show_place(goal: Settings) -> str:
    """Return where the records are, without the password."""
    from octavo.records.database import format_address, parse_address

    return format_address(parse_address(_records_place(goal)))
