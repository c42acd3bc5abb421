"""The words of a query: what it sets as code counts more, and what is common in prose counts less."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.store.bm25 import CODE_WEIGHT, COMMON_WEIGHT, Bm25Encoder

words = Bm25Encoder()


def index(word: str) -> int:
    (found,) = words.encode_query(word)
    return found


def weigh(word: str) -> float:
    """What a word counts that is not set as code."""
    return words.encode_query(word)[index(word)]


@pytest.mark.parametrize(
    "query",
    [
        "how does `borrow` work",
        "how does ``borrow`` work",
        "what is wrong here? ```rust borrow ``` it fails to work",
        "`borrow` and `borrow` and work",
    ],
)
def test_words_between_backticks_count_more(query: str) -> None:
    weights = words.encode_query(query)
    assert weights[index("borrow")] == CODE_WEIGHT
    assert weights[index("work")] == weigh("work") < 1.0


@pytest.mark.parametrize(
    "query",
    [
        "how does borrow work",
        "how does `borrow work",
        "how does ``borrow` work",
        "why don`t they borrow and can`t they work",
        "``borrow'' or ``work''",
    ],
)
def test_what_is_not_closed_marks_nothing(query: str) -> None:
    weights = words.encode_query(query)
    assert {word: weights[index(word)] for word in ("borrow", "work")} == {
        word: weigh(word) for word in ("borrow", "work")
    }
    assert max(weights.values()) <= 1.0


@given(st.text(st.sampled_from("ab `é日\n'x"), max_size=40))
def test_backticks_change_no_words_only_what_they_count(query: str) -> None:
    marked, plain = words.encode_query(query), words.encode_query(query.replace("`", " "))
    assert list(marked) == list(plain)
    assert all(weight in (plain[word], CODE_WEIGHT) for word, weight in marked.items())


def test_a_stray_backtick_does_not_turn_the_marking_round() -> None:
    weights = words.encode_query("the ` key and the `borrow` work")
    assert weights[index("borrow")] == CODE_WEIGHT
    assert [weights[index(word)] for word in ("key", "work")] == [weigh("key"), weigh("work")]


def test_what_is_common_in_prose_counts_less_in_a_query() -> None:
    weights = words.encode_query("If the gross margin is of no use, say so and explain why: Nantucket.")
    assert weights[index("nantucket")] == 1.0
    assert COMMON_WEIGHT < weights[index("use")] < weights[index("explain")] < weights[index("margin")] <= 1.0


@given(st.text(max_size=60))
def test_a_word_of_a_query_never_counts_less_than_the_commonest(query: str) -> None:
    assert all(COMMON_WEIGHT <= weight <= CODE_WEIGHT for weight in words.encode_query(query).values())


def test_only_english_prose_says_what_is_common() -> None:
    assert set(words.encode_query("work explain use", languages=("de",)).values()) == {1.0}


def test_a_passage_counts_its_words_with_or_without_backticks() -> None:
    assert words.encode_document("call `borrow` twice") == words.encode_document("call  borrow  twice")


@pytest.mark.parametrize(
    ("language", "text", "query"),
    [
        ("de", "Die Häuser und ihre Übungen", "haus ubung"),
        ("fr", "les téléphones installés", "telephone installer"),
        ("ru", "виртуальные пакеты", "виртуальный пакет"),
        ("zh", "操作系统安装手册。", "安装手册"),
        ("ja", "インストールガイドです", "ガイド"),
        ("ko", "패키지를 보류하려면", "패키지"),
        ("ur", "۱۲ کتابیں", "12 کتابیں"),
        ("th", "ดวงจันทร์", "จันทร์"),
        ("pl", "instalacja pakietów", "instalacja"),
    ],
)
def test_a_query_finds_the_words_of_its_language(language: str, text: str, query: str) -> None:
    stored = words.encode_document(text, language=language)
    assert words.encode_query(query, languages=(language,)).keys() <= stored.keys()


def test_a_query_for_several_languages_has_the_words_of_each() -> None:
    both = words.encode_query("installierte Pakete", languages=("", "de"))
    assert both.keys() == words.encode_query("installierte Pakete").keys() | (
        words.encode_query("installierte Pakete", languages=("de",)).keys()
    )


def test_english_words_weigh_what_they_always_did() -> None:
    assert words.encode_document("the running dogs") == {
        243905464: pytest.approx(1.6730037927627563, abs=0),
        1312749093: pytest.approx(1.6730037927627563, abs=0),
    }


@pytest.mark.parametrize(
    ("word", "counted_as"),
    [
        ("ships", "ship"),
        ("galaxies", "galaxi"),
        ("hoping", "hope"),
        ("augustal", "august"),
        ("leavitt", "leavitt"),
    ],
)
def test_the_stem_of_a_word_is_what_it_is_counted_as(word: str, counted_as: str) -> None:
    assert words.find_stem(word) == counted_as


def test_a_stop_word_is_not_counted() -> None:
    assert words.index_word("the") == ()
    assert words.index_word("ship") == words.index_word("ships") == (index("ships"),)
