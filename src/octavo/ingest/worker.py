"""A worker takes books from the queue and adds them to the library, one after the other.

While it works it saves its progress in the job twice a second, and learns from the same call whether the job
was cancelled; it then stops within two seconds and leaves nothing behind. A worker that is stopped puts its
job back into the queue, and the next one reuses the vectors that are already made. The uploaded file is
deleted when its job has ended. Any number of workers may share a queue, in several processes or on several
machines. Workers with the same data folder take each other's uploads; a worker that cannot see a file leaves
the job to one that can.
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

from octavo.concurrency import RetryPolicy, complete, retry, run_blocking
from octavo.errors import BadBook, OctavoError, hide_paths
from octavo.events import Compared, Embedding, Fetched, IngestEvent, Parsed, Preparing, Published, Storing
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
    """Takes jobs from `queue`; `data` is the library's folder, which holds the uploads.

    `alone` says that no other process can work on this library: a job that is marked as running was left by
    a dead process, and a file that is not here is lost.
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
        self._wake_event = asyncio.Event()
        self._skipped: set[str] = set()

    def wake(self) -> None:
        """Look into the queue now instead of at the end of the pause."""
        self._wake_event.set()

    @asynccontextmanager
    async def run_in_background(self) -> AsyncIterator[Worker]:
        """Work while the block runs."""
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
        """Work until cancelled. If the database fails, try again."""
        await self._remove_old_uploads()
        while True:
            try:
                worked = await self.run_once()
            except OctavoError as error:
                _LOG.warning("the queue cannot be read: %s", error.code)
                worked = False
            if not worked:
                self._wake_event.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._wake_event.wait(), IDLE_SECONDS)

    async def run_once(self) -> bool:
        """Take one job and run it. Return False if no job is waiting whose file this worker can see."""
        visible = await self._find_visible_jobs()
        job = await self._queue.take(self._name, among=visible) if visible else None
        if job is None:
            return False
        try:
            await self._run_job(job)
        except asyncio.CancelledError:
            if await complete(self._queue.give_back(job)):
                _LOG.info("job %s is back in the queue: the worker stops", job.id)
            else:
                self.remove_upload(job)
            raise
        self.remove_upload(job)
        return True

    async def _find_visible_jobs(self) -> list[str]:
        """Return the jobs whose files this worker can see. The others wait for other workers, for a while."""
        waiting = await self._queue.list_waiting()
        if self._alone or not waiting:
            return [job.id for job in waiting]
        visible = await run_blocking(lambda: [job.id for job in waiting if self._can_see(job)])
        skipped = [job for job in waiting if job.id not in visible]
        for job in skipped:
            if job.id not in self._skipped:
                _LOG.warning("job %s is left to other workers: its file is not in the uploads here", job.id)
        self._skipped = {job.id for job in skipped}
        await self._queue.give_up(skipped)
        return visible

    def _can_see(self, job: Job) -> bool:
        # A job that points out of the uploads belongs to no worker: this one takes it and refuses it.
        path = self._uploads / job.source
        return path.exists() or not self._is_inside(path)

    def _is_inside(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self._uploads.resolve())

    async def _run_job(self, job: Job) -> None:
        """Add the book and record the result. Stop if the job is not this worker's any more."""
        latest, published, outcome = JobProgress("reading"), None, "added"

        def note(event: IngestEvent) -> None:
            nonlocal latest, published, outcome
            latest = to_progress(event) or latest
            published = event.book if isinstance(event, Published) else published
            outcome = _name_outcome(event) or outcome
            if self._on_event:
                self._on_event(event)

        adding = asyncio.create_task(self._add_book(job, note))
        try:
            while not adding.done():
                await asyncio.wait([adding], timeout=RENEW_SECONDS)
                if not adding.done() and not await self._renew(job, latest):
                    _LOG.info("job %s was cancelled", job.id)
                    break
        finally:
            ended = adding.done()
            adding.cancel()
            await asyncio.wait([adding])
            if ended or published is not None:
                await complete(self._record_end(job, published, outcome, adding))

    async def _renew(self, job: Job, latest: JobProgress) -> bool:
        """Save the progress; return False if the job is not this worker's any more."""
        try:
            return await self._queue.renew(job, latest)
        except OctavoError as error:
            # A database that fails for a moment is no reason to stop.
            _LOG.warning("job %s cannot be renewed: %s", job.id, error.code)
            return True

    async def _record_end(
        self, job: Job, published: Book | None, outcome: str, adding: asyncio.Task[Book]
    ) -> None:
        """Save how the job ended. A `published` book is in the library, whatever happened after that."""
        error = adding.exception() if published is None else None

        async def finish() -> None:
            if error is not None:
                await self._queue.finish(job, error=_describe_error(error, self._uploads.parent))
            else:
                book = published or adding.result()
                await self._queue.finish(job, book_id=book.id, outcome=outcome)

        await retry(finish, _FINISH_RETRIES, wait_after=lambda e: 0.0 if isinstance(e, OctavoError) else None)
        if error is not None and not isinstance(error, OctavoError):
            _LOG.error("job %s failed with an unexpected error: %s", job.id, type(error).__name__)

    async def _add_book(self, job: Job, note: OnEvent) -> Book:
        path = self._uploads / job.source
        if not self._is_inside(path) or not path.exists():
            message = f"the uploaded file of {job.name!r} is no longer in the upload folder"
            raise BadBook("not_found", message, hint="Send it again.")
        return await self._add(path, job.options, note)

    def remove_upload(self, job: Job) -> None:
        """Delete the file of a job that has ended."""
        self.discard(Path(job.source).parts[0])

    def discard(self, upload: str) -> None:
        """Delete an upload that no job needs."""
        folder = (self._uploads / upload).resolve()
        if folder.parent == self._uploads.resolve():
            shutil.rmtree(folder, ignore_errors=True)

    async def _remove_old_uploads(self) -> None:
        """Delete uploads that belong to no job and are too old to be still arriving."""
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


def to_progress(event: IngestEvent) -> JobProgress | None:
    """Return the progress that an event reports, or None if it reports none."""
    match event:
        case Preparing():
            return JobProgress(event.step, event.done, event.total)
        case Parsed():
            return JobProgress("cutting")
        case Compared():
            return JobProgress("embedding", 0, event.chunks_new)
        case Embedding():
            return JobProgress("embedding", event.done, event.total)
        case Storing():
            return JobProgress("storing", event.done, event.total)
        case Fetched() | Published():
            return None


def _name_outcome(event: IngestEvent) -> str:
    """Return what an event says becomes of the book; empty if it says nothing of it."""
    match event:
        case Compared():
            return "replaced" if event.replaces else "added"
        case Published(unchanged=True):
            return "unchanged"
        case _:
            return ""


def _describe_error(error: BaseException, folder: Path) -> dict[str, str]:
    if isinstance(error, OctavoError):
        # Whoever may send books over HTTP reads it.
        message, hint = hide_paths(error, folder=folder)
        return {"code": error.code, "message": message, "hint": hint}
    return {
        "code": "internal",
        "message": f"an unexpected error occurred: {type(error).__name__}",
        "hint": "The server's log says more.",
    }
