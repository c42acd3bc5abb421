"""How many tables of a PDF come out with the right cells.

    python -m benchmarks.pdf_tables FOLDER… [--wrong]

`tests/readers/pdf/table_cells.tsv` has cells of 50 tables, read by hand from the printed pages: the label of
the row, words of the column's heading, and the value. A cell is right when the table on that page has the
value in the row with exactly that label, under headings with exactly those words. A table is right when all
its cells are. The PDFs are looked for under the folders: the reports of the development suite, and Debian's
package debian-reference-en.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from octavo.limits import Limits
from octavo.readers.parsed import ParsedBook, ParsedSection
from octavo.readers.pdf.reader import read_pdf
from octavo.types import ElementKind

CELLS = Path(__file__).parents[1] / "tests" / "readers" / "pdf" / "table_cells.tsv"


@dataclass(frozen=True, slots=True)
class Expected:
    table: int
    file: str
    page: int
    row: str
    heading: str
    value: str


@dataclass(slots=True)
class Table:
    """The rows of one table. A cell is its column, how many it spans, its words, and whether it heads."""

    rows: list[list[tuple[int, int, str, bool]]] = field(default_factory=list)

    def has(self, row: str, heading: str, value: str) -> bool:
        for cells in self.rows:
            if cells and cells[0][2] == row:
                for column, _, text, _ in cells[1:]:
                    if text == value and heading in self._find_heading(column):
                        return True
        return False

    def _find_heading(self, column: int) -> str:
        over = [t for row in self.rows for c, n, t, h in row if h and t and c <= column < c + n]
        return " ".join(over)


def load() -> list[Expected]:
    lines = CELLS.read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return [Expected(int(t), f, int(p), r, h, v) for t, f, p, r, h, v in rows]


def find_tables(book: ParsedBook) -> Iterator[tuple[int, Table]]:
    """Yield each table of a book with its page."""
    for section in book.sections:
        table: Table | None = None
        for element in section.markup:
            if element.kind is ElementKind.TABLE:
                table = Table()
                yield _find_page(section, element.start), table
            elif element.kind is ElementKind.ROW and table is not None:
                table.rows.append([])
            elif element.kind is ElementKind.CELL and table is not None:
                row = table.rows[-1]
                column = row[-1][0] + row[-1][1] if row else 0
                spans = int(element.attributes.get("columns", 1))
                text = section.text[element.start : element.end]
                row.append((column, spans, text, bool(element.attributes.get("header"))))


def _find_page(section: ParsedSection, offset: int) -> int:
    return max((mark.number for mark in section.pages if mark.offset <= offset), default=0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--wrong", action="store_true", help="print the cells that are wrong")
    given = parser.parse_args()
    right = cells_right = cells = tables = 0
    for name, group in groupby(load(), key=lambda cell: cell.file):
        path = next((found for folder in given.folders for found in folder.rglob(name)), None)
        if path is None:
            print(f"{name}: not found, its tables do not count")
            continue
        found = list(find_tables(read_pdf(path, Limits())))
        for _, wanted in groupby(group, key=lambda cell: cell.table):
            checked = [
                (cell, any(p == cell.page and t.has(cell.row, cell.heading, cell.value) for p, t in found))
                for cell in wanted
            ]
            tables, cells = tables + 1, cells + len(checked)
            right, cells_right = (
                right + all(ok for _, ok in checked),
                cells_right + sum(ok for _, ok in checked),
            )
            for cell, ok in checked if given.wrong else ():
                if not ok:
                    print(f"wrong: {cell.file} p. {cell.page}: {cell.row} / {cell.heading} = {cell.value}")
    print(f"{right} of {tables} tables right, {cells_right} of {cells} cells")


if __name__ == "__main__":
    main()
