"""One HTML document, read as a person would: headings, paragraphs, lists, code, tables and page breaks.

`parse` builds the tree only after `guard` has let the text pass; `read_page` gives the pieces of the page
without its furniture. Nothing is ever fetched: addresses are text here.

The walk over a page's tree that turns it into pieces.

It goes element by element without recursion, so depth costs nothing. Each node that is entered has a frame
that says what to do when it ends; the `Galley` sets the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborHTMLParser, LexborNode

from octavo.errors import BadBook
from octavo.readers.html.boilerplate import Attributes, Place, article, is_furniture, step_bars
from octavo.readers.html.builder import Galley, one_label
from octavo.readers.html.guard import guarded
from octavo.readers.html.inline import (
    BREAK,
    LINE,
    is_layout,
    is_note_mark,
    math_text,
    plain,
    printed_page,
    prose_alt,
    raised,
    table_text,
    visible,
)
from octavo.readers.html.tags import names
from octavo.readers.pages import Page, Piece, Text
from octavo.text.clean import clean, collapse, decode

if TYPE_CHECKING:
    from octavo.limits import Limits

_BLOCKS = names(
    "address article aside blockquote body caption center dd details div dl dt fieldset figcaption "
    "figure footer form header hgroup hr legend li main ol p section summary table tbody td tfoot th "
    "thead tr ul dir dialog search optgroup output"
)
_HEADINGS = {f"h{n}": n for n in range(1, 7)}
_NO_SECTIONS = frozenset(("aside", "figure", "blockquote", "dd", "details", "figcaption"))
_NOTE_CLASSES = names(
    "note tip warning caution important admonition sidebar example figure footnote footnotes callout "
    "hint danger informalexample theme-admonition procedure equation"
)
_VERSE = re.compile(r"(?:^|[\s_-])(?:linegroup|line-group|line-block|stanza|verse|poem|poetry)s?(?:$|[\s_-])")
_NO_HEADINGS = frozenset(("author", "subtitle", "editor", "corpauthor", "releaseinfo", "othercredit"))
_LISTS = frozenset(("ul", "ol", "dir"))
_NO_CODE = (
    ".linenos, .lineno, .copybtn, .headerlink, .sr-only, [hidden], button, script, style, nav, template, "
    "noscript, select, svg, iframe"
)
_CODE = frozenset(("pre", "listing", "xmp"))
_DECLARED = (
    re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})["']"""),
    re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE),
)


def charset(data: bytes) -> str | None:
    """The encoding that the document declares, in its XML declaration or a meta tag."""
    head = data[:4096]
    for pattern in _DECLARED:
        found = pattern.search(head)
        if found:
            return found.group(1).decode("ascii")
    return None


def unpack(data: bytes, *, name: str, notes: list[str]) -> str:
    """The document's text; damage goes to `notes` under the file's name, too much of it is refused."""
    try:
        decoded = decode(data, charset(data))
    except BadBook as refused:
        raise BadBook(refused.code, f"{name}: {refused.message}") from None
    notes += (f"{name}: {warning}" for warning in decoded.warnings)
    return decoded.text


def parse(text: str, limits: Limits, *, name: str) -> LexborHTMLParser:
    """The tree of a document that has passed the guard."""
    return LexborHTMLParser(guarded(text, limits, name=name))


def read_page(
    tree: LexborHTMLParser, *, site: bool = False, page_ids: Mapping[str, str] | None = None
) -> Page:
    """The pieces of a parsed page. `site`: it comes from a web site, whose header and footer stay out."""
    title = tree.css_first("head > title")
    roots = tree.css("html, body, body > div, body > main, body > article")[:4]
    tongues = (node.attributes.get(key) for node in roots for key in ("lang", "xml:lang"))
    language = next((tongue for tongue in tongues if tongue), "")
    authors = tuple(
        name
        for meta in tree.css("meta[name=author], meta[name=Author], meta[name='dc.creator']")
        if (name := collapse(clean(meta.attributes.get("content") or "")))
    )
    body = tree.body
    start = article(body) if site and body is not None else body
    walk = Walk(start, site=site, page_ids=page_ids or {}) if start is not None else None
    pieces = walk.run() if walk else ()
    if body is not None and not site and not any(p.text for p in pieces):
        pieces = _drawn(body)
    size = sum(len(p.text) for p in pieces if isinstance(p, Text))
    return Page(
        title=collapse(clean(title.text(deep=True))) if title else "",
        language=collapse(clean(language))[:20],
        authors=authors,
        pieces=pieces,
        linked=min(1.0, walk.linked / size) if walk and size else 0.0,
    )


def _drawn(body: LexborNode) -> tuple[Piece, ...]:
    """The text of a page that is one drawing, as books with a fixed layout have it."""
    lines = (
        " ".join(plain(part) for part in node.css("tspan")) or plain(node) for node in body.css("svg text")
    )
    return tuple(Text(text=line) for line in lines if line)


@dataclass(slots=True)
class _Frame:
    """One open node: what to do when it ends."""

    tag: str
    own_id: str = ""
    ends_block: bool = False
    level: int = 0
    after: str = ""
    quiet: bool = False
    article: bool = False
    verse: bool = False
    begun: bool = False
    link: bool = False


class Walk:
    """One page on its way to pieces. `page_ids`: ids that a page list names, with their labels; `bars`:
    the elements that only turn the page, where they are known."""

    def __init__(
        self,
        body: LexborNode,
        *,
        site: bool,
        page_ids: Mapping[str, str],
        bars: set[int] | None = None,
    ) -> None:
        self.body, self.page_ids = body, page_ids
        self.bars = step_bars(body) if bars is None else bars
        self.site = site
        self.has_article = site and body.css_first("main, article, [role=main]") is not None
        self.galley = Galley()
        self.linked = 0
        self._frames: list[_Frame] = []
        self._quiet = self._article = self._links = 0

    def run(self) -> tuple[Piece, ...]:
        node: LexborNode | None = self.body
        while node is not None:
            child = node.first_child if self._enter(node) else None
            if child is not None:
                node = child
                continue
            self._leave()
            while node is not None and (node.next is None or not self._frames):
                node = node.parent if self._frames else None
                if node is not None:
                    self._leave()
            node = node.next if node is not None else None
        return self.galley.finish()

    def _enter(self, node: LexborNode) -> bool:
        """Opens a node; says whether its children are read."""
        tag = node.tag or ""
        frame = _Frame(tag)
        self._frames.append(frame)
        if tag == "-text":
            self._say(visible(node))
            return False
        if tag.startswith(("-", "!")):
            return False
        attributes = node.attributes
        self._note_ids(tag, attributes)
        if self._page_break(node, attributes) or self._is_furniture(node, tag, attributes):
            return False
        level = _level(tag, attributes)
        if level:
            self._open_heading(frame, level, attributes)
        elif tag in _CODE:
            self._code(node)
            return False
        elif tag == "table" and not is_layout(node):
            self._table(node)
            return False
        elif tag in _BLOCKS or tag in _HEADINGS:
            self._open_block(frame, attributes)
        else:
            return self._inline(node, frame, attributes)
        return True

    def _leave(self) -> None:
        frame = self._frames.pop()
        if frame.after:
            self.galley.say(frame.after)
        if frame.level:
            self.galley.close_heading(frame.level, own_id=frame.own_id)
        if frame.ends_block:
            self.galley.flush()
        if frame.tag in _LISTS and frame.ends_block:
            self.galley.close_list()
        elif frame.tag == "li":
            self.galley.close_item()
        self._quiet -= frame.quiet
        self._article -= frame.article
        self._links -= frame.link

    def _is_furniture(self, node: LexborNode, tag: str, attributes: Attributes) -> bool:
        outside = self.site and not self._article and (self.has_article or len(self._frames) <= 3)
        place = Place.ARTICLE if not outside else Place.AROUND if self.has_article else Place.TOP
        return node.mem_id in self.bars or is_furniture(node, tag, attributes, place=place)

    def _note_ids(self, tag: str, attributes: Attributes) -> None:
        if tag in ("body", "main"):
            return
        for key in ("id", "name") if tag == "a" else ("id",):
            if name := attributes.get(key):
                self.galley.note_id(name)

    def _page_break(self, node: LexborNode, attributes: Attributes) -> bool:
        """Whether the element is a page break; one that a page list names may hold text, and is read on."""
        label, is_mark = self._page(node, attributes)
        if label is not None:
            self.galley.turn(label)
        return is_mark

    def _page(self, node: LexborNode, attributes: Attributes) -> tuple[str | None, bool]:
        """The label of the page that begins with an element, and whether the element is only its mark."""
        kinds = (attributes.get("epub:type") or "").split()
        listed = self.page_ids.get(attributes.get("id") or "")
        if "pagebreak" in kinds or attributes.get("role") == "doc-pagebreak":
            given = attributes.get("title") or attributes.get("aria-label") or plain(node)
            return listed or given, True
        number = printed_page(node, attributes)
        return (listed or number, bool(number)) if number or listed is not None else (None, False)

    def _say(self, text: str) -> None:
        self.galley.say(text)
        if self._links and not self.galley.in_heading:
            self.linked += len(text)

    def _inline(self, node: LexborNode, frame: _Frame, attributes: Attributes) -> bool:
        """An element within a line; says whether its children are read."""
        galley, tag = self.galley, frame.tag
        if tag == "br":
            galley.say(" " if galley.in_heading else LINE)
        elif tag == "img":
            alt = attributes.get("alt") if galley.in_heading else prose_alt(node)
            galley.say(f" {alt} " if alt else "")
        elif tag == "math":
            galley.say(math_text(node))
            return False
        elif tag == "rt":
            galley.say("(")
            frame.after = ")"
        elif tag == "sup":
            opening, frame.after = raised(node, galley.last)
            galley.say(opening)
        elif tag == "a" and attributes.get("href"):
            frame.link = "://" not in (attributes.get("href") or "")
            self._links += frame.link
            if is_note_mark(node, attributes):
                galley.say("[")
                frame.after = "]"
        return True

    def _open_heading(self, frame: _Frame, level: int, attributes: Attributes) -> None:
        self.galley.flush()
        frame.ends_block = True
        frame.own_id = attributes.get("id") or ""
        if not self._quiet and not self.galley.in_heading:
            frame.level = level
            self.galley.in_heading = True

    def _open_block(self, frame: _Frame, attributes: Attributes) -> None:
        self.galley.flush()
        tag = frame.tag
        classes = (attributes.get("class") or "").lower()
        frame.ends_block = True
        is_note = attributes.get("role") == "note" or not _NOTE_CLASSES.isdisjoint(classes.split())
        frame.quiet = tag in _NO_SECTIONS or is_note
        frame.article = tag in ("main", "article", "section") or attributes.get("role") == "main"
        frame.verse = bool(classes) and _VERSE.search(classes) is not None
        self._quiet += frame.quiet
        self._article += frame.article
        if tag in _LISTS:
            start = attributes.get("start") or "1"
            number = int(start) if start.isascii() and start.isdigit() and len(start) < 9 else 1
            self.galley.open_list(ordered=tag == "ol", start=number)
        elif tag == "li":
            self.galley.open_item()
        elif tag == "dd":
            self.galley.tight = True
        elif len(self._frames) > 1 and self._frames[-2].verse:
            self.galley.tight = self._frames[-2].begun
            self._frames[-2].begun = True

    def _code(self, node: LexborNode) -> None:
        self.galley.flush()
        for gone in node.css(_NO_CODE):
            gone.decompose()
        for line in node.css("br"):
            line.replace_with("\n")
        ids, said = _ids(node), node.text(deep=True)
        labels = self._pages_in_code(node) if BREAK not in said else []
        said = node.text(deep=True) if labels else said.replace(BREAK, "")
        lines = [_rstrip(line) for line in clean(said).expandtabs(4).split("\n")]
        text = _rstrip("\n".join(lines))
        bare = text.lstrip(f"\n{BREAK}")
        self._block(BREAK * text.count(BREAK, 0, len(text) - len(bare)) + bare, ids, labels)

    def _pages_in_code(self, node: LexborNode) -> list[str]:
        """Puts a sign where pages break in the code; gives their labels."""
        labels: list[str] = []
        gone: set[int] = set()
        for inner in node.css("[id], [role], [class], [title]"):
            label, is_mark = self._page(inner, inner.attributes)
            if label is None or inner.mem_id in gone or inner.mem_id == node.mem_id:
                continue
            labels.append(one_label(label))
            inner.insert_before(BREAK)
            if is_mark:
                gone |= {within.mem_id for within in inner.css("*")}
                inner.decompose()
        return labels

    def _table(self, node: LexborNode) -> None:
        self.galley.flush()
        labels: list[str] = []

        def read(cell: LexborNode) -> str:
            only = cell.first_child
            if only is not None and only.tag == "-text" and only.next is None and not cell.attributes:
                return plain(cell)
            walk = Walk(cell, site=False, page_ids=self.page_ids, bars=self.bars)
            pieces = walk.run()
            self.linked += walk.linked
            labels.extend(broken.label for piece in pieces for broken in piece.breaks)
            said = (_with_breaks(piece) if piece.text else BREAK * len(piece.breaks) for piece in pieces)
            return _rstrip(" ".join(" ".join(said).split()))

        self._block(table_text(node, read), _ids(node), labels)

    def _block(self, text: str, ids: list[str], labels: list[str]) -> None:
        if text.replace(BREAK, ""):
            self.galley.add_block(text, ids=ids, labels=labels)
            return
        for name in ids:
            self.galley.note_id(name)
        for label in labels:
            self.galley.turn(label)


def _ids(node: LexborNode) -> list[str]:
    found = [inner.attributes for inner in node.css("[id], a[name]")]
    return [name for inner in found for key in ("id", "name") if (name := inner.get(key))]


def _rstrip(line: str) -> str:
    """A line without blanks at its end, though page breaks stand after them."""
    bare = line.rstrip()
    while bare.endswith(BREAK):
        bare = bare[:-1].rstrip()
    return bare + BREAK * line.count(BREAK, len(bare))


def _with_breaks(piece: Piece) -> str:
    """A piece's text with the sign of a page break wherever one stands in it."""
    text = piece.text
    for broken in reversed(piece.breaks):
        text = f"{text[: broken.offset]}{BREAK}{text[broken.offset :]}"
    return text


def _level(tag: str, attributes: Attributes) -> int:
    """How high a heading stands; 0 for what is none, like an author's name set as one."""
    if tag in _HEADINGS:
        return 0 if _NO_HEADINGS & set((attributes.get("class") or "").split()) else _HEADINGS[tag]
    if attributes.get("role") != "heading":
        return 0
    level = attributes.get("aria-level") or "2"
    return min(6, max(1, int(level))) if level.isascii() and level.isdigit() and len(level) < 3 else 2
