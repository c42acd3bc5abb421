"""Lets the models that come with Octavo read passages for a question, and puts the best first.

`search.cascade` decides which candidates are read and what order comes out. Which model reads depends on the
language: English questions to English passages have the small reader and the large model, everything else has
the multilingual reader. Scores are cached for each model, so that answering a question does not read its
passages twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from octavo.concurrency import run_blocking
from octavo.models.cross_encoders import LARGE_READ_MOST, HeadedText, PassageScore
from octavo.search.cache import LRUCache
from octavo.search.cascade import (
    ASKED,
    LARGE,
    SMALL,
    SmallRules,
    choose_batch,
    count_affordable,
    order_totals,
    select_candidates,
    select_contenders,
    spread_totals,
)
from octavo.search.ranking import Candidate, ReaderKind, ReaderSize, estimate_read_relevance
from octavo.search.surroundings import group_covered, measure_room
from octavo.text.language import is_other_language

if TYPE_CHECKING:
    from octavo.protocols import SupportModel
    from octavo.types import Chunk

    Widen = Callable[[Sequence[tuple[Chunk, int]]], Awaitable[Sequence[Chunk]]]
    """Returns each passage with what stands around it, so many characters of that."""


class PassageReader(Protocol):
    """Scores passages for a question."""

    @property
    def name(self) -> str: ...

    def read(self, question: str, passages: Sequence[HeadedText], /) -> list[PassageScore]: ...


class LargeReader(PassageReader, Protocol):
    """Scores passages for a question, and whether passages support a claim."""

    def score_support(self, claim: str, passages: Sequence[str], /) -> Sequence[float]: ...

    def count_pieces(self, question: str, passage: HeadedText, /) -> int:
        """Count the word pieces of question and passage that `read` would see."""
        ...


@dataclass(frozen=True, slots=True)
class Ranking:
    """The candidates that were read, best first, each with its relevance.

    `deep` has those that the large model read, each with what it read of the text around it, and `readers`
    the names of the models that read.
    """

    relevance: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    deep: Mapping[str, Chunk] = field(default_factory=lambda: MappingProxyType({}))
    readers: tuple[str, ...] = ()

    def join(self, other: Ranking) -> Ranking:
        """Put the candidates of another ranking among these by their relevance. Both orders stay."""
        likely: dict[str, float] = {}
        for ranking in (self, other):
            least = 1.0
            for id_, chance in ranking.relevance.items():
                likely[id_] = least = min(least, chance)
        relevance = {**self.relevance, **other.relevance}
        order = sorted(likely, key=lambda id_: -likely[id_])
        return Ranking(
            {id_: relevance[id_] for id_ in order},
            {**self.deep, **other.deep},
            self.readers + other.readers,
        )


class Reranker:
    """Scores passages for one open library.

    `opinion` is the trained verifier's, of claims and passages; `gate` and `gate_large` are those of the
    ones which learnt how language models write. With `large`, the large model reads for questions what the
    small reader left open. `multilingual` reads and verifies what is not English.
    """

    def __init__(
        self,
        reader: PassageReader,
        *,
        opinion: SupportModel | None = None,
        gate: SupportModel | None = None,
        gate_large: SupportModel | None = None,
        large: LargeReader | None = None,
        multilingual: LargeReader | None = None,
    ) -> None:
        self.reader, self.large, self.opinion = reader, large, opinion
        self.multilingual = multilingual
        self.gate, self.gate_large = gate, gate_large
        self._scores: LRUCache[PassageScore] = LRUCache(most=2_000)

    @property
    def size(self) -> ReaderSize:
        """The size of the model whose scores answers are made from."""
        return "small" if self.large is None else "large"

    async def score_passages(self, question: str, chunks: Sequence[Chunk]) -> list[PassageScore]:
        """Return the small reader's score of each chunk."""
        return await self._score(self.reader, question, chunks)

    async def score_deeply(self, question: str, chunks: Sequence[Chunk]) -> list[PassageScore]:
        """Return the large model's scores of the first chunks, as many as the budget allows."""
        if self.large is None or not chunks:
            return []
        pieces = await run_blocking(_count_pieces, self.large, question, chunks[: LARGE.depth])
        return await self._score(self.large, question, chunks[: count_affordable(pieces)])

    async def score_in_any_language(self, question: str, chunks: Sequence[Chunk]) -> list[PassageScore]:
        """Return the multilingual reader's score of each chunk, or none without that reader."""
        return await self._score(self.multilingual, question, chunks) if self.multilingual else []

    async def _score(
        self, reader: PassageReader, question: str, chunks: Sequence[Chunk]
    ) -> list[PassageScore]:
        places = [(reader.name, c.id, c.start, c.end, *c.heading_path, question) for c in chunks]
        keys = ["\x1f".join(map(str, place)) for place in places]
        known = {key: score for key in keys if (score := self._scores.get(key)) is not None}
        new = {key: chunk for key, chunk in zip(keys, chunks, strict=True) if key not in known}
        if new:
            scores = await run_blocking(reader.read, question, [_add_headings(c) for c in new.values()])
            for key, score in zip(new, scores, strict=True):
                known[key] = score
                self._scores.put(key, score)
        return [known[key] for key in keys]

    async def rank(
        self,
        question: str,
        candidates: Sequence[Candidate],
        chunks: Mapping[str, Chunk],
        *,
        reader: ReaderSize = "small",
        widen: Widen | None = None,
    ) -> Ranking:
        """Put the best candidates first. Only candidates that are in `chunks` are read.

        With `widen`, the large model reads what stands around them too.
        """
        if reader == "off":
            return Ranking()
        other = {id_: chunk for id_, chunk in chunks.items() if is_other_language(question, chunk.language)}
        english = {id_: chunk for id_, chunk in chunks.items() if id_ not in other}
        # A single candidate is worth reading only beside those of another reader.
        fewest = 1 if other and english else 2
        ranked = await self._rank_english(question, candidates, english, reader, widen, fewest=fewest)
        if not other:
            return ranked
        return ranked.join(await self._rank_in_any_language(question, candidates, other, fewest=fewest))

    async def _rank_in_any_language(
        self, question: str, candidates: Sequence[Candidate], chunks: Mapping[str, Chunk], *, fewest: int
    ) -> Ranking:
        selected = _select(candidates, chunks)
        if self.multilingual is None or len(selected) < fewest:
            return Ranking()
        totals, relevance = await self._read_small(question, selected, chunks, self.multilingual)
        order = spread_totals(totals, _name_sections(chunks))
        levelled = level({id_: relevance[id_] for id_ in order})
        return Ranking(levelled, readers=(self.multilingual.name,))

    async def _rank_english(
        self,
        question: str,
        candidates: Sequence[Candidate],
        chunks: Mapping[str, Chunk],
        reader: ReaderSize,
        widen: Widen | None,
        *,
        fewest: int,
    ) -> Ranking:
        rules = ASKED if reader == "large" and self.large is not None else SMALL
        selected = _select(candidates, chunks, rules)
        if len(selected) < fewest:
            return Ranking()
        totals, relevance = await self._read_small(question, selected, chunks, self.reader)
        names: tuple[str, ...] = (self.reader.name,)
        deep: dict[str, Chunk] = {}
        ordered: dict[str, float] = {}
        if reader == "large" and self.large is not None:
            found = {candidate.id: candidate for candidate in selected}
            contenders = select_contenders(totals)
            wide = await self._widen(question, {id_: chunks[id_] for id_ in contenders}, widen, self.large)
            covered = group_covered(contenders, wide, chunks)
            judged = await self._read_large(question, totals, found, {id_: wide[id_] for id_ in covered})
            deep, names = {id_: wide[id_] for id_ in judged}, (*names, self.large.name)
            # What was read with a passage is as relevant as the two together.
            ordered = {one: chance for id_, chance in judged.items() for one in (id_, *covered[id_])}
        ordered |= {id_: relevance[id_] for id_ in order_totals(totals) if id_ not in ordered}
        # What was put forward by its lead alone must not make the others look as weak as itself.
        led = any(candidate.lead for candidate in selected)
        return Ranking(level(ordered) if led else ordered, deep, names)

    async def _widen(
        self, question: str, chunks: Mapping[str, Chunk], widen: Widen | None, large: LargeReader
    ) -> dict[str, Chunk]:
        """Return passages with as much of what stands around them as the large model reads."""
        if widen is None:
            return dict(chunks)
        given = list(chunks.values())
        pieces = await run_blocking(_count_pieces, large, question, given)
        rooms = [
            measure_room(chunk, pieces=count, most=LARGE_READ_MOST)
            for chunk, count in zip(given, pieces, strict=True)
        ]
        return dict(zip(chunks, await widen(list(zip(given, rooms, strict=True))), strict=True))

    async def _read_small(
        self,
        question: str,
        selected: Sequence[Candidate],
        chunks: Mapping[str, Chunk],
        reader: PassageReader,
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Return the totals that a reader orders by, and the relevance of what it read."""
        kind: ReaderKind = "multilingual" if reader is self.multilingual else "small"
        totals: dict[str, float] = {}
        relevance: dict[str, float] = {}
        while batch := choose_batch(selected, totals):
            scores = await self._score(reader, question, [chunks[candidate.id] for candidate in batch])
            for candidate, score in zip(batch, scores, strict=True):
                fit = SMALL.fit(score.rank, score.answerable)
                totals[candidate.id] = SMALL.total(fit, candidate.score)
                relevance[candidate.id] = estimate_read_relevance(fit, candidate.found, reader=kind)
        return totals, relevance

    async def _read_large(
        self,
        question: str,
        small: Mapping[str, float],
        found: Mapping[str, Candidate],
        contenders: Mapping[str, Chunk],
    ) -> dict[str, float]:
        """Return what the large model read, best first, each with its relevance."""
        scores = await self.score_deeply(question, list(contenders.values()))
        # The budget may not have allowed all of them.
        read = dict(zip(contenders, scores, strict=False))
        fits = {id_: LARGE.fit(score.rank, score.answerable) for id_, score in read.items()}
        totals = {
            id_: LARGE.total(fit, found[id_].score) + LARGE.small * small[id_] for id_, fit in fits.items()
        }
        return {
            id_: estimate_read_relevance(fits[id_], found[id_].found, reader="large")
            for id_ in order_totals(totals)
        }


def _select(
    candidates: Sequence[Candidate], chunks: Mapping[str, Chunk], rules: SmallRules = SMALL
) -> list[Candidate]:
    return select_candidates(candidates, _name_sections(chunks), rules)


def level(chances: Mapping[str, float]) -> dict[str, float]:
    """Average neighbours of which the later one is likelier, so that chances never rise along the order.

    A weak passage that was put before better ones for its section would else make them look as weak.
    """
    groups: list[list[float]] = []
    for chance in chances.values():
        groups.append([chance])
        while len(groups) > 1 and fmean(groups[-2]) < fmean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    levelled = [fmean(group) for group in groups for _ in group]
    return dict(zip(chances, levelled, strict=True))


def _name_sections(chunks: Mapping[str, Chunk]) -> dict[str, str]:
    return {id_: f"{chunk.book_id} {chunk.section_id}" for id_, chunk in chunks.items()}


def _add_headings(chunk: Chunk) -> HeadedText:
    above = (*chunk.heading_path, chunk.context) if chunk.context else chunk.heading_path
    return HeadedText(chunk.content, " › ".join(above))


def _count_pieces(reader: LargeReader, question: str, chunks: Sequence[Chunk]) -> list[int]:
    return [reader.count_pieces(question, _add_headings(chunk)) for chunk in chunks]
