"""How often: rates in moving windows, for one process or for all that share the records.

A rate is so many times within any minute, not within each minute of the clock. With records in SQLite there
is one process, and its own memory counts, on a clock that never jumps; with PostgreSQL the database counts
for all instances together, on its own clock. Nobody's counter outlives its window.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from limits import RateLimitItemPerMinute
from limits.aio.strategies import MovingWindowRateLimiter

from octavo.errors import TooMany
from octavo.records_database import Database
from octavo.throttle.windows import Near, Shared


class Throttle:
    """Counts what callers do and says when it is enough."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._windows = Near(clock) if database.is_sqlite else Shared(database)
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
