"""Locks that several instances of Octavo agree on, kept by the PostgreSQL server that they share.

Each lock is held by a connection of its own for as long as the block runs. Whoever dies, or loses the
connection, has let go of it at that moment: nothing has to be cleaned up, and no clock is asked.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from hashlib import sha256

from sqlalchemy import NullPool, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from octavo.records_database.failures import translated

_TRY = {
    False: text("SELECT pg_try_advisory_lock(:number)"),
    True: text("SELECT pg_try_advisory_lock_shared(:number)"),
}
_OFTEN = 0.1


class Locks:
    """The locks of one database."""

    def __init__(self, url: URL, *, place: str, seconds: float) -> None:
        self._place = place
        self._engine = create_async_engine(
            url, isolation_level="AUTOCOMMIT", poolclass=NullPool, connect_args={"timeout": seconds}
        )

    @asynccontextmanager
    async def held(self, name: str, *, shared: bool, wait: float) -> AsyncIterator[bool]:
        """Says whether the lock could be had in time. Those who share it keep out only who does not."""
        connection = self._engine.connect()
        try:
            with translated(self._place):
                await connection.start()
                granted = await _granted(connection, name, shared=shared, wait=wait)
            yield granted
        finally:
            with suppress(SQLAlchemyError, OSError):  # a connection that is gone holds nothing
                await asyncio.shield(connection.close())


async def _granted(connection: AsyncConnection, name: str, *, shared: bool, wait: float) -> bool:
    until = time.monotonic() + wait
    while not await connection.scalar(_TRY[shared], {"number": number_of(name)}):
        if time.monotonic() >= until:
            return False
        await asyncio.sleep(_OFTEN)
    return True


def number_of(name: str) -> int:
    """The number by which the server knows a lock."""
    return int.from_bytes(sha256(f"octavo {name}".encode()).digest()[:8], "big", signed=True)
