"""The desk where a question is worked on: everything the flow of `ask` needs, one call for each step.

Whoever sits at the desk (the offline answerer, a language model) gets a room with numbered sentences and
names their numbers; the desk checks every number, checks every claim against its sentences, and does the
quoting.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from octavo import tracing
from octavo.answers import calibration
from octavo.answers.citations import AnswerText, build_link, write_footnotes
from octavo.answers.followups import Turn, interpret
from octavo.answers.workspace import Sources, Workspace
from octavo.concurrency import run_blocking
from octavo.errors import InvalidValue, NotFound
from octavo.events import Claimed, Working
from octavo.models.weights import VERIFIER
from octavo.records.conversations import Conversations, checksum_answer
from octavo.search.scope import (
    Bounds,
    bound_by_books,
    bound_by_scope,
    bound_by_selection,
    bound_by_text,
    locate_selection,
)
from octavo.text.clean import clean
from octavo.text.language import detect_language, is_foreign
from octavo.types import CHUNK_LEAST, Answer, Book, Evidence, Question, ScopeType
from octavo.verification.claims import GlossedClaim
from octavo.verification.gate import verify_claims

if TYPE_CHECKING:
    from octavo.answers.offline import Answerer
    from octavo.records.catalogue import Records
    from octavo.search.retrieval import Retriever
    from octavo.settings import Settings
    from octavo.verification.claims import Claim, Sentence

Rewrite = Callable[[str, Sequence[Turn], str], Awaitable[str | None]]
HISTORY = 6  # turns that a follow-up may refer to


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedReply:
    """What came of reading the evidence: claims that hold, those that were dropped and why.

    The evidence is what was found first, and what the claims rest on besides.
    """

    evidence: tuple[Evidence, ...]
    sentences: dict[str, Sentence]
    claims: tuple[Claim, ...]
    dropped: tuple[tuple[str, str], ...]
    answerable: float
    confidence: float
    answerer: str
    notes: Mapping[str, object]
    checking: float
    """Seconds that went into checking claims."""
    local: tuple[str, ...] = ()
    """The models that come with Octavo and took part."""
    order: dict[str, int] = field(default_factory=dict)

    def told(self) -> tuple[Claimed, ...]:
        """The claims as readers see them, with the numbers of the citations that they rest on."""
        numbers = [tuple(self.order[id_] for id_ in claim.sentences) for claim in self.claims]
        return tuple(Claimed(c.text, cited, c.marks) for c, cited in zip(self.claims, numbers, strict=True))

    def quoted(self, outside: Bounds) -> tuple[Evidence, ...]:
        """The evidence with sentences that the claims rest on and that lie outside of the bounds."""
        used = [self.sentences[id_] for id_ in self.order]
        beyond = {s.chunk.id for s in used if not _inside(s, outside)}
        return tuple(item for item in self.evidence if item.chunk.id in beyond)


@dataclass(frozen=True, slots=True)
class AskSteps:
    settings: Settings
    records: Records
    conversations: Conversations
    retriever: Retriever
    answerer: Answerer
    among: Sequence[str] | None = None
    """The only books that the asker may read; None where all of them are."""
    offline: Answerer | None = None
    """Looks beyond the scope in the place of an answerer that costs money."""
    rewrite: Rewrite | None = None
    """Puts a question on its own feet: the question, what was said before, a sample of a book in another
    language. None, or nothing given back: the words of the conversation are used."""

    @property
    def threshold(self) -> float:
        return calibration.threshold(self.settings.risk, reader=self.retriever.reranker is not None)

    @property
    def silence(self) -> float:
        """Less likely than this: the book is silent, not unclear. A reader's figures lie closer together."""
        return self.threshold * (0.5 if self.retriever.reranker else 0.25)

    async def interpret(self, question: Question) -> str:
        """The question on its own feet: a follow-up is completed from the session's history.

        With a language model, one in another language than the book's is put into the book's.
        """
        turns: list[Turn] = []
        if question.session_id is not None:
            past = await self.conversations.list_turns(question.session_id, most=HISTORY)
            turns = [Turn(asked, told) for asked, told in past]
        if self.rewrite is not None:
            sample = await self._sample(question.content)
            written = await self.rewrite(question.content, turns, sample) if turns or sample else None
            if written:
                return written
        return interpret(question.content, turns)

    async def _sample(self, question: str) -> str:
        """Some text of the library when the question is in another language, else nothing."""
        if not detect_language(question):
            return ""
        found = await self.retriever.search(question, bounds=bound_by_books(self.among), top_k=2)
        sample = " ".join(item.chunk.content for item in found)
        return sample if is_foreign(question, sample) else ""

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
            return bound_by_books(self.among)
        sections = await self.records.list_outline(book.id) if scope.identifier is not None else []
        ends = await self.records.find_section_ends(book.id) if scope.identifier is not None else {}
        return bound_by_scope(scope, book=book, sections=sections, ends=ends)

    async def _books(self) -> list[Book]:
        return [b for b in await self.records.list_books() if self.among is None or b.id in self.among]

    async def _book(self, question: Question) -> Book | None:
        if question.book_id is not None:
            book = await self.records.find_book(question.book_id)
            if book is None:
                near = tuple(b.id for b in (await self._books())[:5])
                raise NotFound("book", question.book_id, nearest=near, hint="`octavo list` shows the books.")
            return book
        books = await self._books()
        if len(books) == 1:
            return books[0]
        if question.scope.identifier is not None and question.scope.type is not ScopeType.SELECTION:
            raise InvalidValue("book_id", "must say which book the scope is in", None)
        return None

    async def _selection(self, question: Question, book: Book | None) -> Bounds:
        text = question.selected_text or question.scope.identifier or ""
        for candidate in [book] if book else await self._books():
            place = await run_blocking(locate_selection, text, await self.records.list_sections(candidate.id))
            if place is not None:
                section = place.section
                chunks = await self.records.find_chunks_within(
                    candidate.id, section.id, place.start, place.end
                )
                return bound_by_selection(place, chunks, book=candidate)
        kept = clean(text).strip()
        if len(kept) < CHUNK_LEAST:
            rule = f"is not in the book, and with less than {CHUNK_LEAST} characters too short to stand alone"
            raise InvalidValue("selected_text", rule, text)
        return bound_by_text(kept, now=question.timestamp)

    def widened(self, bounds: Bounds) -> Bounds | None:
        """The whole book around a narrower scope; None when there is nothing wider."""
        books = bounds.where.any_of.get("book_id")
        narrow = set(bounds.where.any_of) - {"book_id"} or bounds.where.at_most or bounds.where.at_least
        if not narrow or not books:
            return None
        whole = replace(bounds.where, any_of={"book_id": books}, at_most={}, at_least={})
        return Bounds(whole, "the whole book")

    async def enter(self, question: Question, interpreted: str, bounds: Bounds) -> Workspace:
        """A room with the evidence that is found first within the bounds."""
        workspace = Workspace(question.content, bounds, self.retriever, self.records)
        await workspace.search(interpreted, top_k=question.top_k)
        return workspace

    async def reading(
        self, interpreted: str, workspace: Workspace
    ) -> AsyncGenerator[Working | CheckedReply, None]:
        """Has the evidence read. What is being done meanwhile comes as it happens, what came of it last."""
        steps: asyncio.Queue[Working | None] = asyncio.Queue()
        workspace.tell(lambda step, detail: steps.put_nowait(Working(step, detail)))
        read = asyncio.create_task(self._read(interpreted, workspace, self.answerer))
        read.add_done_callback(lambda _: steps.put_nowait(None))
        try:
            while (step := await steps.get()) is not None:
                yield step
            yield await read
        finally:  # a reader who leaves takes the answerer along, and the request that it is waiting for
            read.cancel()
            await asyncio.gather(read, return_exceptions=True)

    async def beyond(self, question: Question, interpreted: str, wider: Bounds) -> CheckedReply:
        """What reading in wider bounds would bring; read offline where the answerer costs money."""
        workspace = await self.enter(question, interpreted, wider)
        return await self._read(interpreted, workspace, self.offline or self.answerer)

    async def _read(self, interpreted: str, workspace: Workspace, answerer: Answerer) -> CheckedReply:
        """Keeps the claims that hold."""
        first = tuple(workspace.evidence)
        reply = await answerer.reply(interpreted, workspace)
        sentences = {sentence.id: sentence for sentence in workspace}
        began = time.monotonic()
        claims, dropped = await run_blocking(
            verify_claims, reply.claims, sentences, given=interpreted, opinion=workspace.opinion
        )
        checking = reply.checking + time.monotonic() - began
        order: dict[str, int] = {}
        for claim in claims:
            for id_ in claim.sentences:
                order.setdefault(id_, len(order) + 1)
        cited = {sentences[id_].chunk.id for id_ in order}
        return CheckedReply(
            evidence=(*first, *(e for e in workspace.evidence[len(first) :] if e.chunk.id in cited)),
            sentences=sentences,
            claims=claims,
            dropped=(*reply.dropped, *dropped),
            answerable=reply.answerable,
            confidence=reply.confidence,
            answerer=reply.answerer or answerer.name,
            notes=reply.notes,
            checking=checking,
            local=self._local(workspace),
            order=order,
        )

    def _local(self, workspace: Workspace) -> tuple[str, ...]:
        """The reader, where there was something to read; the verifier, where it was asked about a claim."""
        reranker = self.retriever.reranker
        reader = (reranker.name,) if reranker and workspace.evidence else ()
        return (*reader, *((VERIFIER.name,) if workspace.opinion and workspace.opinion.asked else ()))

    async def cite(self, answer_id: str, read: CheckedReply) -> AnswerText:
        """The answer's text with footnotes, every quotation copied by offset."""
        used = {id_: read.sentences[id_] for claim in read.claims for id_ in claim.sentences}
        sources = Sources(self.records)
        links = {id_: await _link(sentence, sources) for id_, sentence in used.items()}
        return write_footnotes(
            answer_id,
            [(claim.text, claim.sentences, read.confidence) for claim in read.claims],
            sentences=read.sentences,
            evidence=read.evidence,
            link=lambda sentence: links[sentence.id],
        )

    async def receipt(
        self,
        interpreted: str,
        bounds: Bounds,
        read: CheckedReply,
        answer: Answer,
        stages: Mapping[str, float],
    ) -> dict[str, object]:
        """How this answer came about: enough to check it, and to get it again."""
        used = {item.chunk.book_id for item in read.evidence}
        books = [book for book in await self.records.list_books() if book.id in used]
        return {
            "index": {book.id: [book.index_fingerprint, book.content_hash] for book in books},
            "seal": checksum_answer(answer),
            "answerer": read.answerer,
            "calibration": calibration.load_calibration(reader=self.retriever.reranker is not None).version,
            "local": list(read.local),
            "interpreted": interpreted,
            "scope": bounds.description,
            "evidence": [[e.chunk.id, round(e.relevance_score, 6)] for e in read.evidence],
            "claims": [[claim.text, list(claim.sentences)] for claim in read.claims],
            "told": [[c.text, c.citations, c.marks] for c in read.told()] if answer.refusal is None else [],
            "translated": [
                [claim.text, claim.gloss] for claim in read.claims if isinstance(claim, GlossedClaim)
            ],
            "dropped": [list(pair) for pair in read.dropped],
            "answerable": round(read.answerable, 6),
            "confidence": round(read.confidence, 6),
            "threshold": self.threshold,
            "milliseconds": answer.processing_time_ms,
            "stages": dict(stages),
            **({"model": dict(read.notes)} if read.notes else {}),
        }

    def trace(
        self,
        question: Question,
        stages: Mapping[str, float],
        *,
        receipt: Mapping[str, object] | None = None,
        answer_id: str = "",
        failed: str = "",
    ) -> None:
        """Sends a span of the question, where that is wanted."""
        if self.settings.tracing:
            ids = {"question_id": question.id, "answer_id": answer_id}
            tracing.record(receipt or {}, ids=ids, stages=stages, failed=failed)


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
    return build_link(book, chunk, sentence.start, sentence.end, page_text=page)


def _inside(sentence: Sentence, bounds: Bounds) -> bool:
    chunk = sentence.chunk
    return bounds.holds(chunk) and bounds.touches(chunk, sentence.start, sentence.end)
