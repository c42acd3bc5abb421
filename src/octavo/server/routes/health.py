"""Whether the service runs, whether it is ready, and what it is.

`/healthz` responds as long as the process runs. `/readyz` checks the store and the records, and fails while
the service drains, so that a load balancer sends no requests here. Both are open to everyone.
"""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import APIRouter, Request, Security
from fastapi.responses import Response
from fastapi.security import HTTPAuthorizationCredentials

from octavo import __version__
from octavo.errors import AccessDenied, Overloaded
from octavo.records.keys import SCOPES
from octavo.schemas import ConfigJson, HealthJson, ReadyJson
from octavo.schemas.service import Permission
from octavo.server.auth import BEARER, CurrentAccess, CurrentLibrary, authenticate
from octavo.server.load import Load
from octavo.server.schemas import describe, describe_errors, respond

router = APIRouter(tags=["service"])


@router.get(
    "/healthz", response_model=HealthJson, responses={200: {"description": "The process is running."}}
)
async def healthz() -> Response:
    return respond(HealthJson(status="ok"))


@router.get(
    "/readyz",
    response_model=ReadyJson,
    responses={
        200: {"description": "The store and the records respond."},
        **describe_errors(500, 503, usual=()),
    },
)
async def readyz(request: Request, library: CurrentLibrary) -> Response:
    load: Load = request.app.state.load
    if load.draining:
        raise Overloaded("the service is stopping", retry_after=5, hint="Try another instance.")
    await library.check_health()
    return respond(ReadyJson(status="ready", books=len(await library.books())))


@router.get(
    "/v1/config",
    response_model=ConfigJson,
    responses=describe("What this service is, and what the caller may do."),
    openapi_extra={"security": [{}]},
)
async def config(
    request: Request,
    library: CurrentLibrary,
    access: CurrentAccess,
    given: Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)],
) -> Response:
    """Open to everyone: without a key, `may` is what can be done without one."""
    try:
        caller = await authenticate(request, given)
        may = [scope for scope in SCOPES if caller.has_scope(scope)]
    except AccessDenied:
        if given is not None:
            raise
        may = []
    return respond(
        ConfigJson(
            name="Octavo",
            version=__version__,
            model=library.settings.model or None,
            keys_required=not access.is_open,
            upload_mb=library.settings.limits.max_file_mb,
            may=cast("list[Permission]", may),
        )
    )
