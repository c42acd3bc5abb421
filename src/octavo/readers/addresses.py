"""Resolve the addresses that a file of a book writes: to another place of the book, or to the web."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from urllib.parse import unquote

Locate = Callable[[str], str]
"""From an address in a file to `/file#id` inside the book, to a web address, or to nothing."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_SCHEMES = frozenset(("http", "https", "mailto", "data"))


def make_locator(file: str) -> Locate:
    """Make what resolves the addresses that are written in a file of the book."""
    folder = posixpath.dirname(file)

    def locate(href: str) -> str:
        href = href.strip()
        if not href:
            return ""
        scheme = _SCHEME.match(href)
        if scheme:
            return href if scheme.group(1).lower() in _SCHEMES else ""
        if href.startswith("//"):
            return f"https:{href}"
        path, _, fragment = href.partition("#")
        path = unquote(path.partition("?")[0])
        if not path:
            path = file
        elif not path.startswith("/"):
            path = posixpath.normpath(posixpath.join(folder, path))
        if path.startswith(".."):
            return ""
        return f"/{path.lstrip('/')}" + (f"#{unquote(fragment)}" if fragment else "")

    return locate
