"""`/metrics`: what the service does, in numbers, for an administrator or whoever sits at the machine."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from octavo.server.auth import Admin
from octavo.server.ingest_queue import CurrentIngestQueue
from octavo.server.metrics import metrics_of
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
async def metrics(request: Request, ingest: CurrentIngestQueue, caller: Admin) -> Response:  # noqa: ARG001
    numbers = metrics_of(request)
    numbers.jobs(await ingest.jobs.count_by_state())
    numbers.working(request.app.state.load)
    return Response(numbers.text(), media_type=CONTENT_TYPE_LATEST)
