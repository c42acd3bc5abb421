"""Check the markup of a page in one linear pass before its tree is built.

The time to build a tree grows with the square of nesting and of attributes. `check_markup` therefore follows
the tags with a small model of how browsers nest them, and refuses what no page for people has. Tags whose end
may be left out (`<p>`, `<li>`, `<td>`) close each other as they do in a browser. On the way it repairs what
an HTML parser would misread in XHTML: `<a id="x"/>`, CDATA, namespace prefixes and entity declarations.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from html import escape
from typing import TYPE_CHECKING

from octavo.errors import BadBook
from octavo.readers.html.tags import split_names

if TYPE_CHECKING:
    from octavo.limits import Limits

_VOID = split_names(
    "area base basefont bgsound br col embed frame hr image img input keygen link meta param source track wbr"
)
_RAW = {
    tag: re.compile(rf"</{tag}(?=[\s/>])", re.IGNORECASE)
    for tag in ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes")
}
_FORMATTING = split_names("a b big code em font i nobr s small strike strong tt u")
_FOREIGN = frozenset(("svg", "math"))
_SCOPES = split_names("applet table td th caption object template svg math marquee select")
_TABLE_PARTS = split_names("tr td th thead tbody tfoot caption colgroup")
_TABLE_SCOPES = frozenset(("table", "template"))
_ENDS_PARAGRAPH = split_names(
    "address article aside blockquote center dd details div dl dt fieldset figcaption figure footer "
    "form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section summary table ul dialog dir hgroup "
    "listing menu search"
)
_BLOCKS = _ENDS_PARAGRAPH | split_names("applet button marquee object")
_SPECIAL = (_BLOCKS | _SCOPES | _TABLE_PARTS) | split_names("frameset noscript plaintext")
_HTML_AGAIN = {"svg": split_names("foreignobject desc title"), "math": split_names("mi mn mo ms mtext")}
_LEAVES_FOREIGN = split_names(
    "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing "
    "menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var"
)
_LEAVE_AT_END = frozenset(("p", "br"))
_CELL, _ROW, _GROUP = frozenset(("td", "th")), frozenset(("tr",)), frozenset(("thead", "tbody", "tfoot"))
_TERM, _RUBY = frozenset(("dt", "dd")), frozenset(("rt", "rp", "rb", "rtc"))
_MAY_LACK_END = _TERM | _RUBY | split_names("li option optgroup p")
_PAST_ITEM = _SPECIAL - frozenset(("address", "div", "p"))
_ENDED_BY: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    # The tag that starts: the elements that it ends, and those that it does not reach past.
    "li": (frozenset(("li",)), _PAST_ITEM),
    **dict.fromkeys(_TERM, (_TERM, _PAST_ITEM)),
    **dict.fromkeys(_CELL, (_CELL, frozenset(("table", "tr")))),
    "tr": (_ROW, frozenset(("table", "thead", "tbody", "tfoot"))),
    **dict.fromkeys(_GROUP, (_GROUP, frozenset(("table",)))),
}
_END_SCOPES = {
    # The tag that ends: the elements that it does not reach past.
    **dict.fromkeys(_BLOCKS, _SCOPES),
    **dict.fromkeys((*_TABLE_PARTS, "table"), _TABLE_SCOPES),
    "li": _SCOPES | {"ul", "ol"},
    "template": frozenset[str](),
}
_CHOICES = frozenset(("option", "optgroup"))
_WITH_HTML = re.compile(r"""encoding\s*=\s*["']?(?:text/html|application/xhtml\+xml)""", re.IGNORECASE)
_NOT_NESTING = frozenset(("html", "head", "body"))
_REACH = 32
_PARAGRAPH = frozenset(("p",))

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


def check_markup(text: str, limits: Limits, *, name: str) -> str:
    """Return the page ready to be parsed; refuse nesting, attributes or tags beyond all reason."""
    head = text[:4096]
    xml = bool(_XHTML.search(head))
    for prefix in set(_PREFIX.findall(head)) if xml else ():
        text = re.sub(rf"(</?){re.escape(prefix)}:", r"\1", text)
    return _TagScanner(text, limits, name, xml).run()


class _TagScanner:
    """One pass over the tags of a page that collects repairs and follows the depth."""

    def __init__(self, text: str, limits: Limits, name: str, xml: bool) -> None:
        self.text, self.limits, self.name, self.xml = text, limits, name, xml
        self.out: list[str] = []
        self.kept = 0
        self.open: list[str] = []
        self.formats: dict[str, int] = {}
        self.formatting = 0
        self.worlds: list[str] = []
        self.tables = 0
        self.endless: set[str] = set()

    @property
    def foreign(self) -> str:
        """`svg` in a drawing and `math` in a formula, where tags nest by other rules; empty in HTML."""
        return self.worlds[-1] if self.worlds else ""

    def run(self) -> str:
        text, position = self.text, 0
        while found := _MARKUP.search(text, position):
            start = found.start()
            special = text[start + 1] in "!?"
            position = self._skip_declaration(start, found.group()) if special else self._read_tag(start)
            if position < 0:
                break
        if not self.out:
            return text
        self.out.append(text[self.kept :])
        return "".join(self.out)

    def _replace(self, start: int, end: int, by: str) -> None:
        self.out += (self.text[self.kept : start], by)
        self.kept = end

    def _skip_declaration(self, start: int, opening: str) -> int:
        """Skip a comment, CDATA section, doctype or processing instruction; -1 at the end of the text."""
        text = self.text
        if opening == "<!--":
            closing = _COMMENT_END.search(text, start + 2)
            return closing.end() if closing else -1
        if opening == "<![CDATA[" and self.xml:
            end = self._find("]]>", start)
            if end >= 0:
                self._replace(start, end + 3, escape(text[start + 9 : end]))
                return end + 3
        if opening == "<?" and self.xml:
            end = self._find("?>", start)
            if end >= 0:
                self._replace(start, end + 2, "")
                return end + 2
        end = text.find(">", start)
        subset = text.find("[", start, end if end >= 0 else None)
        doctype = text[start + 2 : start + 9].lower() == "doctype" and subset >= 0
        if doctype and "]" not in self.endless:
            closing = _SUBSET_END.search(text, subset)
            if closing:
                self._replace(start, closing.end(), "<!DOCTYPE html>")
                return closing.end()
            self.endless.add("]")
        return end + 1 if end >= 0 else -1

    def _find(self, mark: str, start: int) -> int:
        """Find the next `mark`; what was not found once is not searched for again."""
        end = -1 if mark in self.endless else self.text.find(mark, start)
        if end < 0:
            self.endless.add(mark)
        return end

    def _read_tag(self, start: int) -> int:
        """Read one tag and return where it ends; -1 when it never ends."""
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
        while self.foreign and tag in (_LEAVE_AT_END if closing else _LEAVES_FOREIGN):
            self._end_from(len(self.open) - 1)
        if closing:
            self._close(tag)
            return end
        if rest.endswith("/") and self.xml:
            if tag not in _VOID and self.kept <= start:
                self._replace(start, end, f"{self.text[start : end - 2]}></{tag}>")
            if not self.foreign:
                self._end_before(tag)
            return end
        if rest.endswith("/") and (self.foreign or tag in _FOREIGN):
            return end
        if tag in _VOID and not self.foreign:
            return end
        if tag in _RAW and not self.foreign:
            finish = None if tag in self.endless else _RAW[tag].search(self.text, end)
            if finish:
                return finish.end()
            self.endless.add(tag)
        self._open(tag, rest)
        return end

    def _measure(self, start: int, end: int, most: int) -> None:
        """Cut embedded pictures out of a long tag, then check its length and attributes."""
        tag = self.text[start:end]
        if end - start > most:
            tag = _BULK.sub(r'\1=""', tag)
            self._replace(start, end, tag)
            if len(tag) > most:
                raise BadBook("html_limit", f"{self.name}: a tag is longer than {most // 1024} kB")
        count = sum(1 for _ in _ATTRIBUTE.finditer(tag)) - 1
        if count > self.limits.max_html_attributes:
            raise BadBook("html_limit", f"{self.name}: a tag has {count} attributes")

    def _open(self, tag: str, rest: str) -> None:
        if self.foreign:
            self._push(tag, rest)
        elif tag in _NOT_NESTING or (tag in _TABLE_PARTS and not self.tables):
            return
        elif tag in _FORMATTING:
            if tag != "a" or not self.formats.get("a"):
                self.formats[tag] = self.formats.get(tag, 0) + 1
                self.formatting += 1
        else:
            self._end_before(tag)
            self._push(tag, rest)
        if len(self.open) + self.formatting > self.limits.max_html_depth:
            depth = self.limits.max_html_depth
            raise BadBook("html_too_deep", f"{self.name}: elements are nested more than {depth} deep")

    def _end_before(self, tag: str) -> None:
        """End the elements that a starting tag ends without an end tag."""
        if ended := _ENDED_BY.get(tag):
            self._cut(*ended)
        if tag in _ENDS_PARAGRAPH:
            self._cut(_PARAGRAPH, _SCOPES)
        if tag in _CHOICES and self.open[-1:] == ["option"]:
            self._end_from(len(self.open) - 1)
        if tag in _RUBY and self._find_open(frozenset(("ruby",)), _SCOPES) >= 0:
            while self.open[-1] in _MAY_LACK_END:
                self._end_from(len(self.open) - 1)

    def _push(self, tag: str, rest: str) -> None:
        world = self.foreign
        if tag in _FOREIGN:
            inside = tag
        elif world and (tag in _HTML_AGAIN[world] or (tag == "annotation-xml" and _WITH_HTML.search(rest))):
            inside = ""
        else:
            inside = world
        self.open.append(tag)
        self.worlds.append(inside)
        self.tables += tag == "table"

    def _close(self, tag: str) -> None:
        if self.formats.get(tag) and not self.foreign:
            self.formats[tag] -= 1
            self.formatting -= 1
        elif tag == "form" and not self.foreign:
            place = self._find_open(frozenset(("form",)), _SCOPES)
            if place >= 0:
                # A form ends alone: what was left open in it stays open.
                del self.open[place], self.worlds[place]
        else:
            self._cut((tag,), _END_SCOPES.get(tag, _SPECIAL))

    def _cut(self, names: Collection[str], barriers: frozenset[str]) -> None:
        """End the innermost open element among `names`, with everything in it, unless a barrier is nearer."""
        place = self._find_open(names, barriers)
        if place >= 0:
            self._end_from(place)

    def _find_open(self, names: Collection[str], barriers: frozenset[str]) -> int:
        for back, tag in enumerate(reversed(self.open), 1):
            if tag in names:
                return len(self.open) - back
            if tag in barriers or back == _REACH:
                break
        return -1

    def _end_from(self, place: int) -> None:
        self.tables -= self.open[place:].count("table")
        del self.open[place:], self.worlds[place:]
