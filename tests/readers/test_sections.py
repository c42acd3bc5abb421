"""From pieces of a page to places in the contents."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from octavo.readers.sections import PageSection, build_chapter, find_page_title, merge_sections, nest_sections
from octavo.types import Span


def piece(level: int, title: str, text: str = "") -> PageSection:
    return PageSection(level, title, title.lower(), text)


def test_headings_stand_under_the_nearest_that_ranks_higher() -> None:
    made = nest_sections(
        [piece(2, "A"), piece(4, "B"), piece(3, "C"), piece(2, "D")], path=("X",), source_file="x.md"
    )
    assert [s.heading_path for s in made] == [("X", "A"), ("X", "A", "B"), ("X", "A", "C"), ("X", "D")]


def test_the_top_heading_of_a_page_is_the_chapter_itself() -> None:
    made = build_chapter(
        [piece(0, "", "intro"), piece(1, "T", "text"), piece(2, "S")],
        path=("T",),
        source_file="t.md",
        url="t",
    )
    assert [(s.heading_path, s.text, s.anchor, s.url) for s in made] == [
        (("T",), "intro\n\ntext", "t", "t"),
        (("T", "S"), "", "s", "t"),
    ]


def test_a_lower_heading_above_all_others_is_the_chapter_too() -> None:
    made = build_chapter(
        [piece(0, ""), piece(2, "Install"), piece(3, "Linux")], path=("Setup",), source_file="s.md"
    )
    assert [s.heading_path for s in made] == [("Setup",), ("Setup", "Linux")]


def test_a_heading_with_equals_beside_it_stays_inside_the_chapter() -> None:
    made = build_chapter([piece(0, ""), piece(2, "A"), piece(2, "B")], path=("Setup",), source_file="s.md")
    assert [s.heading_path for s in made] == [("Setup",), ("Setup", "A"), ("Setup", "B")]


def test_a_page_of_docusaurus_has_no_id_on_its_title() -> None:
    made = build_chapter([piece(0, ""), piece(1, "A", "x")], path=("A",), source_file="a.md", anchored=False)
    assert made[0].anchor == ""


def test_blocks_move_with_their_text_when_pieces_join() -> None:
    first, second = (
        PageSection(0, "", "", "one", (Span(0, 3),)),
        PageSection(1, "T", "t", "two", (Span(0, 3),)),
    )
    joined = merge_sections([first, second])
    assert [joined.text[b.start : b.end] for b in joined.blocks] == ["one", "two"]


def test_a_page_calls_itself_by_its_top_heading_or_the_one_above_all() -> None:
    assert find_page_title([piece(0, ""), piece(2, "A"), piece(1, "B")]) == "B"
    assert find_page_title([piece(0, ""), piece(2, "A"), piece(3, "B")]) == "A"
    assert find_page_title([piece(0, ""), piece(2, "A"), piece(2, "B")]) == ""
    assert find_page_title([piece(0, "")]) == ""


@given(st.lists(st.integers(1, 6), max_size=30))
def test_every_section_has_its_own_title_last_and_a_known_parent(levels: list[int]) -> None:
    made = nest_sections(
        [piece(level, f"h{n}") for n, level in enumerate(levels)], path=("X",), source_file="x"
    )
    known: set[tuple[str, ...]] = {("X",)}
    for section in made:
        assert section.heading_path[-1] == section.title
        assert section.heading_path[:-1] in known
        known.add(section.heading_path)
