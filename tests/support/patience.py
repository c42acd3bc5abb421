"""Waiting for what a test means, on a machine of any speed: it ends the moment it is so.

`PATIENCE` is for everything that has to have an end when it fails: answers over HTTP, processes that stop. It
is long because a machine that does other things as well is slow, not broken.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

PATIENCE = 120.0  # seconds


def wait_until(true: Callable[[], Any], what: str = "it never came to that") -> None:
    """Waits for something to become true, and fails when it does not."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.02)


async def wait_until_async(
    true: Callable[[], Awaitable[Any] | Any], what: str = "it never came to that"
) -> None:
    """The same inside an event loop; the condition may be asked for with `await`."""
    end = time.monotonic() + PATIENCE
    while True:
        found = true()
        if await found if asyncio.iscoroutine(found) else found:
            return
        assert time.monotonic() < end, what
        await asyncio.sleep(0.02)
