"""Whether the service lives, whether it can work, and what it is.

`/healthz` answers as long as the process does. `/readyz` asks the store and the records, and says no
while the service drains, so that a balancer sends nobody here. Both are open to everyone.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Security
from fastapi.responses import JSONResponse, Response
from fastapi.security import HTTPAuthorizationCredentials

from octavo import __version__
from octavo.errors import AccessDenied, Overloaded
from octavo.records.keys import SCOPES
from octavo.server import shapes
from octavo.server.auth import BEARER, TheGate, TheLibrary, caller_of
from octavo.server.middleware import Load

router = APIRouter(tags=["service"])
_NONE: tuple[int, ...] = ()


@router.get("/healthz", responses={200: {"model": shapes.Health, "description": "The process lives."}})
async def healthz() -> Response:
    return JSONResponse({"status": "ok"})


@router.get(
    "/readyz",
    responses={
        200: {"model": shapes.Ready, "description": "The store and the records answer."},
        **shapes.problems(500, 503, usual=_NONE),
    },
)
async def readyz(request: Request, library: TheLibrary) -> Response:
    load: Load = request.app.state.load
    if load.draining:
        raise Overloaded("the service is about to stop", retry_after=5, hint="Try another instance.")
    await library.respond()
    return JSONResponse({"status": "ready", "books": len(await library.books())})


@router.get(
    "/v1/config",
    responses=shapes.gives(shapes.Config, "What this service is, and what you may do."),
    openapi_extra={"security": [{}]},
)
async def config(
    request: Request,
    library: TheLibrary,
    gate: TheGate,
    given: Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)],
) -> Response:
    """Open to everyone: without a key, `may` is what can be done without one."""
    try:
        caller = await caller_of(request, given)
        may = [scope for scope in SCOPES if caller.may(scope)]
    except AccessDenied:
        if given is not None:
            raise
        may = []
    return JSONResponse(
        {
            "name": "Octavo",
            "version": __version__,
            "model": library.settings.model or None,
            "keys_required": not gate.open_here,
            "upload_mb": library.settings.limits.max_file_mb,
            "may": may,
        }
    )
