"""Weigh whether sentences say what a claim says in words of its own.

The rules for paraphrases follow what keeps to the words of the book. A language model writes freely, and
this module judges what it writes by meaning. Trained verifiers' opinions count together with what the
comparison of words measured and what each rule objects to. `meaning.json` holds the weights, fitted by
`benchmarks/gate.py` on claims about books, and limits: from `publish` on a claim may stand in its own
words, from `quote` on its sentences may stand in its place. There are two judges, one with the small
verifier alone and one that asks the large one and the large reader as well. Without a verifier nothing is
judged by meaning.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from octavo.text.scoring import logistic, take_log_odds
from octavo.verification.check import MOST_CLAIM, measure
from octavo.verification.lexemes import find_decisive, read_lexemes
from octavo.verification.rules import count_faults

if TYPE_CHECKING:
    from octavo.protocols import SupportModel

Decision = Literal["publish", "quote", "drop"]
# The doubt that is left where a verifier is surest, the least that is left of it when its scale is stretched,
# and the most objections of one rule.
_DOUBT, _LEAST_DOUBT, _MOST_FAULTS = 0.02, 0.001, 4
# What the comparison of words measures of the claim beside the sentences with their neighbours, and alone.
_NEAR = (
    "sentence", "window", "weakest", "spoken", "aligned", "bigrams", "words",
    "number_absent", "name_absent", "swapped", "opposite", "negation",
)  # fmt: skip
_ALONE = ("spoken", "number_absent", "swapped", "opposite")
_WATCHED = ("not", "all", "only", "if", "may", "some")


@dataclass(frozen=True, slots=True)
class Opinions:
    """The trained verifiers that are asked about a claim.

    `verifier` helps the strict check. `gate` learnt from what language models write, and judges by meaning
    together with the `large` verifier and the large `reader`, where both are used. `multilingual` compares a
    translated claim with the book's own words.
    """

    verifier: SupportModel
    gate: SupportModel
    large: SupportModel | None = None
    reader: SupportModel | None = None
    multilingual: SupportModel | None = None


@dataclass(frozen=True, slots=True)
class Weighed:
    """How likely it is that the sentences say so, and what is done with the claim."""

    score: float
    decision: Decision


@cache
def load_judges() -> Mapping[str, Any]:
    """Load what was fitted for judging by meaning: for `small` and `large` the weights and the limits."""
    return dict(json.loads(files("octavo.verification").joinpath("meaning.json").read_bytes()))


def weigh(claim: str, cited: str, near: str, opinions: Opinions, *, risk: float) -> Weighed:
    """Weigh a claim beside the sentences that it names: `cited` alone, and `near` with their neighbours.

    `risk` is the share of false claims that may be published. If no limit keeps to it, none is published.
    """
    fit = load_judges()["large" if opinions.large and opinions.reader else "small"]
    features = measure_meaning(claim, cited, near, opinions)
    odds = sum(weight * features.get(name, 0.0) for name, weight in fit["weights"].items())
    limit = next((limit for share, limit in fit["publish"] if share <= risk), float("inf"))
    decision: Decision = "publish" if odds >= limit else "quote" if odds >= fit["quote"] else "drop"
    return Weighed(round(logistic(odds), 4), decision)


def measure_meaning(claim: str, cited: str, near: str, opinions: Opinions) -> dict[str, float]:
    """Measure everything that is weighed, each number by its name."""
    claim = claim[:MOST_CLAIM]
    found = {"bias": 1.0, **measure_words(claim, cited, near)}
    found["gate"] = _ask(opinions.gate, claim, near)
    if opinions.large is not None and opinions.reader is not None:
        found |= {"large": _ask(opinions.large, claim, near), "reader": _ask(opinions.reader, claim, near)}
    return found


def measure_words(claim: str, cited: str, near: str) -> dict[str, float]:
    """Measure what the words tell: what is shared, what was exchanged, and which rules object."""
    around, alone = measure(claim, [near]), measure(claim, [cited])
    found = {f"near_{name}": around.features.get(name, 0.0) for name in _NEAR}
    found |= {f"cited_{name}": alone.features.get(name, 0.0) for name in _ALONE}
    said = read_lexemes(claim)
    faults = count_faults(said, cited)
    new, shared = faults.pop("new"), faults.pop("shared")
    found |= {f"rule_{name}": float(min(_MOST_FAULTS, many)) for name, many in faults.items()}
    found["new_share"] = new / max(1, new + shared)
    return found | _compare_decisive(find_decisive(said), find_decisive(read_lexemes(cited)))


def _compare_decisive(mine: Sequence[str], theirs: Sequence[str]) -> dict[str, float]:
    """Tell which decisive words ("not", "only") the claim gained or lost."""
    gained = {f"gains_{word}": float(word in mine and word not in theirs) for word in _WATCHED}
    return gained | {f"loses_{word}": float(word in theirs and word not in mine) for word in _WATCHED}


def stretch(odds: float) -> float:
    """Stretch the scale of a verifier, which ends early: it learnt to be sure to 97.5 % and never more.

    So it says nearly the same of all that it is sure of, and the little that is left of its doubt tells most.
    """
    return take_log_odds((logistic(odds) - _DOUBT) / (1 - 2 * _DOUBT), least=_LEAST_DOUBT)


def _ask(opinion: SupportModel, claim: str, text: str) -> float:
    (odds,) = opinion(claim, [text])
    return stretch(float(odds))
