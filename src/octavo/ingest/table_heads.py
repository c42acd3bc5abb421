"""The caption and the column headings of a section's tables, for chunks that are a later part of one.

A long table becomes several chunks, and only the first has the headings. The others are found, and read by
the models, with the head of their table above them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from octavo.types import Element, ElementKind, Section

# About 60 word pieces of English.
HEAD_BYTES = 240


@dataclass(frozen=True, slots=True)
class TableHead:
    """The words above a table's rows. The rows are the characters [start, end) of the section."""

    text: str
    start: int
    end: int


def find_table_heads(section: Section) -> list[TableHead]:
    """Return the head of each table that has one, in the order of the text."""
    heads: list[TableHead] = []
    markup = section.markup
    i = 0
    while i < len(markup):
        table = markup[i]
        i += 1
        if table.kind is not ElementKind.TABLE:
            continue
        first = i
        while i < len(markup) and markup[i].depth > table.depth:
            i += 1
        above = _find_head(markup[first:i])
        text = " · ".join(" ".join(section.text[e.start : e.end].split()) for e in above if e.end > e.start)
        if text:
            heads.append(TableHead(_shorten(text), above[-1].end, table.end))
    return heads


def _find_head(inside: Sequence[Element]) -> list[Element]:
    """Return the captions and those first rows in which every cell with words is a header."""
    captions = [element for element in inside if element.kind is ElementKind.CAPTION]
    rows: list[tuple[Element, list[Element]]] = []
    for element in inside:
        if element.kind is ElementKind.ROW:
            rows.append((element, []))
        elif element.kind is ElementKind.CELL and rows:
            rows[-1][1].append(element)
    head: list[Element] = []
    for row, cells in rows:
        if not all(cell.attributes.get("header") for cell in cells if cell.end > cell.start):
            break
        head.append(row)
    # A table of nothing but headers has no rows to put them above.
    return [*captions, *head] if len(head) < len(rows) else captions


def _shorten(text: str) -> str:
    """Keep the beginning and the end of a long head: what the table is, and the nearest column headings."""
    data = text.encode("utf-8", "replace")
    if len(data) <= HEAD_BYTES:
        return text
    half = HEAD_BYTES // 2
    start, end = data[:half].decode("utf-8", "ignore"), data[-half:].decode("utf-8", "ignore")
    return f"{start.rsplit(' ', 1)[0]} … {end.split(' ', 1)[-1]}"


def find_head_above(heads: Sequence[TableHead], start: int) -> str:
    """Return the head of the table in whose rows a chunk starts; "" if it starts elsewhere."""
    return next((head.text for head in heads if head.start <= start < head.end), "")
