"""Find what a page or a sitemap says about other pages, in one linear pass over its text.

No tree is built: what comes from the network is parsed in the confined process only. Nothing but the tags
`a`, `link`, `base` and `meta` is looked at here, outside comments and scripts.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape

from octavo.readers.html.fetched import normalise_address

_SKIPPED = re.compile(r"<!--|<(script|style|template|textarea)\b", re.IGNORECASE)
_ENDS = {
    "": re.compile("-->"),
    **{tag: re.compile(f"</{tag}", re.IGNORECASE) for tag in ("script", "style", "template", "textarea")},
}
_TAG = re.compile(r"<(a|area|link|base|meta)(\s[^<>]{0,4000})>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([a-zA-Z-]{1,40})\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_LOCATION = re.compile(r"<(?:\w{1,20}:)?loc>\s{0,99}([^<\s]{1,2000})\s{0,99}<")
_SITEMAP = re.compile(r"<(?:\w{1,20}:)?(urlset|sitemapindex)[\s>]")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLinks:
    """What a page says: its links in order, its canonical address, and what robots should not do with it."""

    links: tuple[str, ...]
    canonical: str | None
    no_index: bool
    no_follow: bool


def read_links(text: str, address: str, *, header: str = "") -> PageLinks:
    """Read a page. `header` is what the server says to robots in `X-Robots-Tag`."""
    base, canonical, robots = address, None, header.lower()
    hrefs: dict[str, None] = {}
    for tag, attributes in _find_tags(text):
        href, rel = attributes.get("href", ""), attributes.get("rel", "").lower().split()
        if tag == "base" and base == address:
            base = normalise_address(href, base=address) or address
        elif tag == "link" and "canonical" in rel and canonical is None:
            canonical = normalise_address(href, base=base)
        elif tag == "meta" and attributes.get("name", "").lower() in ("robots", "octavo"):
            robots += f",{attributes.get('content', '').lower()}"
        elif (tag in ("a", "area") and "nofollow" not in rel) or "next" in rel:
            hrefs[href] = None
    found = dict.fromkeys(normalise_address(href, base=base) for href in hrefs if href)
    words = set(re.split(r"[\s,:]+", robots))
    none = "none" in words
    return PageLinks(
        links=tuple(link for link in found if link is not None),
        canonical=canonical,
        no_index=none or "noindex" in words,
        no_follow=none or "nofollow" in words,
    )


def _find_tags(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    for tag in _TAG.finditer(_cut_scripts(text)):
        values = {
            found[1].lower(): unescape(found[2] or found[3] or found[4] or "")
            for found in _ATTRIBUTE.finditer(tag[2])
        }
        yield tag[1].lower(), values


def _cut_scripts(text: str) -> str:
    """Return the text without comments, scripts and styles."""
    kept, position = [], 0
    while found := _SKIPPED.search(text, position):
        kept.append(text[position : found.start()])
        end = _ENDS[(found[1] or "").lower()].search(text, found.end())
        if end is None:
            return "".join(kept)
        position = end.end()
    kept.append(text[position:])
    return "".join(kept)


def is_sitemap(data: bytes) -> bool:
    """Whether this is a sitemap: a list of pages, or of other sitemaps."""
    return _SITEMAP.search(data[:4096].decode("utf-8", "replace")) is not None


def read_sitemap(data: bytes, address: str) -> tuple[list[str], bool]:
    """Return the addresses that a sitemap lists, and whether they are those of other sitemaps."""
    text = data.decode("utf-8", "replace")
    kind = _SITEMAP.search(text[:4096])
    found = (normalise_address(unescape(place), base=address) for place in _LOCATION.findall(text))
    unique = dict.fromkeys(place for place in found if place is not None)
    return (list(unique) if kind else []), kind is not None and kind[1] == "sitemapindex"


def unpack(data: bytes, most: int) -> bytes:
    """Unpack a sitemap that is stored as `.gz`; cut it off at `most` bytes, and return others as they are."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return zlib.decompressobj(31).decompress(data, most)
    except zlib.error:
        return b""
