"""The store becomes what the records say: whatever was lost, added or damaged, and with no model."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Collection
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from octavo.errors import EmbedderMismatch, OctavoError, StorageLow, StoreError
from octavo.ingest.context import LibraryContext
from octavo.library import Library
from octavo.maintenance.repair import (
    STORE_STATE,
    Difference,
    find_difference,
    recover,
    reindex,
    repair_store,
    require_embedder,
)
from octavo.settings import Settings
from octavo.store import locate_store, open_store
from octavo.store.base import read_files_state
from octavo.store.edge import EdgeStore
from octavo.testing import TinyEmbedder
from tests.support import small_books
from tests.support.builders import make_chunk, make_vector

STRANGER = make_chunk("A passage that no book of this library has.", embedding=make_vector(1.0, 2.0))


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as opened:
        await opened.add(small_books.write_markdown(tmp_path / "tides.md"))
        yield opened


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    """A library that has been filled and closed."""
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as opened:
        await opened.add(small_books.write_markdown(tmp_path / "tides.md"))
    return tmp_path / "library"


def note_removal(data: Path) -> None:
    """Let the records know of the stranger as of a chunk that they need no longer."""
    with closing(sqlite3.connect(data / "records.sqlite")) as database, database:
        database.execute("INSERT INTO removals (id, book_id) VALUES (?, 'gone')", (STRANGER.id,))


async def behind_its_back(data: Path, *, drop: int = 0, add: bool = False, change: int = 0) -> None:
    """What another program might do to the store."""
    store = await open_store(Settings(data=data), dimension=384, expected=True)
    ids = sorted(await store.read_digests())
    await store.delete(ids[:drop])
    if add:
        await store.upsert([STRANGER], edition=99)
        note_removal(data)
    for id in ids[len(ids) - change :]:
        await store.upsert([replace(STRANGER, id=id)], edition=1)
    await store.close()


async def test_a_difference_is_counted_and_mended(library: Library) -> None:
    context = await library._context()
    assert not await find_difference(context)
    ids = sorted(await context.store.read_digests())
    await context.store.delete(ids[:1])
    await context.store.upsert([STRANGER, replace(STRANGER, id=ids[1])], edition=7)
    note_removal(library.settings.data)
    found = await repair_store(context)
    assert found == Difference(missing=(ids[0],), damaged=(ids[1],), strange=(STRANGER.id,))
    assert str(found) == "1 missing, 1 damaged, 1 too many"
    assert not await repair_store(context)


@pytest.mark.parametrize("damage", [{"drop": 2}, {"add": True}, {"change": 2}, {"drop": 4, "add": True}])
async def test_opening_mends_what_was_done_behind_its_back(data: Path, damage: dict[str, int]) -> None:
    await behind_its_back(data, **damage)  # type: ignore[arg-type]
    embedder = TinyEmbedder()
    async with Library.open(data, embedder=embedder) as library:
        found = await library.search("the harbour master", top_k=100)
        assert library.repaired
        assert len(found) == 4
        assert embedder.embedded == 1  # the query
        assert not await find_difference(await library._context())
    async with Library.open(data, embedder=embedder) as library:
        assert await library.search("the harbour master", top_k=100) == found
        assert not library.repaired


async def test_a_store_that_nobody_touched_is_not_compared(data: Path) -> None:
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        assert await library._records.get_meta(STORE_STATE) == read_files_state(data)
        await library.search("ships")
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        assert await library._records.get_meta(STORE_STATE) == read_files_state(data)


def watch_reading(monkeypatch: pytest.MonkeyPatch) -> list[set[str] | None]:
    """Return what is read from stores from now on: the points of some books, or None for everything."""
    read: list[set[str] | None] = []
    read_digests = EdgeStore.read_digests

    async def watch(store: EdgeStore, ids: Collection[str] | None = None) -> dict[str, str]:
        read.append(None if ids is None else set(ids))
        return await read_digests(store, ids)

    monkeypatch.setattr(EdgeStore, "read_digests", watch)
    return read


KILLED = """
import asyncio, os, sys
from pathlib import Path
from octavo.library import Library
from octavo.store.base import read_files_state
from octavo.testing import TinyEmbedder

async def stand_still(data):
    # After an opening, a thread of the engine may be making the next file of its log.
    before, same = read_files_state(data), 0
    while same < 10:
        await asyncio.sleep(0.02)
        now = read_files_state(data)
        before, same = now, same + 1 if now == before else 0

async def work(data, book, moment):
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        await library.search("the harbour master", rerank=False)
        await stand_still(data)
        if moment == "prepared":
            await library.prepare()
        elif moment == "added":
            await library.add(book)
        else:
            async with library._changes():
                os._exit(9)
        await library.search("the harbour master", rerank=False)
        os._exit(9)

asyncio.run(work(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
"""


@pytest.mark.parametrize(
    ("moment", "compares"), [("prepared", False), ("added", False), ("during a change", True)]
)
async def test_after_a_kill_points_are_compared_only_if_a_change_was_under_way(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str, compares: bool
) -> None:
    hills = small_books.write_markdown(tmp_path / "hills.md", {"Top": "Goats graze there."}, title="Hills")
    command = [sys.executable, "-c", KILLED, str(data), str(hills), moment]
    killed = await asyncio.to_thread(subprocess.run, command, check=False)
    assert killed.returncode == 9
    read = watch_reading(monkeypatch)
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        context = await library._context()
        assert bool(read) == compares
        assert not library.repaired
        assert not await find_difference(context)


async def test_a_point_that_the_engine_lost_without_a_trace_is_missed(data: Path) -> None:
    await behind_its_back(data, drop=1)
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        # As if the files were as they had been left.
        await library._records.set_meta(STORE_STATE, read_files_state(data))
        await library.prepare()
        assert len(library.repaired.missing) == 1


def test_the_state_changes_with_any_file_of_the_store(tmp_path: Path) -> None:
    assert read_files_state(tmp_path) == read_files_state(tmp_path)
    file = locate_store(tmp_path) / "segments" / "a"
    file.parent.mkdir(parents=True)
    states = [read_files_state(tmp_path)]
    for content in ("", "x", "xy"):
        file.write_text(content)
        states.append(read_files_state(tmp_path))
    assert len(set(states)) == 4


def test_a_state_that_cannot_be_read_is_like_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = locate_store(tmp_path) / "a"
    file.parent.mkdir(parents=True)
    is_file = Path.is_file

    def find_and_delete(path: Path) -> bool:
        found = is_file(path)
        path.unlink()
        return found

    monkeypatch.setattr(Path, "is_file", find_and_delete)
    states = set()
    for _ in range(2):
        file.touch()
        states.add(read_files_state(tmp_path))
    assert len(states) == 2


@pytest.mark.parametrize("error", [StoreError("The server is gone."), FileNotFoundError("a log")])
async def test_a_change_is_done_even_if_the_state_cannot_be_noted_after_it(
    library: Library,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: OctavoError | OSError,
) -> None:
    async def fail(_: EdgeStore) -> tuple[str, ...]:
        raise error

    assert await library._records.get_meta(STORE_STATE)
    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
        patched.setattr(EdgeStore, "find_lagging_copies", fail)
        await library.prepare()
        # The state of before would not be that of the store any more.
        assert await library._records.get_meta(STORE_STATE) == ""
        hills = small_books.write_markdown(tmp_path / "hills.md", {"Top": "Goats graze."}, title="Hills")
        assert (await library.add(hills)).title == "Hills"
    assert await library._records.get_meta(STORE_STATE) == ""
    assert str(error) in caplog.text
    await library.prepare()
    assert await library._records.get_meta(STORE_STATE)


async def test_a_pending_edition_is_dropped_and_a_removal_finished(library: Library) -> None:
    context = await library._context()
    records = context.records
    (book,) = await library.books()
    sections, chunks = await records.list_sections(book.id), await records.list_chunks(book.id)
    keys = {id: key for id, (_, key) in (await records.read_manifest(book.id)).items()}
    await records.begin_edition(
        replace(book, title="Other"), words_hash="w", sections=sections, chunks=chunks, vector_keys=keys
    )
    await recover(context, state="")
    assert await records.list_pending() == []
    assert (await library.books())[0].title == book.title
    await records.remove(book.id)
    mended = await recover(context, state="")
    assert len(mended.strange) == book.chunk_count
    assert await context.store.read_digests() == {}
    assert await records.list_removals() == {}


async def test_with_no_room_to_drop_what_is_too_many_the_library_is_still_searched(data: Path) -> None:
    await behind_its_back(data, add=True)
    crowded = Settings(data=data, free_space_mb=10**9)
    async with Library.open(settings=crowded, embedder=TinyEmbedder()) as library:
        found = await library.search("A passage that no book of this library has", top_k=100)
        assert STRANGER.id not in {e.chunk.id for e in found}
        assert len(found) == 4
    await behind_its_back(data, drop=1)
    async with Library.open(settings=crowded, embedder=TinyEmbedder()) as library:
        for _ in range(2):  # the second call is not told that the library is busy
            with pytest.raises(StorageLow):
                await library.search("ships")


async def test_a_library_belongs_to_the_embedder_that_filled_it(data: Path) -> None:
    other = TinyEmbedder(name="other")
    async with Library.open(data, embedder=other) as library:
        with pytest.raises(EmbedderMismatch, match="tiny-384") as refused:
            await library.search("ships")
        assert "doctor --repair" in refused.value.hint
        assert len(await library.books()) == 1
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        (book,) = await library.books()
        await library.remove(book.id)
        await require_embedder(library._records, other)  # an empty library takes any
        assert await library._records.get_meta("embedder") == other.fingerprint


async def test_reindexing_embeds_every_book_anew_from_its_recorded_text(
    library: Library, tmp_path: Path
) -> None:
    (tmp_path / "tides.md").unlink()
    context = await library._context()
    before = await library.search("the harbour master", top_k=100)
    other = TinyEmbedder(name="other")
    anew = LibraryContext(context.settings, context.records, context.store, other)
    kinds = [event.kind async for event in reindex(anew)]
    assert kinds == ["embedding", "published"]
    assert other.embedded == 4
    assert not await find_difference(anew)
    assert [event async for event in reindex(anew)] == []
    after = await library.search("the harbour master", top_k=100)
    assert {e.chunk.id for e in after} == {e.chunk.id for e in before}
