"""A long text is told by sentences that each add something, from all of its stretches."""

from __future__ import annotations

import pytest

from octavo.text.bookmap import coverage
from octavo.text.bookmap.coverage import (
    FEWEST_SECTIONS,
    SectionWords,
    Statement,
    choose_covering,
    count_sections,
)

ALONE = SectionWords(1, {})


def make(*texts: str) -> list[Statement]:
    return [Statement(text, len(text.split()), opens=number == 0) for number, text in enumerate(texts)]


def choose(*texts: str, most: int, words: int = 170, book: SectionWords = ALONE) -> list[str]:
    return [texts[n] for n in choose_covering(make(*texts), most=most, words=words, book=book)]


def test_the_choice_reaches_the_end_however_long_the_first_sentences_are() -> None:
    long = "The harbour master of Saltmere counted barrels and rope and canvas" + " and barrels and rope" * 8
    begins = [f"{long} in the winter of year {number}." for number in range(6)]
    ends = "The schooner burned at anchor, and the pilot drowned beside the lighthouse."
    assert ends in choose(*begins, *begins, ends, most=4, words=120)


def test_a_word_that_was_told_is_not_worth_telling_again() -> None:
    first = "The harbour light of Saltmere burns from dusk until the morning."
    again = "The harbour light of Saltmere burns from dusk until the sunrise."
    other = "A schooner brings barrels of lamp oil to the pier once a month."
    assert choose(first, again, other, most=2) == [first, other]


def test_what_other_sections_say_too_says_little_of_this_one() -> None:
    everywhere = "The harbour master stood beside the harbour wall of Saltmere at noon."
    own = "The schooner struck the northern reef near the lantern rock at noon."
    book = count_sections([everywhere] * 9 + [own])
    assert choose("Morning came.", everywhere, own, most=1, book=book) == [own]
    assert choose("Morning came.", everywhere, own, everywhere, most=1) == [everywhere]


def test_of_a_very_large_book_only_some_sections_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "MOST_COUNTED", 1_000)
    book = count_sections(
        [f"The harbour of town number {number} lies in the north." for number in range(100)]
    )
    assert FEWEST_SECTIONS <= book.sections < 30


def test_speech_is_chosen_after_what_is_told() -> None:
    told = "The harbour light of Saltmere stands on the northern point of the bay."
    said = Statement(
        "The harbour light of Saltmere stands on the southern point of the bay.", 13, spoken=True
    )
    chosen = choose_covering(
        [*make("Dawn came."), said, *make(told)[:1]], most=1, words=50, book=SectionWords(1, {})
    )
    assert chosen == (2,)


def test_a_text_of_one_sentence_that_is_too_long_is_still_told() -> None:
    long = f"The harbour master counted {'barrels and rope and ' * 60}canvas."
    assert choose(long, most=3, words=100) == [long]
    assert choose(most=3) == []
    assert choose(long, most=0) == []
    told = ["The schooner burned at anchor."]
    assert choose_covering(make(long), most=3, words=100, book=ALONE, told=told) == ()
    assert choose("The harbour master has all these parts and lamps:", most=3) == []
