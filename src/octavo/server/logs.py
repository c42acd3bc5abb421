"""The service's log: one line of JSON for each request, and one for each failure.

Files of the page and the widget that are sent as asked are logged at the level DEBUG, as a page has dozens.

A line has the route, the status, the duration and the id of the key, never the key. It has no question, no
text of a book, no path as it was sent and no header, so that logs can be kept and shown. Text that looks like
a secret is redacted wherever it comes from. A thread of its own writes the lines: a pipe that nobody reads
loses lines, and never blocks the service.
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
STATIC = frozenset(("/static/{path:path}", "/widget.js", "/widget.{language}.js"))
_SECRETS = re.compile(
    r"(?i)octv_[\w-]+|\bsk-[\w-]{8,}|bearer\s+[\w.~+/=-]+|(?<=://)[^/\s:@]+:[^@\s]+(?=@)|"
    r"(?:api[_-]?key|password|secret|token)\s*[=:]\s*\S+"
)
_FIELDS = ("request_id", "method", "route", "status", "ms", "caller")


def redact_secrets(text: str) -> str:
    return _SECRETS.sub("***", text)


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON. Of a traceback only places in the code are kept."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": redact_secrets(record.getMessage())[:2_000],
        }
        line |= {name: getattr(record, name) for name in _FIELDS if hasattr(record, name)}
        if record.exc_info and record.exc_info[1] is not None:
            line["error"], line["at"] = _describe_error(record.exc_info[1])
        return json.dumps(line, ensure_ascii=False)


def _describe_error(error: BaseException) -> tuple[str, list[str]]:
    """Return the class of an error and where it was raised, without its message, which may quote a book."""
    places, frame = [], error.__traceback__
    while frame is not None:
        code = frame.tb_frame.f_code
        places.append(f"{code.co_filename.rpartition('/')[2]}:{frame.tb_lineno} {code.co_name}")
        frame = frame.tb_next
    return type(error).__name__, places[-8:]


class BackgroundHandler(logging.Handler):
    """Passes lines to a thread that writes them. When it falls behind, lines are dropped and counted."""

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
        """Wait up to a second for the lines to be written; a process must be able to end without it."""
        until = time.monotonic() + 1.0
        while self._lines.unfinished_tasks and time.monotonic() < until:
            time.sleep(0.01)

    def _write(self) -> None:
        while True:
            line = self._lines.get()
            # The other end may be gone.
            with suppress(OSError, ValueError):
                if self._lost:
                    lost, self._lost = self._lost, 0
                    self._stream.write(
                        json.dumps({"level": "warning", "message": f"{lost} lines lost"}) + "\n"
                    )
                self._stream.write(f"{line}\n")
                self._stream.flush()
            self._lines.task_done()


def configure_logging(stream: IO[str] | None = None, *, level: int = logging.INFO) -> logging.Handler:
    """Send the logs of Octavo and its server to `stream`, or standard error, as lines of JSON."""
    handler = logging.StreamHandler(stream) if stream else BackgroundHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in ("octavo", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level if name == "octavo" else max(level, logging.WARNING))
    # They may have been configured before.
    for name in ("uvicorn.error", "uvicorn.access"):
        child = logging.getLogger(name)
        child.handlers, child.propagate, child.disabled = [], True, False
        child.setLevel(logging.NOTSET)
    return handler


class RequestLogMiddleware:
    """The outermost layer: counts and logs each request when its response has ended, in whatever way."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics
        self._log = logging.getLogger(REQUESTS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, began = 499, time.monotonic()

        async def watch_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watch_status)
        except Exception:
            status = 500 if status == 499 else status
            raise
        finally:
            self._record(scope, status, time.monotonic() - began)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "unknown")
        method = str(scope["method"])
        self._metrics.count_request(method=method, route=route, status=status, seconds=seconds)
        if route in QUIET and status < 400:
            return
        state = scope.get("state", {})
        self._log.log(
            logging.DEBUG if route in STATIC and status < 400 else logging.INFO,
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
