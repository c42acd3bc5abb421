"""How the service stops: what is running is finished, nothing new begins, and it ends in time.

At the first SIGTERM or Ctrl-C the service tells newcomers to go elsewhere and waits for the requests that are
being worked on. Streams that are still open when the time is over end with an event that says so. A second
signal stops at once.

The connections of the service: how much a client may say, and how slowly, before its request is one.

The parser that is quick has no limits of its own: it would take a header of any length, at any pace. Here the
head of a request has 64 kB and twenty seconds, and a connection on which nothing is asked has as long. What
is no HTTP, or too much of it, is refused with a problem document as everything is, and the connection ends.
So is a request on one connection more than the process has file descriptors for: the library needs some too.
"""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import Callable
from http import HTTPStatus
from socket import socket
from types import FrameType
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from octavo.limits import LEAST_FILES, count_allowed_files

if TYPE_CHECKING:
    from octavo.server.load import Load

DRAIN_SECONDS = 10.0
FAREWELL_SECONDS = 1.0
"""For streams to send their last event."""


class Draining(uvicorn.Server):
    """A server that finishes what it has begun. `announce` is told the port once it listens."""

    def __init__(
        self,
        config: uvicorn.Config,
        load: Load,
        *,
        seconds: float = DRAIN_SECONDS,
        announce: Callable[[int], None] = lambda _: None,
    ) -> None:
        super().__init__(config)
        self._load, self._seconds, self._announce = load, seconds, announce
        self._until: float | None = None

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            gc.collect()
            gc.freeze()  # what is there now stays: it need not be looked through again and again
            self._announce(self.servers[0].sockets[0].getsockname()[1])

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self._until is not None:
            self.should_exit = self.force_exit = True
            return
        self._load.draining = True
        self._until = time.monotonic() + self._seconds

    async def on_tick(self, counter: int) -> bool:
        if self._until is not None:
            late = time.monotonic() - self._until
            if late >= 0:
                self._load.closing.set()
            self.should_exit = self.should_exit or not self._load.working or late >= FAREWELL_SECONDS
        return await super().on_tick(counter)


HEAD_MOST = 64 * 1024
HEAD_SECONDS = 20.0
LEAST_ROOM, BEYOND = 4, 8
"""Connections that there is always room for; and those beyond the room that are told why they are refused."""
FEW = 200
REFUSED_SECONDS = 1.0


def room() -> int:
    """How many connections the file descriptors of this process are enough for."""
    return max(LEAST_ROOM, count_allowed_files() - LEAST_FILES)


def config_of(app: Any, *, host: str, port: int, log: bool = True) -> uvicorn.Config:
    """How the service listens, on `port` or, for 0, on a free one."""

    class Bounded(Connection):
        most = room()

    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http=Bounded,
        ws="none",
        log_config=None,
        log_level=None if log else "critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
    )


class Connection(HttpToolsProtocol):
    """One client's connection, which must come to the point."""

    head_seconds = HEAD_SECONDS
    most = 1_000_000  # connections at once
    _head = 0  # bytes of it, without those that came in one piece with its beginning
    _within_head = _just_begun = _too_long = _crowded = False
    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._crowded = len(self.connections) > self.most
        if len(self.connections) > self.most + BEYOND:
            transport.close()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._waited()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._within_head:
            self._head += 0 if self._just_begun else len(data)
            self._just_begun = False
            if self._head > HEAD_MOST:
                self._too_long = True
                self.send_400_response("")
                return
        if self._within_head or self.cycle is None or self.cycle.response_complete:
            self._wait()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head, self._within_head, self._just_begun = 0, True, True

    def on_headers_complete(self) -> None:
        self._within_head = False
        self._waited()
        if self._crowded:
            raise ValueError("there are too many connections")
        length = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if length > HEAD_MOST:
            self._too_long = True
            raise ValueError("the head of this request is too long")  # the parser stops, and refuses it
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        status, code, said, more = self._refusal()
        told = {"type": "about:blank", "title": status.phrase, "status": int(status)}
        body = json.dumps({**told, "code": code, "detail": said})
        head = (
            f"HTTP/1.1 {int(status)} {status.phrase}\r\ncontent-type: application/problem+json\r\n{more}"
            f"content-length: {len(body)}\r\nx-content-type-options: nosniff\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(f"{head}{body}".encode("ascii"))
        self.transport.close()

    def _refusal(self) -> tuple[HTTPStatus, str, str, str]:
        """The status, its code, what is said, and headers."""
        if self._crowded:
            said = "the service has as many connections as it can hold: try again in a moment"
            return HTTPStatus.SERVICE_UNAVAILABLE, "overloaded", said, "retry-after: 1\r\n"
        if self._too_long:
            status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            said = f"this cannot be read: its head has more than {HEAD_MOST // 1024} kB"
            return status, status.name.lower(), said, ""
        said = "this cannot be read: it is no HTTP request"
        return HTTPStatus.BAD_REQUEST, "bad_request", said, ""

    def _wait(self) -> None:
        if self._patience is None:
            seconds = min(REFUSED_SECONDS, self.head_seconds) if self._crowded else self.head_seconds
            self._patience = self.loop.call_later(seconds, self._enough)

    def _waited(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _enough(self) -> None:
        self._patience = None
        self.transport.close()
