"""The text of a Kindle book as pages of HTML, with an id wherever the contents or a link lead to.

A book for old devices is one page, and places in it are counted in bytes. A newer one has skeletons of pages,
and fragments to be put into them; places are counted in the text that comes out. Links between places become
links to ids, pictures become files named by their number.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from octavo.errors import BadBook
from octavo.readers.kindle.palm import CODE

if TYPE_CHECKING:
    from octavo.readers.kindle.index import Index

_OLD_LINK = re.compile(rb"""(<a\b[^<>]{0,500}?)\bfilepos\s*=\s*["']?(\d{1,10})["']?""", re.IGNORECASE)
_OLD_PICTURE = re.compile(rb"""\brecindex\s*=\s*["']?(\d{1,6})["']?""", re.IGNORECASE)
_NEW_LINK = re.compile(rb"kindle:pos:fid:([0-9A-V]{1,8}):off:([0-9A-V]{1,12})")
_NEW_PICTURE = re.compile(rb"kindle:embed:([0-9A-V]{1,8})(?:\?[^\"'\s>]{0,60})?")
_BREAK = re.compile(rb"<mbp:pagebreak[^<>]{0,100}>(?:\s*</mbp:pagebreak>)?", re.IGNORECASE)
_BODY = re.compile(rb"<body\b[^<>]{0,1000}>", re.IGNORECASE)


class Part(NamedTuple):
    """A page of HTML, and where it begins in the whole text."""

    start: int
    data: bytes


class Contents(NamedTuple):
    """An entry of the contents: where it begins in the whole text, its depth, and its title."""

    place: int
    depth: int
    title: str


class Book:
    """The pages, and the places that ids are needed for."""

    def __init__(self, parts: list[Part], fragments: list[int]) -> None:
        self._parts, self._fragments = parts, fragments
        self._starts = [part.start for part in parts]

    def find_place(self, fragment: int, offset: int) -> int | None:
        """Return where an offset in a fragment stands in the whole text."""
        return self._fragments[fragment] + offset if fragment < len(self._fragments) else None

    def name_place(self, place: int) -> tuple[str, str]:
        """Return the page that a place is on, and its id there."""
        return name_part(max(0, bisect_right(self._starts, place) - 1)), f"p{place}"

    def write_pages(self, places: Iterable[int]) -> list[tuple[str, bytes]]:
        """Return each page with its name, with ids at these places and at all that links lead to."""
        linked = {place for part in self._parts for place in self._find_links(part.data)}
        wanted = sorted({*places, *linked})
        pages = []
        for number, part in enumerate(self._parts):
            first, last = (bisect_left(wanted, part.start + size) for size in (0, len(part.data)))
            marked = _insert_ids(part, wanted[first:last])
            pages.append((name_part(number), self._turn_links(marked)))
        return pages

    def _find_links(self, data: bytes) -> Iterable[int]:
        for found in _OLD_LINK.finditer(data):
            yield int(found[2])
        for found in _NEW_LINK.finditer(data):
            place = self.find_place(int(found[1], 32), int(found[2], 32))
            if place is not None:
                yield place

    def _turn_links(self, data: bytes) -> bytes:
        def turn_old(found: re.Match[bytes]) -> bytes:
            return found[1] + b'href="%s"' % self._write_address(int(found[2]))

        def turn_new(found: re.Match[bytes]) -> bytes:
            place = self.find_place(int(found[1], 32), int(found[2], 32))
            return b"" if place is None else self._write_address(place)

        data = _NEW_LINK.sub(turn_new, _OLD_LINK.sub(turn_old, data))
        data = _OLD_PICTURE.sub(lambda found: b'src="%s"' % name_picture(int(found[1])).encode(), data)
        data = _NEW_PICTURE.sub(lambda found: name_picture(int(found[1], 32)).encode(), data)
        return _BREAK.sub(b"<hr/>", data)

    def _write_address(self, place: int) -> bytes:
        return "#".join(self.name_place(place)).encode()


def name_part(number: int) -> str:
    return f"part{number + 1:04}.xhtml"


def name_picture(number: int) -> str:
    return f"image{number}"


def make_old_book(text: bytes) -> Book:
    """Cut the text of an old book into pages where it says that a page ends."""
    ends = [found.end() for found in _BREAK.finditer(text)]
    starts = [0, *ends]
    parts = [Part(a, text[a:b]) for a, b in zip(starts, [*ends, len(text)], strict=True) if text[a:b].strip()]
    return Book(parts or [Part(0, text)], [])


def make_new_book(text: bytes, skeletons: Index, fragments: Index) -> Book:
    """Put the fragments of a newer book into the skeletons of its pages."""
    parts: list[Part] = []
    places = [_read_place(entry.name) for entry in fragments.entries]
    used = 0
    for skeleton in skeletons.entries:
        count, start, length = skeleton.get(1) or 0, skeleton.get(6), skeleton.get(6, 1)
        if start is None or length is None or start + length > len(text):
            raise BadBook(CODE, "a page of the book lies outside of its text")
        page, at = bytearray(text[start : start + length]), start + length
        for entry in fragments.entries[used : used + count]:
            size, place = entry.get(6, 1) or 0, places[used] - start
            if not 0 <= place <= len(page) or at + size > len(text):
                raise BadBook(CODE, "a part of a page lies outside of it")
            page[place:place] = text[at : at + size]
            at += size
            used += 1
        parts.append(Part(start, bytes(page)))
    if not parts:
        raise BadBook(CODE, "the book has no pages")
    return Book(parts, places)


def _read_place(name: bytes) -> int:
    if not name.isdigit() or len(name) > 12:
        raise BadBook(CODE, "a part of a page has no place")
    return int(name)


def _insert_ids(part: Part, places: list[int]) -> bytes:
    """Insert an id at each place, before the tag that the place is in, and in the body."""
    body = _BODY.search(part.data)
    least = body.end() if body else 0
    pieces: list[bytes] = []
    done = 0
    for place in places:
        at = max(done, least, _leave_tag(part.data, place - part.start))
        pieces += (part.data[done:at], b'<a id="p%d"></a>' % place)
        done = at
    return b"".join((*pieces, part.data[done:]))


def _leave_tag(data: bytes, at: int) -> int:
    opened = data.rfind(b"<", max(0, at - 2_000), at)
    return opened if opened >= 0 and data.rfind(b">", opened, at) < 0 else at
