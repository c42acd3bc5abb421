"""The caption and the column headings of a section's tables, for chunks that are a later part of one.

A long table becomes several chunks, and only the first has the headings. The others are found, and read by
the models, with the head of their table above them. A caption that is printed below the table stands in none
of its rows, so all of them have it.

A line that fits into no column breaks a printed table in two. The second part has no headings of its own, so
it has those of the first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from octavo.types import Element, ElementKind, Section

# About 60 word pieces of English.
HEAD_BYTES = 240
# What tables are called in captions. After other words, a number is followed by a mark: "Exhibit 4: Sales".
_TABLE = (
    "table|tab|tbl|tabelle|tableau|tabla|tabela|tabella|tabel|tabell|tabulka|taulukko|tablo|táblázat|bảng"
    "|таблица|табл|таблиця|πίνακας|جدول|טבלה|表格|表|표|ตาราง"
)
# "Table 5.2: Address ranges".
_NUMBERED = re.compile(
    rf"\s*((?P<label>(?P<table>{_TABLE})(?=\.?\s?\d)|[^\W\d_]+(?=\.? ))\.?\s?\d+(?:[.-]\d+)*"
    r"(?:(?P<mark>\s?[:.–—]\s|\s?：\s*)|\s)(?P<title>[^\n]{3,140}))(?:\n|$)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?…。！？؟۔।][\"'”’»)\]]*\s*$")
# No line with a caption is longer.
_LONGEST_LINE = 300
# What breaks a table is no longer than this. Its next part has as many columns, on the same page.
_LONGEST_BREAK = 400


@dataclass(frozen=True, slots=True)
class TableHead:
    """The words above a table's rows. The rows are the characters [start, end) of the section.

    `below` says that the caption is printed below the table, so that the first rows do not have it either.
    """

    text: str
    start: int
    end: int
    below: bool = False


def find_table_heads(section: Section) -> list[TableHead]:
    """Return the head of each table that has one, in the order of the text."""
    heads: list[TableHead] = []
    markup = section.markup
    last: _Broken | None = None
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
        texts = [" ".join(section.text[e.start : e.end].split()) for e in above if e.end > e.start]
        below = _find_caption_below(section.text, table, texts)
        columns = _count_columns(markup[first:i])
        if below:
            text = _shorten(" · ".join((below, *texts)))
            heads.append(TableHead(text, table.start, table.end, below=True))
        elif texts:
            heads.append(TableHead(_shorten(" · ".join(texts)), above[-1].end, table.end))
        elif last and last.goes_on(section, table, columns):
            heads.append(TableHead(last.head, table.start, table.end))
        else:
            last = None
            continue
        last = _Broken(heads[-1].text, table.end, columns)
    return heads


@dataclass(frozen=True, slots=True)
class _Broken:
    """A table that may go on in the next one: its head, where it ends, and how many columns it has."""

    head: str
    end: int
    columns: int

    def goes_on(self, section: Section, table: Element, columns: int) -> bool:
        near = table.start - self.end <= _LONGEST_BREAK
        return near and columns == self.columns and _is_one_page(section, self.end - 1, table.start)


def _is_one_page(section: Section, first: int, last: int) -> bool:
    page = section.page_at(first)
    return page is not None and page == section.page_at(last)


def _count_columns(inside: Sequence[Element]) -> int:
    most = cells = 0
    for element in inside:
        cells = 0 if element.kind is ElementKind.ROW else cells + (element.kind is ElementKind.CELL)
        most = max(most, cells)
    return most


def _find_caption_below(text: str, table: Element, above: Sequence[str]) -> str:
    """Return the line after a table if it names it by a number, and nothing above the table does."""
    found = _read_caption(text, table.end)
    if found is None or any(_NUMBERED.match(line) for line in above):
        return ""
    # What is numbered in the same way above the table is a caption above: then this is the next table's.
    before = _read_caption(_find_line_before(text, table.start), 0)
    return "" if before and before["label"] == found["label"] else " ".join(found[1].split())


def _read_caption(text: str, start: int) -> re.Match[str] | None:
    """Read the line at `start` as a caption; None for prose ("In 1990 the mill …", "Table 3 shows …")."""
    found = _NUMBERED.match(text, start)
    if found is None:
        return None
    sentence = _SENTENCE_END.search(found["title"]) is not None
    if found["mark"]:
        return found if found["table"] or not sentence else None
    return found if found["table"] and not sentence and not found["title"][0].islower() else None


def _find_line_before(text: str, end: int) -> str:
    """Return the last line with words before `end`, or "" if it is too long for a caption."""
    while end and text[end - 1].isspace():
        end -= 1
    least = max(0, end - _LONGEST_LINE)
    start = text.rfind("\n", least, end) + 1
    return text[start:end] if start or not least else ""


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


def find_head_above(heads: Sequence[TableHead], start: int, end: int) -> str:
    """Return the head of the table in whose rows the chunk [start, end) begins; "" if it begins elsewhere.

    A head with the caption from below also goes to a chunk that only ends in the table.
    """
    return next(
        (h.text for h in heads if start < h.end and (h.start <= start or (h.below and h.start < end))), ""
    )
