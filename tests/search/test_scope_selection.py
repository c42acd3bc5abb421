"""A reader's selection is found at its real place, however the page showed it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import InvalidValue, NotFound
from octavo.library import Library
from octavo.records.catalogue import Records
from octavo.search.scope import ScopeResolver, locate_selection
from octavo.testing import TinyEmbedder
from octavo.types import Question, Scope, ScopeType
from tests.support import small_books
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


@pytest.mark.parametrize(
    ("selected", "recurs"), [("I", False), ("went", False), ("how", True), ("never", True)]
)
def test_a_place_says_whether_the_same_words_stand_elsewhere(selected: str, recurs: bool) -> None:
    sections = [make_section(text=TEXT), make_section("s2", text="Never ask how.")]
    place = locate_selection(selected, sections)
    assert place is not None
    assert place.recurs == recurs


async def test_a_selection_that_names_its_place_is_read_there(tmp_path: Path) -> None:
    parts = {"One": "The gull cried. It was cold.", "Two": "Rain fell. The gull cried."}
    file = small_books.write_markdown(tmp_path / "gull.md", parts, title="Gull")
    async with Library.open(tmp_path / "l", embedder=TinyEmbedder()) as library:
        book = await library.add(file)
        one, two = (s for s in await library.contents(book.id) if s.title in parts)

        async def sum_up(place: str, text: str | None = None) -> list[tuple[str, int]]:
            scope = Scope(type=ScopeType.SELECTION, identifier=place)
            asked = Question(content="tl;dr", book_id=book.id, scope=scope, selected_text=text)
            return [(c.chunk.section_id, c.start) for c in (await library.ask(asked)).citations]

        at = two.text.index("The gull")
        for name in (two.id, two.url):
            assert await sum_up(f"{name}#char={at},{at + 14}", "The gull cried") == [(two.id, at)]
        # Another text than the place has is looked for.
        whole = f"{two.id}#char={at - 11},{at + 15}"
        assert await sum_up(whole, "Rain fell.") == [(two.id, at - 11)]
        assert await sum_up(whole, "Rain fell. The gull cried") == [(two.id, at - 11), (two.id, at)]
        assert await sum_up(whole) == [(two.id, at - 11), (two.id, at)]
        assert await sum_up(whole, "It was cold.") == [(one.id, one.text.index("It"))]
        with pytest.raises(InvalidValue, match="too short to stand alone"):
            await sum_up(whole, "—")
        # The page was open while the book was read again, and its section is gone.
        assert await sum_up("gone#char=0,12", "It was cold.") == [(one.id, one.text.index("It"))]
        with pytest.raises(NotFound):
            await sum_up("gone#char=0,12")
        for wrong in ("#char=900,910", "#char=7,7"):
            with pytest.raises(InvalidValue, match="must be characters of the section"):
                await sum_up(two.id + wrong)


async def test_a_cut_selection_whose_place_has_moved_is_not_answered_from_its_beginning(
    tmp_path: Path,
) -> None:
    told = " ".join(f"Gull number {n} cried over the cold water." for n in range(40))
    file = small_books.write_markdown(tmp_path / "gull.md", {"One": told}, title="Gull")
    async with Library.open(tmp_path / "l", embedder=TinyEmbedder()) as library:
        book = await library.add(file)
        one = next(s for s in await library.contents(book.id) if s.title == "One")
        beginning = one.text[:490]

        async def select(place: str, text: str) -> int:
            scope = Scope(type=ScopeType.SELECTION, identifier=place)
            asked = Question(content="tl;dr", book_id=book.id, scope=scope, selected_text=text)
            bounds = await ScopeResolver(Records(library.database)).resolve_question(asked)
            assert bounds.within is not None
            return bounds.within.end

        assert await select(f"{one.id}#char=0,1200", beginning) == 1200
        for stale in (f"{one.id}#char=100,1300", "gone#char=0,1200"):
            with pytest.raises(InvalidValue, match="select again"):
                await select(stale, beginning)
            # What was sent whole is looked for.
            assert await select(stale, "Gull number 3 cried") == one.text.index("3 cried") + 7
