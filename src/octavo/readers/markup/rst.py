"""Read the common syntax of reStructuredText and write it as HTML.

Sections, paragraphs, lists, definitions, fields, tables, literal blocks, notes and the directives of docutils
and Sphinx that hold text are understood; directives that only a program can carry out are left out. Files are
included only through the function that the caller gives. Nothing here is executed.
"""

from __future__ import annotations

import csv
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape

from octavo.readers.documents.book import write_code, write_element, write_formula, write_heading
from octavo.readers.markup.rst_inline import write_inline
from octavo.readers.markup.rst_tables import is_grid, is_simple, split_grid, split_simple, write_rows

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\s*$")
_BULLET = re.compile(r"([-*+•‣⁃])(\s+|$)")
_NUMBER = re.compile(r"\(?(\d{1,9}|#|[A-Za-z]|[ivxlcdmIVXLCDM]{1,9})[.)](\s+|$)")
_FIELD = re.compile(r":([^:\s][^:]{0,100}):(\s+|$)")
_OPTION = re.compile(
    r"((?:-\w|--[\w-]+|/[A-Z]\b)(?:[ =]?[<\w][\w<>.,=-]*)?"
    r"(?:, ?(?:-\w|--[\w-]+)(?:[ =][<\w]\S*)?)*)(?:\s{2,}|$)"
)
_EXPLICIT = re.compile(r"\.\.(\s+|$)")
_DIRECTIVE = re.compile(
    r"(?:\|(?P<name>[^|]{1,200})\|\s+)?(?P<kind>[A-Za-z][\w:+.-]{0,60})::(?:\s+(?P<rest>.*))?$", re.DOTALL
)
_NOTE = re.compile(r"\[(#?[\w.*-]{0,60}|#)\]\s+")
_DEEPEST, _DEEPEST_INCLUDE = 30, 10

_CODE = frozenset(
    (
        "code-block",
        "code",
        "sourcecode",
        "parsed-literal",
        "doctest",
        "testcode",
        "testoutput",
        "prompt",
        "productionlist",
        "highlight-block",
        "console",
        "ipython",
        "graphviz",
        "jinja",
    )
)
_ADMONITIONS = frozenset(
    ("note", "warning", "tip", "hint", "important", "caution", "danger", "attention", "error", "seealso")
)
_VERSIONS = {
    "versionadded": "New in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
    "versionremoved": "Removed in version",
}
_SILENT = frozenset(
    (
        "index",
        "meta",
        "raw",
        "contents",
        "sectnum",
        "tabularcolumns",
        "currentmodule",
        "module",
        "highlight",
        "default-role",
        "role",
        "title",
        "header",
        "footer",
        "image",
        "py:module",
        "py:currentmodule",
        "sectionauthor",
        "codeauthor",
        "moduleauthor",
        "toctree",
        "target-notes",
        "testsetup",
        "testcleanup",
        "todolist",
        "c:namespace",
    )
)
_TITLED = frozenset(
    ("admonition", "topic", "sidebar", "rubric", "centered", "dropdown", "tab", "tab-item", "card")
)
_PLAIN = frozenset(
    (
        "only",
        "ifconfig",
        "container",
        "compound",
        "class",
        "rst-class",
        "epigraph",
        "pull-quote",
        "highlights",
        "hlist",
        "glossary",
        "figure",
        "table",
        "tabs",
        "tab-set",
        "grid",
        "grid-item",
        "aside",
        "line-block",
        "todo",
    )
)


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive: its name, what stands behind it, its options and its content."""

    kind: str
    argument: str
    options: dict[str, str]
    content: list[str]


@dataclass(slots=True)
class RstPage:
    """A page while it is written: its HTML, its toctrees, and what its head says."""

    load: Callable[[str], str | None]
    """Returns the text of a file that the page includes, or None."""
    toctrees: list[Directive] = field(default_factory=list)
    fields: dict[str, str] = field(default_factory=dict)
    substitutions: dict[str, str] = field(default_factory=dict)
    styles: list[str] = field(default_factory=list)
    anchors: dict[str, int] = field(default_factory=dict)
    including: int = 0
    begun: bool = False
    """Whether anything but the title and the fields below it was written."""

    def write(self, text: str) -> str:
        """Write a whole page."""
        lines = [line.rstrip() for line in text.expandtabs(8).split("\n")]
        for line in lines:
            found = re.match(r"\.\.\s+\|([^|]{1,200})\|\s+replace::\s+(.*)", line)
            if found:
                self.substitutions[found.group(1).casefold()] = found.group(2).strip()
        return self._write_blocks(lines, depth=0, top=True)

    def _inline(self, lines: Sequence[str] | str) -> str:
        text = lines if isinstance(lines, str) else "\n".join(line.strip() for line in lines)
        return write_inline(text, self.substitutions)

    def _write_blocks(self, lines: Sequence[str], *, depth: int, top: bool = False) -> str:
        written: list[str] = []
        at = 0
        if depth > _DEEPEST:
            return write_element("p", self._inline(lines))
        while at < len(lines):
            if not lines[at]:
                at += 1
                continue
            markup, at = self._write_block(lines, at, depth, top)
            written.append(markup)
            is_title = markup.startswith("<h") and len(self.anchors) < 2
            self.begun = self.begun or bool(markup and not is_title)
        return "".join(written)

    def _write_block(self, lines: Sequence[str], at: int, depth: int, top: bool) -> tuple[str, int]:
        """Write the block that begins on this line; return it and the line after it."""
        line = lines[at]
        if top and (found := self._find_title(lines, at)):
            title, style, after = found
            return self._write_title(title, style), after
        if line[0] == " ":
            end = _find_indented(lines, at, 1)
            return write_element(
                "blockquote", self._write_blocks(_dedent(lines[at:end]), depth=depth + 1)
            ), end
        if _EXPLICIT.match(line):
            return self._write_explicit(lines, at, depth)
        if line.startswith("__ ") or (_ADORNMENT.fullmatch(line) and not is_simple(line)):
            return "", at + 1
        if is_grid(line) or is_simple(line):
            return self._write_table(lines, at)
        for pattern, write in (
            (_BULLET, self._write_list),
            (_NUMBER, self._write_list),
            (_FIELD, self._write_fields),
            (_OPTION, self._write_options),
        ):
            if pattern.match(line) and _is_list(lines, at, pattern):
                return write(lines, at, depth, pattern)
        if line.startswith("| ") or line == "|":
            end = _find_while(lines, at, lambda each: each.startswith(("|", " ")))
            return write_element(
                "p", "<br>".join(self._inline(each.lstrip("| ")) for each in lines[at:end])
            ), end
        if line.startswith(">>>"):
            end = _find_while(lines, at, bool)
            return write_code(lines[at:end]), end
        return self._write_paragraph(lines, at, depth)

    def _find_title(self, lines: Sequence[str], at: int) -> tuple[str, str, int] | None:
        """Find a section title: its text, its style, and the line after it."""
        line = lines[at]
        under = lines[at + 1] if at + 1 < len(lines) else ""
        if _ADORNMENT.fullmatch(line) and under and at + 2 < len(lines):
            below = lines[at + 2]
            if _ADORNMENT.fullmatch(below) and below[0] == line[0] and not is_simple(line):
                return under.strip(), line[0] * 2, at + 3
        if line[0] == " " or not under or not _ADORNMENT.fullmatch(under) or _ADORNMENT.fullmatch(line):
            return None
        if len(under.rstrip()) < min(len(line), 4) or (
            at and lines[at - 1] and not _is_explicit(lines[at - 1])
        ):
            return None
        return line.strip(), under[0], at + 2

    def _write_title(self, title: str, style: str) -> str:
        if style not in self.styles:
            self.styles.append(style)
        return write_heading(
            self.styles.index(style) + 1, self._inline(title), anchor=self._make_anchor(title)
        )

    def _make_anchor(self, title: str) -> str:
        """Make the id that docutils gives to a section."""
        base = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-").lstrip("0123456789-")
        if not base or base in self.anchors:
            self.anchors[""] = self.anchors.get("", 0) + 1
            return f"id{self.anchors['']}"
        self.anchors[base] = 0
        return base

    def _write_paragraph(self, lines: Sequence[str], at: int, depth: int) -> tuple[str, int]:
        end = _find_while(lines, at, bool)
        if end > at + 1 and lines[at + 1].startswith(" "):
            return self._write_definition(lines, at, depth)
        block = list(lines[at:end])
        if not block[-1].endswith("::"):
            return write_element("p", self._inline(block)), end
        block[-1] = "" if block[-1].strip() == "::" else block[-1][:-1]
        text = write_element("p", self._inline([line for line in block if line]))
        start = _skip_blank(lines, end)
        if start < len(lines) and lines[start].startswith(" "):
            after = _find_indented(lines, start, 1)
        else:
            after = _find_while(lines, start, lambda each: bool(each) and each[0] in ">|$#-")
        return text + write_code(_dedent(lines[start:after])), after

    def _write_definition(self, lines: Sequence[str], at: int, depth: int) -> tuple[str, int]:
        end = _find_indented(lines, at + 1, 1)
        term = re.split(r"\s+:\s+", lines[at])
        body = self._write_blocks(_dedent(lines[at + 1 : end]), depth=depth + 1)
        return f"<dl><dt>{self._inline(' : '.join(term))}</dt><dd>{body}</dd></dl>", end

    def _write_list(
        self, lines: Sequence[str], at: int, depth: int, pattern: re.Pattern[str]
    ) -> tuple[str, int]:
        items: list[str] = []
        first = pattern.match(lines[at])
        start = first.group(1) if first and pattern is _NUMBER else ""
        while at < len(lines) and (found := pattern.match(lines[at])):
            end = _find_indented(lines, at + 1, 1)
            body = [lines[at][found.end() :], *_dedent(lines[at + 1 : end])]
            items.append(write_element("li", self._write_blocks(body, depth=depth + 1)))
            at = _skip_blank(lines, end)
        if pattern is _BULLET:
            return write_element("ul", "".join(items)), at
        number = f' start="{int(start)}"' if start.isdigit() else ""
        return f"<ol{number}>{''.join(items)}</ol>", at

    def _write_fields(
        self, lines: Sequence[str], at: int, depth: int, pattern: re.Pattern[str]
    ) -> tuple[str, int]:
        """Write a list of fields. Those at the head of a page say things about it, and are not shown."""
        is_head = not self.begun and depth == 0
        written: list[str] = []
        while at < len(lines) and (found := pattern.match(lines[at])):
            end = _find_indented(lines, at + 1, 1)
            name, body = found.group(1), [lines[at][found.end() :], *_dedent(lines[at + 1 : end])]
            if is_head:
                self.fields[name.strip().lower()] = " ".join(" ".join(body).split())
            if not is_head or name.lower() in ("abstract", "dedication"):
                text = self._write_blocks(body, depth=depth + 1)
                written.append(f"<dt>{self._inline(name)}</dt><dd>{text}</dd>")
            at = _skip_blank(lines, end)
        return write_element("dl", "".join(written)), at

    def _write_options(
        self, lines: Sequence[str], at: int, depth: int, pattern: re.Pattern[str]
    ) -> tuple[str, int]:
        written: list[str] = []
        while at < len(lines) and (found := pattern.match(lines[at])):
            end = _find_indented(lines, at + 1, 1)
            body = self._write_blocks(
                [lines[at][found.end() :], *_dedent(lines[at + 1 : end])], depth=depth + 1
            )
            written.append(f"<dt><code>{escape(found.group(1))}</code></dt><dd>{body}</dd>")
            at = _skip_blank(lines, end)
        return write_element("dl", "".join(written)), at

    def _write_table(self, lines: Sequence[str], at: int) -> tuple[str, int]:
        if is_grid(lines[at]):
            end = _find_while(lines, at, lambda each: each[:1] in ("+", "|"))
            rows, heads = split_grid(lines[at:end])
        else:
            end, rows, heads = split_simple(lines, at)
        return write_rows(rows, heads, self._inline), end

    def _write_explicit(self, lines: Sequence[str], at: int, depth: int) -> tuple[str, int]:
        """Write what begins with two dots: a directive, a note, a target or a comment."""
        end = _find_indented(lines, at + 1, 1)
        first = lines[at][2:].strip()
        body = _dedent(lines[at + 1 : end])
        if found := _NOTE.match(first + " "):
            text = self._inline([first[found.end() :], *body])
            return write_element("p", f"[{escape(found.group(1).lstrip('#') or '*')}] {text}"), end
        found = _DIRECTIVE.match(first)
        if not found or found.group("name"):
            return "", end
        return self._write_directive(_split_directive(found, body), depth), end

    def _write_directive(self, found: Directive, depth: int) -> str:
        kind, content = found.kind, found.content
        if kind == "toctree":
            self.toctrees.append(found)
        if kind == "image" or kind in _SILENT or kind.startswith("auto"):
            alt = escape(found.options.get("alt", ""))
            return f'<p><img alt="{alt}"></p>' if alt and kind == "image" else ""
        if kind in ("include", "literalinclude"):
            return self._write_included(found, depth)
        if kind in _CODE:
            caption = write_element("p", self._inline(found.options.get("caption", "")))
            return caption + write_code(content or [found.argument])
        if kind == "math":
            formulas = "\n".join([found.argument, *content]).split("\n\n")
            return "".join(write_formula(formula, display=True) for formula in formulas)
        if kind in ("list-table", "csv-table"):
            return self._write_data_table(found)
        body = self._write_blocks(content, depth=depth + 1)
        said = self._inline(found.argument)
        if kind in _ADMONITIONS:
            label = "See also" if kind == "seealso" else kind.capitalize()
            return f"<p>{label}: {said}</p>{body}" if said else f"<p>{label}:</p>{body}"
        if kind in _VERSIONS:
            version, _, more = found.argument.partition(" ")
            return write_element("p", f"{_VERSIONS[kind]} {escape(version)}: {self._inline(more)}") + body
        if kind in _TITLED:
            return write_element("p", f"<strong>{said}</strong>" if said else "") + body
        if kind in _PLAIN or not found.argument:
            return body
        if kind in ("deprecated-removed", "availability", "impl-detail", "audit-event"):
            return write_element("p", said) + body
        # What is left describes something: a function, an option, a setting.
        names = "".join(f"<dt><code>{escape(line)}</code></dt>" for line in found.argument.split("\n"))
        return f"<dl>{names}<dd>{body}</dd></dl>"

    def _write_included(self, found: Directive, depth: int) -> str:
        text = self.load(found.argument) if self.including < _DEEPEST_INCLUDE else None
        if text is None:
            return ""
        lines = [line.rstrip() for line in text.expandtabs(8).split("\n")]
        if found.kind == "literalinclude" or "literal" in found.options or "code" in found.options:
            return write_code(lines)
        self.including += 1
        written = self._write_blocks(lines, depth=depth, top=depth == 0)
        self.including -= 1
        return written

    def _write_data_table(self, found: Directive) -> str:
        if found.kind == "csv-table":
            separator = found.options.get("delim", ",")
            given = [line.strip() for line in found.content if line]
            rows = list(
                csv.reader(given, delimiter=separator if len(separator) == 1 else ",", skipinitialspace=True)
            )
            head = found.options.get("header", "")
            names = next(csv.reader([head], skipinitialspace=True), []) if head else []
            rows, heads = (
                ([names, *rows], 1) if names else (rows, _read_count(found.options.get("header-rows")))
            )
        else:
            rows = [
                [" ".join(cell) for cell in _split_items(row, _BULLET)]
                for row in _split_items(found.content, _BULLET)
            ]
            heads = _read_count(found.options.get("header-rows"))
        caption = write_element("p", self._inline(found.argument))
        return caption + write_rows(rows, heads, self._inline)


def _read_count(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 4 else 0


def _split_items(lines: Sequence[str], pattern: re.Pattern[str]) -> list[list[str]]:
    """Split the items of a list into their lines, without marks and indents."""
    items: list[list[str]] = []
    at = 0
    while at < len(lines):
        found = pattern.match(lines[at])
        if not found:
            at += 1
            continue
        end = _find_indented(lines, at + 1, 1)
        items.append([lines[at][found.end() :], *_dedent(lines[at + 1 : end])])
        at = end
    return items


def _split_directive(found: re.Match[str], body: list[str]) -> Directive:
    """Split a directive's arguments from its options and its content."""
    arguments = [found.group("rest") or ""]
    at = 0
    while at < len(body) and body[at] and not _FIELD.match(body[at]):
        at += 1
    own = body[:at]
    kind = found.group("kind")
    # Lines that go on right under the directive belong to its content, unless it describes several names.
    is_named = bool(arguments[0]) and kind not in _ADMONITIONS and (at < len(body) or kind in _SILENT)
    arguments += own if is_named else []
    rest = body[at:] if is_named else body
    options: dict[str, str] = {}
    start = 0
    while start < len(rest) and (option := _FIELD.match(rest[start])):
        options[option.group(1).strip()] = rest[start][option.end() :].strip()
        start += 1
    content = list(rest[_skip_blank(rest, start) :])
    return Directive(kind, "\n".join(a for a in arguments if a).strip(), options, content)


def _is_explicit(line: str) -> bool:
    return bool(_EXPLICIT.match(line))


def _is_list(lines: Sequence[str], at: int, pattern: re.Pattern[str]) -> bool:
    """Whether a line that looks like an item is one, and not the first line of a paragraph."""
    if pattern is not _NUMBER or at + 1 >= len(lines) or not lines[at + 1]:
        return True
    return lines[at + 1].startswith(" ") or bool(pattern.match(lines[at + 1]))


def _find_while(lines: Sequence[str], at: int, check: Callable[[str], bool]) -> int:
    while at < len(lines) and check(lines[at]):
        at += 1
    return at


def _skip_blank(lines: Sequence[str], at: int) -> int:
    return _find_while(lines, at, lambda line: not line)


def _find_indented(lines: Sequence[str], at: int, least: int) -> int:
    """Return the end of the lines that are indented or blank; blank ones at the end are not of them."""
    end = at
    while at < len(lines):
        if lines[at]:
            if len(lines[at]) - len(lines[at].lstrip(" ")) < least:
                break
            end = at + 1
        at += 1
    return end


def _dedent(lines: Sequence[str]) -> list[str]:
    return textwrap.dedent("\n".join(lines)).split("\n") if lines else []
