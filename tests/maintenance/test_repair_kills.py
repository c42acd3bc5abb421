"""After a kill, what the killed change had touched is compared; everything is, if anything else was done.

The killed process writes another address to a passage of one of two books, which the comparison must find.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from octavo.library import Library
from octavo.maintenance.repair import STORE_STATE, find_difference
from octavo.settings import Settings
from octavo.store import change_note, locate_store, open_store
from octavo.store.base import UNREAD
from octavo.store.edge import EdgeStore
from octavo.testing import TinyEmbedder
from tests.maintenance.test_repair import watch_reading
from tests.support import small_books

ROOT = Path(__file__).parents[2]
KILLED = """
import asyncio, os, signal, sys
from dataclasses import replace
from pathlib import Path
from octavo.library import Library
from octavo.testing import TinyEmbedder

async def work(data, moment):
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        await library.search("goats", rerank=False)
        if moment == "opened":
            os.kill(os.getpid(), signal.SIGKILL)
        async with library._changes() as context:
            first = (await context.records.list_chunks("hills"))[0]
            (chunk,) = await context.records.find_embedded_chunks([first.id])
            await context.store.upsert([replace(chunk, url="https://example.org/elsewhere")], edition=99)
            if moment == "flushed":
                await context.store.commit()
            os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(work(Path(sys.argv[1]), sys.argv[2]))
"""

KILLED_BEFORE_PUBLISHING = """
import asyncio, os, signal, sys
from pathlib import Path
from octavo.library import Library
from octavo.records.catalogue import Records
from octavo.testing import TinyEmbedder

async def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

async def work(data, new, changed):
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        # The log is cleared now, so that the new book stays in it.
        await (await library._context()).store.commit()
        await library.add(new)
        Records.publish = die
        await library.add(changed)

asyncio.run(work(*map(Path, sys.argv[1:])))
"""


def kill(data: Path, moment: str = "written") -> None:
    """Open the library in a process that is killed once it has come so far."""
    run_killed(KILLED, str(data), moment)


def run_killed(script: str, *arguments: str) -> None:
    command = [sys.executable, "-c", script, *arguments]
    ended = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    """A closed library with two books."""
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as opened:
        await opened.add(small_books.write_markdown(tmp_path / "tides.md"))
        hills = {"Top": "Goats graze there.", "Foot": "Brooks run there."}
        await opened.add(small_books.write_markdown(tmp_path / "hills.md", hills, title="Hills"))
    return tmp_path / "library"


async def list_ids(library: Library, book_id: str) -> set[str]:
    return set(await library._records.read_manifest(book_id))


@pytest.mark.parametrize("moment", ["written", "flushed"])
async def test_only_the_books_that_were_touched_are_read(
    data: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    kill(data, moment)
    read = watch_reading(monkeypatch)
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        context = await library._context()
        hills = await list_ids(library, "hills")
        assert len(hills) > 1
        assert read == [hills]
        assert set(library.repaired.damaged) < hills
        assert len(library.repaired.damaged) == 1
        assert not await find_difference(context)
    read.clear()
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        await library._context()
        assert read == []


@pytest.mark.parametrize("free_space_mb", [0, 10**9])
async def test_a_book_that_was_being_added_again_leaves_the_points_of_others_alone(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_space_mb: int
) -> None:
    shores = {"Shore": "Waves break there all day.", "Deep": "Whales sing there at night."}
    sea = small_books.write_markdown(tmp_path / "sea.md", shores, title="Sea")
    slopes = {"Top": "Goats graze there.", "Foot": "Brooks run there.", "Sky": "Larks sing there."}
    hills = small_books.write_markdown(tmp_path / "hills.md", slopes, title="Hills")
    run_killed(KILLED_BEFORE_PUBLISHING, str(data), str(sea), str(hills))
    read = watch_reading(monkeypatch)
    # With little space, a sound point that is deleted could not be written again.
    settings = Settings(data=data, free_space_mb=free_space_mb)
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        context = await library._context()
        mended = library.repaired
        assert (mended.missing, mended.damaged, len(mended.strange)) == ((), (), 1)
        current = await list_ids(library, "hills") | await list_ids(library, "sea")
        assert read == [current | {*mended.strange}]
        assert not await find_difference(context)


async def test_a_kill_after_opening_leaves_nothing_to_be_read(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill(data, "opened")
    read = watch_reading(monkeypatch)
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        await library._context()
        assert read == [set()]
        assert not library.repaired


async def test_what_is_only_in_the_log_is_compared_after_the_next_kill_too(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        store = (await library._context()).store
        (tide, *_) = await library._records.list_chunks("the-tides")
        again = await library._records.find_embedded_chunks([tide.id])
        async with library._changes():
            # Nobody flushes: the change of the next process has this in its log.
            monkeypatch.setattr(EdgeStore, "_flush", lambda _: None)
            await store.upsert(again, edition=1)
        change = await store.begin_change()
        assert await store.find_touched(change) == {tide.id}
        monkeypatch.undo()
        await store.commit()
        assert await store.find_touched(change) == {tide.id}
        assert await store.find_touched(await store.begin_change()) == set()
        assert await store.find_touched(change) is None


async def test_a_kill_while_the_next_opening_repairs_loses_nothing(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill(data)
    for _ in range(2):
        # Opened, not repaired, and left: as if that process had been killed as well.
        left = await open_store(Settings(data=data), dimension=384, expected=True)
        assert isinstance(left, EdgeStore)
        left._shard.close()
        left.disown("it was killed")
        assert left._lock is not None
        left._lock.release()
    read = watch_reading(monkeypatch)
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        context = await library._context()
        assert read == [await list_ids(library, "hills")]
        assert len(library.repaired.damaged) == 1
        assert not await find_difference(context)


def start_anew(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    boot = data.with_name("boot_id")
    boot.write_text("another")
    monkeypatch.setattr(change_note, "BOOT_ID", boot)


def forget_the_start(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_note, "BOOT_ID", data / "missing")


def delete_note(data: Path, _: pytest.MonkeyPatch) -> None:
    (locate_store(data) / change_note.FILE).unlink()


def damage_note(data: Path, _: pytest.MonkeyPatch) -> None:
    note = locate_store(data) / change_note.FILE
    note.write_bytes(note.read_bytes()[:-5])


def copy_library(data: Path, _: pytest.MonkeyPatch) -> None:
    shutil.copytree(data, data.with_name("copy"))
    shutil.rmtree(data)
    data.with_name("copy").rename(data)


def put_a_file_back(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_note, "SLACK_SECONDS", 0)
    file = next(locate_store(data).glob("segments/*/segment.json"))
    file.write_bytes(file.read_bytes())


async def name_another_change(data: Path) -> None:
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        await library._records.set_meta(STORE_STATE, "9e107d9d-0000-4000-8000-372bb6826bd6")


@pytest.mark.parametrize(
    "harm", [start_anew, forget_the_start, delete_note, damage_note, copy_library, put_a_file_back]
)
async def test_without_a_valid_note_everything_is_compared(
    data: Path, monkeypatch: pytest.MonkeyPatch, harm: Callable[[Path, pytest.MonkeyPatch], None]
) -> None:
    kill(data)
    harm(data, monkeypatch)
    read = watch_reading(monkeypatch)
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        context = await library._context()
        assert read == [None]
        assert len(library.repaired.damaged) == 1
        assert not await find_difference(context)


async def test_records_of_another_time_do_not_go_by_the_note(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill(data)
    await name_another_change(data)
    read = watch_reading(monkeypatch)
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        await library._context()
        assert read == [None]
        assert len(library.repaired.damaged) == 1


async def test_a_store_of_another_time_does_not_go_by_the_note_of_this(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill(data)
    kept = data.with_name("kept")
    shutil.copytree(locate_store(data), kept)
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        await library._context()
    kill(data)
    # Put back in place, where the folder stays the same one.
    shutil.copytree(kept, locate_store(data), dirs_exist_ok=True)
    read = watch_reading(monkeypatch)
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        await library._context()
        assert read == [None]


async def test_what_another_process_wrote_after_the_kill_is_compared_as_well(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill(data)
    other = await open_store(Settings(data=data), dimension=384, expected=True)
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        tides = sorted(await list_ids(library, "the-tides"))
        chunks = await library._records.find_embedded_chunks(tides[:1])
    await other.upsert([replace(chunks[0], url="https://example.org/elsewhere")], edition=1)
    await other.close()
    read = watch_reading(monkeypatch)
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        await library._context()
        assert read == [await list_ids(library, "hills") | await list_ids(library, "the-tides")]
        assert len(library.repaired.damaged) == 2


async def test_a_point_that_was_not_touched_and_is_gone_is_missed_all_the_same(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        store = (await library._context()).store
        tides, hills = await list_ids(library, "the-tides"), await list_ids(library, "hills")
        change = await store.begin_change()
        await library._records.set_meta(STORE_STATE, change)
        found = await store.read_digests(hills)
        assert {id for id, digest in found.items() if digest == UNREAD} == tides
        lost = sorted(tides)[0]
        assert isinstance(store, EdgeStore)
        monkeypatch.setattr(store, "_note_touched", lambda _: None)
        await store.delete([lost])
        touched = await store.find_touched(change)
        assert touched == set()
        difference = await find_difference(await library._context(), touched=touched)
        assert difference.missing == (lost,)
        monkeypatch.undo()
        await library.check_store()


async def test_a_change_that_fails_is_cleared_up_by_what_it_touched(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        context = await library._context()

        async def fail(*_: object) -> None:
            raise RuntimeError("no more")

        more = {"Top": "Goats graze there.", "Foot": "Brooks run there.", "Sky": "Larks sing there."}
        book = small_books.write_markdown(tmp_path / "hills.md", more, title="Hills")
        with monkeypatch.context() as patched:
            patched.setattr(type(context.records), "settle", fail)
            with pytest.raises(RuntimeError):
                await library.add(book)
        read = watch_reading(monkeypatch)
        await library.tag("hills", add=["high"])
        await library.add(
            small_books.write_markdown(
                tmp_path / "sea.md", {"Shore": "Waves break there all day."}, title="Sea"
            )
        )
        assert read == [await list_ids(library, "hills")]
        assert not await find_difference(context)
