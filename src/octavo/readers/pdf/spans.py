"""Which columns of a PDF's table a heading above other headings spans: those that it is centred over.

A file does not say where its columns begin. Where figures stand at the right, as most do, a column begins
where the one before it ends, and its heading is in the middle of that; other headings are centred over the
words. A heading lies within one above it, or over all of them, and crosses no border between two.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from octavo.readers.pdf.cells import Cell

# A heading is off the middle by less than this, in units of its type's size.
_MOST_OFF = 1.5
Edges = Sequence[tuple[float, float]]
"""The left and right edge of each column."""


class _Span(NamedTuple):
    """The first and the last column."""

    first: int
    last: int

    def is_within(self, other: _Span) -> bool:
        return other.first <= self.first and self.last <= other.last

    def overlaps(self, other: _Span) -> bool:
        return self.first <= other.last and other.first <= self.last


def widen_headings(row: Sequence[Cell], columns: Edges, above: Sequence[Cell]) -> list[Cell]:
    """Let each heading of a row span the columns that it is centred over. `above` is the row above it."""
    middles = [(cell.words.left + cell.words.right) / 2 for cell in row]
    higher = [_get_span(cell) for cell in above if cell.column > 0]
    starts = _find_starts(columns)
    made: list[Cell] = []
    for cell, middle in zip(row, middles, strict=True):
        span = _get_span(cell)
        if cell.column > 0:
            least = made[-1].column + made[-1].columns if made else 1
            near = [
                column
                for column in range(max(1, least), len(columns))
                if _is_nearest(middle, middles, sum(columns[column]) / 2)
            ]
            wider = [_Span(a, b) for a in near for b in near if a <= span.first and b >= span.last]
            most = _MOST_OFF * (cell.words.right - cell.words.left) / max(1, len(cell.text)) * 2
            fit = [
                one
                for one in wider
                if _measure_off(middle, starts[one.first], columns[one.last][1]) < most
                and _is_nested(one, higher)
            ]
            span = max(fit, key=lambda one: one.last - one.first, default=span)
        made.append(Cell(span.first, cell.words, span.last - span.first + 1))
    return made


def _get_span(cell: Cell) -> _Span:
    return _Span(cell.column, cell.column + cell.columns - 1)


def _is_nearest(middle: float, middles: Sequence[float], place: float) -> bool:
    return abs(middle - place) <= min(abs(other - place) for other in middles)


def _measure_off(middle: float, starts: tuple[float, float], end: float) -> float:
    return min(abs((start + end) / 2 - middle) for start in starts)


def _is_nested(span: _Span, higher: Sequence[_Span]) -> bool:
    met = [one for one in higher if span.overlaps(one)]
    over_all = len(met) == len(higher) and all(one.is_within(span) for one in met)
    return not met or over_all or (len(met) == 1 and (span.is_within(met[0]) or met[0].is_within(span)))


def _find_starts(columns: Edges) -> list[tuple[float, float]]:
    """Return where the words of each column begin, and where the column begins if they stand at its right."""
    rights = [right for _, right in columns]
    # A column after words may have more room before it than it takes: it is no wider than the others.
    width = statistics.median_low([b - a for a, b in pairwise(rights[1:])] or [0.0])
    begun = [columns[0][0], *(max(before, right - width) for before, right in pairwise(rights))]
    return [(left, start) for (left, _), start in zip(columns, begun, strict=True)]
