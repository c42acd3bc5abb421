"""Words are found again where they stand, nearest to where they stood."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from octavo.text.relocate import find_again

WORDS = st.lists(st.text("abc.*(", min_size=1, max_size=4), min_size=1, max_size=6)


@given(st.text("abc. (\n", max_size=60), WORDS, st.text("abc. (\n", max_size=60), st.integers(0, 200))
def test_words_that_are_there_are_found_to_the_letter(
    before: str, words: list[str], after: str, near: int
) -> None:
    text = f"{before} {'  '.join(words)} {after}"
    found = find_again(text, " ".join(words), near=near)
    assert found is not None
    assert text[found[0] : found[1]].split() == words


def test_of_several_places_the_nearest_counts() -> None:
    text = "the pier, the pier, the pier"
    assert find_again(text, "the pier", near=9) == (10, 18)
    assert find_again(text, "the pier", near=20) == (20, 28)


def test_words_that_are_gone_are_found_nowhere() -> None:
    assert find_again("the pier", "the harbour", near=0) is None
    assert find_again("the pier", "  ", near=3) is None
