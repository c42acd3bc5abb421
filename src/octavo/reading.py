"""The offline answerer: reads the evidence sentence by sentence and quotes the ones that answer.

It is one implementation of `Answerer`; a language model is another. Whatever answers, it gets sentences with
ids and gives claims that name ids, so what is published can be checked and quoted without it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Protocol

from octavo import scoring
from octavo.answering import Claim, answer, shortlist
from octavo.concurrency import blocking
from octavo.matching import Sentence
from octavo.protocols import Embedder
from octavo.scope import Bounds
from octavo.sentences import sentences
from octavo.types import CHUNK_LEAST, Evidence, Section

VectorOf = Callable[[str], Awaitable[tuple[float, ...]]]
EMBEDDED = 4  # sentences whose nearness to the question is worth the time


@dataclass(frozen=True, slots=True)
class Reply:
    """Claims, and how likely it is that the evidence answers at all and that these claims are right."""

    claims: tuple[Claim, ...]
    answerable: float
    confidence: float
    features: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))


class Answerer(Protocol):
    """Anything that answers from numbered sentences."""

    @property
    def name(self) -> str: ...

    async def reply(self, question: str, given: Sequence[Sentence]) -> Reply: ...


class OfflineAnswerer:
    """Quotes the book; needs nothing but the embedder."""

    name = "offline"

    def __init__(self, embedder: Embedder, *, vector: VectorOf | None = None) -> None:
        """`vector` gives a question's vector where that is known already."""
        self._embedder = embedder
        self._vector = vector or self._embedded

    async def reply(self, question: str, given: Sequence[Sentence]) -> Reply:
        seen = await self._with_similarity(question, given)
        drafted = answer(question, seen)
        return Reply(
            drafted.claims,
            answerable=scoring.answerable(drafted.features),
            confidence=scoring.confidence(drafted.features),
            features=drafted.features,
        )

    async def _with_similarity(self, question: str, given: Sequence[Sentence]) -> list[Sentence]:
        """Nearness in meaning for the likeliest sentences; 0 for the others."""
        likely = set(shortlist(question, given, most=EMBEDDED))
        texts = {sentence.id: sentence.text for sentence in given if sentence.id in likely}
        if not texts:
            return list(given)
        asked = await self._vector(question)
        vectors = await blocking(self._embedder.embed, list(texts.values()))
        near = {id_: _cosine(asked, vector) for id_, vector in zip(texts, vectors, strict=True)}
        return [replace(sentence, similarity=near.get(sentence.id, 0.0)) for sentence in given]

    async def _embedded(self, question: str) -> tuple[float, ...]:
        (vector,) = await blocking(self._embedder.embed, [question])
        return vector


def numbered(evidence: Sequence[Evidence], bounds: Bounds) -> list[Sentence]:
    """The sentences of the evidence in its order, those outside the bounds left out."""
    found: list[Sentence] = []
    for item in evidence:
        chunk = item.chunk
        for span in sentences(chunk.content):
            start, end = chunk.start + span.start, chunk.start + span.end
            if bounds.touches(chunk, start, end):
                found.append(
                    Sentence(
                        id=f"s{len(found) + 1}",
                        chunk=chunk,
                        start=start,
                        end=end,
                        text=chunk.content[span.start : span.end],
                        similarity=0.0,
                        evidence_rank=item.rank,
                        evidence_score=item.relevance_score,
                    )
                )
    return found


def cut(item: Evidence, start: int, end: int) -> Evidence | None:
    """The evidence with those of its sentences that share characters with a stretch of its section."""
    chunk = item.chunk
    if start <= chunk.start and chunk.end <= end:
        return item
    spans = [(chunk.start + s.start, chunk.start + s.end) for s in sentences(chunk.content)]
    kept = [(a, b) for a, b in spans if a < end and b > start]
    if not kept:
        return None
    first, last = kept[0][0], kept[-1][1]
    first = max(chunk.start, min(first, last - CHUNK_LEAST))
    last = max(last, first + CHUNK_LEAST)
    content = chunk.content[first - chunk.start : last - chunk.start]
    return replace(item, chunk=replace(chunk, content=content, start=first, end=last))


def on_pages(item: Evidence, section: Section, first: int, last: int) -> Evidence | None:
    """The evidence with those of its sentences that stand on physical pages `first` to `last`."""
    begins = [mark.offset for mark in section.pages if mark.number >= first]
    after = [mark.offset for mark in section.pages if mark.number > last]
    part = cut(item, min(begins), min(after, default=len(section.text))) if begins else None
    if part is None:
        return None
    seen = [mark for mark in section.pages if first <= mark.number <= last and mark.offset < part.chunk.end]
    here = [mark for mark in seen if mark.offset <= part.chunk.start][-1:] or seen[:1]
    if not here:
        return None
    begin, end = here[0], seen[-1].number
    chunk = replace(part.chunk, page_number=begin.number, page_label=begin.label, page_end=end)
    return replace(part, chunk=chunk)


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))
