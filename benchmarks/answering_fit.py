"""The fitting itself: a choice among sentences, a logistic regression that keeps signs, and their judges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
STEPS, RATE, RIDGE = 500, 0.04, 1e-3


@dataclass(frozen=True, slots=True)
class Weighted:
    """A logistic regression over named features."""

    names: tuple[str, ...]
    weights: Numbers
    constant: float

    def __call__(self, features: Iterable[Mapping[str, float]]) -> Numbers:
        rows = np.array([[f[name] for name in self.names] for f in features])
        return squash(rows @ self.weights + self.constant)

    def stored(self) -> dict[str, float]:
        pairs = zip(self.names, self.weights.tolist(), strict=True)
        return {"constant": round(self.constant, 4)} | {n: round(w, 4) for n, w in pairs if abs(w) >= 5e-4}


def squash(value: Numbers) -> Numbers:
    return np.asarray(1 / (1 + np.exp(-value)))


class _Descent:
    """Adam, with every weight held on its side of 0."""

    def __init__(self, size: int) -> None:
        self.at = np.zeros(size)
        self._mean, self._square, self._step = np.zeros(size), np.zeros(size), 0

    def move(self, slope: Numbers, signs: Numbers) -> None:
        self._step += 1
        self._mean = 0.9 * self._mean + 0.1 * slope
        self._square = 0.999 * self._square + 0.001 * slope * slope
        mean, square = self._mean / (1 - 0.9**self._step), self._square / (1 - 0.999**self._step)
        self.at = self.at - RATE * mean / (np.sqrt(square) + 1e-8)
        self.at = np.where(signs * self.at < 0, 0.0, self.at)


def logistic(
    features: Sequence[Mapping[str, float]], truth: Numbers, *, signs: Mapping[str, int], weight: Numbers
) -> Weighted:
    """L2, and a feature that may only speak for the outcome (or only against it) does so or is silent."""
    names = tuple(signs)
    rows = np.array([[f[name] for name in names] for f in features])
    mean, spread = rows.mean(0), rows.std(0) + 1e-6
    scaled = np.c_[(rows - mean) / spread, np.ones(len(rows))]
    kept = np.array([*signs.values(), 0], dtype=float)
    ridge = np.array([RIDGE] * len(names) + [0.0])
    share = weight / weight.sum()
    descent = _Descent(len(names) + 1)
    for _ in range(STEPS):
        miss = (squash(scaled @ descent.at) - truth) * share
        descent.move(scaled.T @ miss + ridge * descent.at, kept)
    weights = descent.at[:-1] / spread
    return Weighted(names, weights, float(descent.at[-1] - weights @ mean))


def platt(scores: Numbers, truth: Numbers, *, weight: Numbers) -> tuple[float, float]:
    """Slope and offset that make the scores, as log odds, as right as they say."""
    fitted = logistic([{"score": s} for s in scores.tolist()], truth, signs={"score": 1}, weight=weight)
    return float(fitted.weights[0]), fitted.constant


def choice(questions: Sequence[tuple[Numbers, Numbers, float]]) -> Numbers:
    """Weights under which the right sentences of a question get the largest share of its odds."""
    with_right = [(m, r, w) for m, r, w in questions if r.any()]
    rows = np.concatenate([m for m, _, _ in with_right])
    right = np.concatenate([r for _, r, _ in with_right])
    which = np.repeat(np.arange(len(with_right)), [len(m) for m, _, _ in with_right])
    weight = np.array([w for _, _, w in with_right])
    weight = weight / weight.sum()
    spread = rows.std(0) + 1e-9
    scaled = (rows - rows.mean(0)) / spread
    free = np.zeros(rows.shape[1])
    descent = _Descent(rows.shape[1])
    for _ in range(STEPS):
        raised = np.exp(np.clip(scaled @ descent.at, -30, 30))
        odds = raised / np.bincount(which, raised)[which]
        mine = odds * right
        wanted = mine / np.bincount(which, mine)[which]
        descent.move(scaled.T @ ((odds - wanted) * weight[which]) + RIDGE * descent.at, free)
    return np.asarray(descent.at / spread)


def auroc(scores: Numbers, truth: NDArray[np.bool_]) -> float:
    """The chance that a true one scores above a false one, ties counting half."""
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]
    yes, no = int(truth.sum()), int((~truth).sum())
    return float((rank[truth].sum() - yes * (yes + 1) / 2) / (yes * no))


def calibration_error(scores: Numbers, truth: NDArray[np.bool_]) -> float:
    """The mean distance, over ten bins, between what was said and what came true."""
    bins = np.minimum((scores * 10).astype(int), 9)
    parts = [(bins == b) for b in range(10) if (bins == b).any()]
    return float(sum(p.mean() * abs(scores[p].mean() - truth[p].mean()) for p in parts))
