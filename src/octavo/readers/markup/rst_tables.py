"""Tables of reStructuredText: grids drawn with `+---+`, and simple ones under rows of `===`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from octavo.readers.documents.book import write_element

_GRID = re.compile(r"\+(?:[-=]+\+)+$")
_SIMPLE = re.compile(r"=+(?: +=+)+$")
Rows = list[list[str]]


def is_grid(line: str) -> bool:
    return bool(_GRID.match(line))


def is_simple(line: str) -> bool:
    return bool(_SIMPLE.match(line))


def split_grid(lines: Sequence[str]) -> tuple[Rows, int]:
    """Return the cells of a grid, and how many rows are its head. A cell over two rows fills the first."""
    edges = sorted({n for line in lines if is_grid(line) for n, sign in enumerate(line) if sign == "+"})
    rows: Rows = []
    heads = 0
    block: list[str] = []
    for line in lines:
        if not line.startswith("+") and not _cuts_row(line):
            block.append(line)
            continue
        if block:
            rows.append(_read_cells(block, edges))
        block = [line] if not is_grid(line) and "|" in line else []
        if "=" in line and is_grid(line) and rows:
            heads = len(rows)
    return rows, heads


def _cuts_row(line: str) -> bool:
    """Whether a line ends a row, although a cell goes on through it."""
    return line.startswith("|") and bool(re.search(r"\+-+\+", line))


def _read_cells(block: Sequence[str], edges: Sequence[int]) -> list[str]:
    cells: list[str] = []
    start = 0
    for end in edges[1:]:
        # A cell that goes on over an edge has no bar there.
        if all(line[end : end + 1] in ("|", "+", "") for line in block):
            parts = (re.sub(r"^[-+]+|[-+]+$", "", line[start + 1 : end]).strip() for line in block)
            cells.append(" ".join(part for part in parts if part))
            start = end
    return cells


def split_simple(lines: Sequence[str], at: int) -> tuple[int, Rows, int]:
    """Return the line after a simple table, its cells, and how many rows are its head."""
    border = lines[at]
    spans = [(m.start(), m.end()) for m in re.finditer("=+", border)]
    marks = [n for n in range(at, len(lines)) if is_simple(lines[n]) or lines[n] == border]
    ends = [n for n in marks if n == len(lines) - 1 or not lines[n + 1]]
    last = next((n for n in ends if n > at), len(lines) - 1)
    rows: Rows = []
    heads = 0
    for number in range(at + 1, last):
        line = lines[number]
        if number in marks:
            heads = heads or len(rows)
        elif line and not re.fullmatch(r"-+(?: +-+)*", line):
            cells = [
                line[start : (spans[n + 1][0] if n + 1 < len(spans) else None)].strip()
                for n, (start, _) in enumerate(spans)
            ]
            if rows and not cells[0] and len(rows) > heads:
                rows[-1] = [" ".join(filter(None, pair)) for pair in zip(rows[-1], cells, strict=True)]
            else:
                rows.append(cells)
    return last + 1, rows, heads


def write_rows(rows: Rows, heads: int, write: Callable[[str], str]) -> str:
    """Write rows of cells as an HTML table."""
    written = []
    for number, row in enumerate(rows):
        tag = "th" if number < heads else "td"
        written.append(write_element("tr", "".join(f"<{tag}>{write(cell)}</{tag}>" for cell in row)))
    return write_element("table", "".join(written))
