"""The queue: every job is worked on by one worker at a time, ends once, and survives its workers.

The same tests run on SQLite and on PostgreSQL.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.errors import NotFound, TooMany
from octavo.records.database import Database
from octavo.records.jobs import (
    ENDED,
    KEPT_DAYS,
    LEFT_SECONDS,
    STALE_SECONDS,
    TRIES_MOST,
    Job,
    JobProgress,
    JobQueue,
    JobState,
)
from octavo.records.options import BookOptions
from tests.support.places import RecordsPlace

ERROR = {"code": "no_text", "message": "nothing in it", "hint": "try another"}


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def go(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def queue(place: RecordsPlace, clock: Clock) -> AsyncIterator[JobQueue]:
    database = await Database.open(place.url)
    yield JobQueue(database, capacity=5, now=clock)
    await database.close()


async def put(queue: JobQueue, name: str = "tides.md", *, owner: str = "") -> Job:
    return await queue.put(name, source=f"x/{name}", owner=owner, options=BookOptions(title="The Tides"))


async def take_job(queue: JobQueue, worker: str = "w1") -> Job:
    job = await queue.take(worker)
    assert job is not None
    return job


async def test_what_is_put_comes_out_equal(queue: JobQueue, clock: Clock) -> None:
    job = await put(queue, owner="k1")
    assert (job.state, job.number, job.created_at, job.progress) == (
        JobState.QUEUED,
        1,
        clock.time,
        JobProgress("waiting", 0, 0),
    )
    assert job.options == BookOptions(title="The Tides")
    assert await queue.find(job.id) == job


async def test_jobs_are_taken_in_the_order_in_which_they_came(queue: JobQueue) -> None:
    put_in = [await put(queue, f"{n}.md") for n in range(3)]
    out = [await take_job(queue) for _ in range(3)]
    assert [job.id for job in out] == [job.id for job in put_in]
    assert all(job.state is JobState.RUNNING and job.tries == 1 and job.worker == "w1" for job in out)
    assert await queue.take("w1") is None
    assert [await queue.find(job.id) for job in out] == out


async def test_no_two_workers_get_one_job(queue: JobQueue) -> None:
    for n in range(5):
        await put(queue, f"{n}.md")
    got = await asyncio.gather(*(queue.take(f"w{n}") for n in range(8)))
    ids = [job.id for job in got if job is not None]
    assert len(ids) == len(set(ids)) == 5


async def test_jobs_put_at_once_are_numbered_apart_and_never_over_capacity(queue: JobQueue) -> None:
    made = await asyncio.gather(*(put(queue, f"{n}.md") for n in range(9)), return_exceptions=True)
    jobs = [job for job in made if isinstance(job, Job)]
    assert sorted(job.number for job in jobs) == [1, 2, 3, 4, 5]
    assert all(isinstance(other, TooMany) for other in made if not isinstance(other, Job))


async def test_a_full_queue_says_when_to_come_back(queue: JobQueue) -> None:
    for n in range(5):
        await queue.require_room()
        await put(queue, f"{n}.md")
    with pytest.raises(TooMany, match="5 books wait") as refused:
        await put(queue)
    assert refused.value.retry_after > 0
    with pytest.raises(TooMany):
        await queue.require_room()
    await queue.take("w1")  # one that is being read waits no more
    await put(queue)


async def test_progress_is_seen_by_whoever_looks(queue: JobQueue) -> None:
    job = await take_job(queue) if await put(queue) else None
    assert job is not None
    assert await queue.renew(job, JobProgress("embedding", 64, 200))
    assert (await queue.find(job.id)).progress == JobProgress("embedding", 64, 200)


async def test_a_finished_job_names_its_book(queue: JobQueue, clock: Clock) -> None:
    await put(queue)
    job = await take_job(queue)
    clock.go(3)
    assert await queue.finish(job, book_id="the-tides")
    done = await queue.find(job.id)
    assert (done.state, done.book_id, done.error) == (JobState.DONE, "the-tides", None)
    assert done.finished_at == clock.time
    assert done.has_ended


async def test_a_failed_job_says_why(queue: JobQueue) -> None:
    await put(queue)
    job = await take_job(queue)
    assert await queue.finish(job, error=ERROR)
    failed = await queue.find(job.id)
    assert (failed.state, failed.error, failed.book_id) == (JobState.FAILED, ERROR, None)


async def test_what_has_ended_stays_as_it_is(queue: JobQueue) -> None:
    await put(queue)
    job = await take_job(queue)
    await queue.finish(job, book_id="the-tides")
    assert not await queue.finish(job, error=ERROR)
    assert not await queue.renew(job, JobProgress("embedding", 1, 2))
    assert not await queue.give_back(job)
    assert (await queue.cancel(job.id)).state is JobState.DONE


async def test_a_job_whose_worker_fell_silent_is_taken_by_another(queue: JobQueue, clock: Clock) -> None:
    await put(queue)
    first = await take_job(queue, "w1")
    clock.go(STALE_SECONDS - 1)
    assert await queue.take("w2") is None
    await queue.renew(first, JobProgress("embedding", 1, 9))
    clock.go(STALE_SECONDS - 1)
    assert await queue.take("w2") is None
    clock.go(2)
    second = await take_job(queue, "w2")
    assert (second.id, second.tries, second.worker) == (first.id, 2, "w2")
    assert not await queue.renew(first, JobProgress())
    assert not await queue.finish(first, book_id="the-tides")
    assert await queue.finish(second, book_id="the-tides")


async def test_a_worker_that_takes_its_own_stale_job_again_is_not_mistaken_for_its_past(
    queue: JobQueue, clock: Clock
) -> None:
    await put(queue)
    before = await take_job(queue, "w1")
    clock.go(STALE_SECONDS + 1)
    again = await take_job(queue, "w1")
    assert not await queue.finish(before, error=ERROR)
    assert await queue.finish(again, book_id="the-tides")


async def test_a_job_that_kills_its_workers_fails_after_three_tries(queue: JobQueue, clock: Clock) -> None:
    job = await put(queue)
    for n in range(TRIES_MOST):
        assert (await take_job(queue, f"w{n}")).tries == n + 1
        clock.go(STALE_SECONDS + 1)
    assert await queue.take("w9") is None
    given_up = await queue.find(job.id)
    assert given_up.state is JobState.FAILED
    assert given_up.error is not None
    assert given_up.error["code"] == "worker_lost"


async def test_a_job_given_back_waits_again_and_the_try_is_not_counted(queue: JobQueue) -> None:
    await put(queue)
    job = await take_job(queue)
    assert await queue.give_back(job)
    waiting = await queue.find(job.id)
    assert (waiting.state, waiting.tries, waiting.worker) == (JobState.QUEUED, 0, None)
    assert (await take_job(queue, "w2")).tries == 1


async def test_whoever_is_alone_can_reclaim_what_a_dead_process_left(queue: JobQueue) -> None:
    ids = [(await put(queue, f"{n}.md")).id for n in range(2)]
    await take_job(queue)
    assert await queue.reclaim() == 1
    assert [(await take_job(queue, "w2")).id for _ in range(2)] == ids


async def test_reclaiming_does_not_try_for_ever(queue: JobQueue) -> None:
    job = await put(queue)
    for _ in range(TRIES_MOST):
        await take_job(queue)
        await queue.reclaim()
    assert (await queue.find(job.id)).state is JobState.FAILED
    assert await queue.take("w1") is None


async def test_a_worker_takes_only_among_the_jobs_that_it_can_do(queue: JobQueue) -> None:
    first, second = [await put(queue, f"{n}.md") for n in range(2)]
    assert await queue.list_waiting() == [first, second]
    job = await queue.take("w1", among=[second.id])
    assert job is not None
    assert job.id == second.id
    assert await queue.take("w1", among=[second.id]) is None
    assert await queue.take("w1", among=[]) is None
    assert await queue.list_waiting() == [first]


async def test_a_job_that_nobody_can_do_is_given_up_when_its_turn_was_long_ago(
    queue: JobQueue, clock: Clock
) -> None:
    job = await put(queue)
    clock.go(LEFT_SECONDS - 1)
    assert await queue.give_up([job]) == 0
    clock.go(2)
    assert await queue.give_up([]) == 0
    assert await queue.give_up([job]) == 1
    failed = await queue.find(job.id)
    assert (failed.state, failed.finished_at) == (JobState.FAILED, clock.time)
    assert failed.error is not None
    assert failed.error["code"] == "not_found"
    assert await queue.give_up([job]) == 0


async def test_a_job_is_not_given_up_while_a_book_before_it_is_read(queue: JobQueue, clock: Clock) -> None:
    await put(queue, "long.md")
    reading = await take_job(queue)
    job = await put(queue, "far.md")
    await put(queue, "after.md")
    after = await queue.take("w2", among=[(await queue.list_waiting())[-1].id])  # it passed the other over
    assert after is not None
    for _ in range(3):
        clock.go(LEFT_SECONDS / 2)
        assert await queue.renew(reading, JobProgress("embedding", 1, 2))
    assert await queue.give_up([job]) == 0
    assert await queue.finish(reading, book_id="long")
    for _ in range(3):
        clock.go(LEFT_SECONDS / 2)
        assert await queue.renew(after, JobProgress("embedding", 1, 2))
    assert await queue.give_up([job]) == 1


@pytest.mark.parametrize("how", ["given back", "silent"])
async def test_a_job_that_was_worked_on_waits_for_its_worker_to_come_back(
    queue: JobQueue, clock: Clock, how: str
) -> None:
    await put(queue)
    job = await take_job(queue)
    clock.go(LEFT_SECONDS * 2)
    assert await queue.renew(job, JobProgress("embedding", 1, 2))
    if how == "given back":
        assert await queue.give_back(job)
    clock.go(STALE_SECONDS + 1)
    (left,) = await queue.list_waiting()
    assert await queue.give_up([left]) == 0
    clock.go(LEFT_SECONDS)
    assert await queue.give_up([left]) == 1


async def test_a_job_that_somebody_took_meanwhile_is_not_given_up(queue: JobQueue, clock: Clock) -> None:
    seen = await put(queue)
    clock.go(LEFT_SECONDS + 1)
    await take_job(queue)
    assert await queue.give_up([seen]) == 0
    assert (await queue.find(seen.id)).state is JobState.RUNNING


async def test_a_waiting_job_that_is_cancelled_is_never_taken(queue: JobQueue) -> None:
    job = await put(queue)
    assert (await queue.cancel(job.id)).state is JobState.CANCELLED
    assert await queue.take("w1") is None


async def test_a_running_job_that_is_cancelled_is_not_its_workers_any_more(queue: JobQueue) -> None:
    await put(queue)
    job = await take_job(queue)
    assert (await queue.cancel(job.id)).state is JobState.CANCELLED
    assert not await queue.renew(job, JobProgress("embedding", 1, 2))
    assert not await queue.finish(job, error=ERROR)
    assert not await queue.give_back(job)
    assert (await queue.find(job.id)).state is JobState.CANCELLED


async def test_a_cancelled_job_whose_book_was_out_already_is_done(queue: JobQueue) -> None:
    await put(queue)
    job = await take_job(queue)
    await queue.cancel(job.id)
    assert await queue.finish(job, book_id="the-tides")
    now = await queue.find(job.id)
    assert (now.state, now.book_id) == (JobState.DONE, "the-tides")
    assert (await queue.cancel(job.id)).state is JobState.DONE


async def test_anothers_job_looks_like_one_that_never_was(queue: JobQueue) -> None:
    job = await put(queue, owner="k1")
    for look in (queue.find(job.id, owner="k2"), queue.cancel(job.id, owner="k2")):
        with pytest.raises(NotFound) as foreign:
            await look
        assert foreign.value.message == f"no job {job.id!r} here"
    with pytest.raises(NotFound, match="no job 'nothing' here"):
        await queue.find("nothing")
    assert (await queue.find(job.id, owner="k1")).state is JobState.QUEUED
    assert await queue.list_jobs(owner="k2") == []


async def test_jobs_are_listed_page_by_page_the_newest_first(queue: JobQueue) -> None:
    numbers = [(await put(queue, f"{n}.md")).number for n in range(5)]
    seen: list[int] = []
    after: int | None = None
    while page := await queue.list_jobs(limit=2, after=after):
        seen += [job.number for job in page]
        after = seen[-1]
    assert seen == numbers[::-1]


async def test_jobs_are_counted_by_state(queue: JobQueue) -> None:
    for n in range(3):
        await put(queue, f"{n}.md")
    await queue.finish(await take_job(queue), error=ERROR)
    assert await queue.count_by_state() == {
        JobState.QUEUED: 2,
        JobState.RUNNING: 0,
        JobState.DONE: 0,
        JobState.FAILED: 1,
        JobState.CANCELLED: 0,
    }


async def test_files_of_unfinished_jobs_are_known(queue: JobQueue) -> None:
    await put(queue, "a.md")
    await put(queue, "b.md")
    await put(queue, "c.md")
    await queue.finish(await take_job(queue), book_id="a")
    await take_job(queue)
    assert await queue.list_sources() == {"x/b.md", "x/c.md"}


async def test_old_jobs_are_forgotten(queue: JobQueue, clock: Clock) -> None:
    await put(queue, "a.md")
    await queue.finish(await take_job(queue), book_id="a")
    clock.go(KEPT_DAYS * 86_400 - 60)
    later = await put(queue, "b.md")
    assert await queue.forget() == 0
    clock.go(120)
    assert await queue.forget() == 1
    assert [job.id for job in await queue.list_jobs()] == [later.id]


STEPS: dict[str, Callable[[JobQueue, Job], Awaitable[object]]] = {
    "renew": lambda queue, job: queue.renew(job, JobProgress("embedding", 1, 2)),
    "finish": lambda queue, job: queue.finish(job, book_id="b"),
    "fail": lambda queue, job: queue.finish(job, error=ERROR),
    "back": lambda queue, job: queue.give_back(job),
    "cancel": lambda queue, job: queue.cancel(job.id),
}


@given(ways=st.lists(st.lists(st.sampled_from(["take", "wait", *STEPS]), max_size=8), min_size=8, max_size=8))
@settings(max_examples=2, deadline=None)
def test_whatever_happens_a_job_ends_once_and_is_tried_three_times_at_most(
    ways: list[list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    async def live(queue: JobQueue, clock: Clock, steps: list[str]) -> None:
        job, ended = await put(queue), None
        for step in steps:
            if step == "take":
                job = await queue.take("w1") or job
            elif step == "wait":
                clock.go(STALE_SECONDS + 1)
            else:
                await STEPS[step](queue, job)
            now = await queue.find(job.id)
            assert now.tries <= TRIES_MOST
            turned_out_done = ended and (ended.state, now.state) == (JobState.CANCELLED, JobState.DONE)
            assert ended is None or now == ended or (turned_out_done and step == "finish")
            ended = now if now.state in ENDED else None
        await queue.cancel(job.id)

    async def lives() -> None:
        clock = Clock()
        database = await Database.open(tmp_path_factory.mktemp("queue") / "records.sqlite")
        for steps in ways:
            await live(JobQueue(database, capacity=1, now=clock), clock, steps)
        await database.close()

    asyncio.run(lives())
