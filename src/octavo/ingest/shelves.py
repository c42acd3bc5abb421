"""Many books at once: what a folder holds, and how it differs from what was taken from it before.

A folder that is one book is found as one; a folder of books or a Calibre library as many, each once, with all
the formats it comes in. `plan_sync` compares them with what an earlier sync took in. Nothing here writes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.errors import BadBook
from octavo.ingest.calibre import is_calibre, read_calibre
from octavo.readers import READERS_VERSION
from octavo.readers.folders import find_books
from octavo.records.options import BookOptions

if TYPE_CHECKING:
    from octavo.limits import Limits
    from octavo.records.sources import BookSource

_NO_OPTIONS = BookOptions()


@dataclass(frozen=True, slots=True)
class FoundBook:
    """A book on disk: the paths of its formats, best first, and what is known about it."""

    paths: tuple[Path, ...]
    options: BookOptions = _NO_OPTIONS

    @property
    def path(self) -> Path:
        return self.paths[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncPlan:
    """What a sync has to do. `changed` has the id of the book that each becomes a new edition of."""

    new: tuple[FoundBook, ...]
    changed: tuple[tuple[FoundBook, str], ...]
    same: tuple[FoundBook, ...]
    gone: tuple[BookSource, ...]

    @property
    def is_empty(self) -> bool:
        return not (self.new or self.changed or self.gone)


def find_shelf(path: Path, limits: Limits) -> list[FoundBook]:
    """List the books at a path: itself, unless it is a folder or a library with several."""
    place = Path(os.path.abspath(path))
    if not place.is_dir():
        return [FoundBook((place,))]
    if is_calibre(place):
        return [FoundBook(files, options) for files, options in read_calibre(place)]
    return [FoundBook(paths) for paths in find_books(place, limits)]


def compute_stamp(found: FoundBook) -> str:
    """Return a text that changes when a file of the book changes, or what is known about it."""
    digest = hashlib.sha256(repr((READERS_VERSION, found.options)).encode())
    for path in found.paths:
        for file in _walk(path) if path.is_dir() else (path,):
            try:
                state = file.stat()
            except OSError:
                # Deleted while the folder was listed.
                continue
            digest.update(
                repr((str(file), state.st_size, state.st_mtime_ns)).encode(errors="surrogateescape")
            )
    return digest.hexdigest()


def _walk(folder: Path) -> Iterator[Path]:
    for place, below, names in os.walk(folder):
        below[:] = sorted(name for name in below if not name.startswith(".") and name != "node_modules")
        yield from (Path(place) / name for name in sorted(names))


def plan_sync(stamps: Mapping[FoundBook, str], known: Sequence[BookSource]) -> SyncPlan:
    """Compare the books on disk, each with its stamp, with what was synced from there before."""
    by_path = {source.path: source for source in known}
    new: list[FoundBook] = []
    changed: list[tuple[FoundBook, str]] = []
    same: list[FoundBook] = []
    for found, stamp in stamps.items():
        source = next((by_path[path] for path in found.paths if path in by_path), None)
        if source is None:
            new.append(found)
        elif source.stamp != stamp:
            changed.append((found, source.book_id))
        else:
            same.append(found)
    here = {path for found in stamps for path in found.paths}
    gone = tuple(source for source in known if source.path not in here)
    return SyncPlan(new=tuple(new), changed=tuple(changed), same=tuple(same), gone=gone)


def require_books(stamps: Mapping[FoundBook, str], known: Sequence[BookSource], folder: Path) -> None:
    """Refuse to take an empty folder for one whose books were all deleted: it may not be mounted."""
    if known and not stamps:
        raise BadBook(
            "not_found",
            f"{folder} has no books now, and had {len(known)}",
            hint="Check that it is mounted. If they are really gone, `octavo remove BOOK` removes each.",
        )
