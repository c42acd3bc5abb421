"""The words of a text as they are compared: numbers by value, the rest by stem."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.verification.words import (
    list_opposites,
    list_stems,
    normalise,
    read_words,
    split_words,
    stem_words,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [("21st", "21"), ("1,000", "1000"), ("2.50", "2.5"), ("007", "7"), ("café", "cafe"), ("seven", "7")],
)
def test_what_means_the_same_is_compared_alike(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(("one", "other"), [("1851", "1861"), ("seven", "nine"), ("2.5", "25"), ("0", "10")])
def test_different_numbers_stay_different(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He can't, won’t and didn't.", ["He", "can", "not", "will", "not", "and", "did", "not"]),
        ("65% of 1,200", ["65", "%", "of", "1,200"]),
        ("the 21st, 5kg and 2.5kg", ["the", "21st", "5", "kg", "and", "2", "5", "kg"]),
        ("the king's _read_line_", ["the", "king", "s", "read", "line"]),
        ("鯨は白い", ["鯨は", "は白", "白い"]),
        ("", []),
    ],
)
def test_a_text_is_split_into_its_words(text: str, expected: list[str]) -> None:
    assert split_words(text) == expected


def test_numbers_of_several_words_count_as_one() -> None:
    assert stem_words(["twenty", "one"]) == ["21", "21"]
    assert stem_words(["5.2", "million"]) == ["5200000", "5200000"]
    assert stem_words(["one", "twenty"]) == ["1", "20"]


def test_a_word_knows_its_clause_and_its_kind() -> None:
    words = {w.raw: w for w in read_words("The ship left Nantucket in 1841, but nobody saw it.")}
    assert words["Nantucket"].name
    assert words["1841"].number
    assert not words["The"].content
    assert words["ship"].clause == words["1841"].clause < words["nobody"].clause


@given(st.text(max_size=80))
def test_every_text_has_words_with_something_to_compare(text: str) -> None:
    assert all(word.stem for word in read_words(text))


def test_opposites_go_both_ways_and_lists_are_there() -> None:
    assert all((b, a) in list_opposites() for a, b in list_opposites())
    assert "not" in list_stems("negations")
