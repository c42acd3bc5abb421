"""The logistic function, whatever it is given."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from octavo.text.scoring import logistic


@given(st.floats(allow_nan=False))
def test_log_odds_become_a_probability_however_large_they_are(value: float) -> None:
    assert 0.0 <= logistic(value) <= 1.0
    assert abs(logistic(value) + logistic(-value) - 1.0) < 1e-12
