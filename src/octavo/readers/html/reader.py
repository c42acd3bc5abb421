"""Read a book in HTML: one page, or a folder of pages as documentation sites are published.

A single page is named by its first heading or its title. In a folder, `site` finds the order and the parts;
each page becomes a chapter and its headings sections, addressed by page and heading id. Pages that only link
to others (contents, index, search) add no text. Nothing is fetched and no script is run. A folder with the
manifest of a fetched site is read like any other, with the addresses that the manifest has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborHTMLParser

from octavo.errors import BAD_BOOK_CODES, BadBook
from octavo.readers.files import check_sections, check_text_size, find_files, load_file, resolve_inside
from octavo.readers.html import site
from octavo.readers.html.boilerplate import is_paging_link
from octavo.readers.html.dom import decode_page, parse_page, read_page
from octavo.readers.html.fetched import FetchedSite, SiteLinks, load_manifest
from octavo.readers.html.links import read_contents_links
from octavo.readers.html.site import ContentsLine, ContentsPart, SitePage
from octavo.readers.outline import Outline
from octavo.readers.pages import Heading, HtmlPage, Piece
from octavo.readers.parsed import ParsedBook
from octavo.readers.titles import clean_line, is_same_title, make_title
from octavo.types import BookFormat

if TYPE_CHECKING:
    from octavo.limits import Limits

SUFFIXES = frozenset((".html", ".htm", ".xhtml"))
_NO_PAGE = frozenset(("empty_file", "type_mismatch"))
Follow = Callable[[str, str], str]
"""From a file and an address written in it to the file of the folder that it means, or to nothing."""

_NO_TITLES = frozenset(("contents", "table of contents", "index", "toc", "home", "welcome", "untitled"))


def read_html(path: Path, limits: Limits) -> ParsedBook:
    """Read the book in an HTML file or a folder of them."""
    return _read_folder(path, limits) if path.is_dir() else _read_file(path, limits)


def _parse_file(path: Path, limits: Limits, *, name: str, notes: list[str]) -> LexborHTMLParser:
    data = load_file(path, limits)
    if not data:
        raise BadBook("empty_file", f"{name} is empty: it has 0 bytes")
    if data.startswith((b"%PDF", b"PK\x03\x04")):
        kind = "a PDF" if data.startswith(b"%PDF") else "a zip archive"
        raise BadBook("type_mismatch", f"{name} is {kind}, not HTML")
    return parse_page(decode_page(data, name=name, notes=notes), limits, name=name)


def _read_file(path: Path, limits: Limits) -> ParsedBook:
    notes: list[str] = []
    page = read_page(_parse_file(path, limits, name=path.name, notes=notes), site=True)
    first, pieces = _split_title(page)
    title = clean_line(first.text if first else page.title) or make_title(path.stem)
    outline = Outline()
    outline.start_document(path.name, url=path.name)
    begins = next((p for p in pieces if p.text), None)
    if not isinstance(begins, Heading):
        outline.enter((title,), anchor=first.anchor if first else "")
        lead = next((n for n, p in enumerate(pieces) if isinstance(p, Heading)), len(pieces))
        outline.add(pieces[:lead])
        outline.leave()
        pieces = pieces[lead:]
    outline.add(pieces)
    return ParsedBook(
        title=title,
        format=BookFormat.HTML,
        sections=check_sections(outline.build_sections(title=title), limits, name=path.name),
        authors=page.authors,
        language=page.language,
        page_count=outline.page_count,
        warnings=tuple(notes),
    )


def _split_title(page: HtmlPage) -> tuple[Heading | None, list[Piece]]:
    """Return the heading that names the whole page, if one stands above all others, and the other pieces."""
    headings = page.headings
    if not headings:
        return None, list(page.pieces)
    first = headings[0]
    alone = all(h.level > first.level for h in headings[1:])
    if not alone or (first.level > 1 and len(headings) > 1 and not is_same_title(first.text, page.title)):
        return None, list(page.pieces)
    return first, [p for p in page.pieces if p is not first]


def _read_folder(root: Path, limits: Limits) -> ParsedBook:
    fetched = load_manifest(root)
    notes: list[str] = [] if fetched is None else list(fetched.notes)
    pages, follow = _read_pages(root, limits, notes, fetched)
    if not pages:
        raise BadBook("no_text", f"{root.name} has no HTML pages")
    contents = site.find_contents_page(pages)
    lines: list[ContentsLine] = []
    if contents:
        tree = _parse_file(root / contents.file, limits, name=contents.file, notes=[])
        file = contents.file
        found = read_contents_links(tree, lambda href: follow(file, href))
        lines = [
            ContentsLine(f, tuple(ContentsPart(*a) for a in above if a[0] != file))
            for f, above in found
            if f != file
        ]
    for repeated in site.find_whole_books(pages, lines):
        if contents is None or repeated != contents.file:
            del pages[repeated]
            notes.append(f"{repeated}: left out, it repeats the other pages")
    order, left = site.order_pages(pages, lines, first=contents.file if contents else "")
    if contents and left > max(3, len(pages) // 5):
        notes.append(
            f"{contents.file} does not link to {left} of {len(pages)} pages; they come last, sorted by name"
        )
    shared = site.find_shared_title([s.content.title for s in pages.values() if s.content.title])
    title = _choose_title(contents, shared) or make_title(
        root.name.removesuffix(".html").removesuffix("_html")
    )
    addresses = fetched.pages if fetched else {file: file for file in pages}
    outline = _build_outline(pages, order, contents, addresses, title=title, shared=shared)
    main = contents or next(iter(pages.values()))
    languages = (s.content.language for s in (main, *pages.values()) if s.content.language)
    return ParsedBook(
        title=title,
        format=BookFormat.HTML,
        sections=check_sections(outline.build_sections(title=title), limits, name=root.name),
        authors=main.content.authors,
        language=next(languages, ""),
        base_url=fetched.address if fetched else site.find_base_url(pages.values()),
        page_count=outline.page_count,
        warnings=tuple(notes),
    )


def _read_pages(
    root: Path, limits: Limits, notes: list[str], fetched: FetchedSite | None
) -> tuple[dict[str, SitePage], Follow]:
    """Read every page of the folder; leave out empty files and other formats with a warning.

    Returns the pages, and what finds the page that a link leads to.
    """
    if fetched is None:
        files = {p.relative_to(root).as_posix(): p for p in find_files(root, SUFFIXES, limits, notes=notes)}
    else:
        files = {file: path for file in fetched.pages if (path := resolve_inside(root, root, file))}

    def follow(file: str, href: str) -> str:
        return site.resolve_link(file, href, files)

    chosen = follow if fetched is None else SiteLinks(fetched).resolve
    # One odd page must not keep out a site that its reader cannot change.
    bearable = _NO_PAGE if fetched is None else frozenset(BAD_BOOK_CODES) - {"too_large"}
    pages: dict[str, SitePage] = {}
    size = 0
    for file, path in files.items():
        try:
            tree = _parse_file(path, limits, name=file, notes=notes)
        except BadBook as refused:
            if refused.code not in bearable:
                raise
            notes.append(refused.message)
            continue
        targets, following = _read_links(tree, file, chosen)
        canonical = tree.css_first("link[rel=canonical]")
        content = read_page(tree, site=True)
        size += sum(len(p.text) for p in content.pieces)
        check_text_size(size, limits, name=root.name)
        pages[file] = SitePage(
            file=file,
            content=content,
            targets=targets - {file},
            next=following,
            canonical=(canonical.attributes.get("href") or "") if canonical else "",
        )
    return pages, chosen


def _read_links(tree: LexborHTMLParser, file: str, follow: Follow) -> tuple[frozenset[str], str]:
    """Return the pages that a page links to, and the one that it calls next."""
    targets: set[str] = set()
    following = ""
    for link in tree.css("link[rel=next], a[href]"):
        attributes = link.attributes
        target = follow(file, attributes.get("href") or "")
        if not target or target == file:
            continue
        if link.tag == "a":
            targets.add(target)
        calls_next = (attributes.get("rel") or "").lower() == "next" or attributes.get("accesskey") == "n"
        if not following and (
            calls_next or (is_paging_link(link, attributes) and _says_next(link.text(deep=True)))
        ):
            following = target
    return frozenset(targets), following


def _says_next(text: str) -> bool:
    return text.strip(" \n\t<>«»←→[]()|‹›").lower().startswith(("next", "weiter", "suivant"))


def _choose_title(contents: SitePage | None, shared: str) -> str:
    if contents is None:
        return clean_line(shared)
    top = next((h.text for h in contents.content.headings if h.level == 1), "")
    own = site.drop_shared_title(contents.content.title, shared)
    choices = (top, own, shared, contents.content.title)
    return next((clean_line(c) for c in choices if c and c.casefold().strip(". ") not in _NO_TITLES), "")


def _build_outline(
    pages: dict[str, SitePage],
    order: list[ContentsLine],
    contents: SitePage | None,
    addresses: Mapping[str, str],
    *,
    title: str,
    shared: str,
) -> Outline:
    outline = Outline()
    titles = {file: _find_title(page, shared) for file, page in pages.items()}
    for line in order:
        page = pages[line.file]
        is_contents = page is contents
        if site.is_only_links(page, is_contents=is_contents):
            continue
        outline.start_document(page.file, url=addresses[page.file])
        if is_contents:
            outline.enter((title,))
        else:
            outline.enter(_build_path(line, titles, title))
        outline.add(page.content.pieces)
    return outline


def _build_path(line: ContentsLine, titles: dict[str, str], book: str) -> tuple[str, ...]:
    """Return the titles above a page and its own, none twice in a row and without the book's."""
    above = (titles.get(a.file, "") or a.label for a in line.above if a.file != line.file)
    path: list[str] = []
    for name in (*above, titles[line.file]):
        if name and not (path and is_same_title(path[-1], name)) and (path or not is_same_title(name, book)):
            path.append(name)
    return tuple(path) or (titles[line.file],)


def _find_title(page: SitePage, shared: str) -> str:
    """Find a page's title: its heading, or what its head says without the site's name."""
    headings = page.content.headings
    top = min((h.level for h in headings), default=0)
    highest = [h for h in headings if h.level == top]
    if highest and (top == 1 or highest[0] is headings[0]):
        return clean_line(highest[0].text)
    return clean_line(site.drop_shared_title(page.content.title, shared)) or make_title(page.stem)
