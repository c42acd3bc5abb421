"""Noun phrases: where they begin and end, and what they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.text.phrases import find_coordinated, find_phrases


@given(st.text(max_size=200))
def test_every_phrase_is_a_piece_of_the_text(text: str) -> None:
    assert all(phrase.text in text and phrase.text for phrase in find_phrases(text))


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("Is the whale white?", ["the whale"]),
        ("Where does Captain Ahab live?", ["Captain Ahab"]),
        ("Who won the Battle of Hastings?", ["the Battle of Hastings", "Hastings"]),
        ("Who met Ahab's wife in Nantucket?", ["Ahab's wife", "Ahab", "Nantucket"]),
        ("Which country is it?", []),
        ("What did his mother say?", []),
    ],
)
def test_a_question_has_phrases(text: str, phrases: list[str]) -> None:
    assert [phrase.text for phrase in find_phrases(text)] == phrases


@pytest.mark.parametrize(
    ("text", "sort", "plural"),
    [
        ("Did the old king flee?", "he", False),
        ("Did Queen Victoria flee?", "she", False),
        ("Do the bears sleep?", "beast", True),
        ("Did they meet in London?", "place", False),
        ("Do bears eat in winter?", "time", False),
        ("Did the police come?", "group", True),
        ("Is the bridge old?", "", False),
    ],
)
def test_a_phrase_knows_roughly_what_it_is(text: str, sort: str, plural: bool) -> None:
    phrase = next(p for p in find_phrases(text) if p.sort == sort)
    assert phrase.plural is plural


def test_two_phrases_may_be_joined() -> None:
    ((one, other),) = find_coordinated("Who is older, Ishmael or Queequeg?", "and", "or")
    assert (one.text, other.text) == ("Ishmael", "Queequeg")
