"""The cells of a PDF's tables: what words belong to a cell, what is a figure, and how a table is written.

Signs of currency and per cent belong to the figure beside them. Years and dates are no figures: they head
columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from octavo.readers.parts import Part
from octavo.types import ElementKind

if TYPE_CHECKING:
    from octavo.readers.pdf.lines import Segment

PREFIX = frozenset(("$", "€", "£", "¥", "(", "US$", "-", "C$", "A$"))
_SUFFIX = frozenset(("%", ")", ")%", "%)", "x", "bps"))
_YEAR = re.compile(
    r"(?:[A-Z][a-z]{2,8} \d{1,2}, )?(?:19|20)\d\d(?:[/–-]\d\d(?:\d\d)?)?[A-Za-z*]?"
    r"|FY\s?\d\d(?:\d\d)?|Q[1-4](?:\s?\d{4})?"
)
_FIGURE = re.compile(r"[-–—(+<>~$€£¥]*\s?\(?(?:\d[\d,.]*|[—–-]|\.\d+)[\s%)x*]*")
_UNIT = re.compile(r"\s[A-Za-z.]{1,8}$")
_BROKEN = re.compile(r"[^\W\d_]-$")


class Words(NamedTuple):
    """Segments that belong to one cell."""

    segments: tuple[Segment, ...]

    @property
    def left(self) -> float:
        """Where the words begin. A sign of currency may stand far before its figure, and does not count."""
        return next((s.left for s in self.segments if s.text not in PREFIX), self.segments[0].left)

    @property
    def right(self) -> float:
        return next((s.right for s in self.segments[::-1] if s.text not in _SUFFIX), self.segments[-1].right)

    @property
    def text(self) -> str:
        return "".join(f"{glue}{segment.text}" for glue, segment in glue_segments(self.segments))


class Cell(NamedTuple):
    """Words in a column. `columns` is how many columns they span."""

    column: int
    words: Words
    columns: int = 1

    @property
    def text(self) -> str:
        return self.words.text


class Row(NamedTuple):
    cells: tuple[Cell, ...]
    header: bool = False


class PdfTable(NamedTuple):
    """The lines [start, end) of a text, as a caption and rows. `width` is the number of columns."""

    start: int
    end: int
    caption: tuple[Segment, ...]
    rows: tuple[Row, ...]
    width: int


def glue_segments(segments: Sequence[Segment]) -> Iterator[tuple[str, Segment]]:
    """Yield each segment after what stands before it: a blank, or nothing between a sign and its figure."""
    before = ""
    for segment in segments:
        joined = not before or belongs(before, segment.text) or _BROKEN.search(before)
        yield "" if joined else " ", segment
        before = segment.text


def belongs(before: str, text: str) -> bool:
    """Whether one of two neighbours is a sign that belongs to the figure beside it."""
    if before in PREFIX:
        return _FIGURE.fullmatch(text) is not None
    return text in _SUFFIX and before[-1:] in "0123456789)—–-#" and before != ""


def is_figure(text: str) -> bool:
    bare = _UNIT.sub("", text)
    return _FIGURE.fullmatch(bare) is not None and not _YEAR.fullmatch(text)


def is_year(text: str) -> bool:
    """Whether a text is a year, a date or a quarter."""
    return _YEAR.fullmatch(text) is not None


def tighten(segment: Segment) -> Segment:
    """Take the blank out between a figure and its sign."""
    if _FIGURE.fullmatch(segment.text) and " " in segment.text:
        return segment._replace(text=segment.text.replace(" ", ""))
    return segment


class TableText(NamedTuple):
    """A table as text, what each part of it is, and the offset of each segment."""

    text: str
    markup: tuple[Part, ...]
    segments: tuple[tuple[int, Segment], ...]


def write_table(table: PdfTable, start: int) -> TableText:
    """Write a table that begins at `start` in a text: its caption, then a line for each row.

    ` | ` stands between cells, and an empty cell is kept where another follows, so that every figure stays
    in its column.
    """
    written = _TableWriter(start)
    for line in table.caption:
        written.add_caption(line)
    for row in table.rows:
        written.add_row(row)
    return written.finish()


class _TableWriter:
    """Collects the text of a table, line after line."""

    def __init__(self, start: int) -> None:
        self._start = self._at = start
        self._made: list[str] = []
        self._markup: list[Part] = []
        self._segments: list[tuple[int, Segment]] = []

    def add_caption(self, line: Segment) -> None:
        self._start_line()
        self._markup.append(Part(ElementKind.CAPTION, self._at, self._at + len(line.text), 1))
        self._write_words((line,))

    def add_row(self, row: Row) -> None:
        self._start_line()
        start, place, column = self._at, len(self._markup), 0
        for cell in row.cells:
            for number in range(cell.column - column + (column > 0)):
                if column == 0 or number:
                    self._markup.append(Part(ElementKind.CELL, self._at, self._at, 2))
                opens = self._at == start or self._made[-1].endswith(" ")
                self._write("| " if opens else " | ")
            attributes = {"header": 1} if row.header else {}
            attributes |= {"columns": cell.columns} if cell.columns > 1 else {}
            at = self._at
            self._write_words(cell.words.segments)
            self._markup.append(Part(ElementKind.CELL, at, self._at, 2, attributes))
            column = cell.column + cell.columns
            if cell is not row.cells[-1]:
                self._write(" |" * (cell.columns - 1))
        self._markup.insert(place, Part(ElementKind.ROW, start, self._at, 1))

    def finish(self) -> TableText:
        whole = Part(ElementKind.TABLE, self._start, self._at)
        return TableText("".join(self._made), (whole, *self._markup), tuple(self._segments))

    def _start_line(self) -> None:
        self._write("\n" if self._made else "")

    def _write_words(self, segments: Sequence[Segment]) -> None:
        for glue, segment in glue_segments(segments):
            self._write(glue)
            self._segments.append((self._at, segment))
            self._write(segment.text)

    def _write(self, text: str) -> None:
        self._made.append(text)
        self._at += len(text)
