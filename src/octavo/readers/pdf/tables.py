"""Find the tables on a PDF's pages, with the row and the column of each cell.

A PDF draws words at places, and nothing in it says that they are a table. Rows are lines that wide gaps
divide or that end in figures. Columns are what the rows have in common: the strips of the page between the
gutters that no row crosses. Short lines above the columns are their headings, and the title above those is
the caption.

A table never crosses a page. Signs of currency and per cent belong to the figure beside them. A list is no
table, and neither is program code, where every letter is equally wide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from octavo.readers.pdf.cells import PREFIX, Cell, PdfTable, Row, Words, belongs, is_figure, is_year, tighten
from octavo.readers.pdf.lines import (
    ITEM,
    WIDE_GAP,
    PdfLine,
    Segment,
    count_figures,
    is_leader_row,
    shorten_leaders,
)
from octavo.readers.pdf.spans import widen_headings

_NO_FIGURE = frozenset("*#—–-")
_BULLET = re.compile(r"[^\w$€£¥%()]{1,2}|\(?(?:\d{1,2}|[a-zA-Z]|[ivx]{1,5})[.)]")
_INITIALS = re.compile(r"(?:^|\s)(?:[A-Z]\.){2,}$")
# Of lines above a table: how many may be headings of columns, and how many its caption.
_MOST_HEADINGS, _MOST_CAPTION = 60, 4
_LONGEST_HEADING, _LONGEST_CAPTION, _LONGEST_LABEL = 70, 140, 130
# In units of the type's size; the last is a share of the cells.
_GUTTER, _NEAR, _LEVEL = 0.3, 2.6, 0.2
_ALIGNED, _MOST_ALIGNED = 0.35, 0.8
# Between two rows of a table so many other lines may stand.
_MOST_BETWEEN = 2
# Longer cells in every column are two columns of prose.
_LONG_CELL = 45


def find_tables(lines: Sequence[PdfLine]) -> list[PdfTable]:
    """Return the tables in the order of the lines. Those of different pages are different tables."""
    found: list[PdfTable] = []
    start = 0
    for _, group in groupby(lines, key=attrgetter("page")):
        page = list(group)
        levels, starts = _join_levels(page)
        for table in _find_on_page(levels):
            first, last = starts[table.start], starts[table.end]
            found.append(table._replace(start=start + first, end=start + last))
        start += len(page)
    return found


def _join_levels(page: Sequence[PdfLine]) -> tuple[list[PdfLine], list[int]]:
    """Join lines that go on at the same height; also return where each begins, and where the last ends.

    PDFium makes a line of its own of a cell that has only one character.
    """
    joined: list[PdfLine] = []
    starts: list[int] = []
    for number, line in enumerate(page):
        before = joined[-1] if joined else None
        if before and abs(before.y - line.y) < _LEVEL * line.size and line.left > before.right:
            joined[-1] = _join_line(before, line)
        else:
            joined.append(line)
            starts.append(number)
    return joined, [*starts, len(page)]


def _join_line(a: PdfLine, b: PdfLine) -> PdfLine:
    segments = [*(a.segments or (_take_whole(a),)), *(b.segments or (_take_whole(b),))]
    number = len(a.segments) or 1
    last, following = segments[number - 1], segments[number]
    if following.left - last.right < WIDE_GAP * a.size:
        text, count = f"{last.text} {following.text}", following.first + following.length - last.first
        segments[number - 1 : number + 1] = [
            Segment(text, last.left, following.right, last.first, max(count, 1))
        ]
    return b._replace(text=f"{a.text} {b.text}", left=a.left, bold=a.bold, segments=tuple(segments))


def _find_on_page(page: Sequence[PdfLine]) -> list[PdfTable]:
    """Return the tables of a page. Those with figures come first: their headings may look like a table."""
    runs = list(_find_runs(page))
    figured = [run for run in runs if _count_figured(page[slice(*run)]) > 1]
    tables: list[PdfTable] = []
    for first, last in figured:
        tables.append(_build_table(page, tables[-1].end if tables else 0, first, last))
    for first, last in runs:
        if not any(first < table.end and table.start < last for table in tables):
            least = max((table.end for table in tables if table.end <= first), default=0)
            tables.append(_build_table(page, least, first, last))
    return sorted(tables)


def _count_figured(rows: Sequence[PdfLine]) -> int:
    return sum(
        count_figures(row.text) > 1
        or is_leader_row(row.text)
        or any(is_figure(words.text) for words in _divide(row)[1:])
        for row in rows
    )


def _find_runs(page: Sequence[PdfLine]) -> Iterator[tuple[int, int]]:
    """Yield [first, last) of each run of rows with only a few labels between them."""
    rows = [i for i, line in enumerate(page) if _is_row(line)]
    run: list[int] = []
    for row in [*rows, len(page) + _MOST_BETWEEN + 9]:
        if run and (
            row - run[-1] > _MOST_BETWEEN + 1
            or not _has_only_labels(page, run[-1], row)
            or _heads_columns(page, run, row)
        ):
            if _is_table([page[i] for i in run]):
                yield run[0], run[-1] + 1
            run = []
        run.append(row)


def _heads_columns(page: Sequence[PdfLine], run: Sequence[int], row: int) -> bool:
    """Whether a row after rows of figures heads the columns of the next table: it has years, or no label."""
    words = _divide(page[row])
    if any(is_figure(one.text) or _NO_FIGURE.issuperset(one.text) for one in words):
        return False
    left = min(page[i].left for i in run)
    is_head = any(is_year(one.text) for one in words[1:]) or words[0].left > left + 4 * page[row].size
    return len(words) > 1 and is_head and _count_figured([page[i] for i in run]) > 0


def _is_row(line: PdfLine) -> bool:
    return len(_divide(line)) > 1 or count_figures(line.text) > 1 or is_leader_row(line.text)


def _has_only_labels(page: Sequence[PdfLine], row: int, other: int) -> bool:
    """Whether only labels, and no sentences, stand between two rows, and the second is not far below."""
    between = page[row + 1 : other]
    if any(len(line.text) >= _LONGEST_LABEL or line.text.endswith(".") for line in between):
        return False
    if other >= len(page):
        return False
    a, b = page[row], page[other]
    return a.y - b.y < (4 + 2 * len(between)) * max(a.size, b.size)


def _is_table(rows: Sequence[PdfLine]) -> bool:
    """Whether rows make a table: figures do; cells of words must stand in line, one below the other."""
    if _count_figured(rows) > 1:
        return True
    headed = rows[0].bold and not rows[-1].bold
    if len(rows) < (2 if headed else 3) or all(map(_is_monospaced, rows)):
        return False
    cells = [words for row in rows if len(words := _divide(row)) > 1]
    size = max(row.size for row in rows)
    columns = _find_columns(cells, size)
    if len(columns) < 2:
        return False
    by_column: list[list[Words]] = [[] for _ in columns]
    for cell in (cell for row in cells for cell in row):
        by_column[_find_place(cell, columns)[0]].append(cell)
    short = any(sum(len(w.text) for w in found) < _LONG_CELL * len(found) for found in by_column)
    return short and all(_stand_in_line(found, size) for found in by_column)


def _stand_in_line(cells: Sequence[Words], size: float) -> bool:
    """Whether nearly all the cells of a column begin, end or are centred at the same place."""
    edges = ([c.left for c in cells], [c.right for c in cells], [(c.left + c.right) / 2 for c in cells])
    return any(
        sum(abs(x - sorted(places)[len(places) // 2]) < _ALIGNED * size for x in places)
        >= _MOST_ALIGNED * len(places)
        for places in edges
    )


def _is_monospaced(line: PdfLine) -> bool:
    widths = [(s.right - s.left) / len(s.text) for s in line.segments if len(s.text) > 1]
    return len(widths) > 1 and max(widths) - min(widths) < 0.03 * max(widths)


def _divide(line: PdfLine) -> list[Words]:
    """Return the words of a line that gaps divide, signs with their figures and bullets with their items."""
    made: list[Words] = []
    for segment in map(tighten, _part_signs(line.segments) or (_take_whole(line),)):
        before = made[-1].segments[-1].text if made else ""
        sign = belongs(before, segment.text)
        bullet = len(made) == 1 and _BULLET.fullmatch(before) and ITEM.match(f"{before} ")
        if made and (sign or bullet):
            made[-1] = Words((*made[-1].segments, segment))
        else:
            made.append(Words((segment,)))
    return made


def _part_signs(segments: Sequence[Segment]) -> list[Segment]:
    """Part a sign of currency from the figure before it: it belongs to the next one."""
    made: list[Segment] = []
    for segment in segments:
        text = segment.text
        if segment is not segments[-1] and text[-2:-1] == " " and text[-1] in PREFIX and len(text) > 2:
            edge = segment.right - 1.5 * (segment.right - segment.left) / len(text)
            made.append(Segment(text[:-2], segment.left, edge, segment.first, segment.length - 2))
            made.append(Segment(text[-1], edge, segment.right, segment.first + segment.length - 1, 1))
        else:
            made.append(segment)
    return made


def _take_whole(line: PdfLine) -> Segment:
    text = shorten_leaders(line.text) + "-" * line.hyphen
    return Segment(text, line.left, line.right, line.first, line.length)


def _find_columns(rows: Sequence[Sequence[Words]], size: float) -> list[tuple[float, float]]:
    """Return the left and right edges of the columns: what lies between the gutters of the rows."""
    figured = [row for row in rows if any(is_figure(segment.text) for segment in row[1:])]
    used = figured if len(figured) > 1 else [row for row in rows if len(row) > 1]
    strict = _merge_overlaps(used, size, crossing=0)
    # A long label or two may reach into the next column.
    lenient = _merge_overlaps(used, size, crossing=len(used) // 10)
    return lenient if len(lenient) > len(strict) else strict


def _merge_overlaps(
    rows: Sequence[Sequence[Words]], size: float, *, crossing: int
) -> list[tuple[float, float]]:
    """Return the strips that more than `crossing` rows have words in."""
    edges = sorted(
        [(s.left, 1) for row in rows for s in row] + [(s.right, -1) for row in rows for s in row],
    )
    columns: list[tuple[float, float]] = []
    depth, begun = 0, 0.0
    for x, step in edges:
        before, depth = depth, depth + step
        if before <= crossing < depth:
            begun = x
        elif depth <= crossing < before:
            if columns and begun - columns[-1][1] < _GUTTER * size:
                begun = columns.pop()[0]
            columns.append((begun, x))
    return columns


def _find_place(segment: Words, columns: Sequence[tuple[float, float]]) -> tuple[int, int]:
    """Return the column of a segment and how many columns it spans."""
    width = max(segment.right - segment.left, 0.1)
    over = [
        number
        for number, (left, right) in enumerate(columns)
        if min(right, segment.right) - max(left, segment.left) > 0.3 * min(width, right - left)
    ]
    if over:
        return over[0], over[-1] - over[0] + 1
    middle = (segment.left + segment.right) / 2
    nearest = min(range(len(columns)), key=lambda n: abs(sum(columns[n]) / 2 - middle))
    return nearest, 1


def _build_table(lines: Sequence[PdfLine], least: int, first: int, last: int) -> PdfTable:
    """Build the table whose rows are the lines [first, last). Its headings come after line `least`."""
    rows = [_divide(line) for line in lines[first:last]]
    columns = _find_columns(rows, max(line.size for line in lines[first:last]))
    if len(columns) < 2:
        return PdfTable(first, last, (), tuple(_join_labels(lines[first:last])), 1)
    top = _find_headings(lines, least, first, columns)
    start = _find_caption(lines, least, top, columns)
    figured = any(is_figure(words.text) for row in rows for words in row[1:])
    made = _RowBuilder(columns, first - top, figured=figured)
    for line in lines[top:last]:
        made.add(line)
    caption = tuple(map(_take_whole, lines[start:top]))
    return PdfTable(start, last, caption, tuple(made.finish()), len(columns))


def _join_labels(lines: Sequence[PdfLine]) -> Iterator[Row]:
    """Yield the rows of a table without columns. A label that runs on is joined to its row."""
    parts: list[Segment] = []
    for number, line in enumerate(lines):
        if number and not runs_on(lines[number - 1], line):
            yield Row((Cell(0, Words(tuple(parts))),))
            parts = []
        parts.append(_take_whole(line))
    yield Row((Cell(0, Words(tuple(parts))),))


def runs_on(a: PdfLine, b: PdfLine) -> bool:
    """Whether a label goes on in the next line."""
    below = a.page == b.page and b.y < a.y
    return a.hyphen or (not count_figures(a.text) and b.text[:1].islower() and below)


def _find_headings(
    lines: Sequence[PdfLine], least: int, first: int, columns: Sequence[tuple[float, float]]
) -> int:
    """Return the first line that heads the columns. A few labels may stand between headings and rows."""
    for below in range(first, max(least, first - _MOST_BETWEEN - 1) - 1, -1):
        start = _climb_headings(lines, least, below, columns)
        if start < below:
            return start
        if below and (len(lines[below - 1].text) > _LONGEST_HEADING or lines[below - 1].text.endswith(".")):
            break
    return first


def _climb_headings(
    lines: Sequence[PdfLine], least: int, first: int, columns: Sequence[tuple[float, float]]
) -> int:
    start = first
    high = lines[first].y
    foot = high - 0.3 * lines[first].size
    while start > max(least, first - _MOST_HEADINGS):
        line = lines[start - 1]
        near = foot < line.y < high + _NEAR * max(line.size, lines[first].size)
        if not near or not _is_heading(line, columns, high):
            break
        start -= 1
        high = max(high, line.y)
    return start


def _is_heading(line: PdfLine, columns: Sequence[tuple[float, float]], high: float) -> bool:
    segments = _divide(line)
    if len(line.text) > _LONGEST_HEADING * len(segments) or _ends_sentence(segments[-1].text):
        return False
    after = (columns[0][1] + columns[1][0]) / 2
    middle = (line.left + line.right) / 2
    if len(segments) == 1 and middle < after:
        # The heading of the first column is beside the others, or it is a caption.
        return line.y <= high and segments[0].right <= after
    noted = line.text.startswith("(") and line.text.endswith(")")
    if len(segments) == 1 and (noted or line.left < columns[1][0] - 3.5 * line.size):
        # What is in the middle of the table is its title, or a note on all of it.
        return abs(middle - (columns[0][0] + columns[-1][1]) / 2) > 2 * line.size
    return segments[-1].left >= min(columns[1][0], columns[0][1] - line.size) - line.size


def _ends_sentence(text: str) -> bool:
    """Whether a stop ends a text. That of `U.S.` belongs to the abbreviation."""
    return text.endswith((".", ":", ";")) and _INITIALS.search(text) is None


def _find_caption(
    lines: Sequence[PdfLine], least: int, top: int, columns: Sequence[tuple[float, float]]
) -> int:
    """Return the first of the short lines above the headings that name the table."""
    start = top
    while start > max(least, top - _MOST_CAPTION):
        line, below = lines[start - 1], lines[start]
        step = line.y - below.y
        if line.page != below.page or not 0 < step < _NEAR * max(line.size, below.size) + below.size:
            break
        if len(line.text) > _LONGEST_CAPTION or line.text.endswith((".", ";", ",")) or line.hyphen:
            break
        centred = line.left > columns[0][0] + 2 * line.size and line.right < columns[-1][1] - 2 * line.size
        above = lines[start - 2] if start - 1 > least else None
        alone = above is None or above.page != line.page or not 0 < above.y - line.y < 1.5 * line.size
        if not (line.bold or centred or alone):
            break
        start -= 1
    return start


class _RowBuilder:
    """Puts the lines of a table into rows, in the order in which they are drawn.

    A file may draw a row at a time, or one cell after the other: then the words go back up for the next cell.
    """

    def __init__(self, columns: Sequence[tuple[float, float]], headings: int, *, figured: bool) -> None:
        """The first `headings` lines head the columns; where there are figures, all lines before them do."""
        self._columns, self._headings, self._awaits_figures = columns, headings, figured
        self._rows: list[list[Cell]] = []
        self._before: PdfLine | None = None
        self._heights: list[float] = []

    def add(self, line: PdfLine) -> None:
        cells = self._place(_divide(line))
        before, self._before = self._before, line
        heads = self._heads_columns(line)
        if _has_figures(cells) and not heads:
            self._awaits_figures = False
        bold = before is not None and before.bold and line.bold
        heading = heads or self._awaits_figures or bold
        if before is not None:
            row, em = self._rows[-1], max(before.size, line.size)
            step, last = before.y - line.y, row[-1]
            within = (cells[0].column, cells[0].columns) == (last.column, last.columns)
            goes_on = (heading and last.column > 0) or (len(cells) == 1 and runs_on(before, line))
            if within and 0 < step < 1.7 * em and goes_on:
                row[-1:] = [_extend(last, cells[0].words, last.columns), *cells[1:]]
                return
            if step < 0.4 * em and cells[0].column >= last.column + last.columns:
                row += cells
                return
            label = len(row) == 1 and last.column == 0 and cells[0].column == 0
            if label and step > 0 and runs_on(before, line):
                row[:] = [_extend(last, cells[0].words, cells[0].columns), *cells[1:]]
                return
        self._rows.append(cells)

    def _heads_columns(self, line: PdfLine) -> bool:
        """Whether a line is one of the headings, or stands at the height of one: it ends the last of them."""
        if len(self._heights) >= self._headings and not any(
            abs(height - line.y) < _LEVEL * line.size for height in self._heights
        ):
            return False
        self._heights.append(line.y)
        return True

    def _place(self, words: Iterable[Words]) -> list[Cell]:
        cells: list[Cell] = []
        for one in words:
            column, spans = _find_place(one, self._columns)
            if cells and column < cells[-1].column + cells[-1].columns:
                end = max(cells[-1].column + cells[-1].columns, column + spans)
                cells[-1] = _extend(cells[-1], one, end - cells[-1].column)
            else:
                cells.append(Cell(column, one, spans))
        return cells

    @staticmethod
    def _is_label(row: Sequence[Cell]) -> bool:
        return len(row) == 1 and row[0].column == 0

    def finish(self) -> Iterator[Row]:
        """Yield the rows. Those above the first row of figures are headings."""
        body = next((n for n, row in enumerate(self._rows) if _has_figures(row)), None)
        if body is None:
            body = 1 if len(self._rows) > 2 else 0
        while body and self._is_label(self._rows[body - 1]):
            body -= 1
        above: list[Cell] = []
        for number, row in enumerate(self._rows):
            above = widen_headings(row, self._columns, above) if number + 1 < body else row
            yield Row(tuple(above), header=number < body)


def _extend(cell: Cell, words: Words, columns: int) -> Cell:
    return Cell(cell.column, Words((*cell.words.segments, *words.segments)), columns)


def _has_figures(row: Sequence[Cell]) -> bool:
    return any(cell.column > 0 and is_figure(cell.text) for cell in row)
