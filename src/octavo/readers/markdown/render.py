"""Turn Markdown into plain text that reads well.

`compose` turns the parser's events of one page into sections: what comes before the first heading, then each
heading with the text directly under it. Marks of emphasis and links are dropped. Pictures become their
alternative text, a list item a line with its marker, a table row a line with cells separated by ` | `. Code
is verbatim, and footnotes follow the section that refers to them. Tables and code are recorded as blocks.
What the text does not say any more is in its markup: emphasis, links, pictures, cells, the language of code.

HTML inside Markdown loses its tags and keeps its text. `rewrite_html` first turns HTML tables and headings
into Markdown, which would lose them otherwise. Nothing inside code fences is ever touched.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unicodedata import is_normalized

from octavo.readers.markdown.inline_html import HtmlMarks
from octavo.readers.parts import Container, MarkedRuns, Part, is_image, wrap
from octavo.readers.sections import PageSection, SectionBuilder
from octavo.readers.titles import clean_line
from octavo.text.clean import clean, collapse
from octavo.types import ElementKind
from octavo.types.markup import NO_ATTRIBUTES, Attribute

if TYPE_CHECKING:
    from octavo.readers.sections import Anchors

_FENCE = re.compile(r"^((?:[ \t>]|(?:[-*+]|\d{1,9}[.)])[ \t])*)(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_UNSEEN = re.compile(r"<!--.*?(?:-->|\Z)|<(script|style|svg)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<(/?)([A-Za-z][\w.:-]*)([^<>]*)>|<[!?/>][^<>]*>?")
_ALT_ATTRIBUTE = re.compile(r"""\balt\s*=\s*(?:"([^"]*)"|'([^']*)'|\{\s*["'`]([^"'`]*)["'`]\s*\})""")
_HTML_BLOCKS = frozenset(
    re.findall(
        r"\w+",
        "address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure "
        "footer form h1 h2 h3 h4 h5 h6 header hr html li main nav ol p pre section summary table tbody tfoot "
        "thead ul",
    )
)
_HTML_TABLE = re.compile(r"^ {0,3}<table\b.*?</table\s*>[ \t]*$", re.DOTALL | re.IGNORECASE | re.MULTILINE)
_HTML_ROW = re.compile(r"<tr\b[^<>]*>", re.IGNORECASE)
_HTML_CELL = re.compile(r"<t[dh]\b[^<>]*>", re.IGNORECASE)
_HTML_HEADING = re.compile(
    r"^ {0,3}<h([1-6])\b([^<>]*)>((?:(?!</?h[1-6]\b|\n\n).){1,2000}?)</h\1\s*>[ \t]*$",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
_ID_ATTRIBUTE = re.compile(r"""\bid\s*=\s*["']([\w.:-]+)["']""")
_INLINE = {
    "Emphasis": ElementKind.EMPHASIS,
    "Strong": ElementKind.STRONG,
    "Strikethrough": ElementKind.DELETED,
    "Superscript": ElementKind.SUPERSCRIPT,
    "Subscript": ElementKind.SUBSCRIPT,
    "Link": ElementKind.LINK,
    "Image": ElementKind.IMAGE,
}
_CJK = "\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff00-\uff60"
_CJK_WRAP = re.compile(rf"(?<=[{_CJK}])\x00|\x00(?=[{_CJK}])")
_CALLOUT = re.compile(r"\[!([A-Za-z][\w-]*)\][+-]?[ \t]*([^\x00\n]*)[\x00\n]?")
_PRE = re.compile(r"(<pre\b.*?(?:</pre\s*>|\Z))", re.DOTALL | re.IGNORECASE)
_LINE_END = re.compile(r"\n(?!\n)")
_TRAILING_BLANKS = re.compile(r"[ \t]+$", re.MULTILINE)


@dataclass(slots=True)
class _OpenMarkdownList:
    """A list that is open: its next number, and the marker that waits for the item's text."""

    get_number: int | None
    marker: str = ""


def compose(
    events: Iterable[Any],
    *,
    anchors: Anchors,
    code: Callable[[str, str], str] = lambda _info, text: text,
    entities: bool = True,
) -> list[PageSection]:
    """Build the sections of a page from its events.

    The source is clean, but `entities` may have brought in characters that are not. `code` may change the
    text of a code block, given its info string.
    """
    writer = _SectionWriter(anchors, code, entities=entities)
    for event in events:
        if event.__class__ is str:
            writer.line.append("\n" if event == "HardBreak" else "\x00" if event == "SoftBreak" else "")
            if event == "Rule":
                writer.add_rule()
            continue
        ((kind, value),) = event.items()
        if kind == "Text":
            writer.line.append(value)
        elif kind == "Start":
            name = value if value.__class__ is str else next(iter(value))
            if name in _INLINE:
                writer.open_inline(name, value)
            else:
                writer.start(value)
        elif kind == "End":
            if value.__class__ is str and value in _INLINE:
                writer.close_inline()
            else:
                writer.end(value)
        else:
            writer.add(kind, value)
    return writer.finish()


class _SectionWriter:
    """The sections of a page while they are written."""

    def __init__(self, anchors: Anchors, code: Callable[[str, str], str], *, entities: bool) -> None:
        self._marks = MarkedRuns()
        self._html = HtmlMarks(self._marks)
        self._depths: list[int] = []
        self._containers: list[Container] = []
        self._leaf = ElementKind.PARAGRAPH
        self.line = self._marks.runs
        self._anchors, self._code, self._entities = anchors, code, entities
        self._section = SectionBuilder()
        self._sections = [self._section]
        self._lists: list[_OpenMarkdownList] = []
        self._quotes = 0
        self._in_list = self._after_term = False
        self._rows: list[str] = []
        self._row: list[str] = []
        self._table = MarkedRuns()
        self._explicit, self._info = "", ""
        self._notes: dict[str, tuple[SectionBuilder, SectionBuilder]] = {}
        self._calls: dict[str, SectionBuilder] = {}
        self._aside: list[tuple[SectionBuilder, str, list[_OpenMarkdownList], list[Container]]] = []
        self._muted = 0

    def open_inline(self, name: str, tag: Any) -> None:
        """Open an element within a line."""
        self._depths.append(self._marks.depth)
        address = tag[name]["dest_url"] if isinstance(tag, dict) else ""
        attribute = "image" if name == "Image" else "url"
        self._marks.open(_INLINE[name], {attribute: address} if address else NO_ATTRIBUTES)

    def close_inline(self) -> None:
        depth = self._depths.pop() if self._depths else 0
        self._html.close_to(depth + 1)
        if self._marks.depth > depth:
            self._marks.close()

    def add_rule(self) -> None:
        """Add a break between two parts of the text."""
        self._section.body.mark([Part(ElementKind.BREAK, 0, 0)], within=self._containers)

    def start(self, tag: Any) -> None:
        """Start a block. It ends the text of a tight list item, which has no paragraph of its own."""
        name: str
        value: Any
        name, value = (tag, None) if isinstance(tag, str) else next(iter(tag.items()))
        if name in ("TableRow", "TableHead"):
            self._table.open(ElementKind.ROW)
            return
        self._end_paragraph(tight=True)
        self._open_container(name, value)
        if name == "Item":
            self._start_item()
        elif name == "List":
            self._lists.append(_OpenMarkdownList(value))
        elif name == "Heading":
            self._explicit = value["id"] or ""
        elif name == "CodeBlock":
            self._info = value["Fenced"] if isinstance(value, dict) else ""
        elif name == "BlockQuote":
            self._quotes += 1
            if value:
                self._put(f"{value}:")
        elif name == "FootnoteDefinition":
            self._aside.append((self._section, value, self._lists, self._containers))
            self._section, self._lists, self._in_list = SectionBuilder(), [], False
            self._containers = []
        elif name == "Table":
            self._table = MarkedRuns()
            self._table.open(ElementKind.TABLE)
        elif name == "DefinitionListTitle":
            self._leaf = ElementKind.TERM

    def _open_container(self, name: str, value: Any) -> None:
        numbered: dict[str, Attribute] = {} if value is None else {"ordered": 1}
        if name == "List":
            if value not in (None, 1):
                numbered["start"] = value
            self._containers.append(Container(ElementKind.LIST, numbered))
        elif name == "Item":
            self._containers.append(Container(ElementKind.ITEM))
        elif name == "BlockQuote":
            self._containers.append(Container(ElementKind.ASIDE if value else ElementKind.QUOTATION))
        elif name == "DefinitionListDefinition":
            self._containers.append(Container(ElementKind.DEFINITION))

    def end(self, tag: Any) -> None:
        name = tag if isinstance(tag, str) else next(iter(tag))
        if name == "Paragraph":
            self._end_paragraph()
        elif name == "Item":
            self._end_paragraph(tight=True)
            self._lists[-1].marker = ""
            self._containers.pop()
        elif name == "List":
            self._lists.pop()
            self._in_list = bool(self._lists)
            self._containers.pop()
        elif name == "Heading":
            self._end_heading(int(tag["Heading"][1]))
        elif name == "CodeBlock":
            self._add_code(self._code(self._info, self._take_text()), self._info)
        elif name == "HtmlBlock":
            self._add_html(self._take_text())
        elif name == "BlockQuote":
            self._end_paragraph()
            self._quotes -= 1
            self._containers.pop()
        elif name == "FootnoteDefinition":
            self._end_note()
        elif name in ("DefinitionListTitle", "DefinitionListDefinition"):
            self._end_paragraph()
            self._after_term = name == "DefinitionListTitle"
            self._leaf = ElementKind.PARAGRAPH
            if not self._after_term:
                self._containers.pop()
        else:
            self._end_table_part(name)

    def add(self, kind: str, value: Any) -> None:
        if kind == "Code":
            self._add_inline(ElementKind.INLINE_CODE, value, NO_ATTRIBUTES)
        elif kind == "Html":
            self.line.append(value)
        elif kind == "InlineHtml":
            self._add_inline_html(value)
        elif kind == "FootnoteReference":
            self._calls.setdefault(value, self._aside[0][0] if self._aside else self._section)
            self._add_inline(ElementKind.NOTE_REFERENCE, f"[{value}]", {"url": f"#fn:{value}"})
        elif kind == "TaskListMarker":
            self.line.append("[x] " if value else "[ ] ")
        elif kind == "InlineMath":
            self._add_inline(ElementKind.FORMULA, f"${value}$", {"tex": value})
        elif kind == "DisplayMath":
            self._add_inline(ElementKind.FORMULA, f"$${value}$$", {"tex": value, "display": 1})
        else:
            self.line.append(str(value))

    def _add_inline(self, kind: ElementKind, text: str, attributes: Mapping[str, Attribute]) -> None:
        self._marks.open(kind, attributes)
        self.line.append(text)
        self._marks.close()

    def finish(self) -> list[PageSection]:
        self._end_paragraph()
        for label, (home, note) in self._notes.items():
            self._calls.get(label, home).body.append(note.body)
        return [s.build() for s in self._sections]

    def _take_text(self) -> str:
        """Return the text so far and start a new one, without the markup of the old one."""
        text = self._read_text()
        self._marks.clear()
        return text

    def _read_text(self) -> str:
        return self._clean("".join(self.line))

    def _clean(self, text: str) -> str:
        if "\x00" in text:
            text = (text if text.isascii() else _CJK_WRAP.sub("", text)).replace("\x00", " ")
        if text.isascii() and not self._entities:
            return text
        return clean(text) if self._entities or not is_normalized("NFC", text) else text

    def _end_paragraph(self, *, tight: bool = False) -> None:
        if self._quotes and self.line:
            self._write_callout()
        if self.line:
            self._html.close_to(self._depths[-1] if self._depths else 0)
            self._put(self._read_text(), tight=tight, marks=self._marks)
            self._marks.clear()

    def _write_callout(self) -> None:
        """Write `[!tip] Title` at the start of a quote as a line of its own."""
        text = "".join(self.line)
        found = _CALLOUT.match(text)
        if found:
            kind, title = found.groups()
            self._put(self._clean(f"{kind.capitalize()}: {title}" if title else f"{kind.capitalize()}:"))
            self._cut_line(found.end())

    def _cut_line(self, length: int) -> None:
        """Cut the beginning of the line; the runs keep their numbers, which its markup refers to."""
        for number, run in enumerate(self.line):
            self.line[number] = run[length:]
            length = max(0, length - len(run))

    def _put(self, text: str, *, tight: bool = False, marks: MarkedRuns | None = None) -> None:
        """Add a paragraph, with what `marks` has of its text."""
        text = text.strip()
        if "\n" in text or "  " in text or "\t" in text:
            text = re.sub(r"\n{3,}", "\n\n", "\n".join(collapse(line) for line in text.split("\n")))
        parts = marks.place([text])[0] if marks else []
        if not text:
            self._section.body.mark(
                [p._replace(depth=0) for p in parts if is_image(p)], within=self._containers
            )
            return
        parts = wrap(parts, Part(self._leaf, 0, len(text)))
        close = (tight and self._in_list) or self._after_term
        self._after_term = False
        if self._lists:
            indent = "  " * (len(self._lists) - 1)
            marker = self._lists[-1].marker or "  "
            parts = _move_parts(parts, text, len(indent) + len(marker), len(indent) + 2)
            if "\n" in text:
                text = re.sub(r"\n(?!\n)", f"\n{indent}  ", text)
            text = f"{indent}{marker}{text}"
            self._start_list_text()
        self._section.body.add(text, tight=close, within=self._containers, markup=parts)

    def _start_list_text(self) -> None:
        self._in_list = True
        for level in self._lists:
            level.marker = ""

    def _start_item(self) -> None:
        current = self._lists[-1]
        if current.get_number is None:
            current.marker = "- "
        else:
            current.marker = f"{current.get_number}. "
            current.get_number += 1

    def _add_code(self, text: str, info: str) -> None:
        language = re.match(r"[\w+#.-]{1,30}", info.removeprefix("{"))
        named: dict[str, Attribute] = {"language": language.group().lower()} if language else {}
        self._add_block(text, lambda kept: [Part(ElementKind.CODE, 0, len(kept), 0, named)])

    def _add_block(self, text: str, mark: Callable[[str], list[Part]]) -> None:
        text = _TRAILING_BLANKS.sub("", text).strip("\n")
        if text:
            self._section.body.add(text, block=True, within=self._containers, markup=mark(text))
            self._after_term = False
            if self._lists:
                self._start_list_text()
                self._in_list = False

    def _add_html(self, markup: str) -> None:
        for part in _PRE.split(markup):
            if part[:4].lower() == "<pre":
                self._add_code(_strip_tags_verbatim(part), "")
            else:
                self._put(_strip_tags(part), marks=_mark_tags(part))

    def _add_inline_html(self, tag: str) -> None:
        lowered = tag[:8].lower()
        shown = "\n" if lowered.startswith("<br") else read_alt(tag) if lowered.startswith("<img") else ""
        self._html.mark(tag, shown)
        if lowered.startswith(("<script", "<style")):
            self._muted = len(self.line) + 1
        elif lowered.startswith(("</script", "</style")) and self._muted:
            del self.line[self._muted - 1 :]
            self._muted = 0

    def _end_heading(self, level: int) -> None:
        title = clean_line(self._read_text())
        images = [p._replace(depth=0) for p in self._marks.place([title])[0] if is_image(p)]
        self._take_text()
        anchor = self._anchors.make(title, self._explicit)
        if self._lists or self._quotes or self._aside or not title:
            self._leaf = ElementKind.HEADING
            self._put(title)
            self._leaf = ElementKind.PARAGRAPH
        else:
            self._section = SectionBuilder(level, title, anchor)
            self._sections.append(self._section)
            self._in_list = False
        self._section.body.mark(images, within=self._containers)

    def _end_table_part(self, name: str) -> None:
        if name == "TableCell":
            self._html.close_to(0)
            words = collapse(self._read_text())
            if self._row:
                self._table.runs.append("|")
            self._table.open(ElementKind.CELL, {"header": 1} if not self._rows else NO_ATTRIBUTES)
            self._table.add(words, self._marks.place([words])[0] if self._marks else ())
            self._table.close()
            self._marks.clear()
            self._row.append(words)
        elif name in ("TableRow", "TableHead"):
            self._rows.append(" | ".join(self._row).rstrip())
            self._row = []
            self._table.close()
        elif name == "Table":
            self._table.close()
            self._add_block("\n".join(self._rows), lambda kept: self._table.place([kept])[0])
            self._rows = []

    def _end_note(self) -> None:
        self._end_paragraph()
        note = self._section
        self._section, label, self._lists, self._containers = self._aside.pop()
        self._in_list = bool(self._lists)
        if note.body.length:
            note.body.prepend(f"[{label}] ")
            note.body.wrap(ElementKind.NOTE, {"label": label})
        self._notes.setdefault(label, (self._section, note))


def _move_parts(parts: list[Part], text: str, lead: int, indent: int) -> list[Part]:
    """Move parts of a text whose first line gets a lead, and its other lines an indent."""

    def move(offset: int) -> int:
        return offset + lead + indent * len(_LINE_END.findall(text, 0, offset))

    return [p._replace(start=move(p.start), end=move(p.end)) for p in parts]


def _mark_tags(markup: str) -> MarkedRuns:
    """Return the runs of HTML, as `_strip_tags` shows them, with the elements that its tags are."""
    marks = MarkedRuns()
    tags = HtmlMarks(marks)
    shown, done = _UNSEEN.sub("", markup), 0
    for tag in _TAG.finditer(shown):
        marks.runs.append(html.unescape(shown[done : tag.start()]))
        tags.mark(tag.group(0), _replace_tag(tag))
        done = tag.end()
    marks.runs.append(html.unescape(shown[done:]))
    tags.close_to(0)
    return marks


def split_fences(source: str) -> Iterator[tuple[bool, str]]:
    """Yield the source in order as (is code fence, text); joined, they are the source."""
    start = position = 0
    while opened := _FENCE.search(source, position):
        position = opened.end()
        fence, info = opened.group(2), opened.group(3)
        if fence[0] == "`" and "`" in info:
            continue
        closing = re.compile(rf"^[ \t>]*{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$", re.MULTILINE)
        closed = closing.search(source, position)
        end = closed.end() if closed else len(source)
        if opened.start() > start:
            yield False, source[start : opened.start()]
        yield True, source[opened.start() : end]
        start = position = end
    if start < len(source):
        yield False, source[start:]


def _change_outside_code(source: str, change: Callable[[str], str]) -> str:
    """Apply `change` to everything that is not in a code fence."""
    return "".join(text if code else change(text) for code, text in split_fences(source))


def _strip_tags(markup: str) -> str:
    """Return the text of HTML: a line for each line or block, without tags, with entities decoded."""
    lines = "\n".join(collapse(line) for line in _strip_tags_verbatim(markup).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines).strip()


def _strip_tags_verbatim(markup: str) -> str:
    """Do the same but keep all blanks as written, for the content of `<pre>`."""
    text = _TAG.sub(_replace_tag, _UNSEEN.sub("", markup))
    return clean(html.unescape(text)) if "&" in text else text


def read_alt(tag: str) -> str:
    """Return the alternative text of a picture's tag."""
    found = _ALT_ATTRIBUTE.search(tag)
    return html.unescape(next((g for g in found.groups() if g), "")) if found else ""


def _replace_tag(tag: re.Match[str]) -> str:
    name = (tag.group(2) or "").lower()
    if name == "img":
        return read_alt(tag.group(0))
    if name in ("br", "tr"):
        return "\n"
    if name in ("td", "th"):
        return " | " if tag.group(1) else ""
    return "\n\n" if name in _HTML_BLOCKS else ""


def rewrite_html(source: str) -> str:
    """Rewrite tables and headings in HTML as Markdown."""
    lowered = source.lower()
    change: list[Callable[[str], str]] = []
    if "</table" in lowered:
        change.append(lambda text: _HTML_TABLE.sub(lambda m: f"\n{_write_pipe_table(m.group(0))}\n", text))
    if re.search(r"</h[1-6]", lowered):
        change.append(lambda text: _HTML_HEADING.sub(_write_hash_heading, text))
    for step in change:
        source = _change_outside_code(source, step)
    return source


def _write_pipe_table(table: str) -> str:
    rows = [
        [collapse(_strip_tags(cell)).strip(" |").replace("|", "\\|") for cell in _HTML_CELL.split(row)[1:]]
        for row in _HTML_ROW.split(_UNSEEN.sub("", table))[1:]
    ]
    rows = [row for row in rows if any(row)]
    if not rows:
        return _strip_tags(table)
    width = max(len(row) for row in rows)
    lines = [f"| {' | '.join(row + [''] * (width - len(row)))} |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


def _write_hash_heading(found: re.Match[str]) -> str:
    words = collapse(_strip_tags(found.group(3)))
    named = _ID_ATTRIBUTE.search(found.group(2))
    anchor = f" {{#{named.group(1)}}}" if named else ""
    return f"\n{'#' * int(found.group(1))} {words}{anchor}\n" if words else ""
