"""Read Kindle books without DRM: MOBI and AZW3.

The contents come from the book's own index, its text from pages that are read as those of an EPUB are. A book
that its publisher has locked is refused.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.errors import BadBook
from octavo.limits import MB
from octavo.readers.addresses import make_locator
from octavo.readers.epub.package import TocEntry
from octavo.readers.epub.spine import find_kinds, is_wrapper, place_document
from octavo.readers.files import check_sections, check_text_size
from octavo.readers.finish import finish_book
from octavo.readers.html.dom import parse_page, read_page
from octavo.readers.kindle.index import read_index
from octavo.readers.kindle.palm import KF8, NONE, Header, Records, open_book
from octavo.readers.kindle.parts import Book, Contents, make_new_book, make_old_book
from octavo.readers.metadata import build_metadata
from octavo.readers.outline import Outline
from octavo.readers.parsed import Cover, ParsedBook, make_cover
from octavo.readers.titles import clean_line, make_title
from octavo.types import BookFormat

if TYPE_CHECKING:
    from octavo.limits import Limits

_AUTHOR, _PUBLISHER, _ISBN, _SUBJECT, _DATE, _TITLE, _LANGUAGE, _COVER = (
    100,
    101,
    104,
    105,
    106,
    503,
    524,
    201,
)
_NCX, _FRAGMENTS, _SKELETONS = 244, 248, 252
_DEEPEST = 8


def read_kindle(path: Path, limits: Limits) -> ParsedBook:
    """Read the book in a `.mobi`, `.azw` or `.azw3` file."""
    records, header, pictures = open_book(path.read_bytes(), path.name)
    book = _put_together(records, header, limits)
    contents = _read_contents(records, header, book)
    title = clean_line("".join(header.get_texts(_TITLE)[:1]) or header.title) or make_title(path.stem)
    outline = _build_outline(book, header, contents, title=title, limits=limits, name=path.name)
    notes = () if contents else (f"{path.name} has no table of contents; its headings are used instead",)
    parsed = ParsedBook(
        title=title,
        format=BookFormat.MOBI,
        sections=check_sections(outline.build_sections(title=title), limits, name=path.name),
        authors=tuple(dict.fromkeys(filter(None, map(clean_line, header.get_texts(_AUTHOR))))),
        language=clean_line("".join(header.get_texts(_LANGUAGE)[:1]))[:20],
        warnings=notes,
        cover=_read_cover(records, pictures),
        metadata=build_metadata(
            subjects=header.get_texts(_SUBJECT),
            publisher="".join(header.get_texts(_PUBLISHER)[:1]),
            published="".join(header.get_texts(_DATE)[:1]),
            identifiers=[("isbn", value) for value in header.get_texts(_ISBN)],
        ),
    )
    return finish_book(parsed, lambda file: _load_picture(records, pictures, file, limits), limits)


def _put_together(records: Records, header: Header, limits: Limits) -> Book:
    text = header.read_text(limits)
    if header.version < KF8:
        return make_old_book(text)
    if NONE in (header.get(_SKELETONS), header.get(_FRAGMENTS)):
        raise BadBook("bad_document", "the book does not say what its pages are")
    skeletons, fragments = (
        read_index(records, header.first + header.get(place)) for place in (_SKELETONS, _FRAGMENTS)
    )
    return make_new_book(text[: header.text_length], skeletons, fragments)


def _read_contents(records: Records, header: Header, book: Book) -> list[Contents]:
    """Read the index that devices show as the contents; one that is damaged gives none."""
    number = header.get(_NCX)
    if number == NONE:
        return []
    found: list[Contents] = []
    with suppress(BadBook):
        index = read_index(records, header.first + number)
        for entry in index.entries:
            place = entry.get(1)
            if header.version >= KF8:
                fragment, offset = entry.get(6), entry.get(6, 1)
                place = book.find_place(fragment, offset or 0) if fragment is not None else place
            title = clean_line(header.decode(index.find_string(entry.get(3))))
            if place is not None and title:
                found.append(Contents(place, min(entry.get(4) or 0, _DEEPEST), title))
    return sorted(found, key=lambda entry: entry.place)


def _build_outline(
    book: Book, header: Header, contents: list[Contents], *, title: str, limits: Limits, name: str
) -> Outline:
    entries: dict[str, list[TocEntry]] = {}
    above: list[str] = []
    for entry in contents:
        above = [*above[: entry.depth], entry.title]
        file, fragment = book.name_place(entry.place)
        entries.setdefault(file, []).append(TocEntry(tuple(above), file, fragment))
    outline = Outline()
    size = 0
    for file, data in book.write_pages(entry.place for entry in contents):
        tree = parse_page(header.decode(data), limits, name=name)
        kinds = find_kinds((node.attributes for node in tree.css("body, body > section")[:2]), "")
        page = read_page(tree, locate=make_locator(file))
        size += sum(len(piece.text) for piece in page.pieces)
        check_text_size(size, limits, name=name)
        if not is_wrapper(page, kinds, file, title=title):
            place_document(outline, page, path=file, entries=entries.get(file, []), kinds=kinds, title=title)
    return outline


def _load_picture(records: Records, header: Header, file: str, limits: Limits) -> bytes | None:
    """Return a picture by its number, which counts from 1."""
    number = file.removeprefix("image")
    if not number.isdigit() or header.first_image == NONE:
        return None
    with suppress(BadBook):
        data = records.read(header.first_image + int(number) - 1)
        return data if len(data) <= limits.max_image_mb * MB else None
    return None


def _read_cover(records: Records, header: Header) -> Cover | None:
    number = header.get_number(_COVER)
    if NONE in (number, header.first_image):
        return None
    with suppress(BadBook):
        return make_cover(records.read(header.first_image + number))
    return None
