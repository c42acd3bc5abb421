"""The messages between the library and its parser process.

The parser reads one JSON request on stdin and writes one JSON answer on stdout: `{"book": …}` or `{"error":
{"code", "message", "hint"}}`. When it has counted the pages of a PDF, it writes the line `pages N` on stderr,
which gives it more time; while it reads, it writes `read D of N` now and then. A request about pages of a PDF
has the bytes of the file after its first line, and is answered with a PNG, with several of them, each after
its length, or with a JSON list of pages. What OCR has read on pages without text goes with a request. Both
sides import this module and nothing else of each other.
"""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from octavo.limits import Limits
from octavo.readers.scans import ScannedPage, ScannedPages, read_scanned_page

PARSER_MODULE = "octavo.readers.child"
BOOK_PREFIX = b'{"book": '
SECONDS_PER_PAGE = 0.05
SECONDS_PER_MB = 1.0
_LENGTH = struct.Struct(">I")
_PAGES_PREFIX = b"pages "
_PAGES_READ = re.compile(rb"read (\d{1,9}) of (\d{1,9})")


class WantedLine(NamedTuple):
    """A line of a section that is `length` characters of a page, and which part of its text is wanted."""

    first: int
    length: int
    text: str
    start: int
    end: int


class WantedPage(NamedTuple):
    number: int
    lines: tuple[WantedLine, ...] = ()
    scan: ScannedPage | None = None
    """What OCR has read on it, if it has no text of its own."""


class PageRequest(NamedTuple):
    """Either `drawing`, the number of a page and its width in pixels, or `scans` for OCR, or `boxes`."""

    limits: Limits
    drawing: tuple[int, int] | None
    scans: tuple[int, ...]
    boxes: list[WantedPage]


def write_request(path: Path, limits: Limits, scans: ScannedPages) -> bytes:
    said = {"path": os.fspath(path), "limits": asdict(limits), "scans": {**scans}}
    return json.dumps(said).encode()


def read_request(raw: bytes) -> tuple[Path, Limits, ScannedPages]:
    request = json.loads(raw)
    scans = {int(number): read_scanned_page(page) for number, page in request["scans"].items()}
    return Path(request["path"]), Limits(**request["limits"]), scans


def write_drawing_request(data: bytes, number: int, width: int, limits: Limits) -> bytes:
    return _write_page_request(data, limits, {"drawing": [number, width]})


def write_scans_request(data: bytes, numbers: Sequence[int], limits: Limits) -> bytes:
    return _write_page_request(data, limits, {"scans": numbers})


def write_pictures(pictures: Sequence[bytes]) -> bytes:
    return b"".join(_LENGTH.pack(len(picture)) + picture for picture in pictures)


def read_pictures(answer: bytes) -> list[bytes]:
    """Read pictures that each come after their length; raise `ValueError` for anything else."""
    found: list[bytes] = []
    at = 0
    while at < len(answer):
        if at + _LENGTH.size > len(answer):
            raise ValueError("no length")
        (length,) = _LENGTH.unpack_from(answer, at)
        at += _LENGTH.size
        found.append(answer[at : at + length])
        at += length
    if at != len(answer):
        raise ValueError("a picture is cut off")
    return found


def write_boxes_request(data: bytes, wanted: Sequence[WantedPage], limits: Limits) -> bytes:
    return _write_page_request(data, limits, {"boxes": wanted})


def _write_page_request(data: bytes, limits: Limits, asked: dict[str, Any]) -> bytes:
    return json.dumps({"limits": asdict(limits), **asked}).encode() + b"\n" + data


def read_page_request(raw: bytes) -> PageRequest:
    request = json.loads(raw)
    drawing = request.get("drawing")
    boxes = [
        WantedPage(number, tuple(WantedLine(*line) for line in lines), scan and read_scanned_page(scan))
        for number, lines, scan in request.get("boxes", ())
    ]
    scans = tuple(request.get("scans", ()))
    return PageRequest(Limits(**request["limits"]), drawing and (drawing[0], drawing[1]), scans, boxes)


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
