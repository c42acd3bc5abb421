"""A real server in a thread, and a client that says exactly what it is told to say."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI

from octavo.answers.replies import Answerer
from octavo.library import Library
from octavo.records.keys import Key, Keyring
from octavo.server.app import make_app
from octavo.server.run import make_config
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from tests.support.patience import PATIENCE

PROBLEM = "application/problem+json"


@dataclass(frozen=True)
class HttpResponse:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def type(self) -> str:
        return self.headers.get("content-type", "").split(";")[0]

    @property
    def events(self) -> list[tuple[str, Any]]:
        parts = [block.split("\n") for block in self.text.strip().split("\n\n") if not block.startswith(":")]
        return [
            (kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for kind, data in parts
        ]


@dataclass
class RunningService:
    """`key` is sent with every call that does not say otherwise."""

    app: FastAPI
    port: int
    key: str = ""
    folder: Path = field(default_factory=Path)

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpResponse:
        token = self.key if key is None else key
        sent = {"authorization": f"Bearer {token}"} if token else {}
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if data is not None:
            sent["content-type"] = "application/json"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, data, sent | dict(headers or {}))
            response = connection.getresponse()
            shown = {name.lower(): value for name, value in response.getheaders()}
            return HttpResponse(response.status, shown, response.read().decode())
        finally:
            connection.close()

    def get(self, path: str, **more: Any) -> HttpResponse:
        return self.call("GET", path, **more)

    def post(self, path: str, body: object, **more: Any) -> HttpResponse:
        return self.call("POST", path, body, **more)

    def raw(self, said: bytes) -> bytes:
        """What comes back for these very bytes, until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            got = b""
            with suppress(ConnectionError):  # closed with some of it unread; what it said can still be read
                connection.sendall(said)
            with suppress(OSError):  # refused already, and closed
                connection.shutdown(socket.SHUT_WR)
            with suppress(ConnectionError):
                while part := connection.recv(65536):
                    got += part
            return got


@contextmanager
def serve_library(
    folder: Path, *, answerer: Answerer | None = None, host: str = "127.0.0.1", **settings: Any
) -> Iterator[RunningService]:
    """The library in `folder`, served on a free port of this machine as if it listened on `host`."""
    chosen = Settings(data=folder, **settings)
    app = make_app(chosen, embedder=TinyEmbedder(), answerer=answerer, host=host)
    server = uvicorn.Server(make_config(app, host="127.0.0.1", port=0, log=False))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.02)
    assert server.started
    try:
        yield RunningService(app, server.servers[0].sockets[0].getsockname()[1], folder=folder)
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


def create_key(folder: Path, name: str = "a key", **wishes: Any) -> tuple[Key, str]:
    """A key of the library in `folder`, made by another process as far as a server can tell."""
    return asyncio.run(_create_key(folder, name, wishes))


async def _create_key(folder: Path, name: str, wishes: dict[str, Any]) -> tuple[Key, str]:
    async with Library.open(settings=Settings(data=folder), embedder=TinyEmbedder()) as library:
        return await Keyring(library.database).create(name, **wishes)


def revoke_key(folder: Path, key_id: str) -> None:
    async def work() -> None:
        async with Library.open(settings=Settings(data=folder), embedder=TinyEmbedder()) as library:
            await Keyring(library.database).revoke(key_id)

    asyncio.run(work())
