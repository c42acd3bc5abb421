"""The logistic function, which turns the log odds of every fitted model into a probability."""

from __future__ import annotations

from math import exp

# exp() overflows a little beyond this.
_MOST = 700.0


def logistic(value: float) -> float:
    """Turn log odds into a probability, however large they are."""
    return 1.0 / (1.0 + exp(-min(_MOST, max(-_MOST, value))))
