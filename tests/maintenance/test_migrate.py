"""A library moves to servers and back, whole: the same answers, the same records, and a source as it was."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from octavo.errors import InvalidValue, LibraryBusy, RecordsError, StoreError
from octavo.library import Library
from octavo.maintenance.migrate import EMBEDDED, migrate_library
from octavo.protocols import StoreHits
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from octavo.types import Scope
from tests.support.answerers import AllSentencesAnswerer
from tests.support.postgres import PostgresDatabase
from tests.support.qdrant_server import Fault, QdrantServer
from tests.support.small_books import TIDES, write_markdown

QUERIES = ("the lamp of the lighthouse", "boats lost in a storm", "ledger bound in red", "gulls")
_EVERYWHERE = Scope()
UPSERT = "PUT /collections/ai_book_embedding/points"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[QdrantServer]:
    with QdrantServer(tmp_path / "qdrant") as running:
        yield running


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Library]:
    answerer = AllSentencesAnswerer("lighthouse")
    async with Library.open(settings=settings, embedder=TinyEmbedder(), answerer=answerer) as library:
        yield library


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two books, one of them in its second edition, and a conversation about them; made once."""
    folder = tmp_path_factory.mktemp("template")
    longer = TIDES | {"Evening": "The tide went out again."}

    async def make() -> None:
        async with opened(Settings(data=folder / "library", free_space_mb=0)) as library:
            await library.add(write_markdown(folder / "tides.md"))
            await library.add(write_markdown(folder / "tides.md", longer))
            await library.add(
                write_markdown(folder / "logs.md", {"Log": "A log of ropes and sails."}, title="Logs")
            )
            session = await library.session()
            answer = await library.ask("Who keeps the lighthouse?", session_id=session.session_id)
            assert answer.citations

    asyncio.run(make())
    return folder / "library"


@pytest.fixture
def home(template: Path, tmp_path: Path) -> Settings:
    """A copy of it for the test alone, in its folder."""
    copy = ["cp", "-a", "--sparse=always", str(template), str(tmp_path / "library")]
    subprocess.run(copy, check=True)
    return Settings(data=tmp_path / "library", free_space_mb=0)


async def found(settings: Settings) -> list[StoreHits]:
    """What both halves of the search find, scores included."""
    async with opened(settings) as library:
        assert not library.repaired
        postgres_db = await library._context()
        assert not library.repaired
        vectors = postgres_db.embedder.embed(QUERIES)
        bounds = (await library._scope.resolve(_EVERYWHERE)).where
        retriever = library._get_retriever(postgres_db)
        words = [await retriever.weigh_words(text) for text in QUERIES]
        return [
            await postgres_db.store.search(vector, weights, where=bounds, limit=9)
            for vector, weights in zip(vectors, words, strict=True)
        ]


def state_of(folder: Path) -> dict[str, str]:
    """The library's files, but for those that every opening touches."""
    passing = ("octavo.lock", "-wal", "-shm")
    files = (file for file in folder.rglob("*") if file.is_file() and not file.name.endswith(passing))
    return {str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def rows(file: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table, but for the notes that are about one place."""
    other = sqlite3.connect(file)
    try:
        tables = [name for (name,) in other.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        said = {name: sorted(other.execute(f"SELECT * FROM {name}").fetchall(), key=repr) for name in tables}
    finally:
        other.close()
    said["meta"] = [row for row in said["meta"] if row[0] not in ("store seal", "changes")]
    return said


async def test_chunks_move_to_a_server_and_are_found_there_as_before(
    tmp_path: Path, home: Settings, server: QdrantServer
) -> None:
    before = await found(home)
    untouched = state_of(home.data)
    steps: list[tuple[str, int, int]] = []
    moved = await migrate_library(home, to=server.url, on_step=lambda *step: steps.append(step))
    assert (moved.chunks, moved.written, moved.tables, moved.source_differs) == (6, 6, {}, "")
    assert moved.settings == {"OCTAVO_STORE_URL": server.url, "OCTAVO_RECORDS_URL": ""}
    assert steps == [("chunks", 6, 6)]
    assert state_of(home.data) == untouched
    assert await found(home.model_copy(update={"store_url": server.url})) == before


async def test_moving_again_writes_nothing_and_verifies_all(
    tmp_path: Path, home: Settings, server: QdrantServer
) -> None:
    await migrate_library(home, to=server.url)
    before = len(server.writes)
    moved = await migrate_library(home, to=server.url)
    assert (moved.chunks, moved.written) == (6, 0)
    assert server.writes[before:] == []


async def test_a_move_that_breaks_off_goes_on_where_it_stopped(
    tmp_path: Path, home: Settings, server: QdrantServer
) -> None:
    server.fail(Fault(kind="slow", to=UPSERT), *[Fault(kind="status", to=UPSERT)] * 5)
    with pytest.raises(StoreError, match="did not store the chunks"):
        await migrate_library(home, to=server.url)
    moved = await migrate_library(home, to=server.url)
    assert (moved.chunks, moved.written) == (6, 5), "the first book was there already"


async def test_a_library_comes_back_from_the_server(
    tmp_path: Path, home: Settings, server: QdrantServer
) -> None:
    await migrate_library(home, to=server.url)
    shutil.rmtree(home.data / "store")
    there = home.model_copy(update={"store_url": server.url})
    before = await found(there)
    moved = await migrate_library(there, to=EMBEDDED)
    assert (moved.chunks, moved.written) == (6, 6)
    assert moved.settings == {"OCTAVO_STORE_URL": "", "OCTAVO_RECORDS_URL": ""}
    assert await found(home) == before


async def test_records_move_to_postgresql_and_back_without_losing_a_row(
    tmp_path: Path, home: Settings, server: QdrantServer, postgres_db: PostgresDatabase
) -> None:
    before = await found(home)
    records = rows(home.data / "records.sqlite")
    moved = await migrate_library(home, to=server.url, records=postgres_db.url)
    assert moved.tables["books"] == 2
    assert moved.tables["editions"] == 3
    assert moved.tables["answers"] == moved.tables["sessions"] == 1
    assert (moved.tables["chunks"], moved.chunks) == (6, 6)
    assert rows(home.data / "records.sqlite") == records
    there = home.model_copy(update={"store_url": server.url, "records_url": postgres_db.url})
    assert await found(there) == before
    async with opened(there) as library:
        assert all(verdict.true for verdict in await library.verify())
        assert all(finding.sound for finding in await library.examine())

    back = there.model_copy(update={"data": tmp_path / "back"})
    returned = await migrate_library(back, to=EMBEDDED, records=EMBEDDED)
    assert returned.tables == moved.tables
    assert rows(tmp_path / "back" / "records.sqlite") == records
    assert await found(home.model_copy(update={"data": tmp_path / "back"})) == before


async def test_records_that_are_there_already_are_recognised(
    tmp_path: Path, home: Settings, server: QdrantServer, postgres_db: PostgresDatabase
) -> None:
    first = await migrate_library(home, to=server.url, records=postgres_db.url)
    again = await migrate_library(home, to=server.url, records=postgres_db.url)
    assert again.tables == first.tables
    assert again.written == 0


async def test_a_database_with_other_records_is_refused_and_left_alone(
    tmp_path: Path, home: Settings, server: QdrantServer, postgres_db: PostgresDatabase
) -> None:
    await migrate_library(home, to=server.url, records=postgres_db.url)
    async with opened(home) as library:
        await library.remove("logs")
    books = postgres_db.rows("SELECT id, edition FROM books ORDER BY id")
    writes = len(server.writes)
    with pytest.raises(RecordsError, match="holds other records already") as caught:
        await migrate_library(home, to=server.url, records=postgres_db.url)
    assert "empty" in caught.value.hint
    assert postgres_db.rows("SELECT id, edition FROM books ORDER BY id") == books
    assert server.writes[writes:] == []


async def test_a_copy_that_breaks_off_leaves_an_empty_database(
    tmp_path: Path, home: Settings, server: QdrantServer, postgres_db: PostgresDatabase
) -> None:

    def stop(what: str, done: int, total: int) -> None:
        if what == "chunks":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await migrate_library(home, to=server.url, records=postgres_db.url, on_step=stop)
    assert postgres_db.rows("SELECT count(*) FROM texts") == [(0,)]
    assert (await migrate_library(home, to=server.url, records=postgres_db.url)).tables["books"] == 2


async def test_a_library_that_is_in_use_is_not_moved(
    tmp_path: Path, home: Settings, server: QdrantServer
) -> None:
    async with opened(home) as library:
        await library.prepare()
        with pytest.raises(LibraryBusy, match="in use"):
            await migrate_library(home, to=server.url)
    assert server.requests == []


async def test_a_damaged_store_is_moved_from_the_records_and_reported(
    tmp_path: Path, home: Settings, server: QdrantServer
) -> None:
    async with opened(home) as library:
        postgres_db = await library._context()
        await postgres_db.store.delete(sorted(await postgres_db.store.read_digests())[:2])
    moved = await migrate_library(home, to=server.url)
    assert moved.chunks == 6
    assert moved.source_differs == "2 missing, 0 damaged, 0 too many"


async def test_an_unfinished_change_is_to_be_finished_first(
    tmp_path: Path, home: Settings, server: QdrantServer
) -> None:
    other = sqlite3.connect(home.data / "records.sqlite")
    other.execute("UPDATE books SET settled = 0")
    other.commit()
    other.close()
    with pytest.raises(RecordsError, match="unfinished change") as caught:
        await migrate_library(home, to=server.url)
    assert "doctor --repair" in caught.value.hint


async def test_a_collection_of_somebody_else_is_no_place_to_move_to(
    tmp_path: Path, home: Settings, server: QdrantServer
) -> None:
    another = Settings(data=tmp_path / "another", store_url=server.url, free_space_mb=0)
    async with opened(another) as library:
        await library.add(write_markdown(tmp_path / "tides.md"))
    writes = len(server.writes)
    with pytest.raises(StoreError, match="points of another Octavo library"):
        await migrate_library(home, to=server.url)
    assert server.writes[writes:] == []
    moved = await migrate_library(home, to=server.url, collection="mine")
    assert moved.settings["OCTAVO_COLLECTION"] == "mine"


async def test_an_empty_library_moves_too(tmp_path: Path, server: QdrantServer) -> None:
    moved = await migrate_library(Settings(data=tmp_path / "new", free_space_mb=0), to=server.url)
    assert (moved.chunks, moved.written) == (0, 0)


async def test_a_target_that_is_no_address_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="'embedded'"):
        await migrate_library(Settings(data=tmp_path / "new"), to="qdrant:6333")
    assert not (tmp_path / "new").exists()
