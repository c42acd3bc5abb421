"""Judging by meaning: the opinions that are asked, and the scale on which they count."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from octavo.verification.meaning import Opinions, measure_meaning, stretch, weigh

CLAIM, SENTENCE = "A tempest destroyed the pier in 1874.", "The storm of 1874 broke the northern pier."
ODDS = st.floats(-50, 50)


class Verifier:
    """Says the same of everything, and notes what it was asked."""

    def __init__(self, odds: float) -> None:
        self.odds = odds
        self.asked: list[tuple[str, ...]] = []

    def __call__(self, claim: str, passages: Sequence[str], /) -> list[float]:
        self.asked.append((claim, *passages))
        return [self.odds for _ in passages]


@given(ODDS, ODDS)
def test_stretching_keeps_the_order_of_opinions_and_treats_both_ends_alike(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert stretch(low) <= stretch(high)
    assert abs(stretch(one) + stretch(-one)) < 1e-6
    assert abs(stretch(one)) < 7


def test_what_is_nearly_as_sure_as_a_verifier_can_be_counts_much_less_than_the_surest() -> None:
    surest, nearly, doubtful = stretch(3.87), stretch(3.5), stretch(0.5)
    assert surest - nearly > 2
    assert abs(doubtful - 0.5) < 0.1


def test_the_large_verifier_and_the_large_reader_are_asked_once_each_with_the_sentences_around() -> None:
    large, reader = Verifier(3.0), Verifier(2.0)
    opinions = Opinions(Verifier(0.0), Verifier(1.0), large, reader)
    measured = measure_meaning(CLAIM, SENTENCE, f"{SENTENCE} It was rebuilt.", opinions)
    assert [measured[name] for name in ("gate", "large", "reader")] == [*map(stretch, (1.0, 3.0, 2.0))]
    assert large.asked == reader.asked == [(CLAIM, f"{SENTENCE} It was rebuilt.")]


def test_one_of_the_two_large_opinions_alone_is_not_asked_and_the_small_judge_decides() -> None:
    small = weigh(CLAIM, SENTENCE, SENTENCE, Opinions(Verifier(0.0), Verifier(3.0)), risk=0.01)
    lonely = Verifier(-8.0)
    for opinions in (
        Opinions(Verifier(0.0), Verifier(3.0), large=lonely),
        Opinions(Verifier(0.0), Verifier(3.0), reader=lonely),
    ):
        assert weigh(CLAIM, SENTENCE, SENTENCE, opinions, risk=0.01) == small
    assert lonely.asked == []


def test_a_doubt_of_either_large_opinion_lowers_the_score() -> None:
    def score(large: float, reader: float) -> float:
        opinions = Opinions(Verifier(0.0), Verifier(3.0), Verifier(large), Verifier(reader))
        return weigh(CLAIM, SENTENCE, SENTENCE, opinions, risk=0.01).score

    assert score(3.8, 3.8) > max(score(3.5, 3.8), score(3.8, 3.5))
