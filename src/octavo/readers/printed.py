"""Draw pages of a PDF and find words on them, in the parser's process, which is confined and limited.

Both take the bytes of the file, which the process gets through its pipe: it opens nothing but its own code.
What it answers is checked before it is used. A page that cannot be drawn within its limits raises `BadBook`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from octavo.limits import MB
from octavo.readers.messages import (
    WantedLine,
    WantedPage,
    read_pictures,
    write_boxes_request,
    write_drawing_request,
    write_scans_request,
)
from octavo.readers.parsed import find_picture_type
from octavo.readers.sandbox import make_nonsense, read_refusal, run_child
from octavo.types import PageBox, PrintedPage

if TYPE_CHECKING:
    from octavo.limits import Limits
    from octavo.readers.scans import ScannedPages
    from octavo.types import PrintedLine, Section

_ANSWER_MOST_MB = 64


async def draw_page(data: bytes, number: int, *, width: int, limits: Limits) -> bytes:
    """Return a page of a PDF as a PNG of this width in pixels, or less where it would have too many."""
    name, limits = f"page {number}", _allow_page_seconds(limits)
    request = write_drawing_request(data, number, width, limits)
    answer = await run_child(request, name, limits, most=_ANSWER_MOST_MB * MB)
    if find_picture_type(answer) != "image/png":
        raise read_refusal(answer, name)
    return answer


async def draw_scans(data: bytes, numbers: Sequence[int], limits: Limits) -> list[bytes]:
    """Return pages of a PDF as grey PNGs for OCR."""
    name = f"page {numbers[0]}"
    limits = replace(limits, parser_seconds=limits.page_seconds * len(numbers))
    request = write_scans_request(data, numbers, limits)
    answer = await run_child(request, name, limits, most=_ANSWER_MOST_MB * MB)
    if answer.startswith(b"{"):
        raise read_refusal(answer, name)
    try:
        pictures = read_pictures(answer)
        if [find_picture_type(picture) for picture in pictures] != ["image/png"] * len(numbers):
            raise ValueError("not pictures")
    except ValueError as nonsense:
        raise make_nonsense(name, nonsense) from None
    return pictures


async def find_boxes(
    data: bytes,
    section: Section,
    lines: Sequence[PrintedLine],
    *,
    start: int,
    end: int,
    limits: Limits,
    scans: ScannedPages | None = None,
) -> tuple[PrintedPage, ...]:
    """Return the pages of a section, with boxes around its characters from `start` to `end`.

    Only the pages that have some of these characters are read; of the others only the size is. `scans` has
    what OCR has read on pages that have no text of their own.
    """
    labels = {mark.number: mark.label for mark in section.pages}
    selected = select_lines(section, lines, start, end)
    scans = scans or {}
    wanted = [
        WantedPage(number, selected.get(number, ()), scans.get(number) if number in selected else None)
        for number in labels
    ]
    name, limits = section.title, _allow_page_seconds(limits)
    answer = await run_child(
        write_boxes_request(data, wanted, limits), name, limits, most=_ANSWER_MOST_MB * MB
    )
    if not answer.startswith(b"["):
        raise read_refusal(answer, name)
    try:
        return tuple(
            PrintedPage(number, labels[number], width, height, tuple(PageBox(*box) for box in boxes))
            for number, width, height, boxes in json.loads(answer)
        )
    except Exception as nonsense:
        raise make_nonsense(name, nonsense) from None


def _allow_page_seconds(limits: Limits) -> Limits:
    return replace(limits, parser_seconds=limits.page_seconds)


def select_lines(
    section: Section, lines: Sequence[PrintedLine], start: int, end: int
) -> dict[int, tuple[WantedLine, ...]]:
    """Select the lines that have characters between `start` and `end`, by the number of their page."""
    ends = [line.offset for line in lines[1:]] + [len(section.text)]
    selected: dict[int, tuple[WantedLine, ...]] = {}
    for line, stop in zip(lines, ends, strict=False):
        if line.offset < end and stop > start:
            text = section.text[line.offset : stop]
            wanted = WantedLine(
                line.first, line.length, text, max(0, start - line.offset), min(end, stop) - line.offset
            )
            selected[line.page] = (*selected.get(line.page, ()), wanted)
    return selected
