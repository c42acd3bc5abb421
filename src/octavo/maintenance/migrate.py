"""Moves a library from its folder to servers and back: its chunks, and if asked its records.

The records are the truth, vectors included, so the chunks are written to the other store from them, with no
model. What is there already is not written again, so a move that was cut off goes on where it stopped. At
the end both are compared point by point, by digests, and table by table, by counts and hashes. The place
that the library comes from is left as it was.

Copies all records from one database to another, table by table, and proves that they are the same.

The copy is one transaction: the other database holds everything or nothing of it. What was read and what was
written is compared by counts and hashes before it ends. A database that holds anything else is refused; one
that holds the very same records already is left as it is. Nothing is written to where they come from.
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
from octavo.maintenance.repair import differing, fill
from octavo.records import tables
from octavo.records.catalogue import Records
from octavo.records.tables import hits, meta
from octavo.store import Store, open_store
from octavo.store.base import LibraryLock
from octavo.types import COLLECTION, EMBEDDING_SIZE

if TYPE_CHECKING:
    from octavo.records.database import Database
    from octavo.settings import Settings

BATCH = 500
PASSING = frozenset({hits.name})  # counters of the last minutes
LOCAL = frozenset({"store seal", "changes"})  # notes that are about one place
TABLES = tuple(table for table in tables.metadata.sorted_tables if table.name not in PASSING)
OnTable = Callable[[str, int], None]
Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sum:
    """How many rows, and a hash of them all that does not depend on their order."""

    rows: int = 0
    hash: int = 0

    def plus(self, rows: Sequence[Values]) -> Sum:
        added = sum(int.from_bytes(_row_hash(row), "big") for row in rows)
        return Sum(self.rows + len(rows), (self.hash + added) % (1 << 128))


async def copy_records(
    source: Database, target: Database, *, on_table: OnTable | None = None
) -> Mapping[str, int]:
    """Copies everything; returns how many rows each table has."""
    read: dict[str, Sum] = {}
    async with source.connect() as reading, target.begin("moving") as writing:
        there = {table.name: await _sum(writing, table) for table in TABLES}
        if any(there[table.name].rows for table in TABLES if table is not meta):
            return await _same(reading, there, target)
        await writing.execute(delete(meta))
        for table in TABLES:
            total = Sum()
            async for rows in _rows(reading, table):
                await writing.execute(insert(table), rows)
                total = total.plus(rows)
            read[table.name] = total
            if on_table:
                on_table(table.name, total.rows)
        for table in TABLES:
            if await _sum(writing, table) != read[table.name]:
                raise RecordsError(
                    f"{table.name} is not the same in {target.place} as in {source.place}; nothing was kept",
                    hint="See that nobody is changing the library, and try again.",
                )
    return {name: total.rows for name, total in read.items()}


async def _same(reading: AsyncConnection, there: Mapping[str, Sum], target: Database) -> Mapping[str, int]:
    """The counts, when all that is there is what was to be copied."""
    for table in TABLES:
        if await _sum(reading, table) != there[table.name]:
            raise RecordsError(
                f"{target.place} holds other records already ({table.name}); nothing was changed",
                hint="Name an empty database, or make this one empty.",
            )
    return {name: total.rows for name, total in there.items()}


async def _sum(connection: AsyncConnection, table: Table) -> Sum:
    total = Sum()
    async for rows in _rows(connection, table):
        total = total.plus(rows)
    return total


async def _rows(connection: AsyncConnection, table: Table) -> AsyncIterator[list[Values]]:
    """A few hundred rows at a time, in the order of their keys."""
    query, offset = select(table).order_by(*table.primary_key.columns).limit(BATCH), 0
    if table is meta:
        query = query.where(meta.c.key.not_in(LOCAL))
    while rows := (await connection.execute(query.offset(offset))).mappings().all():
        yield [dict(row) for row in rows]
        offset += BATCH


def _row_hash(row: Values) -> bytes:
    said = json.dumps(row, default=_plain, sort_keys=True, ensure_ascii=False)
    return blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _plain(value: object) -> str:
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"a {type(value).__name__} is in the records")


EMBEDDED = "embedded"
OnStep = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Moved:
    """What is at the other place now, and the settings with which the library is found there.

    `written` of the chunks were not there before; `source_differs` says how the store that the library
    comes from differs from the records, and "" when it does not.
    """

    chunks: int
    written: int
    tables: Mapping[str, int]
    store: str
    records: str
    settings: Mapping[str, str]
    source_differs: str = ""


async def move(
    settings: Settings,
    *,
    to: str,
    records: str | None = None,
    collection: str | None = None,
    on_step: OnStep | None = None,
) -> Moved:
    """Copies the library that `settings` name to the store `to`, a Qdrant server's address or "embedded".

    With `records`, a database's address or "embedded", its records too. Nobody may change it meanwhile.
    """
    goal = _goal(settings, to=to, records=records, collection=collection)
    step = on_step or (lambda *_: None)
    source = await Records.open(_place(settings), connections=settings.records_pool)
    try:
        async with source.database.lock(BOOKS), _locked(settings, goal) as lock:
            if await source.list_pending() or await source.list_unsettled() or await source.list_removals():
                raise RecordsError(
                    f"the library at {source.database.place} has a change that is not finished",
                    hint="`octavo doctor --repair` finishes it.",
                )
            tables: Mapping[str, int] = {}
            if _place(goal) != _place(settings):
                tables = await _moved_records(source, goal, step)
            return await _moved_chunks(source, settings, goal, tables, lock, step)
    finally:
        await source.close()


def _goal(settings: Settings, *, to: str, records: str | None, collection: str | None) -> Settings:
    """The settings of the library at its new place; a wrong address is refused at once."""
    changed: dict[str, object] = {"store_url": "" if to == EMBEDDED else to.rstrip("/")}
    if to != EMBEDDED and not to.startswith(("http://", "https://")):
        raise InvalidValue("--to", "must be the address of a Qdrant server, or 'embedded'", to)
    if records is not None:
        changed["records_url"] = "" if records == EMBEDDED else records
    if collection is not None:
        changed["collection"] = collection
    return settings.model_copy(update=changed)


def _place(settings: Settings) -> str:
    return settings.records_url or str(settings.data / "records.sqlite")


@asynccontextmanager
async def _locked(settings: Settings, goal: Settings) -> AsyncIterator[LibraryLock | None]:
    """The folder is ours when anything in it is read from or written to."""
    if settings.store_url and goal.store_url and settings.records_url and goal.records_url:
        yield None
        return
    lock = LibraryLock(settings.data)
    try:
        yield lock
    finally:
        lock.release()


async def _moved_records(source: Records, goal: Settings, step: OnStep) -> Mapping[str, int]:
    await source.ensure_library_id()  # the same at both places, or the points would be a stranger's
    target = await Records.open(_place(goal), connections=goal.records_pool)
    try:
        return await copy_records(
            source.database, target.database, on_table=lambda name, rows: step(name, rows, rows)
        )
    finally:
        await target.close()


async def _moved_chunks(
    source: Records,
    settings: Settings,
    goal: Settings,
    tables: Mapping[str, int],
    lock: LibraryLock | None,
    step: OnStep,
) -> Moved:
    library, dimension = await source.ensure_library_id(), await _dimension(source)
    differs = ""
    if (settings.store_url, settings.collection) != (goal.store_url, goal.collection):
        before = await _opened(settings, dimension, library, lock, expected=bool(await source.read_digests()))
        try:
            found = await differing(source, before)
            differs = str(found) if found else ""
        finally:
            await before.close()
    store = await _opened(goal, dimension, library, lock, expected=False)
    try:
        written = await fill(source, store, on_step=lambda done, total: step("chunks", done, total))
        still = await differing(source, store)
        if still:
            raise StoreError(
                f"{store.place} does not hold what was written to it: {still}",
                hint="Run the same command again; what is there already is not written again.",
            )
        return Moved(
            chunks=await store.count(),
            written=len(written.missing) + len(written.damaged),
            tables=tables,
            store=store.place,
            records=source.database.place if not tables else _shown(goal),
            settings=_to_be_set(goal),
            source_differs=differs,
        )
    finally:
        await store.close()


async def _opened(
    settings: Settings, dimension: int, library: str, lock: LibraryLock | None, *, expected: bool
) -> Store:
    return await open_store(settings, dimension=dimension, expected=expected, lock=lock, library=library)


async def _dimension(records: Records) -> int:
    """How many numbers the vectors have."""
    for id in await records.read_digests():
        (chunk,) = await records.find_embedded_chunks([id])
        return len(chunk.embedding or ()) or EMBEDDING_SIZE
    return EMBEDDING_SIZE


def _to_be_set(goal: Settings) -> dict[str, str]:
    """The variables that name the new place; one that is empty is to be taken away."""
    wanted = {
        "OCTAVO_STORE_URL": goal.store_url,
        "OCTAVO_RECORDS_URL": _shown(goal) if goal.records_url else "",
    }
    if goal.store_url and goal.collection != COLLECTION:
        wanted["OCTAVO_COLLECTION"] = goal.collection
    return wanted


def _shown(goal: Settings) -> str:
    """Where the records are, without a password."""
    from octavo.records.database import format_address, parse_address

    return format_address(parse_address(_place(goal)))
