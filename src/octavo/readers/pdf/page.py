"""Draw a page of a PDF as it is printed, and find where on a page words stand.

This runs in the parser's process, on the bytes that the book was read from. A page is drawn without form
fields, up to a number of pixels, and returned as a PNG. Words are found by the characters of the page that
the reader noted for each line; those of a scanned page are what OCR has read. The reader has cleaned them, so
the text of the line is compared with them; what does not agree gets no box. A box has shares of the page's
width and height, from the top left corner of the page as it is seen.
"""

from __future__ import annotations

import ctypes
import math
import struct
import unicodedata
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from octavo.errors import BadBook

if TYPE_CHECKING:
    from octavo.limits import Limits
    from octavo.readers.messages import WantedLine, WantedPage
    from octavo.readers.scans import ScannedPage

Box = tuple[float, float, float, float]
"""Left, bottom, right and top in points; or left, top, right and bottom in shares of the page."""

_PACKING = 3
# 300 pixels to the inch: a point is 1/72 of it.
_OCR_SCALE = 300 / 72
_GRID = 100_000
# The longest line whose text is compared with the page's if they differ: comparing takes quadratic time.
_LONGEST_COMPARED = 4_000
# A gap of so many heights of a character begins a new box: the columns of a table are boxed one by one.
_GAP = 2.0


def draw_page(data: bytes, number: int, width: int, limits: Limits) -> bytes:
    """Return a page as a PNG of this width in pixels, or less where it would have too many."""
    with _open_document(data) as document:
        page = document[number - 1]
        scale = min(width / _measure(page)[0], _find_most_scale(page, limits))
        return _encode_png(page.render(scale=scale, rev_byteorder=True, may_draw_forms=False))


def draw_scans(data: bytes, numbers: Sequence[int], limits: Limits) -> list[bytes]:
    """Return pages as grey PNGs, as large as OCR reads best, or less where that is too many pixels."""
    with _open_document(data) as document:
        return [
            _encode_png(
                page.render(
                    scale=min(_OCR_SCALE, _find_most_scale(page, limits)),
                    grayscale=True,
                    may_draw_forms=False,
                )
            )
            for page in (document[number - 1] for number in numbers)
        ]


def _measure(page: pdfium.PdfPage) -> tuple[float, float]:
    wide, high = page.get_size()
    if not (0 < wide < math.inf and 0 < high < math.inf):
        raise BadBook("damaged_pdf", "the page has no size")
    return wide, high


def _find_most_scale(page: pdfium.PdfPage, limits: Limits) -> float:
    wide, high = _measure(page)
    most = limits.max_page_pixels
    return min(math.sqrt(most / (wide * high)), most / max(wide, high))


def find_boxes(data: bytes, wanted: Sequence[WantedPage]) -> list[tuple[int, float, float, list[Box]]]:
    """Return of each page its number, width, height, and the boxes around the words that are wanted on it.

    Reading what is on a page takes most of the time, so it is done only for pages with words that are wanted.
    A damaged page is left out; a file that has no other is refused.
    """
    with _open_document(data) as document:
        pages: list[tuple[int, float, float, list[Box]]] = []
        for number, lines, scan in wanted:
            with suppress(pdfium.PdfiumError):
                size = document.get_page_size(number - 1)
                boxes = _find_wanted(document[number - 1], lines, scan) if lines else []
                pages.append((number, *size, boxes))
        if wanted and not pages:
            raise BadBook("damaged_pdf", "none of its pages can be opened")
        return pages


def _find_wanted(page: pdfium.PdfPage, lines: Sequence[WantedLine], scan: ScannedPage | None) -> list[Box]:
    return _find_page_boxes(page, lines) if scan is None else _find_scanned_boxes(scan, page, lines)


@contextmanager
def _open_document(data: bytes) -> Iterator[pdfium.PdfDocument]:
    try:
        yield pdfium.PdfDocument(data)
    except (pdfium.PdfiumError, IndexError) as error:
        raise BadBook("damaged_pdf", f"the page cannot be opened: {error}") from None


def _encode_png(bitmap: pdfium.PdfBitmap) -> bytes:
    """Encode a bitmap in which one byte is a grey pixel, or three are one with colours."""
    colours, grey = 2, 0
    rows, stride, used = bytes(bitmap.buffer), bitmap.stride, bitmap.n_channels * bitmap.width
    kind_of_pixel = grey if bitmap.n_channels == 1 else colours
    body = b"".join(b"\0" + rows[at : at + used] for at in range(0, stride * bitmap.height, stride))
    head = struct.pack(">IIBBBBB", bitmap.width, bitmap.height, 8, kind_of_pixel, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(body, _PACKING)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(part)) + kind + part + struct.pack(">I", zlib.crc32(kind + part))
        for kind, part in parts
    )


def _find_page_boxes(page: pdfium.PdfPage, lines: Sequence[WantedLine]) -> list[Box]:
    text_page = page.get_textpage()
    # Places count in UTF-16 units, as PDFium does.
    units = text_page.get_text_range(errors="replace").encode("utf-16-le", "replace")
    found: list[Box] = []
    for line in lines:
        printed = units[2 * line.first : 2 * (line.first + line.length)].decode("utf-16-le", "replace")
        places = _align(line.text, printed)[line.start : line.end]
        here = [place for place in places if place is not None]
        if here:
            before = len(printed[: min(here)].encode("utf-16-le")) // 2
            length = len(printed[min(here) : max(here) + 1].encode("utf-16-le")) // 2
            glyphs = _measure_glyphs(text_page, line.first + before, length)
            found += (_turn_to_page(page, box) for box in _join_boxes(glyphs))
    return found


def _find_scanned_boxes(scan: ScannedPage, page: pdfium.PdfPage, lines: Sequence[WantedLine]) -> list[Box]:
    """Return the boxes of whole words, as OCR has found them on the page."""
    text, (wide, high) = scan.text, _measure(page)
    starts: list[int] = []
    boxes: list[Box] = []
    at = 0
    for printed in scan.lines:
        for word in printed.words:
            starts.append(at)
            # In points, so that a gap is measured by the height of a word.
            boxes.append((wide * word.left, high * word.top, wide * word.right, high * word.bottom))
            at += len(word.text) + 1
    found: list[Box] = []
    for line in lines:
        places = _align(line.text, text[line.first : line.first + line.length])[line.start : line.end]
        here = [line.first + place for place in places if place is not None]
        if here:
            words = range(bisect_right(starts, min(here)) - 1, bisect_right(starts, max(here)))
            joined = _join_boxes(boxes[word] for word in words)
            found += ((a / wide, b / high, c / wide, d / high) for a, b, c, d in joined)
    return found


def _align(text: str, printed: str) -> list[int | None]:
    """Return for each character of a text its place among the printed ones, or None."""
    places: list[int | None] = [None] * len(text)
    ours, theirs = _spell_out(text), _spell_out(printed)
    left, right = [c for c, _ in ours], [c for c, _ in theirs]
    if left == right:
        pairs: Iterable[tuple[int, int]] = zip(range(len(left)), range(len(right)), strict=True)
    elif max(len(left), len(right)) > _LONGEST_COMPARED:
        return places
    else:
        blocks = SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks()
        if 2 * sum(block.size for block in blocks) < min(len(left), len(right)):
            return places
        pairs = ((b.a + i, b.b + i) for b in blocks for i in range(b.size))
    for a, b in pairs:
        places[ours[a][1]] = theirs[b][1]
    return places


def _spell_out(text: str) -> list[tuple[str, int]]:
    """Return what a text shows, letters and marks apart and ligatures as letters, each with its place."""
    return [
        (part, place)
        for place, character in enumerate(text)
        for part in (character if character.isascii() else unicodedata.normalize("NFKD", character))
        if not part.isspace()
    ]


def _measure_glyphs(text_page: pdfium.PdfTextPage, first: int, length: int) -> Iterator[Box]:
    """Yield where the characters are: as wide as they are printed, as high as their line."""
    loose = raw.FS_RECTF()
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    for at in range(first, first + length):
        glyph = raw.FPDFText_GetCharIndexFromTextIndex(text_page, at)
        if raw.FPDFText_GetUnicode(text_page, glyph) in (0x20, 0xA0):
            continue
        is_found = raw.FPDFText_GetCharBox(text_page, glyph, left, right, bottom, top)
        if not is_found or not raw.FPDFText_GetLooseCharBox(text_page, glyph, loose):
            continue
        box = (left.value, bottom.value, right.value, top.value)
        if box[2] > box[0] and box[3] > box[1]:
            yield _widen(box, (loose.left, loose.bottom, loose.right, loose.top))


def _widen(box: Box, loose: Box) -> Box:
    """Widen the box of a character to that of its line, which some fonts make much too high."""
    margin = max(box[2] - box[0], box[3] - box[1])
    return (
        min(box[0], max(loose[0], box[0] - margin)),
        min(box[1], max(loose[1], box[1] - margin)),
        max(box[2], min(loose[2], box[2] + margin)),
        max(box[3], min(loose[3], box[3] + margin)),
    )


def _join_boxes(glyphs: Iterable[Box]) -> list[Box]:
    """Join the boxes of characters that stand together."""
    joined: list[Box] = []
    for box in glyphs:
        if joined:
            last = joined[-1]
            size = max(box[3] - box[1], box[2] - box[0])
            across = max(box[0] - last[2], last[0] - box[2])
            along = max(box[1] - last[3], last[1] - box[3])
            if max(across, along) < _GAP * size and min(across, along) < 0:
                joined[-1] = (
                    min(last[0], box[0]),
                    min(last[1], box[1]),
                    max(last[2], box[2]),
                    max(last[3], box[3]),
                )
                continue
        joined.append(box)
    return joined


def _turn_to_page(page: pdfium.PdfPage, box: Box) -> Box:
    """Return a box in points as shares of the page as it is seen: turned, and cut to its crop box."""
    x, y = ctypes.c_int(), ctypes.c_int()
    corners = []
    for across, up in ((box[0], box[1]), (box[2], box[3])):
        raw.FPDF_PageToDevice(page, 0, 0, _GRID, _GRID, 0, across, up, x, y)
        corners.append((_clip(x.value), _clip(y.value)))
    (x1, y1), (x2, y2) = corners
    return min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)


def _clip(value: int) -> float:
    return min(1.0, max(0.0, value / _GRID))
