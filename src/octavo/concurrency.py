"""Blocking work outside the event loop, work that a cancellation must not cut short, and retries.

This is the only module that owns worker threads.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

# More threads would only compete for the cores.
_POOL = ThreadPoolExecutor(max_workers=2, thread_name_prefix="octavo")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Tries a call up to `tries` times, and no more once `seconds` have passed.

    The first pause lasts `pause` seconds, each later one `growth` times as long. Each is varied at random by
    the share `jitter`, and none is longer than `longest`.
    """

    tries: float = math.inf
    seconds: float = math.inf
    pause: float
    growth: float = 1.0
    jitter: float = 0.0
    longest: float = math.inf


async def run_blocking(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs `work` in a worker thread and returns its result."""
    return await asyncio.get_running_loop().run_in_executor(_POOL, partial(work, *args, **kwargs))


async def run_to_completion(work: Coroutine[Any, Any, T]) -> tuple[T, asyncio.CancelledError | None]:
    """Runs work that must not be left half done. Returns its result, and a cancellation that came meanwhile.

    The caller re-raises the cancellation when it has dealt with the result.
    """
    task, late = asyncio.ensure_future(work), None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as cancelled:
            late = cancelled
    return task.result(), late


async def retry(
    work: Callable[[], Awaitable[T]], policy: RetryPolicy, *, wait_after: Callable[[Exception], float | None]
) -> T:
    """Calls `work` until it succeeds, fails for good or the policy ends; then raises its last error.

    `wait_after` returns the least seconds to wait after an error, or None for one that is not to be retried.
    """
    until = time.monotonic() + policy.seconds
    pause, tried = policy.pause, 0
    while True:
        tried += 1
        try:
            return await work()
        except Exception as error:
            wait = wait_after(error)
            if wait is None or tried >= policy.tries or time.monotonic() >= until:
                raise
        varied = pause * random.uniform(1 - policy.jitter, 1 + policy.jitter)
        await asyncio.sleep(min(policy.longest, max(wait, varied)))
        pause *= policy.growth
