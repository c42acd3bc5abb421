"""What a rewritten store is searched by is compared with the checksums that were saved."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from octavo.errors import StoreError
from octavo.store.base import digest_chunk
from octavo.store.compaction import rewrite
from octavo.store.edge import EdgeStore
from octavo.store.index_checksums import FILE, check_files
from tests.support.edge_folders import write_store
from tests.support.store_contract import SIZE, make_chunk

CHUNKS = [make_chunk(n, f"Whale number {n} swims.", book_id=f"book-{n % 3}", page=n) for n in range(1, 65)]
EXPECTED = {chunk.id: digest_chunk(chunk) for chunk in CHUNKS}
KINDS = (
    "vector_storage/quantized.data",
    "vector_index-bm25/inverted_index.dat",
    "payload_index/*-map/point_to_values.bin",
    "payload_index/*-map/values_to_points.bin",
    "payload_index/*-numeric/data.bin",
    "vector_index/links_compressed.bin",
)


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """The folder of a closed store that was rewritten."""
    made = await write_store(tmp_path / "store", CHUNKS)
    rewrite(made, dimension=SIZE)
    return made


def cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("harm", [cut, flip, Path.unlink], ids=["cut", "flip", "unlink"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_was_changed_is_named_with_what_to_do(
    kind: str, harm: Callable[[Path], None], path: Path
) -> None:
    check_files(path)
    file = next(path.glob(f"segments/*/{kind}"))
    harm(file)
    with pytest.raises(StoreError, match=file.name) as raised:
        check_files(path)
    assert "octavo doctor --repair" in raised.value.hint


async def test_reading_all_points_finds_a_changed_bit_in_the_index_of_words(path: Path) -> None:
    flip(next(path.glob(f"segments/*/{KINDS[1]}")))
    store = EdgeStore(path, dimension=SIZE, free_space_mb=0)
    with pytest.raises(StoreError, match="damaged"):
        await store.read_digests()
    await store.close()


async def test_adding_and_deleting_leave_the_checksums_right(path: Path) -> None:
    store = EdgeStore(path, dimension=SIZE, free_space_mb=0)
    await store.delete([CHUNKS[0].id, CHUNKS[1].id])
    await store.upsert([CHUNKS[0], *CHUNKS[5:9]], edition=2)
    await store.commit()
    expected = {id: digest for id, digest in EXPECTED.items() if id != CHUNKS[1].id}
    assert await store.read_digests() == expected
    await store.close()
    check_files(path)
    rewrite(path, dimension=SIZE)
    check_files(path)


async def test_a_store_without_checksums_is_read_as_before(path: Path) -> None:
    (path / FILE).unlink()
    store = EdgeStore(path, dimension=SIZE, free_space_mb=0)
    assert await store.read_digests() == EXPECTED
    await store.close()


def test_a_segment_that_is_no_longer_there_has_no_files_to_compare(path: Path) -> None:
    saved = json.loads((path / FILE).read_text())
    (path / FILE).write_text(json.dumps({**saved, f"segments/{uuid4()}/{KINDS[0]}": "another"}))
    check_files(path)


@pytest.mark.parametrize("said", ["", "[]", '{"edge_config.json": 1}', "\x00"])
def test_checksums_that_cannot_be_read_count_as_damage(said: str, path: Path) -> None:
    (path / FILE).write_text(said)
    with pytest.raises(StoreError, match="damaged"):
        check_files(path)
