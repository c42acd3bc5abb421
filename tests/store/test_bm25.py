"""The words of a query: what it sets as code counts more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.store.bm25 import CODE_WEIGHT, Bm25Encoder

words = Bm25Encoder()


def index(word: str) -> int:
    (found,) = words.encode_query(word)
    return found


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
    assert weights[index("work")] == 1.0


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
    assert set(words.encode_query(query).values()) == {1.0}


@given(st.text(st.sampled_from("ab `é日\n'x"), max_size=40))
def test_backticks_change_no_words_only_what_they_count(query: str) -> None:
    marked, plain = words.encode_query(query), words.encode_query(query.replace("`", " "))
    assert list(marked) == list(plain)
    assert set(marked.values()) <= {1.0, CODE_WEIGHT}


def test_a_stray_backtick_does_not_turn_the_marking_round() -> None:
    weights = words.encode_query("the ` key and the `borrow` work")
    assert weights[index("borrow")] == CODE_WEIGHT
    assert weights[index("key")] == weights[index("work")] == 1.0


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
