"""Lets the trained reader that comes with Octavo score passages for a question, and puts the best first.

Only candidates that could still come first are read (`ranking.select_reachable`). Their order depends on the
reader's score and on the first-stage score, because the reader alone does badly on technical books. Scores
are cached, so that answering a question does not read its passages twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from octavo.concurrency import run_blocking
from octavo.models.cross_encoders import HeadedText, PassageScore, Reader
from octavo.search.cache import LRUCache
from octavo.search.ranking import Candidate, load_reader_weights, select_reachable
from octavo.text.scoring import logistic

if TYPE_CHECKING:
    from octavo.protocols import SupportModel
    from octavo.types import Chunk

# The weight of the first-stage score beside `PassageScore.fit`, chosen together with the factor 2 there.
FOUND = 12.0


class Reranker:
    """Scores passages for one open library. `opinion` is the trained verifier's, of claims and passages."""

    def __init__(self, reader: Reader, *, opinion: SupportModel | None = None) -> None:
        self._reader, self.name, self.opinion = reader, reader.name, opinion
        self._scores: LRUCache[PassageScore] = LRUCache(most=2_000)

    async def score_passages(self, question: str, chunks: Sequence[Chunk]) -> list[PassageScore]:
        """Return the reader's score of each chunk."""
        keys = ["\x1f".join(map(str, (c.id, c.start, c.end, *c.heading_path, question))) for c in chunks]
        known = {key: score for key in keys if (score := self._scores.get(key)) is not None}
        new = {key: chunk for key, chunk in zip(keys, chunks, strict=True) if key not in known}
        if new:
            passages = [HeadedText(c.content, " › ".join(c.heading_path)) for c in new.values()]
            scores = await run_blocking(self._reader.read, question, passages)
            for key, score in zip(new, scores, strict=True):
                known[key] = score
                self._scores.put(key, score)
        return [known[key] for key in keys]

    async def rank(
        self, question: str, candidates: Sequence[Candidate], chunks: Mapping[str, Chunk]
    ) -> dict[str, float]:
        """Return the reachable candidates that are in `chunks`, best first, each with its relevance."""
        close = [candidate for candidate in select_reachable(candidates) if candidate.id in chunks]
        if len(close) < 2:
            return {}
        read = await self.score_passages(question, [chunks[candidate.id] for candidate in close])
        scores = {
            candidate.id: (
                score.fit + FOUND * candidate.score,
                estimate_read_relevance(score.fit, candidate.score),
            )
            for candidate, score in zip(close, read, strict=True)
        }
        order = sorted(scores, key=lambda id_: (-round(scores[id_][0], 4), id_))
        return {id_: scores[id_][1] for id_ in order}


def estimate_read_relevance(fit: float, score: float) -> float:
    """Estimate the probability that a passage is relevant, once the reader has read it."""
    constant, reader, found = load_reader_weights()
    return logistic(constant + reader * fit + found * score)
