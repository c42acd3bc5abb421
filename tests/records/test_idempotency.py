"""Requests that are sent twice: done once, answered twice."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from octavo.errors import Conflict, InvalidValue
from octavo.records.database import Database
from octavo.records.idempotency import ABANDONED_AFTER, KEPT_FOR, IdempotentRequests, RequestInProgress
from octavo.records.tables import requests


async def test_the_same_request_gives_what_it_gave_before(database: Database) -> None:
    idempotent = IdempotentRequests(database)
    async with idempotent.claim("k", owner="ann", request=b"a question") as first:
        assert first.previous is None
        first.response = {"answer": "ü"}
    async with idempotent.claim("k", owner="ann", request=b"a question") as again:
        assert again.previous == {"answer": "ü"}
    async with idempotent.claim("k", owner="ben", request=b"another") as other:
        assert other.previous is None
    async with idempotent.claim(None, owner="ann", request=b"a question") as unnamed:
        assert unnamed.previous is None


async def test_another_request_under_the_same_key_is_a_conflict(database: Database) -> None:
    idempotent = IdempotentRequests(database)
    async with idempotent.claim("k", owner="", request=b"one") as once:
        once.response = {}
        with pytest.raises(RequestInProgress) as busy:
            async with idempotent.claim("k", owner="", request=b"one"):
                pass
        assert busy.value.retry_after > 0
    with pytest.raises(Conflict, match="used before for another request"):
        async with idempotent.claim("k", owner="", request=b"two"):
            pass


async def test_what_failed_or_was_cancelled_can_be_tried_again(database: Database) -> None:
    idempotent = IdempotentRequests(database)
    with pytest.raises(ZeroDivisionError):
        async with idempotent.claim("k", owner="", request=b"one"):
            raise ZeroDivisionError
    started = asyncio.Event()

    async def work() -> None:
        async with idempotent.claim("k", owner="", request=b"one"):
            started.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(work())
    await started.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    async with idempotent.claim("k", owner="", request=b"two") as once:
        assert once.previous is None


@pytest.mark.parametrize(("age", "done"), [(KEPT_FOR, True), (ABANDONED_AFTER, False)])
async def test_old_requests_and_those_of_a_dead_process_are_forgotten(
    database: Database, age: timedelta, done: bool
) -> None:
    idempotent = IdempotentRequests(database)

    async def again() -> None:
        async with database.begin() as connection:
            then = datetime.now(UTC) - age - timedelta(seconds=1)
            await connection.execute(update(requests).values(created_at=then))
        async with idempotent.claim("k", owner="", request=b"another") as once:
            assert once.previous is None

    async with idempotent.claim("k", owner="", request=b"one") as first:
        first.response = {}
        if not done:
            await again()
    if done:
        await again()


@pytest.mark.parametrize("key", ["", " ", "k" * 201, "a\x00b"])
async def test_a_key_that_cannot_be_kept_is_refused(file: Database, key: str) -> None:
    with pytest.raises(InvalidValue, match="Idempotency-Key"):
        async with IdempotentRequests(file).claim(key, owner="", request=b""):
            pass
