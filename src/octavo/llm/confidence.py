"""Estimate how likely it is that an answer which a language model wrote is right.

The gate has seen to it that the book says so. Whether that answers the question is another matter. It is
estimated from the gate's scores and from what would be answered offline: from the same passages, and by whom
the same sentence and the same words are chosen. `confidence.json` has the weights, fitted by
`benchmarks/model_confidence.py` on answers whose truth is known. Of the answers given with a confidence of
0.7, seven in ten are right.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from octavo.text.english import tokenize
from octavo.text.scoring import logistic, take_log_odds

if TYPE_CHECKING:
    from octavo.answers.replies import Reply
    from octavo.verification.claims import Claim, Sentence

_LEAST = 0.005


def measure_answer(
    claims: Sequence[Claim],
    scores: Sequence[float],
    sentences: Mapping[str, Sentence],
    quoted: Reply,
    there: Reply,
) -> dict[str, float]:
    """Measure an answer in `claims`, which the gate gave `scores`.

    `quoted` is the offline answer, `there` the offline answer from the passages that the claims cite.
    """
    said = " ".join(claim.text for claim in claims)
    ids = {id_ for claim in claims for id_ in claim.sentences}
    found = {
        "support": take_log_odds(sum(scores) / len(scores), least=_LEAST) if scores else 0.0,
        "answerable_there": take_log_odds(there.answerable, least=_LEAST),
        "same_sentence": float(any(ids & set(claim.sentences) for claim in quoted.claims)),
        "same_sentence_there": float(any(ids & set(claim.sentences) for claim in there.claims)),
        "same_words_there": float(_has_short(said, there, sentences)),
    }
    return {name: round(value, 4) for name, value in found.items()}


def estimate_confidence(measures: Mapping[str, float]) -> float:
    """Estimate the probability that an answer with these measures is right."""
    named = {"bias": 1.0, **measures}
    return round(logistic(sum(weight * named[name] for name, weight in _load_weights().items())), 4)


@cache
def _load_weights() -> Mapping[str, float]:
    stored = json.loads(files("octavo.llm").joinpath("confidence.json").read_bytes())
    return {name: float(weight) for name, weight in stored["weights"].items()}


def _has_short(said: str, reply: Reply, sentences: Mapping[str, Sentence]) -> bool:
    """Say whether the answer has the words that are the short answer offline."""
    short = reply.short
    if short is None or short.sentence not in sentences:
        return False
    words = [token.stem for token in tokenize(sentences[short.sentence].text[short.start : short.end])]
    have = {token.stem for token in tokenize(said)}
    return bool(words) and all(word in have for word in words)
