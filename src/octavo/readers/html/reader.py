"""Read a book in HTML: one page, or a folder of pages as documentation sites are published.

A single page is named by its first heading or its title. In a folder, `order` finds the order and the parts;
each page becomes a chapter and its headings sections, addressed by page and heading id. Pages that only link
to others (contents, index, search), send their reader elsewhere or repeat another page add no text. Nothing
is fetched and no script is run. A folder with the manifest of a fetched site is read like any other, with the
addresses that the manifest has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from selectolax.lexbor import LexborHTMLParser

from octavo.errors import BAD_BOOK_CODES, BadBook
from octavo.readers.addresses import Locate, make_locator
from octavo.readers.files import check_sections, check_text_size, find_files, load_file, resolve_inside
from octavo.readers.html import site
from octavo.readers.html.claims import is_alphabetical, read_claims
from octavo.readers.html.dom import decode_page, parse_page, read_page
from octavo.readers.html.fetched import FetchedSite, SiteLinks, load_manifest
from octavo.readers.html.links import ContentsLink, read_contents_links, read_menu_links
from octavo.readers.html.order import ContentsLine, ContentsPart, find_contents_page, order_pages
from octavo.readers.html.site import SitePage
from octavo.readers.html.title import choose_book_title, find_page_title, name_head
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
_MOST_WORDS_MOVED = 60
_LINKED_INDEX = 0.3


def read_html(path: Path, limits: Limits, *, on_page: Callable[[int, int], None] | None = None) -> ParsedBook:
    """Read the book in an HTML file or a folder of them. `on_page` gets the pages read, and all."""
    return _read_folder(path, limits, on_page) if path.is_dir() else _read_file(path, limits)


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
    tree = _parse_file(path, limits, name=path.name, notes=notes)
    page = read_page(tree, site=True, locate=make_locator(path.name))
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


@dataclass(slots=True)
class _Site:
    """The pages of a folder, what finds the page behind a link, and the lists that were read so far.

    `moved` leads from pages that only send their reader elsewhere to where they send.
    """

    root: Path
    limits: Limits
    pages: dict[str, SitePage]
    follow: Follow
    moved: dict[str, str] = field(default_factory=dict)
    menus: dict[str, list[ContentsLine]] = field(default_factory=dict)

    def resolve(self, file: str, href: str) -> str:
        """Return the page that a link leads to in the end."""
        return self.find_moved(self.follow(file, href))

    def find_moved(self, target: str) -> str:
        for _ in self.moved:
            if target not in self.moved:
                break
            target = self.moved[target]
        return target if target in self.pages else ""

    def read_contents(self, file: str) -> list[ContentsLine]:
        """Read the lines of a page that holds the contents."""
        tree = _parse_file(self.root / file, self.limits, name=file, notes=[])
        return _make_lines(read_contents_links(tree, lambda href: self.resolve(file, href)), file)

    def read_menu(self, file: str) -> list[ContentsLine]:
        """Read the lines of any page's own lists."""
        if file not in self.menus:
            tree = _parse_file(self.root / file, self.limits, name=file, notes=[])
            found = read_menu_links(tree, lambda href: self.resolve(file, href))
            self.menus[file] = _make_lines(found, file)
        return self.menus[file]


def _make_lines(found: list[ContentsLink], file: str) -> list[ContentsLine]:
    return [
        ContentsLine(f, tuple(ContentsPart(*a) for a in above if a[0] != file))
        for f, above in found
        if f != file
    ]


def _read_folder(root: Path, limits: Limits, on_page: Callable[[int, int], None] | None) -> ParsedBook:
    fetched = load_manifest(root)
    notes: list[str] = [] if fetched is None else list(fetched.notes)
    whole = _read_pages(root, limits, notes, fetched, on_page)
    pages = whole.pages
    if not pages:
        raise BadBook("no_text", f"{root.name} has no HTML pages")
    home = site.find_home(pages)
    contents = find_contents_page(pages, home, whole.read_menu)
    lines = whole.read_contents(contents.file) if contents else []
    named = {line.file for line in lines}
    home = home or contents
    heads = list(dict.fromkeys(page.file for page in (home, contents) if page))
    for repeated in site.find_whole_books(pages, named):
        if repeated not in heads:
            del pages[repeated]
            notes.append(f"{repeated}: left out, it repeats the other pages")
    order, left = order_pages(pages, lines, heads=heads, menu=whole.read_menu)
    if contents and left > max(3, len(pages) // 5):
        notes.append(
            f"{contents.file} does not link to {left} of {len(pages)} pages; they come last, sorted by name"
        )
    shared = site.find_shared_title([s.content.title for s in pages.values() if s.content.title])
    copies = site.find_copies(pages, named)
    title = choose_book_title(home, contents, shared, is_chapter=bool(home and home.file in copies))
    title = title or make_title(root.name.removesuffix(".html").removesuffix("_html"))
    addresses = fetched.pages if fetched else {file: file for file in pages}
    outline = _build_outline(pages, order, addresses, title=title, shared=shared, heads=heads, skip=copies)
    main = home or next(iter(pages.values()))
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
    root: Path,
    limits: Limits,
    notes: list[str],
    fetched: FetchedSite | None,
    on_page: Callable[[int, int], None] | None = None,
) -> _Site:
    """Read every page of the folder; leave out empty files and other formats with a warning."""
    if fetched is None:
        files = {p.relative_to(root).as_posix(): p for p in find_files(root, SUFFIXES, limits, notes=notes)}
    else:
        files = {file: path for file in fetched.pages if (path := resolve_inside(root, root, file))}

    def follow(file: str, href: str) -> str:
        return site.resolve_link(file, href, files)

    chosen = follow if fetched is None else SiteLinks(fetched).resolve
    # One odd page must not keep out a site that its reader cannot change.
    bearable = _NO_PAGE if fetched is None else frozenset(BAD_BOOK_CODES) - {"too_large"}
    found = _Site(root, limits, {}, chosen)
    size = 0
    for number, (file, path) in enumerate(files.items()):
        if on_page:
            on_page(number + 1, len(files))
        try:
            tree = _parse_file(path, limits, name=file, notes=notes)
        except BadBook as refused:
            if refused.code not in bearable:
                raise
            notes.append(refused.message)
            continue
        page = _read_site_page(tree, file, chosen, _make_locator(file, fetched, chosen))
        size += sum(len(p.text) for p in page.content.pieces)
        check_text_size(size, limits, name=root.name)
        if page.claims.moved and page.content.words <= _MOST_WORDS_MOVED:
            found.moved[file] = chosen(file, page.claims.moved)
        else:
            found.pages[file] = page
    if not found.pages:
        found.moved.clear()
    if found.moved:
        found.pages = {file: _lead_on(page, found) for file, page in found.pages.items()}
    return found


def _make_locator(file: str, fetched: FetchedSite | None, follow: Follow) -> Locate:
    """Make what resolves the addresses of a page: those of a fetched site are web addresses."""
    if fetched is None:
        return make_locator(file)
    page, within = fetched.pages[file], make_locator(file)

    def locate(href: str) -> str:
        target = follow(file, href)
        if target:
            return within(f"/{target}#{href.partition('#')[2]}")
        try:
            return within(urljoin(page, href))
        except ValueError:
            return ""

    return locate


def _read_site_page(tree: LexborHTMLParser, file: str, follow: Follow, locate: Locate) -> SitePage:
    claims = read_claims(tree, file, lambda href: follow(file, href))
    canonical = tree.css_first("link[rel=canonical]")
    content = read_page(tree, site=True, locate=locate)
    return SitePage(
        file=file,
        content=content,
        claims=claims,
        canonical=(canonical.attributes.get("href") or "") if canonical else "",
        alphabetical=content.linked > _LINKED_INDEX and is_alphabetical(tree),
    )


def _lead_on(page: SitePage, whole: _Site) -> SitePage:
    """Return a page whose links lead to where pages have moved."""
    claims = page.claims
    targets = frozenset(found for name in claims.targets if (found := whole.find_moved(name)))
    heads = frozenset(found for name in claims.heads if (found := whole.find_moved(name)))
    led = replace(
        claims,
        targets=targets - {page.file},
        heads=heads,
        next=whole.find_moved(claims.next),
        up=whole.find_moved(claims.up),
        contents=whole.find_moved(claims.contents),
        index=whole.find_moved(claims.index),
    )
    return replace(page, claims=led)


def _build_outline(
    pages: Mapping[str, SitePage],
    order: list[ContentsLine],
    addresses: Mapping[str, str],
    *,
    title: str,
    shared: str,
    heads: list[str],
    skip: frozenset[str],
) -> Outline:
    outline = Outline()
    indexes = site.find_indexes(pages)
    titles = {file: find_page_title(page, shared) for file, page in pages.items()}
    for line in order:
        page = pages[line.file]
        is_head = line.file in heads[:1]
        if line.file in skip | indexes or site.is_only_links(page, is_contents=line.file in heads):
            continue
        outline.start_document(page.file, url=addresses[page.file])
        named = (name_head(page, titles[line.file], title),) if is_head else _build_path(line, titles, title)
        outline.enter(named, pinned=not is_head)
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
