"""Open the map of a book, or of what a reader has read of it.

"Up to here" is obeyed before anything is linked: the sections beyond are left out, and a section that is read
in part is cut and marked anew. So a map cannot tell a name, an alias or a gist from beyond. Marks that an
older library lacks are made and saved when a map is first opened.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from octavo.concurrency import run_blocking
from octavo.errors import NotFound
from octavo.records.markup import find_markup
from octavo.records.text_marks import ensure_marks
from octavo.search.cache import LRUCache
from octavo.search.scope import PLACE, find_page_name, find_pages, find_section, is_number
from octavo.text.blocks import cut_blocks, list_section_blocks
from octavo.text.bookmap.describe import MapDescriber
from octavo.text.bookmap.link import link_map
from octavo.text.bookmap.model import BookMap, EntityDetails
from octavo.text.bookmap.scan import mark_section
from octavo.types import Section, Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from octavo.records.catalogue import Records
    from octavo.text.bookmap.marks import SectionMarks
    from octavo.types import Book, Element

# How many maps stay linked in memory. One of a long novel takes about 10 MB.
OPEN_MAPS = 8


class MapReader:
    """Opens maps, and keeps the last ones."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._opened: LRUCache[MapDescriber] = LRUCache(most=OPEN_MAPS)

    async def open(self, book: Book, *, up_to: str | None = None) -> MapDescriber:
        """Open the map of a book.

        `up_to` is a section, a page (`p. 12`), the position of a chunk, or a place (`SECTION#char=0,460`).
        """
        key = repr((await self._records.refresh(), book.id, book.content_hash, up_to))
        known = self._opened.get(key)
        if known is None:
            sections = await self._records.list_sections(book.id)
            if up_to is None:
                marks, _ = await ensure_marks(self._records.database, sections)
            else:
                whole, last = await self._split_read(book, sections, up_to)
                marks, _ = await ensure_marks(self._records.database, whole)
                marks += [await self._mark_part(sections, part) for part in last]
                sections = [*whole, *last]
            known = MapDescriber(await run_blocking(link_map, sections, marks))
            self._opened.put(key, known)
        return known

    async def _mark_part(self, sections: Sequence[Section], part: Section) -> SectionMarks:
        """Mark a section that was cut, by the blocks that it has as a whole."""
        whole = next(section for section in sections if section.id == part.id)
        markup = await find_markup(self._records.database, whole)
        return await run_blocking(_mark_cut, whole, markup, part)

    async def build(self, book: Book) -> int:
        """Make the marks that a book lacks; return how many sections were marked."""
        _, made = await ensure_marks(self._records.database, await self._records.list_sections(book.id))
        return made

    async def _split_read(
        self, book: Book, sections: Sequence[Section], up_to: str
    ) -> tuple[list[Section], list[Section]]:
        """Return the sections that were read whole, and the one that was read in part, if any."""
        page = find_page_name(up_to, sections)
        if page is not None:
            return _split_at_page(sections, find_pages(page, sections)[1])
        if is_number(up_to):
            chunks = await self._records.list_chunks(book.id)
            read = [chunk for chunk in chunks if chunk.document_position <= int(up_to)]
            if not read:
                return [], []
            return _split_at(sections, read[-1].section_id, read[-1].end)
        place = PLACE.fullmatch(up_to)
        if place is not None:
            wanted = await run_blocking(find_section, place["section"], sections)
            return _split_at(sections, wanted.id, int(place["end"]))
        wanted = await run_blocking(find_section, up_to, sections)
        return [s for s in sections if s.position <= wanted.position or wanted.id in s.ancestors], []


def _split_at(sections: Sequence[Section], section_id: str, end: int) -> tuple[list[Section], list[Section]]:
    at = next(number for number, section in enumerate(sections) if section.id == section_id)
    if end >= len(sections[at].text):
        return list(sections[: at + 1]), []
    return list(sections[:at]), [cut_section(sections[at], end)]


def _split_at_page(sections: Sequence[Section], last: int) -> tuple[list[Section], list[Section]]:
    """Split before the first page beyond the last one that was read."""
    for number, section in enumerate(sections):
        beyond = next((mark.offset for mark in section.pages if mark.number > last), None)
        if beyond is not None:
            return list(sections[:number]), [cut_section(section, beyond)] if beyond else []
    return list(sections), []


def _mark_cut(whole: Section, markup: Sequence[Element], part: Section) -> SectionMarks:
    blocks = cut_blocks(list_section_blocks(whole, markup), 0, len(part.text))
    return mark_section(part.text, part.blocks, blocks)


def cut_section(section: Section, end: int) -> Section:
    """Return a section with its text up to `end`."""
    blocks = (Span(block.start, min(block.end, end)) for block in section.blocks if block.start < end)
    pages = (mark for mark in section.pages if mark.offset < end)
    return replace(section, text=section.text[:end], blocks=tuple(blocks), pages=tuple(pages))


def describe_map(book: Book, opened: MapDescriber, *, up_to: str | None, limit: int) -> BookMap:
    """Return the weightiest entities of each kind, and the chapters with their gists."""
    return BookMap(
        book_id=book.id,
        title=book.title,
        up_to=up_to,
        entities=tuple(opened.list_entities(limit)),
        entity_count=len(opened.linked.entities),
        chapters=tuple(opened.list_chapters()),
    )


def look_up(opened: MapDescriber, name: str, *, mentions: int) -> EntityDetails:
    """Return what the map has of a name; raise `NotFound` with names that are like it."""
    entity = opened.find(name)
    if entity is None:
        raise NotFound(
            "name", name, nearest=tuple(opened.suggest(name)), hint="`octavo map BOOK` lists the names."
        )
    return opened.describe(entity, mentions=mentions)
