"""Where moving windows are kept: in memory, or in the table `hits` for several instances.

Both count in small steps of the window, so that a busy caller costs no more than a quiet one: a hit that is
older than the window by less than one step may still count.

How often: rates in moving windows, for one process or for all that share the records.

A rate is so many times within any minute, not within each minute of the clock. With records in SQLite there
is one process, and its own memory counts, on a clock that never jumps; with PostgreSQL the database counts
for all instances together, on its own clock. Nobody's counter outlives its window.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from limits import RateLimitItemPerMinute
from limits.aio.storage import MovingWindowSupport, Storage
from limits.aio.strategies import MovingWindowRateLimiter
from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql import Select

from octavo.errors import OctavoError, TooMany
from octavo.records.tables import hits

if TYPE_CHECKING:
    from octavo.records.database import Database

STEPS = 60
CALLERS = 100_000
"""Callers that are remembered at once; the one that was quiet longest is forgotten first."""


class Windows(Storage, MovingWindowSupport):
    """What both have in common: they count moving windows and nothing else."""

    STORAGE_SCHEME = None

    @property
    def base_exceptions(self) -> type[Exception]:
        return OctavoError

    async def now(self) -> float:
        raise NotImplementedError

    async def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        raise NotImplementedError

    async def get(self, key: str) -> int:
        raise NotImplementedError

    async def get_expiry(self, key: str) -> float:
        raise NotImplementedError

    async def check(self) -> bool:
        await self.now()
        return True

    async def clear(self, key: str) -> None:
        raise NotImplementedError

    async def reset(self) -> int | None:
        raise NotImplementedError


class MemoryWindows(Windows):
    """In the memory of this process, on a clock that only goes forward."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock
        self._counted: OrderedDict[str, deque[list[float]]] = OrderedDict()

    async def now(self) -> float:
        return self._clock()

    async def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        now = self._clock()
        steps = self._live(key, now, expiry)
        if sum(count for _, count in steps) + amount > limit:
            return False
        begins = now - now % (expiry / STEPS)
        if steps and steps[-1][0] >= begins:
            steps[-1][1] += amount
        else:
            steps.append([begins, amount])
        self._counted[key] = steps
        self._counted.move_to_end(key)
        while len(self._counted) > CALLERS or self._stale(now, expiry):
            self._counted.popitem(last=False)
        return True

    async def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:  # noqa: ARG002
        now = self._clock()
        steps = self._live(key, now, expiry)
        return (steps[0][0] if steps else now), int(sum(count for _, count in steps))

    def _live(self, key: str, now: float, expiry: int) -> deque[list[float]]:
        steps = self._counted.get(key) or deque()
        while steps and steps[0][0] <= now - expiry:
            steps.popleft()
        return steps

    def _stale(self, now: float, expiry: int) -> bool:
        """Whether the caller that was quiet longest has nothing in the window any more."""
        oldest = next(iter(self._counted.values()), None)
        return oldest is not None and (not oldest or oldest[-1][0] <= now - expiry)


_CLOCK: Select[tuple[float]] = select(func.extract("epoch", func.clock_timestamp()))


class DatabaseWindows(Windows):
    """In PostgreSQL, for all instances, on the database's clock."""

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = database
        self._swept = 0.0

    async def now(self) -> float:
        async with self._database.connect() as connection:
            return await _now(connection)

    async def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        async with self._database.begin(turn=f"hits {key}") as connection:
            now = await _now(connection)
            _, count = await _window(connection, key, now - expiry)
            if count + amount > limit:
                return False
            begins = now - now % (expiry / STEPS)
            row = insert(hits).values(key=key, begins=begins, count=amount, expires=begins + expiry)
            more = {"count": hits.c.count + amount}
            await connection.execute(row.on_conflict_do_update(index_elements=["key", "begins"], set_=more))
            if now - self._swept > expiry:
                self._swept = now
                await connection.execute(delete(hits).where(hits.c.expires < now - expiry))
        return True

    async def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:  # noqa: ARG002
        async with self._database.connect() as connection:
            now = await _now(connection)
            oldest, count = await _window(connection, key, now - expiry)
        return (now if oldest is None else oldest), count


async def _now(connection: AsyncConnection) -> float:
    return float(await connection.scalar(_CLOCK) or 0)


async def _window(connection: AsyncConnection, key: str, since: float) -> tuple[float | None, int]:
    query = select(func.min(hits.c.begins), func.coalesce(func.sum(hits.c.count), 0))
    oldest, count = (await connection.execute(query.where(hits.c.key == key, hits.c.begins > since))).one()
    return oldest, int(count)


class RateLimiter:
    """Counts what callers do and says when it is enough."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._windows = MemoryWindows(clock) if database.is_sqlite else DatabaseWindows(database)
        self._limiter = MovingWindowRateLimiter(self._windows)

    async def take(self, what: str, who: str, *, per_minute: int) -> None:
        """Counts one more; raises `TooMany` without counting when the last minute had its share."""
        rate = RateLimitItemPerMinute(per_minute, namespace=what)
        if await self._limiter.hit(rate, who):
            return
        oldest, _ = await self._windows.get_moving_window(rate.key_for(who), per_minute, rate.get_expiry())
        wait = math.ceil(oldest + rate.get_expiry() - await self._windows.now())
        raise TooMany(
            f"more than {per_minute} {what} in a minute",
            retry_after=float(min(max(1, wait), rate.get_expiry())),
            hint="Wait as long as Retry-After says, and then go slower.",
        )
