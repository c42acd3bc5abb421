"""Text within lines, and tables.

While a paragraph is collected, line breaks and page breaks are two characters that no text may contain.
`finish_paragraphs` turns such a raw run into lines with white space as a browser shows it, and returns the
offset of each page break in them.

A table is data when it has header cells or a caption, or rows and columns of short cells: it becomes one line
a row, with cells separated by ` | `. Any other table only arranges text, and is read as prose.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborNode

from octavo.readers.html.tags import split_names
from octavo.readers.parts import MarkedRuns, Part
from octavo.text.clean import clean
from octavo.types import ElementKind

if TYPE_CHECKING:
    from octavo.types.markup import Attribute

LINE, BREAK = "\ufdd0", "\ufdd1"
_OURS = re.compile("[\ufdd0\ufdd1]")
_PARAGRAPHS = re.compile(rf"(?:\s*{LINE}\s*){{2,}}")
_AROUND_LINE = re.compile(rf"\s*{LINE}\s*")
_PAGE_NUMBER = re.compile(r"\W*(?:(?:pg|p|page|seite)\b\.?)?\s*(\d{1,5}|[ivxlcdm]{1,9})\W*", re.IGNORECASE)
_PAGE_CLASSES = frozenset(("pagenum", "pageno", "page-number", "pagebreak", "pb", "page_number"))
_NUMBER = re.compile(r"[-+−–]?\d+$")
_MATH_SIGNS = {
    "mfrac": "/",
    "msup": "^",
    "msub": "_",
    "msubsup": "_^",
    "munderover": "_^",
    "munder": "_",
}
_UNSEEN = frozenset(("script", "style", "annotation", "annotation-xml", "rp", "template", "noscript", "svg"))
_BREAKS = re.compile(BREAK)
_EDGE = re.compile(rf"^[ {BREAK}]+|[ {BREAK}]+$")
_SILENT = re.compile(rf"^({BREAK}+)\n|\n({BREAK}+)\Z", re.MULTILINE)
# DocBook draws these boxes as tables: a sign, a title and the text.
_BOXES = frozenset(("note", "tip", "warning", "caution", "important"))
_HIGHLIGHT = frozenset(("highlighttable", "rouge-table", "hljs-ln"))


def read_text_node(node: LexborNode) -> str:
    """Return the text of a text node, without the characters that mean breaks here."""
    text = node.text_content or ""
    return text if text.isascii() else _OURS.sub("", text)


def finish_paragraphs(raw: str) -> list[tuple[str, tuple[int, ...]]]:
    """Return the paragraphs of a raw run, each with the offsets of its page breaks."""
    if not raw or raw.isspace():
        return []
    return [_finish_paragraph(part) for part in _PARAGRAPHS.split(clean(raw))]


def _finish_paragraph(raw: str) -> tuple[str, tuple[int, ...]]:
    raw = raw.strip().strip(LINE)
    if BREAK not in raw:
        return "\n".join(" ".join(line.split()) for line in _AROUND_LINE.split(raw)).strip(), ()
    text, offsets = "", []
    for number, part in enumerate(raw.split(BREAK)):
        if number:
            offsets.append(len(text))
        shown = "\n".join(_collapse_blanks(line) for line in _AROUND_LINE.split(part))
        text += shown.lstrip() if not text or text[-1].isspace() else shown
    text = text.rstrip()
    return text, tuple(min(o, len(text)) for o in offsets)


def _collapse_blanks(line: str) -> str:
    words = " ".join(line.split())
    if not words:
        return " " if line else ""
    return f"{' ' if line[0].isspace() else ''}{words}{' ' if line[-1].isspace() else ''}"


def read_line(node: LexborNode) -> str:
    """Return all the text of an element on one line, as for a table's cell or a formula."""
    parts: list[str] = []
    top, here = node, node.first_child
    while here is not None:
        tag = here.tag or ""
        if tag == "-text":
            parts.append(read_text_node(here))
        elif tag in ("br", "p", "div", "li", "tr", "td", "dd", "dt", "pre"):
            parts.append(" ")
        elif tag == "img":
            parts.append(read_alt_text(here))
        if here.first_child is not None and tag not in _UNSEEN:
            here = here.first_child
            continue
        while here is not None and here.next is None:
            here = here.parent
            if here is None or here.mem_id == top.mem_id:
                return " ".join(clean("".join(parts)).split())
        here = here.next if here is not None else None
    return " ".join(clean("".join(parts)).split())


def read_alt_text(node: LexborNode) -> str:
    """Return a picture's alternative text if it has four words or more and is not a file name."""
    alt = " ".join((node.attributes.get("alt") or "").split())
    if _is_captioned(node):
        return ""
    if len(alt.split()) < 4 or PurePosixPath(alt).suffix.lower() in (".png", ".jpg", ".jpeg", ".gif", ".svg"):
        return ""
    return alt


def _is_captioned(node: LexborNode) -> bool:
    """Whether a figure's own caption already says what the picture shows."""
    here = node.parent
    for _ in range(4):
        if here is None or here.tag == "figure":
            break
        here = here.parent
    return here is not None and here.tag == "figure" and here.css_first("figcaption") is not None


def mark_superscript(node: LexborNode, before: str) -> tuple[str, str]:
    """Return what to write around a superscript, so that 10⁹ is not 109 and a note's number stays apart."""
    parent = node.parent
    if parent is not None and parent.tag == "sup":
        return "", ""
    text = read_line(node)
    linked = node.css_first("a[href]") is not None or (parent is not None and parent.tag == "a")
    if linked and text.isalnum():
        return "[", "]"
    if before[-1:].isalnum() and _NUMBER.match(text):
        return "^", ""
    return "", ""


def is_note_mark(node: LexborNode, attributes: Mapping[str, str | None]) -> bool:
    """Whether a link to a note is only a number or letter, which would stick to the word before it."""
    kinds = " ".join(attributes.get(key) or "" for key in ("class", "epub:type", "role"))
    if not any(kind in kinds for kind in ("footnote-reference", "noteref", "footnote-ref")):
        return False
    text = node.text(deep=True).strip()
    return text.isalnum() and len(text) < 5 and node.css_first("sup") is None and not _is_in_superscript(node)


def _is_in_superscript(node: LexborNode) -> bool:
    return node.parent is not None and node.parent.tag == "sup"


def read_page_number(node: LexborNode, attributes: Mapping[str, str | None]) -> str:
    """Return the page number that old transcriptions print in the margin; empty if there is none."""
    if not _PAGE_CLASSES & set((attributes.get("class") or "").lower().split()):
        return ""
    found = _PAGE_NUMBER.fullmatch(read_line(node)) if len(node.text(deep=True)) < 40 else None
    return found.group(1) if found else ""


def write_math(node: LexborNode) -> str:
    """Return a formula as its author wrote it out, or its symbols in a row with powers and fractions."""
    written = node.attributes.get("alttext")
    if written:
        return written
    for tag, signs in _MATH_SIGNS.items():
        for inner in node.css(tag):
            parts = [part for part in inner.iter() if (part.tag or "-")[0] not in "-!"]
            for part, sign in zip(parts[1:], signs, strict=False):
                part.insert_before(sign)
    return read_line(node)


def is_layout_table(table: LexborNode) -> bool:
    attributes = table.attributes
    if (attributes.get("role") or "") in ("presentation", "none"):
        return True
    if _HIGHLIGHT & split_names(attributes.get("class") or ""):
        return True
    if table.parent is not None and _BOXES & split_names(table.parent.attributes.get("class") or ""):
        return True
    if table.css_first("table table, h1, h2, h3, h4") is not None or _has_inner_table(table):
        return True
    if table.css_first("th, caption, thead") is not None:
        return False
    rows = [r.css("td") for r in table.css("tr")]
    if len(rows) < 2 or max((len(r) for r in rows), default=0) < 2 or table.css_first("pre") is not None:
        return True
    lengths = [len(c.text(deep=True)) for r in rows for c in r]
    return sum(lengths) > 300 * len(lengths)


def _has_inner_table(table: LexborNode) -> bool:
    return any(t.mem_id != table.mem_id for t in table.css("table"))


@dataclass(frozen=True, slots=True)
class _Cell:
    """The words of a cell, their markup and, unless the cell is repeated from above, its attributes."""

    words: str
    parts: Sequence[Part] = ()
    attributes: Mapping[str, Attribute] | None = None

    @property
    def bare(self) -> str:
        return _BREAKS.sub("", self.words)


Read = Callable[[LexborNode], tuple[str, Sequence[Part]]]
"""Reads a cell: its words with the break signs, and the markup of the words without them."""


def write_table(table: LexborNode, read: Read) -> tuple[str, list[Part]]:
    """Return the caption, then a line for each row that says anything, and the markup without break signs."""
    runs = MarkedRuns()
    runs.open(ElementKind.TABLE)
    lines: list[str] = []
    for caption in table.css("caption"):
        words, parts = read(caption)
        lines.append(words)
        runs.open(ElementKind.CAPTION)
        runs.add(_BREAKS.sub("", words), parts)
        runs.close()
    spanning: dict[int, tuple[int, str]] = {}
    for row in table.css("tr"):
        cells = _read_row(row, spanning, read)
        has_text = any(cell.bare for cell in cells)
        words = (" | " if has_text else "").join(cell.words for cell in cells)
        lines.append(_EDGE.sub(_drop_blanks, words) if has_text else words)
        if has_text or any(cell.parts for cell in cells):
            _mark_row(runs, cells, has_text=has_text)
    runs.close()
    text = _SILENT.sub(r"\1\2", "\n".join(line for line in lines if line))
    return text, runs.place([_BREAKS.sub("", text)])[0]


def _mark_row(runs: MarkedRuns, cells: Sequence[_Cell], *, has_text: bool) -> None:
    runs.open(ElementKind.ROW)
    for number, cell in enumerate(cells):
        if number and has_text:
            runs.runs.append("|")
        if cell.attributes is None:
            runs.runs.append(cell.bare)
            continue
        runs.open(ElementKind.CELL, cell.attributes)
        runs.add(cell.bare, cell.parts)
        runs.close()
    runs.close()


def _drop_blanks(edge: re.Match[str]) -> str:
    return edge.group().replace(" ", "")


def _read_row(row: LexborNode, spanning: dict[int, tuple[int, str]], read: Read) -> list[_Cell]:
    """Read a row's cells; a cell that spans several rows is repeated in each, so that every line is whole."""
    cells: list[_Cell] = []
    column = 0
    own = row.css("td, th")
    for node in own:
        column = _repeat_spanning_cells(spanning, column, cells)
        words, parts = read(node)
        rows, columns = _read_span(node, "rowspan"), _read_span(node, "colspan")
        spans = {"header": int(node.tag == "th"), "columns": columns if columns > 1 else 0}
        spans["rows"] = rows if rows > 1 else 0
        cell = _Cell(words, parts, {name: value for name, value in spans.items() if value})
        cells.append(cell)
        if rows > 1:
            spanning[column] = (rows - 1, cell.bare)
        column += columns
    if own:
        _repeat_spanning_cells(spanning, column, cells)
    return cells


def _repeat_spanning_cells(spanning: dict[int, tuple[int, str]], column: int, cells: list[_Cell]) -> int:
    """Fill the columns that cells from above still span, and return the next free one."""
    while column in spanning:
        rows, words = spanning.pop(column)
        cells.append(_Cell(words))
        if rows > 1:
            spanning[column] = (rows - 1, words)
        column += 1
    return column


def _read_span(cell: LexborNode, name: str) -> int:
    value = cell.attributes.get(name) or "1"
    return int(value) if value.isascii() and value.isdigit() and len(value) < 6 else 1
