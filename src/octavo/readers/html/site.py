"""The pages of a book that is published as a folder: which of them are text, and what they are called.

Indexes, search forms and copies for printing add no text. Titles lose what all pages of the site share, at
their end or their start. `order` puts the pages in reading order.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote

from octavo.readers.html.claims import PageClaims
from octavo.readers.html.tags import split_names

if TYPE_CHECKING:
    from octavo.readers.pages import HtmlPage

INDEX_NAMES = (
    "index",
    "toc",
    "contents",
    "table-of-contents",
    "tableofcontents",
    "summary",
    "default",
    "book",
)
_NOT_TEXT = split_names("search genindex 404 print py-modindex modindex searchindex tags nav")
_TITLE_SEPARATOR = re.compile(r"\s+[—–|·»:-]+\s+|:\s+")
_IN_BRACKETS = re.compile(r"\S\s+\(((?:[^()]|\([^()]*\))+)\)$")
_MIN_PROSE = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePage:
    """One page of the folder, and what it says about the others."""

    file: str
    content: HtmlPage
    claims: PageClaims = field(default_factory=PageClaims)
    canonical: str = ""
    alphabetical: bool = False

    @property
    def stem(self) -> str:
        return PurePosixPath(self.file).stem.lower()


def resolve_link(base: str, href: str, known: Collection[str]) -> str:
    """Return the page of the folder that `href`, written on page `base`, leads to; '' for any other."""
    address = href.strip().partition("#")[0].partition("?")[0]
    if not address or address.startswith("//") or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", address):
        return ""
    if address.startswith("/"):
        return _resolve_from_root(unquote(address).strip("/"), known)
    return _find_page(posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(address))), known)


def _resolve_from_root(address: str, known: Collection[str]) -> str:
    """Resolve an address from the site's root, which is this folder or the one above it."""
    target = posixpath.normpath(address) if address else "."
    return _find_page(target, known) or ("/" in target and _find_page(target.partition("/")[2], known)) or ""


def _find_page(target: str, known: Collection[str]) -> str:
    tries = (target, f"{target}.html", f"{target}/index.html") if target != "." else ("index.html",)
    return next((name for name in tries if name in known), "")


def find_indexes(pages: Mapping[str, SitePage]) -> frozenset[str]:
    """Find the pages that are an index or a search form, by their names and by what other pages call them."""
    called = Counter(page.claims.index for page in pages.values())
    heads = Counter(head for page in pages.values() for head in page.claims.heads)
    return frozenset(
        file
        for file, page in pages.items()
        if _is_no_text(page)
        or (page.alphabetical and page.stem not in INDEX_NAMES)
        or (called[file] > max(1, heads[file], 0.2 * len(pages)) and page.stem not in INDEX_NAMES)
    )


def _is_no_text(page: SitePage) -> bool:
    return page.stem in _NOT_TEXT or page.stem.startswith("genindex-")


def find_shared_title(titles: list[str]) -> str:
    """Find the part that most pages' titles share at the end or the start: the site's name."""
    for cut in (_list_ends, _list_starts):
        counted = Counter(part for title in titles for part in cut(title))
        shared = [part for part, count in counted.items() if count > max(1, 0.5 * len(titles))]
        if shared:
            return max(shared, key=len)
    return ""


def _list_ends(title: str) -> list[str]:
    """List what stands after each separator of a title, and in brackets at its end."""
    ends = [title[found.end() :] for found in _TITLE_SEPARATOR.finditer(title)]
    bracketed = _IN_BRACKETS.search(title) if title.endswith(")") else None
    return [*ends, bracketed[1]] if bracketed else ends


def _list_starts(title: str) -> list[str]:
    return [title[: found.start()] for found in _TITLE_SEPARATOR.finditer(title)]


def drop_shared_title(title: str, shared: str) -> str:
    """Return a page's title without the site's name."""
    if not shared or title == shared:
        return title
    cut = title.removesuffix(f"({shared})")
    if cut == title:
        cut = title.removesuffix(shared)
    if cut == title:
        cut = title.removeprefix(shared)
    return cut.strip(" \t—–|·»:-") or title


def is_only_links(page: SitePage, *, is_contents: bool) -> bool:
    """Whether a page has nothing to read: an index, a search form, a list of links."""
    if _is_no_text(page):
        return True
    content = page.content
    if is_contents and content.words < _MIN_PROSE:
        return True
    return (content.linked > 0.8 and content.words > 3) or not content.pieces


def find_home(pages: Mapping[str, SitePage]) -> SitePage | None:
    """Find the page that a reader of the site comes to first: its index, or what other pages call home."""
    found = [s for s in pages.values() if s.stem in INDEX_NAMES and len(s.claims.targets) > 1]
    if found:
        return min(found, key=lambda page: (page.file.count("/"), INDEX_NAMES.index(page.stem)))
    called: Counter[str] = Counter()
    for page in pages.values():
        called.update({*page.claims.heads, page.claims.contents} & pages.keys())
    best = called.most_common(1)
    return pages[best[0][0]] if best and best[0][1] > 0.5 * len(pages) else None


def find_copies(pages: Mapping[str, SitePage], named: Collection[str]) -> frozenset[str]:
    """Find pages with the same title and text as another. Of two copies, one that the contents name stays."""
    kept: dict[int, str] = {}
    copies: set[str] = set()
    for file in sorted(pages, key=lambda name: name not in named):
        content = pages[file].content
        if content.words < _MIN_PROSE:
            continue
        digest = hash((content.title, *(piece.text for piece in content.pieces)))
        if kept.setdefault(digest, file) != file:
            copies.add(file)
    return frozenset(copies)


def find_whole_books(pages: Mapping[str, SitePage], named: Collection[str]) -> list[str]:
    """Find pages that repeat all the others, as sites offer for printing; the contents name those."""
    titles = {s.content.headings[0].text for s in pages.values() if s.content.headings and s.file in named}
    others = [s for s in pages.values() if s.file not in named] if len(titles) > 2 else []
    return [s.file for s in others if len(titles & {h.text for h in s.content.headings}) >= 0.8 * len(titles)]


def find_base_url(pages: Iterable[SitePage]) -> str | None:
    """Return the address of the site: what the canonical addresses of most pages share."""
    counted: Counter[str] = Counter()
    total = 0
    for page in pages:
        total += 1
        if not re.match(r"https?://[^\s/]+/", page.canonical):
            continue
        address = next(
            (name for name in _list_addresses(page.file) if page.canonical.endswith(f"/{name}")), None
        )
        if address is not None:
            counted[page.canonical.removesuffix(address)] += 1
    best = counted.most_common(1)
    return best[0][0] if best and best[0][1] > total / 2 else None


def _list_addresses(file: str) -> tuple[str, ...]:
    """List what a server may call a page, the fullest name first."""
    bare = file.removesuffix(".html")
    return (file, bare, bare.removesuffix("index"), bare.removesuffix("/index"))
