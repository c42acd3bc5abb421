"""PostgreSQL behind the records: locks, restarts, crashes, wrong addresses, and many who start at once.

Each failure is one that a real server made; each is told as one of our errors, and nothing that was
acknowledged is lost.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace

import asyncpg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, select, text

from octavo.errors import InvalidValue, LibraryBusy, OctavoError, Overloaded, RecordsError, StorageLow
from octavo.records import database
from octavo.records.catalogue import Records
from octavo.records.conversations import Conversations
from octavo.records.database import format_address, parse_address
from octavo.records.tables import HEAD, meta, metadata
from octavo.types import Question
from octavo.validation import QuestionStatus
from tests.support.builders import make_answer, make_question
from tests.support.patience import PATIENCE
from tests.support.postgres import PASSWORD, PostgresDatabase, PostgresServer

SECRET = "do-not-tell-anyone"


@pytest.fixture
async def records(postgres_db: PostgresDatabase) -> AsyncIterator[Records]:
    opened = await Records.open(postgres_db.url)
    yield opened
    await opened.close()


def shorten_waits(monkeypatch: pytest.MonkeyPatch, **soon: str) -> None:
    """Whoever waits for what is named gives up soon."""
    monkeypatch.setattr(database, "SERVER_SETTINGS", database.SERVER_SETTINGS | soon)


# The address


@pytest.mark.parametrize(
    "given", ["postgres://", "postgresql://", "postgresql+asyncpg://", "postgres+asyncpg://"]
)
def test_an_address_of_postgresql_may_be_spelled_as_elsewhere(given: str) -> None:
    url = parse_address(f"{given}reader:{SECRET}@db.example/books?sslmode=require&channel_binding=require")
    assert url.drivername == "postgresql+asyncpg"
    assert dict(url.query) == {"ssl": "require"}
    assert format_address(url) == "postgresql://reader@db.example/books"


@pytest.mark.parametrize(
    "wrong",
    [
        f"mysql://reader:{SECRET}@db.example/books",
        f"postgresql://reader:{SECRET}@db.example",
        f"postgresql://reader:{SECRET}@db.example/books?colour=red",
        f"postgresql://reader:{SECRET}@db.example:many/books",
    ],
)
def test_an_address_that_is_none_is_refused_without_telling_the_password(wrong: str) -> None:
    with pytest.raises(RecordsError) as refused:
        parse_address(wrong)
    assert SECRET not in str(refused.value) + refused.value.hint


async def test_a_wrong_password_is_refused_and_not_told(
    postgres: PostgresServer, postgres_db: PostgresDatabase
) -> None:
    with pytest.raises(RecordsError, match="refuse this user or password") as refused:
        await Records.open(postgres.network_url(postgres_db.name, password=SECRET))
    assert SECRET not in f"{refused.value}{refused.value.hint}"
    right = await Records.open(postgres.network_url(postgres_db.name))
    assert await right.list_books() == []
    assert PASSWORD not in right.database.place
    await right.close()


async def test_a_database_that_is_not_there_is_named_with_what_to_do(postgres: PostgresServer) -> None:
    with pytest.raises(RecordsError, match="no database at postgresql://octavo@/nowhere") as refused:
        await Records.open(postgres.url("nowhere"))
    assert "createdb" in refused.value.hint


async def test_a_server_that_does_not_answer_is_an_error_that_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(database, "SERVER_SECONDS", 0.4)
    with pytest.raises(LibraryBusy, match=r"postgresql://reader@127\.0\.0\.1:1/books cannot be reached"):
        await Records.open(f"postgresql://reader:{SECRET}@127.0.0.1:1/books")


# The tables


async def test_a_new_database_gets_exactly_the_tables_of_the_schema(records: Records) -> None:
    def differences(connection: Connection) -> object:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return compare_metadata(context, metadata)

    async with records.database.connect() as connection:
        assert await connection.run_sync(differences) == []


def test_five_processes_that_start_at_once_on_an_empty_database_all_succeed(postgres: PostgresServer) -> None:
    code = """
import asyncio, sys
from octavo.records.catalogue import Records

async def main():
    records = await Records.open(sys.argv[1])
    await records.set_meta(sys.argv[2], "here")
    await records.close()

asyncio.run(main())
"""
    postgres_db = PostgresDatabase(postgres, postgres.database())
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, postgres_db.url, f"p{n}"], stderr=subprocess.PIPE, text=True
        )
        for n in range(5)
    ]
    for process in started:
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, errors
    assert postgres_db.rows("SELECT key FROM meta ORDER BY key") == [(f"p{n}",) for n in range(5)]
    assert postgres_db.rows("SELECT version_num FROM alembic_version") == [(HEAD,)]


async def test_an_upgrade_that_fails_leaves_the_database_as_it_was(postgres: PostgresServer) -> None:
    postgres_db = PostgresDatabase(postgres, postgres.database())
    postgres_db.rows("CREATE TABLE chunks (mine TEXT)")
    with pytest.raises(RecordsError, match='failed: relation "chunks" already exists'):
        await Records.open(postgres_db.url)
    assert postgres_db.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == [("chunks",)]


async def test_a_database_from_a_newer_octavo_is_left_alone(postgres: PostgresServer) -> None:
    postgres_db = PostgresDatabase(postgres, postgres.database())
    await (await Records.open(postgres_db.url)).close()
    postgres_db.rows("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(RecordsError, match=r"written by a newer Octavo \(schema 9999\)") as refused:
        await Records.open(postgres.network_url(postgres_db.name))
    assert PASSWORD.replace(" ", "%20") not in str(refused.value)
    assert postgres_db.rows("SELECT version_num FROM alembic_version") == [("9999",)]


# What a server can say


async def test_a_change_waits_for_another_only_so_long_and_readers_not_at_all(
    postgres_db: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten_waits(monkeypatch, lock_timeout="150")
    records = await Records.open(postgres_db.url)
    await records.set_meta("embedder", "minilm")
    other = await asyncpg.connect(postgres_db.url)
    held = other.transaction()
    await held.start()
    await other.execute("UPDATE meta SET value = 'mine'")
    with pytest.raises(LibraryBusy, match="are being changed by another process"):
        await records.set_meta("embedder", "other")
    assert await records.get_meta("embedder") == "minilm"
    await held.rollback()
    await other.close()
    await records.set_meta("embedder", "other")
    assert await records.get_meta("embedder") == "other"
    await records.close()


async def test_a_statement_that_takes_too_long_is_ended(
    postgres_db: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten_waits(monkeypatch, statement_timeout="3000")
    records = await Records.open(postgres_db.url)
    with pytest.raises(LibraryBusy, match="took too long"):
        async with records.database.connect() as connection:
            await connection.execute(text("SELECT pg_sleep(300)"))
    assert await records.list_books() == []
    await records.close()


async def test_more_who_want_a_connection_than_there_are_are_told_to_come_back(
    postgres_db: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "SERVER_SECONDS", 2.0)
    records = await Records.open(postgres_db.url, connections=2)
    async with records.database.connect(), records.database.connect():
        with pytest.raises(Overloaded, match="all connections") as full:
            await records.list_books()
    assert full.value.retry_after > 0
    assert await records.list_books() == []
    await records.close()


@pytest.mark.parametrize(
    ("state", "ours"),
    [
        ("53100", StorageLow),
        ("53300", Overloaded),
        ("40P01", LibraryBusy),
        ("40001", LibraryBusy),
        ("42501", RecordsError),
        ("25006", RecordsError),
        ("XX001", RecordsError),
    ],
)
async def test_what_the_server_refuses_is_told_by_what_it_means(
    records: Records, postgres_db: PostgresDatabase, state: str, ours: type[OctavoError]
) -> None:
    postgres_db.rows(
        "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$BEGIN RAISE EXCEPTION 'the server says no' USING ERRCODE = '{state}'; END$$"
    )
    postgres_db.rows("CREATE TRIGGER refusing BEFORE INSERT ON meta EXECUTE FUNCTION refuse()")
    try:
        with pytest.raises(ours) as refused:
            await records.set_meta("a", "b")
        assert type(refused.value) is ours
        assert refused.value.hint
    finally:
        postgres_db.rows("DROP TRIGGER refusing ON meta")
    await records.set_meta("a", "b")
    assert await records.get_meta("a") == "b"


async def test_a_nul_is_the_callers_mistake_wherever_it_comes_from(records: Records) -> None:
    """Values hold none, by their rules; what is only looked up may."""
    conversations = Conversations(records.database)
    for asked in (
        records.find_book("a\0b"),
        conversations.find_exchange("a\0b"),
        conversations.find_session("a\0b"),
    ):
        with pytest.raises(InvalidValue, match="NUL"):
            await asked
    with pytest.raises(InvalidValue):
        replace(make_question(), content="a\0b")
    assert await records.list_books() == []


# A server that goes away


async def start_after(postgres: PostgresServer, seconds: float) -> None:
    await asyncio.sleep(seconds)
    postgres.start()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["stopped", "crashed"])
async def test_a_server_that_comes_back_in_time_was_never_missed(
    postgres: PostgresServer, records: Records, how: signal.Signals
) -> None:
    await records.set_meta("before", "kept")
    await asyncio.gather(
        *(records.get_meta("before") for _ in range(8))
    )  # so that many connections will be dead
    postgres.stop(how)
    found, _, rows, _ = await asyncio.gather(
        records.get_meta("before"),
        records.set_meta("during", "kept"),
        records.database.look_up(select(meta.c.value).where(meta.c.key == "before"), {}),
        start_after(postgres, 0.5),
    )
    assert (found, [row.value for row in rows]) == ("kept", ["kept"])
    assert await records.get_meta("during") == "kept"


async def test_a_server_that_stays_away_is_told_and_used_again_when_it_is_back(
    postgres: PostgresServer, postgres_db: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = await Records.open(postgres_db.url)
    await records.set_meta("before", "kept")
    await asyncio.to_thread(postgres.stop)
    patient = database.SERVER_SECONDS
    monkeypatch.setattr(database, "SERVER_SECONDS", 0.4)
    try:
        for asked in (records.get_meta("before"), records.set_meta("a", "b"), records.find_chunks(["a"])):
            with pytest.raises(LibraryBusy, match="cannot be reached") as away:
                await asked
            assert "database server" in away.value.hint
    finally:
        postgres.start()
    monkeypatch.setattr(database, "SERVER_SECONDS", patient)
    assert await records.get_meta("before") == "kept"
    assert await records.get_meta("a") is None
    await records.close()


async def record_exchange(conversations: Conversations, asked: Question) -> None:
    await conversations.receive(asked, interpreted=asked.content)
    begun = await conversations.begin(asked)
    answer = make_answer(id=f"a-{asked.id}", question_id=asked.id)
    await conversations.save_draft(answer, receipt={})
    await conversations.publish(begun, await conversations.mark_validated(answer), receipt={})


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["stopped", "crashed"])
async def test_no_turn_is_lost_when_the_server_restarts_amid_a_conversation(
    postgres: PostgresServer, records: Records, how: signal.Signals
) -> None:
    conversations = Conversations(records.database)
    await conversations.start_session("talk")
    told: list[str] = []
    refused: list[str] = []
    enough = asyncio.Event()

    async def reader(name: str) -> None:
        for number in range(40):
            asked = replace(make_question(id=f"{name}-{number}"), session_id="talk")
            try:
                await record_exchange(conversations, asked)
                told.append(asked.id)
            except LibraryBusy:
                refused.append(asked.id)
            if len(told) > 20:
                enough.set()

    readers = [asyncio.create_task(reader(name)) for name in "abcd"]
    await enough.wait()
    await asyncio.to_thread(postgres.stop, how)
    await start_after(postgres, 0.3)
    await asyncio.gather(*readers)
    done = {e.question.id for e in await conversations.list_exchanges("talk") if e.answer is not None}
    assert set(told) <= done
    assert len(told) + len(refused) == 160
    assert len(refused) <= 4, "only what was in the middle of a transaction"
    assert all(
        e.question.status is QuestionStatus.COMPLETED
        for e in await conversations.list_exchanges()
        if e.answer
    )
