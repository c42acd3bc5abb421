"""Records behind a real PgBouncer in transaction mode work if their address says so. Else the error does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from octavo.errors import LibraryBusy, RecordsError
from octavo.library import Library
from octavo.records.database import Database
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from tests.support import small_books
from tests.support.pgbouncer import start_pgbouncer
from tests.support.postgres import USER, PostgresDatabase, PostgresServer


@pytest.fixture(scope="module")
def port(postgres: PostgresServer) -> Iterator[int]:
    with start_pgbouncer(postgres) as port:
        yield port


@pytest.fixture
def url(port: int, postgres_db: PostgresDatabase) -> str:
    return f"postgresql://{USER}@127.0.0.1:{port}/{postgres_db.name}?pgbouncer=true"


async def test_a_library_is_filled_searched_asked_and_emptied(url: str, tmp_path: Path) -> None:
    book = small_books.write_markdown(tmp_path / "tides.md")
    settings = Settings(data=tmp_path / "library", records_url=url, local_models=False)
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        await library.add(book)
        # More at once than the pooler has connections.
        found = await asyncio.gather(*(library.search(f"boats lost {n}") for n in range(12)))
        assert all(found)
        answer = await library.ask("How many boats were lost?")
        assert (await library.conversations.find_exchange(answer.id)).answer == answer
        await library.remove("the-tides")
        assert await library.books() == []


async def test_what_fails_in_the_middle_is_undone_and_what_is_done_is_seen(url: str) -> None:
    database = await Database.open(url)
    try:
        async with database.begin() as connection:
            await connection.execute(text("INSERT INTO meta VALUES ('a', 'kept')"))
        with pytest.raises(RuntimeError):
            await fail_in_the_middle(database)
        async with database.connect() as connection:
            rows = (await connection.execute(text("SELECT key FROM meta WHERE key IN ('a', 'b')"))).all()
            wait = await connection.scalar(text("SELECT current_setting('statement_timeout')"))
        assert ([row.key for row in rows], wait) == (["a"], "10min")
    finally:
        await database.close()


async def fail_in_the_middle(database: Database) -> None:
    async with database.begin() as connection:
        await connection.execute(text("INSERT INTO meta VALUES ('b', 'undone')"))
        raise RuntimeError("stop")


async def test_a_lock_is_held_and_given_back_through_the_pooler(url: str) -> None:
    first, second = await Database.open(url), await Database.open(url)
    try:
        async with first.lock("the books"):
            # These take turns on the connections to the server, and none of them gets the lock.
            for _ in range(5):
                with pytest.raises(LibraryBusy):
                    async with second.lock("the books", wait=0):
                        pass
        async with second.lock("the books", wait=0):
            pass
        async with first.try_lock("a place", shared=True) as one, second.try_lock("a place") as other:
            assert (one, other) == (True, False)
    finally:
        await first.close()
        await second.close()


@pytest.mark.parametrize("more", ["", "ignore_startup_parameters = {settings}"])
async def test_an_address_that_does_not_say_so_gets_an_error_that_does(
    postgres: PostgresServer, postgres_db: PostgresDatabase, more: str
) -> None:
    ignored = "statement_timeout, lock_timeout, idle_in_transaction_session_timeout, jit"
    with (
        start_pgbouncer(postgres, connections=2, more=more.format(settings=ignored)) as port,
        pytest.raises(RecordsError, match="a pooler in transaction mode, like PgBouncer") as refused,
    ):
        await use_undeclared(f"postgresql://{USER}@127.0.0.1:{port}/{postgres_db.name}")
    assert "?pgbouncer=true" in refused.value.hint


async def use_undeclared(url: str) -> None:
    """Read from several connections at once, so that a statement meets a connection that does not know it."""
    database = await Database.open(url, connections=6)

    async def read() -> None:
        for _ in range(20):
            async with database.connect() as connection:
                await connection.execute(text("SELECT key FROM meta WHERE key = :key"), {"key": "a"})

    try:
        ended = await asyncio.gather(*(read() for _ in range(6)), return_exceptions=True)
    finally:
        await database.close()
    for error in filter(None, ended):
        raise error


async def test_a_wrong_value_of_the_option_is_told() -> None:
    with pytest.raises(RecordsError, match="wrong value for pgbouncer"):
        await Database.open("postgresql://octavo@127.0.0.1/library?pgbouncer=maybe")
