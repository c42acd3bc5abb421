"""Fuses the two halves of a search, by meaning (cosine) and by words (BM25), and estimates relevance.

Scores are mixed, not ranks. Each half's scores are scaled from its worst candidate (0) to its best (1), and
words weigh a little more than meaning. A candidate that one half did not return has 0 from it. Ties are
broken by id, so that the same two lists give the same order on every store.

The relevance of a passage is a probability, comparable between queries. It is estimated from how near the
passage is to the query in meaning, how many of the query's words it has (rare words count most), and how its
score compares with the best. The weights are fitted (`benchmarks/relevance.py`) so that about seven in ten of
the passages shown as 70 % are relevant.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Literal, NamedTuple

from octavo.text import english, languages
from octavo.text.english import measure_rarity, tokenize
from octavo.text.scoring import logistic

if TYPE_CHECKING:
    from octavo.protocols import Hit, StoreHits
    from octavo.types import Chunk

ReaderSize = Literal["off", "small", "large"]
"""Which model reads passages: none, the small reader, or the large model after the small reader."""
ReaderKind = Literal[ReaderSize, "multilingual"]
"""Whose scores a number was made from. The multilingual reader reads what is not English, at every size."""

# Of the values from 0.25 to 0.6, this one loses least on any kind of book.
DENSE_WEIGHT = 0.45
# The multilingual embedder is better than the English one, and across languages words find only names.
MULTILINGUAL_WEIGHT = 0.7
# Two stores agree on scores to this many decimals.
_EXACT = 5
# The weight of the most common word. The rarest has 1 more.
_LEAST_WEIGHT = 0.05


class Candidate(NamedTuple):
    """A chunk that was found. `standing` compares its scores with the best ones.

    `cosine` is its own, or the highest that it can have if the search by meaning did not return it. `lead` is
    the part of the score that only orders: relevance is estimated from `found`, the score without it.
    """

    id: str
    score: float
    standing: float
    cosine: float
    lead: float = 0.0

    @property
    def found(self) -> float:
        return self.score - self.lead


def fuse(found: StoreHits, *, dense_weight: float = DENSE_WEIGHT) -> list[Candidate]:
    """Fuse all candidates of both halves, best first."""
    meaning, words = _SearchHalf(found.dense, dense_weight), _SearchHalf(found.lexical, 1 - dense_weight)
    mixed: list[tuple[float, str, float, float, float]] = []
    for id_ in meaning.scores.keys() | words.scores.keys():
        cosine, bm25 = meaning.scores.get(id_, meaning.least), words.scores.get(id_, words.least)
        score = meaning.scaled.get(id_, 0.0) + words.scaled.get(id_, 0.0)
        standing = max(0.0, cosine * meaning.share) + max(0.0, bm25 * words.share)
        # No two ids are equal, so nothing after them is compared.
        mixed.append((-round(score, _EXACT), id_, score, standing, cosine))
    mixed.sort()
    return [Candidate(id_, score, standing, cosine) for _, id_, score, standing, cosine in mixed]


def raise_candidates(candidates: Sequence[Candidate], ids: Collection[str], *, by: float) -> list[Candidate]:
    """Raise the scores of some candidates, and order all of them anew."""
    raised = (c._replace(score=c.score + by, lead=by) if c.id in ids else c for c in candidates)
    return sorted(raised, key=lambda candidate: (-round(candidate.score, _EXACT), candidate.id))


def mix_vectors(one: Sequence[float], other: Sequence[float], *, share: float) -> Sequence[float]:
    """Mix two vectors to one of length 1, of which the other has this share."""
    mixed = [(1 - share) * a + share * b for a, b in zip(one, other, strict=True)]
    length = math.hypot(*mixed)
    return [x / length for x in mixed] if length > 0 else one


def mix_words(one: Mapping[int, float], other: Mapping[int, float], *, weight: float) -> dict[int, float]:
    """Mix the words of two queries, where all of the other weigh `weight` times as much as all of the one."""
    whole, added = sum(one.values()), sum(other.values())
    scale = weight * whole / added if whole and added else 1.0
    return {
        word: max(one.get(word, 0.0), scale * other.get(word, 0.0))
        for word in sorted(one.keys() | other.keys())
    }


class _SearchHalf:
    """The scores of one half, and the factors that bring them to a common scale."""

    def __init__(self, hits: Sequence[Hit], weight: float) -> None:
        self.scores = {hit.id: hit.score for hit in hits}
        values = list(self.scores.values()) or [0.0]
        self.least, best = min(values), max(values)
        self.share = weight / best if best > 0 else 0.0
        least, width = self.least, best - self.least
        self.scaled = {
            id_: weight * (score - least) / width if width > 0 else weight
            for id_, score in self.scores.items()
        }
        """The scores between 0 and the weight of this half. If all scores are equal, all are best."""


def estimate_relevance(query: Mapping[str, float], stems: Collection[str], candidate: Candidate) -> float:
    """Estimate relevance for a query as `weigh_query` weighs it and a chunk with these stems."""
    weights = _load_weights()
    measures = measure_candidate(query, stems, candidate)
    total = weights["constant"] + sum(weights[name] * value for name, value in measures.items())
    return logistic(total)


def weigh_query(query: str, *, language: str = "") -> dict[str, float]:
    """Weigh the words of a query by their rarity. Stop words count only if there are no others.

    `language` is that of the passages; "" is English.
    """
    if language:
        return languages.weigh_words(query, language)
    words = tokenize(query)
    content = [w for w in words if not w.stop] or words
    return {w.stem: _LEAST_WEIGHT + measure_rarity(w.stem) for w in content}


def find_stems(chunk: Chunk, wanted: Collection[str]) -> set[str]:
    """Find those of the wanted stems that an English chunk or the headings above it have."""
    above = (_collect_stems_above(text) for text in (*chunk.heading_path, chunk.context))
    return english.find_stems(chunk.content, wanted).union(*above)


def collect_stems(chunk: Chunk) -> frozenset[str]:
    """Collect the stems of a chunk's words and of the headings above it."""
    above = (*chunk.heading_path, chunk.context)
    if chunk.language:
        return frozenset(languages.collect_words("\n".join((chunk.content, *above)), chunk.language))
    return frozenset(english.collect_stems(chunk.content)).union(*map(_collect_stems_above, above))


@lru_cache(maxsize=4_096)
def _collect_stems_above(text: str) -> frozenset[str]:
    """Collect the stems of a heading, which many chunks share."""
    return frozenset(english.collect_stems(text))


def measure_candidate(
    query: Mapping[str, float], stems: Collection[str], candidate: Candidate
) -> dict[str, float]:
    """Measure what the relevance is estimated from, by the names of the fitted weights."""
    whole = sum(query.values())
    covered = sum(weight for stem, weight in query.items() if stem in stems) / whole if whole else 0.0
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


def estimate_read_relevance(fit: float, score: float, *, reader: ReaderKind = "small") -> float:
    """Estimate the probability that a passage is relevant, once this reader has read it."""
    constant, read, found = _load_reader_weights(reader)
    return logistic(constant + read * fit + found * score)


@cache
def _load_reader_weights(reader: ReaderKind) -> tuple[float, float, float]:
    """Load the constant and the weights of a reader's fit and of the first-stage score.

    The multilingual reader has the scales of the small one, and its weights.
    """
    name = "relevance_large.json" if reader == "large" else "relevance_reader.json"
    stored = files("octavo.search").joinpath(name).read_text(encoding="utf-8")
    constant, fit, found = json.loads(stored)["weights"]
    return constant, fit, found
