"""Find the reading order of a book that is published as a folder of pages.

A contents page decides if there is one: by the order of its links and the parts that its nested lists make.
Pages that it leaves out come after the page whose "next" link names them. The rest comes last, sorted by
name. Titles lose what all pages of the site share.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote

from octavo.readers.html.tags import split_names

if TYPE_CHECKING:
    from octavo.readers.pages import HtmlPage

_INDEX_NAMES = (
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
_MIN_PROSE = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePage:
    """One page of the folder, and what it says about the others."""

    file: str
    content: HtmlPage
    targets: frozenset[str]
    next: str
    canonical: str

    @property
    def stem(self) -> str:
        return PurePosixPath(self.file).stem.lower()


@dataclass(frozen=True, slots=True)
class ContentsPart:
    """A part above a line of the contents: a page, or only a name."""

    file: str
    label: str


@dataclass(frozen=True, slots=True)
class ContentsLine:
    """A page in the contents, with the parts above it."""

    file: str
    above: tuple[ContentsPart, ...] = ()


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


def find_contents_page(pages: Mapping[str, SitePage]) -> SitePage | None:
    """Find the page that links to most others; among equals, the one named like a contents page."""
    found = [s for s in pages.values() if s.stem not in _NOT_TEXT and len(s.targets) > 1]
    most = max((len(s.targets) for s in found), default=0)
    if not found or most < 0.2 * len(pages):
        return None

    def rank(page: SitePage) -> tuple[bool, int, int, int]:
        named = page.stem in _INDEX_NAMES and len(page.targets) >= 0.5 * most
        place = _INDEX_NAMES.index(page.stem) if page.stem in _INDEX_NAMES else len(_INDEX_NAMES)
        return named, -page.file.count("/"), len(page.targets), -place

    return max(found, key=rank)


def order_pages(
    pages: Mapping[str, SitePage], lines: list[ContentsLine], *, first: str
) -> tuple[list[ContentsLine], int]:
    """Return every page once, in reading order, and how many of them only their names placed."""
    placed: dict[str, ContentsLine] = {}
    for line in ([ContentsLine(first)] if first else []) + lines:
        _follow(line, pages, placed, {other.file for other in lines})
    led = {s.next for s in pages.values()}
    for file, page in pages.items():
        if file not in placed and page.next and file not in led:
            _follow(ContentsLine(file), pages, placed, set())
    left = [file for file in pages if file not in placed]
    return [*placed.values(), *(ContentsLine(file) for file in left)], len(left)


def _follow(
    line: ContentsLine, pages: Mapping[str, SitePage], placed: dict[str, ContentsLine], named: set[str]
) -> None:
    """Place a page, then the pages that its "next" links lead to and the contents do not name."""
    file = line.file
    while file in pages and file not in placed:
        placed[file] = ContentsLine(file, line.above)
        file = pages[file].next
        if file in named:
            return


def find_shared_title(titles: list[str]) -> str:
    """Find the part that most pages' titles share at the end or the start: the site's name."""
    split = [parts for title in titles if len(parts := _TITLE_SEPARATOR.split(title)) > 1]
    for place in (-1, 0):
        counted = Counter(parts[place] for parts in split).most_common(1)
        if counted and counted[0][1] > max(1, 0.5 * len(titles)):
            return counted[0][0]
    return ""


def drop_shared_title(title: str, shared: str) -> str:
    """Return a page's title without the site's name."""
    if not shared or title == shared:
        return title
    cut = title
    if title.endswith(shared):
        cut = title[: -len(shared)]
    elif title.startswith(shared):
        cut = title[len(shared) :]
    return cut.strip(" \t—–|·»:-") or title


def is_only_links(page: SitePage, *, is_contents: bool) -> bool:
    """Whether a page has nothing to read: an index, a search form, a list of links."""
    if page.stem in _NOT_TEXT or page.stem.startswith("genindex-"):
        return True
    content = page.content
    if is_contents and content.words < _MIN_PROSE:
        return True
    return (content.linked > 0.8 and content.words > 3) or not content.pieces


def find_whole_books(pages: Mapping[str, SitePage], lines: list[ContentsLine]) -> list[str]:
    """Find pages that repeat all the others, as sites offer for printing; contents do not name them."""
    named = {line.file for line in lines}
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
