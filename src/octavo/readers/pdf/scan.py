"""Look at the raw bytes of a PDF before its parser sees them.

`refuse_bombs` decompresses every stream on a budget, streams within streams too, and raises before the parser
would fill the memory. It skips pictures, which reading text never decompresses. `is_cut_off` and
`count_claimed_pages` return what a file says about itself, so that lost pages are noticed. All of it is
linear in the size of the file.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from itertools import chain

from octavo.errors import BadBook
from octavo.limits import MB, Limits

# What a stream may unpack to before its ratio counts.
_FREE = 10 * MB
_PIECE, _FEED, _DEEPEST = 1 << 20, 1 << 16, 8
_STREAM = re.compile(rb"(?<!end)stream\r?\n")
_LENGTH = re.compile(rb"/Length\s+(\d{1,10})(?!\s+\d+\s+R|\d)")
_PICTURE = re.compile(rb"/Subtype\s*/Image\b")
_COUNT = re.compile(
    rb"/Type\s*/Pages\b[^>]{0,4096}?/Count\s+(\d{1,9})|/Count\s+(\d{1,9})[^>]{0,4096}?/Type\s*/Pages\b"
)
_START = re.compile(rb"startxref\s+(\d{1,12})\s*%%EOF")


class _Budget:
    """What decompressing may still cost, for the whole file and for the current stream."""

    def __init__(self, size: int, limits: Limits) -> None:
        self._left = limits.max_expanded_mb * MB
        self._input_left = 4 * size + 64 * MB
        self._ratio = limits.max_ratio
        self._input = self._output = 0

    def start_stream(self) -> None:
        self._input = self._output = 0

    def count_input(self, count: int) -> None:
        self._input += count
        self._input_left -= count
        if self._input_left < 0:
            raise BadBook("damaged_pdf", "the PDF's streams overlap many times")

    def count_output(self, count: int) -> None:
        self._output += count
        self._left -= count
        if self._left < 0 or (self._output > _FREE and self._output > self._ratio * self._input):
            raise BadBook(
                "too_large_expanded",
                f"a stream of the PDF unpacks from {self._input} bytes to more than {self._output // MB} MB",
            )


def refuse_bombs(data: bytes, limits: Limits) -> None:
    """Refuse a file whose streams decompress to far more than a book."""
    budget = _Budget(len(data), limits)
    for found in _STREAM.finditer(data):
        start = found.end()
        if not _is_compressed(data[start : start + 2]):
            continue
        about = data[max(data.rfind(b"obj", max(0, start - 4096), start), start - 4096, 0) : start]
        if _PICTURE.search(about):
            continue
        budget.start_stream()
        for _ in _unpack(_feed(data, start, _find_end(data, start, about), budget), budget, depth=0):
            pass


def _is_compressed(head: bytes) -> bool:
    return len(head) == 2 and head[0] & 0x0F == 8 and (head[0] << 8 | head[1]) % 31 == 0


def _find_end(data: bytes, start: int, about: bytes) -> int:
    declared = _LENGTH.search(about)
    end = data.find(b"endstream", start)
    return max(
        len(data) if end < 0 else end, min(len(data), start + int(declared.group(1))) if declared else 0
    )


def _feed(data: bytes, start: int, end: int, budget: _Budget) -> Iterator[bytes]:
    for at in range(start, end, _FEED):
        piece = data[at : min(end, at + _FEED)]
        budget.count_input(len(piece))
        yield piece


def _unpack(pieces: Iterator[bytes], budget: _Budget, *, depth: int) -> Iterator[bytes]:
    """Yield the decompressed pieces of a stream; if they are compressed again, what those contain."""
    inner = _inflate(pieces, budget)
    first = next(inner, b"")
    if depth < _DEEPEST and _is_compressed(first[:2]):
        return _unpack(chain((first,), inner), budget, depth=depth + 1)
    return inner


def _inflate(pieces: Iterator[bytes], budget: _Budget) -> Iterator[bytes]:
    unpacker = zlib.decompressobj()
    try:
        for piece in pieces:
            rest = piece
            while rest and not unpacker.eof:
                output = unpacker.decompress(rest, _PIECE)
                rest = unpacker.unconsumed_tail
                budget.count_output(len(output))
                if output:
                    yield output
            if unpacker.eof:
                return
    except zlib.error:
        # Not compressed after all, or damaged: the parser will say so.
        return


def is_cut_off(data: bytes) -> bool:
    """Whether the end of the file is missing: no end mark, or an index that is not where the file says."""
    tail = data[-2048:]
    found = list(_START.finditer(tail))
    if not found:
        return True
    at = int(found[-1].group(1))
    there = data[at : at + 40].lstrip()
    return not (there.startswith(b"xref") or re.match(rb"\d+\s+\d+\s+obj", there))


def count_claimed_pages(data: bytes) -> int:
    """Return the most pages that any uncompressed page tree claims; 0 when all are compressed."""
    return max((int(m.group(1) or m.group(2)) for m in _COUNT.finditer(data)), default=0)
