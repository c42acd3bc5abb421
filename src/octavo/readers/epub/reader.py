"""Read EPUB 2 and 3 books.

The spine gives the order, the navigation document or the NCX the titles, the page list or page breaks in the
text the printed pages. A book that is merely untidy is read with warnings: listed files that are missing, no
table of contents, wrong encodings. A book that is locked, cut off or built to do harm is refused with a
reason. Octavo names a publisher's lock and leaves it alone; fonts that are only obfuscated lock nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from octavo.errors import BadBook
from octavo.limits import MB, Limits
from octavo.readers.addresses import make_locator
from octavo.readers.epub import package as opf
from octavo.readers.epub.package import EpubContents, ManifestItem, Package, TocEntry
from octavo.readers.epub.spine import find_kinds, is_wrapper, place_document
from octavo.readers.files import Archive, check_sections, check_text_size
from octavo.readers.finish import finish_book
from octavo.readers.html.dom import decode_page, parse_page, read_page
from octavo.readers.outline import Outline
from octavo.readers.parsed import COVER_MOST_MB, Cover, ParsedBook, make_cover
from octavo.readers.titles import clean_line, make_title
from octavo.types import BookFormat

_SCRAMBLED_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_LOCK_SIGNS = (
    (b"readium.org/2014/01/lcp", "Readium LCP"),
    (b"ns.adobe.com/adept", "Adobe ADEPT"),
    (b"apple.com", "Apple FairPlay"),
    (b"kobo", "Kobo"),
)
_TEXT_SUFFIXES = (".xhtml", ".html", ".htm", ".xht", ".xml", ".opf", ".ncx", ".svg")
_CONTAINER = "META-INF/container.xml"
_MOST_SHOWN = 5
_OTHER_ARCHIVES = (
    ("word/", "a Word document"),
    ("xl/", "an Excel workbook"),
    ("ppt/", "a PowerPoint presentation"),
    ("AndroidManifest.xml", "an Android app"),
    ("META-INF/MANIFEST.MF", "a Java archive"),
)


def read_epub(path: Path, limits: Limits) -> ParsedBook:
    """Read the book in an `.epub` file."""
    _refuse_other_files(path, limits)
    notes: list[str] = []
    with Archive(path, limits) as archive:
        package = _read_package(archive, notes)
        _refuse_locked(archive, package)
        contents = _read_contents(archive, package, notes)
        documents = _order_documents(archive, package, notes)
        title = clean_line(package.title) or make_title(path.stem)
        outline = _build_outline(
            archive, package, contents, documents, title=title, limits=limits, notes=notes
        )
        cover = _read_cover(archive, package)
        book = ParsedBook(
            title=title,
            format=BookFormat.EPUB,
            sections=check_sections(outline.build_sections(title=title), limits, name=path.name),
            authors=package.authors,
            language=package.language,
            page_count=outline.page_count,
            warnings=tuple(notes),
            cover=cover,
            metadata=package.metadata,
        )
        return finish_book(book, lambda file: _load_member(archive, file, limits), limits)


def _load_member(archive: Archive, file: str, limits: Limits) -> bytes | None:
    name = archive.find(file)
    fits = name is not None and archive.get_size(name) <= limits.max_image_mb * MB
    return archive.read(name) if name is not None and fits else None


def _read_cover(archive: Archive, package: Package) -> Cover | None:
    """Read the cover's picture. A missing or bad one does no harm to the book."""
    for picture in package.find_pictures()[:_MOST_SHOWN]:
        path = archive.find(picture)
        if path is not None and archive.get_size(path) <= COVER_MOST_MB * MB:
            with suppress(BadBook):
                if cover := make_cover(archive.read(path)):
                    return cover
    return None


def _refuse_other_files(path: Path, limits: Limits) -> None:
    if not path.is_file():
        raise BadBook("not_found", f"there is no file {path.name!r}")
    size = path.stat().st_size
    if not size:
        raise BadBook("empty_file", f"{path.name} is empty: it has 0 bytes")
    if size > limits.max_file_mb * MB:
        raise BadBook("too_large", f"{path.name} is larger than {limits.max_file_mb} MB")
    with path.open("rb") as file:
        head = file.read(512)
    if head.startswith(b"PK"):
        return
    kinds = (
        (b"%PDF", "a PDF"),
        (b"<", "a page of HTML or XML"),
        (b"\xd0\xcf\x11\xe0", "an old Office document"),
    )
    kind = next((words for start, words in kinds if head.lstrip().startswith(start)), "no zip archive")
    raise BadBook("type_mismatch", f"{path.name} is {kind}, not an EPUB")


def _read_package(archive: Archive, notes: list[str]) -> Package:
    """Return the first package that can be read."""
    container = archive.find(_CONTAINER)
    if container:
        candidates = opf.read_rootfiles(archive.read(container))
    else:
        candidates = sorted(n for n in archive.names if n.lower().endswith(".opf"))
        if not candidates:
            _refuse_other_archives(archive)
        notes.append(f"{archive.name}: {_CONTAINER} is missing; {candidates[0]} is used as the package")
    refused: BadBook | None = None
    for candidate in candidates:
        path = archive.find(candidate)
        if path is None:
            refused = refused or BadBook("bad_epub", f"{archive.name}: its package {candidate} is missing")
            continue
        try:
            package = opf.read_package(archive.read(path), path=path)
        except BadBook as error:
            if error.code != "bad_epub":
                raise
            refused = refused or error
            continue
        if any(item.is_document for item in package.items):
            return package
        refused = refused or BadBook("bad_epub", f"{archive.name}: {path} lists no documents")
    raise refused or BadBook("bad_epub", f"{archive.name}: {_CONTAINER} names no package")


def _refuse_other_archives(archive: Archive) -> None:
    kind = next(
        (words for start, words in _OTHER_ARCHIVES if any(n.startswith(start) for n in archive.names)), ""
    )
    if not kind and "mimetype" in archive.names:
        media_type = archive.read("mimetype")[:100].decode("ascii", "replace").strip()
        if media_type == "application/epub+zip":
            raise BadBook("bad_epub", f"{archive.name} has no {_CONTAINER} and no package")
        kind = (
            "an OpenDocument file"
            if "opendocument" in media_type
            else f"a file of type {clean_line(media_type)}"
        )
    raise BadBook(
        "type_mismatch",
        f"{archive.name} is {kind or 'a plain zip archive'}, not an EPUB",
        hint="Unpack it and add the book inside, or save it as PDF or EPUB and add that.",
    )


def _read_contents(archive: Archive, package: Package, notes: list[str]) -> EpubContents:
    """Read the contents from the navigation document, or else the NCX; pages from either."""
    navs = [i for i in package.items if "nav" in i.properties]
    charts = [i for i in package.items if i.id == package.ncx or i.media_type == "application/x-dtbncx+xml"]
    found = EpubContents()
    for item in (*navs, *charts):
        path = archive.find(item.path) if item.path else None
        if path is None:
            continue
        try:
            contents = (opf.read_nav if item in navs else opf.read_ncx)(archive.read(path), path=path)
        except BadBook as error:
            if error.code != "bad_epub" or (item in charts and "entities" in error.message):
                raise
            notes.append(f"{error.message}; its table of contents is ignored")
            continue
        found = EpubContents(found.entries or contents.entries, found.pages or contents.pages)
    if not found.entries:
        notes.append(f"{archive.name} has no table of contents; its headings are used instead")
    return found


def _order_documents(archive: Archive, package: Package, notes: list[str]) -> list[str]:
    """List the documents in reading order, each once; those outside the main order come last."""
    by_id: dict[str, list[ManifestItem]] = {}
    for item in package.items:
        by_id.setdefault(item.id, []).append(item)
    missing: dict[str, None] = {}
    for item in package.items:
        if item.path is None or archive.find(item.path) is None:
            missing[item.href] = None
    if missing:
        shown = ", ".join(clean_line(href.replace("\0", "")) for href in list(missing)[:_MOST_SHOWN])
        more = f" and {len(missing) - _MOST_SHOWN} more" if len(missing) > _MOST_SHOWN else ""
        notes.append(f"{archive.name}: listed but not in the archive: {shown}{more}")
    order = [i for i, linear in package.spine if linear] + [i for i, linear in package.spine if not linear]
    if unknown := [i for i in dict.fromkeys(order) if i not in by_id]:
        notes.append(
            f"{archive.name}: the reading order names {clean_line(unknown[0])!r}, which is not listed"
        )
    items = [item for i in dict.fromkeys(order) for item in by_id.get(i, ())]
    if not items:
        notes.append(f"{archive.name} has no reading order; its documents are read as they are listed")
        items = [item for item in package.items if "nav" not in item.properties]
    chosen = (document for item in items if (document := _follow_fallbacks(item, by_id)))
    paths = (archive.find(document.path) for document in chosen if document.path)
    return list(dict.fromkeys(path for path in paths if path))


def _follow_fallbacks(item: ManifestItem, by_id: Mapping[str, list[ManifestItem]]) -> ManifestItem | None:
    """Return the item, or the document that stands in for it."""
    for _ in range(8):
        if item.is_document:
            return item
        if item.fallback not in by_id:
            return None
        item = by_id[item.fallback][0]
    return None


def _build_outline(
    archive: Archive,
    package: Package,
    contents: EpubContents,
    documents: list[str],
    *,
    title: str,
    limits: Limits,
    notes: list[str],
) -> Outline:
    outline = Outline()
    entries = _group_entries(archive, contents)
    pages = _group_pages(archive, contents)
    navs = {archive.find(i.path) for i in package.items if "nav" in i.properties and i.path}
    guide = {archive.find(file): kind for kind, file in package.guide}
    size = 0
    for path in documents:
        tree = parse_page(decode_page(archive.read(path), name=path, notes=notes), limits, name=path)
        outer = tree.css("body, body > section, body > div")[:2]
        kinds = find_kinds((node.attributes for node in outer), guide.get(path, ""))
        ids = {k: v for k, v in pages.get(path, {}).items() if k}
        page = read_page(tree, page_ids=ids, locate=make_locator(path))
        size += sum(len(p.text) for p in page.pieces)
        check_text_size(size, limits, name=archive.name)
        if path in navs or is_wrapper(page, kinds, path, title=title):
            continue
        place_document(
            outline,
            page,
            path=path,
            entries=entries.get(path, []),
            kinds=kinds,
            title=title,
            first_label=pages.get(path, {}).get(""),
        )
    return outline


def _group_entries(archive: Archive, contents: EpubContents) -> dict[str, list[TocEntry]]:
    grouped: dict[str, list[TocEntry]] = {}
    for entry in contents.entries:
        grouped.setdefault(archive.find(entry.file) or entry.file, []).append(entry)
    return grouped


def _group_pages(archive: Archive, contents: EpubContents) -> dict[str, dict[str, str]]:
    grouped: dict[str, dict[str, str]] = {}
    for file, fragment, label in contents.pages:
        grouped.setdefault(archive.find(file) or file, {})[fragment] = label
    return grouped


def _refuse_locked(archive: Archive, package: Package) -> None:
    """Refuse a book whose text cannot be read without its publisher's key."""
    if archive.find("META-INF/sinf.xml"):
        _raise_locked(archive, "Apple FairPlay")
    if archive.find("META-INF/license.lcpl"):
        _raise_locked(archive, "Readium LCP")
    rights = archive.find("META-INF/rights.xml")
    if rights:
        _raise_locked(archive, _find_scheme(archive.read(rights)))
    listed = archive.find("META-INF/encryption.xml")
    if not listed:
        return
    data = archive.read(listed)
    documents = {item.path for item in package.items if item.is_document}
    for method, file in opf.read_encryption(data):
        if method in _SCRAMBLED_FONTS:
            continue
        if file in documents or file.lower().endswith(_TEXT_SUFFIXES):
            _raise_locked(archive, _find_scheme(data))


def _find_scheme(data: bytes) -> str:
    lowered = data[:1_000_000].lower()
    return next((name for sign, name in _LOCK_SIGNS if sign in lowered), "an unknown scheme")


def _raise_locked(archive: Archive, scheme: str) -> None:
    raise BadBook("drm", f"{archive.name} is locked by its publisher with {scheme}")
