"""The files of an embedded store: creating them, opening them, and turning the engine's failures into ours.

The engine takes any folder for an empty store and reports every failure as one kind of exception. Here a
store is created whole or not at all, nothing but a store of the right dimension is opened, and every failure
becomes one of our errors, which names the directory.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from qdrant_edge import (
    Distance,
    EdgeConfig,
    EdgeShard,
    EdgeSparseVectorParams,
    EdgeVectorParams,
    IntegerIndexParams,
    KeywordIndexParams,
    Memory,
    UpdateOperation,
)

from octavo.errors import LibraryBusy, OctavoError, StorageLow, StoreError
from octavo.store.base import KEYWORDS, LEXICAL, NUMBERS, require_space

LEAST_MB = 32
"""With less than this free the engine cannot even flush: on a full disk it crashes the process."""
PARTS = ("edge_config.json", "segments", "wal")
_READ_WHOLE = (
    "vector_storage/quantized.data",
    "vector_index/*.bin",
    "vector_storage/*/*.mmap",
    "vector_storage-bm25/store/page_*.dat",
    "payload_index/*/page_*.dat",
)
"""Files of a segment that the engine reads from end to end when it loads the store."""
_FILTERS = "payload_index/*/*.bin"
"""Those that it reads as well where the filters are in memory."""
_WORDS_ON_DISK = "vector_index-bm25/inverted_index.dat"
_READ_AHEAD_BYTES = 128 << 10
"""How much to ask for at once: a system may read no more than this ahead."""
REPAIR = "Run `octavo doctor --repair`: it rebuilds the store from the records, with nothing embedded again."
MORE_FILES = "Raise the limit with `ulimit -n 1024` or more, or in your service manager, and try again."
ACCESS = "Check the rights and the owner of this directory, and that its disk is not mounted read-only."


def create(path: Path, *, dimension: int) -> None:
    """Creates an empty store at `path`, which must be free. A kill meanwhile leaves nothing there."""
    draft = path.with_name(f"{path.name}.new")
    with translate_errors(path):
        shutil.rmtree(draft, ignore_errors=True)
        if path.is_dir():
            path.rmdir()
        draft.mkdir(parents=True)
        shard = EdgeShard.create(str(draft), _build_config(dimension))
        _create_indexes(shard)
        shard.close()
        draft.rename(path)
        sync_path(path.parent)


def is_empty(path: Path) -> bool:
    """Whether nothing is at `path`, or an empty folder."""
    with translate_errors(path):
        return not path.exists() or (path.is_dir() and not any(path.iterdir()))


def set_aside(path: Path) -> Path | None:
    """Renames what is at `path`, and returns its new place beside it."""
    with translate_errors(path):
        if is_empty(path):
            return None
        number = 1
        while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
            number += 1
        return path.rename(aside)


def load(path: Path, *, dimension: int) -> EdgeShard:
    """Opens the store at `path`."""
    with translate_errors(path):
        missing = [part for part in PARTS if not (path / part).exists()]
    if is_empty(path):
        raise StoreError(f"the chunk store is missing: there is nothing at {path}", hint=REPAIR)
    if missing:
        raise StoreError(f"{path} is not a whole chunk store: it has no {missing[0]}", hint=REPAIR)
    # The engine maps its files: to write into a hole for which there is no space would kill the process.
    require_space(path, _count_holes(path), LEAST_MB)
    with translate_errors(path):
        _check_point_list(path)
        _stop_counting(path)
        _read_ahead(path)
        shard = EdgeShard.load(str(path), _build_config(dimension))
        info = shard.info()
        # Replaying the log may have indexed words a second time; loading again counts them once. The codes of
        # a store that was rewritten count as well.
        if info.indexed_vectors_count > info.points_count and info.segments_count == 1:
            shard.close()
            shard = EdgeShard.load(str(path), _build_config(dimension))
        _create_indexes(shard)
    return shard


def _count_holes(path: Path) -> int:
    """Counts the bytes of the store's files that have no place on the disk yet, as after a sparse copy."""
    with translate_errors(path):
        found = [file.stat() for file in path.rglob("*") if file.is_file()]
    return sum(max(0, each.st_size - each.st_blocks * 512) for each in found)


def _check_point_list(path: Path) -> None:
    """Refuses a list of points with an offset far beyond its end: the engine would allocate it and crash.

    An entry is a kind (2 sets a point, 4 deletes it), the 16 bytes of its UUID and, when set, its offset.
    """
    for file in path.glob("segments/*/mutable_id_tracker.mappings"):
        entries, at = file.read_bytes(), 0
        while entries[at : at + 1] in (b"\2", b"\4"):
            offset = entries[at + 17 : at + 21] if entries[at] == 2 else b""
            if int.from_bytes(offset, "little") > len(entries):
                raise StoreError(f"the store at {path} is damaged: {file.name} is invalid", hint=REPAIR)
            at += 17 + len(offset)


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Turns what the engine raises inside into one of our errors."""
    try:
        yield
    except OctavoError:
        raise
    except Exception as error:
        raise _translate(error, path) from error
    except BaseException as error:
        # The engine's own crash: its class cannot be imported.
        if type(error).__name__ != "PanicException":
            raise
        raise _translate(error, path) from error


def _translate(error: BaseException, path: Path) -> OctavoError:
    message = " ".join(str(error).split())
    low = message.lower()
    if "wouldblock" in low:
        return LibraryBusy(
            f"the store at {path} is in use by another process",
            hint="Wait until it has finished, or stop it.",
        )
    if "too many open files" in low:
        return StoreError(f"this process may not open more files: {message}", hint=MORE_FILES)
    if "no space left" in low or "storagefull" in low:
        return StorageLow(f"the disk of {path} is full: {message}", hint="Free some space and try again.")
    if "expected vector size" in low:
        return StoreError(f"the store at {path} was made for another embedder: {message}", hint=REPAIR)
    if any(words in low for words in ("permission denied", "read-only", "not permitted")):
        return StoreError(f"the store at {path} cannot be written to: {message}", hint=ACCESS)
    return StoreError(f"the store at {path} failed or is damaged: {message[:500]}", hint=REPAIR)


def sync_files(path: Path) -> int:
    """Syncs all files and folders under `path` to the disk; returns how many there are.

    A power cut then leaves what a kill leaves. The engine's own flush does more and waits for the disk as
    often, but lets no other thread run meanwhile.
    """
    with translate_errors(path):
        paths = [path, *path.rglob("*")]
        # A folder comes after its contents. The engine may rename an empty log meanwhile.
        for each in reversed(paths):
            with suppress(FileNotFoundError):
                sync_path(each)
    return len(paths)


def _build_config(dimension: int) -> EdgeConfig:
    return EdgeConfig(
        vectors=EdgeVectorParams(size=dimension, distance=Distance.Cosine),
        sparse_vectors={LEXICAL: EdgeSparseVectorParams()},
    )


def _stop_counting(path: Path) -> None:
    """Turns off the engine's own weighing of rare words in a store of an earlier version.

    The engine refuses to load a store with another modifier than it was made with. It only says how a search
    weighs words, so nothing else has to change. If a kill leaves some of the files as they were, they are
    changed the next time.
    """
    for file in (path / "edge_config.json", *path.glob("segments/*/segment.json")):
        config = json.loads(file.read_text(encoding="utf-8"))
        held = config.get("config", {}).get("sparse_vector_data") or config.get("sparse_vectors") or {}
        if held.get(LEXICAL, {}).pop("modifier", None) is not None:
            _replace_config(file, config)


def leave_filters_on_disk(path: Path) -> None:
    """Has the engine read the filters of the closed store at `path` from the disk as they are needed.

    In a store of an earlier version they are built in memory from the same files at each opening, which takes
    most of the time to open a large one. All segments must say the same, or the engine could not merge them.
    """
    for file in path.glob("segments/*/payload_index/config.json"):
        config = json.loads(file.read_text(encoding="utf-8"))
        fields = config["indexed_fields"]
        wanted = {key: _make_cold(said) for key, said in fields.items()}
        if fields != wanted:
            config["indexed_fields"] = wanted
            for kept in (each for kinds in config["indexed_types"].values() for each in kinds):
                # The others are small, or are still written to.
                if kept["mutability"] == "immutable" and kept["index_type"] != "null_index":
                    kept["storage_type"]["mmap"]["is_on_disk"] = True
            _replace_config(file, config)


def _make_cold(field: str | dict[str, object]) -> dict[str, object]:
    return {**(field if isinstance(field, dict) else {"type": field}), "memory": "cold"}


def _replace_config(file: Path, config: dict[str, object]) -> None:
    draft = file.with_name(f"{file.name}.new")
    draft.write_text(json.dumps(config), encoding="utf-8")
    sync_path(draft)
    draft.replace(file)
    sync_path(file.parent)


def _read_ahead(path: Path) -> None:
    """Has the system read what the engine is about to read, in one go and while the engine works.

    The engine asks for these files page by page, and lets the system forget them when the store is closed. A
    disk takes many times longer for that.
    """
    if sys.platform != "linux":
        return
    for segment in path.glob("segments/*"):
        for file in (file for pattern in _list_read_whole(segment) for file in segment.glob(pattern)):
            # The engine says better what is wrong with a file.
            with suppress(OSError), file.open("rb") as opened:
                found = os.fstat(opened.fileno())
                size = found.st_size if found.st_blocks else 0
                for start in range(0, size, _READ_AHEAD_BYTES):
                    os.posix_fadvise(opened.fileno(), start, _READ_AHEAD_BYTES, os.POSIX_FADV_WILLNEED)


def _list_read_whole(segment: Path) -> list[str]:
    """Lists the patterns of the files that the engine reads. The words of a rewritten segment are not."""
    on_disk = (segment / _WORDS_ON_DISK).exists()
    config = segment / "payload_index" / "config.json"
    in_memory = config.exists() and '"cold"' not in config.read_text(encoding="utf-8", errors="replace")
    needed = [each for each in _READ_WHOLE if not (on_disk and "bm25" in each)]
    return [*needed, _FILTERS] if in_memory else needed


def sync_path(path: Path) -> None:
    """Syncs one file or folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _create_indexes(shard: EdgeShard) -> None:
    wanted: dict[str, KeywordIndexParams | IntegerIndexParams] = {}
    wanted |= dict.fromkeys(KEYWORDS, KeywordIndexParams(memory=Memory.Cold))
    wanted |= dict.fromkeys(NUMBERS, IntegerIndexParams(memory=Memory.Cold))
    existing = shard.info().payload_schema
    for key, params in wanted.items():
        if key not in existing:
            shard.update(UpdateOperation.create_field_index(key, params))
