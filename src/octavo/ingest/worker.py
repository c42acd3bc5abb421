"""A worker takes books from the queue and reads them into the library, one after the other.

While it reads it writes its progress into the job every moment, and finds out there whether somebody has
cancelled it: the reading then stops within two seconds and leaves nothing behind. A worker that is stopped
itself gives its book back, and whoever takes it next goes on where the vectors end. The uploaded file is
removed when its job has ended. Any number of workers may share a queue, in several processes or on several
machines. Those with one data folder take each other's uploads; a worker that does not see a file leaves its
job to one that does.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from uuid import uuid4

from octavo.concurrency import RetryPolicy, retry, run_blocking
from octavo.errors import BadBook, OctavoError
from octavo.events import Compared, Embedding, IngestEvent, Parsed, Published, Storing
from octavo.records.jobs import Job, JobProgress, JobQueue
from octavo.records.options import BookOptions
from octavo.types import Book

UPLOADS = "uploads"
RENEW_SECONDS, IDLE_SECONDS = 0.5, 1.0
ABANDONED_SECONDS = 3_600.0
_FINISH_RETRIES = RetryPolicy(tries=5, pause=1.0)
_LOG = logging.getLogger("octavo.workers")
OnEvent = Callable[[IngestEvent], None]
AddBook = Callable[[Path, BookOptions, OnEvent], Awaitable[Book]]


class Worker:
    """Takes from `queue`; `data` is the library's folder, where the uploads lie.

    `alone`: nobody else can be reading this library. What runs was left by a dead process, and a file that
    is not here is nowhere.
    """

    def __init__(
        self,
        queue: JobQueue,
        add: AddBook,
        *,
        data: Path,
        alone: bool = False,
        on_event: OnEvent | None = None,
        name: str = "",
    ) -> None:
        self._queue, self._add, self._alone, self._on_event = queue, add, alone, on_event
        self._uploads = data / UPLOADS
        self._name = name or f"{socket.gethostname()[:30]}-{os.getpid()}-{uuid4().hex[:6]}"
        self._bell = asyncio.Event()
        self._left: set[str] = set()

    def wake(self) -> None:
        """There is something new in the queue: it need not wait until the next look."""
        self._bell.set()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[Worker]:
        """Works in the background until the block ends."""
        if self._alone:
            await self._queue.reclaim()
        task = asyncio.create_task(self.run(), name="worker")
        try:
            yield self
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def run(self) -> None:
        """Until it is cancelled. A database that is away for a while is waited for."""
        await self._tidy()
        while True:
            try:
                worked = await self.once()
            except OctavoError as error:
                _LOG.warning("the queue cannot be read: %s", error.code)
                worked = False
            if not worked:
                self._bell.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._bell.wait(), IDLE_SECONDS)

    async def once(self) -> bool:
        """Takes one book and reads it. False when none was waiting that it can see."""
        seen = await self._seen()
        job = await self._queue.take(self._name, among=seen) if seen else None
        if job is None:
            return False
        try:
            await self._read(job)
        except asyncio.CancelledError:
            if await asyncio.shield(self._queue.give_back(job)):
                _LOG.info("job %s waits again: the worker stops", job.id)
            else:
                self.clear(job)
            raise
        self.clear(job)
        return True

    async def _seen(self) -> list[str]:
        """The jobs whose files this worker sees. The others are left to others, for a while."""
        waiting = await self._queue.list_waiting()
        if self._alone or not waiting:
            return [job.id for job in waiting]
        seen = await run_blocking(lambda: [job.id for job in waiting if self._sees(job)])
        left = [job for job in waiting if job.id not in seen]
        for job in left:
            if job.id not in self._left:
                _LOG.warning("job %s is left to others: its file is not in the uploads here", job.id)
        self._left = {job.id for job in left}
        await self._queue.give_up(left)
        return seen

    def _sees(self, job: Job) -> bool:
        """One that points out of the uploads is nobody's: it is taken, and refused."""
        path = self._uploads / job.source
        return path.exists() or not self._is_inside(path)

    def _is_inside(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self._uploads.resolve())

    async def _read(self, job: Job) -> None:
        """Reads the book and notes how it ended; stops when the job is not this worker's any more."""
        latest, out = JobProgress("reading"), None

        def note(event: IngestEvent) -> None:
            nonlocal latest, out
            latest = progress_of(event) or latest
            out = event.book if isinstance(event, Published) else out
            if self._on_event:
                self._on_event(event)

        reading = asyncio.create_task(self._book(job, note))
        try:
            while not reading.done():
                await asyncio.wait([reading], timeout=RENEW_SECONDS)
                if not reading.done() and not await self._renewed(job, latest):
                    _LOG.info("job %s was cancelled", job.id)
                    break
        finally:
            ended = reading.done()
            reading.cancel()
            await asyncio.wait([reading])
            if ended or out is not None:
                await asyncio.shield(self._ended(job, out, reading))

    async def _renewed(self, job: Job, latest: JobProgress) -> bool:
        """A database that fails for a moment is not a reason to stop."""
        try:
            return await self._queue.renew(job, latest)
        except OctavoError as error:
            _LOG.warning("job %s cannot be renewed: %s", job.id, error.code)
            return True

    async def _ended(self, job: Job, out: Book | None, reading: asyncio.Task[Book]) -> None:
        """Notes how it ended. A book that is `out` is in the library, whatever came after that."""
        error = reading.exception() if out is None else None

        async def finish() -> None:
            if error is not None:
                await self._queue.finish(job, error=_said(error))
            else:
                await self._queue.finish(job, book_id=(out or reading.result()).id)

        await retry(finish, _FINISH_RETRIES, wait_after=lambda e: 0.0 if isinstance(e, OctavoError) else None)
        if error is not None and not isinstance(error, OctavoError):
            _LOG.error("job %s failed unforeseen: %s", job.id, type(error).__name__)

    async def _book(self, job: Job, note: OnEvent) -> Book:
        path = self._uploads / job.source
        if not self._is_inside(path) or not path.exists():
            said = f"the uploaded file of {job.name!r} is not in the folder of uploads any more"
            raise BadBook("not_found", said, hint="Send it again.")
        return await self._add(path, job.options, note)

    def clear(self, job: Job) -> None:
        """Removes the file of a job that has ended."""
        self.discard(Path(job.source).parts[0])

    def discard(self, upload: str) -> None:
        """Removes an upload that no job needs."""
        folder = (self._uploads / upload).resolve()
        if folder.parent == self._uploads.resolve():
            shutil.rmtree(folder, ignore_errors=True)

    async def _tidy(self) -> None:
        """Removes what was left of uploads that no job knows, once nobody can be sending them any more."""
        try:
            await self._queue.forget()
            known = {Path(source).parts[0] for source in await self._queue.list_sources()}
        except OctavoError:
            return
        old = time.time() - ABANDONED_SECONDS
        for left in self._uploads.iterdir() if self._uploads.is_dir() else ():
            with suppress(OSError):
                if left.name not in known and left.stat().st_mtime < old:
                    shutil.rmtree(left)


def progress_of(event: IngestEvent) -> JobProgress | None:
    """Where a book is on its way; None where the event says nothing about that."""
    match event:
        case Parsed():
            return JobProgress("cutting")
        case Compared():
            return JobProgress("embedding", 0, event.chunks_new)
        case Embedding():
            return JobProgress("embedding", event.done, event.total)
        case Storing():
            return JobProgress("storing", event.done, event.total)
        case Published():
            return None


def _said(error: BaseException) -> dict[str, str]:
    if isinstance(error, OctavoError):
        return {"code": error.code, "message": error.message, "hint": error.hint}
    return {
        "code": "internal",
        "message": f"something went wrong here: {type(error).__name__}",
        "hint": "The server's log says more.",
    }
