"""Words and marks as the rules for paraphrases see them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.verification.lexemes import (
    find_decisive,
    has_verb,
    is_agent,
    is_among,
    is_circumstance,
    is_passive,
    is_repeated_time,
    read_lexemes,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The 21st, 2.5kg: 50%", ["The", "21", "st", ",", "2.5", "kg", ":", "50"]),
        ("He can't, and _don't_ ask.", ["He", "can", "not", ",", "and", "do", "not", "ask"]),
        ("No one came along with the king’s men.", ["nobody", "came", "with", "the", "king's", "men"]),
        ("There are ten in all.", ["There", "are", "ten"]),
    ],
)
def test_a_text_has_words_and_marks(text: str, expected: list[str]) -> None:
    assert [lexeme.raw for lexeme in read_lexemes(text)] == expected


@given(st.text(max_size=80))
def test_every_lexeme_has_something_to_compare(text: str) -> None:
    assert all(lexeme.raw and lexeme.key for lexeme in read_lexemes(text))


def test_forms_of_a_word_and_ways_to_write_a_number_are_the_same() -> None:
    (wrote, seven, one) = read_lexemes("wrote seven one")
    assert is_among(wrote, read_lexemes("she writes"))
    assert is_among(seven, read_lexemes("7 boats"))
    assert not is_among(one, read_lexemes("1 boat"))


@pytest.mark.parametrize(
    ("text", "verb"),
    [("The pier fell", True), ("The old harbour master", False), ("Grey built it", True), ("It is", True)],
)
def test_a_statement_has_a_verb_and_a_name_has_none(text: str, verb: bool) -> None:
    assert has_verb(read_lexemes(text)) is verb


def test_small_words_tell_what_the_others_are() -> None:
    text = read_lexemes("In winter the tower was never built by Grey every evening")
    places = {lexeme.low: place for place, lexeme in enumerate(text)}
    assert is_circumstance(text, places["winter"])
    assert is_passive(text, places["built"])
    assert is_agent(text, places["grey"])
    assert is_repeated_time(text, places["evening"])
    assert find_decisive(text) == ["not", "all"]
