"""One HTML document, read as a person would: headings, paragraphs, lists, code, tables and page breaks.

`parse` builds the tree only after `guard` has let the text pass; `read_page` gives the pieces of the page
without its furniture. Nothing is ever fetched: addresses are text here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from selectolax.lexbor import LexborHTMLParser, LexborNode

from octavo.errors import BadBook
from octavo.limits import Limits
from octavo.readers.dom.furniture import article
from octavo.readers.dom.guard import guarded
from octavo.readers.dom.inline import plain
from octavo.readers.dom.pieces import Break, Heading, Page, Piece, Text
from octavo.readers.dom.walk import Walk
from octavo.text import clean, collapse, decode

__all__ = ["Break", "Heading", "Page", "Piece", "Text", "charset", "parse", "read_page", "unpack"]

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
