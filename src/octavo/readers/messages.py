"""The messages between the library and its parser process.

The parser reads one JSON request on stdin and writes one JSON answer on stdout: `{"book": …}` or `{"error":
{"code", "message", "hint"}}`. When it has counted the pages of a PDF, it writes the line `pages N` on stderr,
which gives it more time; while it reads, it writes `read D of N` now and then. Both sides import this module
and nothing else of each other.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict
from pathlib import Path

from octavo.limits import Limits

PARSER_MODULE = "octavo.readers.child"
BOOK_PREFIX = b'{"book": '
SECONDS_PER_PAGE = 0.05
SECONDS_PER_MB = 1.0
_PAGES_PREFIX = b"pages "
_PAGES_READ = re.compile(rb"read (\d{1,9}) of (\d{1,9})")


def write_request(path: Path, limits: Limits) -> bytes:
    return json.dumps({"path": os.fspath(path), "limits": asdict(limits)}).encode()


def read_request(raw: bytes) -> tuple[Path, Limits]:
    request = json.loads(raw)
    return Path(request["path"]), Limits(**request["limits"])


def write_book(book_json: str) -> bytes:
    return BOOK_PREFIX + book_json.encode("utf-8", "replace") + b"}"


def write_error(*, code: str, message: str, hint: str) -> bytes:
    return json.dumps({"error": {"code": code, "message": message, "hint": hint}}).encode()


def write_page_count(pages: int) -> bytes:
    return b"%s%d\n" % (_PAGES_PREFIX, pages)


def read_page_count(line: bytes) -> int | None:
    """Return the number of pages that a line of stderr announces; None for any other line."""
    count = line.removeprefix(_PAGES_PREFIX)
    return int(count) if line.startswith(_PAGES_PREFIX) and count.isdigit() else None


def write_pages_read(done: int, total: int) -> bytes:
    return b"read %d of %d\n" % (done, total)


def read_pages_read(line: bytes) -> tuple[int, int] | None:
    """Return how many pages of how many are read, as a line of stderr says; None for any other line."""
    found = _PAGES_READ.fullmatch(line)
    return (int(found[1]), int(found[2])) if found else None
