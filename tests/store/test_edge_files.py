"""The files of an embedded store: which of them are in memory, and which stay on the disk."""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import sys
from pathlib import Path

import pytest
from qdrant_edge import EdgeShard, PayloadSchemaType, UpdateOperation

from octavo.protocols import EVERYWHERE, StoreHits, Where
from octavo.store.base import KEYWORDS, NUMBERS, digest_chunk
from octavo.store.compaction import is_compact, rewrite
from octavo.store.edge import EdgeStore
from octavo.store.edge_files import _list_read_whole, _read_ahead, leave_filters_on_disk
from tests.support.edge_folders import write_store
from tests.support.patience import wait_until
from tests.support.store_contract import SIZE, make_chunk, make_vector, words_of

CHUNKS = [
    make_chunk(
        n,
        f"Whale number {n} swims.",
        points=(1.0, n / 7),
        book_id=f"book-{n % 3}",
        section_id=f"s{n % 5}",
        page=n,
    )
    for n in range(1, 65)
]
EXPECTED = {chunk.id: digest_chunk(chunk) for chunk in CHUNKS}
FILTERS = (
    EVERYWHERE,
    Where(any_of={"book_id": ("book-1", "book-2")}),
    Where(any_of={"sections": ("s1",)}, none_of={"edition": (2,)}),
    Where(none_of={"source_file": ("book-1.txt",)}, at_least={"page_number": 9}, at_most={"page_end": 40}),
    Where(any_of={"document_position": (3, 4, 5)}),
)


async def ask(path: Path) -> list[StoreHits]:
    store = EdgeStore(path, dimension=SIZE, free_space_mb=0)
    vector, words = make_vector(1.0, 0.3), words_of("whale 7")
    found = [await store.search(vector, words, where=where, limit=20) for where in FILTERS]
    assert await store.read_digests() == EXPECTED
    await store.close()
    return found


def keep_filters_in_memory(path: Path) -> None:
    """Makes the indexes of the filters anew as earlier versions made them."""
    shard = EdgeShard.load(str(path))
    for key in (*KEYWORDS, *NUMBERS):
        kind = PayloadSchemaType.Keyword if key in KEYWORDS else PayloadSchemaType.Integer
        shard.update(UpdateOperation.delete_field_index(key))
        shard.update(UpdateOperation.create_field_index(key, kind))
    # The engine does again what its log says last.
    shard.update(UpdateOperation.delete_points([make_chunk(999).id]))
    shard.close()


def are_filters_on_disk(path: Path) -> set[bool]:
    kinds = [
        kind
        for file in path.glob("segments/*/payload_index/config.json")
        for kinds in json.loads(file.read_text())["indexed_types"].values()
        for kind in kinds
    ]
    return {
        kind["storage_type"]["mmap"]["is_on_disk"]
        for kind in kinds
        if kind["mutability"] == "immutable" and kind["index_type"] != "null_index"
    }


def list_filters_read(path: Path) -> list[Path]:
    """Lists the files of filters that the engine reads as a whole in segments that were rewritten."""
    read = [
        file for each in path.glob("segments/*") for one in _list_read_whole(each) for file in each.glob(one)
    ]
    return [file for file in read if file.name == "values_to_points.bin"]


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    return await write_store(tmp_path / "store", CHUNKS)


async def test_a_new_store_that_is_rewritten_has_its_filters_on_the_disk(path: Path) -> None:
    before = await ask(path)
    rewrite(path, dimension=SIZE)
    assert is_compact(path)
    assert are_filters_on_disk(path) == {True}
    assert await ask(path) == before


async def test_filters_that_an_earlier_version_kept_in_memory_say_the_same_from_the_disk(path: Path) -> None:
    keep_filters_in_memory(path)
    rewrite(path, dimension=SIZE)
    keep_filters_in_memory(path)
    assert are_filters_on_disk(path) == {False}
    (path / "octavo-checksums").unlink()
    before = await ask(path)
    assert list_filters_read(path)
    leave_filters_on_disk(path)
    assert are_filters_on_disk(path) == {True}
    assert not list_filters_read(path)
    assert await ask(path) == before
    rewrite(path, dimension=SIZE)
    assert are_filters_on_disk(path) == {True}
    assert await ask(path) == before


def count_cached_pages(file: Path) -> int:
    """Counts the pages of a file that the system has in memory."""
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, mmap.MAP_PRIVATE) as mapped:
        pages = -(-len(mapped) // mmap.PAGESIZE)
        found = (ctypes.c_ubyte * pages)()
        address = ctypes.addressof(ctypes.c_char.from_buffer(mapped))
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(len(mapped)), found) == 0
        return sum(page & 1 for page in found)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux is asked to read ahead")
def test_what_the_engine_reads_as_a_whole_is_read_ahead(tmp_path: Path) -> None:
    codes = tmp_path / "segments" / "one" / "vector_storage" / "quantized.data"
    codes.parent.mkdir(parents=True)
    codes.write_bytes(os.urandom(4 << 20))
    with codes.open("rb") as opened:
        os.fsync(opened.fileno())
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    _read_ahead(tmp_path)
    wait_until(lambda: count_cached_pages(codes) == codes.stat().st_size // mmap.PAGESIZE)


def test_a_file_that_cannot_be_read_ahead_is_left_to_the_engine(tmp_path: Path) -> None:
    (tmp_path / "segments" / "one" / "vector_storage" / "quantized.data").mkdir(parents=True)
    _read_ahead(tmp_path)
