"""Where chunks are kept and found.

`open_store` opens the store of a library under the library's lock, so that one process at a time has it;
`replace_store` puts an empty one in its place and keeps what was there, under another name, for whoever
wants to look at it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.concurrency import blocking
from octavo.store.guard import LibraryLock, require_space
from octavo.types import COLLECTION

if TYPE_CHECKING:
    from octavo.settings import Settings
    from octavo.store.edge import EdgeStore

ROOM_FOR_AN_EMPTY_STORE = 64 << 20


def store_path(data: Path) -> Path:
    return data / "store" / COLLECTION


async def open_store(
    settings: Settings, *, dimension: int, expected: bool = False, lock: LibraryLock | None = None
) -> EdgeStore:
    """Opens the store in `settings.data`, and makes one where none is, unless one is `expected` there.

    The store takes the library's lock until it is closed, or works under the one that the caller holds.
    `StoreError` says what is wrong with a store that is missing, damaged or made for another embedder.
    """
    return await blocking(_open, settings, dimension, expected, lock)


async def replace_store(
    settings: Settings, *, dimension: int, lock: LibraryLock | None = None
) -> tuple[EdgeStore, Path | None]:
    """An empty store in the place of the old one, and where the old one, if any, is now."""
    return await blocking(_replace, settings, dimension, lock)


def _open(settings: Settings, dimension: int, expected: bool, lock: LibraryLock | None) -> EdgeStore:
    from octavo.store.edge import EdgeStore
    from octavo.store.edge_files import create, is_empty

    path = store_path(settings.data)
    with _locked(settings.data, lock) as own:
        if not expected and is_empty(path):
            require_space(path, ROOM_FOR_AN_EMPTY_STORE, settings.free_space_mb)
            create(path, dimension=dimension)
        return EdgeStore(path, dimension=dimension, free_space_mb=settings.free_space_mb, lock=own)


def _replace(settings: Settings, dimension: int, lock: LibraryLock | None) -> tuple[EdgeStore, Path | None]:
    from octavo.store.edge import EdgeStore
    from octavo.store.edge_files import create, set_aside

    path = store_path(settings.data)
    with _locked(settings.data, lock) as own:
        require_space(path, ROOM_FOR_AN_EMPTY_STORE, settings.free_space_mb)
        kept = set_aside(path)
        create(path, dimension=dimension)
        return EdgeStore(path, dimension=dimension, free_space_mb=settings.free_space_mb, lock=own), kept


@contextmanager
def _locked(data: Path, lock: LibraryLock | None) -> Iterator[LibraryLock | None]:
    """A lock of our own, given back if the opening fails; or None under the caller's."""
    own = LibraryLock(data) if lock is None else None
    try:
        yield own
    except BaseException:
        if own is not None:
            own.release()
        raise
