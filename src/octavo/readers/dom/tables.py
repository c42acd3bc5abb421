"""Tables: data read row by row, one line a row with cells parted by ` | `; layout read as prose.

A table is data when it has header cells or a caption, or when it has rows and columns of short cells.
Anything else was a table only to put text in its place.
"""

from __future__ import annotations

from selectolax.lexbor import LexborNode

from octavo.readers.dom.inline import plain

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


def table_text(table: LexborNode) -> str:
    """The caption, then one line for each row that says anything."""
    lines = [plain(caption) for caption in table.css("caption")]
    for row in table.css("tr"):
        cells = [plain(cell) for cell in row.css("td, th")]
        if any(cells):
            lines.append(" | ".join(cells).strip())
    return "\n".join(line for line in lines if line)
