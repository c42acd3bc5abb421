"""Read the common syntax of AsciiDoc and write it as HTML.

Sections, paragraphs, lists, definitions, tables, delimited blocks, admonitions, attributes and inclusions are
understood. Conditions (`ifdef::`) count attributes that the document sets. Files are included only through
the function that the caller gives; passthrough blocks and macros of extensions are left out.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape

from octavo.readers.documents.book import write_code, write_element, write_formula, write_heading

_ATTRIBUTE = re.compile(r":(!?)([\w-]{1,100})(!?):(?:\s+(.*))?$")
_SECTION = re.compile(r"(={1,6}|#{1,6})\s+(\S.*)$")
_UNORDERED = re.compile(r"\s*(\*{1,6}|-)\s+(\S.*)$")
_ORDERED = re.compile(r"\s*(\.{1,6}|\d{1,9}\.)\s+(\S.*)$")
_TERM = re.compile(r"(\S.*?)(:{2,4}|;;)(?:\s+(.*))?$")
_BLOCK_ATTRIBUTES = re.compile(r"\[([^\[\]]*)\]$")
_ANCHOR = re.compile(r"\[\[([^\[\],]{1,200})(?:,[^\[\]]*)?\]\]$")
_MACRO = re.compile(r"(include|image|video|audio|toc|ifdef|ifndef|ifeval|endif)::([^\[\]]*)\[(.*)\]$")
_ADMONITION = re.compile(r"(NOTE|TIP|IMPORTANT|WARNING|CAUTION):\s+(.*)")
_FENCE = re.compile(r"(-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|--|`{3,}|[|,:!]={3,})(\w*)$")
_INLINE = re.compile(
    r"(?P<pass>\+\+\+.{0,2000}?\+\+\+|pass:\w*\[[^\]]{0,2000}\])"
    r"|(?P<code>(?<![\w`])`\+?(?P<codetext>[^`\s](?:[^`]{0,2000}[^`\s])?)\+?`(?![\w`]))"
    r"|(?P<strong>(?<![\w*])\*(?P<strongtext>[^*\s](?:[^*]{0,2000}[^*\s])?)\*(?!\w)|\*\*(?P<strongs>[^*]{1,2000})\*\*)"
    r"|(?P<emphasis>(?<![\w_])_(?P<emphasistext>[^_\s](?:[^_]{0,2000}[^_\s])?)_(?!\w)|__(?P<emphases>[^_]{1,2000})__)"
    r"|(?P<cross><<(?P<target>[^<>,]{1,300})(?:,(?P<crosstext>[^<>]{0,500}))?>>)"
    r"|(?P<link>(?:link:|xref:|mailto:|(?=https?://|ftp://))(?P<address>[^\s\[\]<>]{1,1000})\[(?P<linktext>[^\]]{0,1000})\])"
    r"|(?P<macro>(?P<macroname>kbd|btn|menu|footnote|image|icon|stem|latexmath|asciimath|indexterm2?|anchor):?"
    r"(?P<macrotarget>[^\s\[\]]{0,300})\[(?P<macrotext>(?:\\\]|[^\]]){0,2000})\])"
    r"|(?P<index>\(\(\([^()]{1,500}\)\)\))"
    r"|(?P<anchor>\[\[[^\[\]]{1,200}\]\])"
    r"|(?P<name>\{(?P<attribute>[\w-]{1,100})\})"
    r"|(?P<mark>(?<!\w)(?:\[[^\[\]]{0,100}\])?#(?P<marktext>[^#\s](?:[^#]{0,500}[^#\s])?)#(?!\w))",
    re.DOTALL,
)
# A cell may state its span, place and style before its bar.
_SPECIFIED = r"(?:(?:^|\s)(?:\d{0,4}\.?\d{0,4}[<^>.]{0,4}[+*]?[aehlmdsv]?)|(?<!\\))"
_CELL, _NESTED_CELL = re.compile(_SPECIFIED + r"\|"), re.compile(_SPECIFIED + "!")
_WORDS = {"nbsp": " ", "sp": " ", "empty": "", "blank": "", "plus": "+", "amp": "&", "lt": "<", "gt": ">"}
_LABELS = frozenset(("NOTE", "TIP", "IMPORTANT", "WARNING", "CAUTION"))
_CODE_STYLES = frozenset(("source", "listing", "literal"))
_DEEPEST, _DEEPEST_INCLUDE = 30, 10
_SILENT_FENCES = ("+", "/")


@dataclass(slots=True)
class AdocPage:
    """A page while it is written. `load` returns the text of a file that it includes, or None."""

    load: Callable[[str], str | None]
    attributes: dict[str, str] = field(default_factory=dict)
    title: str = ""
    authors: tuple[str, ...] = ()
    anchors: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    def write(self, text: str) -> str:
        """Write a whole page; its document title is kept apart."""
        lines = self._resolve(text.expandtabs(4).split("\n"), 0)
        return self._write_blocks(self._read_head(lines), depth=0)

    def _resolve(self, lines: Sequence[str], depth: int) -> list[str]:
        """Carry out inclusions and conditions, and read the attributes that they depend on."""
        kept: list[str] = []
        states: list[bool] = []
        for raw in lines:
            line = raw.rstrip()
            found = _MACRO.match(line)
            kind = found.group(1) if found else ""
            if found and kind in ("ifdef", "ifndef", "ifeval"):
                if found.group(3) and kind != "ifeval":
                    kept += [found.group(3)] if all(states) and self._holds(kind, found.group(2)) else []
                else:
                    states.append(kind == "ifeval" or self._holds(kind, found.group(2)))
            elif kind == "endif":
                del states[-1:]
            elif not all(states):
                continue
            elif found and kind == "include":
                kept += self._include(found.group(2), found.group(3), depth)
            else:
                self._set_attribute(line)
                kept.append(line)
        return kept

    def _holds(self, kind: str, names: str) -> bool:
        is_set = any(name.strip() in self.attributes for name in re.split("[,+]", names))
        return is_set is (kind == "ifdef")

    def _set_attribute(self, line: str) -> None:
        found = _ATTRIBUTE.match(line)
        if found:
            before, name, after, value = found.groups()
            if before or after:
                self.attributes.pop(name, None)
            else:
                self.attributes[name] = self._substitute(value or "")

    def _substitute(self, text: str) -> str:
        known = _WORDS | self.attributes
        return re.sub(r"\{([\w-]{1,100})\}", lambda m: known.get(m.group(1), m.group()), text)

    def _include(self, target: str, options: str, depth: int) -> list[str]:
        text = self.load(self._substitute(target)) if depth < _DEEPEST_INCLUDE else None
        if text is None:
            return []
        lines = text.expandtabs(4).split("\n")
        if tags := re.search(r"tags?=([\w;,-]+)", options):
            lines = _select_tags(lines, set(re.split("[;,]", tags.group(1))))
        shift = re.search(r"leveloffset=\+?(\d)", options)
        if shift:
            lines = [("=" * int(shift.group(1)) + line if _SECTION.match(line) else line) for line in lines]
        return self._resolve(lines, depth + 1)

    def _read_head(self, lines: list[str]) -> list[str]:
        """Read title and authors from the head of the page, and return the rest."""
        at = 0
        while at < len(lines) and (not lines[at].strip() or lines[at].startswith(("//", ":"))):
            at += 1
        found = _SECTION.match(lines[at]) if at < len(lines) else None
        if not found or len(found.group(1)) > 1:
            return lines
        self.title = re.sub("<[^>]*>", "", self._inline(found.group(2)))
        at += 1
        if at < len(lines) and re.match(r"\w[\w.' -]*(?: <[^<>]+>)?(?:;|$)", lines[at]):
            names = (re.sub(r"<[^<>]*>", "", name).strip() for name in lines[at].split(";"))
            self.authors = tuple(name for name in names if name)
            at += 1
            if at < len(lines) and re.match(r"v?\d", lines[at]):
                at += 1
        return lines[at:]

    def _write_blocks(self, lines: Sequence[str], *, depth: int) -> str:
        written: list[str] = []
        at, style, title, anchor = 0, "", "", ""
        if depth > _DEEPEST:
            return write_element("p", self._inline(" ".join(lines)))
        while at < len(lines):
            line = lines[at]
            if not line.strip() or (line.startswith("//") and not line.startswith("////")):
                at += 1
            elif found := _ANCHOR.match(line):
                anchor, at = found.group(1), at + 1
            elif _ATTRIBUTE.match(line):
                self._set_attribute(line)
                at += 1
            elif (found := _BLOCK_ATTRIBUTES.match(line)) and at + 1 < len(lines):
                style, at = found.group(1), at + 1
                named = re.search(r"#([\w-]+)|id=\"?([\w-]+)", style)
                anchor = (named.group(1) or named.group(2)) if named else anchor
            elif re.match(r"\.[^\s.]", line) and not _ORDERED.match(line):
                title, at = line[1:], at + 1
            else:
                caption = write_element("p", self._inline(title))
                markup, at = self._write_block(lines, at, style, anchor, depth)
                written += (caption, markup, *self._take_notes())
                style, title, anchor = "", "", ""
        return "".join(written)

    def _write_block(
        self, lines: Sequence[str], at: int, style: str, anchor: str, depth: int
    ) -> tuple[str, int]:
        line = lines[at]
        if found := _SECTION.match(line):
            return self._write_section(found, style, anchor), at + 1
        if found := _FENCE.match(line):
            return self._write_fenced(lines, at, style, depth)
        if found := _MACRO.match(line):
            alt = escape(found.group(3).split(",")[0].strip("\"'"))
            return (f'<p><img alt="{alt}"></p>' if found.group(1) == "image" else ""), at + 1
        if line in ("'''", "<<<", "---", "***"):
            return "", at + 1
        if _UNORDERED.match(line) or _ORDERED.match(line):
            return self._write_list(lines, at, depth)
        if _TERM.match(line) and not line.startswith(" ") and not _begins_block(line):
            return self._write_terms(lines, at, depth)
        end = _find_paragraph(lines, at)
        kind = style.split(",")[0].split("%")[0].strip()
        if line.startswith(" ") or kind in _CODE_STYLES:
            return write_code(_dedent(lines[at:end])), end
        text = "\n".join(lines[at:end])
        if found := _ADMONITION.match(text):
            return f"<p>{found.group(1).capitalize()}: {self._inline(text[found.start(2) :])}</p>", end
        label = f"{kind.capitalize()}: " if kind in _LABELS else ""
        tag = "blockquote" if kind in ("quote", "verse") else "p"
        return write_element(tag, label + self._inline(text)), end

    def _write_section(self, found: re.Match[str], style: str, anchor: str) -> str:
        text = self._inline(found.group(2))
        if style.split(",")[0] == "discrete":
            return write_element("p", f"<strong>{text}</strong>")
        plain = re.sub("<[^>]*>", "", text).lower()
        base = "_" + re.sub(r"[^\w]+", "_", re.sub(r"[^\w\s.-]", "", plain)).strip("_")
        made, number = base, 2
        while made in self.anchors:
            made, number = f"{base}_{number}", number + 1
        self.anchors.add(made)
        # The document title is level 1, so that chapters are level 2 in every page.
        return write_heading(len(found.group(1)), text, anchor=anchor or made)

    def _write_fenced(self, lines: Sequence[str], at: int, style: str, depth: int) -> tuple[str, int]:
        fence = lines[at]
        end_mark = fence[:3] if fence.startswith("```") else fence
        end = at + 1
        while end < len(lines) and lines[end] != end_mark:
            end += 1
        body = lines[at + 1 : end]
        kind = style.split(",")[0].split("%")[0].strip()
        if kind in ("stem", "latexmath"):
            return self._write_stem(kind, "\n".join(body), display=True), end + 1
        if fence[0] in _SILENT_FENCES:
            return "", end + 1
        if fence[0] in "|,:!":
            return self._write_table(body, style, fence[0]), end + 1
        if (fence[0] in "-.`" and fence != "--") or kind in _CODE_STYLES:
            return write_code([re.sub(r"\s*<(?:\d+|\.)>\s*$", "", line) for line in body]), end + 1
        inner = self._write_blocks(body, depth=depth + 1)
        label = f"<p>{kind.capitalize()}:</p>" if kind in _LABELS else ""
        return label + (write_element("blockquote", inner) if fence[0] == "_" else inner), end + 1

    def _write_table(self, body: Sequence[str], style: str, mark: str) -> str:
        stated = re.search(r"cols=\"?([^\"\]]*)", style)
        width = _count_columns(stated.group(1)) if stated else 0
        cells: list[str] = []
        for number, line in enumerate(body):
            if not line.strip():
                continue
            found = _split_cells(line, mark, style)
            if found[0].strip() and cells:
                cells[-1] += " " + found[0].strip()
            new = [cell.strip() for cell in found[1:]]
            width = width or len(new)
            cells += new
            has_head = number == 0 and len(body) > 1 and not body[1].strip()
            style += ",header" if has_head else ""
        step = max(1, width)
        rows = [cells[start : start + step] for start in range(0, len(cells), step)]
        written = []
        for number, row in enumerate(rows):
            tag = "th" if number == 0 and "header" in style else "td"
            written.append(write_element("tr", "".join(f"<{tag}>{self._inline(c)}</{tag}>" for c in row)))
        return write_element("table", "".join(written))

    def _write_list(self, lines: Sequence[str], at: int, depth: int) -> tuple[str, int]:
        """Write a list with all lists inside it; marks of one kind are of one level."""
        written: list[str] = []
        open_: list[tuple[str, str]] = []
        while at < len(lines):
            found = _UNORDERED.match(lines[at]) or _ORDERED.match(lines[at])
            if not found:
                break
            mark = "." if found.group(1)[0].isdigit() else found.group(1)
            tag = "ol" if mark[0] == "." else "ul"
            if mark in [m for m, _ in open_]:
                while open_[-1][0] != mark:
                    written.append(f"</li></{open_.pop()[1]}>")
                written.append("</li>")
            elif len(open_) < _DEEPEST:
                open_.append((mark, tag))
                written.append(f"<{tag}>")
            body, at = self._read_item(lines, at, found.group(2), depth)
            written.append(f"<li>{body}")
        written += [f"</li></{tag}>" for _, tag in reversed(open_)]
        return "".join(written), at

    def _read_item(self, lines: Sequence[str], at: int, first: str, depth: int) -> tuple[str, int]:
        """Read the text of an item and the blocks that `+` attaches to it."""
        end = at + 1
        words = [re.sub(r"^\[[ x*]\]\s+", "", first)]
        while end < len(lines) and lines[end].strip() and not _begins_item(lines[end]):
            words.append(lines[end].strip())
            end += 1
        parts = [write_element("p", self._inline("\n".join(words)))]
        while end < len(lines) and lines[end] == "+":
            start = end + 1
            after = _find_attached(lines, start)
            parts.append(self._write_blocks(lines[start:after], depth=depth + 1))
            end = after
        following = end
        while following < len(lines) and not lines[following].strip():
            following += 1
        goes_on = following < len(lines) and (
            _UNORDERED.match(lines[following]) or _ORDERED.match(lines[following])
        )
        return "".join(parts), following if goes_on else end

    def _write_terms(self, lines: Sequence[str], at: int, depth: int) -> tuple[str, int]:
        written: list[str] = []
        while at < len(lines) and (found := _TERM.match(lines[at])) and not _begins_block(lines[at]):
            first = found.group(3) or ""
            if not first:
                while at + 1 < len(lines) and not lines[at + 1].strip():
                    at += 1
                nested = at + 1 < len(lines) and (
                    _UNORDERED.match(lines[at + 1]) or _ORDERED.match(lines[at + 1])
                )
                if nested:
                    body, end = self._write_list(lines, at + 1, depth + 1)
                elif (
                    at + 1 < len(lines)
                    and not _TERM.match(lines[at + 1])
                    and not _begins_block(lines[at + 1])
                ):
                    body, end = self._read_item(lines, at + 1, lines[at + 1].strip(), depth)
                else:
                    body, end = "", at + 1
            else:
                body, end = self._read_item(lines, at, first, depth)
            written.append(f"<dt>{self._inline(found.group(1))}</dt><dd>{body}</dd>")
            at = end
            while at < len(lines) and not lines[at].strip():
                at += 1
        return write_element("dl", "".join(written)), at

    def _inline(self, text: str) -> str:
        parts: list[str] = []
        end = 0
        text = re.sub(r" \+(?=\n|$)", "", text)
        for found in _INLINE.finditer(text):
            parts += (escape(text[end : found.start()]), self._write_mark(found))
            end = found.end()
        return "".join([*parts, escape(text[end:])])

    def _write_mark(self, found: re.Match[str]) -> str:
        said = found.groupdict()
        if said["code"]:
            return f"<code>{escape(self._substitute(said['codetext']))}</code>"
        if said["strong"]:
            return f"<strong>{escape(self._substitute(said['strongtext'] or said['strongs']))}</strong>"
        if said["emphasis"]:
            return f"<em>{escape(self._substitute(said['emphasistext'] or said['emphases']))}</em>"
        if said["cross"]:
            return escape(said["crosstext"] or said["target"].rpartition("#")[2])
        if said["link"]:
            words = said["linktext"].split(",role=")[0].split(",window=")[0].strip('^" ')
            return escape(self._substitute(words or said["address"]))
        if said["macro"]:
            return self._write_macro(said["macroname"], said["macrotext"].replace("\\]", "]"))
        if said["name"]:
            value = (_WORDS | self.attributes).get(said["attribute"])
            return escape(value if value is not None else found.group())
        if said["mark"]:
            return escape(said["marktext"])
        return ""

    def _write_macro(self, name: str, text: str) -> str:
        if name == "footnote":
            self.notes.append(text)
            return f"[{len(self.notes)}]"
        if name.startswith("indexterm"):
            return escape(text) if name.endswith("2") else ""
        if name in ("stem", "latexmath"):
            return self._write_stem(name, text)
        return "" if name == "anchor" else escape(text.split(",")[0])

    def _write_stem(self, kind: str, text: str, *, display: bool = False) -> str:
        """Write a formula in TeX. One in AsciiMath, which the others are, stays as it is written."""
        if kind == "latexmath" or self.attributes.get("stem") in ("latexmath", "tex"):
            return write_formula(text, display=display)
        return write_code(text.split("\n")) if display else escape(text)

    def _take_notes(self) -> list[str]:
        """Return the notes of the block that was just written; each keeps its number."""
        new = [(n, text) for n, text in enumerate(self.notes, start=1) if text]
        self.notes = [""] * len(self.notes)
        return [f"<p>[{number}] {escape(text)}</p>" for number, text in new]


def _begins_block(line: str) -> bool:
    patterns = (_UNORDERED, _ORDERED, _FENCE, _SECTION, _BLOCK_ATTRIBUTES, _ANCHOR, _MACRO)
    return line == "+" or any(pattern.match(line) for pattern in patterns)


def _begins_item(line: str) -> bool:
    return _begins_block(line) or bool(_TERM.match(line))


def _find_paragraph(lines: Sequence[str], at: int) -> int:
    end = at + 1
    while end < len(lines) and lines[end].strip() and not _FENCE.match(lines[end]) and lines[end] != "+":
        if _BLOCK_ATTRIBUTES.match(lines[end]) or _MACRO.match(lines[end]):
            break
        end += 1
    return end


def _find_attached(lines: Sequence[str], at: int) -> int:
    """Return the end of the block that a `+` attaches: a fence with its content, or a paragraph."""
    while at < len(lines) and (_BLOCK_ATTRIBUTES.match(lines[at]) or re.match(r"\.[^\s.]", lines[at])):
        at += 1
    if at < len(lines) and _FENCE.match(lines[at]):
        end = at + 1
        while end < len(lines) and lines[end] != lines[at]:
            end += 1
        return min(end + 1, len(lines))
    return min(_find_paragraph(lines, at), len(lines))


def _split_cells(line: str, mark: str, style: str) -> list[str]:
    """Split a line of a table: what goes on in the cell before it, and the cells that begin in it."""
    stated = re.search(r"format=\"?([a-z]+)", style)
    kind = stated.group(1) if stated else {",": "csv", ":": "dsv"}.get(mark, "psv")
    if kind == "csv":
        try:
            return ["", *next(csv.reader([line], skipinitialspace=True), [])]
        except csv.Error:
            return ["", line]
    if kind != "psv":
        return ["", *line.split(":")] if kind == "dsv" else ["", line]
    return [cell.replace("\\|", "|") for cell in (_NESTED_CELL if mark == "!" else _CELL).split(line)]


def _count_columns(stated: str) -> int:
    """Count the columns that `cols=` states: `3*`, `1,2,3` or `<.^2,3a`."""
    count = 0
    for part in re.split("[,;]", stated):
        times = re.match(r"\s*(\d{1,3})\*", part)
        count += int(times.group(1)) if times else 1
    return min(count, 100)


def _select_tags(lines: Sequence[str], wanted: set[str]) -> list[str]:
    kept: list[str] = []
    open_: set[str] = set()
    for line in lines:
        if found := re.search(r"\b(tag|end)::([\w-]+)\[\]", line):
            (open_.add if found.group(1) == "tag" else open_.discard)(found.group(2))
        elif open_ & wanted or "**" in wanted:
            kept.append(line)
    return kept


def _dedent(lines: Sequence[str]) -> list[str]:
    least = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[least:] for line in lines]
