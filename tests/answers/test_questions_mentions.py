"""Dates, numbers, names, places, reasons, feelings and speech in English prose."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.answers.questions import Expected, find_loose, find_names, find_sure
from octavo.text.english import tokenize


def found(text: str, expected: Expected) -> list[str]:
    return [text[a:b] for a, b in find_sure(text, expected, tokenize(text))]


def hinted(text: str, expected: Expected) -> list[str]:
    return [text[a:b] for a, b in find_loose(text, expected, tokenize(text))]


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("The battle was fought in 1066 at Hastings.", "1066"),
        ("It opened on 14 November 2001.", "14 November 2001"),
        ("It opened on November 14, 2001.", "November 14, 2001"),
        ("They came in the 10th and 11th centuries.", "10th and 11th centuries"),
        ("It was built in the twelfth century.", "twelfth century"),
        ("Rome fell; by 44 BC he was dead.", "44 BC"),
        ("The shop is closed on Sundays.", "Sundays"),
        ("The 1960s were loud.", "1960s"),
    ],
)
def test_dates_are_found(text: str, date: str) -> None:
    assert date in found(text, Expected.DATE)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("There were 25 soldiers.", "25"),
        ("It sold 1,200, then none.", "1,200"),
        ("It cost $3.50 then.", "$3.50"),
        ("About 12 percent voted.", "12 percent"),
        ("It has 1.74 million residents.", "1.74 million"),
        ("She had twelve brothers.", "twelve"),
        ("Twenty-four ships sailed.", "Twenty-four"),
    ],
)
def test_numbers_are_found(text: str, number: str) -> None:
    assert number in found(text, Expected.NUMBER)


def test_a_year_is_a_date_and_no_number() -> None:
    assert found("It happened in 1066, or later.", Expected.NUMBER) == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Under their leader Rollo they settled.", "Rollo"),
        ("King Charles of France agreed.", "King Charles of France"),
        ("Braddock led the march.", "Braddock"),
        ("Nixon named William E. Simon then.", "William E. Simon"),
        ("The army of William the Conqueror landed.", "William the Conqueror"),
    ],
)
def test_names_are_found(text: str, name: str) -> None:
    assert name in found(text, Expected.PERSON)


def test_the_capital_of_a_common_first_word_says_nothing() -> None:
    text = "Soldiers went home."
    assert find_names(tokenize(text), text) == ()


def test_names_with_a_comma_between_them_are_two() -> None:
    text = "He met Anna, Peter and Paul."
    assert [text[a:b] for a, b in find_names(tokenize(text), text)] == ["Anna", "Peter and Paul"]


def test_a_place_is_a_name_after_a_word_of_place() -> None:
    assert found("Rollo settled in Normandy with Gisela.", Expected.PLACE) == ["Normandy"]
    assert "under the old bed" in hinted("The cat slept under the old bed.", Expected.PLACE)


def test_reasons_run_to_the_end_of_their_clause() -> None:
    assert found("He wept because the well was dry; nobody came.", Expected.REASON) == [
        "because the well was dry"
    ]
    assert hinted("He went out so he could see.", Expected.REASON)


def test_feelings_and_speech_are_found() -> None:
    assert found("The boy was delighted with it.", Expected.FEELING) == ["delighted"]
    assert found("“Come in,” said the wolf.", Expected.SPEECH)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The next morning they left.", Expected.DATE),
        ("They stopped when the bridge broke.", Expected.DATE),
        ("Several ships sank.", Expected.NUMBER),
        ("The old king laughed.", Expected.PERSON),
    ],
)
def test_phrases_that_may_answer_are_hinted_at(text: str, expected: Expected) -> None:
    assert hinted(text, expected)
    assert not found(text, expected)


@given(st.text(max_size=200), st.sampled_from(Expected))
def test_spans_lie_within_the_text(text: str, expected: Expected) -> None:
    words = tokenize(text)
    for a, b in (*find_sure(text, expected, words), *find_loose(text, expected, words)):
        assert 0 <= a < b <= len(text)


def test_a_question_that_expects_nothing_finds_nothing() -> None:
    assert found("In 1066 William won.", Expected.ANYTHING) == []
    assert hinted("In 1066 William won.", Expected.ANYTHING) == []
