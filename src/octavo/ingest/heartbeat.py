"""Report once a second that long work goes on, and how far it is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, Generic, Literal, TypeVar

from octavo.events import Preparing

BEAT_SECONDS = 1.0
T = TypeVar("T")


class Heartbeat(Generic[T]):
    """One step of adding a book. `run` yields an event a second until the work is done."""

    def __init__(self, step: Literal["reading", "cutting"]) -> None:
        self._step: Literal["reading", "cutting"] = step
        self._done = self._total = 0
        self._result: list[T] = []

    def count(self, done: int, total: int) -> None:
        """Note how far the work is."""
        self._done, self._total = done, total

    async def run(self, work: Coroutine[Any, Any, T]) -> AsyncGenerator[Preparing, None]:
        """Do the work. When the generator is closed early, the work is cancelled and has ended."""
        task = asyncio.ensure_future(work)
        began = time.monotonic()
        try:
            while not (await asyncio.wait([task], timeout=BEAT_SECONDS))[0]:
                yield Preparing(self._step, self._done, self._total, time.monotonic() - began)
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])
        self._result.append(task.result())

    def get_result(self) -> T:
        """Return what the work returned; call it after `run` has ended."""
        return self._result[0]
