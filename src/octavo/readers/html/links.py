"""Read the lines of a contents page: where each link leads, and which lines its nested lists put it under."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from octavo.readers.html.boilerplate import is_paging_link
from octavo.readers.html.inline import read_line

Follow = Callable[[str], str]
"""From an address on the page to the file it means, or to nothing."""

_LISTS = frozenset(("ul", "ol", "dl"))
_NO_PARTS = frozenset(("contents", "table of contents", "index", "indices and tables", "navigation", ""))


def read_contents_links(tree: LexborHTMLParser, follow: Follow) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return each file once, with the outer lines above it, each as its file (or '') and its words."""
    everywhere = _find_links(tree.css("a[href]"), follow)
    main = tree.css_first("main, article, [role=main]")
    inside = _find_links(main.css("a[href]"), follow) if main is not None else {}
    chosen = inside if 2 * len(inside) >= len(everywhere) else everywhere
    found = [(file, list(_find_outer_lines(link, follow)), _find_part(link)) for file, link in chosen.items()]
    parts = {part for _, _, part in found if part}
    named = len(parts) > 1
    return [(file, [("", part), *above] if named and part else above) for file, above, part in found]


def _find_links(links: list[LexborNode], follow: Follow) -> dict[str, LexborNode]:
    """Find the first link to each file, paging links excepted."""
    found: dict[str, LexborNode] = {}
    for link in links:
        attributes = link.attributes
        file = follow(attributes.get("href") or "")
        if file and file not in found and not is_paging_link(link, attributes):
            found[file] = link
    return found


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
    return "", " ".join("".join(words).split())


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
    while before is not None and before.tag == "-text":
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
