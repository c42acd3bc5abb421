"""Turns a reader's scope into bounds: a filter for the store, and the same test for each chunk it returns.

A scope is resolved before anything is retrieved. An identifier that names nothing raises `NotFound` with the
nearest names. A section's scope holds everything under its heading. A page is named by its printed label
where the book has labels, else by its number; `#12` is always the twelfth physical page, `12-15` a range.
"Up to" ends with the last words of the section or page that it names.

Finds a reader's selection at its real place in the book.

What a reader copies from a page differs from the canonical text in white space, quotes, hyphens and line
ends. Letters and digits do not differ, so a selection is found by them alone, and the place that comes
back is exact: it starts with the first letter of the selection and ends with the last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import get_close_matches
from uuid import NAMESPACE_URL, uuid5

from octavo.errors import InvalidValue, NotFound
from octavo.protocols import Where
from octavo.text.clean import clean, collapse
from octavo.types import Book, Chunk, Scope, ScopeType, Section

_BETWEEN = r"[\W_]*"


@dataclass(frozen=True, slots=True)
class Location:
    """A stretch of one section's text."""

    section: Section
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.section.text[self.start : self.end]


def locate_selection(selected: str, sections: Iterable[Section]) -> Location | None:
    """Where `selected` stands, or None when the book does not have it.

    The first place wins; one where it is made of whole words comes before one where it is not.
    """
    letters = [c for c in clean(selected) if c.isalnum()]
    if not letters:
        return None
    within = _BETWEEN.join(re.escape(c) for c in letters)
    places = list(sections)
    for spelled in (rf"(?<![^\W_]){within}(?![^\W_])", within):  # whole words before parts of words
        pattern = re.compile(spelled, re.IGNORECASE)
        for section in places:
            found = pattern.search(section.text)
            if found:
                return Location(section, found.start(), found.end())
    return None


_DASH = re.compile(r"-|–|\.\.")
_ONE_PAGE = re.compile(r"^(?:p\.\s*|p\s+|page\s+|(?:p|page)(?=[#\d]))(\S+)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where evidence may come from. `holds` repeats in our code what `where` asks of the store."""

    where: Where
    description: str
    within: Location | None = None
    passage: Chunk | None = None
    """The reader's own text, when it is not in any book: then it alone is the evidence."""

    def touches(self, chunk: Chunk, start: int, end: int) -> bool:
        """Whether a stretch of a chunk may be quoted: for a selection, only what it shares words with."""
        place = self.within
        if place is None:
            return True
        same = chunk.book_id == place.section.book_id and chunk.section_id == place.section.id
        return same and start < place.end and end > place.start

    def hiding(self, editions: Iterable[int]) -> Bounds:
        """The same bounds without editions that are still on their way in."""
        unseen = tuple(editions)
        if not unseen:
            return self
        return replace(self, where=replace(self.where, none_of={**self.where.none_of, "edition": unseen}))

    def holds(self, chunk: Chunk) -> bool:
        values: dict[str, tuple[object, ...]] = {
            "book_id": (chunk.book_id,),
            "sections": (*chunk.ancestors, chunk.section_id),
            "page_number": (chunk.page_number,),
            "page_end": (chunk.page_end or chunk.page_number,),
            "document_position": (chunk.document_position,),
            "source_file": (chunk.source_file,),
        }
        where = self.where
        return (
            all(set(allowed) & set(values[key]) for key, allowed in where.any_of.items())
            and not any(set(denied) & set(values.get(key, ())) for key, denied in where.none_of.items())
            and all(_number(values[key]) >= least for key, least in where.at_least.items())
            and all(0 <= _number(values[key]) <= most for key, most in where.at_most.items())
        )


def _number(value: tuple[object, ...]) -> int:
    return value[0] if isinstance(value[0], int) else -1


def bound_by_books(among: Sequence[str] | None = None) -> Bounds:
    """The whole library, or only these books of it."""
    if among is None:
        return Bounds(Where(), "the whole library")
    return Bounds(Where(any_of={"book_id": tuple(among)}), "the books you may read")


def bound_by_selection(place: Location, chunks: Sequence[Chunk], *, book: Book) -> Bounds:
    """What the reader selected, and nothing else. `chunks` are those that it shares characters with."""
    positions = [chunk.document_position for chunk in chunks] or [-1]
    where = Where(
        any_of={"book_id": (book.id,)},
        at_least={"document_position": min(positions)},
        at_most={"document_position": max(positions)},
    )
    return Bounds(where, f"your selection in {book.title} › {place.section.title}", place)


def bound_by_text(text: str, *, now: datetime) -> Bounds:
    """A selection that no book has: it is answered from itself, and says so."""
    said = "your selection, which is not in one piece in the library"
    passage = Chunk(
        id=str(uuid5(NAMESPACE_URL, f"book://selection/{text}")),
        chunk_id=1,
        content=text,
        book_id="selection",
        section_id="selection",
        chapter="Your selection",
        section="Your selection",
        document_position=0,
        chunk_index=0,
        url="book://selection/text",
        source_file="selection",
        source_location="Your selection (not found in one piece in the library)",
        source_title="Your selection",
        start=0,
        end=len(text),
        created_at=now,
    )
    return Bounds(Where(any_of={"book_id": ("selection",)}), said, passage=passage)


def bound_by_scope(
    scope: Scope, *, book: Book, sections: Sequence[Section], ends: Mapping[str, int]
) -> Bounds:
    """The bounds of `scope` in `book`. `ends` has the position of each section's last chunk."""
    whole = Where(any_of={"book_id": (book.id,)})
    match scope.type:
        case ScopeType.FULL_BOOK:
            return Bounds(whole, book.title)
        case ScopeType.SECTION:
            section = find_section(scope.identifier or "", sections)
            inside = replace(whole, any_of={**whole.any_of, "sections": (section.id,)})
            return Bounds(inside, f"{book.title} › {' › '.join(section.heading_path)}")
        case ScopeType.PAGE:
            first, last = find_pages(scope.identifier or "", sections)
            inside = replace(whole, at_least={"page_end": first}, at_most={"page_number": last})
            said = "page" if first == last else "pages"
            return Bounds(inside, f"{book.title}, {said} {collapse(scope.identifier or '')}")
        case ScopeType.UP_TO:
            return _bound_up_to(scope.identifier or "", book, sections, ends)
        case _:
            raise InvalidValue("Scope.type", "cannot be searched by itself", str(scope.type))


def _bound_up_to(identifier: str, book: Book, sections: Sequence[Section], ends: Mapping[str, int]) -> Bounds:
    """Everything before and including a chunk's position, a page (`p. 12`) or a section."""
    whole = {"book_id": (book.id,)}
    page = _ONE_PAGE.match(identifier)
    if page and not any(_fold(s.title) == _fold(identifier) for s in sections):
        _, last = find_pages(page[1], sections)
        return Bounds(Where(any_of=whole, at_most={"page_end": last}), f"{book.title}, up to page {page[1]}")
    if _is_number(identifier):
        position, said = int(identifier), f"position {identifier}"
    else:
        section = find_section(identifier, sections)
        read = (s for s in sections if s.position <= section.position or section.id in s.ancestors)
        position = max((ends[s.id] for s in read if s.id in ends), default=-1)
        said = f"and including {section.title}"
    return Bounds(Where(any_of=whole, at_most={"document_position": position}), f"{book.title}, up to {said}")


def find_section(identifier: str, sections: Sequence[Section]) -> Section:
    """By id, address, heading path or title; by a part of the title when that names exactly one."""
    wanted = _fold(identifier)
    ways = (
        lambda s: s.id == identifier,
        lambda s: s.url == identifier,
        lambda s: bool(s.anchor) and identifier == f"#{s.anchor}",
        lambda s: _fold(" › ".join(s.heading_path)) == wanted,
        lambda s: _fold(s.title) == wanted,
    )
    for way in ways:
        matching = [s for s in sections if way(s)]
        if matching:
            return matching[0]
    partly = [s for s in sections if wanted and wanted in _fold(s.title)]
    if len(partly) == 1:
        return partly[0]
    titles = list(dict.fromkeys(s.title for s in partly or sections))
    near = get_close_matches(identifier, titles, n=5, cutoff=0.4) or titles[:5]
    raise NotFound(
        "section", identifier, nearest=tuple(near), hint="`octavo contents BOOK` lists the sections."
    )


def find_pages(identifier: str, sections: Sequence[Section]) -> tuple[int, int]:
    """The first and the last physical page that `identifier` names."""
    names: dict[str, int] = {}
    marks = [mark for section in sections for mark in section.pages]
    for mark in marks:
        names.setdefault((mark.label or str(mark.number)).strip().casefold(), mark.number)
    for mark in marks:
        names[f"#{mark.number}"] = mark.number
    wanted = identifier.strip().casefold()
    if wanted in names:
        return names[wanted], names[wanted]
    for dash in _DASH.finditer(wanted):
        first, last = (names.get(end.strip()) for end in (wanted[: dash.start()], wanted[dash.end() :]))
        if first and last and first <= last:
            return first, last
    if not marks:
        raise NotFound("page", identifier, hint="This book has no page numbers; narrow to a section instead.")
    numbers = [mark.number for mark in marks]
    near = tuple(get_close_matches(wanted[:100], names, n=4, cutoff=0.3))
    hint = f"The book has the physical pages #{min(numbers)} to #{max(numbers)}."
    raise NotFound("page", identifier, nearest=near, hint=hint)


def _is_number(identifier: str) -> bool:
    return identifier.isdecimal() and len(identifier) < 10


def _fold(text: str) -> str:
    return collapse(text).casefold().replace(">", "›")
