"""`/metrics`: the counters of the service, for an administrator or a user of the machine."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from octavo.maintenance.background_check import read_last_check
from octavo.server.auth import AdminCaller, CurrentLibrary
from octavo.server.ingest_queue import CurrentIngestQueue
from octavo.server.metrics import get_metrics
from octavo.server.schemas import describe_errors

router = APIRouter(tags=["service"])


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {
            "description": "Prometheus' text format.",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        },
        **describe_errors(403),
    },
)
async def metrics(
    request: Request,
    library: CurrentLibrary,
    ingest: CurrentIngestQueue,
    caller: AdminCaller,  # noqa: ARG001
) -> Response:
    numbers = get_metrics(request)
    numbers.set_jobs(await ingest.jobs.count_by_state())
    if last := await read_last_check(library.database):
        numbers.set_store_checked(last.finished_at)
    numbers.set_working(request.app.state.load)
    return Response(numbers.render(), media_type=CONTENT_TYPE_LATEST)
