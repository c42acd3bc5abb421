"""The service as a part of somebody's own app."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from starlette.testclient import TestClient

from octavo.server.app import make_app
from octavo.settings import Settings
from octavo.testing import TinyEmbedder


def test_a_mounted_service_works_when_its_lifespan_is_run_and_says_so_otherwise(tmp_path: Path) -> None:
    books = make_app(Settings(data=tmp_path), embedder=TinyEmbedder(), host="127.0.0.1")

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with books.router.lifespan_context(books):
            yield

    own = FastAPI(lifespan=lifespan)
    own.mount("/books", books)
    address = "http://127.0.0.1"
    forgot = TestClient(own, base_url=address, client=("127.0.0.1", 1)).get("/books/v1/books")
    assert forgot.status_code == 500
    assert "lifespan_context" in forgot.json()["hint"]
    with TestClient(own, base_url=address, client=("127.0.0.1", 1)) as client:
        assert client.get("/books/v1/books").json() == {"books": [], "next": None}
        assert client.get("/books/v1/books", headers={"origin": "https://a.example"}).status_code == 200
