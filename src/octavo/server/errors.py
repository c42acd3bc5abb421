"""Errors as RFC 9457 problem documents: a stable `code`, a message and a hint, never a traceback."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match

from octavo.errors import (
    AccessDenied,
    BadBook,
    CallerError,
    Conflict,
    InvalidValue,
    LibraryBusy,
    MissingExtra,
    ModelError,
    NotFound,
    OctavoError,
    Overloaded,
    StorageLow,
    TooMany,
    hide_paths,
)
from octavo.schemas import Json, ProblemJson

log = logging.getLogger("octavo.server")
MEDIA_TYPE = "application/problem+json"
STATUS: tuple[tuple[type[OctavoError], int], ...] = (
    (NotFound, 404),
    (AccessDenied, 401),
    (TooMany, 429),
    (Conflict, 409),
    (InvalidValue, 422),
    (BadBook, 422),
    (CallerError, 400),
    (StorageLow, 507),
    (LibraryBusy, 503),
    (Overloaded, 503),
    (MissingExtra, 501),
    (ModelError, 502),
    (OctavoError, 500),
)


_CODES = {413: "too_large", 503: "overloaded"}


def install_handlers(app: FastAPI) -> None:
    app.add_exception_handler(OctavoError, _handle_octavo_error)
    app.add_exception_handler(RequestValidationError, _handle_invalid_request)
    app.add_exception_handler(HTTPException, _handle_http_error)
    app.add_exception_handler(Exception, handle_unexpected)


def make_problem(
    status: int,
    code: str,
    detail: str,
    hint: str = "",
    *,
    request_id: str = "",
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    shown = describe_problem(status, code, detail, hint, request_id=request_id)
    return JSONResponse(shown, status_code=status, media_type=MEDIA_TYPE, headers=dict(headers or {}))


def describe_problem(status: int, code: str, detail: str, hint: str = "", *, request_id: str = "") -> Json:
    title = HTTPStatus(status).phrase
    shape = ProblemJson(
        type="about:blank",
        title=title,
        status=status,
        code=code,
        detail=detail,
        hint=hint,
        request_id=request_id,
    )
    return shape.to_json()


def find_status(error: OctavoError) -> int:
    if isinstance(error, AccessDenied) and error.code == "forbidden":
        return 403
    return next(status for kind, status in STATUS if isinstance(error, kind))


def describe_error(error: OctavoError, *, request_id: str = "", folder: Path | None = None) -> Json:
    """Describe an error as the last event of a stream, without the `folder` of the library."""
    said, hint = hide_paths(error, folder=folder)
    return describe_problem(find_status(error), error.code, said, hint, request_id=request_id)


def make_error_response(
    error: OctavoError, *, request_id: str = "", folder: Path | None = None
) -> JSONResponse:
    """Make the response to an error, without the `folder` of the library."""
    status, headers = find_status(error), {}
    wait = getattr(error, "retry_after", 5.0 if status == 503 else None)
    if wait is not None:
        headers["retry-after"] = str(math.ceil(wait))
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    said, hint = hide_paths(error, folder=folder)
    return make_problem(status, error.code, said, hint, request_id=request_id, headers=headers)


def get_request_id(scope: Mapping[str, Any]) -> str:
    return str(scope.get("state", {}).get("request_id", ""))


def get_folder(scope: Mapping[str, Any]) -> Path | None:
    """Return the folder of the library that the service serves, if it has one open."""
    library = getattr(scope["app"].state, "library", None) if "app" in scope else None
    return None if library is None else library.settings.data


async def _handle_octavo_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, OctavoError)
    if find_status(error) == HTTPStatus.INTERNAL_SERVER_ERROR:
        # The message may name files or quote what was asked, so only the code is logged.
        log.error("a request failed: %s", error.code, extra={"request_id": get_request_id(request.scope)})
    scope = request.scope
    return make_error_response(error, request_id=get_request_id(scope), folder=get_folder(scope))


async def _handle_invalid_request(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    said = f"{where}: {first['msg']}"[:500]
    plain = first["loc"] == ("body",) and "json" not in request.headers.get("content-type", "")
    hint = "Send it with the header `Content-Type: application/json`." if plain else ""
    return make_problem(422, "invalid_request", said, hint, request_id=get_request_id(request.scope))


async def _handle_http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    code = _CODES.get(status, status.name.lower())
    headers = {"allow": ", ".join(_list_allowed_methods(request))} if status == 405 else error.headers
    said = str(error.detail)
    return make_problem(status, code, said, request_id=get_request_id(request.scope), headers=headers)


def _list_allowed_methods(request: Request) -> list[str]:
    """List the methods that some route has for this path."""
    tried = ("DELETE", "GET", "PATCH", "POST", "PUT")
    scopes = {method: {**request.scope, "method": method} for method in tried}
    return [m for m in tried if any(r.matches(scopes[m])[0] is Match.FULL for r in request.app.routes)]


async def handle_unexpected(request: Request, error: BaseException) -> JSONResponse:
    """Respond to a bug: name its class only. The server logs its traceback."""
    said = f"Internal error: {type(error).__name__}."
    return make_problem(500, "internal", said, request_id=get_request_id(request.scope))
