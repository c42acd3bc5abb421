"""A large embedded store is rewritten by another process, and nothing is lost on the way."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from octavo.errors import StorageLow, StoreError
from octavo.protocols import EVERYWHERE, StoreHits, Where
from octavo.settings import Settings
from octavo.store import Store, compaction, locate_store, open_store
from octavo.store.base import digest_chunk
from octavo.store.compaction import count_loose, is_compact, lacks_links, rewrite
from octavo.store.edge import EdgeStore, _Attempt
from octavo.store.edge_files import create
from octavo.store.edge_filters import build_filter
from octavo.types import Chunk
from tests.support.copies import copy_library
from tests.support.patience import wait_until, wait_until_async
from tests.support.store_contract import make_chunk, words_of

WIDTH, MOST, COUNT = 64, 100, 300
VECTORS = np.random.default_rng(5).normal(size=(COUNT + 20, WIDTH)).astype(np.float32)
VECTORS /= np.linalg.norm(VECTORS, axis=1, keepdims=True)
IN_ONE_BOOK = Where(any_of={"book_id": ("book-1",)})


def make_wide_chunk(number: int) -> Chunk:
    made = make_chunk(number, f"Whale number {number} swims.", book_id=f"book-{number % 7}")
    return replace(made, embedding=tuple(VECTORS[number].tolist()))


CHUNKS = {chunk.id: chunk for chunk in map(make_wide_chunk, range(1, COUNT))}
EXPECTED = {id: digest_chunk(chunk) for id, chunk in CHUNKS.items()}


def open_wide(path: Path, *, most: int = MOST, free_space_mb: int = 0) -> EdgeStore:
    return EdgeStore(path, dimension=WIDTH, free_space_mb=free_space_mb, exact_most=most)


async def ask(store: EdgeStore, number: int, where: Where = EVERYWHERE) -> StoreHits:
    near = VECTORS[number] + 0.5 * VECTORS[number + 1]
    vector = (near / np.linalg.norm(near)).tolist()
    return await store.search(vector, words_of(f"whale {number}"), where=where, limit=10)


def plan(store: EdgeStore, where: Where) -> list[_Attempt]:
    return store._plan_attempts(where, build_filter(where), 10)


def list_folders(path: Path) -> list[str]:
    return sorted(each.name for each in path.parent.iterdir())


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a closed store with all chunks that was never rewritten."""
    data = tmp_path_factory.mktemp("plain")
    path = locate_store(data)
    path.parent.mkdir(parents=True)
    create(path, dimension=WIDTH)

    async def fill() -> None:
        store = open_wide(path, most=COUNT)
        await store.upsert(list(CHUNKS.values()), edition=1)
        await store.close()

    asyncio.run(fill())
    return data


@pytest.fixture
async def store(plain: Path, tmp_path: Path) -> AsyncIterator[EdgeStore]:
    opened = open_wide(locate_store(copy_library(plain, tmp_path / "data")))
    yield opened
    await opened.close()


async def test_a_small_store_is_not_rewritten_and_compares_every_vector(plain: Path, tmp_path: Path) -> None:
    store = open_wide(locate_store(copy_library(plain, tmp_path / "data")), most=COUNT)
    assert not await store.compact()
    assert not is_compact(store.path)
    assert store._choose_params(None) is None
    await store.close()


async def test_a_rewritten_store_finds_the_same_passages_with_the_same_scores(store: EdgeStore) -> None:
    before = [await ask(store, n) for n in range(1, 30)]
    in_book = [await ask(store, n, IN_ONE_BOOK) for n in range(1, 30)]
    assert await store.compact()
    assert is_compact(store.path)
    assert count_loose(store.path) == 0
    assert await store.read_digests() == EXPECTED
    # Inside one book every vector is compared, so nothing may differ.
    assert [await ask(store, n, IN_ONE_BOOK) for n in range(1, 30)] == in_book
    after = [await ask(store, n) for n in range(1, 30)]
    assert [hits.lexical for hits in after] == [hits.lexical for hits in before]
    found = sum(len({*old.dense} & {*new.dense}) for old, new in zip(before, after, strict=True))
    assert found / sum(len(old.dense) for old in before) >= 0.98
    assert list_folders(store.path) == [store.path.name]
    assert not await store.compact(), "nothing is new"


async def test_a_question_finds_the_same_again_by_the_links_and_within_most_of_the_books(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = locate_store(copy_library(plain, tmp_path / "data"))
    within = Where(none_of={"book_id": ("book-1",)})
    exact = open_wide(path, most=COUNT)
    before = [await ask(exact, n, where) for n in range(1, 30) for where in (EVERYWHERE, within)]
    await exact.close()
    monkeypatch.setattr(compaction, "SCANNED_MOST", 20)
    rewrite(path, dimension=WIDTH)
    store = open_wide(path)
    assert store._choose_params(None) != compaction.EXACT
    after = [await ask(store, n, where) for n in range(1, 30) for where in (EVERYWHERE, within)]
    again = [await ask(store, n, where) for n in range(1, 30) for where in (EVERYWHERE, within)]
    await store.close()
    assert again == after
    found = sum(len({*old.dense} & {*new.dense}) for old, new in zip(before, after, strict=True))
    assert found / sum(len(old.dense) for old in before) >= 0.98


async def test_a_store_that_an_earlier_version_rewrote_without_links_gets_them(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = locate_store(copy_library(plain, tmp_path / "data"))
    with monkeypatch.context() as earlier:
        earlier.setattr(compaction, "LINKS", 0)
        rewrite(path, dimension=WIDTH)
    assert is_compact(path)
    assert lacks_links(path)
    store = open_wide(path)
    assert len((await ask(store, 3)).dense) == 10, "it serves as it is"
    assert await store.compact()
    assert not lacks_links(path)
    assert await store.read_digests() == EXPECTED
    assert not await store.compact(), "once is enough"
    await store.close()


def make_twin(number: int, of: int) -> Chunk:
    """A chunk with the vector and the words of another one."""
    return replace(CHUNKS[make_wide_chunk(of).id], id=str(UUID(int=number)), chunk_id=number)


# None of the best, some of them, and more of them than are asked for besides those that are wanted.
@pytest.mark.parametrize("twins", [1, 3, 9, 40])
@pytest.mark.parametrize("rewritten_with_them", [False, True])
async def test_a_book_that_is_being_added_hides_nothing_and_is_not_found(
    store: EdgeStore, twins: int, rewritten_with_them: bool
) -> None:
    hidden = [make_twin(10_000 * of + n, of) for n in range(1, twins + 1) for of in range(1, 8)]
    if rewritten_with_them:
        before = [await ask(store, n) for n in range(1, 30)]
        await store.upsert(hidden, edition=2)
    assert await store.compact()
    if not rewritten_with_them:
        before = [await ask(store, n) for n in range(1, 30)]
        await store.upsert(hidden, edition=2)
    unseen = Where(none_of={"edition": (2,)})
    after = [await ask(store, n, unseen) for n in range(1, 30)]
    assert [hits.lexical for hits in after] == [hits.lexical for hits in before]
    if not rewritten_with_them:
        assert after == before
    assert not {chunk.id for chunk in hidden} & {hit.id for hits in after for hit in hits.dense}
    assert [len(hits.dense) for hits in after] == [10] * len(after)


async def test_not_every_point_of_a_large_store_is_asked_whether_it_is_hidden(store: EdgeStore) -> None:
    unseen, in_book = Where(none_of={"edition": (2,)}), replace(IN_ONE_BOOK, none_of={"edition": (2,)})
    assert await store.compact()
    filters = [attempt.allowed is not None for attempt in plan(store, unseen)]
    assert filters == [False, True, True], "the filter is for those of which too many are hidden"
    assert all(attempt.allowed for attempt in plan(store, in_book)), "a book is found by the filter"
    assert not any(attempt.left_out for attempt in plan(store, EVERYWHERE))


async def test_changes_made_while_the_store_is_rewritten_are_kept(store: EdgeStore) -> None:
    rewriting = store._start_rewriting()
    await wait_until_async(lambda: store._touched is not None)
    new = [make_wide_chunk(number) for number in range(COUNT, COUNT + 10)]
    gone = list(CHUNKS)[:20]
    await store.upsert(new, edition=2)
    await store.delete(gone)
    await store.commit()
    assert rewriting is not None
    assert await rewriting
    expected = {id: digest for id, digest in EXPECTED.items() if id not in gone}
    expected |= {chunk.id: digest_chunk(chunk) for chunk in new}
    assert await store.read_digests() == expected
    assert new[3].id in {hit.id for hit in (await ask(store, COUNT + 3)).dense}
    await store.close()
    again = open_wide(store.path)
    assert await again.read_digests() == expected
    await again.close()


async def test_closing_stops_the_rewriting_and_leaves_the_store_as_it_was(store: EdgeStore) -> None:
    store._start_rewriting()
    await wait_until_async(lambda: store._touched is not None)
    await store.close()
    assert list_folders(store.path) == [store.path.name]
    assert not is_compact(store.path)


async def test_without_space_the_store_is_not_rewritten_and_still_serves(plain: Path, tmp_path: Path) -> None:
    path = locate_store(copy_library(plain, tmp_path / "data"))
    store = open_wide(path, free_space_mb=1 << 40)
    assert not await store.compact()
    assert list_folders(path) == [path.name]
    assert await store.read_digests() == EXPECTED
    await store.close()


async def _open_again(data: Path) -> Store:
    return await open_store(Settings(data=data, free_space_mb=0), dimension=WIDTH, expected=True)


async def _read_again(data: Path) -> dict[str, str]:
    opened = await _open_again(data)
    try:
        return await opened.read_digests()
    finally:
        await opened.close()


REWRITE = textwrap.dedent(
    """
    import asyncio, sys
    from pathlib import Path
    from octavo.store.edge import EdgeStore

    async def rewrite():
        store = EdgeStore(Path(sys.argv[1]), dimension=int(sys.argv[2]), exact_most=100, free_space_mb=0)
        print(await store.compact(), flush=True)

    asyncio.run(rewrite())
    """
)


@pytest.mark.parametrize("moment", ["copying", "rewriting"])
def test_a_kill_during_the_rewriting_loses_nothing(plain: Path, tmp_path: Path, moment: str) -> None:
    data = copy_library(plain, tmp_path / "data")
    path = locate_store(data)
    process = subprocess.Popen([sys.executable, "-c", REWRITE, str(path), str(WIDTH)], stdout=subprocess.PIPE)
    # The copy is whole when it has the log of the store.
    sign = f"{path.name}.compaction-*" + ("/wal/*" if moment == "rewriting" else "")
    wait_until(lambda: any(path.parent.glob(sign)) or process.poll() is not None)
    process.kill()
    said, _ = process.communicate()
    assert said == b"", "it was not killed in time"
    assert asyncio.run(_read_again(data)) == EXPECTED
    assert list_folders(path) == [path.name]


async def test_a_kill_between_the_two_renames_loses_nothing(plain: Path, tmp_path: Path) -> None:
    data = copy_library(plain, tmp_path / "data")
    path = locate_store(data)
    path.rename(path.with_name(f"{path.name}.before-compaction"))
    path.with_name(f"{path.name}.compaction-x").mkdir()
    opened = await _open_again(data)
    assert await opened.read_digests() == EXPECTED
    assert list_folders(path) == [path.name]
    await opened.close()


async def test_a_kill_after_the_renames_leaves_the_rewritten_store(store: EdgeStore) -> None:
    assert await store.compact()
    await store.close()
    copy_library(store.path, store.path.with_name(f"{store.path.name}.before-compaction"))
    opened = await _open_again(store.path.parents[1])
    assert is_compact(store.path)
    assert list_folders(store.path) == [store.path.name]
    assert await opened.read_digests() == EXPECTED
    await opened.close()


async def test_a_rewritten_copy_that_lacks_points_is_not_used(store: EdgeStore, tmp_path: Path) -> None:
    short = tmp_path / "short"
    create(short, dimension=WIDTH)
    with pytest.raises(Exception, match="has not all of the 299 points"):
        await store._run(store._exchange, short, ())
    assert await store.read_digests() == EXPECTED
    assert not json.loads((store.path / "edge_config.json").read_text()).get("quantization_config")


async def test_a_store_that_cannot_be_exchanged_serves_on(store: EdgeStore, tmp_path: Path) -> None:
    stale = store.path.with_name(f"{store.path.name}.before-compaction")
    create(stale, dimension=WIDTH)
    with pytest.raises(StoreError):
        await store._run(store._exchange, tmp_path / "missing", ())
    assert await store.read_digests() == EXPECTED
    assert list_folders(store.path) == [store.path.name]


async def test_a_copy_that_needs_more_space_than_there_is_is_not_used(
    store: EdgeStore, tmp_path: Path
) -> None:
    wide = tmp_path / "wide"
    create(wide, dimension=WIDTH)
    with (wide / "hole").open("wb") as hole:
        hole.truncate(2 * shutil.disk_usage(tmp_path).free)
    with pytest.raises(StorageLow):
        await store._run(store._exchange, wide, ())
    assert await store.read_digests() == EXPECTED
