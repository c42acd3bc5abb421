"""How likely it is that a passage is about what was asked: a number that means the same for every query.

Three things are weighed: how near the passage is to the query in meaning, how much of the query's words it
has (the rare ones counting most), and how it stands among the candidates. The weights are fitted
(`benchmarks/relevance.py`) so that of the passages shown as 70 % about seven in ten are to the point.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from functools import cache
from importlib.resources import files

from octavo import words
from octavo.fusion import Fused
from octavo.types import Chunk
from octavo.words import rarity, tokens

_LEAST_WEIGHT = 0.05  # of the commonest word; the rarest has this much more than 1


def relevance(query: Mapping[str, float], there: Collection[str], candidate: Fused) -> float:
    """The probability, for a query as `wanted` weighs it and a chunk with the `stems` that are `there`."""
    weights = _weights()
    seen = features(query, there, candidate)
    total = weights["constant"] + sum(weights[name] * value for name, value in seen.items())
    return 1.0 / (1.0 + math.exp(-total))


def wanted(query: str) -> dict[str, float]:
    """The words that count in a query, each with its weight; all words when none counts."""
    said = tokens(query)
    telling = [w for w in said if not w.stop] or said
    return {w.stem: _LEAST_WEIGHT + rarity(w.stem) for w in telling}


def stems(chunk: Chunk) -> frozenset[str]:
    """The words of a chunk and of the headings above it."""
    return frozenset().union(*map(words.stems, (chunk.content, *chunk.heading_path)))


def features(query: Mapping[str, float], there: Collection[str], candidate: Fused) -> dict[str, float]:
    whole = sum(query.values())
    covered = sum(weight for stem, weight in query.items() if stem in there) / whole if whole else 0.0
    return {
        "cosine": candidate.cosine,
        "covered": covered,
        "standing": candidate.standing,
        "all": candidate.cosine * covered * candidate.standing,
    }


@cache
def _weights() -> Mapping[str, float]:
    stored = files("octavo").joinpath("data/relevance.json").read_text(encoding="utf-8")
    weights: dict[str, float] = json.loads(stored)["weights"]
    return weights
