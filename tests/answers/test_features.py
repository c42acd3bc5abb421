"""The numbers that decide, one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.answers.features import (
    SentenceScore,
    measure_answer,
    measure_reader,
    measure_sentence,
    normalise_scores,
    refers_back,
    state_answer,
)
from octavo.answers.questions import parse_question
from tests.answers.test_features_matching import laid, parted

STORY = "Rollo led the Norse. He settled in Normandy in 911. The duchy grew rich."


def measured(question: str, text: str = STORY, *, best: int = 0) -> dict[str, float]:
    readings = laid(question, parted(text))
    scores = [1.0 if n == best else 0.0 for n in range(len(readings))]
    return measure_answer(parse_question(question), readings, scores=scores, chosen=[best])


def compared(question: str, text: str = STORY) -> list[dict[str, float]]:
    return [measure_sentence(parse_question(question), r) for r in laid(question, parted(text))]


@pytest.mark.parametrize(
    ("question", "measure"),
    [
        ("Who led the Prussians?", "name_missing_every"),
        ("Who settled in Normandy in 912?", "number_missing_every"),
        ("Who was the first to settle in Normandy?", "extreme_missing_every"),
        ("Who led the xylophonists?", "rarest_missing_own"),
    ],
)
def test_what_the_evidence_lacks_is_measured(question: str, measure: str) -> None:
    assert measured(question)[measure] > 0.2
    assert measured("Who led the Norse?")[measure] == 0.0


def test_what_stands_next_door_is_missing_here_but_not_around() -> None:
    found = measured("Who led the Norse in 911?")
    assert found["number_missing_own"] == 1.0
    assert found["number_missing_around"] == found["number_missing_chunk"] == 0.0


@pytest.mark.parametrize(
    ("question", "text", "measure"),
    [
        ("Who did not lead the Norse?", STORY, "question_denies"),
        ("Who led the Norse?", "Rollo never led the Norse.", "sentence_denies"),
        ("Who lost the northern war?", "Rollo won the northern war.", "opposite"),
        ("When did Rollo lead the Norse?", "Rollo led the Norse.", "not_sure"),
        ("When did Rollo lead the Norse?", "Rollo led the Norse.", "not_even_loose"),
        ("Why did it rain?", "It did rain.", "why"),
        ("What happened after the rain?", "It did rain.", "sequel"),
        ("How did she feel?", "It did rain.", "told"),
    ],
)
def test_what_speaks_against_an_answer_is_noted(question: str, text: str, measure: str) -> None:
    assert measured(question, text)[measure] == 1.0
    assert measured("Who led the Norse?")[measure] == 0.0


def test_the_opposite_counts_only_when_the_word_itself_is_missing() -> None:
    assert measured("Who lost the war?", "Rollo won what Odo lost.")["opposite"] == 0.0


def test_the_margin_is_between_the_best_and_the_next() -> None:
    assert measured("Who led the Norse?")["margin"] == 1.0
    assert measured("Who led the Norse?", "Rollo led the Norse.")["margin"] == 5.0


def test_odds_are_shares_of_one() -> None:
    odds = normalise_scores([700.0, -700.0, 700.0])
    assert sum(odds) == pytest.approx(1.0)
    assert odds[0] == pytest.approx(0.5)


def test_the_sentence_that_has_the_words_measures_highest() -> None:
    led, settled, grew = compared("Who led the Norse?")
    assert led["own"] == 1.0 > settled["own"]
    assert settled["before"] == 1.0
    assert grew["around"] < led["around"]


def test_the_expected_answer_is_noted_in_its_sentence() -> None:
    led, settled, _ = compared("When did they come?")
    assert settled["sure"] == 1.0
    assert settled["loose"] == 0.0
    assert led["sure"] == 0.0


def test_what_came_before_matters_to_a_sequel() -> None:
    _, after, _ = compared("What happened when Rollo led the Norse?")
    assert after["before_sequel"] == after["before"] > 0.0
    assert compared("Who led the Norse?")[1]["before_sequel"] == 0.0


@pytest.mark.parametrize("text", ["This ended it.", "He left.", "However, it rained.", "“They came.”"])
def test_sentences_that_point_back_lean(text: str) -> None:
    assert refers_back(text)


@pytest.mark.parametrize("text", ["Rollo left.", "Thistles grow.", "Item one.", "Here it is."])
def test_other_sentences_stand_alone(text: str) -> None:
    assert not refers_back(text)


def test_what_a_reader_thinks_is_told_of_the_chosen_and_of_the_best() -> None:
    seen = [
        SentenceScore(1.0, -2.0, 0.5, 0, 3),
        SentenceScore(4.0, 3.0, -1.0, 0, 3),
        SentenceScore(2.0, 0.0, 7.0, 0, 3),
    ]
    assert measure_reader(seen, best=0) == {
        "able": -2.0,
        "able_most": 3.0,
        "margin_read": 0.5,
        "rank_read": 1.0,
        "rank_most": 4.0,
    }
    assert measure_reader(seen, best=1)["able"] == measure_reader(seen, best=1)["able_most"]


def test_the_readers_measures_have_names_of_their_own() -> None:
    assert (
        measure_reader([SentenceScore(0, 0, 0, 0, 0)], best=0)
        .keys()
        .isdisjoint(measured("Who led the Norse?"))
    )


@pytest.mark.parametrize(
    ("question", "words", "statement"),
    [
        ("Who led the Norse?", "Rollo", "Rollo led the Norse"),
        ("In what year did Rollo settle?", "911", "In 911 Rollo settle"),
        ("Which country was ceded to Britain?", "Florida", "Florida was ceded to Britain"),
        ("What kind of boats did they lose?", "cutters", "cutters they lose"),
        ("How many boats were lost ?", "Seven", "Seven boats were lost"),
        ("Where does  the\nriver end?", "at sea", "at sea the river end"),
        ("Is the doe tame?", "it is", "Is the doe tame it is"),
        ("WHAT does a doe eat?", "grass", "grass a doe eat"),
    ],
)
def test_question_and_answer_make_one_statement(question: str, words: str, statement: str) -> None:
    assert state_answer(question, words) == statement


@given(st.text(max_size=60), st.text(alphabet="abc ", max_size=20))
def test_any_question_makes_a_statement_with_the_answer_in_it(question: str, words: str) -> None:
    said = state_answer(question, words)
    assert " ".join(words.split()) in " ".join(said.split())
