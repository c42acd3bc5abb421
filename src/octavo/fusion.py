"""Puts the two halves of a search together: by meaning (cosine) and by words (BM25).

Scores are mixed, not ranks: each half's scores are scaled between its worst candidate (0) and its best (1),
and the words weigh a little more than the meaning. A candidate that one half did not return has 0 from it.
Ties are broken by id, so the same two lists give the same order on every store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from octavo.protocols import Found, Hit

DENSE_WEIGHT = 0.45  # of 0.25 to 0.6, what loses least on any kind of book
_EXACT = 5  # decimals within which two stores agree


@dataclass(frozen=True, slots=True)
class Fused:
    """A candidate. `standing` is its share of the best scores; `cosine` its own, or the most it can be."""

    id: str
    score: float
    standing: float
    cosine: float


def fuse(found: Found, *, dense_weight: float = DENSE_WEIGHT) -> list[Fused]:
    """All candidates of both halves, best first."""
    meaning, words = _Half(found.dense, dense_weight), _Half(found.lexical, 1 - dense_weight)
    mixed = []
    for id_ in meaning.scores.keys() | words.scores.keys():
        cosine, bm25 = meaning.scores.get(id_, meaning.least), words.scores.get(id_, words.least)
        score = meaning.scaled(id_) + words.scaled(id_)
        standing = max(0.0, cosine * meaning.share) + max(0.0, bm25 * words.share)
        mixed.append(Fused(id_, score, standing, cosine))
    return sorted(mixed, key=lambda candidate: (-round(candidate.score, _EXACT), candidate.id))


class _Half:
    """The scores of one half, and the factors that bring them to the common scale."""

    def __init__(self, hits: Sequence[Hit], weight: float) -> None:
        self.scores = {hit.id: hit.score for hit in hits}
        values = list(self.scores.values()) or [0.0]
        self.least, best = min(values), max(values)
        self._weight, self._width = weight, best - self.least
        self.share = weight / best if best > 0 else 0.0

    def scaled(self, id_: str) -> float:
        """From 0 to the weight of this half; candidates that are all alike are all the best."""
        score = self.scores.get(id_)
        if score is None:
            return 0.0
        return self._weight * (score - self.least) / self._width if self._width > 0 else self._weight
