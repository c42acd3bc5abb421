"""Run the service: limits on connections, and a shutdown that finishes what has begun.

At the first SIGTERM or Ctrl-C the service refuses new requests and waits for those in progress. Streams that
are still open when the time is over end with an event that says so. A second signal stops at once.

The head of a request may have 64 kB and take twenty seconds; an idle connection is closed after the same
time. Trailers after a body count like a head. One address may hold so many connections; those of this machine
and of trusted proxies are not counted, since they stand for many clients. What is not HTTP, or too much of
it, is refused with a problem document, and the connection is closed. So is a request on a connection for
which the process has no file descriptors left: the library needs some too. `/healthz` is answered even then:
the process does run. The protocol is our own subclass because uvicorn's fast parser has no such limits, and
its slow one cannot respond with a problem document.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import os
import time
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from socket import socket
from types import FrameType
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from octavo.limits import LEAST_FILES, count_allowed_files
from octavo.server.auth import is_listed, is_loopback, normalise_address

if TYPE_CHECKING:
    from octavo.server.load import Load

DRAIN_SECONDS = 10.0
FAREWELL_SECONDS = 1.0
"""How long streams have to send their last event."""


class DrainingServer(uvicorn.Server):
    """A server that finishes what it has begun. It calls `announce` with the port once it listens."""

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
            # What is loaded now stays: the collector need not scan it again.
            gc.freeze()
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
            self.should_exit = (
                self.should_exit
                or not (self._load.working or self._load.uploading)
                or late >= FAREWELL_SECONDS
            )
        return await super().on_tick(counter)


def run_in_loop(main: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine in the kind of event loop that the server would choose for itself."""
    with asyncio.Runner(loop_factory=uvicorn.Config("").get_loop_factory()) as runner:
        runner.run(main)


HEAD_MOST = 64 * 1024
HEAD_SECONDS = 20.0
LEAST_CONNECTIONS, EXTRA_CONNECTIONS = 4, 8
"""Connections that are always accepted; and those beyond the limit that are told why they are refused."""
FEW = 200
_NUMBERS = itertools.count()
REFUSED_SECONDS = 1.0


def find_connection_limit() -> int:
    """Find how many connections the file descriptors of this process suffice for."""
    return max(LEAST_CONNECTIONS, count_allowed_files() - LEAST_FILES)


def make_config(app: Any, *, host: str, port: int, log: bool = True, per_address: int = 64) -> uvicorn.Config:
    """Make the configuration for `port` or, for 0, a free one."""

    class LimitedConnection(HttpConnection):
        most = find_connection_limit()
        most_per_address = per_address

    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http=LimitedConnection,
        ws="none",
        log_config=None,
        log_level=None if log else "critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
    )


class HttpConnection(HttpToolsProtocol):
    """One client's connection, with limits on the head of its requests."""

    head_seconds = HEAD_SECONDS
    # Connections at once, in all and from one address.
    most = most_per_address = 1_000_000
    # Bytes of the head, without those that came in one piece with its beginning.
    _head = 0
    _within_head = _just_begun = _too_long = _is_over_limit = _from_crowd = _asks_health = False
    # Bytes of trailers; and whether the line before a chunk has come, after which trailers may follow.
    _trailers, _after_chunk_line = 0, False
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._number = next(_NUMBERS)
        super().connection_made(transport)
        self._from_crowd = self._is_one_too_many_of_its_address()
        self._is_over_limit = self._from_crowd or len(self.connections) > self.most
        if self._is_over_limit:
            self._make_room_for_a_refusal()
        self._start_timer()

    def _is_one_too_many_of_its_address(self) -> bool:
        if self.client is None or is_loopback(self.client[0]) or self._is_trusted_proxy(self.client[0]):
            return False
        address = normalise_address(self.client)
        others = (each for each in self.connections if isinstance(each, HttpConnection))
        same = sum(each.client is not None and normalise_address(each.client) == address for each in others)
        return same > self.most_per_address

    def _is_trusted_proxy(self, host: str) -> bool:
        trusted = self.config.forwarded_allow_ips or os.environ.get("FORWARDED_ALLOW_IPS", "")
        return is_listed(host, trusted.split(",") if isinstance(trusted, str) else trusted)

    def _make_room_for_a_refusal(self) -> None:
        """Close the oldest of the connections over the limit, so that the newest gets an answer."""
        refused = [c for c in self.connections if isinstance(c, HttpConnection) and c._is_over_limit]
        if len(refused) > EXTRA_CONNECTIONS:
            min(refused, key=lambda each: each._number).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        was_after_chunk_line = self._after_chunk_line
        super().data_received(data)
        if self.transport.is_closing():
            return
        if was_after_chunk_line and self._after_chunk_line:
            # A trailer without an end.
            self._trailers += len(data)
            if self._trailers > HEAD_MOST:
                self._too_long = True
                self.send_400_response("")
                return
        if self._within_head:
            self._head += 0 if self._just_begun else len(data)
            self._just_begun = False
            if self._head > HEAD_MOST:
                self._too_long = True
                self.send_400_response("")
                return
        if self._within_head or self.cycle is None or self.cycle.response_complete:
            self._start_timer()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head, self._within_head, self._just_begun = 0, True, True
        self._trailers, self._after_chunk_line = 0, False

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._within_head:
            super().on_header(name, value)
            return
        # Nothing reads trailers, so they are counted and dropped.
        self._trailers += len(name) + len(value) + 4
        if self._trailers > HEAD_MOST:
            self._too_long = True
            raise ValueError("the trailers of this request are too long")

    def on_chunk_header(self) -> None:
        self._after_chunk_line = True

    def on_body(self, body: bytes) -> None:
        self._after_chunk_line = False
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._after_chunk_line = False
        super().on_message_complete()

    def on_headers_complete(self) -> None:
        self._within_head = False
        self._stop_timer()
        if self._is_over_limit:
            self._asks_health = self.url.partition(b"?")[0] == b"/healthz"
            raise ValueError("there are too many connections")
        length = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if length > HEAD_MOST:
            self._too_long = True
            # The parser stops, and refuses the request.
            raise ValueError("the head of this request is too long")
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            # A second response in the middle of the first would be read as a part of that.
            self.transport.close()
            return
        status, code, said, more = self._describe_refusal()
        problem = {"type": "about:blank", "title": status.phrase, "status": int(status)}
        body, kind = json.dumps({**problem, "code": code, "detail": said}), "application/problem+json"
        if self._asks_health:
            status, body, kind, more = HTTPStatus.OK, json.dumps({"status": "ok"}), "application/json", ""
        head = (
            f"HTTP/1.1 {int(status)} {status.phrase}\r\ncontent-type: {kind}\r\n{more}"
            f"content-length: {len(body)}\r\nx-content-type-options: nosniff\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(f"{head}{body}".encode("ascii"))
        self.transport.close()

    def _describe_refusal(self) -> tuple[HTTPStatus, str, str, str]:
        """Describe why a request is refused: status, code, text and headers."""
        if self._from_crowd:
            said = f"{self.most_per_address} connections of this address are open already; close some"
            return HTTPStatus.TOO_MANY_REQUESTS, "too_many", said, "retry-after: 1\r\n"
        if self._is_over_limit:
            said = "the service has as many connections as it can hold; try again in a second"
            return HTTPStatus.SERVICE_UNAVAILABLE, "overloaded", said, "retry-after: 1\r\n"
        if self._too_long:
            status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            said = f"the head of the request, or its trailers, have more than {HEAD_MOST // 1024} kB"
            return status, status.name.lower(), said, ""
        said = "this is not an HTTP request"
        return HTTPStatus.BAD_REQUEST, "bad_request", said, ""

    def _start_timer(self) -> None:
        if self._timer is None:
            seconds = min(REFUSED_SECONDS, self.head_seconds) if self._is_over_limit else self.head_seconds
            self._timer = self.loop.call_later(seconds, self._time_out)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_out(self) -> None:
        self._timer = None
        self.transport.close()
