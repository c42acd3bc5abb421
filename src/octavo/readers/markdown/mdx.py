"""Turn MDX into Markdown: drop the program, keep the prose.

`strip_mdx` removes imports, exports, JSX tags, expressions and comments, and never touches code fences,
inline code or formulas. It keeps what a tag shows: the text inside it, the label of a tab, the alternative
text of a picture, a partial that the page imports. Admonitions (`:::note Title`) become a line of text.
Nothing is executed, and the work is linear in the length of the source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from octavo.readers.markdown.render import read_alt, split_fences
from octavo.readers.titles import clean_line

_FARTHEST = 20_000
_IN_BRACES = re.compile(r"""[{}"'`]|/\*""")
_IN_TAG = re.compile(r"""["'{<>]|\n[ \t]*\n""")
_IN_STATEMENT = re.compile(r"""[(){}\[\]"'`\n]|/\*|//""")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_TICKS = re.compile(r"`+")
_Partial = Callable[[str], str | None]
_IMPORT = re.compile(
    r"^import\s{1,9}(?:type\s{1,9})?"
    r"(?:((?:[\w$]{1,200}\s{0,9},?\s{0,9})?(?:\{[^{};'\"]{0,1500}\}|\*\s{1,9}as\s{1,9}[\w$]{1,200})?)"
    r"\s{0,9}\bfrom\s{0,9})?['\"]([^'\"\n]{1,500})['\"][ \t]*;?[ \t]*(?://.*)?$",
    re.MULTILINE,
)
_EXPORT = re.compile(
    r"^export\s+(?:default\b|const\b|let\b|var\b|(?:async\s+)?function\b|class\b|type\b|interface\b|\{|\*)",
    re.MULTILINE,
)
_GOES_ON = re.compile(r"(?:[=(,:?+]|=>|&&|\|\|)\s*$")
_TOKEN = re.compile(r"`+|\\.|\$\$?|<!--|</?[A-Za-z][\w.:-]*|</?>|\{", re.DOTALL)
_ADMONITION = re.compile(r"^([ \t]*):{3,}[ \t]*([A-Za-z][\w-]*)[ \t]*(.*)$")
_ADMONITION_TITLE = re.compile(r'\{\s*title="[^"\n]*"\s*\}')
_TITLE = re.compile(r"\[(.*?)\]|title=\"([^\"]*)\"")
_ATTRIBUTE = r"""\b%s\s*=\s*(?:"([^"]*)"|'([^']*)'|\{\s*["'`]([^"'`]*)["'`]\s*\})"""
_STRING = re.compile(r"""\{\s*(?:'([^'\n]*)'|"([^"\n]*)"|`([^`$]*)`)\s*\}""")
_COMMENT_ID = re.compile(r"\{/\*\s*#([\w-]+)\s*\*/\}")
_JAVASCRIPT = re.compile(r"[<.(?]|=>|&&|^\{\s*\.\.\.")
_KEPT_TAGS = frozenset(re.findall(r"\w+", "br table thead tbody tfoot tr td th h1 h2 h3 h4 h5 h6"))
_BLOCK_TAGS = frozenset(
    re.findall(
        r"\w+",
        "p div section article header footer main aside ul ol dl dt dd details summary figure figcaption "
        "blockquote center TabItem Tabs Admonition pre hr",
    )
)
_SILENT_TAGS = frozenset(("style", "script", "svg"))
_WRAPPED = re.compile(r"^(`{3,}|~{3,})mdx-code-block[ \t]*\n(.*?)^\1[ \t]*$", re.DOTALL | re.MULTILINE)
_MAGIC = re.compile(
    r"^\s*(?://|/\*|#|<!--|\{/\*|--|%|;)\s*highlight-(?:next-line|start|end)\s*(?:\*/\}?|-->)?\s*$"
)
_CONTAINERS = re.compile(r"(?:[ \t>]|(?:[-*+]|\d{1,9}[.)])[ \t])*")
_WIDEST, _MOST_INLINED = 2_000, 4_000_000
_OPEN, _CLOSE = "\x01", "\x02"


def strip_mdx(source: str, *, partial: _Partial = lambda _name: None, strict: bool = True) -> str:
    """Return the Markdown of an MDX source; `partial` returns the text of an imported file, or None.

    A page that is not `strict` MDX keeps braces that are no program: `{dataset_id}` is a word there.
    """
    imports: dict[str, str] = {}
    source = _WRAPPED.sub(r"\2", source) if "mdx-code-block" in source else source
    bare = "".join(text if code else _drop_modules(text, imports) for code, text in split_fences(source))
    shown = {name: text for name, ref in imports.items() if (text := partial(ref)) is not None}
    parts = [
        text if code else _ProseReader(text, shown, strict=strict).read() for code, text in split_fences(bare)
    ]
    return "".join(_write_lines("".join(parts))).replace(_OPEN, "").replace(_CLOSE, "")


def drop_highlight_comments(_info: str, text: str) -> str:
    """Drop the comments of a code block that only say which lines to highlight."""
    if "highlight-" not in text:
        return text
    return "\n".join(line for line in text.split("\n") if not _MAGIC.match(line))


def _drop_modules(text: str, imports: dict[str, str]) -> str:
    def forget(found: re.Match[str]) -> str:
        name = (found.group(1) or "").strip()
        if re.fullmatch(r"\w+", name):
            imports[name] = found.group(2)
        return ""

    text = _IMPORT.sub(forget, text) if "import" in text else text
    kept, position = [], 0
    while found := _EXPORT.search(text, position):
        kept.append(text[position : found.start()])
        position = _find_statement_end(text, found.start())
    return "".join((*kept, text[position:]))


def _find_statement_end(text: str, start: int) -> int:
    """Find the first line end outside brackets after which the statement does not continue."""
    scanner = _Scanner(text)
    for position in scanner.find_line_ends(start):
        if not _GOES_ON.search(text, max(start, position - 40), position):
            return position
    return len(text)


class _ProseReader:
    """Reads the text between code fences once, from start to end."""

    def __init__(self, text: str, partials: dict[str, str], *, strict: bool) -> None:
        self._text, self._partials, self._strict = text, partials, strict
        self._scanner = _Scanner(text)
        self._out: list[str] = []
        self._inlined = 0

    def read(self) -> str:
        text, done = self._text, 0
        while found := _TOKEN.search(text, done):
            self._out.append(text[done : found.start()])
            done = self._read_mark(found)
        self._out.append(text[done:])
        return "".join(self._out)

    def _read_mark(self, found: re.Match[str]) -> int:
        """Write what replaces the mark, and return where reading continues."""
        mark, start = found.group(), found.start()
        if mark[0] in "`$" or mark == "<!--":
            end = self._scanner.find_closing("-->" if mark == "<!--" else mark, found.end())
            return self._copy(start, found.end() if end is None else end)
        if mark[0] == "\\":
            return self._copy(start, found.end())
        if mark in ("<>", "</>"):
            return found.end()
        end = self._scanner.find_brace_end(start) if mark == "{" else self._scanner.find_tag_end(found.end())
        if end is None:
            return self._copy(start, found.end())
        piece = self._text[start:end]
        if mark == "{":
            self._out.append(self._read_expression(piece))
            return end
        return self._write_tag(mark, piece, start, end)

    def _copy(self, start: int, end: int) -> int:
        self._out.append(self._text[start:end])
        return end

    def _read_expression(self, piece: str) -> str:
        if piece.startswith("{#") or _ADMONITION_TITLE.fullmatch(piece):
            return piece
        if comment_id := _COMMENT_ID.fullmatch(piece):
            return f"{{#{comment_id.group(1)}}}"
        if string := _STRING.fullmatch(piece):
            return next((g for g in string.groups() if g), "")
        keeps = not self._strict and not piece.startswith("{/*") and not _JAVASCRIPT.search(piece)
        return piece if keeps else ""

    def _write_tag(self, mark: str, piece: str, start: int, end: int) -> int:
        name = mark.strip("</>")
        opening = not mark.startswith("</")
        alone = opening and not piece.endswith("/>")
        if name in _SILENT_TAGS and alone:
            return self._scanner.find_closing(f"</{name}>", end) or end
        if "://" in piece[: len(mark) + 3] or (name and "@" in piece and " " not in piece):
            # An address in angle brackets.
            return self._copy(start, end)
        if name in _KEPT_TAGS:
            self._out.append(piece if "{" not in piece else f"{mark}>")
            return end
        before, after = self._get_line_around(start, end)
        shown = self._describe_tag(name, piece, opening=opening)
        if not before.strip() and not after.strip():
            edge = (_OPEN if alone else "") if opening else _CLOSE
            self._out.append(f"{shown}\n\n{before}{edge}" if shown else edge)
        elif before.lstrip().startswith("|"):
            self._out.append(f" {shown} " if shown or name in _BLOCK_TAGS else "")
        elif name == "li":
            self._out.append("\n- " if opening else "")
        elif name in _BLOCK_TAGS or "\n" in shown:
            margin = f"\n{_make_margin(before)}"
            self._out.append(f"\n{margin}{shown}\n{margin}")
        else:
            self._out.append(shown)
        return end

    def _get_line_around(self, start: int, end: int) -> tuple[str, str]:
        """Return the rest of the line before and after a place."""
        head, tail = self._text[max(0, start - _WIDEST) : start], self._text[end : end + _WIDEST]
        return head.rpartition("\n")[2], tail.partition("\n")[0]

    def _describe_tag(self, name: str, piece: str, *, opening: bool) -> str:
        """Return what a reader of the page sees of the tag itself."""
        if not opening:
            return ""
        if name in self._partials:
            self._inlined += len(self._partials[name])
            return f"\n\n{self._partials[name]}\n\n" if self._inlined <= _MOST_INLINED else ""
        if name == "TabItem":
            return _read_attribute(piece, "label") or _read_attribute(piece, "value")
        if name == "Admonition":
            return _write_note(_read_attribute(piece, "type") or "note", _read_attribute(piece, "title"))
        return read_alt(piece) if name in ("img", "Image", "ThemedImage") else ""


def _make_margin(before: str) -> str:
    """Make the margin that keeps a new line inside the list items and quotes of the line before it."""
    marks = _CONTAINERS.match(before)
    return re.sub(r"[^>]", " ", marks.group()) if marks and marks.group().strip() else ""


def _read_attribute(tag: str, name: str) -> str:
    found = re.search(_ATTRIBUTE % name, tag)
    return clean_line(next((g for g in found.groups() if g), "")) if found else ""


def _write_note(kind: str, title: str) -> str:
    return f"{kind.capitalize()}: {title}".rstrip() if title else f"{kind.capitalize()}:"


def _write_lines(text: str) -> Iterator[str]:
    """Unindent the lines inside tags, since MDX has no indented code, and write admonitions as lines."""
    lines = [(code, line) for code, part in split_fences(text) for line in part.splitlines(keepends=True)]
    shifts = [0]
    for number, (code, line) in enumerate(lines):
        mark = "" if code else line.strip()
        if mark == _OPEN:
            inner = next(
                (_measure_indent(below) for _, below in lines[number + 1 : number + 9] if below.strip()), 0
            )
            shifts.append(shifts[-1] + max(0, inner - _measure_indent(line)))
            yield "\n"
        elif mark == _CLOSE:
            yield "\n"
            if len(shifts) > 1:
                shifts.pop()
        else:
            bare = line[min(shifts[-1], _measure_indent(line)) :]
            yield bare if code else _write_admonition(bare)


def _measure_indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _write_admonition(line: str) -> str:
    if ":::" not in line:
        return line
    if re.fullmatch(r"[ \t]*:{3,}[ \t]*\n?", line):
        return "\n"
    found = _ADMONITION.match(line.rstrip("\n"))
    if not found:
        return line
    indent, kind, rest = found.groups()
    titled = _TITLE.search(rest)
    title = next((g for g in titled.groups() if g), "") if titled else re.sub(r"\{.*\}", "", rest)
    return f"\n{indent}{_write_note(kind, title.strip())}\n\n"


class _Scanner:
    """Finds where things end in a text that mixes prose and program.

    All looking ahead is paid from one budget that grows with the text, so that even a hostile text takes
    linear time. Once the budget is spent, nothing is found any more.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._budget = 8 * len(text) + 50_000

    def find_closing(self, mark: str, start: int) -> int | None:
        """Return the place after `mark`; backticks and dollar signs close within their paragraph."""
        if self._budget <= 0:
            return None
        if mark[0] == "`":
            return self._find_ticks(len(mark), start)
        if mark[0] == "$":
            return self._find_formula_end(mark, start)
        end = self._text.find(mark, start)
        if not self._spend((len(self._text) if end < 0 else end) - start) or end < 0:
            return None
        return end + len(mark)

    def find_brace_end(self, start: int) -> int | None:
        """Return the place after the brace that closes the one at `start`."""
        depth, position = 0, start
        while found := _IN_BRACES.search(self._text, position, start + _FARTHEST):
            if not self._spend(found.end() - position):
                return None
            mark, position = found.group(), found.end()
            if mark == "{":
                depth += 1
            elif mark == "}":
                depth -= 1
                if not depth:
                    return position
            else:
                position = self._skip_quoted(mark, position)
        self._spend(_FARTHEST)
        return None

    def find_tag_end(self, start: int) -> int | None:
        """Return the place after a tag whose name ends at `start`; None when it is no tag."""
        position = start
        while found := _IN_TAG.search(self._text, position, start + _FARTHEST):
            if not self._spend(found.end() - position):
                return None
            mark, position = found.group(), found.end()
            if mark == ">":
                return position
            if mark == "{":
                end = self.find_brace_end(position - 1)
            elif mark in "\"'":
                end = self._text.find(mark, position, start + _FARTHEST) + 1
            else:
                return None
            if not end or not self._spend(end - position):
                return None
            position = end
        return None

    def find_line_ends(self, start: int) -> Iterator[int]:
        """Yield the line ends from `start` on that are outside brackets, strings and comments."""
        depth, position = 0, start
        while found := _IN_STATEMENT.search(self._text, position):
            mark, position = found.group(), found.end()
            if mark == "\n":
                if depth <= 0:
                    yield found.start()
            elif mark in "([{":
                depth += 1
            elif mark in ")]}":
                depth -= 1
            elif mark == "//":
                position = (self._text.find("\n", position) + 1 or len(self._text) + 1) - 1
            else:
                position = self._skip_quoted(mark, position)

    def _skip_quoted(self, opening: str, position: int) -> int:
        """Return the place after the string or comment that `opening` starts, if it ends."""
        mark = "*/" if opening == "/*" else opening
        last = position + _FARTHEST
        if mark in "\"'":
            last = (self._text.find("\n", position, last) + 1 or last + 1) - 1
        end = self._text.find(mark, position, last)
        self._spend(min(_FARTHEST, (last if end < 0 else end) - position))
        return position if end < 0 else end + len(mark)

    def _find_ticks(self, size: int, start: int) -> int | None:
        blank = _BLANK_LINE.search(self._text, start)
        last = blank.start() if blank else len(self._text)
        if not self._spend(last - start):
            return None
        for found in _TICKS.finditer(self._text, start, last):
            if len(found.group()) == size:
                return found.end()
        return None

    def _find_formula_end(self, mark: str, start: int) -> int | None:
        last = self._text.find("\n\n" if mark == "$$" else "\n", start)
        last = len(self._text) if last < 0 else last
        if self._text[start : start + 1].isspace() and mark == "$":
            return None
        if not self._spend(last - start):
            return None
        end = self._text.find(mark, start, last)
        while end > 0 and mark == "$" and self._text[end - 1].isspace():
            end = self._text.find(mark, end + 1, last)
        return end + len(mark) if end >= 0 else None

    def _spend(self, steps: int) -> bool:
        self._budget -= max(1, steps)
        return self._budget > 0
