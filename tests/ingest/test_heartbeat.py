"""Long work reports once a second, and ends with whoever watches it."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from octavo.ingest import heartbeat
from octavo.ingest.heartbeat import Heartbeat


async def test_work_reports_how_far_it_is_until_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.01)
    enough = asyncio.Event()
    reading: Heartbeat[str] = Heartbeat("reading")

    async def read() -> str:
        reading.count(30, 40)
        await enough.wait()
        return "book"

    told = []
    async for beat in reading.run(read()):
        told.append((beat.step, beat.done, beat.total, beat.kind))
        enough.set()
    assert set(told) == {("reading", 30, 40, "preparing")}
    assert reading.get_result() == "book"


async def test_what_goes_wrong_is_raised_and_quick_work_is_silent() -> None:
    async def fail() -> str:
        raise ValueError("damaged")

    with pytest.raises(ValueError, match="damaged"):
        assert [beat async for beat in Heartbeat[str]("cutting").run(fail())] == []


async def test_work_that_nobody_waits_for_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.01)
    ended = asyncio.Event()

    async def read() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    async with aclosing(Heartbeat[str]("reading").run(read())) as beats:
        await anext(beats)
    assert ended.is_set()
