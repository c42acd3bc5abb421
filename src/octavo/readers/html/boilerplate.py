"""Tell what on a page is not the book: menus, site headers, "next" links, permalink signs, copy buttons.

The rules look at structure only. An element is boilerplate when its tag, role or class says so, or when its
class suggests it and nearly all of its text is links. Nothing is dropped for being short or dull: notes,
captions, footnotes and figures inside the article are part of the book.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum

from selectolax.lexbor import LexborNode

from octavo.readers.html.tags import split_names

Attributes = Mapping[str, str | None]

_NEVER = split_names(
    "script style template noscript svg iframe nav head title audio video canvas map embed frameset "
    "datalist progress meter rp menu base link button input select textarea optgroup option meta "
    "applet noframes"
)
_ROLES = frozenset(("navigation", "banner", "contentinfo", "search", "menu", "menubar", "toolbar", "doc-toc"))
_HOLDERS = split_names("div p ul ol dl table section aside header footer center details form")
_TURNS = frozenset(("next", "prev", "previous", "up"))
_NOTES = frozenset(("footnote", "footnotes", "endnote", "endnotes", "rearnote", "rearnotes"))
_SITE_PARTS = frozenset(("header", "footer", "aside"))
_SURE = split_names(
    "navheader navfooter sphinxsidebar sphinxsidebarwrapper docnav breadcrumb breadcrumbs headerlink "
    "permalink hash-link header-anchor anchorjs-link heading-anchor copybtn copy-button "
    "clipboard-copy clip-button skip-link skip-to-content sr-only linenos linenodiv lineno "
    "lnum rouge-gutter nav-chapters mobile-nav-chapters theme-doc-toc-mobile "
    "toctree-wrapper theme-doc-footer edit-page edit-link mw-editsection navbox"
)
_MAYBE = split_names(
    "toc contents table-of-contents local-toc mini-toc related navigation nav navbar "
    "nav-panel navpanel menu pagination pager prev-next prevnext banner header footer top bottom node "
    "links sidebar toplink backlink list-of-figures list-of-tables list-of-examples table_of_contents "
    "element-header-nav topnav bottomnav"
)
_SIGNS = frozenset(("¶", "#", "§", "🔗", "🔗︎", "⚓", "∞", "^", "[edit]", "[link]", "[src]", "[source]"))
_STEP = re.compile(
    r"(?:next|prev|previous|up|home|top|contents|table of contents|index|back|forward|first|last|start"
    r"|next (?:page|chapter|section)|previous (?:page|chapter|section)|weiter|zurück|suivant|précédent)"
)
_STEP_WORDS = re.compile(
    r"\b(?:next|prev|previous|up|home|top|contents|index|back|forward|first|last|page|chapter|section)\b"
    r"|[\W\d_]+",
    re.IGNORECASE,
)
_STEP_HOLDERS = frozenset(("div", "p", "table", "ul", "ol", "center", "header", "footer", "section", "h6"))
_SHORT_FOOTER = 40
_LABEL = re.compile(
    r"^(?:(?:table of )?contents|on this page|in this (?:chapter|section|article))", re.IGNORECASE
)
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


class PageRegion(Enum):
    """Where an element stands: in the article, around it, or at the top level of a page without one."""

    ARTICLE = "article"
    AROUND = "around"
    TOP = "top"


def is_boilerplate(node: LexborNode, tag: str, attributes: Attributes, *, place: PageRegion) -> bool:
    """Whether this element, with everything in it, is not part of the book."""
    if tag in _NEVER:
        return True
    if not attributes:
        return _is_site_part(node, tag, place)
    if tag != "body" and _is_hidden(attributes):
        return True
    if (attributes.get("role") or "") in _ROLES:
        return True
    if _is_site_part(node, tag, place) and not _holds_notes(attributes):
        return True
    if tag == "a" and _is_permalink_sign(node):
        return True
    classes = set((attributes.get("class") or "").lower().split())
    if tag != "body" and classes & _SURE:
        return True
    suggested = classes | {(attributes.get("id") or "").lower()}
    return tag in _HOLDERS and bool(suggested & (_MAYBE | _SURE)) and _measure_link_share(node) > 0.8


def _is_hidden(attributes: Attributes) -> bool:
    """Whether an element is never shown. Other tabs of a set and notes that open on a click are shown."""
    if attributes.get("role") == "tabpanel" or _is_note(attributes):
        return False
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        return True
    return _HIDDEN_STYLE.search(attributes.get("style") or "") is not None


def _is_note(attributes: Attributes) -> bool:
    kinds = f"{attributes.get('epub:type') or ''} {attributes.get('role') or ''}".replace("doc-", "").split()
    return not _NOTES.isdisjoint(kinds)


def _is_site_part(node: LexborNode, tag: str, place: PageRegion) -> bool:
    """Whether this is the header, footer or side column of the site rather than of the page."""
    if place is PageRegion.ARTICLE or tag not in _SITE_PARTS:
        return False
    if tag == "header":
        return node.css_first("h1") is None or _measure_link_share(node) > 0.5
    if place is PageRegion.AROUND:
        return True
    return _measure_link_share(node) > 0.5 or (
        tag == "footer" and len(node.text(deep=True).split()) < _SHORT_FOOTER
    )


def _holds_notes(attributes: Attributes) -> bool:
    return any("note" in (attributes.get(key) or "").lower() for key in ("class", "id", "role"))


def find_article(body: LexborNode) -> LexborNode:
    """Return the element marked as main, if it holds the title or most of the words; else the body."""
    main = body.css("main, [role=main]")
    if len(main) == 1 and (
        main[0].css_first("h1") is not None or 2 * _count_prose(main[0]) > _count_prose(body)
    ):
        return main[0]
    return body


def _count_prose(node: LexborNode) -> int:
    """Count the characters of an element outside links and scripts."""
    aside = node.css("a, script, style, noscript, template, nav :not(a)")
    return len(node.text(deep=True)) - sum(len(a.text(deep=True)) for a in aside)


def _is_permalink_sign(node: LexborNode) -> bool:
    """Whether an anchor shows only a sign, such as a permalink's."""
    text = node.text(deep=True).strip()
    return 0 < len(text) < 10 and text in _SIGNS


def _measure_link_share(node: LexborNode) -> float:
    """Return the share of an element's text that is in links."""
    total = len("".join(_LABEL.sub("", node.text(deep=True).lstrip()).split()))
    if not total:
        return 1.0 if node.css_first("a") is not None else 0.0
    return sum(len("".join(a.text(deep=True).split())) for a in node.css("a[href]")) / total


def is_paging_link(node: LexborNode, attributes: Attributes) -> bool:
    """Whether a link leads to the next, previous or upper page."""
    rel = (attributes.get("rel") or "").lower().split()
    if not _TURNS.isdisjoint(rel) or (attributes.get("accesskey") or "") in ("n", "p", "u"):
        return True
    text = " ".join(node.text(deep=True).lower().strip(" <>«»←→[]()|‹›⟨⟩").split())
    return len(text) < 24 and _STEP.fullmatch(text) is not None


def find_paging_bars(root: LexborNode) -> set[int]:
    """Find the largest elements that hold only paging links, by their `mem_id`."""
    bars: set[int] = set()
    judged: dict[int, bool] = {}
    for link in root.css("a[href]"):
        if not is_paging_link(link, link.attributes):
            continue
        best, node = None, link.parent
        while node is not None and node.tag not in ("body", "html", "main", "article"):
            if node.mem_id not in judged:
                judged[node.mem_id] = _is_paging_bar(node)
            if not judged[node.mem_id]:
                break
            if node.tag in _STEP_HOLDERS:
                best = node
            node = node.parent
        if best is not None:
            bars.add(best.mem_id)
    return bars


def _is_paging_bar(node: LexborNode) -> bool:
    """Whether an element holds paging links and hardly any other text."""
    text = node.text(deep=True, separator=" ")
    if len(text) > 1_000 or node.css_first("h1, h2, h3, pre, p + p") is not None:
        return False
    links = node.css("a[href]")
    for link in links:
        text = text.replace(link.text(deep=True, separator=" "), " ", 1)
    steps = sum(is_paging_link(link, link.attributes) for link in links)
    if len(links) > 12 or 2 * steps < len(links):
        return False
    framed = steps > 1 and (
        node.tag in ("table", "ul", "tr", "tbody") or node.css_first("td, li") is not None
    )
    return len(_STEP_WORDS.sub("", text)) <= (60 if framed else 0)
