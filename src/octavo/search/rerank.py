"""Has passages read for a question by the reader that comes with Octavo, and puts the best first.

Only candidates that could still come first are read: those whose first-stage score is within `REACH` of the
best, and no more than `DEPTH`. Their order is decided by what the reader thinks and by how they were found,
since a reader alone loses technical books. What was read is remembered, so that an answer costs no second
reading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from octavo.concurrency import run_blocking
from octavo.models.cross_encoders import HeadedText, PassageScore, Reader
from octavo.search.cache import LRUCache
from octavo.search.ranking import Candidate, load_reader_weights
from octavo.text.scoring import logistic

if TYPE_CHECKING:
    from octavo.protocols import SupportModel
    from octavo.types import Chunk

DEPTH, REACH = 5, 0.4
FOUND = (
    12.0  # what the first-stage score counts beside `PassageScore.fit`; chosen together with the 2 in there
)


class Reranker:
    """Reads for one open library. `opinion` is a verifier's, of claims and passages."""

    def __init__(self, reader: Reader, *, opinion: SupportModel | None = None) -> None:
        self._reader, self.name, self.opinion = reader, reader.name, opinion
        self._seen: LRUCache[PassageScore] = LRUCache(most=2_000)

    async def score_passages(self, question: str, chunks: Sequence[Chunk]) -> list[PassageScore]:
        """What the reader makes of each chunk."""
        keys = ["\x1f".join(map(str, (c.id, c.start, c.end, *c.heading_path, question))) for c in chunks]
        known = {key: seen for key in keys if (seen := self._seen.get(key)) is not None}
        new = {key: chunk for key, chunk in zip(keys, chunks, strict=True) if key not in known}
        if new:
            read = await run_blocking(
                self._reader.read, question, [_passage(chunk) for chunk in new.values()]
            )
            for key, score in zip(new, read, strict=True):
                known[key] = score
                self._seen.put(key, score)
        return [known[key] for key in keys]

    async def rank(
        self, question: str, candidates: Sequence[Candidate], chunks: Mapping[str, Chunk]
    ) -> dict[str, float]:
        """The candidates worth reading that are in `chunks`, best first, each with its relevance."""
        close = [candidate for candidate in select_reachable(candidates) if candidate.id in chunks]
        if len(close) < 2:
            return {}
        seen = await self.score_passages(question, [chunks[candidate.id] for candidate in close])
        scores = {
            c.id: (g.fit + FOUND * c.score, estimate_read_relevance(g.fit, c.score))
            for c, g in zip(close, seen, strict=True)
        }
        order = sorted(scores, key=lambda id_: (-round(scores[id_][0], 4), id_))
        return {id_: scores[id_][1] for id_ in order}


def select_reachable(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates that could still come first."""
    return [candidate for candidate in candidates[:DEPTH] if candidate.score > candidates[0].score - REACH]


def estimate_read_relevance(fit: float, score: float) -> float:
    """The chance that a passage is to the point, once it has been read."""
    constant, reader, found = load_reader_weights()
    return logistic(constant + reader * fit + found * score)


def _passage(chunk: Chunk) -> HeadedText:
    return HeadedText(chunk.content, " › ".join(chunk.heading_path))
