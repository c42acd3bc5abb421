"""A Qdrant Edge directory: how it is made, opened and told apart from what is none.

The engine takes any folder for an empty store and says everything in one kind of exception. Here a store
is made whole or not at all, nothing but a store of the right dimension is opened, and what the engine says
is turned into our errors, once, by its words.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from qdrant_edge import (
    Distance,
    EdgeConfig,
    EdgeShard,
    EdgeSparseVectorParams,
    EdgeVectorParams,
    Modifier,
    PayloadSchemaType,
    UpdateOperation,
)

from octavo.errors import LibraryBusy, OctavoError, StorageLow, StoreError
from octavo.store.guard import require_space
from octavo.store.payload import KEYWORDS, LEXICAL, NUMBERS

PARTS = ("edge_config.json", "segments", "wal")
REPAIR = "Run `octavo doctor --repair`: it rebuilds the store from the records, with nothing embedded again."
LEAST_MB = 32
"""With less than this free the engine cannot even flush: on a full disk it dies, and the process with it."""
MORE_FILES = "Raise the limit with `ulimit -n 1024` or more, or in your service manager, and try again."
ACCESS = "Check the rights and the owner of this directory, and that its disk is not mounted read-only."


def create(path: Path, *, dimension: int) -> None:
    """Makes an empty store at `path`, where nothing may be. A kill in between leaves nothing there."""
    draft = path.with_name(f"{path.name}.new")
    with translated(path):
        shutil.rmtree(draft, ignore_errors=True)
        if path.is_dir():
            path.rmdir()
        draft.mkdir(parents=True)
        shard = EdgeShard.create(str(draft), _config(dimension))
        _index(shard)
        shard.close()
        draft.rename(path)
        _sync(path.parent)


def is_empty(path: Path) -> bool:
    """Nothing is at `path`, or a folder with nothing in it."""
    with translated(path):
        return not path.exists() or (path.is_dir() and not any(path.iterdir()))


def set_aside(path: Path) -> Path | None:
    """Gives what is at `path` another name beside it, and says which."""
    with translated(path):
        if is_empty(path):
            return None
        number = 1
        while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
            number += 1
        return path.rename(aside)


def load(path: Path, *, dimension: int) -> EdgeShard:
    """Opens the store at `path`."""
    with translated(path):
        missing = [part for part in PARTS if not (path / part).exists()]
    if is_empty(path):
        raise StoreError(f"the chunk store is missing: there is nothing at {path}", hint=REPAIR)
    if missing:
        raise StoreError(f"{path} is not a whole chunk store: it has no {missing[0]}", hint=REPAIR)
    require_space(path, 0, LEAST_MB)
    with translated(path):
        _check_places(path)
        shard = EdgeShard.load(str(path), _config(dimension))
        said = shard.info()
        if said.indexed_vectors_count > said.points_count:  # the log wrote words a second time over the files
            shard.close()
            shard = EdgeShard.load(str(path), _config(dimension))
        _index(shard)
    return shard


def _check_places(path: Path) -> None:
    """Refuses a list of points with a place far beyond its end: the engine would ask for the memory and die.

    An entry is a kind (2 sets a point, 4 takes it away), the 16 bytes of its UUID and, when set, its place.
    """
    for file in path.glob("segments/*/mutable_id_tracker.mappings"):
        listed, at = file.read_bytes(), 0
        while listed[at : at + 1] in (b"\2", b"\4"):
            place = listed[at + 17 : at + 21] if listed[at] == 2 else b""
            if int.from_bytes(place, "little") > len(listed):
                raise StoreError(f"the store at {path} is damaged: {file.name} makes no sense", hint=REPAIR)
            at += 17 + len(place)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """What the engine raises inside, as one of our errors."""
    try:
        yield
    except OctavoError:
        raise
    except Exception as error:
        raise _ours(error, path) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # the engine's own crash: it is not importable
            raise
        raise _ours(error, path) from error


def _ours(error: BaseException, path: Path) -> OctavoError:
    said = " ".join(str(error).split())
    low = said.lower()
    if "wouldblock" in low:
        return LibraryBusy(
            f"the store at {path} is in use by another process",
            hint="Wait until it has finished, or stop it.",
        )
    if "too many open files" in low:
        return StoreError(f"this process may not open more files: {said}", hint=MORE_FILES)
    if "no space left" in low or "storagefull" in low:
        return StorageLow(f"the disk of {path} is full: {said}", hint="Free some space and try again.")
    if "expected vector size" in low:
        return StoreError(f"the store at {path} was made for another embedder: {said}", hint=REPAIR)
    if any(words in low for words in ("permission denied", "read-only", "not permitted")):
        return StoreError(f"the store at {path} cannot be written to: {said}", hint=ACCESS)
    return StoreError(f"the store at {path} failed or is damaged: {said[:500]}", hint=REPAIR)


def settle(path: Path) -> int:
    """Returns when all that lies under `path` is on the disk: a power cut then leaves what a kill leaves.

    The engine's own flush does more and waits for the disk as often, but lets no other thread run meanwhile.
    Says how many files and folders there are.
    """
    with translated(path):
        there = [path, *path.rglob("*")]
        for place in reversed(there):  # a folder after what is in it
            with suppress(FileNotFoundError):  # the engine has just given an empty log its name
                _sync(place)
    return len(there)


def _config(dimension: int) -> EdgeConfig:
    return EdgeConfig(
        vectors=EdgeVectorParams(size=dimension, distance=Distance.Cosine),
        sparse_vectors={LEXICAL: EdgeSparseVectorParams(modifier=Modifier.Idf)},
    )


def _sync(place: Path) -> None:
    handle = os.open(place, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _index(shard: EdgeShard) -> None:
    kinds = dict.fromkeys(KEYWORDS, PayloadSchemaType.Keyword)
    kinds |= dict.fromkeys(NUMBERS, PayloadSchemaType.Integer)
    there = shard.info().payload_schema
    for key, kind in kinds.items():
        if key not in there:
            shard.update(UpdateOperation.create_field_index(key, kind))
