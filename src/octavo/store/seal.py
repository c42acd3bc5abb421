"""Where the embedded store lies, and whether anything has touched it since it was last closed."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from octavo.types import COLLECTION


def store_path(data: Path) -> Path:
    return data / "store" / COLLECTION


def store_seal(data: Path) -> str:
    """Names the state of the store's files: the same as long as nothing has written to them."""
    path = store_path(data)
    files = sorted(file for file in path.rglob("*") if file.is_file())
    said = []
    for file in files:
        state = file.stat()
        said.append(f"{file.relative_to(path)} {state.st_size} {state.st_mtime_ns}")
    return sha256("\n".join(said).encode()).hexdigest()
