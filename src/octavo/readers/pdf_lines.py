"""The lines of a PDF's pages, and which of them are furniture.

A PDF knows glyphs at places, not paragraphs; the reader hands on one `Line` for each printed line. Here the
running heads and feet are told from the book's own words: page numbers that count along with the pages, lines
that carry such a number at the edge of the page, and lines that stand at the same height with the same words
on page after page. Rows of figures are never furniture.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from operator import attrgetter
from typing import NamedTuple

EDGE_ROWS = 3  # furniture is among the outermost rows of a page,
ZONE = 0.16  # and but for the very outermost within this share of the page's height from its edge
_NUMBER = re.compile(r"\d{1,5}")
_ROMAN = re.compile(r"[ivxlcdm]+", re.IGNORECASE)
_SMALL_ROMAN = re.compile(r"(?=.)c{0,3}(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})")
_ROMAN_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_ALONE = re.compile(r"(?:page\s+)?(\d{1,5})(?:\s*(?:of|/)\s*\d{1,5})?", re.IGNORECASE)
_FIGURE_MARKS = "0123456789.,()[]$%€£¥—–-+*"
_FIGURE_ENDS = frozenset("0123456789)]%—–-+*$€£¥")
_AROUND = " -–—|[]()"  # what printers set around a page number
_HERE = "\x00"  # stands for the page's own number while lines are compared


class Line(NamedTuple):
    """One printed line: its words, its place on the page (y grows upwards) and its type."""

    page: int
    text: str
    left: float
    right: float
    y: float
    size: float
    bold: bool = False
    hyphen: bool = False
    """The line ended in a hyphen, which is no longer in `text`."""


_NOTHING = Line(1, "", 0, 0, 0, 10)


class Page(NamedTuple):
    number: int
    label: str | None
    bottom: float
    height: float
    lines: tuple[Line, ...]


class _Edge(NamedTuple):
    """A line near the top or bottom of its page, with its page numbers masked."""

    line: Line
    words: str
    height: int
    outermost: bool


def figures(text: str) -> int:
    """How many figures end the line: two or more make it a row of a table."""
    count = 0
    if text[-1:] not in _FIGURE_ENDS:
        return 0
    for token in reversed(text.split()):
        if token.strip(_FIGURE_MARKS) or token.endswith((",", ".")):
            break
        if token not in ("$", "%", ")", "€", "£", "¥", "(", "*"):
            count += 1
    return count


def without_furniture(pages: Sequence[Page]) -> list[Page]:
    """The pages without running heads, running feet and page numbers."""
    numbering = _numbering(pages)
    edges = {page.number: _edges(page, numbering) for page in pages}
    alike = Counter((e.height, e.words) for found in edges.values() for e in found)
    numbered = Counter(e.height for found in edges.values() for e in found if _numbered(e.words))
    large = 1.15 * statistics.median(line.size for page in pages for line in page.lines or (_NOTHING,))
    few = 3 if len(pages) <= 20 else 4

    def furniture(edge: _Edge) -> bool:
        if edge.words.strip(_AROUND) == _HERE:
            return True
        if edge.line.size >= large:
            return False
        if _numbered(edge.words) and numbered[edge.height] >= max(5, len(pages) // 20):
            return True
        often = max(few, len(pages) // (25 if edge.outermost else 10))
        return figures(edge.words) < 2 and alike[edge.height, edge.words] >= often

    kept = []
    for page in pages:
        gone = {id(edge.line) for edge in edges[page.number] if furniture(edge)}
        lines = tuple(line for line in page.lines if id(line) not in gone) if gone else page.lines
        kept.append(page._replace(lines=lines))
    return kept if any(page.lines for page in kept) else list(pages)


def _numbered(words: str) -> bool:
    return words.startswith(_HERE) or words.endswith(_HERE)


def _rows(page: Page) -> Iterator[tuple[Line, bool]]:
    """The lines of a page's outermost rows, top and bottom, and whether theirs is the very outermost."""
    rows = [
        list(row) for _, row in groupby(sorted(page.lines, key=attrgetter("y")), key=lambda ln: round(ln.y))
    ]
    low, high = page.bottom + ZONE * page.height, page.bottom + (1 - ZONE) * page.height
    last = len(rows) - 1
    for i in sorted({*range(min(EDGE_ROWS, last + 1)), *range(max(0, last + 1 - EDGE_ROWS), last + 1)}):
        outermost = i in (0, last)
        for line in rows[i]:
            if outermost or (i < EDGE_ROWS and line.y < low) or (i > last - EDGE_ROWS and line.y > high):
                yield line, outermost


def _numbering(pages: Sequence[Page]) -> set[int]:
    """By how much printed page numbers run ahead of the physical ones, where that is the rule."""
    ahead: Counter[int] = Counter()
    for page in pages:
        ahead.update({number - page.number for line, _ in _rows(page) for number in _numbers(line.text)})
    least = max(2, len(pages) // 20) if len(pages) < 40 else max(4, len(pages) // 30)
    return {gap for gap, count in ahead.items() if count >= least}


def _numbers(text: str) -> set[int]:
    """The numbers of a line that may be its page's: the first word, the last, or all of it."""
    tokens = text.split()
    ends = {token.strip(_AROUND) for token in (tokens[:1] + tokens[-1:])}
    found = {int(token) for token in ends if _NUMBER.fullmatch(token)}
    alone = _number_alone(text)
    return found if alone is None else {*found, alone}


def _number_alone(text: str) -> int | None:
    """The number of a line that says nothing else: `- 5 -`, `Page 5 of 90`, `xiv`."""
    bare = text.strip(_AROUND)
    if found := _ALONE.fullmatch(bare):
        return int(found.group(1))
    if not _SMALL_ROMAN.fullmatch(bare):
        return None
    values = [_ROMAN_VALUES[letter] for letter in bare]
    return sum(-value if value < after else value for value, after in pairwise([*values, 0]))


def _edges(page: Page, numbering: set[int]) -> list[_Edge]:
    return [
        _Edge(line, _masked(line.text, page, numbering), round((line.y - page.bottom) / 3), outermost)
        for line, outermost in _rows(page)
    ]


def _masked(text: str, page: Page, numbering: set[int]) -> str:
    """The line with the page's own number, where it stands first or last, made the same on every page."""
    alone = _number_alone(text)
    if alone is not None and alone - page.number in numbering:
        return _HERE
    tokens = text.split()
    for place in {0, len(tokens) - 1} if tokens else ():
        bare = tokens[place].strip(_AROUND)
        counts_along = bool(_NUMBER.fullmatch(bare)) and int(bare) - page.number in numbering
        if counts_along or (bare == page.label and bool(_ROMAN.fullmatch(bare) or bare[-1:].isdigit())):
            tokens[place] = _HERE
    return " ".join(tokens)
