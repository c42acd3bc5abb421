"""Many books: several at once from the command line, and a worker that reads what waits in the queue."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from octavo.cli.frame import Context, common, complain, counted, show_json, with_library
from octavo.errors import BadBook, OctavoError
from octavo.wire import Json

if TYPE_CHECKING:
    from octavo.library import Library


async def each(
    paths: Sequence[Path], one: Callable[[Path], Awaitable[Json]], *, workers: int
) -> tuple[list[Json], list[OctavoError]]:
    """Does `one` for every path, `workers` at a time: what was done, in order, and what failed.

    A bad book fails alone; anything else would fail for the next one too, so nothing new is begun.
    """
    done: dict[int, Json] = {}
    failed: dict[int, OctavoError] = {}
    waiting = iter(enumerate(paths))

    async def go() -> None:
        for number, path in waiting:
            if any(not isinstance(error, BadBook) for error in failed.values()):
                return
            try:
                done[number] = await one(path)
            except OctavoError as error:
                failed[number] = error
                complain(error, as_json=False)

    async with asyncio.TaskGroup() as group:
        for _ in range(min(workers, len(paths))):
            group.create_task(go())
    return [done[n] for n in sorted(done)], [failed[n] for n in sorted(failed)]


@click.command(short_help="Read the books that wait in the queue of uploads.")
@click.option("--until-empty", is_flag=True, help="Stop when no book waits that it can read.")
@common
def work(context: Context, until_empty: bool, data: str | None, as_json: bool) -> None:
    """Read the books that wait in the queue, beside a server that takes uploads.

    `octavo serve` has a worker of its own. More of them, here or on other machines, need the store and the
    records on servers (OCTAVO_STORE_URL, OCTAVO_RECORDS_URL) and the data folder of the server whose uploads
    they read.

    \b
      octavo work
      octavo work --until-empty
    """
    count = with_library(context, data, lambda library: _work(library, until_empty=until_empty))
    if as_json:
        show_json({"jobs": count})
    else:
        click.echo(f"{counted(count, 'job')} done.")


async def _work(library: Library, *, until_empty: bool) -> int:
    from octavo.jobs import Queue
    from octavo.workers import IDLE_SECONDS, Worker

    await library.ready()
    settings = library.settings
    queue = Queue(library.database, capacity=settings.service.queue)
    alone = not settings.store_url  # an embedded store has one process: the one before this is gone
    worker = Worker(queue, library.add, data=settings.data, alone=alone)
    if alone:
        await queue.reclaim()
    count = 0

    async def run() -> None:
        nonlocal count
        while True:
            if await worker.once():
                count += 1
            elif until_empty:
                return
            else:
                await asyncio.sleep(IDLE_SECONDS)

    running = asyncio.ensure_future(run())
    for stop in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(stop, running.cancel)
    with suppress(asyncio.CancelledError):  # the book that was being read waits again
        await running
    return count
