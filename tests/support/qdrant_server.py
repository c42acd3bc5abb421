"""A small Qdrant server for tests: real HTTP on this machine, the real engine behind it, faults on demand.

It speaks the REST routes that Octavo uses and keeps each collection in a Qdrant Edge shard, in a folder, so
that it can be stopped and started again with its points in it. `faults` are used up one by one by the
requests that they fit: an error status, a pause, a connection that is cut before or after the work was done,
a batch of which only half was applied. What it does not prove: validation by a real server, clusters, gRPC.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import unquote, urlsplit

from tests.support.qdrant_collections import Collections, Refused

Kind = Literal["status", "slow", "cut", "lost", "half"]
_WRITES = re.compile(r"(PUT|DELETE|PATCH) |POST .*/points/(delete|payload|vectors|batch)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Happens to the next request whose "METHOD /path" holds `to`.

    "status" answers with `status` and does nothing; "slow" waits `seconds` first; "cut" hangs up without
    doing anything; "lost" does it and hangs up; "half" applies half of the points and answers 500.
    """

    kind: Kind
    to: str = ""
    status: int = 503
    seconds: float = 0.0
    retry_after: int | None = None
    said: str = "made to fail by the test"


@dataclass(slots=True)
class _ServerState:
    """What the threads of one server share."""

    collections: Collections
    key: str
    faults: list[Fault] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def fault_for(self, request: str) -> Fault | None:
        with self.lock:
            self.requests.append(request)
            fits = next((fault for fault in self.faults if fault.to in request), None)
            if fits is not None:
                self.faults.remove(fits)
            return fits


class QdrantServer:
    """Runs between `start` and `stop`, or as a context manager; its points stay in `folder`."""

    def __init__(self, folder: Path, *, key: str = "") -> None:
        self._folder, self._key = folder, key
        self._port = 0
        self._desk: _ServerState | None = None
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The same after a restart."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def requests(self) -> list[str]:
        """Every request so far, as "METHOD /path"."""
        return list(self._open_desk.requests)

    @property
    def writes(self) -> list[str]:
        """Those that could have changed anything."""
        return [request for request in self.requests if _WRITES.match(request)]

    def fail(self, *faults: Fault) -> None:
        """These happen once each, in this order, to the next requests that they fit."""
        self._open_desk.faults.extend(faults)

    def take_away(self, collection: str, *peers: int) -> None:
        """Says from now on that the copies of a collection on these other servers are dead."""
        (self._folder / collection / "dead.json").write_text(json.dumps(peers), encoding="utf-8")

    def start(self) -> Self:
        self._desk = _ServerState(Collections(self._folder), self._key)
        self._server = _Server(("127.0.0.1", self._port), self._desk)
        self._port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Hangs up on everybody and closes the collections. Calling it again does nothing."""
        server, self._server = self._server, None
        if server is not None and self._thread is not None:
            server.shutdown()
            server.hang_up()
            server.server_close()
            self._thread.join()
            self._open_desk.collections.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def _open_desk(self) -> _ServerState:
        if self._desk is None:
            raise RuntimeError("start the server first")
        return self._desk


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = True

    def __init__(self, address: tuple[str, int], desk: _ServerState) -> None:
        self.desk = desk
        self._open: set[socket.socket] = set()
        super().__init__(address, _RequestHandler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # it was closed meanwhile

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is no news."""


class _RequestHandler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        began, parts = time.perf_counter(), urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        said = json.loads(body) if body else {}
        desk = self.server.desk
        fault = desk.fault_for(f"{self.command} {parts.path}")
        if fault is not None and fault.kind == "slow":
            time.sleep(fault.seconds)
        kind = None if fault is None else fault.kind
        if kind == "cut":
            self._cut()
            return
        if fault is not None and kind == "status":
            self._send(fault.status, {"error": fault.said}, fault.retry_after)
            return
        status, result = self._work(unquote(parts.path), said, half=kind == "half")
        if kind == "lost":
            self._cut()
        elif kind == "half":
            self._send(500, {"error": "half of it was applied"})
        elif status == 200:
            # A server says its version without the envelope that other responses have.
            bare = unquote(parts.path) == "/"
            envelope = {"result": result, "status": "ok", "time": time.perf_counter() - began}
            self._reply(200, result if bare else envelope)
        else:
            self._send(status, result)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _answer  # noqa: N815 - the names http.server calls

    def _work(self, path: str, said: Mapping[str, Any], *, half: bool) -> tuple[int, Any]:
        desk = self.server.desk
        if desk.key and self.headers.get("api-key") != desk.key:
            return 401, {"error": "Invalid API key or JWT"}
        try:
            with desk.lock:
                return 200, desk.collections.answer(self.command, path, said, half=half)
        except Refused as refused:
            return refused.status, {"error": refused.said}

    def _cut(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _send(self, status: int, said: Any, retry_after: int | None = None) -> None:
        self._reply(status, {"result": None, "status": said, "time": 0.0}, retry_after)

    def _reply(self, status: int, said: Any, retry_after: int | None = None) -> None:
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if retry_after is not None:
            self.send_header("Retry-After", str(retry_after))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: tests read `requests`."""
