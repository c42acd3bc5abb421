"""Decides where a reader may look: in which books, sections or pages, in which selection, or up to where.

`ScopeResolver` turns a reader's scope into `Bounds`: a filter for the store, and the same test for each chunk
that the store returns. A scope is resolved once, before anything is retrieved. An identifier that names
nothing raises `NotFound` with the nearest names. The scope of a section holds everything under its heading.
A page is named by its printed label where the book has labels, else by its number; `#12` is always the
twelfth physical page, and `12-15` is a range. "Up to" includes the section or page that it names.

A selection is found at its real place in the book. Who knows the place says it as an address with offsets
(`SECTION#char=120,460`). Otherwise its text tells. What a reader copies from a page differs from the book's
text in white space, quotes, hyphens and line ends, but not in letters and digits. So a selection is found by
these alone. Its place starts with its first letter or digit and ends with its last. If the same words stand
elsewhere too, the first place is read, but nobody knows how far the reader has come.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import get_close_matches
from heapq import nlargest
from typing import TYPE_CHECKING
from uuid import NAMESPACE_URL, uuid5

from octavo.concurrency import run_blocking
from octavo.errors import InvalidValue, NotFound
from octavo.protocols import Where
from octavo.search.filters import Filters, read_filters
from octavo.search.preferences import is_in_language
from octavo.text.clean import clean, collapse
from octavo.types import CHUNK_LEAST, SELECTION_MOST, Book, Chunk, Question, Scope, ScopeType, Section

if TYPE_CHECKING:
    from octavo.records.catalogue import Records

_BETWEEN = r"[\W_]*"
_DASH = re.compile(r"-|–|\.\.")
# How many sections an error lists that fit a name.
MOST_CHOICES = 8
# How many names an error lists that are near, and how much two names or two words must be alike for that.
MOST_NAMES = 5
_ALIKE, _WORD_ALIKE = 0.6, 0.75
_LONGEST_NAME = 100
# How many names, how many words of a name, and how many words for each of these are compared by letters.
_MOST_COMPARED, _MOST_WORDS, _MOST_COMPARED_WORDS = 500, 4, 200
_WORD = re.compile(r"[^\W_]+")
# The address of a place: a section, and from where to where in its text.
PLACE = re.compile(r"(?P<section>.+)#char=(?P<start>\d{1,9}),(?P<end>\d{1,9})")
_ONE_PAGE = re.compile(r"^(?:p\.\s*|p\s+|page\s+|(?:p|page)(?=[#\d]))(\S+)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Location:
    """A stretch of one section's text."""

    section: Section
    start: int
    end: int
    recurs: bool = False
    """Whether the same words also stand elsewhere, so that another place may be meant."""

    @property
    def text(self) -> str:
        return self.section.text[self.start : self.end]

    def is_in(self, chunk: Chunk) -> bool:
        """Whether a chunk is of the same section."""
        return chunk.book_id == self.section.book_id and chunk.section_id == self.section.id


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where evidence may come from. `holds` repeats in our code what `where` asks of the store."""

    where: Where
    description: str
    within: Location | None = None
    """The reader's selection, at its place in the book."""
    passage: Chunk | None = None
    """The reader's own text, if it is in no book. Then it is the only evidence."""
    ahead: bool = False
    """Whether the rest of the book lies ahead of the reader, so that nothing of it may be shown."""
    last: Location | None = None
    """The selection that they end with. What begins after it in its section is out of bounds."""

    @property
    def is_narrow(self) -> bool:
        """Whether they leave out more of the books than what lies ahead of the reader."""
        where = self.where
        parts = {*where.any_of, *where.none_of} - {"book_id"}
        limited = where.at_least or (where.at_most and not self.ahead)
        return self.within is not None or self.passage is not None or bool(parts or limited)

    @property
    def may_cut(self) -> bool:
        """Whether they may end within a passage, as those of chosen pages do, or those up to a selection."""
        pages = "page_number" in self.where.at_most or "page_end" in self.where.at_least
        return self.within is not None or self.last is not None or pages

    def holds(self, chunk: Chunk) -> bool:
        """Whether a chunk satisfies `where`."""
        where = self.where
        if not (where.any_of or where.none_of or where.at_least or where.at_most):
            return True
        values: dict[str, tuple[object, ...]] = {
            "book_id": (chunk.book_id,),
            "sections": (*chunk.ancestors, chunk.section_id),
            "page_number": (chunk.page_number,),
            "page_end": (chunk.page_end or chunk.page_number,),
            "document_position": (chunk.document_position,),
            "source_file": (chunk.source_file,),
        }
        return (
            all(set(allowed) & set(values[key]) for key, allowed in where.any_of.items())
            and not any(set(denied) & set(values.get(key, ())) for key, denied in where.none_of.items())
            and all(_number(values[key]) >= least for key, least in where.at_least.items())
            and all(0 <= _number(values[key]) <= most for key, most in where.at_most.items())
        )

    def touches(self, chunk: Chunk, start: int, end: int) -> bool:
        """Whether a stretch of a chunk may be quoted. With a selection, the two must overlap.

        Of bounds that end with a selection, it must not begin after that.
        """
        if self.last is not None and self.last.is_in(chunk):
            return start < self.last.end
        place = self.within
        return place is None or (place.is_in(chunk) and start < place.end and end > place.start)

    def exclude(self, editions: Iterable[int]) -> Bounds:
        """Leave out editions that are not published yet."""
        hidden = tuple(editions)
        if not hidden:
            return self
        return replace(self, where=replace(self.where, none_of={**self.where.none_of, "edition": hidden}))

    def reach_back(self) -> Bounds | None:
        """Return the book up to the selection, which is as far as its reader has come. None without one.

        Of words that recur nobody knows which of them the reader has come to: then it is the whole book.
        """
        if self.within is None or (whole := self.widen()) is None:
            return None
        if self.within.recurs:
            return whole
        where = replace(whole.where, at_most=self.where.at_most)
        return Bounds(where, "the book up to your selection", ahead=True, last=self.within)

    def widen(self) -> Bounds | None:
        """Return the whole book around a narrower scope, or None if there is nothing wider."""
        where = self.where
        books = where.any_of.get("book_id")
        kept = {key: allowed for key, allowed in where.any_of.items() if key in ("book_id", "source_file")}
        narrow = set(where.any_of) - set(kept) or where.at_most or where.at_least
        if not narrow or not books:
            return None
        return Bounds(replace(where, any_of=kept, at_most={}, at_least={}), "the whole book")


def _number(value: tuple[object, ...]) -> int:
    return value[0] if isinstance(value[0], int) else -1


def find_tagged(
    tags: Mapping[str, Sequence[str]], wanted: Sequence[str], books: Sequence[Book]
) -> tuple[str, ...]:
    """Return the ids of those books that have one of the tags. `tags` has those of each book.

    A tag that none of the books has raises, and names the nearest that one of them has.
    """
    words = [collapse(clean(tag)).casefold() for tag in wanted]
    known = sorted({tag for book in books for tag in tags.get(book.id, ())})
    for word in words:
        if word not in known:
            raise _make_error("tag", word, known, hint="`octavo list` shows the tags of the books.")
    return tuple(book.id for book in books if set(words) & set(tags.get(book.id, ())))


def keep_tagged(named: Sequence[str], tagged: Sequence[str], tags: Sequence[str]) -> tuple[str, ...]:
    """Return those of the named books that are tagged: names and tags narrow together. Raises for none."""
    kept = tuple(dict.fromkeys(book for book in named if book in tagged))
    if not kept:
        raise NotFound(
            f"book named {' or '.join(named[:MOST_CHOICES])} with the tag",
            ", ".join(tags),
            hint="Books and tags narrow together: leave out one of them, or give the book the tag.",
        )
    return kept


@dataclass(frozen=True, slots=True)
class ScopeResolver:
    """Resolves the scopes of one reader. Who may read only some `books` sees no others."""

    records: Records
    books: Sequence[str] | None = None

    async def list_books(self) -> list[Book]:
        return [b for b in await self.records.list_books() if self.books is None or b.id in self.books]

    async def find_tagged(self, tags: Mapping[str, Sequence[str]], wanted: Sequence[str]) -> tuple[str, ...]:
        """Find the reader's books that have one of the wanted tags. `tags` has those of each book."""
        return await run_blocking(find_tagged, tags, wanted, await self.list_books())

    async def find_book(self, name: str) -> Book:
        """Find a book by its id, or by its title if exactly one book has it."""
        books = await self.list_books()
        matching = [b for b in books if b.id == name] or [
            b for b in books if b.title.casefold() == name.casefold()
        ]
        if len(matching) == 1:
            return matching[0]
        if matching:
            shown = ", ".join(b.id for b in matching[:MOST_CHOICES])
            rule = f"must name one book; {len(matching)} have this title, name one by its id: {shown}"
            raise InvalidValue("book", rule, name)
        ids, hint = [b.id for b in books], "`octavo list` shows the books."
        raise await run_blocking(_make_error, "book", name, ids, hint=hint)

    async def resolve(self, scope: Scope, *, book_id: str | None = None) -> Bounds:
        """Resolve the scope of a search. Without a book and an identifier, it is every book."""
        if book_id is None and scope.identifier is None:
            return bound_by_books(self.books)
        book = await self._find_book_of(scope, book_id)
        if book is None:
            raise _no_book()
        return await self._bound_within(book, scope)

    async def resolve_question(self, question: Question) -> Bounds:
        """Resolve where an answer may come from: the scope of a question, narrowed by its filters."""
        if not question.filters:
            return await self._resolve_scope(question)
        filters = read_filters(question.filters)
        if filters.scope is not None:
            if question.scope.type is not ScopeType.FULL_BOOK or question.selected_text is not None:
                rule = "must name no part of the book when the question has a scope or a selection of its own"
                raise InvalidValue("filters", rule, str(filters.scope.type))
            question = replace(question, scope=filters.scope)
        narrowed = replace(self, books=await self._filter_books(filters))
        bounds = await narrowed._resolve_scope(question)
        if filters.source_files and bounds.passage is None:
            any_of = {**bounds.where.any_of, "source_file": filters.source_files}
            bounds = replace(bounds, where=replace(bounds.where, any_of=any_of))
        return bounds

    async def _filter_books(self, filters: Filters) -> Sequence[str] | None:
        """List the books that filters allow. A book that is not there raises `NotFound`."""
        if not filters.books and not filters.language:
            return self.books
        named = [await self.find_book(name) for name in filters.books] or await self.list_books()
        return [b.id for b in named if not filters.language or is_in_language(b, filters.language)]

    async def _resolve_scope(self, question: Question) -> Bounds:
        """Resolve the scope of a question. A selection is a scope by itself."""
        scope = question.scope
        book = await self._find_book_of(scope, question.book_id)
        if scope.type is ScopeType.SELECTION:
            return await self._bound_to_selection(question, book)
        if question.selected_text is not None:
            if scope.type is not ScopeType.FULL_BOOK:
                rule = "must be the whole book when a passage is selected: the selection is a scope by itself"
                raise InvalidValue("scope", rule, str(scope.type))
            return await self._bound_to_selection(question, book)
        return bound_by_books(self.books) if book is None else await self._bound_within(book, scope)

    async def _find_book_of(self, scope: Scope, book_id: str | None) -> Book | None:
        """Find the book that a scope is in: the named one, or the only one."""
        if book_id is not None:
            return await self.find_book(book_id)
        books = await self.list_books()
        if len(books) == 1:
            return books[0]
        if scope.identifier is not None and scope.type is not ScopeType.SELECTION:
            raise _no_book()
        return None

    async def _bound_within(self, book: Book, scope: Scope) -> Bounds:
        if scope.identifier is None:
            return bound_by_scope(scope, book=book, sections=(), ends={})
        sections = await self.records.list_outline(book.id)
        ends = await self.records.find_section_ends(book.id)
        # A name of nothing is compared with all others.
        return await run_blocking(bound_by_scope, scope, book=book, sections=sections, ends=ends)

    async def _bound_to_selection(self, question: Question, book: Book | None) -> Bounds:
        """Find the selection in the book, or in any book. If none has it, it stands alone."""
        named = await self._find_place(question, book)
        if named is not None and book is not None:
            return await self._bound_to_place(named, book)
        text = question.selected_text or question.scope.identifier or ""
        for candidate in [book] if book else await self.list_books():
            place = await run_blocking(locate_selection, text, await self.records.list_sections(candidate.id))
            if place is not None:
                return await self._bound_to_place(place, candidate)
        kept = clean(text).strip()
        if len(kept) < CHUNK_LEAST:
            rule = f"is not in the book, and with less than {CHUNK_LEAST} characters too short to stand alone"
            raise InvalidValue("selected_text", rule, text)
        return bound_by_text(kept, now=question.timestamp)

    async def _find_place(self, question: Question, book: Book | None) -> Location | None:
        """Find the place that a selection names, or None if it names none or another text stands there."""
        named = PLACE.fullmatch(question.scope.identifier or "")
        if named is None or question.scope.type is not ScopeType.SELECTION:
            return None
        if book is None:
            raise _no_book()
        start, end, selected = int(named["start"]), int(named["end"]), question.selected_text
        outline = await self.records.list_outline(book.id)
        try:
            found = await run_blocking(find_section, named["section"], outline)
        except (NotFound, InvalidValue):
            # The book may have been read again since the reader opened it.
            if not selected:
                raise
            _check_is_whole(selected, start, end)
            return None
        section = await self.records.find_section(book.id, found.id)
        place = Location(section or found, start, end)
        if selected and not _is_text_of(selected, place):
            _check_is_whole(selected, start, end)
            return None
        if not place.text.strip():
            rule = "must be characters of the section, as in “SECTION#char=120,460”"
            raise InvalidValue("Scope.identifier", rule, question.scope.identifier)
        return place

    async def _bound_to_place(self, place: Location, book: Book) -> Bounds:
        start, end = place.start, place.end
        chunks = await self.records.find_chunks_within(book.id, place.section.id, start, end)
        return bound_by_selection(place, chunks, book=book)


def _is_text_of(selected: str, place: Location) -> bool:
    """Whether a place has the letters of a selection. Of a long one, only the beginning may be given."""
    texts = (clean(text).casefold() for text in (place.text, selected))
    letters, wanted = ("".join(c for c in text if c.isalnum()) for text in texts)
    return bool(wanted) and (letters == wanted or (_may_be_cut(selected) and letters.startswith(wanted)))


def _check_is_whole(selected: str, start: int, end: int) -> None:
    """Raise if only the beginning of a selection was sent: without its place, its end is not known."""
    if end - start > SELECTION_MOST and _may_be_cut(selected):
        rule = "no longer stands where it was selected: the book has changed, select again"
        raise InvalidValue("selected_text", rule, selected)


def _may_be_cut(selected: str) -> bool:
    """Whether a text may be only the beginning of a selection: one is cut at the last word of the limit."""
    return len(selected) >= SELECTION_MOST // 2


def _no_book() -> InvalidValue:
    return InvalidValue(
        "book_id",
        "must say which book the scope is in, because there are several",
        None,
        hint="On the command line, name the book with --book. `octavo list` shows the books.",
    )


def locate_selection(selected: str, sections: Iterable[Section]) -> Location | None:
    """Find where `selected` stands, or return None if the book does not have it.

    The first place wins, but a place where it consists of whole words wins over one where it does not.
    """
    letters = [c for c in clean(selected) if c.isalnum()]
    if not letters:
        return None
    within = _BETWEEN.join(re.escape(c) for c in letters)
    searched = list(sections)
    for spelled in (rf"(?<![^\W_]){within}(?![^\W_])", within):
        pattern = re.compile(spelled, re.IGNORECASE)
        places = ((section, found) for section in searched for found in pattern.finditer(section.text))
        first = next(places, None)
        if first is not None:
            section, found = first
            return Location(section, found.start(), found.end(), recurs=next(places, None) is not None)
    return None


def bound_by_books(among: Sequence[str] | None = None) -> Bounds:
    """Allow the whole library, or only some books of it."""
    if among is None:
        return Bounds(Where(), "the whole library")
    return Bounds(Where(any_of={"book_id": tuple(among)}), "the books you may read")


def bound_by_selection(place: Location, chunks: Sequence[Chunk], *, book: Book) -> Bounds:
    """Allow the reader's selection alone. `chunks` are those that share characters with it."""
    positions = [chunk.document_position for chunk in chunks] or [-1]
    where = Where(
        any_of={"book_id": (book.id,)},
        at_least={"document_position": min(positions)},
        at_most={"document_position": max(positions)},
    )
    return Bounds(where, f"your selection in {book.title} › {place.section.title}", place)


def bound_by_text(text: str, *, now: datetime) -> Bounds:
    """Allow a text that no book has: it is answered from itself, and the description says so."""
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
    """Apply a scope to a book. `ends` has the position of each section's last chunk."""
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
    """Allow everything up to and including a chunk's position, a page (`p. 12`) or a section."""
    whole = {"book_id": (book.id,)}
    page = find_page_name(identifier, sections)
    if page is not None:
        _, last = find_pages(page, sections)
        where = Where(any_of=whole, at_most={"page_end": last})
        return Bounds(where, f"{book.title}, up to page {page}", ahead=True)
    if is_number(identifier):
        position, said = int(identifier), f"position {identifier}"
    else:
        section = find_section(identifier, sections)
        read = (s for s in sections if s.position <= section.position or section.id in s.ancestors)
        position = max((ends[s.id] for s in read if s.id in ends), default=-1)
        said = f"and including {section.title}"
    where = Where(any_of=whole, at_most={"document_position": position})
    return Bounds(where, f"{book.title}, up to {said}", ahead=True)


def find_page_name(identifier: str, sections: Sequence[Section]) -> str | None:
    """Return the page that `p. 12` names, or None if it is no page, or the title of a section."""
    page = _ONE_PAGE.match(identifier)
    is_title = any(_fold(s.title) == _fold(identifier) for s in sections)
    return page[1] if page and not is_title else None


def find_section(identifier: str, sections: Sequence[Section]) -> Section:
    """Find a section by id, address, heading path or title, or by a part of the title that only one has."""
    wanted = _fold(identifier)
    ways = (
        lambda s: s.id == identifier,
        lambda s: s.url == identifier,
        lambda s: bool(s.anchor) and identifier == f"#{s.anchor}",
        lambda s: _fold(" › ".join(s.heading_path)) == wanted,
    )
    for way in ways:
        matching = [s for s in sections if way(s)]
        if matching:
            return matching[0]
    titled = [s for s in sections if _fold(s.title) == wanted]
    if titled:
        return _choose_section(identifier, titled)
    # "Chapter 1" begins "Chapter 1. Loomings", but not "Chapter 10. A Bosom Friend".
    begun = [s for s in sections if wanted and re.match(rf"{re.escape(wanted)}(?!\w)", _fold(s.title))]
    if len(begun) == 1:
        return begun[0]
    partly = [s for s in sections if wanted and wanted in _fold(s.title)]
    if len(partly) == 1:
        return partly[0]
    titles = list(dict.fromkeys(s.title for s in partly or sections))
    raise _make_error("section", identifier, titles, hint="`octavo contents BOOK` lists the sections.")


def find_near_names(name: str, names: Sequence[str]) -> tuple[str, ...]:
    """Find the names that a mistyped one may stand for: those that have it, or are spelt like it.

    Of a long title, one word that is spelt like one of the name is enough. Letters are compared only in
    those names and words that have most in common, so that the time does not grow with the library.
    """
    wanted = _fold(name[:_LONGEST_NAME])
    folded = {known: _fold(known) for known in names}
    holding = [known for known, text in folded.items() if len(wanted) > 2 and wanted in text]
    texts = _find_most_alike(wanted, dict.fromkeys(folded.values()), most=_MOST_COMPARED)
    alike = get_close_matches(wanted, texts, n=MOST_NAMES, cutoff=_ALIKE)
    words = sorted((word for word in _WORD.findall(wanted) if len(word) > 3), key=len, reverse=True)
    by_word = {text: frozenset(word for word in _WORD.findall(text) if len(word) > 3) for text in texts}
    known_words = sorted(frozenset().union(*by_word.values()))
    spelt: set[str] = set()
    for word in words[:_MOST_WORDS]:
        like = _find_most_alike(word, known_words, most=_MOST_COMPARED_WORDS)
        spelt.update(get_close_matches(word, like, n=3, cutoff=_WORD_ALIKE))
    sharing = [known for known, text in folded.items() if spelt & by_word.get(text, frozenset())]
    near = [*holding, *(known for text in alike for known in names if folded[known] == text), *sharing]
    return tuple(dict.fromkeys(near))[:MOST_NAMES]


def _find_most_alike(wanted: str, texts: Iterable[str], *, most: int) -> list[str]:
    """Return the texts that share the most runs of three letters with one, of those that share any."""
    grams = _list_grams(wanted)
    shared = {text: len(grams & _list_grams(text)) for text in texts}
    return nlargest(most, (text for text, count in shared.items() if count), key=shared.__getitem__)


def _list_grams(text: str) -> set[str]:
    # The spaces make the first two letters and the last two count as well.
    padded = f" {text[:_LONGEST_NAME]} "
    return {padded[at : at + 3] for at in range(len(padded) - 2)}


def _make_error(what: str, name: str, names: Sequence[str], *, hint: str) -> NotFound:
    """Make the error for a name of nothing, with the names that are near, or with all of a few."""
    few = tuple(names) if len(names) <= MOST_NAMES else ()
    return NotFound(what, name, nearest=find_near_names(name, names), known=few, hint=hint)


def _choose_section(identifier: str, matching: Sequence[Section]) -> Section:
    """Return the section that the others are part of, or raise: which one is meant is the caller's to say."""
    first = matching[0]
    if all(first.id in section.ancestors for section in matching[1:]):
        return first
    shown = "".join(f"\n    {s.id}  ({' › '.join(s.heading_path)})" for s in matching[:MOST_CHOICES])
    rule = f"must name one section; it fits {len(matching)}, say which by its id or path:{shown}\n "
    raise InvalidValue("section", rule, identifier)


def find_pages(identifier: str, sections: Sequence[Section]) -> tuple[int, int]:
    """Find the first and the last physical page that `identifier` names."""
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
    near = tuple(get_close_matches(wanted[:_LONGEST_NAME], names, n=MOST_NAMES, cutoff=_ALIKE))
    hint = f"The book has the physical pages #{min(numbers)} to #{max(numbers)}."
    raise NotFound("page", identifier, nearest=near, hint=hint)


def is_number(identifier: str) -> bool:
    """Tell whether an identifier is the position of a chunk."""
    return identifier.isdecimal() and len(identifier) < 10


def _fold(text: str) -> str:
    return collapse(text).casefold().replace(">", "›")
