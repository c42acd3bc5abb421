"""Folders of embedded stores, written and closed, for tests that look at their files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from octavo.store.edge import EdgeStore
from octavo.store.edge_files import create
from octavo.types import Chunk
from tests.support.store_contract import SIZE


async def write_store(path: Path, chunks: Sequence[Chunk]) -> Path:
    """Write a new store of these chunks at `path`, close it and return the path."""
    create(path, dimension=SIZE)
    store = EdgeStore(path, dimension=SIZE, free_space_mb=0)
    await store.upsert(chunks, edition=1)
    await store.close()
    return path
