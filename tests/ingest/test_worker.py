"""Workers: real books through a real queue, cancelled, killed, given back and taken again."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from octavo import events
from octavo.errors import StoreError
from octavo.ingest.worker import ABANDONED_SECONDS, UPLOADS, OnEvent, Worker, to_progress
from octavo.library import Library
from octavo.records.jobs import Job, JobProgress, JobQueue, JobState
from octavo.records.options import BookOptions
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from octavo.types import Book
from tests.support import small_books
from tests.support.patience import PATIENCE, wait_until_async


class Held(TinyEmbedder):
    """Embeds `free` batches; the next one waits until it is let go, however long that takes."""

    def __init__(self) -> None:
        super().__init__()
        self.free = 1_000
        self.waiting, self.gate = threading.Event(), threading.Event()

    def hold(self, *, free: int = 0) -> None:
        self.free = free

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        if self.free == 0 and not self.gate.is_set():
            self.waiting.set()
            self.gate.wait(PATIENCE)
        self.free = max(0, self.free - 1)
        return super().embed(texts)


@dataclass
class Desk:
    library: Library
    queue: JobQueue
    worker: Worker
    embedder: Held
    uploads: Path

    async def sent(self, name: str = "tides.md", *, pages: int = 0, **options: Any) -> Job:
        """A book put into the queue, as an upload does it; with `pages`, one that takes a while."""
        id = f"upload-{name}"
        (self.uploads / id).mkdir(parents=True)
        more = {
            f"Day {n}": f"The log of day {n} tells of wind {n * 3} and of wave {n * 7}." for n in range(pages)
        }
        small_books.write_markdown(self.uploads / id / name, small_books.TIDES | more, title=name)
        return await self.queue.put(name, source=f"{id}/{name}", options=BookOptions(**options))

    async def until(self, job: Job, *states: JobState) -> Job:
        return await self.when(lambda now: now.state in states, job)

    async def when(self, check: Callable[[Job], bool], job: Job) -> Job:
        """The job, when it is as it should become."""

        async def found() -> bool:
            return check(await self.queue.find(job.id))

        await wait_until_async(found)
        return await self.queue.find(job.id)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    embedder = Held()
    settings = Settings(data=tmp_path / "library")
    async with Library.open(settings=settings, embedder=embedder) as library:
        queue = JobQueue(library.database, capacity=9)
        worker = Worker(queue, library.ingest, data=settings.data)
        yield Desk(library, queue, worker, embedder, settings.data / UPLOADS)
        embedder.gate.set()


async def test_a_book_in_the_queue_becomes_a_book_in_the_library(desk: Desk) -> None:
    job = await desk.sent(title="High Water", base_url="https://example.org/tides/")
    assert await desk.worker.run_once()
    done = await desk.queue.find(job.id)
    assert (done.state, done.progress) == (JobState.DONE, JobProgress("added", 1, 1))
    book = await desk.library.book(done.book_id or "")
    assert (book.title, book.base_url) == ("High Water", "https://example.org/tides/")
    assert not await desk.worker.run_once()


async def test_the_uploaded_file_is_gone_when_its_job_has_ended(desk: Desk) -> None:
    await desk.sent("tides.md")
    bad = await desk.sent("empty.md")
    (desk.uploads / bad.source).write_bytes(b"")
    assert await desk.worker.run_once()
    assert await desk.worker.run_once()
    assert list(desk.uploads.iterdir()) == []


async def test_a_book_that_cannot_be_read_fails_with_the_readers_words(desk: Desk) -> None:
    job = await desk.sent()
    (desk.uploads / job.source).write_bytes(b"")
    await desk.worker.run_once()
    failed = await desk.queue.find(job.id)
    assert failed.state is JobState.FAILED
    assert failed.error is not None
    assert (failed.error["code"], "0 bytes" in failed.error["message"]) == ("empty_file", True)


async def test_a_file_that_this_worker_does_not_see_is_left_to_one_that_does(
    desk: Desk, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    far = await desk.sent("far.md")
    (tmp_path / "elsewhere" / UPLOADS / "near").mkdir(parents=True)
    small_books.write_markdown(tmp_path / "elsewhere" / UPLOADS / "near" / "near.md", title="Near")
    near = await desk.queue.put("near.md", source="near/near.md")
    other = Worker(desk.queue, desk.library.ingest, data=tmp_path / "elsewhere")
    ran = [await other.run_once() for _ in range(3)]
    assert ran == [True, False, False], "the one behind it, and no more"
    assert (await desk.queue.find(near.id)).state is JobState.DONE
    assert await desk.queue.find(far.id) == far, "nobody has touched it"
    assert [far.id in record.message for record in caplog.records] == [True], "told once"
    assert await desk.worker.run_once()
    assert (await desk.queue.find(far.id)).state is JobState.DONE


async def test_two_running_workers_with_folders_of_their_own_read_what_each_of_them_sees(
    desk: Desk, tmp_path: Path
) -> None:
    jobs = [await desk.sent(f"book {n}.md") for n in range(3)]
    other = Worker(desk.queue, desk.library.ingest, data=tmp_path / "elsewhere")
    async with other.run_in_background(), desk.worker.run_in_background():
        ended = [await desk.until(job, JobState.DONE, JobState.FAILED) for job in jobs]
    assert [(job.state, job.tries) for job in ended] == [(JobState.DONE, 1)] * 3


async def test_a_file_that_nobody_sees_fails_when_it_was_left_long_enough(desk: Desk) -> None:
    job = await desk.queue.put("gone.md", source="gone/gone.md")
    assert not await desk.worker.run_once()
    later = JobQueue(desk.library.database, capacity=9, now=lambda: job.created_at + timedelta(hours=2))
    assert not await Worker(later, desk.library.ingest, data=desk.library.settings.data).run_once()
    failed = await desk.queue.find(job.id)
    assert failed.state is JobState.FAILED
    assert failed.error is not None
    assert "60 minutes" in failed.error["message"]
    assert "send it again" in failed.error["hint"]


async def test_a_worker_that_is_alone_waits_for_nobody_to_find_a_file(desk: Desk) -> None:
    job = await desk.queue.put("gone.md", source="gone/gone.md")
    alone = Worker(desk.queue, desk.library.ingest, data=desk.library.settings.data, alone=True)
    assert await alone.run_once()
    error = (await desk.queue.find(job.id)).error
    assert error is not None
    assert (error["code"], "'gone.md'" in error["message"]) == ("not_found", True)


async def test_a_source_outside_the_uploads_is_never_read(desk: Desk, tmp_path: Path) -> None:
    secret = small_books.write_markdown(tmp_path / "secret.md")
    job = await desk.queue.put("secret.md", source="../../secret.md")
    await desk.worker.run_once()
    assert (await desk.queue.find(job.id)).state is JobState.FAILED
    assert await desk.library.books() == []
    assert secret.exists()


async def test_a_mistake_of_ours_fails_the_job_and_not_the_worker(desk: Desk) -> None:
    async def broken(path: Path, options: BookOptions, note: OnEvent) -> Book:
        raise ZeroDivisionError("secret words")

    worker = Worker(desk.queue, broken, data=desk.library.settings.data)
    job = await desk.sent()
    assert await worker.run_once()
    error = (await desk.queue.find(job.id)).error
    assert error is not None
    assert error["code"] == "internal"
    assert "secret words" not in str(error)


async def test_progress_can_be_watched_while_a_book_is_read(desk: Desk) -> None:
    desk.embedder.hold(free=2)
    job = await desk.sent(pages=260)
    async with desk.worker.run_in_background():
        seen = await desk.when(lambda now: now.progress.done >= 128, job)
        assert (seen.state, seen.progress) == (JobState.RUNNING, JobProgress("embedding", 128, 264))
        desk.embedder.gate.set()
        assert (await desk.until(job, JobState.DONE, JobState.FAILED)).state is JobState.DONE


async def test_a_cancelled_book_stops_at_the_batch_that_is_under_way_and_leaves_nothing(desk: Desk) -> None:
    desk.embedder.hold(free=1)
    job = await desk.sent(pages=400)
    async with desk.worker.run_in_background():
        await desk.when(lambda now: now.progress.step == "embedding", job)
        await wait_until_async(desk.embedder.waiting.is_set)
        assert (await desk.queue.cancel(job.id)).state is JobState.CANCELLED
        await desk.when(lambda _: not (desk.uploads / job.source).exists(), job)
        assert desk.embedder.embedded == 64  # it was not waited for
        desk.embedder.gate.set()
        after = await desk.sent("next.md")
        await desk.until(after, JobState.DONE)
        assert desk.embedder.embedded <= 64 + 64 + 4  # that batch, and the next book
    assert [book.id for book in await desk.library.books()] == ["next-md"]
    assert (await desk.queue.find(job.id)).state is JobState.CANCELLED


async def test_a_job_that_is_cancelled_when_its_book_is_out_is_done(desk: Desk) -> None:
    job = await desk.sent()

    async def add(path: Path, options: BookOptions, note: OnEvent) -> Book:
        book = await desk.library.ingest(path, options, note)
        assert (await desk.queue.cancel(job.id)).state is JobState.CANCELLED
        return book

    assert await Worker(desk.queue, add, data=desk.library.settings.data).run_once()
    done = await desk.queue.find(job.id)
    assert (done.state, done.book_id) == (JobState.DONE, "tides-md")
    assert [book.id for book in await desk.library.books()] == ["tides-md"]


async def test_the_error_of_a_job_does_not_name_the_machines_folders(desk: Desk) -> None:
    job = await desk.sent()

    async def fail(path: Path, options: BookOptions, note: OnEvent) -> Book:
        raise StoreError("the disk of /srv/private is full", hint="Look at /srv/private.")

    assert await Worker(desk.queue, fail, data=desk.library.settings.data).run_once()
    error = (await desk.queue.find(job.id)).error
    assert error is not None
    assert error["message"] == "the disk of the data folder is full"
    assert "/srv" not in error["hint"]


async def test_a_worker_that_is_stopped_when_its_book_is_out_does_not_give_it_back(desk: Desk) -> None:
    job, out = await desk.sent(), asyncio.Event()

    async def add(path: Path, options: BookOptions, note: OnEvent) -> Book:
        await desk.library.ingest(path, options, note)
        out.set()
        return await asyncio.Future[Book]()  # until it is cancelled

    async with Worker(desk.queue, add, data=desk.library.settings.data).run_in_background():
        await out.wait()
    assert (await desk.queue.find(job.id)).state is JobState.DONE
    assert not (desk.uploads / job.source).exists()


async def test_after_a_cancelled_book_the_next_one_is_read(desk: Desk) -> None:
    desk.embedder.hold()
    first = await desk.sent("long.md", pages=200)
    second = await desk.sent("tides.md")
    async with desk.worker.run_in_background():
        await desk.until(first, JobState.RUNNING)
        await desk.queue.cancel(first.id)
        desk.embedder.gate.set()
        assert (await desk.until(second, JobState.DONE)).book_id == "tides-md"


async def test_a_worker_that_stops_gives_its_book_back_and_another_goes_on(desk: Desk) -> None:
    desk.embedder.hold(free=3)
    job = await desk.sent(pages=500)
    async with desk.worker.run_in_background():
        await desk.when(lambda now: now.progress.done >= 128, job)
        await wait_until_async(desk.embedder.waiting.is_set)
    waiting = await desk.queue.find(job.id)
    assert (waiting.state, waiting.tries) == (JobState.QUEUED, 0)
    assert (desk.uploads / job.source).exists()
    desk.embedder.gate.set()
    other = Worker(desk.queue, desk.library.ingest, data=desk.library.settings.data)
    assert await other.run_once()
    assert (await desk.queue.find(job.id)).state is JobState.DONE
    assert desk.embedder.embedded <= 504 + 64  # again only the batch that was under way


async def test_a_worker_that_is_alone_takes_up_what_a_killed_process_left(desk: Desk) -> None:
    job = await desk.sent()
    assert await desk.queue.take("a process that is no more") is not None
    alone = Worker(desk.queue, desk.library.ingest, data=desk.library.settings.data, alone=True)
    async with alone.run_in_background():
        assert (await desk.until(job, JobState.DONE)).tries == 2


async def test_a_sleeping_worker_is_woken_by_the_bell(desk: Desk) -> None:
    async with desk.worker.run_in_background():
        await asyncio.sleep(0.1)
        job = await desk.sent()
        desk.worker.wake()
        await desk.until(job, JobState.DONE)


async def test_two_workers_share_one_queue_and_read_every_book_once(desk: Desk) -> None:
    jobs = [await desk.sent(f"book {n}.md", pages=3 * n) for n in range(4)]
    other = Worker(desk.queue, desk.library.ingest, data=desk.library.settings.data)
    async with desk.worker.run_in_background(), other.run_in_background():
        ended = [await desk.until(job, JobState.DONE, JobState.FAILED) for job in jobs]
    assert [job.state for job in ended] == [JobState.DONE] * 4
    assert all(job.tries == 1 for job in ended)
    assert len(await desk.library.books()) == 4


async def test_the_same_book_sent_twice_at_once_is_one_book(desk: Desk) -> None:
    first = await desk.sent("tides.md")
    (desk.uploads / "again").mkdir()
    copied = desk.uploads / "again" / "tides.md"
    copied.write_bytes((desk.uploads / first.source).read_bytes())
    second = await desk.queue.put("tides.md", source="again/tides.md")
    other = Worker(desk.queue, desk.library.ingest, data=desk.library.settings.data)
    async with desk.worker.run_in_background(), other.run_in_background():
        ids = {(await desk.until(job, JobState.DONE, JobState.FAILED)).book_id for job in (first, second)}
    assert ids == {"tides-md"}
    assert [book.id for book in await desk.library.books()] == ["tides-md"]


async def test_different_books_of_one_title_added_at_once_stay_two_books(desk: Desk, tmp_path: Path) -> None:
    paths = []
    for folder, said in (
        ("a", "The tide rose over the old stone pier."),
        ("b", "Goats graze on a quiet hill."),
    ):
        (tmp_path / folder).mkdir()
        paths.append(small_books.write_markdown(tmp_path / folder / "notes.md", {"One": said}, title="Notes"))
    books = await asyncio.gather(*(desk.library.add(path) for path in paths))
    assert {book.id for book in books} == {"notes", "notes-2"}
    for book, word in zip(books, ("tide", "Goats"), strict=True):
        assert word in (await desk.library.contents(book.id))[-1].text


async def test_a_worker_outlives_a_database_that_is_locked_for_a_while(desk: Desk, tmp_path: Path) -> None:
    held = sqlite3.connect(tmp_path / "library" / "records.sqlite", isolation_level=None)
    held.execute("BEGIN IMMEDIATE")
    async with desk.worker.run_in_background():
        await asyncio.sleep(0.3)
        held.execute("ROLLBACK")
        held.close()
        job = await desk.sent()
        await desk.until(job, JobState.DONE)


async def test_leftovers_of_uploads_are_cleared_when_they_are_old(desk: Desk) -> None:
    waiting = await desk.sent()
    for name in ("old", "new"):
        (desk.uploads / name).mkdir()
        (desk.uploads / name / "part").write_bytes(b"x")
    past = time.time() - ABANDONED_SECONDS - 60
    os.utime(desk.uploads / "old", (past, past))
    os.utime((desk.uploads / waiting.source).parent, (past, past))
    running = asyncio.create_task(desk.worker._remove_old_uploads())
    await running
    assert {left.name for left in desk.uploads.iterdir()} == {"new", Path(waiting.source).parts[0]}


async def test_events_reach_whoever_counts_them(desk: Desk) -> None:
    seen: list[str] = []
    worker = Worker(
        desk.queue,
        desk.library.ingest,
        data=desk.library.settings.data,
        on_event=lambda event: seen.append(event.kind),
    )
    await desk.sent()
    await worker.run_once()
    # How often a step says that it goes on depends on how busy the machine is.
    told = [kind for kind in seen if kind != "preparing"]
    assert told == ["parsed", "compared", "embedding", "storing", "published"]


STEPS: tuple[tuple[Callable[[], events.IngestEvent], JobProgress], ...] = (
    (lambda: events.Parsed("t", 1, 2, 3), JobProgress("cutting", 0, 0)),
    (lambda: events.Compared("b", "t", 1, 0, 0, 0, 7, 0), JobProgress("embedding", 0, 7)),
    (lambda: events.Embedding(3, 7), JobProgress("embedding", 3, 7)),
    (lambda: events.Storing(5, 7), JobProgress("storing", 5, 7)),
)


@pytest.mark.parametrize(("make", "step"), STEPS, ids=["parsed", "compared", "embedding", "storing"])
def test_each_event_is_a_step_of_the_way(make: Callable[[], events.IngestEvent], step: JobProgress) -> None:
    assert to_progress(make()) == step


async def test_a_worker_that_is_not_working_does_nothing(desk: Desk) -> None:
    job = await desk.sent()
    async with desk.worker.run_in_background():
        pass
    with suppress(TimeoutError):
        await asyncio.wait_for(desk.until(job, JobState.DONE), 0.2)
    assert (await desk.queue.find(job.id)).state is JobState.QUEUED
