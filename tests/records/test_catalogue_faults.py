"""What goes wrong around the records: locks, damage in every table, cut-off calls, an upgrade with old data.

Damage is noticed by `problems` or by whoever reads what is damaged; it never comes out as a book's words.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, create_engine, text

from octavo.errors import LibraryBusy, OctavoError, RecordsError
from octavo.library import Library
from octavo.records.catalogue import Records
from octavo.records.database import Database
from octavo.records.migrations import SCRIPTS, back_up
from octavo.records.tables import HEAD
from octavo.testing import TinyEmbedder
from octavo.types import Chunk
from tests.support import small_books
from tests.support.builders import make_book, make_chunk, make_section, make_vector
from tests.support.patience import PATIENCE

TEXTS = tuple(f"Sentence number {n} of the book, long enough to be a passage." for n in range(40))


@pytest.fixture
async def records(tmp_path: Path) -> AsyncIterator[Records]:
    opened = await Records.open(tmp_path / "records.sqlite")
    yield opened
    await opened.close()


async def fill(records: Records, *texts: str, book_id: str = "moby-dick") -> list[Chunk]:
    """A published book with one section and one chunk for each text."""
    sections = [
        make_section(f"s{n}", book_id=book_id, text=text, position=n, heading_path=("Chapter",))
        for n, text in enumerate(texts)
    ]
    chunks = [
        make_chunk(s.text, book_id=book_id, section_id=s.id, heading_path=("Chapter",), position=n)
        for n, s in enumerate(sections)
    ]
    keys = {c.id: hashlib.sha256(c.content.encode()).hexdigest() for c in chunks}
    number = await records.begin_edition(
        make_book(book_id), words_hash="w", sections=sections, chunks=chunks, vector_keys=keys
    )
    await records.save_vectors({k: make_vector(1.0, n) for n, k in enumerate(keys.values())})
    await records.publish(book_id, number)
    return chunks


def spoil(file: Path, statement: str) -> None:
    raw = sqlite3.connect(file, isolation_level=None)
    raw.execute("PRAGMA foreign_keys = OFF")
    raw.execute(statement)
    raw.close()


class Writer:
    """Another connection that holds the write lock from the start until `release`."""

    def __init__(self, file: Path) -> None:
        self._raw = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        self._raw.execute("PRAGMA journal_mode = WAL")  # as every Octavo does first
        self._raw.execute("BEGIN IMMEDIATE")

    def release(self) -> None:
        self._raw.execute("ROLLBACK")
        self._raw.close()


async def test_a_short_wait_for_another_writer_is_waited_for(records: Records, tmp_path: Path) -> None:
    writer = Writer(tmp_path / "records.sqlite")
    timer = threading.Timer(0.3, writer.release)
    timer.start()
    await fill(records, *TEXTS[:2])
    timer.join()
    assert len(await records.list_chunks("moby-dick")) == 2


async def test_writers_of_one_process_wait_for_each_other_however_long_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("octavo.records.database.PRAGMAS", ("busy_timeout = 0", "journal_mode = WAL"))
    records = await Records.open(tmp_path / "r.sqlite")
    at_work = 0

    async def write() -> None:
        nonlocal at_work
        async with records.database.begin():
            at_work += 1
            await asyncio.sleep(0.01)
            assert at_work == 1
            at_work -= 1

    await asyncio.gather(*(write() for _ in range(12)))
    await records.close()


async def test_a_change_takes_its_turn_among_other_writers_and_is_undone_as_a_whole(
    database: Database,
) -> None:
    def count(connection: Connection) -> int:
        number = int(connection.execute(text("SELECT value FROM meta WHERE key = 'n'")).scalar_one())
        change = text("UPDATE meta SET value = :value WHERE key = 'n'")
        connection.execute(change, {"value": str(number + 1)})
        return number

    def fail(connection: Connection) -> None:
        count(connection)
        raise LookupError("no")

    async def begin() -> None:
        async with database.begin("n") as connection:
            await connection.run_sync(count)

    async with database.begin() as connection:
        await connection.execute(text("INSERT INTO meta (key, value) VALUES ('n', '0')"))
    changes = (database.change(work, turn="n") for work in (*[count] * 6, *[fail] * 3))
    ended = await asyncio.gather(*changes, *(begin() for _ in range(3)), return_exceptions=True)
    assert [type(e) for e in ended].count(LookupError) == 3
    assert await database.change(count, turn="n") == 9


async def test_a_cancelled_change_of_a_file_is_whole_when_the_caller_goes_on(file: Database) -> None:
    began = threading.Event()

    def slowly(connection: Connection) -> None:
        began.set()
        time.sleep(0.05)
        connection.execute(text("INSERT INTO meta (key, value) VALUES ('a', 'b')"))

    changing = asyncio.create_task(file.change(slowly))
    assert await asyncio.to_thread(began.wait, 10)
    changing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await changing
    assert await file.change(lambda c: c.execute(text("SELECT value FROM meta")).scalars().all()) == ["b"]


async def test_a_long_wait_ends_with_an_error_that_says_so_and_nothing_is_half_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("octavo.records.database.PRAGMAS", ("busy_timeout = 60", "journal_mode = WAL"))
    file = tmp_path / "r.sqlite"
    records = await Records.open(file)
    chunks = await fill(records, *TEXTS[:3])
    writer = Writer(file)
    for change in (
        records.set_meta("a", "b"),
        records.save_vectors({"k": make_vector(1.0)}),
        records.remove("moby-dick"),
        records.settle("moby-dick"),
        fill(records, *TEXTS[5:9]),
    ):
        with pytest.raises(LibraryBusy, match=r"r\.sqlite are being changed by another process") as busy:
            await change
        assert "Try again" in busy.value.hint
    assert await records.list_chunks("moby-dick") == chunks
    writer.release()
    assert await records.get_meta("a") is None
    assert await records.find_missing_vectors(["k"]) == ["k"]
    assert await records.remove("moby-dick")
    await records.close()


async def test_opening_waits_for_whoever_is_just_making_the_tables(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "new.sqlite")
    timer = threading.Timer(0.3, writer.release)
    timer.start()
    records = await Records.open(tmp_path / "new.sqlite")
    timer.join()
    assert await records.list_books() == []
    await records.close()


async def test_a_publication_that_is_cut_off_at_any_moment_hides_nothing_and_locks_nothing(
    records: Records,
) -> None:
    """A cancelled call cannot know how far it came: what is out is seen, and the next change can be made."""
    await fill(records, *TEXTS[:2])
    about, cut_off = 1.0, 0
    for _ in range(4):
        number = await begin_again(records)
        begun = time.perf_counter()
        await records.publish("moby-dick", number)
        about = min(about, time.perf_counter() - begun)
    for trial in range(40):
        number = await begin_again(records)
        task = asyncio.create_task(records.publish("moby-dick", number))
        await asyncio.sleep(about * trial / 40)
        if task.cancel():
            cut_off += 1
        else:
            about *= 0.8  # it took longer when it was measured than it does now
        await asyncio.gather(task, return_exceptions=True)
        if (await records.list_editions())["moby-dick"] == number:
            assert number not in records.unpublished, trial
        else:
            await records.abandon("moby-dick", number)
    assert cut_off > 5
    assert await records.list_pending() == []
    assert await records.find_problems() == []


async def begin_again(records: Records) -> int:
    """A pending edition with what the book has already."""
    sections, chunks = await records.list_sections("moby-dick"), await records.list_chunks("moby-dick")
    keys = {id: key for id, (_, key) in (await records.read_manifest("moby-dick")).items()}
    return await records.begin_edition(
        make_book(), words_hash="w", sections=sections, chunks=chunks, vector_keys=keys
    )


DAMAGES = {
    "a vector": "UPDATE vectors SET vector = (SELECT v.vector FROM vectors v WHERE v.key > vectors.key)"
    " WHERE key = (SELECT min(key) FROM vectors)",
    "a short vector": "UPDATE vectors SET vector = substr(vector, 1, 8)",
    "a lost vector": "DELETE FROM vectors WHERE key = (SELECT max(key) FROM vectors)",
    "a text": "UPDATE texts SET text = replace(text, 'long', 'wide')",
    "a lost text": "DELETE FROM texts WHERE hash = (SELECT min(hash) FROM texts)",
    "an offset": 'UPDATE chunks SET start = start + 1, "end" = "end" + 1 WHERE document_position = 3',
    "a swapped section": "UPDATE chunks SET section_id = 's1' WHERE section_id = 's2'",
    "an address": "UPDATE chunks SET url = 'https://elsewhere.example/' WHERE document_position = 2",
    "a page": "UPDATE chunks SET page_number = 7 WHERE document_position = 1",
    "a place": "UPDATE chunks SET document_position = 99 WHERE document_position = 1",
    "a digest": "UPDATE chunks SET digest = 'damaged' WHERE document_position = 0",
    "ancestors": "UPDATE sections SET ancestors = '[\"elsewhere\"]' WHERE id = 's1'",
    "a lost section": "DELETE FROM sections WHERE id = 's3'",
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_reading_everything_finds_damage_in_whatever_is_found_and_quoted(
    records: Records, tmp_path: Path, damage: str
) -> None:
    await fill(records, *TEXTS[:6])
    assert await records.find_problems() == []
    spoil(tmp_path / "records.sqlite", DAMAGES[damage])
    problems = await records.find_problems()
    assert problems, damage
    known = ("damaged", "not what was stored", "not what was published")
    assert all(any(words in said for words in known) for said in problems), problems


async def test_damage_of_one_passage_is_said_of_its_book_alone(records: Records, tmp_path: Path) -> None:
    await fill(records, *TEXTS)
    spoil(tmp_path / "records.sqlite", DAMAGES["an address"])
    assert await records.find_problems() == ["the passages of 'moby-dick' are not what was published"]


async def test_random_bytes_anywhere_in_the_file_never_come_out_as_words(tmp_path: Path) -> None:
    """A page flipped, zeroed or cut: an error of ours, something `problems` tells, or no change at all."""
    file = tmp_path / "r.sqlite"
    records = await Records.open(file)
    chunks = await fill(records, *TEXTS)
    sections = await records.list_sections("moby-dick")
    await records.close()
    sound, chance, told = file.read_bytes(), random.Random(11), 0
    for number in range(60):
        spoiled = bytearray(sound)
        at = chance.randrange(100, len(sound))
        if number % 3 == 0:
            spoiled[at] ^= 1 << chance.randrange(8)
        elif number % 3 == 1:
            spoiled[at : at + 200] = bytes(len(spoiled[at : at + 200]))
        else:
            del spoiled[at:]
        file.write_bytes(spoiled)
        try:
            again = await Records.open(file)
        except OctavoError as error:
            told += "r.sqlite" in str(error)
            continue
        try:
            seen = (await again.list_sections("moby-dick"), await again.list_chunks("moby-dick"))
            if seen != (sections, chunks):
                assert await again.find_problems(), (number, at)
                told += 1
        except RecordsError:
            told += 1
        finally:
            await again.close()
    assert told > 15


async def test_the_log_of_a_killed_writer_is_read_back(tmp_path: Path) -> None:
    """What was committed and never copied into the main file is there for the next process."""
    code = (
        "import asyncio, os, signal, sys\nfrom pathlib import Path\n"
        "from octavo.records.catalogue import Records\n"
        "async def main():\n"
        "    records = await Records.open(Path(sys.argv[1]))\n"
        "    for n in range(20):\n        await records.set_meta(f'note {n}', 'kept')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    file = tmp_path / "r.sqlite"
    ended = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", code, str(file)],
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == -9, ended.stderr
    assert Path(f"{file}-wal").stat().st_size > 0
    records = await Records.open(file)
    assert [await records.get_meta(f"note {n}") for n in range(20)] == ["kept"] * 20
    await records.close()


def make_at_revision(file: Path, revision: str, source: Path) -> None:
    """Makes `file` as an Octavo of that revision would have, with what it can hold of `source`."""
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    config.set_main_option("path_separator", "os")
    engine = create_engine(f"sqlite:///{file}")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    engine.dispose()
    raw = sqlite3.connect(file)
    raw.execute("ATTACH ? AS later", (str(source),))
    tables = [name for (name,) in raw.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'")]
    for table in sorted(set(tables) - {"alembic_version"}):
        columns = ", ".join(f'"{row[1]}"' for row in raw.execute(f"PRAGMA main.table_info({table})"))
        raw.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM later.{table}")
    # No earlier Octavo had noted that all editions are sealed.
    raw.execute("DELETE FROM main.meta WHERE key = 'sealed after edition'")
    raw.commit()
    raw.close()


async def test_a_library_of_the_first_schema_opens_with_all_it_had_and_a_copy_of_what_it_was(
    tmp_path: Path,
) -> None:
    data, query = tmp_path / "library", "the keeper of the lighthouse"
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        await library.add(small_books.write_markdown(tmp_path / "tides.md"))
        books, found = await library.books(), await library.search(query)
    file = data / "records.sqlite"
    make_at_revision(tmp_path / "old.sqlite", "0001", file)
    for left in data.glob("records.sqlite*"):
        left.unlink()
    (tmp_path / "old.sqlite").rename(file)
    (data / "records.sqlite.backup-0001").write_bytes(b"a backup that was cut off in the middle" * 99)

    embedder = TinyEmbedder()
    async with Library.open(data, embedder=embedder) as library:
        assert await library.books() == books
        assert await library.search(query) == found
        assert embedder.embedded == 1  # the query
        answer = await library.ask("Who trimmed the lamp at dusk?")
        assert (await library.verify(answer.id)) or answer.refusal
        assert await library._records.find_problems() == []
    kept = sqlite3.connect(data / "records.sqlite.backup-0001")
    assert kept.execute("SELECT version_num FROM alembic_version").fetchall() == [("0001",)]
    assert kept.execute("SELECT count(*) FROM chunks").fetchone() == (books[0].chunk_count,)
    kept.close()
    assert [f.name for f in data.glob("*backup*")] == ["records.sqlite.backup-0001"]
    raw = sqlite3.connect(file)
    assert raw.execute("SELECT version_num FROM alembic_version").fetchall() == [(HEAD,)]
    raw.close()


async def test_a_copy_of_the_records_holds_what_is_committed_and_not_what_is_on_its_way(
    records: Records, tmp_path: Path
) -> None:
    chunks = await fill(records, *TEXTS[:3])
    async with records.database.begin() as connection:
        await connection.exec_driver_sql("DELETE FROM books")
        copy = back_up(tmp_path / "records.sqlite", "now")
        await connection.exec_driver_sql("ROLLBACK")
        await connection.exec_driver_sql("BEGIN IMMEDIATE")
    restored = await Records.open(copy)
    assert await restored.list_chunks("moby-dick") == chunks
    assert await restored.find_problems() == []
    await restored.close()


async def test_two_books_that_share_passages_do_not_take_them_from_each_other(records: Records) -> None:
    await fill(records, *TEXTS[:3])
    await fill(records, *TEXTS[:3], book_id="emma")
    swept = await records.sweep()
    await records.remove("emma")
    assert (await records.sweep(), swept) == ((0, 0), (0, 0)), "the other book needs every text and vector"
    assert len(await records.list_chunks("moby-dick")) == 3
    assert await records.find_problems() == []
    await records.remove("moby-dick")
    assert await records.sweep() == (3, 3)


async def test_a_section_that_moved_between_editions_is_cut_from_the_text_of_its_own_edition(
    records: Records,
) -> None:
    await fill(records, "An early text of this chapter, as it first was.")
    old = await records.list_section_texts("moby-dick", "s0")
    await fill(records, "A later text of the chapter, rather longer than it was at first.")
    (chunk,) = await records.list_chunks("moby-dick")
    assert chunk.content.startswith("A later text")
    assert await records.list_section_texts("moby-dick", "s0") == [chunk.content, *old]
    assert await records.find_chunks([chunk.id, replace(chunk, id="gone").id]) == [chunk]
