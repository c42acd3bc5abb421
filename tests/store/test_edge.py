"""The store contract on Qdrant Edge, and what is Edge's alone: its files, its lock, its faults."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import struct
import subprocess
import sys
import textwrap
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from qdrant_edge import EdgeShard, ScrollRequest

from octavo.errors import LibraryBusy, OctavoError, StorageLow, StoreError
from octavo.protocols import EVERYWHERE, ChunkStore, Where
from octavo.settings import Settings
from octavo.store import Store, edge, locate_store, open_store, replace_store
from octavo.store.base import DAMAGED, LibraryLock, digest_chunk
from octavo.store.bm25 import Bm25Encoder
from octavo.store.edge import EdgeStore
from octavo.store.edge_files import sync_files, translate_errors
from octavo.types import Chunk
from tests.support.store_contract import PROMISES, SIZE, list_numbers, make_chunk, make_vector, words_of

ROOT = Path(__file__).parents[2]


def make_settings(data: Path, *, free_space_mb: int = 0) -> Settings:
    return Settings(data=data, free_space_mb=free_space_mb)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store for all promises: making one costs the disk a second."""
    opened = asyncio.run(open_store(make_settings(tmp_path_factory.mktemp("shared")), dimension=SIZE))
    yield opened
    asyncio.run(opened.close())


@pytest.fixture
def store(shared: Store) -> Store:
    asyncio.run(_empty(shared))
    return shared


async def _empty(store: Store) -> None:
    await store.delete(await store.read_digests())


async def _fill(data: Path, *chunks: Chunk) -> Path:
    """A closed store with these chunks; returns where it is."""
    opened = await open_store(make_settings(data), dimension=SIZE)
    await opened.upsert(chunks or [make_chunk(n) for n in range(1, 6)], edition=1)
    await opened.close()
    return locate_store(data)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
async def test_edge_keeps_the_promise_that(
    promise: Callable[[ChunkStore], Awaitable[None]], store: Store
) -> None:
    await promise(store)


filters = st.builds(
    Where,
    any_of=st.dictionaries(
        st.sampled_from(["book_id", "sections"]),
        st.lists(st.sampled_from("abc"), max_size=2).map(tuple),
        max_size=2,
    ),
    none_of=st.dictionaries(
        st.sampled_from(["book_id", "sections"]),
        st.lists(st.sampled_from("abc"), max_size=1).map(tuple),
        max_size=1,
    ),
    at_least=st.dictionaries(
        st.sampled_from(["document_position", "page_end"]), st.integers(0, 30), max_size=1
    ),
    at_most=st.dictionaries(
        st.sampled_from(["document_position", "page_number"]), st.integers(0, 30), max_size=1
    ),
)


def _passes(chunk: Chunk, where: Where) -> bool:
    values: dict[str, tuple[object, ...]] = {
        "book_id": (chunk.book_id,),
        "sections": (*chunk.ancestors, chunk.section_id),
        "document_position": (chunk.document_position,),
        "page_number": (chunk.page_number,),
        "page_end": (chunk.page_number,),
    }
    return (
        all(set(values[key]) & set(wanted) for key, wanted in where.any_of.items())
        and not any(set(values[key]) & set(banned) for key, banned in where.none_of.items())
        and all(v is not None and v >= least for k, least in where.at_least.items() for v in values[k])  # type: ignore[operator]
        and all(v is not None and v <= most for k, most in where.at_most.items() for v in values[k])  # type: ignore[operator]
    )


LIBRARY = [
    make_chunk(
        n,
        book_id="abc"[n % 3],
        section_id="abc"[n % 2],
        ancestors=("c",) if n % 5 == 0 else (),
        page=n // 2 or None,
    )
    for n in range(1, 25)
]


@pytest.fixture
def library(store: Store) -> Store:
    asyncio.run(store.upsert(LIBRARY, edition=1))
    return store


@given(where=filters)
@hypothesis_settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_a_filter_lets_through_exactly_what_it_says(library: Store, where: Where) -> None:
    found = asyncio.run(library.search(make_vector(1.0), words_of("whale"), where=where, limit=50))
    wanted = [c.chunk_id for c in LIBRARY if _passes(c, where)]
    assert list_numbers(found.dense) == list_numbers(found.lexical) == wanted


async def test_a_store_that_weighed_words_itself_is_converted_when_it_is_opened(tmp_path: Path) -> None:
    path = await _fill(tmp_path, make_chunk(1, "A ship with masts."), *(make_chunk(n) for n in range(2, 6)))
    for file in (path / "edge_config.json", *path.glob("segments/*/segment.json")):
        said = file.read_text(encoding="utf-8")
        older = said.replace('"bm25":{', '"bm25":{"modifier":"idf",').replace(",}", "}")
        assert older != said
        file.write_text(older, encoding="utf-8")
    for _ in range(2):
        opened = await open_store(make_settings(tmp_path), dimension=SIZE, expected=True)
        found = await opened.search(make_vector(1.0), words_of("ship"), where=EVERYWHERE, limit=3)
        ((index, asked),) = words_of("ship").items()
        weight = asked * Bm25Encoder().encode_document("Chapter\nA ship with masts.")[index]
        assert [hit.score for hit in found.lexical] == [pytest.approx(weight, abs=1e-4)]
        await opened.close()


async def test_the_collection_can_be_read_by_any_client_that_knows_its_four_keys(tmp_path: Path) -> None:
    path = await _fill(tmp_path, make_chunk(7, page=2, ancestors=("part-1",)))
    assert path == tmp_path / "store" / "ai_book_embedding"
    shard = EdgeShard.load(str(path))
    records, _ = shard.scroll(ScrollRequest(with_payload=True, with_vector=True))
    shard.close()
    payload = dict(records[0].payload or {})
    assert payload.pop("digest")
    assert payload == {
        "url": "book://moby-dick/ch-1",
        "text": "The whale is white and large.",
        "chunk_id": 7,
        "source_title": "Moby-Dick",
        "book_id": "moby-dick",
        "edition": 1,
        "sections": ["part-1", "ch-1"],
        "document_position": 7,
        "source_file": "moby-dick.txt",
        "page_number": 2,
        "page_end": 2,
    }


async def test_a_store_is_what_it_was_when_it_is_opened_again(tmp_path: Path) -> None:
    await _fill(tmp_path)
    again = await open_store(make_settings(tmp_path), dimension=SIZE, expected=True)
    assert await again.count() == 5
    assert await again.read_digests() == {make_chunk(n).id: digest_chunk(make_chunk(n)) for n in range(1, 6)}
    await again.close()
    await again.close()


async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    opened = await open_store(make_settings(tmp_path), dimension=SIZE)
    await opened.close()
    for use in (opened.count, opened.read_digests, opened.commit):
        with pytest.raises(StoreError, match=r"ai_book_embedding cannot be used: it has been closed"):
            await use()


async def test_a_second_opening_is_refused_at_once_and_names_the_process(tmp_path: Path) -> None:
    opened = await open_store(make_settings(tmp_path), dimension=SIZE)
    with pytest.raises(LibraryBusy, match=f"in use by process {os.getpid()} "):
        await open_store(make_settings(tmp_path), dimension=SIZE)
    await opened.close()
    await (await open_store(make_settings(tmp_path), dimension=SIZE)).close()


async def test_a_store_under_the_callers_lock_leaves_the_lock_to_the_caller(tmp_path: Path) -> None:
    lock = LibraryLock(tmp_path)
    opened = await open_store(make_settings(tmp_path), dimension=SIZE, lock=lock)
    await opened.close()
    assert lock.held
    with pytest.raises(LibraryBusy):
        await open_store(make_settings(tmp_path), dimension=SIZE)
    lock.release()


async def test_even_without_our_lock_the_engines_own_is_understood(tmp_path: Path) -> None:
    shard = EdgeShard.load(str(await _fill(tmp_path)))
    with pytest.raises(LibraryBusy, match="ai_book_embedding is in use by another process"):
        await open_store(make_settings(tmp_path), dimension=SIZE)
    shard.close()


def _run(code: str, data: Path) -> subprocess.CompletedProcess[str]:
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n" + textwrap.dedent(code)
    return subprocess.run(
        [sys.executable, "-c", program, str(data)], capture_output=True, text=True, timeout=120, check=False
    )


async def test_nobody_writes_before_a_cancelled_write_has_ended(
    store: EdgeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_go_on = threading.Event(), threading.Event()
    upsert = store._upsert

    def wait_and_upsert(*given: Any) -> None:
        begun.set()
        may_go_on.wait()
        upsert(*given)

    monkeypatch.setattr(store, "_upsert", wait_and_upsert)
    writing = asyncio.create_task(store.upsert([make_chunk(1)], edition=1))
    await asyncio.to_thread(begun.wait)
    writing.cancel()
    deleting = asyncio.create_task(store.delete([make_chunk(1).id]))
    try:
        ended, _ = await asyncio.wait([writing, deleting], timeout=0.5)
    finally:
        may_go_on.set()
    assert not ended
    with pytest.raises(asyncio.CancelledError):
        await writing
    await deleting
    assert await store.read_digests() == {}


async def test_what_was_committed_survives_a_kill(tmp_path: Path) -> None:
    ended = _run(
        """
        import asyncio, os, signal
        from pathlib import Path
        from tests.support.store_contract import SIZE, make_chunk
        from octavo.settings import Settings
        from octavo.store import open_store

        async def main():
            store = await open_store(Settings(data=Path(sys.argv[1]), free_space_mb=0), dimension=SIZE)
            for start in (1, 101, 201):  # the first clears the log, the others do not
                await store.upsert([make_chunk(n) for n in range(start, start + 100)], edition=1)
                await store.commit()
            await store.delete([make_chunk(300).id])
            await store.commit()
            os.kill(os.getpid(), signal.SIGKILL)

        asyncio.run(main())
        """,
        tmp_path,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    again = await open_store(make_settings(tmp_path), dimension=SIZE, expected=True)
    assert await again.read_digests() == {
        make_chunk(n).id: digest_chunk(make_chunk(n)) for n in range(1, 300)
    }
    await again.close()


async def test_the_log_is_cleared_when_it_is_long_and_sooner_while_nobody_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await open_store(make_settings(tmp_path), dimension=SIZE)
    assert isinstance(store, EdgeStore)
    monkeypatch.setattr(edge, "LOG_WORTH", 3)
    monkeypatch.setattr(edge, "LOG_MOST", 5)
    lengths = []
    for quiet in (True, False):
        monkeypatch.setattr(edge, "QUIET_SECONDS", -1.0 if quiet else 1e9)
        await store.search(make_vector(1), words_of("ships"), where=EVERYWHERE, limit=1)
        for n in range(1, 7):
            await store.upsert([make_chunk(n)], edition=1)
            await store.commit()
            lengths.append(store._logged)
    assert lengths == [0, 1, 2, 0, 1, 2, 3, 4, 0, 1, 2, 3]
    assert await store.count() == 6
    await store.close()


def test_every_file_of_a_store_is_seen_to_and_one_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "store" / "segment").mkdir(parents=True)
    for name in ("log", "segment/points", "segment/words"):
        (tmp_path / "store" / name).write_bytes(b"x")
    assert sync_files(tmp_path / "store") == 5
    (tmp_path / "store" / "gone").symlink_to("nowhere")
    assert sync_files(tmp_path / "store") == 6  # a name that leads nowhere any more is no failure
    (tmp_path / "store" / "circle").symlink_to("circle")
    with pytest.raises(StoreError, match="store"):
        sync_files(tmp_path / "store")


def test_a_process_that_may_open_no_more_files_says_so_when_a_store_is_to_be_made_durable(
    tmp_path: Path,
) -> None:
    (tmp_path / "store").mkdir()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        with pytest.raises(StoreError, match="may not open more files"):
            sync_files(tmp_path / "store")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_too_few_files_are_no_damage() -> None:
    with pytest.raises(StoreError, match="may not open more files") as told, translate_errors(Path("store")):
        raise OSError(24, "Too many open files")
    assert "ulimit -n" in told.value.hint


def test_a_forked_child_is_refused_and_the_parent_works_on(tmp_path: Path) -> None:
    ended = _run(
        """
        import asyncio, os
        from pathlib import Path
        from tests.support.store_contract import SIZE, make_chunk
        from octavo.errors import StoreError
        from octavo.settings import Settings
        from octavo.store import open_store

        store = asyncio.run(open_store(Settings(data=Path(sys.argv[1]), free_space_mb=0), dimension=SIZE))
        child = os.fork()
        if child == 0:
            try:
                asyncio.run(store.count())
            except StoreError as error:
                print("child:", error, flush=True)
                asyncio.run(store.close())
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        asyncio.run(store.upsert([make_chunk(1)], edition=1))
        asyncio.run(store.commit())
        print("parent:", asyncio.run(store.count()))
        asyncio.run(store.close())
        """,
        tmp_path,
    )
    assert ended.returncode == 0, ended.stderr
    assert "this process was forked from the one that opened it" in ended.stdout
    assert "parent: 1" in ended.stdout


def _is_a_file(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text("not a folder")


def _is_a_folder_of_something_else(path: Path) -> None:
    path.mkdir(parents=True)
    (path / "holiday.jpg").write_bytes(b"\xff\xd8")


@pytest.mark.parametrize("foreign", [_is_a_file, _is_a_folder_of_something_else])
async def test_what_is_no_store_is_left_alone_and_named(
    foreign: Callable[[Path], None], tmp_path: Path
) -> None:
    foreign(locate_store(tmp_path))
    with pytest.raises(StoreError, match="ai_book_embedding is not a whole chunk store") as refused:
        await open_store(make_settings(tmp_path), dimension=SIZE)
    assert "octavo doctor --repair" in refused.value.hint


async def test_a_store_that_should_be_there_and_is_not_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"missing: there is nothing at .*ai_book_embedding") as refused:
        await open_store(make_settings(tmp_path), dimension=SIZE, expected=True)
    assert "octavo doctor --repair" in refused.value.hint


async def test_a_store_for_another_embedder_is_refused(tmp_path: Path) -> None:
    await _fill(tmp_path)
    with pytest.raises(StoreError, match="made for another embedder"):
        await open_store(make_settings(tmp_path), dimension=SIZE + 1)


@pytest.mark.parametrize("victim", ["segment.json", "edge_config.json", "mutable_id_tracker.mappings"])
async def test_an_unreadable_store_is_an_error_that_names_it_and_frees_the_lock(
    victim: str, tmp_path: Path
) -> None:
    path = await _fill(tmp_path)
    for file in path.rglob(victim):
        file.write_bytes(b"\x00garbage\xff" * 20)
    with pytest.raises(StoreError, match="ai_book_embedding") as refused:
        await open_store(make_settings(tmp_path), dimension=SIZE)
    assert "octavo doctor --repair" in refused.value.hint
    LibraryLock(tmp_path).release()


def _write(file: Path, at: int, raw: bytes) -> None:
    with file.open("r+b") as out:
        out.seek(at)
        out.write(raw)


async def _read_digests_or_refusal(data: Path) -> dict[str, str]:
    """What the damaged store reports; the damage may also show as an error when it is opened."""
    try:
        opened = await open_store(make_settings(data), dimension=SIZE)
    except OctavoError as error:
        return {"": str(error)}
    try:
        return await opened.read_digests()
    except OctavoError as error:
        return {"": str(error)}
    finally:
        await opened.close()


async def test_one_flipped_bit_in_a_vector_is_seen(tmp_path: Path) -> None:
    first, second = make_chunk(1, points=(0.6, 0.8)), make_chunk(2, points=(0.28, 0.96))
    path = await _fill(tmp_path, first, second)
    (file,) = path.rglob("chunk_0.mmap")
    raw = file.read_bytes()
    at = raw.index(struct.pack("<f", 0.28)) + 1
    _write(file, at, bytes([raw[at] ^ 0x04]))
    found = await _read_digests_or_refusal(tmp_path)
    assert found == {first.id: digest_chunk(first), second.id: DAMAGED}


@pytest.mark.parametrize("storage", ["payload_storage", "vector_storage-bm25"])
async def test_flipped_bytes_in_payloads_and_words_are_seen(storage: str, tmp_path: Path) -> None:
    """The bytes are packed and a few of them mean nothing; all the others must be missed."""
    path = await _fill(tmp_path, make_chunk(1))
    (file,) = path.rglob(f"{storage}/**/page_0.dat")
    whole = file.read_bytes()
    length = len(whole.rstrip(b"\0"))
    places = range(length // 12, length, length // 6)
    seen = 0
    for at in places:
        _write(file, at, bytes([whole[at] ^ 0x01]))
        seen += await _read_digests_or_refusal(tmp_path) != {make_chunk(1).id: digest_chunk(make_chunk(1))}
        _write(file, at, whole[at : at + 1])
    assert seen >= len(places) - 1
    assert await _read_digests_or_refusal(tmp_path) == {make_chunk(1).id: digest_chunk(make_chunk(1))}


@pytest.mark.parametrize("index", ["book_id-map", "edition-numeric"])
async def test_a_filter_that_would_miss_chunks_is_seen(index: str, tmp_path: Path) -> None:
    path = await _fill(tmp_path)
    for file in path.rglob(f"payload_index/*-{index}/*.dat"):
        _write(file, 0, b"\0" * min(4096, file.stat().st_size))
    found = await _read_digests_or_refusal(tmp_path)
    assert found == {make_chunk(n).id: DAMAGED for n in range(1, 6)}


async def test_an_index_of_words_that_lost_its_chunks_is_seen(tmp_path: Path) -> None:
    path = await _fill(tmp_path)
    for file in path.rglob("mutable_id_tracker.mappings"):
        file.unlink()  # the points come back from the log, their words do not
    found = await _read_digests_or_refusal(tmp_path)
    assert found == {make_chunk(n).id: DAMAGED for n in range(1, 6)}


async def test_chunks_without_a_word_that_counts_are_sound(tmp_path: Path) -> None:
    silent = make_chunk(1, "the of and to the of and", headings=("the",))
    await _fill(tmp_path, silent)
    assert await _read_digests_or_refusal(tmp_path) == {silent.id: digest_chunk(silent)}


async def test_a_nearly_full_disk_refuses_writes_before_the_store_is_touched(tmp_path: Path) -> None:
    with pytest.raises(StorageLow, match="MB are free"):
        await open_store(make_settings(tmp_path, free_space_mb=10**9), dimension=SIZE)
    path = await _fill(tmp_path)
    opened = EdgeStore(path, dimension=SIZE, free_space_mb=10**9)
    with pytest.raises(StorageLow, match="must leave 1000000000 MB free"):
        await opened.upsert([make_chunk(9)], edition=1)
    assert (
        len((await opened.search(make_vector(1.0), words_of("whale"), where=EVERYWHERE, limit=9)).dense) == 5
    )
    await opened.delete([make_chunk(1).id])
    assert await opened.count() == 4, "what makes room may be done"
    await opened.close()


async def test_a_replaced_store_is_empty_and_what_was_there_is_kept(tmp_path: Path) -> None:
    path = await _fill(tmp_path)
    (path / "segments").rename(path / "lost")
    for number in (1, 2):
        opened, kept = await replace_store(make_settings(tmp_path), dimension=SIZE + 1)
        assert kept == path.with_name(f"ai_book_embedding.damaged-{number}")
        assert kept.is_dir()
        assert await opened.count() == 0
        await opened.close()
    LibraryLock(tmp_path).release()


async def test_replacing_nothing_just_makes_a_store(tmp_path: Path) -> None:
    draft = locate_store(tmp_path).with_name("ai_book_embedding.new")
    (draft / "segments").mkdir(parents=True)  # what a kill while making a store leaves behind
    opened, kept = await replace_store(make_settings(tmp_path), dimension=SIZE)
    assert kept is None
    assert not draft.exists()
    await opened.close()
