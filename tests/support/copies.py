"""Libraries copied for tests that change them, without the holes in the store's files.

A small library's files are more than 200 MB long and hold less than one: the rest was never written.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def copy_library(library: Path, to: Path) -> Path:
    """A copy of a folder, file by file and byte by byte."""
    return Path(shutil.copytree(library, to, copy_function=_copy_without_holes))


def _copy_without_holes(source: str, target: str) -> None:
    with open(source, "rb") as old, open(target, "wb") as new:
        size, at = os.fstat(old.fileno()).st_size, 0
        new.truncate(size)
        while at < size:
            try:
                at = os.lseek(old.fileno(), at, os.SEEK_DATA)
            except OSError:  # nothing but a hole is left
                break
            end = os.lseek(old.fileno(), at, os.SEEK_HOLE)
            old.seek(at)
            new.seek(at)
            new.write(old.read(end - at))
            at = end
    shutil.copystat(source, target)
