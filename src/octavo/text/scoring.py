"""The logistic function, which turns log odds of a fitted model into a probability, and its inverse."""

from __future__ import annotations

from math import exp, log

# exp() overflows a little beyond this.
_MOST = 700.0


def logistic(value: float) -> float:
    """Turn log odds into a probability, however large they are."""
    return 1.0 / (1.0 + exp(-min(_MOST, max(-_MOST, value))))


def take_log_odds(share: float, *, least: float = 1e-9) -> float:
    """Turn a probability into log odds. What is nearer than `least` to 0 or 1 counts as that near."""
    kept = min(1 - least, max(least, share))
    return log(kept / (1 - kept))
