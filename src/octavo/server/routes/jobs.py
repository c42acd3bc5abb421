"""The books that wait to be read: looked at, watched, cancelled. A worker in this process reads them.

A caller sees its own jobs; an administrator sees all. A stream sends the job whenever it changes, and ends
with its end.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator

from fastapi import APIRouter, Request
from fastapi.responses import Response

from octavo.errors import InvalidValue
from octavo.records.jobs import Job, JobQueue
from octavo.schemas import JobJson, JobPageJson
from octavo.server.auth import Caller, Ingesting, TheGate
from octavo.server.ingest_queue import CurrentIngestQueue
from octavo.server.schemas import JobId, PageParameters, describe, describe_stream, respond
from octavo.server.sse import Event, event_stream

router = APIRouter(tags=["jobs"])
LOOK_SECONDS = 0.25


def owner_of(caller: Caller) -> str | None:
    """Whose jobs the caller may see; None for everybody's. A job names its book: not for every key to see."""
    return None if caller.may("admin") and caller.books is None else caller.owner


@router.get("/v1/jobs", response_model=JobPageJson, responses=describe("The jobs, newest first."))
async def jobs(ingest: CurrentIngestQueue, caller: Ingesting, page: PageParameters) -> Response:
    if page.after is not None and not re.fullmatch("[0-9]{1,9}", page.after):
        raise InvalidValue("after", "must be the `next` of the page before", page.after)
    after = int(page.after) if page.after is not None else None
    found = await ingest.jobs.list_jobs(owner=owner_of(caller), limit=page.limit + 1, after=after)
    shown, following = page.cut(found, lambda job: str(job.number))
    return respond(JobPageJson(jobs=[JobJson.from_job(job) for job in shown], next=following))


@router.get("/v1/jobs/{job_id}", response_model=JobJson, responses=describe("The job.", 404))
async def job(job_id: JobId, ingest: CurrentIngestQueue, caller: Ingesting) -> Response:
    return respond(JobJson.from_job(await ingest.jobs.find(job_id, owner=owner_of(caller))))


@router.delete("/v1/jobs/{job_id}", response_model=JobJson, responses=describe("The job as it is now.", 404))
async def cancel(job_id: JobId, ingest: CurrentIngestQueue, caller: Ingesting) -> Response:
    """Cancels a job that has not ended; what has ended stays as it is."""
    before = await ingest.jobs.find(job_id, owner=owner_of(caller))
    now = await ingest.jobs.cancel(job_id, owner=owner_of(caller))
    if before.worker is None and not before.has_ended:
        ingest.worker.remove_upload(now)  # nobody has taken it: nobody else will remove its file
    return respond(JobJson.from_job(now))


@router.get(
    "/v1/jobs/{job_id}/events",
    response_class=Response,
    responses=describe_stream("Events: `progress`, and how it ended.", 404),
)
async def events(
    job_id: JobId, request: Request, ingest: CurrentIngestQueue, gate: TheGate, caller: Ingesting
) -> Response:
    """The events are `progress`, whenever the job changes, and last `done`, `failed` or `cancelled`."""
    first = await ingest.jobs.find(job_id, owner=owner_of(caller))
    changes = _changes(first, ingest.jobs)
    limits = gate.settings.service
    return await event_stream(request, changes, slot=gate.stream(caller), limits=limits, first=1)


async def _changes(job: Job, queue: JobQueue) -> AsyncGenerator[Event, None]:
    yield _event(job)
    while not job.has_ended:
        await asyncio.sleep(LOOK_SECONDS)
        now = await queue.find(job.id)
        if (now.state, now.progress) != (job.state, job.progress):
            yield _event(now)
        job = now


def _event(job: Job) -> Event:
    return (str(job.state) if job.has_ended else "progress", JobJson.from_job(job).to_json())
