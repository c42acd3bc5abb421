"""Workers: real books through a real queue, cancelled, killed, given back and taken again."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

import small_books
from octavo import events
from octavo.jobs import Job, JobState, Progress, Queue
from octavo.library import Library
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from octavo.workers import ABANDONED_SECONDS, UPLOADS, Worker, progress_of


class Slow(TinyEmbedder):
    """Takes its time for each batch, and lets the test know that it has begun."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        time.sleep(self.seconds)
        return super().embed(texts)


@dataclass
class Desk:
    library: Library
    queue: Queue
    worker: Worker
    embedder: Slow
    uploads: Path

    async def sent(self, name: str = "tides.md", *, pages: int = 0, **wishes: str | None) -> Job:
        """A book put into the queue, as an upload does it; with `pages`, one that takes a while."""
        id = f"upload-{name}"
        (self.uploads / id).mkdir(parents=True)
        more = {
            f"Day {n}": f"The log of day {n} tells of wind {n * 3} and of wave {n * 7}." for n in range(pages)
        }
        small_books.markdown(self.uploads / id / name, small_books.TIDES | more, title=name)
        return await self.queue.put(name, source=f"{id}/{name}", wishes=wishes)

    async def until(self, job: Job, *states: JobState) -> Job:
        await eventually(lambda now: now.state in states, self, job)
        return await self.queue.job(job.id)


async def eventually(check: Callable[[Job], bool], desk: Desk, job: Job) -> None:
    for _ in range(1_500):
        if check(await desk.queue.job(job.id)):
            return
        await asyncio.sleep(0.02)
    raise AssertionError(await desk.queue.job(job.id))


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    embedder = Slow()
    settings = Settings(data=tmp_path / "library")
    async with Library.open(settings=settings, embedder=embedder) as library:
        queue = Queue(library.database, capacity=9)
        worker = Worker(queue, library.add, data=settings.data)
        yield Desk(library, queue, worker, embedder, settings.data / UPLOADS)


async def test_a_book_in_the_queue_becomes_a_book_in_the_library(desk: Desk) -> None:
    job = await desk.sent(title="High Water", base_url="https://example.org/tides/")
    assert await desk.worker.once()
    done = await desk.queue.job(job.id)
    assert (done.state, done.progress) == (JobState.DONE, Progress("done", 1, 1))
    book = await desk.library.book(done.book_id or "")
    assert (book.title, book.base_url) == ("High Water", "https://example.org/tides/")
    assert not await desk.worker.once()


async def test_the_uploaded_file_is_gone_when_its_job_has_ended(desk: Desk) -> None:
    await desk.sent("tides.md")
    bad = await desk.sent("empty.md")
    (desk.uploads / bad.source).write_bytes(b"")
    assert await desk.worker.once()
    assert await desk.worker.once()
    assert list(desk.uploads.iterdir()) == []


async def test_a_book_that_cannot_be_read_fails_with_the_readers_words(desk: Desk) -> None:
    job = await desk.sent()
    (desk.uploads / job.source).write_bytes(b"")
    await desk.worker.once()
    failed = await desk.queue.job(job.id)
    assert failed.state is JobState.FAILED
    assert failed.error is not None
    assert (failed.error["code"], "0 bytes" in failed.error["message"]) == ("empty_file", True)


async def test_a_file_that_this_machine_cannot_see_is_told_with_advice(desk: Desk) -> None:
    job = await desk.queue.put("far.md", source="elsewhere/far.md")
    await desk.worker.once()
    error = (await desk.queue.job(job.id)).error
    assert error is not None
    assert "share" in error["hint"]


async def test_a_source_outside_the_uploads_is_never_read(desk: Desk, tmp_path: Path) -> None:
    secret = small_books.markdown(tmp_path / "secret.md")
    job = await desk.queue.put("secret.md", source="../../secret.md")
    await desk.worker.once()
    assert (await desk.queue.job(job.id)).state is JobState.FAILED
    assert await desk.library.books() == []
    assert secret.exists()


async def test_a_mistake_of_ours_fails_the_job_and_not_the_worker(desk: Desk) -> None:
    async def broken(path: Path, **_: object) -> None:
        raise ZeroDivisionError("secret words")

    worker = Worker(desk.queue, broken, data=desk.library.settings.data)  # type: ignore[arg-type]
    job = await desk.sent()
    assert await worker.once()
    error = (await desk.queue.job(job.id)).error
    assert error is not None
    assert error["code"] == "internal"
    assert "secret words" not in str(error)


async def test_progress_can_be_watched_while_a_book_is_read(desk: Desk) -> None:
    desk.embedder.seconds = 0.3
    job = await desk.sent(pages=260)
    seen: set[tuple[str, int]] = set()
    async with desk.worker.working():
        while (now := await desk.queue.job(job.id)).state not in (JobState.DONE, JobState.FAILED):
            seen.add((now.progress.step, now.progress.total))
            await asyncio.sleep(0.05)
    assert now.state is JobState.DONE
    assert ("embedding", 264) in seen


async def test_a_cancelled_book_stops_within_two_seconds_and_leaves_nothing(desk: Desk) -> None:
    desk.embedder.seconds = 0.2
    job = await desk.sent(pages=2_000)  # some seven seconds of embedding
    async with desk.worker.working():
        await eventually(lambda now: now.progress.step == "embedding", desk, job)
        assert (await desk.queue.cancel(job.id)).state is JobState.CANCELLED
        await eventually(lambda _: not (desk.uploads / job.source).exists(), desk, job)
        embedded = desk.embedder.embedded
        await asyncio.sleep(0.6)
        assert desk.embedder.embedded <= embedded + 64  # at most the batch that was under way
    assert await desk.library.books() == []
    assert (await desk.queue.job(job.id)).state is JobState.CANCELLED


async def test_after_a_cancelled_book_the_next_one_is_read(desk: Desk) -> None:
    desk.embedder.seconds = 0.2
    first = await desk.sent("long.md", pages=2_000)
    second = await desk.sent("tides.md")
    async with desk.worker.working():
        await desk.until(first, JobState.RUNNING)
        await desk.queue.cancel(first.id)
        assert (await desk.until(second, JobState.DONE)).book_id == "tides-md"


async def test_a_worker_that_stops_gives_its_book_back_and_another_goes_on(desk: Desk) -> None:
    desk.embedder.seconds = 0.1
    job = await desk.sent(pages=500)
    async with desk.worker.working():
        await eventually(lambda now: now.progress.done >= 128, desk, job)
    waiting = await desk.queue.job(job.id)
    assert (waiting.state, waiting.tries) == (JobState.QUEUED, 0)
    assert (desk.uploads / job.source).exists()
    desk.embedder.seconds = 0
    other = Worker(desk.queue, desk.library.add, data=desk.library.settings.data)
    assert await other.once()
    assert (await desk.queue.job(job.id)).state is JobState.DONE
    assert desk.embedder.embedded <= 504 + 64  # again only the batch that was under way


async def test_a_worker_that_is_alone_takes_up_what_a_killed_process_left(desk: Desk) -> None:
    job = await desk.sent()
    assert await desk.queue.take("a process that is no more") is not None
    async with desk.worker.working(alone=True):
        assert (await desk.until(job, JobState.DONE)).tries == 2


async def test_a_sleeping_worker_is_woken_by_the_bell(desk: Desk) -> None:
    async with desk.worker.working():
        await asyncio.sleep(0.1)
        job = await desk.sent()
        desk.worker.wake()
        await desk.until(job, JobState.DONE)


async def test_two_workers_share_one_queue_and_read_every_book_once(desk: Desk) -> None:
    jobs = [await desk.sent(f"book {n}.md", pages=3 * n) for n in range(4)]
    other = Worker(desk.queue, desk.library.add, data=desk.library.settings.data)
    async with desk.worker.working(), other.working():
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
    other = Worker(desk.queue, desk.library.add, data=desk.library.settings.data)
    async with desk.worker.working(), other.working():
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
        paths.append(small_books.markdown(tmp_path / folder / "notes.md", {"One": said}, title="Notes"))
    books = await asyncio.gather(*(desk.library.add(path) for path in paths))
    assert {book.id for book in books} == {"notes", "notes-2"}
    for book, word in zip(books, ("tide", "Goats"), strict=True):
        assert word in (await desk.library.contents(book.id))[-1].text


async def test_a_worker_outlives_a_database_that_is_locked_for_a_while(desk: Desk, tmp_path: Path) -> None:
    import sqlite3

    held = sqlite3.connect(tmp_path / "library" / "records.sqlite", isolation_level=None)
    held.execute("BEGIN IMMEDIATE")
    async with desk.worker.working():
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
    running = asyncio.create_task(desk.worker._tidy())
    await running
    assert {left.name for left in desk.uploads.iterdir()} == {"new", Path(waiting.source).parts[0]}


async def test_events_reach_whoever_counts_them(desk: Desk) -> None:
    seen: list[str] = []
    worker = Worker(
        desk.queue,
        desk.library.add,
        data=desk.library.settings.data,
        on_event=lambda event: seen.append(event.kind),
    )
    await desk.sent()
    await worker.once()
    assert seen == ["parsed", "compared", "embedding", "storing", "published"]


STEPS: tuple[tuple[Callable[[], events.IngestEvent], Progress], ...] = (
    (lambda: events.Parsed("t", 1, 2, 3), Progress("cutting", 0, 0)),
    (lambda: events.Compared("b", "t", 1, 0, 0, 0, 7, 0), Progress("embedding", 0, 7)),
    (lambda: events.Embedding(3, 7), Progress("embedding", 3, 7)),
    (lambda: events.Storing(5, 7), Progress("storing", 5, 7)),
)


@pytest.mark.parametrize(("make", "step"), STEPS, ids=["parsed", "compared", "embedding", "storing"])
def test_each_event_is_a_step_of_the_way(make: Callable[[], events.IngestEvent], step: Progress) -> None:
    assert progress_of(make()) == step


async def test_a_worker_that_is_not_working_does_nothing(desk: Desk) -> None:
    job = await desk.sent()
    async with desk.worker.working():
        pass
    with suppress(TimeoutError):
        await asyncio.wait_for(desk.until(job, JobState.DONE), 0.2)
    assert (await desk.queue.job(job.id)).state is JobState.QUEUED
