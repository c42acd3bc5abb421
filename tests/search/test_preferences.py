"""What preferences add, and what they never do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from octavo.errors import InvalidValue
from octavo.search.preferences import NO_PREFERENCES, is_in_language, read_preferences
from octavo.types import Evidence
from tests.support.builders import make_book, make_chunk, make_evidence

EASY = "The sea is big. It is blue. We like it."
HARD = "Oceanographic measurements nevertheless demonstrate considerable equatorial stratification."


def passage(id_: str, content: str, score: float) -> Evidence:
    chunk = replace(make_chunk(), id=id_, content=content, start=0, end=len(content))
    return replace(make_evidence(), chunk=chunk, id=id_, relevance_score=score)


def test_level_and_length_choose_among_equals() -> None:
    found = [passage("easy", EASY, 0.5), passage("hard", HARD, 0.5)]

    def first(**given: object) -> str:
        return read_preferences(given, []).apply(found, top_k=1)[0].chunk.id

    assert first(level="beginner") == first(length="short") == "easy"
    assert first(level="Advanced") == first(length="long") == "hard"


def test_a_preference_does_not_win_over_relevance() -> None:
    found = [passage("easy", EASY, 0.9), passage("hard", HARD, 0.4)]
    everything = {"level": "expert", "length": "long"}
    assert [e.chunk.id for e in read_preferences(everything, []).apply(found, top_k=2)] == ["easy", "hard"]
    assert [e.relevance_score for e in read_preferences(everything, []).apply(found, top_k=2)] == [0.9, 0.4]


def test_without_preferences_nothing_changes() -> None:
    found = [passage("easy", EASY, 0.4), passage("hard", HARD, 0.9)]
    assert NO_PREFERENCES.apply(found, top_k=2) == found
    assert (NO_PREFERENCES.pool_size(5), read_preferences({"theme": "dark"}, [])) == (5, NO_PREFERENCES)
    assert read_preferences({"length": "short"}, []).pool_size(5) == 20


@pytest.mark.parametrize(
    "given", [{"level": "medium"}, {"length": 3}, {"books": 3}, {"sections": [1]}, {"language": 4}]
)
def test_a_wrong_value_is_named(given: dict[str, object]) -> None:
    with pytest.raises(InvalidValue, match=f"user_preferences.{next(iter(given))}"):
        read_preferences(given, [])


def test_a_language_includes_its_regions() -> None:
    british = replace(make_book(), language="en-GB")
    assert is_in_language(british, "en")
    assert is_in_language(british, "EN-gb")
    assert not is_in_language(british, "fr")
