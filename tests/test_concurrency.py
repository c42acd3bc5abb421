"""A library and its surroundings: another process, a fork, a locked database, a clock, a wrong model."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from pathlib import Path

import pytest

from octavo.concurrency import LoopThread, RetryPolicy, complete, retry, run_to_completion
from octavo.errors import LibraryBusy, StoreError, WeightsError
from octavo.library import Library
from octavo.maintenance.repair import find_difference
from octavo.models import weights as models
from octavo.settings import Settings
from octavo.store import locate_store
from octavo.testing import TinyEmbedder
from octavo.types import Book
from tests.support import small_books
from tests.support.patience import PATIENCE

QUERY = "the harbour master counted the ships"
PRELUDE = """
import asyncio, os, sys
from octavo.errors import LibraryBusy, OctavoError, StoreError
from octavo.library import Library
from octavo.testing import TinyEmbedder
data, book = sys.argv[1:]
"""


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    """A library with one book, closed."""
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        await library.add(small_books.write_markdown(tmp_path / "tides.md"))
    return tmp_path / "library"


async def search_passages(data: Path) -> list[tuple[str, float]]:
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        found = [(e.chunk.id, e.relevance_score) for e in await library.search(QUERY, top_k=100)]
        assert not await find_difference(await library._context())
        return found


def start(code: str, data: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PRELUDE + textwrap.dedent(code), str(data), str(data.parent / "log.md")]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


HOLD = """
async def main():
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        await library.search("ships")
        print("held", flush=True)
        sys.stdin.read()
asyncio.run(main())
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, None], ids=["killed", "done"])
async def test_a_library_in_use_names_its_holder_and_is_free_the_moment_that_is_gone(
    data: Path, end: signal.Signals | None
) -> None:
    before = await search_passages(data)
    holder = start(HOLD, data)
    assert holder.stdout is not None
    assert await asyncio.to_thread(holder.stdout.readline) == "held\n"
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        assert len(await library.books()) == 1, "the catalogue needs no lock"
        for use in (
            library.search(QUERY),
            library.add(data.parent / "tides.md"),
            library.remove("the-tides"),
        ):
            with pytest.raises(LibraryBusy, match=f"in use by process {holder.pid} ") as refused:
                await use
            assert "One process at a time" in refused.value.hint
        if end is not None:
            holder.send_signal(end)
        await asyncio.to_thread(holder.communicate)
        assert len(await library.search(QUERY)) == len(before), "the refused library can go on"
    assert await search_passages(data) == before


def test_a_fork_of_an_open_library_is_refused_at_once_and_the_parent_goes_on(data: Path) -> None:
    forking = start(
        """
        async def main():
            async with Library.open(data, embedder=TinyEmbedder()) as library:
                await library.search("ships")
                store = library._store
                child = os.fork()
                if child == 0:
                    try:
                        store.commit().send(None)
                    except StoreError as error:
                        os._exit(7 if "forked" in str(error) else 8)
                    os._exit(9)
                print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
                print(len(await library.search("ships and boats")))
        asyncio.run(main())
        """,
        data,
    )
    said, _ = forking.communicate(timeout=60)
    assert said.split() == ["7", "4"]


async def test_an_add_that_meets_a_locked_database_fails_clean_and_works_later(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("octavo.records.database.PRAGMAS", ("busy_timeout = 60", "journal_mode = WAL"))
    new = small_books.write_markdown(
        data.parent / "log.md", {"Day": "On this day we saw no land."}, title="The Log"
    )
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        before = await library.search(QUERY, top_k=100)
        other = sqlite3.connect(data / "records.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        for change in (library.add(new), library.remove("the-tides")):
            with pytest.raises(LibraryBusy, match=r"records\.sqlite are being changed by another process"):
                await change
        assert await library.search(QUERY, top_k=100) == before, "readers are not held up"
        other.execute("ROLLBACK")
        other.close()
        await library.add(new)
        assert [b.id for b in await library.books()] == ["the-tides", "the-log"]
        assert not await find_difference(await library._context())


def set_clock(*days: int) -> type[datetime]:
    """A clock that stands still at one day after the other, each time it is asked."""
    left = [datetime(2025, 3, 1, 12, tzinfo=UTC) + timedelta(days=day) for day in days]

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return left.pop(0) if len(left) > 1 else left[0]

    return Clock


async def test_a_clock_that_goes_back_between_adds_changes_neither_order_nor_age(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("octavo.ingest.edition.datetime", set_clock(0, -2, -5, -9))
    titles = ("First", "Second", "Third")
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        for title in titles:
            said = {"I": f"The {title} book says this."}
            await library.add(small_books.write_markdown(tmp_path / f"book {title}.md", said, title=title))
        first = (await library.books())[0]
        said = {"I": "The First book, revised."}
        revised = await library.add(
            small_books.write_markdown(tmp_path / "book First.md", said, title="First")
        )
        assert tuple(b.title for b in await library.books()) == titles
        assert (revised.added_at, revised.updated_at) == (first.added_at, first.updated_at)
        (best,) = await library.search("First book revised", top_k=1)
        assert best.chunk.content == "The First book, revised."


async def test_five_copies_and_three_editions_are_one_book_and_one_of_each_passage(tmp_path: Path) -> None:
    embedder = TinyEmbedder()
    async with Library.open(tmp_path / "library", embedder=embedder) as library:
        ids = {
            (await library.add(small_books.write_markdown(tmp_path / f"copy {n}.md"))).id for n in range(5)
        }
        assert embedder.embedded == 4
        path = tmp_path / "tides.md"
        for n in range(3):
            new = {"Storm": f"A storm broke pier number {n} in a single night."}
            ids.add((await library.add(small_books.write_markdown(path, small_books.TIDES | new))).id)
        assert len(ids) == len(await library.books()) == 1
        found = await library.search("a storm broke the pier in the harbour", top_k=100)
        contents = [e.chunk.content for e in found]
        assert len(set(contents)) == len(contents) == 4
        assert "A storm broke pier number 2 in a single night." in contents
        assert len(await (await library._context()).store.read_digests()) == 4


def _put_empty_folder(path: Path) -> None:
    path.rename(path.with_name("gone"))
    path.mkdir()


def _put_file(path: Path) -> None:
    path.rename(path.with_name("gone"))
    path.write_text("not a folder")


def _put_foreign_folder(path: Path) -> None:
    _put_empty_folder(path)
    (path / "holiday.jpg").write_bytes(b"\xff\xd8")


def _lose_segments(path: Path) -> None:
    (path / "segments").rename(path / "lost")


@pytest.mark.parametrize(
    "accident",
    [_put_empty_folder, _put_file, _put_foreign_folder, _lose_segments],
    ids=lambda f: f.__name__[1:],
)
async def test_whatever_stands_in_the_place_of_the_store_is_named_kept_and_replaced_by_repair(
    data: Path, accident: Callable[[Path], None]
) -> None:
    before = await search_passages(data)
    path = locate_store(data)
    accident(path)
    foreign = path.exists() and (path.is_file() or any(path.iterdir()))
    embedder = TinyEmbedder()
    async with Library.open(data, embedder=embedder) as library:
        for _ in range(2):
            with pytest.raises(StoreError, match="ai_book_embedding") as refused:
                await library.search(QUERY)
            assert "octavo doctor --repair" in refused.value.hint
        embedder.embedded = 0
        findings = {f.what: f for f in await library.examine(repair=True)}
        assert findings["store"].sound, findings
        assert embedder.embedded == 1, "only the question whether the model answers"
    assert path.with_name("ai_book_embedding.damaged-1").exists() == foreign
    assert await search_passages(data) == before


def _truncate(weights: bytes) -> bytes:
    return weights[:-1]


def _flip_bit(weights: bytes) -> bytes:
    return weights[:100] + bytes([weights[100] ^ 1]) + weights[101:]


@pytest.mark.parametrize("damage", [_truncate, _flip_bit], ids=lambda f: f.__name__[1:])
async def test_a_wrong_model_is_refused_with_the_digest_expected_and_embeds_nothing(
    data: Path, damage: Callable[[bytes], bytes]
) -> None:
    cache = data / "models"
    cache.mkdir()
    shipped = models.find_shipped(models.INT8_FILE, models.INT8_SHA256)
    (cache / models.INT8_FILE).write_bytes(damage(shipped.read_bytes()))
    async with Library.open(settings=Settings(data=data)) as library:
        for use in (library.search(QUERY), library.add(data.parent / "tides.md"), library.prepare()):
            with pytest.raises(WeightsError, match=models.INT8_SHA256) as refused:
                await use
            assert "Delete" in refused.value.hint
        books: list[Book] = await library.books()
        assert len(books) == 1
    assert len(await search_passages(data)) == books[0].chunk_count


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
async def test_a_library_that_may_not_be_written_says_so(data: Path) -> None:
    (data / "octavo.lock").chmod(0o400)
    data.chmod(0o500)
    try:
        async with Library.open(data, embedder=TinyEmbedder()) as library:
            with pytest.raises(StoreError, match="cannot be opened for writing"):
                await library.search(QUERY)
    finally:
        data.chmod(0o700)


async def run_failing(policy: RetryPolicy, *errors: Exception) -> tuple[list[float], BaseException | None]:
    """Retries work that raises these errors in turn. Returns when it was called, and how it ended."""
    called: list[float] = []
    left = iter(errors)

    async def work() -> None:
        called.append(time.monotonic())
        for error in left:
            raise error

    try:
        await retry(work, policy, wait_after=lambda error: 0.0 if isinstance(error, OSError) else None)
    except Exception as error:
        return called, error
    return called, None


async def test_a_call_is_retried_until_it_succeeds() -> None:
    called, error = await run_failing(RetryPolicy(tries=5, pause=0.001), OSError(), OSError())
    assert (len(called), error) == (3, None)


async def test_retries_end_with_the_last_error() -> None:
    last = OSError("the last")
    called, error = await run_failing(RetryPolicy(tries=2, pause=0.001), OSError(), last, OSError())
    assert (len(called), error) == (2, last)
    called, error = await run_failing(RetryPolicy(seconds=0, pause=0.001), last, OSError())
    assert (len(called), error) == (1, last)


async def test_an_error_that_no_retry_can_mend_is_raised_at_once() -> None:
    fatal = KeyError("fatal")
    called, error = await run_failing(RetryPolicy(tries=5, pause=0.001), OSError(), fatal)
    assert (len(called), error) == (2, fatal)


async def test_pauses_grow_up_to_the_longest_and_last_as_long_as_the_error_asks() -> None:
    policy = RetryPolicy(tries=4, pause=0.02, growth=4.0, longest=0.06)
    called, _ = await run_failing(policy, OSError(), OSError(), OSError())
    pauses = [later - earlier for earlier, later in pairwise(called)]
    assert all(pause >= least for pause, least in zip(pauses, (0.02, 0.06, 0.06), strict=True))

    async def work() -> None:
        called.append(time.monotonic())
        raise OSError

    called.clear()
    with pytest.raises(OSError):
        await retry(work, RetryPolicy(tries=2, pause=0.001), wait_after=lambda _: 0.05)
    assert called[1] - called[0] >= 0.05


async def test_work_that_must_not_be_cut_short_ends_before_a_cancellation_is_raised() -> None:
    begun, finish = asyncio.Event(), asyncio.Event()

    async def work() -> str:
        begun.set()
        await finish.wait()
        return "done"

    task = asyncio.create_task(run_to_completion(work()))
    await begun.wait()
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    finish.set()
    result, cancelled = await task
    assert result == "done"
    assert isinstance(cancelled, asyncio.CancelledError)


@pytest.mark.parametrize("fails", [False, True])
async def test_work_is_completed_however_often_its_caller_is_cancelled(fails: bool) -> None:
    begun, finish, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        await finish.wait()
        ended.set()
        if fails:
            raise StoreError("the disk is full")

    task = asyncio.create_task(complete(work()))
    await begun.wait()
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
    finish.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


def test_work_that_a_program_begins_as_it_ends_is_completed() -> None:
    ended: list[str] = []
    tasks: list[asyncio.Task[None]] = []

    async def work() -> None:
        await asyncio.sleep(0)
        ended.append("closed")

    async def main() -> None:
        # The last turn of the loop gives the work a task of its own, which has not begun when the loop ends.
        tasks.append(asyncio.create_task(complete(work())))

    asyncio.run(main())
    assert ended == ["closed"]


async def test_completed_work_returns_its_result_or_raises_its_error() -> None:
    async def fail() -> None:
        raise StoreError("the disk is full")

    assert await complete(asyncio.sleep(0, "done")) == "done"
    with pytest.raises(StoreError, match="the disk is full"):
        await complete(fail())


def test_a_call_on_the_thread_of_the_loop_raises_instead_of_waiting_for_itself() -> None:
    loop, closed = LoopThread(), threading.Event()

    async def count() -> AsyncGenerator[int, None]:
        try:
            yield 1
            yield 2
        finally:
            closed.set()

    async def call_back() -> None:
        loop.run(asyncio.sleep(0))

    async def close(items: Generator[int, None, None]) -> None:
        items.close()

    with pytest.raises(RuntimeError, match="from its own thread"):
        loop.run(call_back())
    items = loop.iterate(count())
    assert next(items) == 1
    loop.run(close(items))
    assert closed.wait(PATIENCE)
    loop.close()


def test_an_interrupted_call_returns_when_its_work_has_ended() -> None:
    loop, ended = LoopThread(), threading.Event()

    async def work() -> None:
        try:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.05)
            ended.set()

    with pytest.raises(KeyboardInterrupt):
        loop.run(work())
    assert ended.is_set()
    loop.close()


@pytest.mark.parametrize("told", [False, True])
def test_an_interrupt_before_the_wait_stops_the_work(told: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    loop, begun, ended = LoopThread(), threading.Event(), threading.Event()
    tell = loop._loop.call_soon_threadsafe

    def interrupt(callback: Callable[[], object]) -> None:
        monkeypatch.setattr(loop._loop, "call_soon_threadsafe", tell)
        if told:
            tell(callback)
            assert begun.wait(PATIENCE)
        raise KeyboardInterrupt

    async def work() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            ended.set()

    monkeypatch.setattr(loop._loop, "call_soon_threadsafe", interrupt)
    with pytest.raises(KeyboardInterrupt):
        loop.run(work())
    assert ended.is_set() == told
    loop.close()
