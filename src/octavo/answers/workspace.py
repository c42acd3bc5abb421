"""What an answerer works with: the sentences that were found for one question, and ways to find more.

More sentences are found by searching again, by reading a section or around a sentence, or by looking at the
contents. A `Workspace` never leaves the bounds of the reader's scope, whatever it is asked for. It does not
even name a section that the reader has not come to. Only an order about a selection ("explain this") also
reads what comes before the selection: what stands around it, one passage elsewhere, and who or what a name
is. A technical term may be defined from anywhere in the book. If the selected words stand in several places,
nobody knows what comes before them, and all of the book is read. Sentences are numbered s1, s2… as they are
found, and keep their number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, overload

from octavo.answers.questions import write_question
from octavo.concurrency import run_blocking
from octavo.errors import NotFound
from octavo.models.weights import GATE, GATE_LARGE, LARGE, MULTILINGUAL_READER, VERIFIER
from octavo.protocols import Where
from octavo.records.markup import find_markup
from octavo.search.preferences import NO_PREFERENCES, Preferences
from octavo.search.scope import Bounds, Location, find_section
from octavo.search.surroundings import covers
from octavo.text.blocks import cut_blocks, find_block, list_blocks
from octavo.text.layout import read_layout
from octavo.text.sentences import split_sentences
from octavo.types import CHUNK_LEAST, Book, Chunk, Evidence, Section
from octavo.verification.claims import Sentence
from octavo.verification.meaning import Opinions

if TYPE_CHECKING:
    from octavo.protocols import SupportModel
    from octavo.records.catalogue import Records
    from octavo.search.maps import MapReader
    from octavo.search.ranking import ReaderSize
    from octavo.search.rerank import Reranker
    from octavo.search.retrieval import Retriever
    from octavo.text.blocks import Block
    from octavo.text.bookmap.describe import MapDescriber
    from octavo.text.bookmap.model import MapPlace
    from octavo.types.markup import Element

FOUND_MOST, READ_MOST, LISTED_MOST = 10, 12, 200
QUERY_MOST = 1_000
OnStep = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class Sources:
    """Looks up the books, sections and pages that the passages of one answer come from, each of them once."""

    records: Records
    books: dict[str, Book | None] = field(default_factory=dict)
    sections: dict[tuple[str, str], Section | None] = field(default_factory=dict)
    pages: dict[tuple[str, str], str] = field(default_factory=dict)
    layouts: dict[tuple[str, str], tuple[Element, ...]] = field(default_factory=dict)
    parts: dict[tuple[str, str], tuple[Block, ...]] = field(default_factory=dict)

    async def book(self, chunk: Chunk) -> Book | None:
        if chunk.book_id not in self.books:
            self.books[chunk.book_id] = await self.records.find_book(chunk.book_id)
        return self.books[chunk.book_id]

    async def section(self, chunk: Chunk) -> Section | None:
        place = (chunk.book_id, chunk.section_id)
        if place not in self.sections:
            self.sections[place] = await self.records.find_section(*place)
        return self.sections[place]

    async def markup(self, chunk: Chunk) -> tuple[Element, ...]:
        """Return what the parts of the passage's section are. Where nothing else says so, its lines do."""
        place = (chunk.book_id, chunk.section_id)
        if place not in self.layouts:
            section = await self.section(chunk)
            found = await find_markup(self.records.database, section) if section else ()
            if section and not found:
                found = await run_blocking(read_layout, section.text, kept=section.blocks)
            self.layouts[place] = found
        return self.layouts[place]

    async def blocks(self, chunk: Chunk) -> tuple[Block, ...]:
        """Return the blocks of the passage's section; () if there is no such section."""
        place = (chunk.book_id, chunk.section_id)
        if place not in self.parts:
            section, markup = await self.section(chunk), await self.markup(chunk)
            self.parts[place] = await run_blocking(list_blocks, section.text, markup) if section else ()
        return self.parts[place]

    async def page(self, chunk: Chunk) -> str:
        """Return the whole text of the web page that the passage is on."""
        place = (chunk.book_id, chunk.source_file)
        if place not in self.pages:
            self.pages[place] = await self.records.read_page(*place)
        return self.pages[place]


class CachedVerifier:
    """Asks a trained verifier about each claim only once, and knows whether it was asked at all."""

    def __init__(self, verifier: SupportModel) -> None:
        self._verifier = verifier
        self._known: dict[tuple[str, ...], Sequence[float]] = {}

    def __call__(self, claim: str, passages: Sequence[str], /) -> Sequence[float]:
        key = (claim, *passages)
        if key not in self._known:
            self._known[key] = self._verifier(claim, passages)
        return self._known[key]

    @property
    def was_asked(self) -> bool:
        return bool(self._known)


def _make_opinions(reranker: Reranker | None, verifier: SupportModel | None) -> Opinions | None:
    if reranker is None or reranker.gate is None or verifier is None:
        return None
    large = CachedVerifier(reranker.gate_large) if reranker.gate_large else None
    reader = CachedVerifier(reranker.large.score_support) if reranker.large else None
    multilingual = CachedVerifier(reranker.multilingual.score_support) if reranker.multilingual else None
    return Opinions(verifier, CachedVerifier(reranker.gate), large, reader, multilingual)


class Workspace(Sequence[Sentence]):
    """The sentences found so far, and ways to find more within the bounds.

    The workspace that `look_back` returns shares the sentences and their numbers, the evidence, what models
    read and the opinions of the verifiers: what one of the two finds, both have. Only its bounds are its own.
    """

    def __init__(
        self,
        asked: str,
        bounds: Bounds,
        retriever: Retriever,
        records: Records,
        *,
        preferences: Preferences = NO_PREFERENCES,
        maps: MapReader | None = None,
    ) -> None:
        """`asked` is the question in the reader's own words."""
        self.asked, self.bounds, self._preferences = asked, bounds, preferences
        self.evidence: list[Evidence] = []
        self.deep: dict[str, Chunk] = {}
        """The passages that the large model read, by their ids, with what it read around them."""
        self.readers: dict[str, None] = {}
        """The names of the models that read passages, in the order of their use."""
        verifier = retriever.reranker.opinion if retriever.reranker else None
        self.opinion = CachedVerifier(verifier) if verifier else None
        self.opinions = _make_opinions(retriever.reranker, self.opinion)
        """The trained verifiers that the gate asks about a claim, where there are any."""
        self._retriever, self._records, self._maps = retriever, records, maps
        self._sources = Sources(records)
        self._sentences: list[Sentence] = []
        self._is_wider = False
        self.on_step: OnStep | None = None
        """Called with what is being done just now: the step and its detail."""

    @overload
    def __getitem__(self, index: int) -> Sentence: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Sentence]: ...
    def __getitem__(self, index: int | slice) -> Sentence | Sequence[Sentence]:
        return self._sentences[index]

    def __len__(self) -> int:
        return len(self._sentences)

    def list_verifiers(self) -> list[str]:
        """Return the names of the verifiers that were asked about a claim."""
        known: dict[str, SupportModel | None] = {VERIFIER.name: self.opinion}
        if (asked := self.opinions) is not None:
            known |= {GATE.name: asked.gate, GATE_LARGE.name: asked.large, LARGE.name: asked.reader}
            known |= {MULTILINGUAL_READER.name: asked.multilingual}
        return [name for name, one in known.items() if isinstance(one, CachedVerifier) and one.was_asked]

    def report(self, step: str, detail: str = "") -> None:
        """Report what is being done just now."""
        if self.on_step is not None:
            self.on_step(step, detail)

    async def search(self, query: str, *, top_k: int, reader: ReaderSize = "small") -> list[Sentence]:
        """Find the passages that fit best and return their sentences. Known sentences keep their numbers.

        `reader` is the largest model that may read them.
        """
        if self.bounds.passage is not None:
            own = Evidence(chunk=self.bounds.passage, relevance_score=1.0, rank=1)
            return await self._add([own])
        pool = self._preferences.pool_size(top_k)
        asked = write_question(query)
        found = await self._retriever.find(asked, bounds=self.bounds, top_k=pool, reader=reader)
        self.deep |= found.deep
        self.readers |= dict.fromkeys(found.readers)
        return await self._add(self._preferences.apply(found.evidence, top_k=top_k))

    @property
    def is_selection(self) -> bool:
        """Whether the bounds are a passage that the reader chose."""
        return self.bounds.within is not None or self.bounds.passage is not None

    def look_back(self) -> Workspace:
        """Return this workspace with the bounds of what the reader of a selection has come to.

        The two share all that the class docstring names. Without a selection it is the same workspace.
        """
        read = self.bounds.reach_back()
        if read is None:
            return self
        shared = copy(self)
        shared.bounds, shared._is_wider = read, True
        return shared

    async def read_selection(self) -> list[Sentence]:
        """Read all sentences of the selection, in order."""
        place = self.bounds.within
        if place is None:
            return list(self)
        book, section = place.section.book_id, place.section.id
        chunks = await self._records.find_chunks_within(book, section, place.start, place.end)
        added = await self._add_chunks(chunks)
        own = {(s.start, s.end): s for s in reversed(added) if s.start < place.end and s.end > place.start}
        return [own[span] for span in sorted(own)]

    async def read_beyond(self, book_id: str, places: Iterable[MapPlace]) -> list[Sentence]:
        """Read places of the book that an order about a selection leads to, outside of the selection."""
        wider = self.bounds.widen()
        found: list[Sentence] = []
        for place in places if wider else ():
            chunks = await self._records.find_chunks_within(book_id, place.section_id, place.start, place.end)
            held = [chunk for chunk in chunks[:1] if wider and wider.holds(chunk)]
            items = [Evidence(chunk=chunk, relevance_score=1.0, rank=1) for chunk in held]
            sentences = await self._add(items, bounds=wider)
            found += [s for s in sentences if s.start < place.end and s.end > place.start]
        return found

    async def search_beyond(self, query: str) -> list[Sentence]:
        """Find the best passage of the same book before the selection; return its sentences.

        A passage that has some of the selection is none, but one that was read already may be.
        """
        before, place = self.bounds.reach_back(), self.bounds.within
        if before is None or place is None:
            return []
        found = await self._retriever.search(
            query[:QUERY_MOST], bounds=before, top_k=FOUND_MOST, reader="small"
        )
        apart = [e for e in found if not self.bounds.touches(e.chunk, e.chunk.start, e.chunk.end)]
        return await self._add(apart[:1], bounds=before)

    async def section(self, name: str, *, around: str = "") -> list[Sentence]:
        """Read the passages of a section in the order of the book, or those `around` a sentence."""
        if self.bounds.passage is not None:
            return list(self)
        where = self.bounds.where
        near = next((sentence for sentence in self if sentence.id == around), None)
        if near is not None:
            at, key = near.chunk.document_position, "document_position"
            least = max(at - 1, where.at_least.get(key, 0))
            most = min(at + 1, where.at_most.get(key, at + 1))
            where = replace(
                where,
                any_of={**where.any_of, "book_id": (near.chunk.book_id,)},
                at_least={**where.at_least, key: least},
                at_most={**where.at_most, key: most},
            )
        else:
            section = await self._find(name)
            inside = {"book_id": (section.book_id,), "sections": (section.id,)}
            where = replace(where, any_of={**where.any_of, **inside})
        narrowed = replace(self.bounds, where=where)
        found = await self._retriever.search(self.asked, bounds=narrowed, top_k=READ_MOST, reader="off")
        held = [item for item in found if self.bounds.holds(item.chunk)]
        return await self._add(sorted(held, key=lambda item: item.chunk.document_position))

    async def look_through(self, section: Section) -> list[Sentence]:
        """Return the sentences directly under one heading that the reader may see, without adding them.

        They have no numbers of this workspace: `take` adds those that are wanted.
        """
        chunks = await self._records.find_chunks_within(section.book_id, section.id, 0, len(section.text))
        blocks = await self._sources.blocks(chunks[0]) if chunks else ()
        found = number_sentences(self._hold(chunks), self.bounds, blocks=blocks)
        return list({(sentence.start, sentence.end): sentence for sentence in reversed(found)}.values())[::-1]

    async def look_around(self, sentence: Sentence) -> list[Sentence]:
        """Return the sentences under the heading of one that the reader may see, without adding them."""
        if self.bounds.passage is not None:
            return list(self)
        section = await self._sources.section(sentence.chunk)
        found = await self.look_through(section) if section else []
        return sorted(found, key=lambda other: other.start)

    async def take(self, seen: Sequence[Sentence], *, relevance: float = 1.0) -> list[Sentence]:
        """Add the passages of sentences that were looked through, and return these sentences."""
        added: dict[tuple[str, int, int], dict[int, Sentence]] = {}
        for sentence in seen:
            chunk = sentence.chunk
            place = chunk.id, chunk.start, chunk.end
            if place not in added:
                own = await self._add(self._hold([chunk], relevance=relevance))
                added[place] = {one.start: one for one in reversed(own)}
        taken = (added[s.chunk.id, s.chunk.start, s.chunk.end].get(s.start) for s in seen)
        return [sentence for sentence in taken if sentence is not None]

    async def read_around(self, first: Sentence, last: Sentence, *, reach: int) -> list[Sentence]:
        """Read a section from `reach` characters before one sentence to as many after another, in order."""
        chunk = first.chunk
        if self.bounds.passage is not None:
            return list(self)
        start, end = max(0, first.start - reach), last.end + reach
        chunks = await self._records.find_chunks_within(chunk.book_id, chunk.section_id, start, end)
        by_place = {(s.start, s.end): s for s in reversed(await self._add_chunks(chunks))}
        by_place |= {(s.start, s.end): s for s in (first, last)}
        return [by_place[place] for place in sorted(by_place)]

    async def look_at(self, stretches: Sequence[Chunk]) -> list[Sentence]:
        """Return the sentences that are whole in stretches of sections, without adding new ones.

        New ones have numbers that this workspace has not given yet: `take` adds those that are wanted.
        """
        found: dict[str, list[Sentence]] = {}
        count = len(self._sentences)
        for stretch in stretches:
            place = (stretch.book_id, stretch.section_id, stretch.start, stretch.end)
            for item in self._hold(await self._records.find_chunks_within(*place)):
                chunk = item.chunk
                if chunk.id not in found:
                    known = [sentence for sentence in self._sentences if sentence.chunk.id == chunk.id]
                    blocks = await self._sources.blocks(chunk)
                    own = known or number_sentences([item], self.bounds, after=count, blocks=blocks)
                    count += 0 if known else len(own)
                    found[chunk.id] = own
        return [
            sentence
            for own in found.values()
            for sentence in own
            if any(covers(stretch, sentence.chunk, sentence.start, sentence.end) for stretch in stretches)
        ]

    async def read_markup(self, sentence: Sentence) -> tuple[Element, ...]:
        """Read what the parts of a sentence's section are. Where nothing else says so, its lines do."""
        return await self._sources.markup(sentence.chunk)

    async def read_places(self, book_id: str, places: Iterable[MapPlace]) -> list[Sentence]:
        """Read the passages around places of a book's map; return the sentences at these places."""
        found: list[Sentence] = []
        for place in places:
            chunks = await self._records.find_chunks_within(book_id, place.section_id, place.start, place.end)
            found += [
                sentence
                for sentence in await self._add_chunks(chunks[:1])
                if sentence.start < place.end and sentence.end > place.start
            ]
        return found

    async def open_map(self, *, whole: bool = False) -> tuple[Book, MapDescriber] | None:
        """Open the map of the book that the reader asks, or None if it is not one book.

        It ends where the reader's bounds end, or with the selection, unless the `whole` map is wanted.
        """
        if self._maps is None or self.bounds.passage is not None:
            return None
        asked = await self.list_books()
        if len(asked) != 1:
            return None
        read = self.bounds.reach_back() or self.bounds
        limit = read.where.at_most if read.ahead and not whole else {}
        position, page = limit.get("document_position"), limit.get("page_end")
        if position is not None and position < 0:
            return None
        up_to = None if not limit else f"p. #{page}" if position is None else str(position)
        if limit and read.last is not None:
            up_to = f"{read.last.section.id}#char=0,{await self._find_end(read.last)}"
        return asked[0], await self._maps.open(asked[0], up_to=up_to)

    async def _find_end(self, place: Location) -> int:
        """Find the end of the sentence in which a selection ends."""
        section = place.section
        chunks = await self._records.find_chunks_within(section.book_id, section.id, place.start, place.end)
        blocks = await self._sources.blocks(chunks[0]) if chunks else ()
        held = [Evidence(chunk=chunk, relevance_score=1.0, rank=1) for chunk in chunks]
        found = number_sentences(held, Bounds(Where(), "", place), blocks=blocks)
        return max((sentence.end for sentence in found), default=place.end)

    async def list_sections(self) -> tuple[list[Section], frozenset[str]]:
        """List the sections of the one book that is asked, with their text, and the ids of those within the
        bounds. Without one book, there are none.
        """
        visible = await self._list_visible()
        if len({section.book_id for section in visible}) != 1:
            return [], frozenset()
        listed = await self._records.list_sections(visible[0].book_id)
        return listed, frozenset(section.id for section in visible)

    async def list_visible_texts(self) -> list[str]:
        """List the texts of the sections of the one book that is asked that lie within the bounds.

        If the bounds end somewhere, the section in which they end is left out.
        """
        listed, visible = await self.list_sections()
        within = [section.text for section in listed if section.id in visible and section.text.strip()]
        return within[:-1] if self.bounds.ahead or self.bounds.within is not None else within

    async def list_books(self) -> list[Book]:
        """List the books that are asked."""
        allowed = self.bounds.where.any_of.get("book_id")
        return [book for book in await self._records.list_books() if allowed is None or book.id in allowed]

    async def list_sections_of(self, book_id: str) -> tuple[list[Section], frozenset[str]]:
        """List the sections of a book, with their text, and the ids of those within the bounds."""
        visible = frozenset(s.id for s in await self._list_visible() if s.book_id == book_id)
        return await self._records.list_sections(book_id), visible

    async def contents(self) -> list[str]:
        """List the headings within the bounds, each with those above it, and with titles if books differ."""
        sections = await self._list_visible()
        titles = {b.id: (b.title,) for b in await self._records.list_books()}
        several = len({section.book_id for section in sections}) > 1
        return [" › ".join((titles[s.book_id] if several else ()) + s.heading_path) for s in sections]

    async def _find(self, name: str) -> Section:
        sections = await self._list_visible()
        try:
            return await run_blocking(find_section, name, sections)
        except NotFound:
            _, title, rest = name.partition(" › ")
            if not title:
                raise
            # `contents` puts the title of the book before a heading if there are several books.
            return await run_blocking(find_section, rest, sections)

    async def _list_visible(self) -> list[Section]:
        """List the sections that have something within the bounds."""
        if self.bounds.passage is not None:
            return []
        books = self.bounds.where.any_of.get("book_id") or [b.id for b in await self._records.list_books()]
        found: list[Section] = []
        for book_id in books:
            ends, first = await self._records.find_section_ends(str(book_id)), 0
            for section in await self._records.list_outline(str(book_id)):
                if section.id in ends:
                    if _overlaps(section, first, ends[section.id], self.bounds):
                        found.append(section)
                    first = ends[section.id] + 1
        return found

    async def _add_chunks(self, chunks: Sequence[Chunk]) -> list[Sentence]:
        """Add passages that the question itself leads to, as far as they are within the bounds."""
        return await self._add(self._hold(chunks))

    def _hold(self, chunks: Sequence[Chunk], *, relevance: float = 1.0) -> list[Evidence]:
        """Make evidence of the chunks that are within the bounds."""
        held = (chunk for chunk in chunks if self.bounds.holds(chunk))
        return [Evidence(chunk=chunk, relevance_score=relevance, rank=1) for chunk in held]

    async def _add(self, found: Sequence[Evidence], *, bounds: Bounds | None = None) -> list[Sentence]:
        """Add passages, as far as they are within the bounds, and return their sentences there."""
        bounds = bounds or self.bounds
        taken: list[Sentence] = []
        for item in found:
            known = [sentence for sentence in self._sentences if sentence.chunk.id == item.chunk.id]
            is_cut = self._is_wider and bool(known) and known[0].chunk.content != item.chunk.content
            part = await _trim_to_bounds(item, bounds, self._sources) if is_cut or not known else None
            # What is known of a passage may reach beyond these bounds: then it is not cut again.
            if part is not None and not (known and _has_all(known[0].chunk, part.chunk)):
                blocks = await self._sources.blocks(item.chunk)
                known = self._put(part, number_sentences([part], bounds, blocks=blocks))
            taken += (s for s in known if bounds.touches(s.chunk, s.start, s.end))
        return taken

    def _put(self, part: Evidence, sentences: Sequence[Sentence]) -> list[Sentence]:
        """Put in a passage, or more of one that was cut. Known sentences keep their ids."""
        id_, places = part.chunk.id, dict[tuple[int, int], Sentence]()
        for number, known in enumerate(self._sentences):
            if known.chunk.id == id_:
                self._sentences[number] = places[known.start, known.end] = replace(known, chunk=part.chunk)
        if places:
            for number, item in enumerate(self.evidence):
                if item.chunk.id == id_:
                    self.evidence[number] = replace(item, chunk=part.chunk)
        else:
            last = self.evidence[-1].rank if self.evidence else 0
            self.evidence.append(replace(part, rank=max(part.rank, last + 1)))
        rank = next(e.rank for e in self.evidence if e.chunk.id == id_)
        for sentence in sentences:
            place = sentence.start, sentence.end
            if place not in places:
                new = f"s{len(self._sentences) + 1}"
                places[place] = replace(sentence, id=new, evidence_rank=rank)
                self._sentences.append(places[place])
        return [places[place] for place in sorted(places)]


def _has_all(known: Chunk, part: Chunk) -> bool:
    return known.start <= part.start and part.end <= known.end


def _overlaps(section: Section, first: int, last: int, bounds: Bounds) -> bool:
    """Whether a section has something within the bounds. Its passages have positions `first` to `last`."""
    where = bounds.where
    if bounds.within is not None and section.id != bounds.within.section.id:
        return False
    wanted = where.any_of.get("sections")
    if wanted and not {section.id, *section.ancestors} & set(wanted):
        return False
    pages = (section.page_start or 0, section.page_end or 0)
    reach = {"document_position": (first, last), "page_number": pages, "page_end": pages}
    return all(reach[key][1] >= least for key, least in where.at_least.items()) and all(
        0 < reach[key][0] + (key == "document_position") <= most + (key == "document_position")
        for key, most in where.at_most.items()
    )


async def _trim_to_bounds(item: Evidence, bounds: Bounds, sources: Sources) -> Evidence | None:
    """Cut off what is out of bounds: a passage may begin before a page or selection, or end after it."""
    chunk, place = item.chunk, bounds.within
    if place is not None:
        return trim_evidence(item, place.start, place.end, blocks=await sources.blocks(chunk))
    if bounds.last is not None and bounds.last.is_in(chunk):
        return trim_evidence(item, chunk.start, bounds.last.end, blocks=await sources.blocks(chunk))
    first, last = bounds.where.at_least.get("page_end"), bounds.where.at_most.get("page_number")
    if first is None or last is None or chunk.page_number == chunk.page_end:
        return item
    section = await sources.section(chunk)
    if section is None:
        return None
    return trim_to_pages(item, section, first, last, blocks=await sources.blocks(chunk))


def number_sentences(
    evidence: Sequence[Evidence], bounds: Bounds, *, after: int = 0, blocks: Sequence[Block] = ()
) -> list[Sentence]:
    """Number the sentences of the evidence that are within the bounds. The first is `after` + 1.

    `blocks` are those of the section that all of it is from. Without them, the lines of each passage tell.
    """
    found: list[Sentence] = []
    for item in evidence:
        chunk = item.chunk
        own = blocks or [block.shift(chunk.start) for block in list_blocks(chunk.content)]
        inside = cut_blocks(own, chunk.start, chunk.end)
        for span in split_sentences(chunk.content, blocks=inside):
            start, end = chunk.start + span.start, chunk.start + span.end
            if bounds.touches(chunk, start, end):
                found.append(
                    Sentence(
                        id=f"s{after + len(found) + 1}",
                        chunk=chunk,
                        start=start,
                        end=end,
                        text=chunk.content[span.start : span.end],
                        similarity=0.0,
                        evidence_rank=item.rank,
                        evidence_score=item.relevance_score,
                        block=find_block(own, start),
                    )
                )
    return found


def trim_evidence(item: Evidence, start: int, end: int, *, blocks: Sequence[Block] = ()) -> Evidence | None:
    """Keep those sentences of the evidence that overlap a stretch of its section."""
    chunk = item.chunk
    if start <= chunk.start and chunk.end <= end:
        return item
    inside = cut_blocks(blocks, chunk.start, chunk.end) if blocks else None
    found = split_sentences(chunk.content, blocks=inside)
    spans = [(chunk.start + s.start, chunk.start + s.end) for s in found]
    kept = [(a, b) for a, b in spans if a < end and b > start]
    if not kept:
        return None
    first, last = kept[0][0], kept[-1][1]
    first = max(chunk.start, min(first, last - CHUNK_LEAST))
    last = max(last, first + CHUNK_LEAST)
    content = chunk.content[first - chunk.start : last - chunk.start]
    return replace(item, chunk=replace(chunk, content=content, start=first, end=last))


def trim_to_pages(
    item: Evidence, section: Section, first: int, last: int, *, blocks: Sequence[Block] = ()
) -> Evidence | None:
    """Keep those sentences of the evidence that stand on physical pages `first` to `last`."""
    begins = [mark.offset for mark in section.pages if mark.number >= first]
    after = [mark.offset for mark in section.pages if mark.number > last]
    end = min(after, default=len(section.text))
    part = trim_evidence(item, min(begins), end, blocks=blocks) if begins else None
    if part is None:
        return None
    seen = [mark for mark in section.pages if first <= mark.number <= last and mark.offset < part.chunk.end]
    here = [mark for mark in seen if mark.offset <= part.chunk.start][-1:] or seen[:1]
    if not here:
        return None
    begin, end = here[0], seen[-1].number
    chunk = replace(part.chunk, page_number=begin.number, page_label=begin.label, page_end=end)
    return replace(part, chunk=chunk)
