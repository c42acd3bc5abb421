"""What stands between a page and its parser: one linear look at every tag before the tree is built.

The tree builder takes time that grows with the square of nesting and of attributes, so `guarded` follows the
tags with a small model of how browsers nest them and refuses what no page for people has. Tags whose end may
be left out (`<p>`, `<li>`, `<td>`) close each other here as they do there. On the way it mends what an HTML
parser would misread in XHTML: `<a id="x"/>`, CDATA, namespace prefixes and entity declarations.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from html import escape

from octavo.errors import BadBook
from octavo.limits import Limits
from octavo.readers.dom.names import names

VOID = names(
    "area base basefont bgsound br col embed frame hr image img input keygen link meta param source track wbr"
)
_RAW = {
    tag: re.compile(rf"</{tag}(?=[\s/>])", re.IGNORECASE)
    for tag in ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes")
}
_FORMATTING = names("a b big code em font i nobr s small strike strong tt u")
_FOREIGN = frozenset(("svg", "math"))
_SCOPES = frozenset(("table", "td", "th", "caption", "object", "template", "svg", "math", "marquee"))
_TABLE = frozenset(("table", "tr", "td", "th", "thead", "tbody", "tfoot", "caption"))
_ENDS_PARAGRAPH = names(
    "address article aside blockquote center dd details div dl dt fieldset figcaption figure footer "
    "form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section summary table ul"
)
_CELL, _ROW, _GROUP = frozenset(("td", "th")), frozenset(("tr",)), frozenset(("thead", "tbody", "tfoot"))
_RUBY, _TERM = frozenset(("rt", "rp", "rb", "rtc")), frozenset(("dt", "dd"))
_ENDED_BY: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    # the tag that starts: what it ends, and what it does not reach past
    "li": (frozenset(("li",)), frozenset(("ul", "ol", "menu", "table", "td"))),
    **dict.fromkeys(_TERM, (_TERM, frozenset(("dl", "table", "td")))),
    **dict.fromkeys(_CELL, (_CELL, frozenset(("table", "tr")))),
    "tr": (_ROW, frozenset(("table", "thead", "tbody", "tfoot"))),
    **dict.fromkeys(_GROUP, (_GROUP, frozenset(("table",)))),
    **dict.fromkeys(_RUBY, (_RUBY, frozenset(("ruby",)))),
    "option": (frozenset(("option",)), frozenset(("select", "optgroup", "datalist"))),
    "optgroup": (frozenset(("optgroup",)), frozenset(("select",))),
}
_NOT_NESTING = frozenset(("html", "head", "body"))
_REACH = 32
_PARAGRAPH = frozenset(("p",))
_NOTHING: frozenset[str] = frozenset()

_MARKUP = re.compile(r"<(?:!--|!\[CDATA\[|!|\?|/?[a-zA-Z])")
_TAG = re.compile(
    r"""<(/?)([a-zA-Z][^\s/>]*+)((?:[^\s>"'=]++|\s++|=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>"'][^\s>]*+)?|["'])*+)>"""
)
_ATTRIBUTE = re.compile(r"""[^\s/>=]++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]++))?""")
_BULK = re.compile(r"""\b(src|srcset|href|data|d|points|poster)\s*=\s*(?:"[^"]*+"|'[^']*+')""")
_COMMENT_END = re.compile(r"--!?>")
_SUBSET_END = re.compile(r"\]\s*>")
_PREFIX = re.compile(
    r"""xmlns:([\w-]{1,20})\s*=\s*["']http://www\.w3\.org/(?:1999/xhtml|1998/Math/MathML|2000/svg)["']"""
)
_XHTML = re.compile(r"""^\s*<\?xml\s|<html[^>]{0,500}\sxmlns\s*=\s*["']http://www\.w3\.org/1999/xhtml""")


def guarded(text: str, limits: Limits, *, name: str) -> str:
    """The page as it may be parsed; refuses one that is nested, attributed or tagged beyond reason."""
    head = text[:4096]
    xml = bool(_XHTML.search(head))
    for prefix in set(_PREFIX.findall(head)) if xml else ():
        text = re.sub(rf"(</?){re.escape(prefix)}:", r"\1", text)
    return _Scan(text, limits, name, xml).run()


class _Scan:
    """One pass over the tags of a page; collects the repairs and follows the depth."""

    def __init__(self, text: str, limits: Limits, name: str, xml: bool) -> None:
        self.text, self.limits, self.name, self.xml = text, limits, name, xml
        self.out: list[str] = []
        self.kept = 0
        self.open: list[str] = []
        self.formats: dict[str, int] = {}
        self.formatting = 0
        self.foreign = 0
        self.endless: set[str] = set()

    def run(self) -> str:
        text, position = self.text, 0
        while found := _MARKUP.search(text, position):
            start = found.start()
            special = text[start + 1] in "!?"
            position = self._declaration(start, found.group()) if special else self._tag(start)
            if position < 0:
                break
        if not self.out:
            return text
        self.out.append(text[self.kept :])
        return "".join(self.out)

    def _replace(self, start: int, end: int, by: str) -> None:
        self.out += (self.text[self.kept : start], by)
        self.kept = end

    def _declaration(self, start: int, opening: str) -> int:
        """Past a comment, CDATA section, doctype or processing instruction; -1 at the end of the text."""
        text = self.text
        if opening == "<!--":
            closing = _COMMENT_END.search(text, start + 2)
            return closing.end() if closing else -1
        if opening == "<![CDATA[" and self.xml:
            end = text.find("]]>", start)
            if end < 0:
                return -1
            self._replace(start, end + 3, escape(text[start + 9 : end]))
            return end + 3
        if opening == "<?" and self.xml:
            end = text.find("?>", start)
            if end >= 0:
                self._replace(start, end + 2, "")
                return end + 2
        end = text.find(">", start)
        subset = text.find("[", start, end if end >= 0 else None)
        if text[start + 2 : start + 9].lower() == "doctype" and subset >= 0:
            closing = _SUBSET_END.search(text, subset)
            if closing:
                self._replace(start, closing.end(), "<!DOCTYPE html>")
                return closing.end()
        return end + 1 if end >= 0 else -1

    def _tag(self, start: int) -> int:
        """Past one tag, counted; -1 when it never ends."""
        most = self.limits.max_html_tag_kb * 1024
        found = _TAG.match(self.text, start)
        if found is None:
            if len(self.text) - start > most:
                raise BadBook("html_limit", f"{self.name}: a tag never ends")
            return -1
        closing, tag, rest = found.groups()
        end, tag = found.end(), tag.lower()
        if end - start > 2 * self.limits.max_html_attributes:
            self._measure(start, end, most)
        if closing:
            self._close(tag)
            return end
        empty = rest.endswith("/") and (self.xml or self.foreign > 0)
        if empty:
            if self.xml and tag not in VOID and not self.foreign and self.kept <= start:
                self._replace(start, end, f"{self.text[start : end - 2]}></{tag}>")
            return end
        if tag in VOID and not self.foreign:
            return end
        if tag in _RAW and not self.foreign:
            finish = None if tag in self.endless else _RAW[tag].search(self.text, end)
            if finish:
                return finish.end()
            self.endless.add(tag)
        self._open(tag)
        return end

    def _measure(self, start: int, end: int, most: int) -> None:
        """A long tag: pictures written into it are cut out, then its length and attributes are counted."""
        tag = self.text[start:end]
        if end - start > most:
            tag = _BULK.sub(r'\1=""', tag)
            self._replace(start, end, tag)
            if len(tag) > most:
                raise BadBook("html_limit", f"{self.name}: a tag is longer than {most // 1024} kB")
        count = sum(1 for _ in _ATTRIBUTE.finditer(tag)) - 1
        if count > self.limits.max_html_attributes:
            raise BadBook("html_limit", f"{self.name}: a tag has {count} attributes")

    def _open(self, tag: str) -> None:
        if tag in _NOT_NESTING:
            return
        if tag in _FORMATTING:
            if tag != "a" or not self.formats.get("a"):
                self.formats[tag] = self.formats.get(tag, 0) + 1
                self.formatting += 1
        else:
            if tag in _ENDS_PARAGRAPH:
                self._cut(_PARAGRAPH, _SCOPES)
            ended = _ENDED_BY.get(tag)
            if ended and not self.foreign:
                self._cut(*ended)
            self.open.append(tag)
            self.foreign += tag in _FOREIGN
        if len(self.open) + self.formatting > self.limits.max_html_depth:
            depth = self.limits.max_html_depth
            raise BadBook("html_too_deep", f"{self.name}: elements are nested more than {depth} deep")

    def _close(self, tag: str) -> None:
        if tag in _FORMATTING:
            if self.formats.get(tag):
                self.formats[tag] -= 1
                self.formatting -= 1
        else:
            self._cut((tag,), _NOTHING if tag in _TABLE or tag in _SCOPES else _SCOPES)

    def _cut(self, names: Collection[str], barriers: frozenset[str]) -> None:
        """Ends the innermost open element among `names`, and all in it, unless a barrier is nearer."""
        stack = self.open
        if stack and stack[-1] in names:
            self.foreign -= stack.pop() in _FOREIGN
            return
        for back, tag in enumerate(reversed(stack), 1):
            if tag in names:
                self.foreign -= sum(1 for t in stack[-back:] if t in _FOREIGN)
                del stack[-back:]
                return
            if tag in barriers or back == _REACH:
                return
