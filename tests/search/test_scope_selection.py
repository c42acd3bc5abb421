"""A reader's selection is found at its real place, however the page showed it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.search.scope import locate_selection
from tests.support.builders import make_section

TEXT = "“Call me Ishmael,” he said.\nSome years ago — never mind how long pre-\ncisely — I went to sea."


@pytest.mark.parametrize(
    ("selected", "expected"),
    [
        ('"Call me Ishmael," he said', "Call me Ishmael,” he said"),
        ("some years ago - never mind", "Some years ago — never mind"),
        ("how long precisely", "how long pre-\ncisely"),
        ("  I\twent\r\nto   sea.  ", "I went to sea"),
        ("mind", "mind"),
    ],
)
def test_quotes_dashes_hyphens_and_line_ends_do_not_hide_a_place(selected: str, expected: str) -> None:
    place = locate_selection(selected, [make_section(text="Other words."), make_section("s2", text=TEXT)])
    assert place is not None
    assert (place.section.id, place.text) == ("s2", expected)


@pytest.mark.parametrize("selected", ["a white whale", "", " …— ", "Ishmael Call me"])
def test_what_the_book_does_not_have_is_nowhere(selected: str) -> None:
    assert locate_selection(selected, [make_section(text=TEXT)]) is None


def test_whole_words_come_before_parts_of_words_and_the_first_place_before_later_ones() -> None:
    sections = [
        make_section("s1", text="The part of the artist."),
        make_section("s2", text="Is it art? It is art."),
    ]
    place = locate_selection("art", sections)
    assert place is not None
    assert (place.section.id, place.start) == ("s2", 6)
    partly = locate_selection("artis", sections)
    assert partly is not None
    assert partly.section.id == "s1"


@given(st.text(min_size=1, max_size=60), st.text(max_size=30), st.text(max_size=30))
def test_any_stretch_of_letters_is_found_with_the_same_letters(middle: str, before: str, after: str) -> None:
    text = f"{before} {middle} {after}".replace("\x00", "").encode("utf-8", "ignore").decode()
    letters = [c for c in middle if c.isascii() and c.isalnum()]
    place = locate_selection("".join(letters), [make_section(text=text)]) if letters else None
    if place is not None:
        assert [c.casefold() for c in place.text if c.isalnum()] == [c.casefold() for c in letters]


def test_ten_thousand_letters_that_almost_match_take_no_time() -> None:
    assert locate_selection("a" * 500 + "b", [make_section(text="a " * 10_000)]) is None
