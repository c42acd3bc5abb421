"""Words with their places, their stems and their weight."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.text.english import (
    are_alike,
    collect_stems,
    find_stems,
    is_known,
    is_ordinary,
    list_words,
    measure_rarity,
    stem,
    tokenize,
    write_out,
)


@given(st.text(max_size=300))
def test_every_token_stands_where_it_says(text: str) -> None:
    found = tokenize(text)
    assert all(text[t.start : t.end] == t.text for t in found)
    assert all(one.end <= other.start for one, other in itertools.pairwise(found))
    assert collect_stems(text) == {t.stem for t in found}


@given(st.text(min_size=1, max_size=40))
def test_stems_are_in_lower_case_and_never_fail(word: str) -> None:
    assert stem(word) == stem(word.lower())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cities", "city"),
        ("writes", "wrote"),
        ("writing", "written"),
        ("began", "begins"),
        ("planned", "planning"),
        ("kings", "king's"),
        ("king’s", "king"),
        ("carried", "carry"),
        ("women", "woman"),
        ("children", "child"),
        ("churches", "church"),
        ("created", "creating"),
        ("1,000", "1000"),
        ("1960s", "1960"),
    ],
)
def test_forms_of_a_word_share_its_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize(
    ("one", "other"), [("class", "clas"), ("bus", "bu"), ("thing", "th"), ("1999", "1998"), ("king", "ring")]
)
def test_different_words_keep_different_stems(one: str, other: str) -> None:
    assert stem(one) != stem(other)


@pytest.mark.parametrize(
    ("one", "other"), [("establish", "establishment"), ("invad", "invader"), ("norman", "normandy")]
)
def test_derived_words_are_alike(one: str, other: str) -> None:
    assert are_alike(one, other)
    assert are_alike(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [("cat", "cats"), ("north", "south"), ("interest", "internal"), ("person", "personification")],
)
def test_words_with_little_in_common_are_not_alike(one: str, other: str) -> None:
    assert not are_alike(one, other)


@given(st.text(min_size=1, max_size=12), st.text(min_size=1, max_size=12))
def test_being_alike_goes_both_ways(one: str, other: str) -> None:
    assert are_alike(one, other) == are_alike(other, one)


def test_rare_words_weigh_more_than_common_ones() -> None:
    assert measure_rarity("the") == 0.0
    assert measure_rarity("the") < measure_rarity("king") < measure_rarity("xylophon") == 1.0


def test_numbers_and_stop_words_know_themselves() -> None:
    the, year, battle = tokenize("The 1066 battle")
    assert the.stop
    assert the.capital
    assert year.number
    assert not year.stop
    assert not battle.capital
    assert not battle.number


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It cost $3.50, or 1,200 yen.", ["It", "cost", "3.50", "or", "1,200", "yen"]),
        ("The 11th and 12th centuries", ["The", "11th", "and", "12th", "centuries"]),
        ("the king's don’t-care air", ["the", "king's", "don’t", "care", "air"]),
        ("2.5kg, 5kg and read_line2", ["2", "5kg", "5kg", "and", "read", "_line2"]),
    ],
)
def test_numbers_and_apostrophes_stay_whole(text: str, words: list[str]) -> None:
    assert [t.text for t in tokenize(text)] == words


def test_the_lists_are_there_and_in_lower_case() -> None:
    for name in (
        "stop",
        "stop_in_questions",
        "stop_in_claims",
        "irregular",
        "opposites",
        "opposites_in_questions",
        "opposites_in_claims",
        "auxiliaries",
        "people",
        "place_leads",
        "extremes",
        "not_extremes",
    ):
        assert list_words(name)
        assert all(entry == entry.lower() for entry in list_words(name))


@pytest.mark.parametrize("name", ["stop", "opposites"])
def test_an_addition_to_a_list_repeats_nothing_of_it(name: str) -> None:
    for addition in (f"{name}_in_questions", f"{name}_in_claims"):
        assert list_words(name).isdisjoint(list_words(addition))
        assert list_words(name, addition) == list_words(name) | list_words(addition)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He can’t and won't.", "He can not and will not."),
        ("_Don't_ read_line", " Do not  read line"),
        ("the king’s", "the king's"),
    ],
)
def test_contractions_are_written_out(text: str, expected: str) -> None:
    assert write_out(text) == expected


@given(text=st.text(alphabet="ab1 2._'’,;k²٣é%-(s\n", max_size=200))
def test_stems_collected_at_once_are_those_of_the_words(text: str) -> None:
    assert collect_stems(text) == {token.stem for token in tokenize(text)}


WORDS = (
    *("cities", "city", "Wrote", "writing", "king’s", "KINGS", "sailors'", "1,200", "1200s", "2.5kg", "21st"),
    *("_line", "read_line", "Straße", "İs", "ΟΔΟΣ", "\N{KELVIN SIGN}in", "kin", "o’brien", "went", "goes"),
    *("(ship)", "ship—ships", "“Ship!”", "shipped", "y", "ing", "ties", "tie", "was", "x" * 70 + "-ship"),
)


@given(
    text=st.lists(st.sampled_from(WORDS) | st.text(max_size=8), max_size=12).map(" ".join),
    wanted=st.lists(st.sampled_from(WORDS) | st.text(min_size=1, max_size=5), max_size=6),
)
def test_the_stems_found_are_those_that_the_text_has(text: str, wanted: list[str]) -> None:
    stems = {token.stem for word in wanted for token in tokenize(word)} | {stem(word) for word in wanted}
    assert find_stems(text, stems) == collect_stems(text) & stems


@pytest.mark.parametrize("word", ["yesterday", "quark", "causal", "Causal", "dessert", "quarks"])
def test_words_of_prose_are_known(word: str) -> None:
    assert is_known(word)
    assert is_ordinary(word.lower())


@pytest.mark.parametrize("name", ["Charles", "christina", "Newton"])
def test_common_names_are_known_but_not_ordinary(name: str) -> None:
    assert is_known(name)
    assert not is_ordinary(name.lower())


@pytest.mark.parametrize("word", ["Leavitt", "recieve", "beggining", "telescpoe"])
def test_misspelt_words_and_rare_names_are_not_known(word: str) -> None:
    assert not is_known(word)
    assert not is_ordinary(word.lower())


def test_a_word_is_known_by_its_other_forms() -> None:
    # Only "summarised" is listed.
    assert is_known("summarise")
    assert not is_ordinary("summarise")
