"""The queue of books that wait to be added, in the same database as the records.

A job is queued, then running, then done, failed or cancelled. An ended job never changes again, except that a
cancelled job becomes done when its book turns out to be in the library already. Any number of processes may
take jobs from one queue, and no two get the same one: SQLite lets one writer in at a time, PostgreSQL skips
the rows that another is taking. A worker renews its job every moment; a job that was not renewed for
`STALE_SECONDS` is taken by another worker, three times at most. Cancelling writes a state into the database:
the worker reads it at its next `renew` and stops. A worker leaves a job whose file it does not see to
another; the job fails when nobody has taken it for `LEFT_SECONDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sqlalchemy import ColumnElement, Row, and_, delete, exists, func, insert, or_, select, text, true, update
from sqlalchemy.ext.asyncio import AsyncConnection

from octavo.errors import NotFound, TooMany
from octavo.records.options import BookOptions
from octavo.records.tables import jobs

if TYPE_CHECKING:
    from octavo.records.database import Database

STALE_SECONDS = 60.0
TRIES_MOST = 3
LEFT_SECONDS = 3_600.0
PAGE_DEFAULT = 20
KEPT_DAYS = 30
_RETRY_AFTER = 15.0
# The lock under which PostgreSQL numbers the jobs.
_NUMBERING = 0x0C7A70
_LOCK = text("SELECT pg_advisory_xact_lock(:lock)")
_WORKERS_DIED = {
    "code": "worker_lost",
    "message": f"the workers that read this book died {TRIES_MOST} times",
    "hint": "Look into their logs; the book may need more memory than they have.",
}
_NOT_SEEN = {
    "code": "not_found",
    "message": f"no worker has seen the uploaded file for {LEFT_SECONDS / 60:.0f} minutes",
    "hint": "The server that took it may have stopped, or look into another folder now: send it again.",
}


class JobState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDED = (JobState.DONE, JobState.FAILED, JobState.CANCELLED)


@dataclass(frozen=True, slots=True)
class JobProgress:
    """`done` of `total` in the current step; 0 of 0 where nothing is counted."""

    step: str = "waiting"
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A book to add. `source` is its place, relative to the folder of uploads."""

    id: str
    number: int
    owner: str
    state: JobState
    name: str
    source: str
    options: BookOptions = field(default_factory=BookOptions)
    progress: JobProgress = JobProgress()
    book_id: str | None = None
    error: Mapping[str, str] | None = None
    worker: str | None = None
    tries: int = 0
    created_at: datetime
    seen_at: datetime | None = None
    finished_at: datetime | None = None

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED


def _get_now() -> datetime:
    return datetime.now(UTC)


class JobQueue:
    """Jobs in order of arrival. At most `capacity` of them may wait."""

    def __init__(self, database: Database, *, capacity: int, now: Callable[[], datetime] = _get_now) -> None:
        self._database, self._capacity, self._now = database, capacity, now

    async def put(
        self,
        name: str,
        *,
        source: str,
        owner: str = "",
        options: BookOptions | None = None,
        id: str = "",
    ) -> Job:
        """Adds a job at the end of the queue; raises `TooMany` when the queue is full."""
        async with self._database.begin() as connection:
            if not self._database.is_sqlite:
                await connection.execute(_LOCK, {"lock": _NUMBERING})
            await self._require_room(connection)
            latest = await connection.scalar(select(func.max(jobs.c.number)))
            job = Job(
                id=id or str(uuid4()),
                number=(latest or 0) + 1,
                owner=owner,
                state=JobState.QUEUED,
                name=name,
                source=source,
                options=options or BookOptions(),
                created_at=self._now(),
            )
            await connection.execute(insert(jobs), _build_row(job))
        return job

    async def require_room(self) -> None:
        """Raises `TooMany` when the queue is full."""
        async with self._database.connect() as connection:
            await self._require_room(connection)

    async def _require_room(self, connection: AsyncConnection) -> None:
        waiting = await connection.scalar(
            select(func.count()).select_from(jobs).where(jobs.c.state == JobState.QUEUED)
        )
        if (waiting or 0) >= self._capacity:
            raise TooMany(
                f"the queue is full: {waiting} books wait to be read",
                retry_after=_RETRY_AFTER,
                hint="Send it again when some have been read; OCTAVO_SERVICE__QUEUE sets how many may wait.",
            )

    def _is_lost(self) -> ColumnElement[bool]:
        silent = self._now() - timedelta(seconds=STALE_SECONDS)
        return and_(jobs.c.state == JobState.RUNNING, jobs.c.seen_at < silent)

    def _is_open(self) -> ColumnElement[bool]:
        return or_(jobs.c.state == JobState.QUEUED, self._is_lost())

    async def list_waiting(self) -> list[Job]:
        """Lists the jobs that may be taken, in order, without holding up writers."""
        async with self._database.connect() as connection:
            found = await connection.execute(select(jobs).where(self._is_open()).order_by(jobs.c.number))
            return [_parse_job(row) for row in found]

    async def take(self, worker: str, *, among: Collection[str] | None = None) -> Job | None:
        """Takes the first job that waits, or whose worker has stopped renewing it.

        `among` are the ids of the jobs that this worker can do.
        """
        wanted = jobs.c.id.in_(among) if among is not None else true()
        async with self._database.begin() as connection:
            failed = _build_ending(JobState.FAILED, self._now(), error=_WORKERS_DIED)
            exhausted = and_(self._is_lost(), jobs.c.tries >= TRIES_MOST)
            await connection.execute(update(jobs).where(exhausted).values(failed))
            first = (
                select(jobs)
                .where(self._is_open(), wanted)
                .order_by(jobs.c.number)
                .limit(1)
                .with_for_update(skip_locked=True)
            )
            row = (await connection.execute(first)).one_or_none()
            if row is None:
                return None
            taken = {
                "state": JobState.RUNNING,
                "worker": worker,
                "tries": row.tries + 1,
                "seen_at": self._now(),
            }
            await connection.execute(update(jobs).where(jobs.c.id == row.id).values(taken))
        return _parse_job(row, **taken)

    async def renew(self, job: Job, progress: JobProgress) -> bool:
        """Notes that the job is still being worked on. Returns False if it is not this worker's any more."""
        return await self._change(job, {"seen_at": self._now(), "progress": asdict(progress)})

    async def finish(
        self,
        job: Job,
        *,
        book_id: str | None = None,
        outcome: str = "done",
        error: Mapping[str, str] | None = None,
    ) -> bool:
        """Ends the job as done, or as failed with an error. Returns False if it was cancelled or taken.

        `outcome` is the last step of a job that is done: what became of the book.
        A book that was published before the worker saw the cancelling stays: that job is done, not cancelled.
        """
        if error is not None:
            return await self._change(job, _build_ending(JobState.FAILED, self._now(), error=error))
        done = {"book_id": book_id, "progress": asdict(JobProgress(outcome, 1, 1))}
        ending = _build_ending(JobState.DONE, self._now()) | done
        return await self._change(job, ending, among=(JobState.RUNNING, JobState.CANCELLED))

    async def give_back(self, job: Job) -> bool:
        """Puts the job back into the queue because the worker stops. This try is not counted."""
        waiting = {
            "state": JobState.QUEUED,
            "worker": None,
            "seen_at": self._now(),
            "tries": max(0, job.tries - 1),
            "progress": asdict(JobProgress()),
        }
        return await self._change(job, waiting)

    async def give_up(self, unseen: Collection[Job]) -> int:
        """Fails those of the jobs that nobody took for `LEFT_SECONDS` in their turn; returns how many.

        Jobs are taken in order: a worker that is busy with an earlier one may see the file, and is waited
        for.
        """
        then = self._now() - timedelta(seconds=LEFT_SECONDS)
        old = [job.id for job in unseen if job.created_at < then]
        if not old:
            return 0
        earlier = jobs.alias()
        at_work = exists().where(earlier.c.number <= jobs.c.number, earlier.c.seen_at >= then)
        left = update(jobs).where(jobs.c.id.in_(old), self._is_open(), ~at_work)
        async with self._database.begin() as connection:
            ended = left.values(_build_ending(JobState.FAILED, self._now(), error=_NOT_SEEN))
            return (await connection.execute(ended)).rowcount

    async def reclaim(self) -> int:
        """Puts every running job back into the queue. Only safe when no other worker can be alive."""
        async with self._database.begin() as connection:
            values = {"state": JobState.QUEUED, "worker": None}
            exhausted = and_(jobs.c.state == JobState.RUNNING, jobs.c.tries >= TRIES_MOST)
            failed = _build_ending(JobState.FAILED, self._now(), error=_WORKERS_DIED)
            await connection.execute(update(jobs).where(exhausted).values(failed))
            back = await connection.execute(
                update(jobs).where(jobs.c.state == JobState.RUNNING).values(values)
            )
            return back.rowcount

    async def cancel(self, id: str, *, owner: str | None = None) -> Job:
        """Cancels a job. Returns it as it is afterwards: cancelled, or as it had ended before."""
        before = await self.find(id, owner=owner)
        async with self._database.begin() as connection:
            open_ = and_(jobs.c.id == before.id, jobs.c.state.not_in(ENDED))
            await connection.execute(
                update(jobs).where(open_).values(_build_ending(JobState.CANCELLED, self._now()))
            )
        return await self.find(id, owner=owner)

    async def find(self, id: str, *, owner: str | None = None) -> Job:
        """Finds one job. Another owner's raises `NotFound`, as one that does not exist."""
        async with self._database.connect() as connection:
            found = await connection.execute(select(jobs).where(jobs.c.id == id, _match_owner(owner)))
            row = found.one_or_none()
        if row is None:
            raise NotFound("job", id)
        return _parse_job(row)

    async def list_jobs(
        self, *, owner: str | None = None, limit: int = PAGE_DEFAULT, after: int | None = None
    ) -> list[Job]:
        """Lists jobs, the newest first, from the one below number `after` on."""
        below = jobs.c.number < after if after is not None else true()
        query = select(jobs).where(_match_owner(owner), below).order_by(jobs.c.number.desc()).limit(limit)
        async with self._database.connect() as connection:
            return [_parse_job(row) for row in await connection.execute(query)]

    async def count_by_state(self) -> dict[JobState, int]:
        """Counts the jobs in each state."""
        query = select(jobs.c.state, func.count()).group_by(jobs.c.state)
        async with self._database.connect() as connection:
            found = {JobState(state): int(count) for state, count in await connection.execute(query)}
        return {state: found.get(state, 0) for state in JobState}

    async def list_sources(self) -> set[str]:
        """Lists where the books are that are still to be read."""
        query = select(jobs.c.source).where(jobs.c.state.not_in(ENDED))
        async with self._database.connect() as connection:
            return set(await connection.scalars(query))

    async def forget(self, days: float = KEPT_DAYS) -> int:
        """Deletes the jobs that ended so long ago; returns how many."""
        old = self._now() - timedelta(days=days)
        async with self._database.begin() as connection:
            return (await connection.execute(delete(jobs).where(jobs.c.finished_at < old))).rowcount

    async def _change(
        self, job: Job, values: Mapping[str, Any], *, among: Collection[JobState] = (JobState.RUNNING,)
    ) -> bool:
        """Changes a job that is still this worker's, and still in one of the states `among`."""
        ours = and_(
            jobs.c.id == job.id,
            jobs.c.worker.is_not(None),
            jobs.c.worker == job.worker,
            jobs.c.tries == job.tries,
            jobs.c.state.in_(among),
        )
        async with self._database.begin() as connection:
            changed = await connection.execute(update(jobs).where(ours).values(dict(values)))
            return changed.rowcount == 1


def _build_ending(state: JobState, at: datetime, *, error: Mapping[str, str] | None = None) -> dict[str, Any]:
    return {"state": state, "finished_at": at, **({"error": dict(error)} if error else {})}


def _match_owner(owner: str | None) -> ColumnElement[bool]:
    return jobs.c.owner == owner if owner is not None else true()


def _build_row(job: Job) -> dict[str, Any]:
    values = {**asdict(job), "state": str(job.state)}
    # The column kept its first name: renaming it would need a migration of every database.
    values["wishes"] = values.pop("options")
    return values


def _parse_job(row: Row[Any], **changed: Any) -> Job:
    values = {**row._mapping, **changed}
    values["progress"] = JobProgress(**values["progress"])
    values["options"] = BookOptions.from_json(values.pop("wishes"))
    values["state"] = JobState(values["state"])
    return Job(**values)
