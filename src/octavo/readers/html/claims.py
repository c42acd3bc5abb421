"""What a page of a site says about the others: which comes next, which stands above, where the contents are.

Sites say it in several ways that mean the same: `rel` of a link, its access key, its words ("Up", "Next",
"Contents") or a row of breadcrumbs. `read_claims` reads them all. A page that only sends its reader elsewhere
says where. `is_alphabetical` tells an index, whose order says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from selectolax.lexbor import LexborHTMLParser, LexborNode

from octavo.readers.html.boilerplate import is_paging_link

Follow = Callable[[str], str]
"""From an address on the page to the file it means, or to nothing."""

_BY_REL = {
    "next": "next",
    "up": "up",
    "parent": "up",
    "home": "head",
    "start": "head",
    "top": "head",
    "contents": "contents",
    "toc": "contents",
    "index": "index",
}
_BY_KEY = {"n": "next", "u": "up", "h": "head"}
_BY_WORDS = {
    "up": "up",
    "home": "head",
    "top": "head",
    "contents": "contents",
    "table of contents": "contents",
    "index": "index",
    "general index": "index",
}
_CRUMBS = (
    ".breadcrumb a[href], .breadcrumbs a[href], .wy-breadcrumbs a[href], .navpath a[href], #path a[href], "
    ".navigationbar a[href], [aria-label=breadcrumb] a[href], [aria-label=breadcrumbs] a[href]"
)
_SIGNS = " \n\t<>«»←→[]()|‹›⟨⟩"
_REFRESH = re.compile(r"\s*(\d{1,3})(?:\.\d*)?\s*[;,]\s*url\s*=\s*['\"]?([^'\"]+)", re.IGNORECASE)
_LONGEST_DELAY = 10
_NAMED_INDEX = re.compile(r"\b(?:index|alphabetical|permuted|cross-?reference|keywords?)\b", re.IGNORECASE)
_FEWEST_ENTRIES = 40
_IN_ORDER = 0.88


@dataclass(frozen=True, slots=True, kw_only=True)
class PageClaims:
    """What one page says. `heads` are the pages that it calls home, top or start.

    `moved` is the address that it sends its reader to.
    """

    targets: frozenset[str] = frozenset()
    next: str = ""
    up: str = ""
    heads: frozenset[str] = frozenset()
    contents: str = ""
    index: str = ""
    moved: str = ""


def read_claims(tree: LexborHTMLParser, file: str, follow: Follow) -> PageClaims:
    """Read what a page says about the others; its links to itself say nothing."""
    targets: set[str] = set()
    heads: set[str] = set()
    said = {"next": "", "up": "", "contents": "", "index": ""}
    for link in tree.css("link[rel][href], a[href]"):
        attributes = link.attributes
        target = follow(attributes.get("href") or "")
        if not target or target == file:
            continue
        if link.tag == "a":
            targets.add(target)
        role = _find_role(link)
        if role == "head":
            heads.add(target)
        elif role and not said[role]:
            said[role] = target
    return PageClaims(
        targets=frozenset(targets),
        next=said["next"],
        up=said["up"] or _read_breadcrumbs(tree, file, follow),
        heads=frozenset(heads),
        contents=said["contents"],
        index=said["index"],
        moved=_read_refresh(tree),
    )


def _find_role(link: LexborNode) -> str:
    """Return what a link calls its target: next, up, head, contents, index, or nothing."""
    attributes = link.attributes
    names = (attributes.get("rel") or "").lower().split()
    role = next((_BY_REL[name] for name in names if name in _BY_REL), "")
    role = role or _BY_KEY.get((attributes.get("accesskey") or "").lower(), "")
    if role or link.tag != "a":
        return role
    text = link.text(deep=True)
    if len(text) > 60:
        return ""
    words = " ".join(text.strip(_SIGNS).lower().split())
    if not words and (picture := link.css_first("img[alt]")) is not None:
        words = (picture.attributes.get("alt") or "").strip(_SIGNS).lower()
    if words.startswith(("next", "weiter", "suivant")) and is_paging_link(link, attributes):
        return "next"
    return _BY_WORDS.get(words, "")


def _read_breadcrumbs(tree: LexborHTMLParser, file: str, follow: Follow) -> str:
    """Return the last page in the row of breadcrumbs that is not the page itself."""
    found = (follow(link.attributes.get("href") or "") for link in tree.css(_CRUMBS))
    crumbs = [target for target in found if target and target != file]
    return crumbs[-1] if crumbs else ""


def _read_refresh(tree: LexborHTMLParser) -> str:
    """Return the address that a page sends its reader to at once."""
    for meta in tree.css("meta[http-equiv]"):
        if (meta.attributes.get("http-equiv") or "").lower() == "refresh":
            found = _REFRESH.match(meta.attributes.get("content") or "")
            if found and int(found[1]) <= _LONGEST_DELAY:
                return found[2].strip()
    return ""


def is_alphabetical(tree: LexborHTMLParser) -> bool:
    """Whether a page of links lists places inside pages by their first letters, or is named so."""
    named = any(_NAMED_INDEX.search(node.text(deep=True)) for node in tree.css("title, h1, h2")[:3])
    if not named and len(tree.css("a[href*='#']")) < _FEWEST_ENTRIES:
        return False
    letters = (item.text(deep=True).lstrip()[:1].casefold() for item in tree.css("li, dt, tr"))
    words = [letter for letter in letters if letter.isalpha()]
    if len(words) < _FEWEST_ENTRIES:
        return False
    return sum(a <= b for a, b in pairwise(words)) >= _IN_ORDER * (len(words) - 1)
