"""Turns measures into probabilities, with weights that were fitted on public questions and are kept as data.

Two things are told apart. `answerable` is the chance that the evidence answers the question at all: it is
what a refusal is decided on. `confidence` is the chance that the answer given is right: answerable, and the
right sentences chosen. Of the answers given with a confidence of 0.7, seven in ten are right. `threshold`
says how answerable a question has to be so that at most a given share of the answers goes to questions which
the book does not answer. The same measures always give the same numbers. `benchmarks/answering.py` fits them.

Where a trained reader has read the evidence, its measures are among the features, and weights of their own
are used (`benchmarks/reader_fit.py`); their threshold keeps to the share of answers that are wrong for any
reason.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING

from octavo import validation
from octavo.text.scoring import logistic

if TYPE_CHECKING:
    from octavo.answers.features import SentenceScore

RISK = 0.2  # at most one answer in five for a question that the book does not answer


@dataclass(frozen=True, slots=True)
class Linear:
    """A weighted sum of named measures; a measure that is not given counts as 0."""

    constant: float
    weights: Mapping[str, float]

    def __call__(self, measures: Mapping[str, float]) -> float:
        return self.constant + sum(w * measures.get(name, 0.0) for name, w in self.weights.items())


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was fitted. `curve` has (threshold, share of answers beyond the book, share answered)."""

    version: int
    sentence: Linear
    answerable: Linear
    right: Linear
    slope: float
    offset: float
    curve: tuple[tuple[float, float, float], ...]


def score_sentence(measures: Mapping[str, float]) -> float:
    """How well a sentence answers, compared with the other sentences of the same evidence."""
    return load_calibration().sentence(measures)


def score_with_reader(lexical: float, seen: SentenceScore) -> float:
    """The same where a trained reader has seen the sentence: `lexical` is what the words alone say."""
    measures = {"lexical": lexical, "margin": seen.margin, "rank": seen.rank}
    return load_calibration(reader=True).sentence(measures)


def answerable(features: Mapping[str, float]) -> float:
    """The chance that the evidence answers the question. Without features there was no evidence: 0."""
    return logistic(_calibration_for(features).answerable(features)) if features else 0.0


def confidence(features: Mapping[str, float]) -> float:
    """The chance that the answer is right. Without features there was no evidence: 0."""
    if not features:
        return 0.0
    model = _calibration_for(features)
    both = logistic(model.answerable(features)) * logistic(model.right(features))
    return logistic(model.offset + model.slope * _logit(both))


def threshold(risk: float = RISK, *, reader: bool = False) -> float:
    """How answerable a question must be to be answered. `risk` is the share of the answers that may be wrong
    (without a reader: that may go to questions the book does not answer); 1 when no threshold keeps to it."""
    validation.check_share("risk", risk)
    return next((limit for limit, beyond, _ in load_calibration(reader=reader).curve if beyond <= risk), 1.0)


def _logit(share: float) -> float:
    kept = min(max(share, 1e-9), 1 - 1e-9)
    return math.log(kept / (1 - kept))


@cache
def load_calibration(*, reader: bool = False) -> Calibration:
    name = "confidence_reader.json" if reader else "confidence.json"
    return parse_calibration(files("octavo.answers").joinpath(name).read_text(encoding="utf-8"))


def _calibration_for(features: Mapping[str, float]) -> Calibration:
    return load_calibration(reader="able" in features)


def parse_calibration(text: str) -> Calibration:
    """The weights as the data file holds them."""
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
