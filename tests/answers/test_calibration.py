"""Probabilities from measures: within bounds, in the right direction, the same every time."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.answers.calibration import (
    RISK,
    Linear,
    answerable,
    confidence,
    load_calibration,
    parse_calibration,
    score_sentence,
    score_with_reader,
    threshold,
)
from octavo.answers.features import SentenceScore
from octavo.errors import InvalidValue
from octavo.search.ranking import ReaderSize
from octavo.text.scoring import logistic
from tests.answers.test_features import measured

GOOD = measured("Who led the Norse?")
SEEN = GOOD | {"able": 4.0, "able_most": 4.0, "margin_read": 5.0, "rank_read": 6.0, "rank_most": 6.0}
SEEN |= {"stated": 3.0}


@given(st.dictionaries(st.sampled_from(sorted(SEEN)), st.floats(-1e6, 1e6), max_size=12))
def test_every_probability_lies_between_0_and_1(features: dict[str, float]) -> None:
    assert 0.0 <= answerable(features) <= 1.0
    assert 0.0 <= confidence(features) <= 1.0


def test_no_evidence_is_no_confidence() -> None:
    assert confidence({}) == answerable({}) == 0.0


@pytest.mark.parametrize(
    "against",
    ["name_missing_every", "question_denies", "opposite", "rarest_missing_own", "number_missing_around"],
)
def test_what_speaks_against_an_answer_lowers_both(against: str) -> None:
    worse = GOOD | {against: 1.0}
    assert answerable(worse) < answerable(GOOD)
    assert confidence(worse) < confidence(GOOD)


@pytest.mark.parametrize("speaks_for", ["most_similar", "odds"])
def test_what_speaks_for_an_answer_raises_confidence(speaks_for: str) -> None:
    assert confidence(GOOD | {speaks_for: 1.0}) > confidence(GOOD | {speaks_for: 0.2})


@given(st.floats(0, 1), st.floats(0, 1))
def test_less_risk_asks_for_more(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 0.0 <= threshold(high) <= threshold(low) <= 1.0


def test_a_risk_of_one_answers_everything() -> None:
    assert threshold(1.0) == 0.0


def test_the_default_risk_is_kept_where_it_was_measured() -> None:
    limit = threshold()
    kept = next((beyond, answered) for t, beyond, answered in load_calibration().curve if t == limit)
    assert kept[0] <= RISK
    assert kept[1] >= 0.6


@pytest.mark.parametrize("risk", [-0.1, 1.1, float("nan")])
def test_a_risk_is_a_share(risk: float) -> None:
    with pytest.raises(InvalidValue, match="risk"):
        threshold(risk)


def test_the_curve_runs_through_all_thresholds_in_order() -> None:
    limits = [t for t, _, _ in load_calibration().curve]
    answered = [a for _, _, a in load_calibration().curve]
    assert limits == sorted(limits)
    assert limits[0] == 0.0
    assert answered == sorted(answered, reverse=True)
    assert answered[0] == 1.0


def test_the_signs_that_were_fitted_make_sense() -> None:
    model = load_calibration()
    assert all(w <= 0 for name, w in model.answerable.weights.items() if "missing" in name)
    assert all(w <= 0 for name, w in model.right.weights.items() if "missing" in name)
    assert model.sentence.weights["own"] > 0
    assert model.slope > 0


def test_a_sentence_scores_higher_with_more_of_the_question() -> None:
    assert score_sentence({"own": 0.9, "own_squared": 0.81}) > score_sentence(
        {"own": 0.1, "own_squared": 0.01}
    )


def test_a_measure_that_is_not_given_counts_nothing() -> None:
    assert Linear(0.5, {"own": 2.0})({}) == 0.5
    assert Linear(0.5, {"own": 2.0})({"own": 1.0, "other": 9.0}) == 2.5


@given(st.floats(allow_nan=False))
def test_the_logistic_function_never_overflows(value: float) -> None:
    assert 0.0 <= logistic(value) <= 1.0
    assert logistic(0.0) == 0.5


def test_weights_are_read_as_they_are_stored() -> None:
    stored = {
        "version": 7,
        "sentence": {"own": 2.0},
        "answerable": {"constant": 1.0, "opposite": -1.0},
        "right": {"constant": 0.0},
        "calibration": {"slope": 1.0, "offset": 0.0},
        "curve": [[0.0, 0.3, 1.0], [0.5, 0.1, 0.5]],
    }
    read = parse_calibration(json.dumps(stored))
    assert read.version == 7
    assert read.answerable({"opposite": 1.0}) == 0.0
    assert read.curve[1] == (0.5, 0.1, 0.5)


# Where a trained reader has read the evidence

READERS: tuple[ReaderSize, ...] = ("small", "large")


@pytest.mark.parametrize("speaks_for", ["able", "able_most", "margin_read", "stated"])
def test_what_the_reader_thinks_decides_whether_there_is_an_answer(speaks_for: str) -> None:
    for reader in READERS:
        assert answerable(SEEN | {speaks_for: -6.0}, reader=reader) < answerable(SEEN, reader=reader)


@pytest.mark.parametrize("reader", READERS)
def test_the_weights_of_the_reader_that_has_read_are_used(reader: ReaderSize) -> None:
    assert answerable(SEEN, reader=reader) == logistic(load_calibration(reader=reader).answerable(SEEN))
    assert answerable(GOOD) == logistic(load_calibration().answerable(GOOD))
    lost = {"able": -6.0, "able_most": -6.0, "margin_read": -15.0, "rank_read": -8.0, "rank_most": -8.0}
    assert answerable(GOOD | lost, reader=reader) < 0.2 < threshold(reader=reader)
    assert confidence(GOOD | lost, reader=reader) < 0.2
    assert confidence(SEEN, reader=reader) > 0.5


def test_a_sentence_scores_higher_with_a_surer_span_a_better_passage_and_better_words() -> None:
    base = SentenceScore(rank=1.0, answerable=1.0, margin=1.0, start=0, end=4)
    assert score_with_reader(1.0, SentenceScore(1.0, 1.0, 5.0, 0, 4)) > score_with_reader(1.0, base)
    assert score_with_reader(1.0, SentenceScore(5.0, 1.0, 1.0, 0, 4)) > score_with_reader(1.0, base)
    assert score_with_reader(2.0, base) > score_with_reader(1.0, base)


@pytest.mark.parametrize("reader", READERS)
def test_the_readers_threshold_keeps_to_the_risk_as_well(reader: ReaderSize) -> None:
    curve = load_calibration(reader=reader).curve
    limit = threshold(reader=reader)
    wrong, answered = next((w, a) for t, w, a in curve if t == limit)
    assert wrong <= RISK
    assert answered >= 0.6
    assert threshold(0.05, reader=reader) >= limit >= threshold(0.5, reader=reader)
    assert threshold(1.0, reader=reader) == 0.0


def test_the_sets_of_weights_can_be_told_apart_on_a_receipt() -> None:
    sizes: tuple[ReaderSize, ...] = ("off", *READERS)
    assert len({load_calibration(reader=size).version for size in sizes}) == 3
