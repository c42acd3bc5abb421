"""Where chunks are kept and found: inside this process, or on the Qdrant server that the settings name.

`open_store` opens the store of a library: the embedded one under the library's lock, so that one process at
a time has it; the one on a server for as many processes as like. `replace_store` puts another in the place
of one that cannot be used: what was in the folder is kept there under another name, a collection of ours is
made anew, and nothing that is not ours is touched. `seal_of` names the state that a store is in, so that the
next opening can tell whether anything has changed.
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

__all__ = ["Store", "locate_store", "open_store", "read_store_state", "replace_store"]

ROOM_FOR_AN_EMPTY_STORE = 64 << 20
T = TypeVar("T")


class Store(ChunkStore, Protocol):
    """A store that was opened here, and is to be closed by whoever opened it."""

    @property
    def local(self) -> bool:
        """It lies in the library's folder, and this process has it alone."""
        ...

    @property
    def place(self) -> str:
        """What messages call it."""
        ...

    async def count(self) -> int: ...

    async def close(self) -> None: ...


async def open_store(
    settings: Settings,
    *,
    dimension: int,
    expected: bool = False,
    lock: LibraryLock | None = None,
    library: str = "",
) -> Store:
    """Opens the store that the settings name, and makes one where none is, unless one is `expected` there.

    The embedded store takes the library's lock until it is closed, or works under the one that the caller
    holds. On a server, `library` is the name that tells its points from those of others. `StoreError` says
    what is wrong with a store that is missing, damaged, somebody else's or made for another embedder.
    """
    if settings.store_url:
        return await _connect(settings, dimension, expected, library)
    return await _carried_through(
        run_blocking(_open, settings, dimension, expected, lock), lambda store: store
    )


async def replace_store(
    settings: Settings, *, dimension: int, lock: LibraryLock | None = None, library: str = ""
) -> tuple[Store, Path | None]:
    """A store that can be filled in the place of the old one, and where the old one, if any, is now.

    On a server, a collection of ours that has the wrong shape is made anew, and one that has the right shape
    keeps its points. A server that cannot be reached, or a collection that is not ours, is an error and
    nothing is changed.
    """
    if settings.store_url:
        return await _reconnect(settings, dimension, library), None
    return await _carried_through(run_blocking(_replace, settings, dimension, lock), lambda made: made[0])


async def read_store_state(settings: Settings, *, library: str = "") -> str:
    """Names the state of the store, before it is opened or after it was closed.

    The embedded store's is the same only as long as nothing has written to its files; a server's, as long
    as the collection has as many points of ours. One that cannot be told is unlike any other.
    """
    if settings.store_url:
        require_extra("qdrant")
        from octavo.store.qdrant import read_collection_state

        return await read_collection_state(settings, library=library)
    return await run_blocking(read_files_state, settings.data)


async def _carried_through(opening: Coroutine[Any, Any, T], store_of: Callable[[T], Store]) -> T:
    """A thread opens to the end what nobody waits for any more: it is closed again, and the lock is free."""
    made, late = await run_to_completion(opening)
    if late is not None:
        with suppress(OctavoError):
            await run_to_completion(store_of(made).close())
        raise late
    return made


async def _connect(settings: Settings, dimension: int, expected: bool, library: str) -> Store:
    require_extra("qdrant")
    from octavo.store.qdrant import connect

    return await connect(settings, dimension=dimension, expected=expected, library=library)


async def _reconnect(settings: Settings, dimension: int, library: str) -> Store:
    require_extra("qdrant")
    from octavo.store.qdrant import connect

    return await connect(settings, dimension=dimension, expected=False, library=library, anew=True)


def _open(settings: Settings, dimension: int, expected: bool, lock: LibraryLock | None) -> Store:
    from octavo.store.edge import EdgeStore, create, is_empty

    path = locate_store(settings.data)
    with _locked(settings.data, lock) as own:
        if not expected and is_empty(path):
            require_space(path, ROOM_FOR_AN_EMPTY_STORE, settings.free_space_mb)
            create(path, dimension=dimension)
        return EdgeStore(path, dimension=dimension, free_space_mb=settings.free_space_mb, lock=own)


def _replace(settings: Settings, dimension: int, lock: LibraryLock | None) -> tuple[Store, Path | None]:
    from octavo.store.edge import EdgeStore, create, set_aside

    path = locate_store(settings.data)
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
