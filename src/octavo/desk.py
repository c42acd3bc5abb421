"""The desk where a question is worked on: everything the flow of `ask` needs, one call for each step.

Whoever sits at the desk (the offline answerer, a language model) gets numbered sentences and names their
numbers; the desk checks every number, checks every claim against its sentences, and does the quoting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from octavo import scoring
from octavo.answering import Claim
from octavo.citations import Footnoted, footnoted
from octavo.concurrency import blocking
from octavo.conversation import Answer, Question
from octavo.errors import InvalidValue, NotFound
from octavo.followups import Turn, interpret
from octavo.journal import Journal
from octavo.journal_rows import seal
from octavo.links import link
from octavo.matching import Sentence
from octavo.reading import Answerer, cut, numbered, on_pages
from octavo.records import Records
from octavo.retrieval import Retriever
from octavo.scope import Bounds, everywhere, resolve, selected, unplaced
from octavo.selection import locate
from octavo.settings import Settings
from octavo.text import clean
from octavo.types import CHUNK_LEAST, Book, Chunk, Evidence, ScopeType, Section
from octavo.verification import check

HISTORY = 6  # turns that a follow-up may refer to


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What came of reading the evidence: claims that hold, those that were dropped and why."""

    evidence: tuple[Evidence, ...]
    sentences: dict[str, Sentence]
    claims: tuple[Claim, ...]
    dropped: tuple[tuple[str, str], ...]
    answerable: float
    confidence: float
    order: dict[str, int] = field(default_factory=dict)

    def number(self, sentence_id: str) -> int:
        """The number of the citation that quotes this sentence."""
        return self.order[sentence_id]

    def quoted(self, outside: Bounds) -> tuple[Evidence, ...]:
        """The evidence with sentences that the claims rest on and that lie outside of the bounds."""
        used = [self.sentences[id_] for id_ in self.order]
        beyond = {s.chunk.id for s in used if not _inside(s, outside)}
        return tuple(item for item in self.evidence if item.chunk.id in beyond)


@dataclass(frozen=True, slots=True)
class Sources:
    """What the passages of one answer come from, each looked up once."""

    records: Records
    books: dict[str, Book | None] = field(default_factory=dict)
    sections: dict[tuple[str, str], Section | None] = field(default_factory=dict)
    pages: dict[tuple[str, str], str] = field(default_factory=dict)

    async def book(self, chunk: Chunk) -> Book | None:
        if chunk.book_id not in self.books:
            self.books[chunk.book_id] = await self.records.book(chunk.book_id)
        return self.books[chunk.book_id]

    async def section(self, chunk: Chunk) -> Section | None:
        place = (chunk.book_id, chunk.section_id)
        if place not in self.sections:
            self.sections[place] = await self.records.section(*place)
        return self.sections[place]

    async def page(self, chunk: Chunk) -> str:
        """The whole text of the web page that the passage is on."""
        place = (chunk.book_id, chunk.source_file)
        if place not in self.pages:
            self.pages[place] = await self.records.page_text(*place)
        return self.pages[place]


@dataclass(frozen=True, slots=True)
class Desk:
    settings: Settings
    records: Records
    journal: Journal
    retriever: Retriever
    answerer: Answerer

    @property
    def threshold(self) -> float:
        return scoring.threshold(self.settings.risk)

    async def interpret(self, question: Question) -> str:
        """The question on its own feet: a follow-up is completed from the session's history."""
        if question.session_id is None:
            return question.content
        past = await self.journal.turns(question.session_id, most=HISTORY)
        return interpret(question.content, [Turn(asked, told) for asked, told in past])

    async def bounds(self, question: Question) -> Bounds:
        """Where the answer may come from; raises when the scope names nothing."""
        book = await self._book(question)
        scope = question.scope
        if scope.type is ScopeType.SELECTION:
            return await self._selection(question, book)
        if question.selected_text is not None:
            if scope.type is not ScopeType.FULL_BOOK:
                rule = "must be the whole book when a passage is selected: the selection is a scope by itself"
                raise InvalidValue("scope", rule, str(scope.type))
            return await self._selection(question, book)
        if book is None:
            return everywhere()
        sections = await self.records.outline(book.id) if scope.identifier is not None else []
        ends = await self.records.ends(book.id) if scope.identifier is not None else {}
        return resolve(scope, book=book, sections=sections, ends=ends)

    async def _book(self, question: Question) -> Book | None:
        if question.book_id is not None:
            book = await self.records.book(question.book_id)
            if book is None:
                near = tuple(b.id for b in (await self.records.books())[:5])
                raise NotFound("book", question.book_id, nearest=near, hint="`octavo list` shows the books.")
            return book
        books = await self.records.books()
        if len(books) == 1:
            return books[0]
        if question.scope.identifier is not None and question.scope.type is not ScopeType.SELECTION:
            raise InvalidValue("book_id", "must say which book the scope is in", None)
        return None

    async def _selection(self, question: Question, book: Book | None) -> Bounds:
        text = question.selected_text or question.scope.identifier or ""
        for candidate in [book] if book else await self.records.books():
            place = await blocking(locate, text, await self.records.sections(candidate.id))
            if place is not None:
                section = place.section
                chunks = await self.records.chunks_within(candidate.id, section.id, place.start, place.end)
                return selected(place, chunks, book=candidate)
        kept = clean(text).strip()
        if len(kept) < CHUNK_LEAST:
            rule = f"is not in the book, and with less than {CHUNK_LEAST} characters too short to stand alone"
            raise InvalidValue("selected_text", rule, text)
        return unplaced(kept, now=question.timestamp)

    def widened(self, bounds: Bounds) -> Bounds | None:
        """The whole book around a narrower scope; None when there is nothing wider."""
        books = bounds.where.any_of.get("book_id")
        narrow = set(bounds.where.any_of) - {"book_id"} or bounds.where.at_most or bounds.where.at_least
        if not narrow or not books:
            return None
        whole = replace(bounds.where, any_of={"book_id": books}, at_most={}, at_least={})
        return Bounds(whole, "the whole book")

    async def read(self, question: Question, interpreted: str, bounds: Bounds) -> Read:
        """Finds evidence within the bounds, has it read, and keeps the claims that hold."""
        if bounds.passage is not None:
            evidence = [Evidence(chunk=bounds.passage, relevance_score=1.0, rank=1)]
        else:
            found = await self.retriever.search(interpreted, bounds=bounds, top_k=question.top_k)
            sources = Sources(self.records)
            parts = [await _part(item, bounds, sources) for item in found]
            evidence = [part for part in parts if part is not None]
        given = numbered(evidence, bounds)
        reply = await self.answerer.reply(interpreted, given)
        sentences = {sentence.id: sentence for sentence in given}
        claims, dropped = verified(reply.claims, sentences)
        order: dict[str, int] = {}
        for claim in claims:
            for id_ in claim.sentences:
                order.setdefault(id_, len(order) + 1)
        return Read(
            evidence=tuple(evidence),
            sentences=sentences,
            claims=claims,
            dropped=dropped,
            answerable=reply.answerable,
            confidence=reply.confidence,
            order=order,
        )

    async def cite(self, answer_id: str, read: Read) -> Footnoted:
        """The answer's text with footnotes, every quotation copied by offset."""
        used = {id_: read.sentences[id_] for claim in read.claims for id_ in claim.sentences}
        sources = Sources(self.records)
        links = {id_: await _link(sentence, sources) for id_, sentence in used.items()}
        return footnoted(
            answer_id,
            [(claim.text, claim.sentences, read.confidence) for claim in read.claims],
            sentences=read.sentences,
            evidence=read.evidence,
            link=lambda sentence: links[sentence.id],
        )

    async def receipt(
        self, interpreted: str, bounds: Bounds, read: Read, answer: Answer
    ) -> dict[str, object]:
        """How this answer came about: enough to check it, and to get it again."""
        used = {item.chunk.book_id for item in read.evidence}
        books = [book for book in await self.records.books() if book.id in used]
        return {
            "index": {book.id: [book.index_fingerprint, book.content_hash] for book in books},
            "seal": seal(answer),
            "answerer": self.answerer.name,
            "calibration": scoring.fitted().version,
            "interpreted": interpreted,
            "scope": bounds.description,
            "evidence": [[e.chunk.id, round(e.relevance_score, 6)] for e in read.evidence],
            "claims": [[claim.text, list(claim.sentences)] for claim in read.claims],
            "dropped": [list(pair) for pair in read.dropped],
            "answerable": round(read.answerable, 6),
            "confidence": round(read.confidence, 6),
            "threshold": self.threshold,
            "milliseconds": answer.processing_time_ms,
        }


async def _part(item: Evidence, bounds: Bounds, sources: Sources) -> Evidence | None:
    """What of a passage lies in the bounds: a passage may begin before a page or selection, or go on."""
    chunk, place = item.chunk, bounds.within
    if place is not None:
        return cut(item, place.start, place.end)
    first, last = bounds.where.at_least.get("page_end"), bounds.where.at_most.get("page_number")
    if first is None or last is None or chunk.page_number == chunk.page_end:
        return item
    section = await sources.section(chunk)
    return on_pages(item, section, first, last) if section else None


async def _link(sentence: Sentence, sources: Sources) -> str:
    chunk = sentence.chunk
    book = await sources.book(chunk)
    if book is None:
        return chunk.url
    if chunk.page_number != chunk.page_end:  # the passage begins on one page, the sentence may be on the next
        section = await sources.section(chunk)
        mark = section.page_at(sentence.start) if section else None
        chunk = replace(chunk, page_number=mark.number, page_end=mark.number) if mark else chunk
    page = "" if chunk.url.startswith("book:") else await sources.page(chunk)
    return link(book, chunk, sentence.start, sentence.end, page_text=page)


def _inside(sentence: Sentence, bounds: Bounds) -> bool:
    chunk = sentence.chunk
    return bounds.holds(chunk) and bounds.touches(chunk, sentence.start, sentence.end)


def verified(
    claims: Sequence[Claim], sentences: dict[str, Sentence]
) -> tuple[tuple[Claim, ...], tuple[tuple[str, str], ...]]:
    """The claims that point at real sentences and are borne out by them; the others, with the reason."""
    kept: list[Claim] = []
    dropped: list[tuple[str, str]] = []
    for claim in claims:
        unknown = [id_ for id_ in claim.sentences if id_ not in sentences]
        if unknown or not claim.sentences:
            dropped.append((claim.text, f"names no sentence of the evidence: {', '.join(unknown) or 'none'}"))
            continue
        support = check(claim.text, [" ".join(sentences[id_].text for id_ in claim.sentences)])
        if support.supported:
            kept.append(claim)
        else:
            dropped.append((claim.text, "; ".join(support.reasons) or "the sentences do not say so"))
    return tuple(kept), tuple(dropped)
