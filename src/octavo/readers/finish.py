"""Finish a book that was read: find where its links lead, take its pictures, and find who wrote it.

A link inside the book gets the number of its section and an offset in it; a picture gets the name of its
bytes. Links that lead nowhere keep their words. Markup that does not nest is dropped, and its section is
shown as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from octavo.errors import InvalidValue
from octavo.readers.addresses import Locate, make_locator
from octavo.readers.byline import find_byline
from octavo.readers.pictures import Load, Pictures
from octavo.text.clean import clean
from octavo.types import Element, ElementKind
from octavo.types.markup import NO_ATTRIBUTES, Attribute, check_nesting
from octavo.validation import check_url

if TYPE_CHECKING:
    from octavo.limits import Limits
    from octavo.readers.parsed import ParsedBook, ParsedSection

Places = Mapping[str, tuple[int, int]]
"""From `file` or `file#id` to the number of a section and an offset in its text."""

_LINKS = frozenset((ElementKind.LINK, ElementKind.NOTE_REFERENCE))
_RESOLVED = _LINKS | {ElementKind.IMAGE}
LINK_SCHEMES = ("http://", "https://", "mailto:")
_ENDINGS = ("", ".md", ".mdx", ".html", "/index.md", "/README.md", "/index.mdx", "/index.html")


def finish_book(book: ParsedBook, load: Load, limits: Limits) -> ParsedBook:
    """Return the book with its links resolved, its pictures taken and its authors, if its text names them."""
    places = _find_places(book)
    pictures = Pictures(load, limits)
    sections = tuple(_finish_section(section, places, pictures) for section in book.sections)
    warnings = book.warnings
    if pictures.left_out:
        said = f"{pictures.left_out} pictures are too large to be shown"
        warnings = (*warnings, said)
    authors = book.authors or find_byline(book.title, sections)
    return replace(book, sections=sections, images=pictures.found, warnings=warnings, authors=authors)


def _find_places(book: ParsedBook) -> Places:
    places: dict[str, tuple[int, int]] = {}
    for number, section in enumerate(book.sections):
        for name, offset in section.places:
            places.setdefault(name, (number, offset))
        for element in section.markup:
            if element.kind is ElementKind.NOTE and "label" in element.attributes:
                name = f"{section.source_file}#fn:{element.attributes['label']}"
                places.setdefault(name, (number, element.start))
        for file in (section.source_file, section.url.strip("/")):
            if file:
                places.setdefault(file, (number, 0))
                places.setdefault(f"{file}#{section.anchor}", (number, 0))
    return places


def _finish_section(section: ParsedSection, places: Places, pictures: Pictures) -> ParsedSection:
    if not section.markup:
        return replace(section, places=())
    locate = make_locator(section.source_file)
    markup = tuple(
        _resolve(element, places, pictures, locate) if element.kind in _RESOLVED else element
        for element in section.markup
    )
    try:
        check_nesting("markup", markup, len(section.text))
    except InvalidValue:
        markup = ()
    return replace(section, markup=markup, places=())


def _resolve(element: Element, places: Places, pictures: Pictures, locate: Locate) -> Element:
    attributes = dict(element.attributes)
    if element.kind is ElementKind.IMAGE:
        name = pictures.take(locate(str(attributes.pop("image", ""))))
        if name:
            attributes["image"] = name
    else:
        attributes |= _resolve_link(locate(str(attributes.pop("url", ""))), places)
    return replace(element, attributes=attributes or NO_ATTRIBUTES)


def _resolve_link(address: str, places: Places) -> dict[str, Attribute]:
    if address.startswith("/"):
        path, _, fragment = address[1:].partition("#")
        for file in _list_files(clean(path)):
            if found := places.get(f"{file}#{clean(fragment)}") or places.get(file):
                return {"section": found[0], "offset": found[1]}
        return {}
    if address.startswith("mailto:"):
        return {"url": address}
    try:
        check_url("url", address)
    except InvalidValue:
        return {}
    return {"url": address} if address.startswith(LINK_SCHEMES) else {}


def _list_files(path: str) -> Iterator[str]:
    """List the files that a path may mean: as written, with an ending, or below the site's root."""
    while True:
        bare = path.rstrip("/")
        yield from (f"{bare}{ending}" for ending in _ENDINGS)
        if bare.endswith(".html"):
            yield f"{bare.removesuffix('.html')}.md"
        _, slash, path = bare.partition("/")
        if not slash:
            return
