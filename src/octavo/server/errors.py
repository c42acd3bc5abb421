"""Errors on the wire: RFC 9457 problem documents with a stable `code`, a sentence and a hint. No stack."""

from __future__ import annotations

import math
from collections.abc import Mapping
from http import HTTPStatus
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
)
from octavo.schemas import Json, ProblemJson

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


_WORDS = {413: "too_large", 503: "overloaded"}


def install(app: FastAPI) -> None:
    app.add_exception_handler(OctavoError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, unforeseen)


def problem(
    status: int,
    code: str,
    detail: str,
    hint: str = "",
    *,
    request_id: str = "",
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    shown = document(status, code, detail, hint, request_id=request_id)
    return JSONResponse(shown, status_code=status, media_type=MEDIA_TYPE, headers=dict(headers or {}))


def document(status: int, code: str, detail: str, hint: str = "", *, request_id: str = "") -> Json:
    title = HTTPStatus(status).phrase
    shape = ProblemJson(
        title=title, status=status, code=code, detail=detail, hint=hint, request_id=request_id
    )
    return shape.to_json()


def status_of(error: OctavoError) -> int:
    if isinstance(error, AccessDenied) and error.code == "forbidden":
        return 403
    return next(status for kind, status in STATUS if isinstance(error, kind))


def told(error: OctavoError, *, request_id: str = "") -> Json:
    """An error as the object that a stream ends with."""
    return document(status_of(error), error.code, error.message, error.hint, request_id=request_id)


def answer_to(error: OctavoError, *, request_id: str = "") -> JSONResponse:
    """An error as a whole response."""
    status, headers = status_of(error), {}
    wait = getattr(error, "retry_after", 5.0 if status == 503 else None)
    if wait is not None:
        headers["retry-after"] = str(math.ceil(wait))
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    return problem(status, error.code, error.message, error.hint, request_id=request_id, headers=headers)


def request_id_of(scope: Mapping[str, Any]) -> str:
    return str(scope.get("state", {}).get("request_id", ""))


async def _ours(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, OctavoError)
    return answer_to(error, request_id=request_id_of(request.scope))


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    said = f"{where}: {first['msg']}"[:500]
    plain = first["loc"] == ("body",) and "json" not in request.headers.get("content-type", "")
    hint = "Send it with the header `Content-Type: application/json`." if plain else ""
    return problem(422, "invalid_request", said, hint, request_id=request_id_of(request.scope))


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    code = _WORDS.get(status, status.name.lower())
    headers = {"allow": ", ".join(_allowed(request))} if status == 405 else error.headers
    said = str(error.detail)
    return problem(status, code, said, request_id=request_id_of(request.scope), headers=headers)


def _allowed(request: Request) -> list[str]:
    """Every method that some route has for this path."""
    tried = ("DELETE", "GET", "PATCH", "POST", "PUT")
    scopes = {method: {**request.scope, "method": method} for method in tried}
    return [m for m in tried if any(r.matches(scopes[m])[0] is Match.FULL for r in request.app.routes)]


async def unforeseen(request: Request, error: BaseException) -> JSONResponse:
    """A mistake of ours: its name is told, its traceback is logged by the server."""
    said = f"Something went wrong here: {type(error).__name__}."
    return problem(500, "internal", said, request_id=request_id_of(request.scope))
