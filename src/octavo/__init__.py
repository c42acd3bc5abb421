"""Octavo lets people ask their books, and shows the exact passage behind every result.

async with Library.open() as library:
    await library.add("moby-dick.epub")
    for found in await library.search("Why is the whale white?"):
        print(found.chunk.source_location, found.chunk.content)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.errors import BadBook, NotFound, OctavoError
from octavo.types import Book, Chunk, Evidence, Scope, Section

if TYPE_CHECKING:
    from octavo.library import Library
    from octavo.settings import Settings

__version__ = "0.1.0"
__all__ = [
    "BadBook",
    "Book",
    "Chunk",
    "Evidence",
    "Library",
    "NotFound",
    "OctavoError",
    "Scope",
    "Section",
    "Settings",
]


def __getattr__(name: str) -> object:
    """The library itself comes when it is asked for, so that importing octavo costs nothing."""
    if name == "Library":
        from octavo.library import Library

        return Library
    if name == "Settings":
        from octavo.settings import Settings

        return Settings
    raise AttributeError(f"module 'octavo' has no attribute {name!r}")
