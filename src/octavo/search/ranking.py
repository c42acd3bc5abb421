"""Puts the two halves of a search together: by meaning (cosine) and by words (BM25).

Scores are mixed, not ranks: each half's scores are scaled between its worst candidate (0) and its best (1),
and the words weigh a little more than the meaning. A candidate that one half did not return has 0 from it.
Ties are broken by id, so the same two lists give the same order on every store.

How likely it is that a passage is about what was asked: a number that means the same for every query.

Three things are weighed: how near the passage is to the query in meaning, how much of the query's words it
has (the rare ones counting most), and how it stands among the candidates. The weights are fitted
(`benchmarks/relevance.py`) so that of the passages shown as 70 % about seven in ten are to the point.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from octavo.text import english
from octavo.text.english import measure_rarity, tokenize
from octavo.text.scoring import logistic

if TYPE_CHECKING:
    from octavo.protocols import Hit, StoreHits
    from octavo.types import Chunk

DENSE_WEIGHT = 0.45  # of 0.25 to 0.6, what loses least on any kind of book
_EXACT = 5  # decimals within which two stores agree


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate. `standing` is its share of the best scores; `cosine` its own, or the most it can be."""

    id: str
    score: float
    standing: float
    cosine: float


def fuse(found: StoreHits, *, dense_weight: float = DENSE_WEIGHT) -> list[Candidate]:
    """All candidates of both halves, best first."""
    meaning, words = _SearchHalf(found.dense, dense_weight), _SearchHalf(found.lexical, 1 - dense_weight)
    mixed = []
    for id_ in meaning.scores.keys() | words.scores.keys():
        cosine, bm25 = meaning.scores.get(id_, meaning.least), words.scores.get(id_, words.least)
        score = meaning.scaled(id_) + words.scaled(id_)
        standing = max(0.0, cosine * meaning.share) + max(0.0, bm25 * words.share)
        mixed.append(Candidate(id_, score, standing, cosine))
    return sorted(mixed, key=lambda candidate: (-round(candidate.score, _EXACT), candidate.id))


class _SearchHalf:
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


_LEAST_WEIGHT = 0.05  # of the commonest word; the rarest has this much more than 1


def estimate_relevance(query: Mapping[str, float], there: Collection[str], candidate: Candidate) -> float:
    """The probability, for a query as `wanted` weighs it and a chunk with the `stems` that are `there`."""
    weights = _load_weights()
    seen = measure_candidate(query, there, candidate)
    total = weights["constant"] + sum(weights[name] * value for name, value in seen.items())
    return logistic(total)


def weigh_query(query: str) -> dict[str, float]:
    """The words that count in a query, each with its weight; all words when none counts."""
    said = tokenize(query)
    telling = [w for w in said if not w.stop] or said
    return {w.stem: _LEAST_WEIGHT + measure_rarity(w.stem) for w in telling}


def collect_stems(chunk: Chunk) -> frozenset[str]:
    """The words of a chunk and of the headings above it."""
    return frozenset().union(*map(english.collect_stems, (chunk.content, *chunk.heading_path)))


def measure_candidate(
    query: Mapping[str, float], there: Collection[str], candidate: Candidate
) -> dict[str, float]:
    whole = sum(query.values())
    covered = sum(weight for stem, weight in query.items() if stem in there) / whole if whole else 0.0
    return {
        "cosine": candidate.cosine,
        "covered": covered,
        "standing": candidate.standing,
        "all": candidate.cosine * covered * candidate.standing,
    }


@cache
def _load_weights() -> Mapping[str, float]:
    stored = files("octavo.search").joinpath("relevance.json").read_text(encoding="utf-8")
    weights: dict[str, float] = json.loads(stored)["weights"]
    return weights


@cache
def load_reader_weights() -> tuple[float, float, float]:
    """Constant, and the weights of how well a passage suits by the reader and of the first-stage score."""
    stored = files("octavo.search").joinpath("relevance_reader.json").read_text(encoding="utf-8")
    constant, fit, found = json.loads(stored)["weights"]
    return constant, fit, found
