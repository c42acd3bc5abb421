"""The jobs that add uploaded books: listed, watched, cancelled. A worker in this process runs them.

A caller sees its own jobs; an administrator sees all. A stream sends the job whenever it changes, and ends
when the job ends.
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
from octavo.server.auth import Caller, CurrentAccess, IngestCaller
from octavo.server.ingest_queue import CurrentIngestQueue
from octavo.server.schemas import JobId, PageParameters, describe, describe_stream, respond
from octavo.server.sse import Event, make_event_stream

router = APIRouter(tags=["jobs"])
POLL_SECONDS = 0.25


def find_visible_owner(caller: Caller) -> str | None:
    """Find whose jobs the caller may see; None for all. A job names its book, which not every key may see."""
    return None if caller.has_scope("admin") and caller.books is None else caller.owner


@router.get("/v1/jobs", response_model=JobPageJson, responses=describe("The jobs, newest first."))
async def jobs(ingest: CurrentIngestQueue, caller: IngestCaller, page: PageParameters) -> Response:
    if page.after is not None and not re.fullmatch("[0-9]{1,9}", page.after):
        raise InvalidValue("after", "must be the `next` of the page before", page.after)
    after = int(page.after) if page.after is not None else None
    found = await ingest.jobs.list_jobs(owner=find_visible_owner(caller), limit=page.limit + 1, after=after)
    shown, following = page.cut(found, lambda job: str(job.number))
    return respond(JobPageJson(jobs=[JobJson.from_job(job) for job in shown], next=following))


@router.get("/v1/jobs/{job_id}", response_model=JobJson, responses=describe("The job.", 404))
async def job(job_id: JobId, ingest: CurrentIngestQueue, caller: IngestCaller) -> Response:
    return respond(JobJson.from_job(await ingest.jobs.find(job_id, owner=find_visible_owner(caller))))


@router.delete("/v1/jobs/{job_id}", response_model=JobJson, responses=describe("The job as it is now.", 404))
async def cancel(job_id: JobId, ingest: CurrentIngestQueue, caller: IngestCaller) -> Response:
    """Cancels a job that has not ended; one that has ended stays as it is."""
    before = await ingest.jobs.find(job_id, owner=find_visible_owner(caller))
    now = await ingest.jobs.cancel(job_id, owner=find_visible_owner(caller))
    if before.worker is None and not before.has_ended:
        # No worker has taken it, so none will remove its file.
        ingest.worker.remove_upload(now)
    return respond(JobJson.from_job(now))


@router.get(
    "/v1/jobs/{job_id}/events",
    response_class=Response,
    responses=describe_stream("Events: `progress`, and how it ended.", 404),
)
async def events(
    job_id: JobId, request: Request, ingest: CurrentIngestQueue, access: CurrentAccess, caller: IngestCaller
) -> Response:
    """The events are `progress`, whenever the job changes, and last `done`, `failed` or `cancelled`."""
    first = await ingest.jobs.find(job_id, owner=find_visible_owner(caller))
    changes = _watch_job(first, ingest.jobs)
    limits = access.settings.service
    return await make_event_stream(request, changes, slot=access.hold_stream(caller), limits=limits, first=1)


async def _watch_job(job: Job, queue: JobQueue) -> AsyncGenerator[Event, None]:
    yield _describe(job)
    while not job.has_ended:
        await asyncio.sleep(POLL_SECONDS)
        now = await queue.find(job.id)
        if (now.state, now.progress) != (job.state, job.progress):
            yield _describe(now)
        job = now


def _describe(job: Job) -> Event:
    return (str(job.state) if job.has_ended else "progress", JobJson.from_job(job).to_json())
