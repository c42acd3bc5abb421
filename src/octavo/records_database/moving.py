"""Copies all records from one database to another, table by table, and proves that they are the same.

The copy is one transaction: the other database holds everything or nothing of it. What was read and what was
written is compared by counts and hashes before it ends. A database that holds anything else is refused; one
that holds the very same records already is left as it is. Nothing is written to where they come from.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any

from sqlalchemy import Table, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from octavo import schema_asking
from octavo.errors import RecordsError
from octavo.records_database import Database
from octavo.schema import meta
from octavo.schema_service import hits

BATCH = 500
PASSING = frozenset({hits.name})  # counters of the last minutes
LOCAL = frozenset({"store seal", "changes"})  # notes that are about one place
TABLES = tuple(table for table in schema_asking.metadata.sorted_tables if table.name not in PASSING)
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
    async with source.reading() as reading, target.writing("moving") as writing:
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
