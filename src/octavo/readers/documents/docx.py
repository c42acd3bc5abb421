"""Read Word documents (`.docx`): headings by their styles, lists by their numbering, tables, notes.

Text that was deleted under change tracking is left out, text that was inserted is read. A generated table of
contents, headers and footers are left out. Notes stand after the paragraph that calls them. The parts of the
file are found by their relationships (Word on the web writes `document2.xml`), or else by their usual names.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
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
_DOCUMENT = "word/document.xml"
_HEADING = re.compile(r"(?:heading|überschrift|titre|título|titolo|kop|rubrik)\s*(\d)", re.IGNORECASE)
_CODE_STYLE = re.compile(r"code|preformatted|listing|source|verbatim", re.IGNORECASE)
_LEFT_OUT = re.compile(r"toc\b|toc \d|table of (?:figures|authorities)|inhaltsverzeichnis", re.IGNORECASE)
_BODY_LEVEL = 9
_DEEPEST_STYLE, _DEEPEST_LIST = 20, 8
_MOST_COLUMNS = 100
_UNREAD = frozenset(("del", "moveFrom", "pPr", "rPr", "instrText", "delText", "Fallback", "annotationRef"))
_WRAPPERS = frozenset(("sdt", "sdtContent", "smartTag", "customXml", "ins", "moveTo"))


@dataclass(frozen=True, slots=True)
class _Style:
    """What a paragraph style means: the level of a heading, or none."""

    name: str
    level: int = 0
    is_title: bool = False


@dataclass(slots=True)
class _Notes:
    """The notes of a document by their ids, and those that the current paragraph calls."""

    texts: dict[tuple[str, str], str] = field(default_factory=dict)
    called: list[tuple[int, tuple[str, str]]] = field(default_factory=list)
    count: int = 0


def read_docx(path: Path, limits: Limits) -> ParsedBook:
    """Read the book in a `.docx` file."""
    with Archive(path, limits) as archive:
        document = _find_related(archive).get("officeDocument", _DOCUMENT)
        reader = _DocumentReader(archive, document)
        body = find_first(parse_xml(reader.load(document), name=document, code=CODE), "body")
        if body is None:
            raise BadBook(CODE, f"{path.name}: {document} has no body")
        markup = "".join(reader.write_blocks(body))
        core = reader.load_part("docProps/core.xml")
    pieces = read_markup(markup, limits, name=path.name)
    first, rest = split_title(pieces)
    stated = read_words(find_first(core, "title"))
    title = clean_line(reader.title or first or stated) or make_title(path.stem)
    kept = rest if first and not reader.title else pieces
    authors = re.split(r"\s*;\s*", read_words(find_first(core, "creator")))
    subjects = re.split(r"\s*[;,]\s*", read_words(find_first(core, "keywords")))
    return ParsedBook(
        title=title,
        format=BookFormat.DOCX,
        sections=build_sections(kept, limits, title=title, source_file=path.name),
        authors=tuple(line for name in authors if (line := clean_line(name))),
        language=read_words(find_first(core, "language"))[:20],
        metadata=build_metadata(
            subjects=[read_words(find_first(core, "subject")), *subjects],
            published=read_words(find_first(core, "created")),
            identifiers=[("", read_words(find_first(core, "identifier")))],
        ),
    )


class _DocumentReader:
    """Writes the body of one document as HTML."""

    def __init__(self, archive: Archive, document: str = _DOCUMENT) -> None:
        self._archive = archive
        self.title = ""
        parts = {name: f"word/{name}.xml" for name in ("styles", "numbering", "footnotes", "endnotes")}
        parts |= _find_related(archive, document)
        self._styles = _read_styles(self.load_part(parts["styles"]))
        self._ordered = _read_numbering(self.load_part(parts["numbering"]))
        self._notes = _Notes()
        for kind in ("footnote", "endnote"):
            root = self.load_part(parts[f"{kind}s"])
            for note in find_all(root, kind) if root is not None else ():
                if get_attribute(note, "type") in ("", "normal"):
                    self._notes.texts[kind, get_attribute(note, "id")] = self._write_runs(note).strip()
        self._notes.called.clear()

    def load(self, name: str) -> bytes:
        found = self._archive.find(name)
        if found is None:
            raise BadBook(CODE, f"{self._archive.name} has no {name}")
        return self._archive.read(found)

    def load_part(self, name: str) -> Element | None:
        """Return the root of a part that need not be there."""
        found = self._archive.find(name)
        return parse_xml(self._archive.read(found), name=name, code=CODE) if found else None

    def write_blocks(self, parent: Element) -> list[str]:
        """Write paragraphs, lists and tables; lists and code are what several paragraphs make together."""
        written: list[str] = []
        code: list[str] = []
        levels: list[str] = []
        for block in _list_blocks(parent, "p", "tbl"):
            item = self._find_list(block)
            if code and not self._is_code(block):
                written.append(write_code(code))
                code = []
            if levels and item is None:
                written += _close_lists(levels, 0)
            if get_local_name(block) == "tbl":
                written.append(self._write_table(block))
            elif self._is_code(block):
                code.append(_read_plain(block))
            elif item is not None:
                written += self._write_item(block, item, levels)
            else:
                written.append(self._write_paragraph(block))
        written += [write_code(code), *_close_lists(levels, 0)]
        return written

    def _find_style(self, block: Element) -> _Style:
        properties = next(iter(find_children(block, "pPr")), None)
        named = find_children(properties, "pStyle") if properties is not None else []
        style = self._styles.get(get_attribute(named[0], "val"), _Style("")) if named else _Style("")
        own = find_children(properties, "outlineLvl") if properties is not None else []
        level = _read_number(get_attribute(own[0], "val"), _BODY_LEVEL) if own else _BODY_LEVEL
        return _Style(style.name, level + 1) if level < _BODY_LEVEL else style

    def _is_code(self, block: Element) -> bool:
        return get_local_name(block) == "p" and bool(_CODE_STYLE.search(self._find_style(block).name))

    def _find_list(self, block: Element) -> tuple[int, bool] | None:
        """Return the depth of a list item and whether its list is numbered; None for other paragraphs."""
        properties = next(iter(find_children(block, "pPr")), None)
        if get_local_name(block) != "p" or properties is None or self._find_style(block).level:
            return None
        numbering = next(iter(find_children(properties, "numPr")), None)
        if numbering is None:
            name = self._find_style(block).name.lower()
            return (0, "number" in name) if name.startswith(("list bullet", "list number")) else None
        values = {get_local_name(part): get_attribute(part, "val") for part in numbering}
        number, level = values.get("numId", ""), _read_number(values.get("ilvl", ""), 0)
        return None if number == "0" else (min(level, _DEEPEST_LIST), (number, level) in self._ordered)

    def _write_item(self, block: Element, item: tuple[int, bool], levels: list[str]) -> list[str]:
        level, ordered = item
        is_same = len(levels) > level and levels[level] == ("ol" if ordered else "ul")
        written = _close_lists(levels, level + 1 if is_same else level)
        while len(levels) <= level:
            levels.append("ol" if ordered else "ul")
            written.append(f"<{levels[-1]}>")
        return [*written, f"<li>{self._write_runs(block)}{self._take_notes()}</li>"]

    def _write_paragraph(self, block: Element) -> str:
        style = self._find_style(block)
        if _LEFT_OUT.match(style.name):
            return ""
        text = self._write_runs(block)
        notes = self._take_notes()
        if style.is_title and not self.title:
            self.title = read_words(block)
            return notes
        if style.level:
            return write_heading(style.level, text) + notes
        return write_element("p", text) + notes

    def _take_notes(self) -> str:
        called, self._notes.called = self._notes.called, []
        texts = ((number, self._notes.texts.get(key, "")) for number, key in called)
        return "".join(f"<p>[{number}] {text}</p>" for number, text in texts if text)

    def _write_table(self, table: Element) -> str:
        rows = []
        for row in _list_blocks(table, "tr"):
            cells = [self._write_cell(cell) for cell in _list_blocks(row, "tc")[:_MOST_COLUMNS]]
            rows.append(write_element("tr", "".join(cells)))
        first = (
            rows[0].replace("<td", "<th").replace("</td>", "</th>") if len(rows) > 1 else "".join(rows[:1])
        )
        return f"<table>{first}{''.join(rows[1:])}</table>{self._take_notes()}" if rows else ""

    def _write_cell(self, cell: Element) -> str:
        properties = next(iter(find_children(cell, "tcPr")), None)
        span = find_first(properties, "gridSpan")
        wide = _read_number(get_attribute(span, "val"), 1) if span is not None else 1
        text = " ".join(part for p in find_all(cell, "p") if (part := self._write_runs(p).strip()))
        return f'<td colspan="{min(max(wide, 1), _MOST_COLUMNS)}">{text}</td>'

    def _write_runs(self, parent: Element) -> str:
        """Write the text of a paragraph or a note, with emphasis and the marks of notes."""
        parts: list[str] = []
        waiting = [iter(parent)]
        while waiting:
            node = next(waiting[-1], None)
            if node is None:
                waiting.pop()
                continue
            name = get_local_name(node)
            if name in _UNREAD:
                continue
            if name == "t":
                parts.append(_emphasize(node, escape(node.text or "")))
            elif name in ("tab", "ptab"):
                parts.append(" ")
            elif name in ("br", "cr"):
                parts.append("<br>")
            elif name == "noBreakHyphen":
                parts.append("-")
            elif name in ("footnoteReference", "endnoteReference"):
                parts.append(self._call_note(name.removesuffix("Reference"), get_attribute(node, "id")))
            else:
                parts += [" "] if name == "p" and parts else []
                waiting.append(iter(node))
        return "".join(parts)

    def _call_note(self, kind: str, number: str) -> str:
        if (kind, number) not in self._notes.texts:
            return ""
        self._notes.count += 1
        self._notes.called.append((self._notes.count, (kind, number)))
        return f"[{self._notes.count}]"


def _find_related(archive: Archive, part: str = "") -> dict[str, str]:
    """Return the parts that one part, or the file itself, says belong to it, by the kind of each.

    A part that is named but is not there is left out; so are all if what names them cannot be read.
    """
    folder, _, name = part.rpartition("/")
    root = _load_relations(archive, f"{folder}/_rels/{name}.rels".removeprefix("/"))
    related: dict[str, str] = {}
    for relation in find_all(root, "Relationship") if root is not None else ():
        target = get_attribute(relation, "Target").replace("\\", "/")
        inside = target.removeprefix("/") if target.startswith("/") else f"{folder}/{target}".lstrip("/")
        found = archive.find(posixpath.normpath(inside))
        if found is not None and get_attribute(relation, "TargetMode") != "External":
            related.setdefault(get_attribute(relation, "Type").rpartition("/")[2], found)
    return related


def _load_relations(archive: Archive, name: str) -> Element | None:
    found = archive.find(name)
    try:
        return parse_xml(archive.read(found), name=found, code=CODE) if found else None
    except BadBook as unreadable:
        if unreadable.code not in (CODE, "damaged_archive"):
            raise
        return None


def _list_blocks(parent: Element, *names: str) -> list[Element]:
    """Return the elements of these names in order, also those in content controls and inserted ranges."""
    found: list[Element] = []
    waiting = [iter(parent)]
    while waiting:
        node = next(waiting[-1], None)
        if node is None:
            waiting.pop()
        elif get_local_name(node) in names:
            found.append(node)
        elif get_local_name(node) in _WRAPPERS:
            waiting.append(iter(node))
    return found


def _close_lists(levels: list[str], keep: int) -> list[str]:
    closed = [f"</{tag}>" for tag in reversed(levels[keep:])]
    del levels[keep:]
    return closed


def _emphasize(text: Element, markup: str) -> str:
    """Put emphasis around a run's text where the run has it."""
    run = text.getparent()
    properties = next(iter(find_children(run, "rPr")), None) if run is not None else None
    if properties is None or not markup.strip():
        return markup
    for name, tag in (("b", "strong"), ("i", "em"), ("vertAlign", "sup")):
        set_ = next(iter(find_children(properties, name)), None)
        value = get_attribute(set_, "val") if set_ is not None else "0"
        if value in (("superscript",) if tag == "sup" else ("", "1", "true", "on")):
            markup = f"<{tag}>{markup}</{tag}>"
    return markup


def _read_plain(block: Element) -> str:
    """Return the text of a line of code with its blanks."""
    names = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
    nodes = (node for node in block.iter() if get_local_name(node) in ("t", *names))
    return "".join(names.get(get_local_name(node)) or node.text or "" for node in nodes)


def _read_number(text: str, otherwise: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else otherwise


def _read_styles(root: Element | None) -> dict[str, _Style]:
    """Return the styles by their ids; one without a level of its own has that of the one it is based on."""
    raw = {}
    for style in find_all(root, "style") if root is not None else ():
        name = _read_value(style, "name")
        outline = _read_value(find_first(style, "pPr"), "outlineLvl")
        raw[get_attribute(style, "styleId")] = (name, outline, _read_value(style, "basedOn"))
    styles = {}
    for key, (name, _, _) in raw.items():
        level, here = 0, key
        for _ in range(_DEEPEST_STYLE):
            if here not in raw or level:
                break
            called, outline, based = raw[here]
            found = _HEADING.fullmatch(called)
            level = int(found.group(1)) if found else (_read_number(outline, _BODY_LEVEL) + 1) % 10
            here = based
        styles[key] = _Style(name, level, is_title=name.lower() in ("title", "titel", "titre"))
    return styles


def _read_value(parent: Element | None, name: str) -> str:
    """Return the value that a child element of this name has in `val`."""
    child = next(iter(find_children(parent, name)), None) if parent is not None else None
    return get_attribute(child, "val") if child is not None else ""


def _read_numbering(root: Element | None) -> frozenset[tuple[str, int]]:
    """Return the lists and levels that are numbered and not bulleted."""
    if root is None:
        return frozenset()
    numbered: dict[str, set[int]] = {}
    for abstract in find_all(root, "abstractNum"):
        levels = {
            _read_number(get_attribute(level, "ilvl"), 0)
            for level in find_children(abstract, "lvl")
            if _read_value(level, "numFmt") not in ("bullet", "none", "")
        }
        numbered[get_attribute(abstract, "abstractNumId")] = levels
    lists = (
        (get_attribute(num, "numId"), _read_value(num, "abstractNumId")) for num in find_all(root, "num")
    )
    return frozenset((number, level) for number, key in lists for level in numbered.get(key, ()))
