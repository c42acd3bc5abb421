"""Opens the store of a library: the engine inside this process, or the Qdrant server that the settings name.

`open_store` opens the embedded store under the library's lock, so that one process at a time has it, and the
one on a server for any number of processes. `replace_store` replaces a store that cannot be used: the folder
is kept under another name, a collection of ours is created again, and nothing that is not ours is touched.
`read_store_state` names the state of a store, so that the next opening can tell whether anything has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from octavo.concurrency import run_blocking, run_to_completion
from octavo.errors import OctavoError, require_extra
from octavo.protocols import ChunkStore
from octavo.store.base import LibraryLock, locate_store, read_files_state, require_space

if TYPE_CHECKING:
    from octavo.settings import Settings

__all__ = ["Store", "has_collection", "locate_store", "open_store", "read_store_state", "replace_store"]

EMPTY_STORE_BYTES = 64 << 20
T = TypeVar("T")


class Store(ChunkStore, Protocol):
    """A store that was opened here. Whoever opened it closes it."""

    @property
    def local(self) -> bool:
        """Whether it is in the library's folder, and this process has it alone."""
        ...

    @property
    def place(self) -> str:
        """What messages call it."""
        ...

    async def count(self) -> int: ...

    async def stop_rewriting(self) -> None:
        """Ends a rewriting of the store that is under way. It is not rewritten until it is opened again."""
        ...

    async def close(self) -> None: ...


async def open_store(
    settings: Settings,
    *,
    dimension: int,
    expected: bool = False,
    lock: LibraryLock | None = None,
    library: str = "",
) -> Store:
    """Opens the store that the settings name. Creates it where none is, unless one is `expected` there.

    The embedded store takes the library's lock until it is closed, or works under the one that the caller
    holds. On a server, `library` is the name that distinguishes its points from those of others. Raises
    `StoreError` for a store that is missing, damaged, not ours or made for another embedder.
    """
    if settings.store_url:
        return await _connect(settings, dimension, expected, library)
    return await _finish_opening(
        run_blocking(_open, settings, dimension, expected, lock), lambda store: store
    )


async def replace_store(
    settings: Settings, *, dimension: int, lock: LibraryLock | None = None, library: str = ""
) -> tuple[Store, Path | None]:
    """Opens a usable store in the place of the old one; also returns where the old one, if any, is now.

    On a server, a collection of ours that has the wrong shape is created again, and one that has the right
    shape keeps its points. Raises `StoreError`, and changes nothing, when the server cannot be reached or the
    collection is not ours.
    """
    if settings.store_url:
        return await _reconnect(settings, dimension, library), None
    return await _finish_opening(run_blocking(_replace, settings, dimension, lock), lambda opened: opened[0])


async def read_store_state(settings: Settings, *, library: str = "") -> str:
    """Names the state of the store, whether it is open or not.

    The state of an embedded store stays the same while nothing writes to its files; that of a server while
    the collection has as many points of ours. A state that cannot be read gets a unique name.
    """
    if settings.store_url:
        require_extra("qdrant")
        from octavo.store.qdrant import read_collection_state

        return await read_collection_state(settings, library=library)
    return await run_blocking(read_files_state, settings.data)


async def find_store_owner(settings: Settings) -> str:
    """Finds the library whose points the collection on a server holds; "" if that cannot be said."""
    if not settings.store_url:
        return ""
    require_extra("qdrant")
    from octavo.store.qdrant import find_owner

    return await find_owner(settings)


async def has_collection(settings: Settings) -> bool:
    """Says whether the collection that the settings name exists on their server. Changes nothing there."""
    require_extra("qdrant")
    from octavo.store.qdrant import find_collection

    return await find_collection(settings)


async def _finish_opening(opening: Coroutine[Any, Any, T], get_store: Callable[[T], Store]) -> T:
    """Waits for the thread that opens a store. If cancelled meanwhile, closes it and frees the lock."""
    opened, cancelled = await run_to_completion(opening)
    if cancelled is not None:
        with suppress(OctavoError):
            await run_to_completion(get_store(opened).close())
        raise cancelled
    return opened


async def _connect(settings: Settings, dimension: int, expected: bool, library: str) -> Store:
    require_extra("qdrant")
    from octavo.store.qdrant import connect

    return await connect(settings, dimension=dimension, expected=expected, library=library)


async def _reconnect(settings: Settings, dimension: int, library: str) -> Store:
    require_extra("qdrant")
    from octavo.store.qdrant import connect

    return await connect(settings, dimension=dimension, expected=False, library=library, replace_wrong=True)


def _open(settings: Settings, dimension: int, expected: bool, lock: LibraryLock | None) -> Store:
    from octavo.store.compaction import drop_leftovers
    from octavo.store.edge import EdgeStore
    from octavo.store.edge_files import create, is_empty

    path = locate_store(settings.data)
    with _take_lock(settings.data, lock) as own:
        drop_leftovers(path)
        if not expected and is_empty(path):
            require_space(path, EMPTY_STORE_BYTES, settings.free_space_mb)
            create(path, dimension=dimension)
        return EdgeStore(path, dimension=dimension, free_space_mb=settings.free_space_mb, lock=own)


def _replace(settings: Settings, dimension: int, lock: LibraryLock | None) -> tuple[Store, Path | None]:
    from octavo.store.compaction import drop_leftovers
    from octavo.store.edge import EdgeStore
    from octavo.store.edge_files import create, set_aside

    path = locate_store(settings.data)
    with _take_lock(settings.data, lock) as own:
        drop_leftovers(path)
        require_space(path, EMPTY_STORE_BYTES, settings.free_space_mb)
        kept = set_aside(path)
        create(path, dimension=dimension)
        return EdgeStore(path, dimension=dimension, free_space_mb=settings.free_space_mb, lock=own), kept


@contextmanager
def _take_lock(data: Path, lock: LibraryLock | None) -> Iterator[LibraryLock | None]:
    """Takes a lock of our own and releases it if the opening fails; yields None under the caller's."""
    own = LibraryLock(data) if lock is None else None
    try:
        yield own
    except BaseException:
        if own is not None:
            own.release()
        raise
