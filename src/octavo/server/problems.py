"""Errors on the wire: RFC 9457 problem documents with a stable `code`, a sentence and a hint. No stack."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from octavo.errors import (
    AccessDenied,
    BadBook,
    CallerError,
    Conflict,
    InvalidValue,
    LibraryBusy,
    ModelError,
    NotFound,
    OctavoError,
    Overloaded,
    StorageLow,
    TooMany,
)

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
    (ModelError, 502),
    (OctavoError, 500),
)


def install(app: FastAPI) -> None:
    app.add_exception_handler(OctavoError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unforeseen)


def problem(status: int, code: str, detail: str, hint: str = "") -> JSONResponse:
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "code": code}
    body |= {"detail": detail, **({"hint": hint} if hint else {})}
    return JSONResponse(body, status_code=status, media_type=MEDIA_TYPE)


def status_of(error: OctavoError) -> int:
    return next(status for kind, status in STATUS if isinstance(error, kind))


async def _ours(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, OctavoError)
    return problem(status_of(error), error.code, error.message, error.hint)


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return problem(422, "invalid_request", f"{where}: {first['msg']}")


async def _http(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return problem(error.status_code, HTTPStatus(error.status_code).name.lower(), str(error.detail))


async def _unforeseen(_: Request, error: Exception) -> JSONResponse:
    """A mistake of ours: its name is told, its traceback is logged by the server."""
    return problem(500, "internal", f"Something went wrong here: {type(error).__name__}.")
