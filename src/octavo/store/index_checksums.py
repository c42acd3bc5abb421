"""Checksums of the files by which the points of a rewritten store are found.

The digest of a point tells whether its text and its vectors are what was written. The codes and links of the
vectors, the index of the words and the filters are files of their own. In a segment that was rewritten they
are read from the disk, are never written to again, and the engine does not check them. So their checksums are
saved when a store is rewritten, and compared where the digests of all points are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from octavo.errors import StoreError
from octavo.store.edge_files import REPAIR, sync_path

FILE = "octavo-checksums"
_NEVER_CHANGED = (
    "vector_storage/quantized.data",
    "vector_index/*.bin",
    "vector_index-bm25/inverted_index.dat",
    "payload_index/*/*.bin",
)
# Which points of a segment are no longer there.
_DELETED = "deleted.bin"


def save_checksums(path: Path) -> None:
    """Saves the checksums of the closed store at `path`, which has just been rewritten."""
    checksums = {str(file.relative_to(path)): _hash_file(file) for file in _find_files(path)}
    draft = path / f"{FILE}.new"
    draft.write_text(json.dumps(checksums), encoding="utf-8")
    sync_path(draft)
    draft.replace(path / FILE)


def check_files(path: Path) -> None:
    """Raises `StoreError` if a file of the store at `path` is not what was saved, or is gone."""
    if not (path / FILE).exists():
        # It was not rewritten yet, or by an earlier version.
        return
    try:
        saved = json.loads((path / FILE).read_text(encoding="utf-8"))
        # An earlier version may have rewritten a segment since. Points that are gone are missed by their ids.
        kept = {name: checksum for name, checksum in saved.items() if _find_segment(path, name).exists()}
        wrong = [name for name, checksum in kept.items() if _hash_file(path / name) != checksum]
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise StoreError(f"the store at {path} is damaged: {error}", hint=REPAIR) from error
    if wrong:
        raise StoreError(f"the store at {path} is damaged: {wrong[0]} was changed", hint=REPAIR)


def _find_files(path: Path) -> Iterator[Path]:
    for pattern in _NEVER_CHANGED:
        yield from (file for file in path.glob(f"segments/*/{pattern}") if file.name != _DELETED)


def _find_segment(path: Path, name: str) -> Path:
    return path.joinpath(*Path(name).parts[:2])


def _hash_file(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "blake2b").hexdigest()
