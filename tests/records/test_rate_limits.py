"""Rate limits in moving windows, in one process and in several that share a database."""

from __future__ import annotations

import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import TooMany
from octavo.records.database import Database
from octavo.records.rate_limits import CALLERS, STEPS, MemoryWindows, RateLimiter
from tests.support.postgres import PostgresDatabase


class Clock:
    def __init__(self) -> None:
        self.now = 5000.0

    def __call__(self) -> float:
        return self.now


async def test_so_many_in_a_minute_and_no_more(file: Database) -> None:
    clock = Clock()
    limiter = RateLimiter(file, clock=clock)
    for _ in range(3):
        await limiter.take("requests", "ann", per_minute=3)
    with pytest.raises(TooMany, match="more than 3 requests in a minute") as refused:
        await limiter.take("requests", "ann", per_minute=3)
    assert 1 <= refused.value.retry_after <= 60
    await limiter.take("requests", "ben", per_minute=3)
    await limiter.take("wrong keys", "ann", per_minute=3)
    clock.now += refused.value.retry_after
    await limiter.take("requests", "ann", per_minute=3)


async def test_a_refused_request_does_not_make_the_wait_longer(file: Database) -> None:
    clock = Clock()
    limiter = RateLimiter(file, clock=clock)
    await limiter.take("requests", "ann", per_minute=1)
    for _ in range(50):
        clock.now += 1
        with pytest.raises(TooMany) as refused:
            await limiter.take("requests", "ann", per_minute=1)
    assert refused.value.retry_after <= 11


@given(st.lists(st.floats(0, 40), min_size=1, max_size=60), st.integers(1, 10))
def test_no_window_of_a_minute_ever_holds_more_than_the_limit(pauses: list[float], limit: int) -> None:
    clock, taken = Clock(), []
    windows = MemoryWindows(clock)
    for pause in pauses:
        clock.now += pause
        if asyncio.run(windows.count("ann", limit=limit)) is None:
            taken.append(clock.now)
    for at in taken:
        assert sum(at <= other < at + 60 - 60 / STEPS for other in taken) <= limit
    assert taken[0] == 5000.0 + pauses[0]


async def test_callers_that_have_gone_quiet_are_forgotten() -> None:
    clock = Clock()
    windows = MemoryWindows(clock)
    for number in range(500):
        clock.now += 1
        assert await windows.count(f"caller {number}", limit=5) is None
    assert len(windows._counted) <= 62 < CALLERS
    assert not windows._find_live("caller 1", clock.now)


async def test_instances_that_share_a_database_count_together(postgres_db: PostgresDatabase) -> None:
    one, two = await Database.open(postgres_db.url), await Database.open(postgres_db.url)
    here, there = RateLimiter(one), RateLimiter(two)
    began = time.monotonic()
    takes = [each.take("requests", "ann", per_minute=5) for each in (here, there) * 6]
    done = await asyncio.gather(*takes, return_exceptions=True)
    assert [type(result) for result in done].count(TooMany) == 7
    with pytest.raises(TooMany) as refused:
        await there.take("requests", "ann", per_minute=5)
    assert 55 - (time.monotonic() - began) <= refused.value.retry_after <= 60
    await there.take("requests", "ben", per_minute=5)
    postgres_db.rows("UPDATE hits SET begins = begins - 61, expires = expires - 500")
    await here.take("requests", "ann", per_minute=5)
    for database in (one, two):
        await database.close()
    assert postgres_db.rows("SELECT sum(count) FROM hits WHERE expires > extract(epoch FROM now())") == [(1,)]
