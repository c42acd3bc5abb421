"""The one place where blocking work leaves the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_POOL = ThreadPoolExecutor(max_workers=2, thread_name_prefix="octavo")  # more threads only fight for cores


async def blocking(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs `work` in a worker thread and returns what it returns."""
    return await asyncio.get_running_loop().run_in_executor(_POOL, partial(work, *args, **kwargs))
