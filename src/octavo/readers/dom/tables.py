"""Tables: data read row by row, one line a row with cells parted by ` | `; layout read as prose.

A table is data when it has header cells or a caption, or when it has rows and columns of short cells.
Anything else was a table only to put text in its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from selectolax.lexbor import LexborNode

from octavo.readers.dom.inline import BREAK

_BREAKS = re.compile(BREAK)
_EDGE = re.compile(rf"^[ {BREAK}]+|[ {BREAK}]+$")
_SILENT = re.compile(rf"^({BREAK}+)\n|\n({BREAK}+)\Z", re.MULTILINE)
_HIGHLIGHT = frozenset(("highlighttable", "rouge-table", "hljs-ln"))


def is_layout(table: LexborNode) -> bool:
    attributes = table.attributes
    if (attributes.get("role") or "") in ("presentation", "none"):
        return True
    if _HIGHLIGHT & set((attributes.get("class") or "").split()):
        return True
    if table.css_first("table table, h1, h2, h3, h4") is not None or _nested(table):
        return True
    if table.css_first("th, caption, thead") is not None:
        return False
    rows = [r.css("td") for r in table.css("tr")]
    if len(rows) < 2 or max((len(r) for r in rows), default=0) < 2 or table.css_first("pre") is not None:
        return True
    lengths = [len(c.text(deep=True)) for r in rows for c in r]
    return sum(lengths) > 300 * len(lengths)


def _nested(table: LexborNode) -> bool:
    return any(t.mem_id != table.mem_id for t in table.css("table"))


def table_text(table: LexborNode, read: Callable[[LexborNode], str]) -> str:
    """The caption, then one line for each row that says anything; `read` gives a cell's words."""
    lines = [read(caption) for caption in table.css("caption")]
    spanning: dict[int, tuple[int, str]] = {}
    for row in table.css("tr"):
        cells = _row(row, spanning, read)
        said = any(_BREAKS.sub("", cell) for cell in cells)
        lines.append(_EDGE.sub(_only_breaks, " | ".join(cells)) if said else "".join(cells))
    return _SILENT.sub(r"\1\2", "\n".join(line for line in lines if line))


def _only_breaks(edge: re.Match[str]) -> str:
    return edge.group().replace(" ", "")


def _row(
    row: LexborNode, spanning: dict[int, tuple[int, str]], read: Callable[[LexborNode], str]
) -> list[str]:
    """A row's cells; one that spans several rows is said again in each, so that every line is whole."""
    cells: list[str] = []
    column = 0
    own = row.css("td, th")
    for cell in own:
        column = _say_again(spanning, column, cells)
        words, rows = read(cell), _number(cell, "rowspan")
        cells.append(words)
        if rows > 1:
            spanning[column] = (rows - 1, _BREAKS.sub("", words))
        column += _number(cell, "colspan")
    if own:
        _say_again(spanning, column, cells)
    return cells


def _say_again(spanning: dict[int, tuple[int, str]], column: int, cells: list[str]) -> int:
    """Fills the columns that cells from above still span, and gives the next free one."""
    while column in spanning:
        rows, words = spanning.pop(column)
        cells.append(words)
        if rows > 1:
            spanning[column] = (rows - 1, words)
        column += 1
    return column


def _number(cell: LexborNode, name: str) -> int:
    given = cell.attributes.get(name) or "1"
    return int(given) if given.isascii() and given.isdigit() and len(given) < 6 else 1
