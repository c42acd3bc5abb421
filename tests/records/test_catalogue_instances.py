"""Several instances on one PostgreSQL: two open records, as two processes have them, doing things at once.

What SQLite keeps apart by having one writer, PostgreSQL keeps apart by turns and row locks: numbers stay
unique, steps are taken once, nothing is counted twice, and each instance sees what the others did.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import product

import pytest
from sqlalchemy import select, text

from octavo.errors import InvalidTransition, LibraryBusy, NotFound, OctavoError
from octavo.records.catalogue import Records
from octavo.records.conversations import Conversations, Rating
from octavo.records.database import Database
from octavo.records.rows import hash_text
from octavo.types import Question
from octavo.validation import QuestionStatus
from tests.support.builders import (
    make_answer,
    make_book,
    make_chunk,
    make_question,
    make_section,
    make_vector,
)
from tests.support.patience import PATIENCE
from tests.support.postgres import PostgresDatabase

Pair = tuple[Records, Records]


@pytest.fixture
async def pair(postgres_db: PostgresDatabase) -> AsyncIterator[Pair]:
    first, second = await Records.open(postgres_db.url), await Records.open(postgres_db.url)
    yield first, second
    await first.close()
    await second.close()


async def begin(records: Records, book_id: str, *said: str) -> int:
    """A pending edition with a section and a chunk for each sentence."""
    made = [
        make_section(f"s{n}", book_id=book_id, text=text, position=n, heading_path=("H",))
        for n, text in enumerate(said)
    ]
    cut = [
        make_chunk(s.text, book_id=book_id, section_id=s.id, heading_path=("H",), position=n)
        for n, s in enumerate(made)
    ]
    keys = {c.id: hash_text(c.content) for c in cut}
    number = await records.begin_edition(
        make_book(book_id), words_hash="w", sections=made, chunks=cut, vector_keys=keys
    )
    await records.save_vectors({key: make_vector(1.0, n) for n, key in enumerate(keys.values())})
    return number


SAID = tuple(f"Sentence number {n} that many books have in common." for n in range(6))


async def test_books_taken_in_at_once_get_numbers_of_their_own_and_are_all_there(pair: Pair) -> None:
    async def take_in(records: Records, book_id: str) -> int:
        number = await begin(records, book_id, *SAID)
        await records.publish(book_id, number)
        await records.settle(book_id)
        return number

    names = [f"book-{n}" for n in range(12)]
    numbers = await asyncio.gather(*(take_in(pair[n % 2], name) for n, name in enumerate(names)))
    assert sorted(numbers) == list(range(1, 13))
    assert {b.id for b in await pair[0].list_books()} == set(names)
    assert await pair[1].find_problems() == []
    assert await pair[0].list_unsettled() == []


async def test_editions_of_one_book_begun_at_once_leave_one_pending_and_one_ready_at_most(
    pair: Pair, postgres_db: PostgresDatabase
) -> None:
    async def hammer(records: Records, salt: int) -> int:
        published = 0
        for n in range(8):
            try:
                number = await begin(records, "moby-dick", *SAID[: 1 + (n + salt) % 5])
                await records.publish("moby-dick", number)
                published += 1
            except (NotFound, InvalidTransition):
                pass  # the other one has begun anew meanwhile
        return published

    assert sum(await asyncio.gather(hammer(pair[0], 0), hammer(pair[1], 2))) >= 1
    states = postgres_db.rows(
        "SELECT state, count(*) FROM editions WHERE state <> 'superseded' GROUP BY state"
    )
    assert ("ready", 1) in states
    assert dict(states).get("pending", 0) <= 1
    assert await pair[0].find_problems() == []


async def test_sweeping_takes_nothing_that_another_instance_is_just_using(pair: Pair) -> None:
    first, second = pair

    async def come_and_go(book_id: str) -> None:
        for _ in range(6):
            await first.publish(book_id, await begin(first, book_id, *SAID))
            await first.remove(book_id)
        await first.publish(book_id, await begin(first, book_id, *SAID))

    async def sweep() -> None:
        for _ in range(25):
            await second.sweep()

    await asyncio.gather(come_and_go("emma"), come_and_go("walden"), sweep())
    assert len(await second.list_chunks("emma")) == len(await second.list_chunks("walden")) == 6
    assert [s.text for s in await second.list_sections("emma")] == list(SAID)


async def test_vectors_kept_by_two_at_once_in_any_order_do_not_block_each_other(pair: Pair) -> None:
    keys = [f"{n:064d}" for n in range(200)]
    await asyncio.gather(
        *(
            pair[n % 2].save_vectors({key: make_vector(1.0) for key in (keys if n < 2 else keys[::-1])})
            for n in range(4)
        )
    )
    assert await pair[0].find_missing_vectors(keys) == []


async def test_an_instance_sees_at_once_what_another_begins_publishes_and_removes(pair: Pair) -> None:
    writer, reader = pair
    before = await reader.refresh()
    number = await begin(writer, "emma", *SAID)
    begun = await reader.refresh()
    assert (begun > before, reader.unpublished) == (True, {number}), "in the store, and not to be seen"
    await writer.publish("emma", number)
    published = await reader.refresh()
    assert (published > begun, reader.unpublished) == (True, set())
    assert await reader.refresh() == published, "nothing has changed since"
    pending = await begin(writer, "emma", *SAID[:2])
    await writer.abandon("emma", pending)
    abandoned = await reader.refresh()
    assert (abandoned > published, reader.unpublished) == (True, set())
    await writer.remove("emma")
    assert await reader.refresh() > abandoned


# Conversations


def build_question(name: str, *, session_id: str | None = None) -> Question:
    return replace(make_question(id=name), session_id=session_id)


async def test_questions_received_at_once_are_numbered_and_counted_one_by_one(
    pair: Pair, postgres_db: PostgresDatabase
) -> None:
    conversations = [Conversations(records.database) for records in pair]
    started = await asyncio.gather(*(conversations[n % 2].start_session("talk") for n in range(8)))
    assert {s.start_time for s in started} == {started[0].start_time}, "one session, whoever asked for it"
    asked = [build_question(f"q{n}", session_id="talk") for n in range(40)]
    await asyncio.gather(*(conversations[n % 2].receive(q, interpreted="?") for n, q in enumerate(asked)))
    assert [n for (n,) in postgres_db.rows("SELECT number FROM questions ORDER BY number")] == list(
        range(1, 41)
    )
    session = await conversations[1].find_session("talk")
    assert (session.query_count, len(session.questions)) == (40, 40)


async def test_a_step_that_two_instances_want_to_take_is_taken_by_one(pair: Pair) -> None:
    conversations = [Conversations(records.database) for records in pair]
    for n in range(8):
        asked = build_question(f"q{n}")
        answer = make_answer(id=f"a{n}", question_id=asked.id)
        await conversations[0].receive(asked, interpreted="?")
        both = await asyncio.gather(*(j.begin(asked) for j in conversations), return_exceptions=True)
        (begun,) = [b for b in both if isinstance(b, Question)]
        await conversations[0].save_draft(answer, receipt={})
        valid = await conversations[0].mark_validated(answer)
        ends = await asyncio.gather(
            conversations[0].publish(begun, valid, receipt={}),
            conversations[1].fail(begun, "ModelError: no"),
            return_exceptions=True,
        )
        assert [isinstance(e, InvalidTransition) for e in ends].count(True) == 1, ends
        entry = await conversations[1].find_exchange(asked.id)
        published = entry.question.status is QuestionStatus.COMPLETED
        assert published == (entry.answer is not None) == (entry.error is None)


async def test_a_vote_that_comes_twice_at_once_is_one_vote(pair: Pair) -> None:
    conversations = [Conversations(records.database) for records in pair]
    asked = build_question("q1")
    await conversations[0].receive(asked, interpreted="?")
    await conversations[0].save_draft(make_answer(question_id="q1"), receipt={})
    for _ in range(5):
        votes = ("up", "down", "up", "down")
        await asyncio.gather(
            *(conversations[n % 2].rate(Rating("a1", vote), owner="me") for n, vote in enumerate(votes))
        )
    assert len(await conversations[0].list_ratings("a1")) == 1


# Locks for longer than a transaction


async def test_a_lock_is_kept_from_others_and_given_back(pair: Pair) -> None:
    first, second = (records.database for records in pair)
    async with first.lock("the books"):
        with pytest.raises(LibraryBusy, match="another instance is working on the books"):
            async with second.lock("the books", wait=0):
                pass
        async with second.try_lock("the books") as granted, second.try_lock("the lamps") as other:
            assert (granted, other) == (False, True)
    async with second.lock("the books", wait=0), first.try_lock("the books") as granted:
        assert not granted


async def test_those_who_share_a_lock_keep_out_only_who_does_not(pair: Pair) -> None:
    first, second = (records.database for records in pair)
    async with first.try_lock("a place", shared=True) as one, second.try_lock("a place", shared=True) as two:
        assert one
        assert two
        async with second.try_lock("a place") as alone:
            assert not alone


async def test_what_goes_wrong_under_a_lock_is_told_as_it_is(pair: Pair) -> None:
    with pytest.raises(FileNotFoundError):
        async with pair[0].database.lock("the books"):
            raise FileNotFoundError("a book")
    async with pair[1].database.try_lock("the books") as granted:
        assert granted


async def test_the_lock_of_a_process_that_is_killed_is_free(
    pair: Pair, postgres_db: PostgresDatabase
) -> None:
    code = """
import asyncio, sys
from octavo.records.catalogue import Records

async def main():
    records = await Records.open(sys.argv[1])
    async with records.database.lock("the books"):
        print("held", flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""
    holder = subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-c", code, postgres_db.url], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    try:
        assert await asyncio.to_thread(holder.stdout.readline) == "held\n"
        async with pair[0].database.try_lock("the books") as granted:
            assert not granted
    finally:
        holder.send_signal(signal.SIGKILL)
        await asyncio.to_thread(holder.communicate)
    async with pair[0].database.lock("the books", wait=PATIENCE):
        pass


async def test_a_change_that_is_cancelled_leaves_no_turn_taken(pair: Pair) -> None:
    for trial in range(6):
        task = asyncio.create_task(begin(pair[0], "emma", *(f"{s} {trial}" for s in SAID * 20)))
        await asyncio.sleep(0.004 * trial)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        try:
            await asyncio.wait_for(begin(pair[1], "walden", *SAID), PATIENCE)
        except OctavoError as error:
            pytest.fail(str(error))


async def hold_lock(database: Database) -> None:
    async with database.try_lock("the books"):
        await asyncio.sleep(0.002)


async def change(database: Database) -> None:
    async with database.begin("the books") as connection:
        await connection.exec_driver_sql("SELECT pg_sleep(0.002)")


async def read(database: Database) -> None:
    async with database.connect() as connection:
        await connection.exec_driver_sql("SELECT pg_sleep(0.002)")


async def look_up(database: Database) -> None:
    await database.look_up(select(text("pg_sleep(0.002)")), {})


USES = (hold_lock, change, read, look_up)


async def test_what_is_cancelled_at_any_moment_and_again_leaves_no_connection_open(pair: Pair) -> None:
    for use, trial in product(USES, range(20)):
        task = asyncio.create_task(use(pair[0].database))
        await asyncio.sleep(0.001 * trial)
        # A web framework cancels again and again until the task has ended.
        while not task.done():
            task.cancel()
            await asyncio.sleep(0)
        await asyncio.gather(task, return_exceptions=True)
    # The garbage collector warns of a connection that nobody closed, and a warning is an error here.
    del task
    gc.collect()
    async with pair[1].database.try_lock("the books", wait=PATIENCE) as granted:
        assert granted
