"""What is read of a store whose note says which points may be wrong."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from octavo.settings import Settings
from octavo.store import locate_store, open_store
from octavo.store.base import UNREAD, digest_chunk
from octavo.store.change_note import FILE
from octavo.store.edge import EdgeStore
from octavo.types import Chunk
from tests.support.store_contract import SIZE, make_chunk

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has valid notes")
SILENT = "the of and to the of and"
TIDES = [make_chunk(n, book_id="tides") for n in range(1, 4)]
SILENT_TIDE = make_chunk(4, SILENT, headings=("the",), book_id="tides")
HILL = make_chunk(5, book_id="hills")
SILENT_HILL = make_chunk(6, SILENT, headings=("the",), book_id="hills")


async def open_edge(data: Path) -> EdgeStore:
    opened = await open_store(Settings(data=data, free_space_mb=0), dimension=SIZE)
    assert isinstance(opened, EdgeStore)
    return opened


def leave(store: EdgeStore) -> None:
    """Leave a store as a killed process does, with the engine's files written as far as they are."""
    store._shard.close()
    store.disown("it was killed")
    assert store._lock is not None
    store._lock.release()


@pytest.fixture
async def store(tmp_path: Path) -> EdgeStore:
    """A store with a book that has a passage without words, while another book is written."""
    opened = await open_edge(tmp_path)
    await opened.upsert([*TIDES, SILENT_TIDE], edition=1)
    assert await opened.begin_change()
    await opened.upsert([HILL, SILENT_HILL], edition=1)
    return opened


async def read_hills(data: Path) -> dict[str, str]:
    opened = await open_edge(data)
    try:
        return await opened.read_digests({HILL.id, SILENT_HILL.id})
    finally:
        await opened.close()


def digest(*chunks: Chunk) -> dict[str, str]:
    return {chunk.id: digest_chunk(chunk) for chunk in chunks}


async def test_passages_without_words_leave_other_books_unread(store: EdgeStore, tmp_path: Path) -> None:
    leave(store)
    unread = dict.fromkeys([chunk.id for chunk in (*TIDES, SILENT_TIDE)], UNREAD)
    assert await read_hills(tmp_path) == digest(HILL, SILENT_HILL) | unread


async def test_all_is_read_if_the_index_lacks_more_than_had_no_words(
    store: EdgeStore, tmp_path: Path
) -> None:
    # Nobody notes that the words of this one are lost.
    store._clear_words([TIDES[0].id])
    leave(store)
    found = await read_hills(tmp_path)
    lost = found.pop(TIDES[0].id)
    assert lost not in (UNREAD, digest_chunk(TIDES[0]))
    assert found == digest(HILL, SILENT_HILL, *TIDES[1:], SILENT_TIDE)


async def test_all_is_read_if_no_note_says_how_many_have_no_words(store: EdgeStore, tmp_path: Path) -> None:
    leave(store)
    (locate_store(tmp_path) / FILE).unlink()
    assert await read_hills(tmp_path) == digest(HILL, SILENT_HILL, *TIDES, SILENT_TIDE)
