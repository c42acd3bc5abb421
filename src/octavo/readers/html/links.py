"""Read the lines of a contents page: where each link leads, and which lines its nested lists put it under.

A file that several lists name is placed by the largest of them. On other pages only a list whose items begin
with their links counts, as in a menu: a link inside a sentence claims nothing about the order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from octavo.readers.html.boilerplate import is_paging_link
from octavo.readers.html.inline import read_line

Follow = Callable[[str], str]
"""From an address on the page to the file it means, or to nothing."""

ContentsLink = tuple[str, list[tuple[str, str]]]
"""A file, and the outer lines above it, each as its file (or '') and its words."""

_LISTS = frozenset(("ul", "ol", "dl"))
_TABLES = frozenset(("table",))
_ITEMS = frozenset(("li", "dt", "tr"))
_MOST_BEFORE = 20
_MARKERS = " ►▼▶▾▸•·+-–—"
_BULLETS = " \n\t\xa0•·*–—-0123456789."
_NO_PARTS = frozenset(("contents", "table of contents", "index", "indices and tables", "navigation", ""))


def read_contents_links(tree: LexborHTMLParser, follow: Follow) -> list[ContentsLink]:
    """Return each file that a contents page names once, with the outer lines above it."""
    everywhere = _find_links(tree.css("a[href]"), follow)
    main = tree.css_first("main, article, [role=main]")
    inside = _find_links(main.css("a[href]"), follow) if main is not None else {}
    chosen = inside if 2 * len(inside) >= len(everywhere) else everywhere
    found = [(file, list(_find_outer_lines(link, follow)), _find_part(link)) for file, link in chosen.items()]
    parts = {part for _, _, part in found if part}
    named = len(parts) > 1
    return [(file, [("", part), *above] if named and part else above) for file, above, part in found]


def read_menu_links(tree: LexborHTMLParser, follow: Follow) -> list[ContentsLink]:
    """Return each file once that begins an item of a list or a table, with the outer lines above it."""
    links = [link for link in tree.css("li a[href], dt a[href], tr a[href]") if _begins_item(link)]
    return [
        (file, list(_find_outer_lines(link, follow))) for file, link in _find_links(links, follow).items()
    ]


def _begins_item(link: LexborNode) -> bool:
    """Whether nothing but a bullet or a number stands before a link in its line."""
    node: LexborNode | None = link
    while node is not None and node.tag not in _ITEMS:
        before, steps = node.prev, 0
        while before is not None:
            steps += 1
            if steps > _MOST_BEFORE or (before.tag != "-comment" and before.text(deep=True).strip(_BULLETS)):
                return False
            before = before.prev
        node = node.parent
    return node is not None


def _find_links(links: list[LexborNode], follow: Follow) -> dict[str, LexborNode]:
    """Find the link to each file that counts, in the order of the page; paging links do not."""
    named: list[tuple[str, LexborNode, int]] = []
    for link in links:
        attributes = link.attributes
        file = follow(attributes.get("href") or "")
        if file and not is_paging_link(link, attributes) and _has_words(link):
            outermost = _find_outermost(link, _LISTS) or _find_outermost(link, _TABLES)
            named.append((file, link, outermost.mem_id if outermost is not None else 0))
    sizes = Counter(holder for _, holder in {(file, holder) for file, _, holder in named})
    best: dict[str, int] = {}
    for file, _, holder in named:
        if file not in best or (holder and (not best[file] or sizes[holder] > 2 * sizes[best[file]])):
            best[file] = holder
    found: dict[str, LexborNode] = {}
    for file, link, holder in named:
        if file not in found and holder == best[file]:
            found[file] = link
    return found


def _has_words(link: LexborNode) -> bool:
    """Whether a link shows words or a picture, not only a sign such as an arrow."""
    text = link.text(deep=True)
    return any(letter.isalnum() for letter in text) or not text.strip()


def _find_outermost(link: LexborNode, tags: frozenset[str]) -> LexborNode | None:
    """Return the outermost list or table that holds a link."""
    outermost, node = None, link.parent
    while node is not None:
        if node.tag in tags:
            outermost = node
        node = node.parent
    return outermost


def _find_outer_lines(link: LexborNode, follow: Follow) -> Iterator[tuple[str, str]]:
    """Return the lines that a link's line stands under, the outermost first."""
    outer: list[tuple[str, str]] = []
    node, own = link.parent, True
    while node is not None:
        if node.tag == "li":
            if not own:
                line = _read_lead(node, follow)
                before = _find_before(node, "li") if line == ("", "") else None
                outer.append(_read_lead(before, follow) if before is not None else line)
            own = False
        elif node.tag == "dd":
            term = _find_before(node, "dt")
            if term is not None:
                outer.append(_read_lead(term, follow))
        node = node.parent
    return reversed([line for line in outer if line != ("", "")])


def _find_before(node: LexborNode, tag: str) -> LexborNode | None:
    here = node.prev
    while here is not None and here.tag != tag:
        here = here.prev
    return here


def _read_lead(item: LexborNode, follow: Follow) -> tuple[str, str]:
    """Return the file and the words of a list's line before the list inside it."""
    words: list[str] = []
    child = item.first_child
    while child is not None and child.tag not in _LISTS:
        link = child if child.tag == "a" else child.css_first("a[href]") if child.tag != "-text" else None
        if link is not None and (file := follow(link.attributes.get("href") or "")):
            return file, read_line(link)
        words.append(child.text(deep=True))
        child = child.next
    return "", " ".join("".join(words).split()).lstrip(_MARKERS)


def _find_part(link: LexborNode) -> str:
    """Find the caption or heading right before the outermost list that holds a link."""
    outermost, line, node = None, None, link.parent
    while node is not None:
        if node.tag in _LISTS:
            outermost = node
        elif node.tag == "li" and (outermost is None or node.parent is not None):
            line = node
        node = node.parent
    before = outermost.prev if outermost is not None else None
    while before is not None and (before.tag in _LISTS or before.tag == "-text"):
        before = before.prev
    title = _find_divider(line) if line is not None else ""
    if title or before is None:
        return title
    captioned = before.tag == "p" and "caption" in (before.attributes.get("class") or "").split()
    words = read_line(before) if captioned or before.tag in ("h2", "h3", "h4") else ""
    return "" if words.casefold().strip(":. ") in _NO_PARTS else words


def _find_divider(line: LexborNode) -> str:
    """Find the nearest line above that only names a part, as mdBook writes it."""
    here = line.prev
    while here is not None:
        if here.tag == "li" and "part-title" in (here.attributes.get("class") or "").split():
            return read_line(here)
        here = here.prev
    return ""
