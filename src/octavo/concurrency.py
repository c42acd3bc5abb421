"""Blocking work outside the event loop, work that a cancellation must not cut short, and retries.

This is the only module that owns worker threads.
"""

from __future__ import annotations

import asyncio
import inspect
import math
import random
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")

# More threads would only compete for the cores.
_POOL = ThreadPoolExecutor(max_workers=2, thread_name_prefix="octavo")
# Transactions wait for the disk, not for a core, and must not wait for a model that holds the pool.
_WRITERS = ThreadPoolExecutor(max_workers=4, thread_name_prefix="octavo-writer")


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


async def run_writing(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs a short write to its end in a thread that longer work does not hold up; returns its result."""
    loop = asyncio.get_running_loop()
    return await complete(loop.run_in_executor(_WRITERS, partial(work, *args, **kwargs)))


class LoopThread:
    """Runs coroutines for callers that are not asynchronous, on an event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._closing: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="octavo-loop", daemon=True)
        self._thread.start()

    def run(self, work: Awaitable[T]) -> T:
        """Runs a coroutine to its end. If the caller is interrupted, cancels it and waits until it has ended.

        Raises `RuntimeError` on the thread of the loop itself, which would wait for itself for ever.
        """
        if self._is_here():
            _discard(work)
            raise RuntimeError(
                "the library cannot be called from its own thread, as from a callback that it calls; "
                "call it after the callback has returned"
            )
        ended, tasks = threading.Event(), list[asyncio.Task[T]]()

        def start() -> None:
            tasks.append(self._loop.create_task(_run_as_task(work)))
            tasks[0].add_done_callback(lambda _: ended.set())

        def stop() -> None:
            if tasks:
                tasks[0].cancel()
            else:
                # The interrupt came before the loop was told to start.
                _discard(work)
                ended.set()

        try:
            self._loop.call_soon_threadsafe(start)
            ended.wait()
        except BaseException:
            self._loop.call_soon_threadsafe(stop)
            ended.wait()
            raise
        return tasks[0].result()

    def iterate(self, items: AsyncGenerator[T, None]) -> Generator[T, None, None]:
        """Yields what an asynchronous generator yields, and closes it when the caller stops."""
        try:
            while True:
                try:
                    yield self.run(anext(items))
                except StopAsyncIteration:
                    return
        finally:
            if self._is_here():
                # The garbage collector may close the iterator on any thread, and this one must not wait.
                closing = self._loop.create_task(_run_as_task(items.aclose()))
                self._closing.add(closing)
                closing.add_done_callback(self._closing.discard)
            else:
                self.run(items.aclose())

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _is_here(self) -> bool:
        return threading.current_thread() is self._thread


async def _run_as_task(work: Awaitable[T]) -> T:
    return await work


def _discard(work: Awaitable[object]) -> None:
    """Closes a coroutine that will not be awaited, so that Python does not warn of it."""
    if asyncio.iscoroutine(work):
        work.close()


async def run_to_completion(work: Coroutine[Any, Any, T]) -> tuple[T, asyncio.CancelledError | None]:
    """Runs work that must not be left half done. Returns its result, and a cancellation that came meanwhile.

    The caller re-raises the cancellation when it has dealt with the result.
    """
    task, late = asyncio.ensure_future(_run_as_task(work)), None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as cancelled:
            late = cancelled
        if task.cancelled() and inspect.getcoroutinestate(work) == inspect.CORO_CREATED:
            # The loop is ending: it cancels every task, this one before it had begun.
            task = asyncio.ensure_future(_run_as_task(work))
    return task.result(), late


async def complete(work: Awaitable[T]) -> T:
    """Runs `work` to its end, even if the caller is cancelled meanwhile, and returns its result.

    Raises the cancellation, if one came, when the work has ended; else the error of the work, if it failed.
    """

    async def catch() -> tuple[T | None, Exception | None]:
        try:
            return await work, None
        except Exception as error:
            return None, error

    (result, failed), late = await run_to_completion(catch())
    if error := late or failed:
        raise error
    return cast(T, result)


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
