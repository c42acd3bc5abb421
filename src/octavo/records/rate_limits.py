"""Rate limits in moving windows, for one process or for all instances that share a database.

A limit is so many calls within any minute, not within each minute of the clock. With SQLite there is one
process: it counts in memory, on a clock that never jumps. With PostgreSQL the table `hits` counts for all
instances together, on the database's clock. Both add up the calls of each second, so that a busy caller costs
no more than a quiet one; a call stops counting up to a second before its minute is over. No counter outlives
its window.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.sql import Select

from octavo.errors import TooMany
from octavo.records.tables import hits

if TYPE_CHECKING:
    from octavo.records.database import Database

WINDOW = 60
STEPS = 60
CALLERS = 100_000
"""Callers that are remembered at once; the one that was quiet longest is forgotten first."""
_STEP = WINDOW / STEPS
_CLOCK: Select[tuple[float]] = select(func.extract("epoch", func.clock_timestamp()))


class RateLimiter:
    """Counts what callers do, and refuses what is too much."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._windows: Windows = MemoryWindows(clock) if database.is_sqlite else DatabaseWindows(database)

    async def take(self, what: str, who: str, *, per_minute: int) -> None:
        """Counts one more call; raises `TooMany` without counting it when the last minute is full."""
        # Instances of an earlier version count under the same keys.
        wait = await self._windows.count(f"{what}/{who}/{per_minute}/1/minute", limit=per_minute)
        if wait is not None:
            raise TooMany(
                f"more than {per_minute} {what} in a minute",
                retry_after=float(min(max(1, math.ceil(wait)), WINDOW)),
                hint="Wait for the time in Retry-After, then send fewer requests.",
            )


class Windows(Protocol):
    """Calls by key, each counted for as long as it is in the window."""

    async def count(self, key: str, *, limit: int) -> float | None:
        """Counts one call. At the limit it counts nothing and returns the seconds until a call drops out."""
        ...


class MemoryWindows:
    """Counts in the memory of this process. The clock must only go forward."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._counted: OrderedDict[str, deque[list[float]]] = OrderedDict()

    async def count(self, key: str, *, limit: int) -> float | None:
        now = self._clock()
        steps = self._find_live(key, now)
        if sum(count for _, count in steps) + 1 > limit:
            return _compute_wait(steps[0][0] if steps else now, now)
        begins = now - now % _STEP
        if steps and steps[-1][0] >= begins:
            steps[-1][1] += 1
        else:
            steps.append([begins, 1])
        self._counted[key] = steps
        self._counted.move_to_end(key)
        while len(self._counted) > CALLERS or self._is_oldest_stale(now):
            self._counted.popitem(last=False)
        return None

    def _find_live(self, key: str, now: float) -> deque[list[float]]:
        """The steps of a caller that are still in the window, each as its beginning and its count."""
        steps = self._counted.get(key) or deque()
        while steps and steps[0][0] <= now - WINDOW:
            steps.popleft()
        return steps

    def _is_oldest_stale(self, now: float) -> bool:
        """Whether the caller that was quiet longest has nothing in the window any more."""
        oldest = next(iter(self._counted.values()), None)
        return oldest is not None and (not oldest or oldest[-1][0] <= now - WINDOW)


class DatabaseWindows:
    """Counts in PostgreSQL, for all instances."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._swept = 0.0

    async def count(self, key: str, *, limit: int) -> float | None:
        query = select(func.min(hits.c.begins), func.coalesce(func.sum(hits.c.count), 0))
        async with self._database.begin(turn=f"hits {key}") as connection:
            now = float(await connection.scalar(_CLOCK) or 0)
            live = query.where(hits.c.key == key, hits.c.begins > now - WINDOW)
            oldest, count = (await connection.execute(live)).one()
            if int(count) + 1 > limit:
                return _compute_wait(now if oldest is None else oldest, now)
            begins = now - now % _STEP
            row = insert(hits).values(key=key, begins=begins, count=1, expires=begins + WINDOW)
            more = {"count": hits.c.count + 1}
            await connection.execute(row.on_conflict_do_update(index_elements=["key", "begins"], set_=more))
            if now - self._swept > WINDOW:
                self._swept = now
                await connection.execute(delete(hits).where(hits.c.expires < now - WINDOW))
        return None


def _compute_wait(oldest: float, now: float) -> float:
    return oldest + WINDOW - now
