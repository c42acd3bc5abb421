"""Read OpenDocument texts (`.odt`): headings by their outline level, lists, tables and notes.

Deleted text under change tracking, generated indexes, headers and footers are left out. Notes stand after the
paragraph that calls them. Repeat counts (blanks, cells) are bounded, whatever the file says.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.errors import BadBook
from octavo.readers.documents.book import (
    build_sections,
    read_markup,
    split_title,
    write_code,
    write_element,
    write_heading,
)
from octavo.readers.files import Archive
from octavo.readers.metadata import build_metadata
from octavo.readers.parsed import ParsedBook
from octavo.readers.titles import clean_line, make_title
from octavo.readers.xml import (
    Element,
    find_all,
    find_children,
    find_first,
    get_attribute,
    get_local_name,
    parse_xml,
    read_words,
)
from octavo.types import BookFormat

if TYPE_CHECKING:
    from octavo.limits import Limits

CODE = "bad_document"
_LEFT_OUT = frozenset(
    (
        *("tracked-changes", "table-of-content", "alphabetical-index", "illustration-index", "table-index"),
        *("bibliography", "sequence-decls", "variable-decls", "forms", "annotation", "annotation-end"),
        *("object-index", "user-index", "binary-data", "tracked-changes"),
    )
)
_MOST_REPEATS, _DEEPEST_STYLE = 100, 20
_NAMED_STYLES = {"Title": "title", "Preformatted_20_Text": "code", "Source_20_Code": "code", "Code": "code"}
_BLOCKS = frozenset(("h", "p", "list", "table"))


def read_odt(path: Path, limits: Limits) -> ParsedBook:
    """Read the book in an `.odt` file."""
    with Archive(path, limits) as archive:
        _refuse_locked(archive)
        content = _load(archive, "content.xml")
        if content is None:
            raise BadBook(CODE, f"{path.name} has no content.xml")
        reader = _TextReader(_read_styles(content, _load(archive, "styles.xml")), _read_lists(content))
        body = find_first(find_first(content, "body"), "text")
        if body is None:
            raise BadBook(CODE, f"{path.name} is an OpenDocument file, but not a text")
        markup = reader.write_blocks(body)
        meta = _load(archive, "meta.xml")
    pieces = read_markup(markup, limits, name=path.name)
    first, rest = split_title(pieces)
    title = clean_line(reader.title or first or read_words(find_first(meta, "title"))) or make_title(
        path.stem
    )
    kept = rest if first and not reader.title else pieces
    author = read_words(find_first(meta, "initial-creator")) or read_words(find_first(meta, "creator"))
    words = [read_words(node) for node in find_all(meta, "keyword")] if meta is not None else []
    keywords = re.split(r"\s*[;,]\s*", ";".join(words))
    return ParsedBook(
        title=title,
        format=BookFormat.ODT,
        sections=build_sections(kept, limits, title=title, source_file=path.name),
        authors=(clean_line(author),) if author else (),
        language=read_words(find_first(meta, "language"))[:20],
        metadata=build_metadata(
            subjects=[read_words(find_first(meta, "subject")), *keywords],
            published=read_words(find_first(meta, "creation-date")) or read_words(find_first(meta, "date")),
        ),
    )


def _load(archive: Archive, name: str) -> Element | None:
    found = archive.find(name)
    return parse_xml(archive.read(found), name=name, code=CODE) if found else None


def _refuse_locked(archive: Archive) -> None:
    manifest = _load(archive, "META-INF/manifest.xml")
    if manifest is not None and find_first(manifest, "encryption-data") is not None:
        raise BadBook(
            "encrypted",
            f"{archive.name} needs a password",
            hint="Open it, save a copy without a password, and add the copy.",
        )


def _read_styles(*roots: Element | None) -> dict[str, str]:
    """Return which styles are titles or code, by what they are based on."""
    parents = {
        get_attribute(style, "name"): get_attribute(style, "parent-style-name")
        for root in roots
        if root is not None
        for style in find_all(root, "style")
    }
    kinds = dict(_NAMED_STYLES)
    for name in parents:
        here = name
        for _ in range(_DEEPEST_STYLE):
            if here in _NAMED_STYLES:
                kinds[name] = _NAMED_STYLES[here]
            here = parents.get(here, "")
    return kinds


def _read_lists(root: Element) -> frozenset[str]:
    """Return the list styles whose first level is numbered."""
    return frozenset(
        get_attribute(style, "name")
        for style in find_all(root, "list-style")
        if find_children(style, "list-level-style-number")[:1]
    )


class _TextReader:
    """Writes the body of one text as HTML."""

    def __init__(self, kinds: dict[str, str], numbered: frozenset[str]) -> None:
        self._kinds, self._numbered = kinds, numbered
        self.title = ""
        self._notes: list[str] = []

    def write_blocks(self, parent: Element, *, numbered: bool = False) -> str:
        """Write all blocks below `parent`; consecutive lines of code are one block."""
        written: list[str] = []
        code: list[str] = []
        for block in _list_blocks(parent):
            name = get_local_name(block)
            kind = self._kinds.get(get_attribute(block, "style-name"), "") if name == "p" else ""
            if kind == "code":
                code += "".join(_read_plain(block)).split("\n")
                continue
            written.append(write_code(code))
            code = []
            if name == "list":
                written.append(self._write_list(block, numbered=numbered))
            elif name == "table":
                written.append(self._write_table(block))
            else:
                written.append(self._write_paragraph(block, name, kind))
        return "".join([*written, write_code(code)])

    def _write_paragraph(self, block: Element, name: str, kind: str) -> str:
        text = self._write_runs(block)
        notes, self._notes = "".join(self._notes), []
        if kind == "title" and not self.title and text.strip():
            self.title = read_words(block)
            return notes
        if name == "h":
            level = get_attribute(block, "outline-level")
            return write_heading(int(level) if level.isascii() and level.isdigit() else 1, text) + notes
        return write_element("p", text) + notes

    def _write_list(self, block: Element, *, numbered: bool) -> str:
        numbered = get_attribute(block, "style-name") in self._numbered or numbered
        items = (
            self.write_blocks(i, numbered=numbered) for i in find_children(block, "list-item", "list-header")
        )
        tag = "ol" if numbered else "ul"
        return write_element(tag, "".join(write_element("li", item) for item in items))

    def _write_table(self, table: Element) -> str:
        rows = []
        for row in _list_rows(table):
            cells = []
            for cell in find_children(row, "table-cell", "covered-table-cell"):
                text = " ".join(
                    part for p in find_all(cell, "p", "h") if (part := self._write_runs(p).strip())
                )
                cells.append(f"<td>{text}</td>" if get_local_name(cell) == "table-cell" else "")
            rows.append(write_element("tr", "".join(cells)))
        notes, self._notes = "".join(self._notes), []
        if len(rows) > 1:
            rows[0] = rows[0].replace("<td>", "<th>").replace("</td>", "</th>")
        return write_element("table", "".join(rows)) + notes

    def _write_runs(self, parent: Element) -> str:
        """Write the text of a paragraph; its notes wait in `_notes`."""
        parts = [escape(parent.text or "")]
        for node in parent:
            name = get_local_name(node)
            if name == "s":
                count = get_attribute(node, "c")
                repeats = int(count) if count.isascii() and count.isdigit() and len(count) < 6 else 1
                parts.append(" " * min(repeats, _MOST_REPEATS))
            elif name in ("tab", "line-break"):
                parts.append(" " if name == "tab" else "<br>")
            elif name == "note":
                parts.append(self._call_note(node))
            elif name == "soft-page-break" or name in _LEFT_OUT or not name:
                pass
            else:
                parts += (" " if name in _BLOCKS else "", self._write_runs(node))
            parts.append(escape(node.tail or ""))
        return "".join(parts)

    def _call_note(self, note: Element) -> str:
        mark = escape(read_words(find_first(note, "note-citation")))
        body = find_first(note, "note-body")
        text = escape(read_words(body)) if body is not None else ""
        if text:
            self._notes.append(f"<p>[{mark}] {text}</p>")
        return f"[{mark}]" if mark else ""


def _list_blocks(parent: Element) -> list[Element]:
    """Return headings, paragraphs, lists and tables in order, also those in sections and frames."""
    found: list[Element] = []
    waiting = [iter(parent)]
    while waiting:
        node = next(waiting[-1], None)
        if node is None:
            waiting.pop()
        elif get_local_name(node) in _BLOCKS:
            found.append(node)
        elif get_local_name(node) not in _LEFT_OUT:
            waiting.append(iter(node))
    return found


def _list_rows(table: Element) -> list[Element]:
    """Return the rows of a table, and not those of tables inside it."""
    rows: list[Element] = []
    for part in table:
        name = get_local_name(part)
        if name == "table-row":
            rows.append(part)
        elif name in ("table-header-rows", "table-rows", "table-row-group"):
            rows += _list_rows(part)
    return rows


def _read_plain(block: Element) -> list[str]:
    """Return the text of a line of code with its blanks."""
    parts = [block.text or ""]
    for node in block:
        name = get_local_name(node)
        count = get_attribute(node, "c")
        blanks = min(
            int(count) if count.isascii() and count.isdigit() and len(count) < 6 else 1, _MOST_REPEATS
        )
        parts += {"s": [" " * blanks], "tab": ["\t"], "line-break": ["\n"]}.get(name) or _read_plain(node)
        parts.append(node.tail or "")
    return parts
