"""Read the index of an EPUB: where its package is, what the package lists, and its table of contents.

All of it is data from the book, read by an XML parser that fetches nothing and expands nothing. A document
that declares its own entities is refused: books do not need them, and attacks do.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from octavo.errors import BadBook
from octavo.readers.files import resolve_member_name
from octavo.readers.metadata import build_metadata
from octavo.readers.xml import (
    Element,
    find_all,
    find_children,
    get_attribute,
    get_local_name,
    parse_xml,
    read_words,
)
from octavo.text.clean import collapse
from octavo.types import NO_METADATA, BookMetadata

_DOCUMENT_TYPES = frozenset(
    ("application/xhtml+xml", "text/html", "text/x-oeb1-document", "application/html+xml", "image/svg+xml")
)
_DOCUMENT_SUFFIXES = (".xhtml", ".html", ".htm", ".xht")


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestItem:
    """A file that the package lists. `path` is None when its address points outside the book."""

    id: str
    href: str
    path: str | None
    media_type: str
    properties: frozenset[str]
    fallback: str = ""

    @property
    def is_document(self) -> bool:
        return self.media_type in _DOCUMENT_TYPES or self.href.lower().endswith(_DOCUMENT_SUFFIXES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """What the package document says about the book."""

    title: str
    authors: tuple[str, ...]
    language: str
    items: tuple[ManifestItem, ...]
    spine: tuple[tuple[str, bool], ...]
    """The id of each document in reading order, and whether it is part of the main course."""
    ncx: str
    guide: tuple[tuple[str, str], ...]
    """Kind and path of what the package names: cover, title page, contents."""
    metadata: BookMetadata = NO_METADATA
    cover: str = ""
    """The id of the cover's picture, as EPUB 2 gives it."""

    def find_pictures(self) -> list[str]:
        """List where the cover's picture may be, the surest place first."""
        named = [i for i in self.items if "cover-image" in i.properties]
        named += [i for i in self.items if self.cover and self.cover in (i.id, i.href)]
        named += [i for i in self.items if i.media_type.startswith("image/") and "cover" in i.id.lower()]
        return list(dict.fromkeys(item.path for item in named if item.path))


@dataclass(frozen=True, slots=True)
class TocEntry:
    """A line of the contents: the titles down to it, and the place that it points at."""

    path: tuple[str, ...]
    file: str
    fragment: str


@dataclass(frozen=True, slots=True)
class EpubContents:
    """The table of contents and the printed pages."""

    entries: tuple[TocEntry, ...] = ()
    pages: tuple[tuple[str, str, str], ...] = ()
    """File, fragment and printed label of each page."""


def resolve_href(base: str, href: str) -> tuple[str | None, str]:
    """Return the file and fragment of `href`, written in `base`; no file when it leaves the book."""
    address, _, fragment = href.strip().partition("#")
    if not address:
        return base, unquote(fragment)
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", address):
        return None, ""
    plain = unquote(address)
    folder = posixpath.dirname(base)
    joined = plain if plain.startswith("/") or not folder else f"{folder}/{plain}"
    return resolve_member_name(joined), unquote(fragment)


def read_rootfiles(data: bytes) -> list[str]:
    """List the packages that container.xml names, in its order."""
    root = parse_xml(data, name="META-INF/container.xml")
    found = (collapse(node.get("full-path") or "") for node in find_all(root, "rootfile"))
    return [path for name in found if (path := resolve_member_name(unquote(name)))]


def read_package(data: bytes, *, path: str) -> Package:
    """Read the package at `path`: its title page, its files and their order."""
    root = parse_xml(data, name=path)
    if get_local_name(root) != "package":
        raise BadBook("bad_epub", f"{path} is not an EPUB package")
    spine = next(find_all(root, "spine"), None)
    references = find_children(spine, "itemref") if spine is not None else []
    creators = (read_words(node) for node in find_all(root, "creator"))
    guide = (
        (n.get("type") or "", resolve_href(path, n.get("href") or "")[0]) for n in find_all(root, "reference")
    )
    return Package(
        title=_read_title(root),
        authors=tuple(dict.fromkeys(name for name in creators if name)),
        language=read_words(next(find_all(root, "language"), None))[:20],
        items=tuple(_read_item(node, path) for node in find_all(root, "item") if node.get("href")),
        spine=tuple((n.get("idref") or "", (n.get("linear") or "yes").lower() != "no") for n in references),
        ncx=(spine.get("toc") or "") if spine is not None else "",
        guide=tuple((kind, file) for kind, file in guide if file),
        metadata=read_metadata(root),
        cover=next((n.get("content") or "" for n in find_all(root, "meta") if n.get("name") == "cover"), ""),
    )


def _read_title(root: Element) -> str:
    """Return the main title: the one that is marked as main, or the first."""
    titles = [node for node in find_all(root, "title") if read_words(node)]
    main = {
        (meta.get("refines") or "").lstrip("#")
        for meta in find_all(root, "meta")
        if meta.get("property") == "title-type" and read_words(meta) == "main"
    }
    chosen = next((node for node in titles if node.get("id") in main), titles[0] if titles else None)
    return read_words(chosen)


def read_metadata(root: Element) -> BookMetadata:
    """Read subjects, series, publisher, date and identifiers, as EPUB 2, EPUB 3 and Calibre write them."""
    meta = list(find_all(root, "meta"))
    named = {(n.get("name") or "").lower(): n.get("content") or "" for n in meta}
    collection = next((n for n in meta if n.get("property") == "belongs-to-collection"), None)
    series, position = named.get("calibre:series", ""), named.get("calibre:series_index", "")
    if collection is not None and not series:
        mark = "#" + (collection.get("id") or "-")
        more = (n for n in meta if n.get("property") == "group-position" and n.get("refines") == mark)
        series, position = read_words(collection), read_words(next(more, None))
    return build_metadata(
        subjects=[read_words(n) for n in find_all(root, "subject")],
        series=series,
        series_position=position,
        publisher=read_words(next(find_all(root, "publisher"), None)),
        published=_read_published(root),
        identifiers=[(get_attribute(n, "scheme"), read_words(n)) for n in find_all(root, "identifier")],
    )


def _read_published(root: Element) -> str:
    """Return the date of publication: one that says so, else one that says nothing of itself.

    EPUB 2 also writes when the file was created or modified, which is no date of the book.
    """
    dates = [(get_attribute(node, "event").lower(), read_words(node)) for node in find_all(root, "date")]
    for wanted in ("publication", "original-publication", "issued", ""):
        for event, date in dates:
            if event == wanted and date:
                return date
    return ""


def _read_item(node: Element, path: str) -> ManifestItem:
    href = node.get("href") or ""
    return ManifestItem(
        id=node.get("id") or "",
        href=href,
        path=resolve_href(path, href)[0],
        media_type=(node.get("media-type") or "").split(";")[0].strip().lower(),
        properties=frozenset((node.get("properties") or "").split()),
        fallback=node.get("fallback") or "",
    )


def read_ncx(data: bytes, *, path: str) -> EpubContents:
    """Read the contents of an EPUB 2."""
    root = parse_xml(data, name=path)
    chart = next(find_all(root, "navMap"), None)
    pages = []
    for target in find_all(root, "pageTarget"):
        file, fragment = _read_source(target, path)
        label = read_words(next(iter(find_children(target, "navLabel")), None)) or target.get("value") or ""
        if file:
            pages.append((file, fragment, label))
    return EpubContents(tuple(_read_points(chart, path, ())) if chart is not None else (), tuple(pages))


def _read_source(node: Element, path: str) -> tuple[str | None, str]:
    content = next(iter(find_children(node, "content")), None)
    return resolve_href(path, content.get("src") or "") if content is not None else (None, "")


def _read_points(node: Element, path: str, above: tuple[str, ...]) -> Iterator[TocEntry]:
    for point in find_children(node, "navPoint"):
        label = read_words(next(iter(find_children(point, "navLabel")), None))
        here = (*above, label) if label else above
        file, fragment = _read_source(point, path)
        if file and label:
            yield TocEntry(here, file, fragment)
        yield from _read_points(point, path, here)


def read_nav(data: bytes, *, path: str) -> EpubContents:
    """Read the contents of an EPUB 3: its `toc` list and its page list."""
    root = parse_xml(data, name=path)
    entries: tuple[TocEntry, ...] = ()
    pages: list[tuple[str, str, str]] = []
    for element in find_all(root, "nav"):
        kinds = _read_kinds(element)
        lists = [node for node in element.iter() if get_local_name(node) in ("ol", "ul")][:1]
        if "page-list" in kinds or "doc-pagelist" in kinds:
            found = (e for part in lists for e in _read_lines(part, path, ()))
            pages += ((e.file, e.fragment, e.path[-1]) for e in found)
        elif not kinds & {"landmarks", "lot", "loi", "loa", "lov", "index"} and not entries:
            entries = tuple(e for part in lists for e in _read_lines(part, path, ()))
    return EpubContents(entries, tuple(pages))


def _read_kinds(node: Element) -> set[str]:
    types = (v for key, v in node.attrib.items() if str(key).rpartition("}")[2] in ("type", "role"))
    return set(" ".join(str(v) for v in types).replace("epub:", "").split())


def _read_lines(node: Element, path: str, above: tuple[str, ...]) -> Iterator[TocEntry]:
    for line in find_children(node, "li"):
        link = next(
            (n for n in line.iter() if get_local_name(n) in ("a", "span") and _belongs_to(n, line)), None
        )
        label = read_words(link)
        here = (*above, label) if label else above
        file, fragment = resolve_href(path, link.get("href") or "") if link is not None else (None, "")
        if file and label and link is not None and link.get("href"):
            yield TocEntry(here, file, fragment)
        for deeper in line.iter():
            if get_local_name(deeper) in ("ol", "ul") and _belongs_to(deeper, line):
                yield from _read_lines(deeper, path, here)


def _belongs_to(node: Element, line: Element) -> bool:
    """Whether a label or a list belongs to this line and not to a line inside it."""
    parent = node.getparent()
    while parent is not None and parent is not line:
        if get_local_name(parent) == "li":
            return False
        parent = parent.getparent()
    return parent is line


def read_encryption(data: bytes) -> list[tuple[str, str]]:
    """List what encryption.xml says is encrypted: the method and the file of each."""
    root = parse_xml(data, name="META-INF/encryption.xml")
    found: list[tuple[str, str]] = []
    for locked in find_all(root, "EncryptedData"):
        method = next(find_all(locked, "EncryptionMethod"), None)
        for reference in find_all(locked, "CipherReference"):
            algorithm = (method.get("Algorithm") or "") if method is not None else ""
            found.append((algorithm, unquote(reference.get("URI") or "")))
    return found
