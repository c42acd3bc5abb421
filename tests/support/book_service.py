"""A running service for tests that send books to it: a real server in a thread, and a plain client."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import uvicorn
from fastapi import FastAPI

from octavo.limits import Limits, ServiceLimits
from octavo.protocols import Embedder
from octavo.server.app import make_app
from octavo.server.run import make_config
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from tests.support.answerers import AllSentencesAnswerer
from tests.support.patience import PATIENCE, wait_until

BOUNDARY = "a-line-that-no-book-has"
MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"
ENDS = ("done", "failed", "cancelled")
Json = dict[str, Any]


@dataclass(frozen=True)
class ServiceResponse:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json["code"])


def make_form(data: bytes, *, name: str = "tides.md", **fields: str) -> bytes:
    """The body of an upload."""
    parts = [f'name="{field}"\r\n\r\n{value}'.encode() for field, value in fields.items()]
    parts.append(f'name="file"; filename="{name}"\r\ncontent-type: text/markdown\r\n\r\n'.encode() + data)
    lines = [f"--{BOUNDARY}\r\ncontent-disposition: form-data; ".encode() + part + b"\r\n" for part in parts]
    return b"".join(lines) + f"--{BOUNDARY}--\r\n".encode()


@dataclass
class Service:
    app: FastAPI
    port: int
    data: Path

    def call(
        self, method: str, path: str, body: bytes | None = None, *, headers: Mapping[str, str] | None = None
    ) -> ServiceResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            return ServiceResponse(
                response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()
            )
        finally:
            connection.close()

    def get(self, path: str, **query: object) -> ServiceResponse:
        return self.call("GET", f"{path}?{urlencode(query)}" if query else path)

    def post(self, path: str, body: object, **headers: str) -> ServiceResponse:
        given = {"content-type": "application/json"} | {k.replace("_", "-"): v for k, v in headers.items()}
        return self.call("POST", path, json.dumps(body).encode(), headers=given)

    def send(
        self, data: bytes, *, name: str = "tides.md", key: str | None = None, **fields: str
    ) -> ServiceResponse:
        headers = {"content-type": MULTIPART} | ({"idempotency-key": key} if key else {})
        return self.call("POST", "/v1/books", make_form(data, name=name, **fields), headers=headers)

    def raw(self, head: str, *pieces: bytes) -> bytes:
        """What comes back for bytes that no client library would send."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as line:
            line.sendall(head.replace("\n", "\r\n").encode() + b"\r\n")
            try:
                for piece in pieces:
                    line.sendall(piece)
            except OSError:
                pass  # the server has closed its side
            answer = b""
            try:
                while piece := line.recv(65_536):
                    answer += piece
            except OSError:
                pass
            return answer

    def ended(self, job_id: str) -> Json:
        """The job when it has ended."""
        wait_until(lambda: self.job(job_id)["state"] in ENDS)
        return self.job(job_id)

    def job(self, job_id: str) -> Json:
        found: Json = self.get(f"/v1/jobs/{job_id}").json
        return found

    def taken_in(self, data: bytes, *, name: str = "tides.md", **fields: str) -> Json:
        """The job of a book that was sent and read."""
        return self.ended(self.send(data, name=name, **fields).json["job"]["job_id"])

    def events(self, path: str) -> list[tuple[str, Json]]:
        """All events of a stream, to its end."""
        text = self.call("GET", path, headers={"accept": "text/event-stream"}).body.decode()
        blocks = [block for block in text.split("\n\n") if block.startswith("event: ")]
        lines = (block.split("\n", 1) for block in blocks)
        return [(kind[7:], json.loads(data.removeprefix("data: "))) for kind, data in lines]

    def left(self) -> list[str]:
        """What lies in the folder of uploads."""
        folder = self.data / "uploads"
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


@contextmanager
def serve_books(
    data: Path,
    *,
    embedder: Embedder | None = None,
    service: ServiceLimits | None = None,
    limits: Limits | None = None,
    free_space_mb: int = 0,
    keys: bool = False,
) -> Iterator[Service]:
    settings = Settings(
        data=data,
        service=service or ServiceLimits(),
        limits=limits or Limits(),
        free_space_mb=free_space_mb,
        keys_required=keys,
    )
    app = make_app(settings, embedder=embedder or TinyEmbedder(), answerer=AllSentencesAnswerer())
    server = uvicorn.Server(make_config(app, host="127.0.0.1", port=0))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.02)
    assert server.started, "the service did not start"
    try:
        yield Service(app, server.servers[0].sockets[0].getsockname()[1], data)
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
