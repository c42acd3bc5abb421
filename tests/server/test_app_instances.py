"""Two servers over real HTTP, one PostgreSQL, one Qdrant-protocol server: whichever is asked, one library."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from octavo.errors import BadBook, LibraryBusy
from octavo.ingest.context import LibraryContext as OpenShelf
from octavo.ingest.edition import identify, make_fingerprint, prepare_edition
from octavo.library import Library
from octavo.maintenance.repair import find_difference
from octavo.readers.sandbox import parse
from octavo.records.options import BookOptions
from octavo.server.app import make_app
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from tests.support import small_books
from tests.support.answerers import AllSentencesAnswerer
from tests.support.patience import PATIENCE, wait_until
from tests.support.postgres import PostgresDatabase
from tests.support.qdrant_server import QdrantServer

LOST = "How many boats were lost?"


@pytest.fixture(scope="module")
def qdrant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QdrantServer]:
    with QdrantServer(tmp_path_factory.mktemp("qdrant")) as running:
        yield running


def settings(
    tmp_path: Path, name: str, postgres_db: PostgresDatabase, qdrant: QdrantServer | None
) -> Settings:
    """One instance: a folder of its own, everything else shared."""
    url = "" if qdrant is None else qdrant.url
    collection = f"c-{tmp_path.name}"[:60]
    return Settings(data=tmp_path / name, records_url=postgres_db.url, store_url=url, collection=collection)


@contextmanager
def served(chosen: Settings) -> Iterator[httpx.Client]:
    app = make_app(chosen, embedder=TinyEmbedder(), answerer=AllSentencesAnswerer("boats"))
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.02)
        port = server.servers[0].sockets[0].getsockname()[1]
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


def uploaded(client: httpx.Client, path: Path) -> dict[str, Any]:
    """The job of a book that was sent in, when it is done."""
    answer = client.post("/v1/books", files={"file": (path.name, path.read_bytes())})
    assert answer.status_code == 202, answer.text
    job: dict[str, Any] = answer.json()["job"]
    where = f"/v1/jobs/{job['job_id']}"
    wait_until(lambda: client.get(where).json()["state"] not in ("queued", "running"))
    job = client.get(where).json()
    assert job["state"] == "done", job
    return job


def found(client: httpx.Client, query: str) -> list[str]:
    answer = client.post("/v1/search", json={"query": query, "top_k": 10})
    assert answer.status_code == 200, answer.text
    return [result["content"] for result in answer.json()["results"]]


def test_two_servers_are_one_library(
    tmp_path: Path, postgres_db: PostgresDatabase, qdrant: QdrantServer
) -> None:
    book = small_books.write_markdown(tmp_path / "tides.md")
    storm = {**small_books.TIDES, "Storm": "A storm sank nine boats off the southern shoals that night."}
    here, there = (settings(tmp_path, name, postgres_db, qdrant) for name in ("one", "two"))
    with served(here) as one, served(there) as two:  # each is left the books that it was sent
        assert found(two, "boats lost in the storm") == []
        uploaded(one, book)
        assert any("Seven boats" in text for text in found(two, "boats lost in the storm"))

        first = one.post("/v1/ask", json={"question": LOST, "session_id": "talk"}).json()
        assert first["status"] == "completed"
        then = two.post("/v1/ask", json={"question": LOST, "session_id": "talk"}).json()
        assert then["answer"] == first["answer"]
        for client in (one, two):
            turns = client.get("/v1/sessions/talk").json()["turns"]
            assert [t["answer_id"] for t in turns] == [first["answer_id"], then["answer_id"]]
            assert client.get(f"/v1/answers/{first['answer_id']}/verification").json()["true"] is True

        uploaded(two, small_books.write_markdown(tmp_path / "tides.md", storm))
        texts = found(one, "boats sank in the storm")
        assert any("nine boats" in text for text in texts)
        assert not any("Seven boats" in text for text in texts), "the old edition is gone everywhere"

        (kept,) = one.get("/v1/books").json()["books"]
        assert one.delete(f"/v1/books/{kept['id']}").status_code in (200, 204)
        assert found(two, "boats sank in the storm") == []
        refused = two.post("/v1/ask", json={"question": LOST}).json()
        assert refused["refusal"]["reason"] == "empty_library"
        assert refused["evidence"] == []

        nul = [two.get(f"/v1/{what}/a%00b").status_code for what in ("answers", "sessions", "books", "jobs")]
        assert all(400 <= status < 500 for status in nul), "PostgreSQL takes no NUL: the caller is told"


def library(chosen: Settings) -> Any:
    return Library.open(settings=chosen, embedder=TinyEmbedder(), answerer=AllSentencesAnswerer("boats"))


async def test_the_same_book_added_by_both_at_once_is_there_once(
    tmp_path: Path, postgres_db: PostgresDatabase, qdrant: QdrantServer
) -> None:
    book = small_books.write_markdown(tmp_path / "tides.md")
    other = small_books.write_markdown(
        tmp_path / "log.md", {"Day": "We saw no land today."}, title="The Tides"
    )
    async with (
        library(settings(tmp_path, "one", postgres_db, qdrant)) as one,
        library(settings(tmp_path, "two", postgres_db, qdrant)) as two,
    ):
        added = await asyncio.gather(one.add(book), two.add(book), one.add(other), two.add(other))
        assert len({b.id for b in added}) == 2
        assert len(await two.books()) == 2
        assert await one._records.list_pending() == []
        assert not await find_difference(await two._context())


async def test_opening_leaves_alone_what_another_instance_is_working_on(
    tmp_path: Path, postgres_db: PostgresDatabase, qdrant: QdrantServer
) -> None:
    book = small_books.write_markdown(tmp_path / "tides.md")
    async with library(settings(tmp_path, "one", postgres_db, qdrant)) as one:
        seen: list[bool] = []

        async def watch() -> None:
            async with library(settings(tmp_path, "two", postgres_db, qdrant)) as two:
                await two.prepare()
                seen.append(bool(await two._records.list_pending()))
                assert await two.search("boats lost in the storm") == []

        async with one._changes() as held:
            number = await _begun(held, book)
            await watch()
            await one._records.abandon("the-tides", number)
        assert seen == [True], "the edition on its way was not dropped by the second opening"
        await one.add(book)
        assert not await find_difference(await one._context())


async def _begun(held: OpenShelf, book: Path) -> int:
    """An edition that is on its way in, as far as the records go."""
    parsed = await parse(book, held.settings.limits)
    fingerprint = make_fingerprint(held.settings, held.embedder)
    identity = await identify(
        parsed, book.name, options=BookOptions(), records=held.records, fingerprint=fingerprint
    )
    made = prepare_edition(parsed, identity, embedder=held.embedder, settings=held.settings)
    return await held.records.begin_edition(
        made.book,
        words_hash=made.words_hash,
        sections=made.sections,
        chunks=made.chunks,
        vector_keys=made.vector_keys,
    )


async def test_a_store_in_ones_own_folder_does_not_go_with_records_that_others_use(
    tmp_path: Path, postgres_db: PostgresDatabase, qdrant: QdrantServer
) -> None:
    async with library(settings(tmp_path, "one", postgres_db, None)) as one:
        with pytest.raises(BadBook):  # what PostgreSQL does not take is stopped at the door
            await one.add(
                small_books.write_markdown(tmp_path / "nul.md", {"Nets": "The nets\0 were mended."})
            )
        await one.add(small_books.write_markdown(tmp_path / "tides.md"))
        assert await one.search("boats lost in the storm")
        async with library(settings(tmp_path, "two", postgres_db, None)) as two:
            assert len(await two.books()) == 1, "the catalogue can be looked at"
            for _ in range(2):
                with pytest.raises(LibraryBusy, match="this one has its store in its own folder") as busy:
                    await two.search("boats")
                assert "OCTAVO_STORE_URL" in busy.value.hint
        async with library(settings(tmp_path, "three", postgres_db, qdrant)) as three:
            with pytest.raises(LibraryBusy, match="that one has its store in its own folder"):
                await three.search("boats")
    async with library(settings(tmp_path, "one", postgres_db, None)) as again:
        await again.prepare()
        assert not again.repaired, "the store was left sealed"
        assert not await find_difference(await again._context())
