"""The one place where blocking work leaves the event loop, and where work outlives who waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_POOL = ThreadPoolExecutor(max_workers=2, thread_name_prefix="octavo")  # more threads only fight for cores


async def run_blocking(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs `work` in a worker thread and returns what it returns."""
    return await asyncio.get_running_loop().run_in_executor(_POOL, partial(work, *args, **kwargs))


async def run_to_completion(work: Coroutine[Any, Any, T]) -> tuple[T, asyncio.CancelledError | None]:
    """Does what must not be left half done. Who cancels meanwhile waits, and is to be obeyed afterwards."""
    task, late = asyncio.ensure_future(work), None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as cancelled:
            late = cancelled
    return task.result(), late
