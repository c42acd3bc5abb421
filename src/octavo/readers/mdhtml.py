"""HTML as it stands inside Markdown: tags go, what people read stays.

`plain` turns a piece of HTML into lines of text, `verbatim` one that is laid out already. `prepare`
rewrites the two things that Markdown itself would lose: HTML tables become Markdown tables and HTML headings
become headings. `segments` parts a source into code fences and the rest, so that nothing inside code is ever
touched.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator

from octavo.text import clean, collapse

_FENCE = re.compile(r"^((?:[ \t>]|(?:[-*+]|\d{1,9}[.)])[ \t])*)(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_UNSEEN = re.compile(r"<!--.*?(?:-->|\Z)|<(script|style|svg)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<(/?)([A-Za-z][\w.:-]*)([^<>]*)>|<[!?/>][^<>]*>?")
_ALT = re.compile(r"""\balt\s*=\s*(?:"([^"]*)"|'([^']*)'|\{\s*["'`]([^"'`]*)["'`]\s*\})""")
_BLOCKS = frozenset(
    re.findall(
        r"\w+",
        "address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure "
        "footer form h1 h2 h3 h4 h5 h6 header hr html li main nav ol p pre section summary table tbody tfoot "
        "thead ul",
    )
)
_TABLE = re.compile(r"^ {0,3}<table\b.*?</table\s*>[ \t]*$", re.DOTALL | re.IGNORECASE | re.MULTILINE)
_ROW = re.compile(r"<tr\b[^<>]*>", re.IGNORECASE)
_CELL = re.compile(r"<t[dh]\b[^<>]*>", re.IGNORECASE)
_HEADING = re.compile(
    r"^ {0,3}<h([1-6])\b([^<>]*)>((?:(?!</?h[1-6]\b|\n\n).){1,2000}?)</h\1\s*>[ \t]*$",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
_ID = re.compile(r"""\bid\s*=\s*["']([\w.:-]+)["']""")


def segments(source: str) -> Iterator[tuple[bool, str]]:
    """The source in order as (is code fence, text); joined, they are the source."""
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


def outside_code(source: str, change: Callable[[str], str]) -> str:
    """`change` applied to everything that is not in a code fence."""
    return "".join(text if code else change(text) for code, text in segments(source))


def plain(markup: str) -> str:
    """The text of a piece of HTML: one line for each line or block, no tags, entities decoded."""
    lines = "\n".join(collapse(line) for line in verbatim(markup).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines).strip()


def verbatim(markup: str) -> str:
    """The same with every blank as it was written, for what stands in `<pre>`."""
    text = _TAG.sub(_replacement, _UNSEEN.sub("", markup))
    return clean(html.unescape(text)) if "&" in text else text


def alt(tag: str) -> str:
    """What a picture's tag says for those who cannot see it."""
    found = _ALT.search(tag)
    return html.unescape(next((g for g in found.groups() if g), "")) if found else ""


def _replacement(tag: re.Match[str]) -> str:
    name = (tag.group(2) or "").lower()
    if name == "img":
        return alt(tag.group(0))
    if name in ("br", "tr"):
        return "\n"
    if name in ("td", "th"):
        return " | " if tag.group(1) else ""
    return "\n\n" if name in _BLOCKS else ""


def prepare(source: str) -> str:
    """Tables and headings written in HTML, as Markdown writes them."""
    lowered = source.lower()
    change: list[Callable[[str], str]] = []
    if "</table" in lowered:
        change.append(lambda text: _TABLE.sub(lambda m: f"\n{_pipes(m.group(0))}\n", text))
    if re.search(r"</h[1-6]", lowered):
        change.append(lambda text: _HEADING.sub(_hashes, text))
    for step in change:
        source = outside_code(source, step)
    return source


def _pipes(table: str) -> str:
    rows = [
        [collapse(plain(cell)).strip(" |").replace("|", "\\|") for cell in _CELL.split(row)[1:]]
        for row in _ROW.split(_UNSEEN.sub("", table))[1:]
    ]
    rows = [row for row in rows if any(row)]
    if not rows:
        return plain(table)
    width = max(len(row) for row in rows)
    lines = [f"| {' | '.join(row + [''] * (width - len(row)))} |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


def _hashes(found: re.Match[str]) -> str:
    words = collapse(plain(found.group(3)))
    named = _ID.search(found.group(2))
    anchor = f" {{#{named.group(1)}}}" if named else ""
    return f"\n{'#' * int(found.group(1))} {words}{anchor}\n" if words else ""
