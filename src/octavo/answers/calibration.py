"""Turns features into probabilities, with weights that were fitted on public questions and are kept as data.

`answerable` is the probability that the evidence answers the question at all. Refusals depend on it.
`confidence` is the probability that the answer is right, that is, that the question is answerable and the
right sentences were chosen. Of the answers given with a confidence of 0.7, seven in ten are right.
`threshold` says how answerable a question must be, so that at most a given share of the answers goes to
questions that the book does not answer. The same features always give the same numbers.
`benchmarks/answering.py` fits the weights.

With a trained reader, its scores are among the features. The small reader and the large model have weights of
their own (`benchmarks/reader_fit.py`), whose threshold limits the share of answers that are wrong for any
reason. So has the multilingual reader (`benchmarks/multilingual_fit.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING

from octavo import validation
from octavo.text.scoring import logistic, take_log_odds

if TYPE_CHECKING:
    from octavo.answers.features import SentenceScore
    from octavo.search.ranking import ReaderKind

# At most one answer in five goes to a question that the book does not answer.
RISK = 0.2
# Whatever the accepted risk is: an answer that is wrong nine times in ten is not given.
LEAST_CONFIDENCE = 0.1
_FILES: Mapping[ReaderKind, str] = MappingProxyType(
    {
        "off": "confidence.json",
        "small": "confidence_reader.json",
        "large": "confidence_large.json",
        "multilingual": "confidence_multilingual.json",
    }
)


@dataclass(frozen=True, slots=True)
class Linear:
    """A weighted sum of named measures. A missing measure counts as 0."""

    constant: float
    weights: Mapping[str, float]

    def __call__(self, measures: Mapping[str, float]) -> float:
        return self.constant + sum(w * measures.get(name, 0.0) for name, w in self.weights.items())


@dataclass(frozen=True, slots=True)
class Calibration:
    """Fitted weights. `curve` has (threshold, share of the answers that are wrong, share answered)."""

    version: int
    sentence: Linear
    answerable: Linear
    right: Linear
    slope: float
    offset: float
    curve: tuple[tuple[float, float, float], ...]


def score_sentence(measures: Mapping[str, float]) -> float:
    """Score how well a sentence answers, compared with the other sentences of the same evidence."""
    return load_calibration().sentence(measures)


def score_with_reader(lexical: float, seen: SentenceScore, *, reader: ReaderKind = "small") -> float:
    """Score a sentence that a trained reader has read. `lexical` is its score by words alone."""
    measures = {"lexical": lexical, "margin": seen.margin, "rank": seen.rank}
    return load_calibration(reader=reader).sentence(measures)


def answerable(features: Mapping[str, float], *, reader: ReaderKind = "off") -> float:
    """Estimate the probability that the evidence answers the question. Without evidence it is 0."""
    return logistic(load_calibration(reader=reader).answerable(features)) if features else 0.0


def confidence(features: Mapping[str, float], *, reader: ReaderKind = "off") -> float:
    """Estimate the probability that the answer is right. Without evidence it is 0."""
    if not features:
        return 0.0
    model = load_calibration(reader=reader)
    both = logistic(model.answerable(features)) * logistic(model.right(features))
    return logistic(model.offset + model.slope * take_log_odds(both))


def threshold(risk: float = RISK, *, reader: ReaderKind = "off") -> float:
    """Return how answerable a question must be to be answered, or 1 if no threshold keeps to the risk.

    `risk` is the share of the answers that may be wrong. Without a reader, it is the share of those that may
    go to questions which the book does not answer.
    """
    validation.check_share("risk", risk)
    return next((limit for limit, beyond, _ in load_calibration(reader=reader).curve if beyond <= risk), 1.0)


@cache
def load_calibration(*, reader: ReaderKind = "off") -> Calibration:
    """Load the weights that were fitted with answers made by this reader."""
    return parse_calibration(files("octavo.answers").joinpath(_FILES[reader]).read_text(encoding="utf-8"))


def parse_calibration(text: str) -> Calibration:
    """Parse the weights of a data file."""
    stored = json.loads(text)
    return Calibration(
        version=stored["version"],
        sentence=_parse_linear(stored["sentence"]),
        answerable=_parse_linear(stored["answerable"]),
        right=_parse_linear(stored["right"]),
        slope=stored["calibration"]["slope"],
        offset=stored["calibration"]["offset"],
        curve=tuple((limit, beyond, answered) for limit, beyond, answered in stored["curve"]),
    )


def _parse_linear(stored: Mapping[str, float]) -> Linear:
    weights = {name: float(value) for name, value in stored.items() if name != "constant"}
    return Linear(float(stored.get("constant", 0.0)), MappingProxyType(weights))
