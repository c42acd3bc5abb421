"""Turn what OCR has read on a page into printed lines, as PDFium's own text gives them.

OCR measures type by its ink, so the size of one type differs a little from line to line. `even_out_sizes`
makes sizes that are close the same, so that a paragraph stays one and a heading stands out.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from octavo.readers.pdf.lines import WIDE_GAP, PdfLine, PdfPage, Segment

if TYPE_CHECKING:
    from octavo.readers.scans import ScannedLine, ScannedPage

_HYPHEN = re.compile(r"(?<=[^\W\d_])[-‐¬]$")
# The foot of a line's box is so far below the line that its letters stand on, in units of the type's size.
_DESCENT = 0.2
# Within these shares, sizes are the same: of the body's type, and of others.
_BODY, _OTHERS = 0.17, 0.1


def build_lines(
    scan: ScannedPage, number: int, *, width: float, height: float, bottom: float
) -> tuple[PdfLine, ...]:
    """Return the lines of a scanned page of this size, whose lower edge is at `bottom`."""
    return tuple(_build_lines(scan, number, width, height, bottom))


def _build_lines(
    scan: ScannedPage, number: int, width: float, height: float, bottom: float
) -> Iterator[PdfLine]:
    at = 0
    for line in scan.lines:
        text, size = line.text, line.size * height
        bare = _HYPHEN.sub("", text)
        yield PdfLine(
            page=number,
            text=bare,
            left=width * min(word.left for word in line.words),
            right=width * max(word.right for word in line.words),
            y=bottom + height * (1 - line.base) - _DESCENT * size,
            size=size,
            hyphen=bare != text,
            first=at,
            length=len(bare),
            segments=_divide(line, at, width, WIDE_GAP * size),
        )
        at += len(text) + 1


def _divide(line: ScannedLine, at: int, width: float, gap: float) -> tuple[Segment, ...]:
    """Divide the words of a line where the gap between two of them is wide; () if none is."""
    found: list[Segment] = []
    for word in line.words:
        left, right = width * word.left, width * word.right
        if found and -gap < left - found[-1].right < gap:
            last = found[-1]
            text = f"{last.text} {word.text}"
            found[-1] = last._replace(text=text, right=right, length=len(text))
        else:
            found.append(Segment(word.text, left, right, at, len(word.text)))
        at += len(word.text) + 1
    return tuple(found) if len(found) > 1 else ()


def even_out_sizes(pages: Sequence[PdfPage], scanned: Collection[int]) -> list[PdfPage]:
    """Return the pages, with one size for lines of nearly the same size on those that are `scanned`."""
    sizes = sorted(line.size for page in pages if page.number in scanned for line in page.lines)
    if not sizes:
        return list(pages)
    letters = [
        size
        for page in pages
        if page.number in scanned
        for line in page.lines
        for size in [line.size] * (1 + len(line.text) // 20)
    ]
    evened = _group(sizes, statistics.median(letters))
    return [
        page._replace(lines=tuple(line._replace(size=evened[line.size]) for line in page.lines))
        if page.number in scanned
        else page
        for page in pages
    ]


def _group(sizes: Sequence[float], body: float) -> dict[float, float]:
    """Return the size to use for each of the sizes, which are sorted."""
    evened = {size: body for size in sizes if abs(size - body) <= _BODY * body}
    group: list[float] = []
    for size in [*(size for size in sizes if size not in evened), None]:
        if group and (size is None or size > group[0] * (1 + _OTHERS)):
            middle = statistics.median(group)
            evened.update(dict.fromkeys(group, middle))
            group = []
        if size is not None:
            group.append(size)
    return evened
