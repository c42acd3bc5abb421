"""What the service writes down: one line of JSON for each request, and one for whatever goes wrong.

A line says which route, which status, how long, and who: the id of a key, never the key. It holds no
question, no text of a book, no path as it was sent and no header, so that logs can be kept and shown. Text
that looks like a secret is blotted out wherever it comes from. Lines are written by a thread of their own: a
pipe that nobody empties loses lines, and never holds up the service.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from queue import Full, Queue
from threading import Thread
from typing import IO, Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from octavo.server.metrics import Metrics

REQUESTS = "octavo.requests"
QUIET = frozenset(("/healthz", "/readyz", "/metrics"))
_SECRETS = re.compile(
    r"(?i)octv_[\w-]+|\bsk-[\w-]{8,}|bearer\s+[\w.~+/=-]+|(?<=://)[^/\s:@]+:[^@\s]+(?=@)|"
    r"(?:api[_-]?key|password|secret|token)\s*[=:]\s*\S+"
)
_FIELDS = ("request_id", "method", "route", "status", "ms", "caller")


def without_secrets(text: str) -> str:
    return _SECRETS.sub("***", text)


class JsonLines(logging.Formatter):
    """A record as one line of JSON. Tracebacks are kept to places in the code: messages may quote a book."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": without_secrets(record.getMessage())[:2_000],
        }
        line |= {name: getattr(record, name) for name in _FIELDS if hasattr(record, name)}
        if record.exc_info and record.exc_info[1] is not None:
            line["error"], line["at"] = _told(record.exc_info[1])
        return json.dumps(line, ensure_ascii=False)


def _told(error: BaseException) -> tuple[str, list[str]]:
    """The kind of an error and where it was raised, without its words."""
    places, frame = [], error.__traceback__
    while frame is not None:
        code = frame.tb_frame.f_code
        places.append(f"{code.co_filename.rpartition('/')[2]}:{frame.tb_lineno} {code.co_name}")
        frame = frame.tb_next
    return type(error).__name__, places[-8:]


class Unhurried(logging.Handler):
    """Hands lines to a thread that writes them; where that is too far behind, lines are lost and counted."""

    def __init__(self, stream: IO[str], *, most: int = 1_000) -> None:
        super().__init__()
        self._stream, self._lost = stream, 0
        self._lines: Queue[str] = Queue(most)
        Thread(target=self._write, name="octavo-log", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._lines.put_nowait(self.format(record))
        except Full:
            self._lost += 1

    def flush(self) -> None:
        """Waits a moment for what was handed over; a process must be able to end without it."""
        until = time.monotonic() + 1.0
        while self._lines.unfinished_tasks and time.monotonic() < until:
            time.sleep(0.01)

    def _write(self) -> None:
        while True:
            line = self._lines.get()
            with suppress(OSError, ValueError):  # the other end is gone
                if self._lost:
                    lost, self._lost = self._lost, 0
                    self._stream.write(
                        json.dumps({"level": "warning", "message": f"{lost} lines lost"}) + "\n"
                    )
                self._stream.write(f"{line}\n")
                self._stream.flush()
            self._lines.task_done()


def configure(stream: IO[str] | None = None, *, level: int = logging.INFO) -> logging.Handler:
    """Sends what Octavo and its server have to say to `stream`, or standard error, as lines of JSON."""
    handler = logging.StreamHandler(stream) if stream else Unhurried(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("octavo", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level if name == "octavo" else max(level, logging.WARNING))
    for name in ("uvicorn.error", "uvicorn.access"):  # whatever set these up before
        below = logging.getLogger(name)
        below.handlers, below.propagate, below.disabled = [], True, False
        below.setLevel(logging.NOTSET)
    return handler


class RequestLog:
    """The outermost layer: counts and logs each request when its response has ended, however it did."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics
        self._log = logging.getLogger(REQUESTS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, began = 499, time.monotonic()

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except Exception:
            status = 500 if status == 499 else status
            raise
        finally:
            self._note(scope, status, time.monotonic() - began)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "unknown")
        method = str(scope["method"])
        self._metrics.request(method=method, route=route, status=status, seconds=seconds)
        if route in QUIET and status < 400:
            return
        state = scope.get("state", {})
        self._log.info(
            "request",
            extra={
                "request_id": state.get("request_id", ""),
                "method": method[:10],
                "route": route,
                "status": status,
                "ms": round(seconds * 1000),
                "caller": getattr(state.get("caller"), "owner", ""),
            },
        )
