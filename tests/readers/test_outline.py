"""Pieces into sections: where they begin, what they are called, and which page they stand on."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.readers.outline import Outline
from octavo.readers.pages import Heading, PageBreak, Piece, Text


def heading(level: int, text: str, *ids: str) -> Heading:
    return Heading(level=level, text=text, ids=ids)


def build_outline(*steps: tuple[str, ...] | Piece, title: str = "Book") -> Outline:
    """An outline after entries (tuples) and pieces, in order."""
    outline = Outline()
    outline.start_document("a.xhtml")
    for step in steps:
        if isinstance(step, tuple):
            outline.enter(step)
        else:
            outline.add([step])
    return outline


def paths(outline: Outline, *, title: str = "Book") -> list[tuple[str, ...]]:
    return [s.heading_path for s in outline.build_sections(title=title)]


def test_headings_nest_by_their_level() -> None:
    steps = [
        heading(1, "A"),
        heading(2, "B"),
        heading(4, "C"),
        heading(3, "D"),
        heading(2, "E"),
        heading(1, "F"),
    ]
    assert paths(build_outline(*steps)) == [
        ("A",),
        ("A", "B"),
        ("A", "B", "C"),
        ("A", "B", "D"),
        ("A", "E"),
        ("F",),
    ]


def test_a_heading_beside_an_entrys_own_stands_beside_the_entry() -> None:
    steps = (("Part", "One"), heading(2, "One"), heading(2, "Beside"), heading(3, "Under"))
    assert paths(build_outline(*steps)) == [("Part", "One"), ("Part", "Beside"), ("Part", "Beside", "Under")]


def test_headings_under_an_entry_without_its_own_stand_under_it() -> None:
    assert paths(build_outline(("One",), Text(text="x"), heading(1, "Big"))) == [("One",), ("One", "Big")]


def test_a_new_document_with_a_heading_ends_an_entry_that_had_none() -> None:
    outline = build_outline(("One",), Text(text="x"))
    outline.start_document("b.xhtml")
    outline.add([heading(1, "Epilogue"), Text(text="y")])
    assert paths(outline) == [("One",), ("Epilogue",)]
    assert [s.source_file for s in outline.build_sections(title="Book")] == ["a.xhtml", "b.xhtml"]


@pytest.mark.parametrize(
    ("entry", "headings"),
    [
        ("Loomings", ["LOOMINGS."]),
        ("Chapter 1. Loomings", ["Chapter 1", "Loomings"]),
        ("1. Loomings", ["Loomings"]),
        ("Loomings", ["Chapter 1: Loomings"]),
        ("II. Friendship", ["2. Friendship"]),
    ],
)
def test_headings_that_say_the_entry_again_are_the_entrys(entry: str, headings: list[str]) -> None:
    outline = build_outline(
        (entry,), *(heading(2, text, "id") for text in headings), Text(text="Call me Ishmael.")
    )
    (section,) = outline.build_sections(title="Book")
    assert (section.heading_path, section.text, section.anchor) == ((entry,), "Call me Ishmael.", "id")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("I", "Hawaii"),
        ("Appendix", "A"),
        ("On", "Introduction"),
        ("Chapter 1", "Chapter 10"),
        ("Chapter 12", "Chapter 1"),
        ("दिन", "दान"),
        ("กา", "กี"),
    ],
)
def test_a_heading_that_only_shares_letters_with_the_entry_is_its_own(entry: str, said: str) -> None:
    assert paths(build_outline((entry,), heading(1, said), Text(text="x"))) == [(entry,), (entry, said)]


def test_a_heading_of_signs_alone_begins_nothing_under_an_entry() -> None:
    outline = build_outline(("One",), heading(2, "* * *"), Text(text="x"))
    assert [(s.heading_path, s.text) for s in outline.build_sections(title="Book")] == [(("One",), "x")]


def test_names_of_files_are_text_that_can_be_stored() -> None:
    outline = Outline()
    outline.start_document("caf\udce9.html", url="caf\udce9.html")
    outline.enter(("One",))
    (draft,) = outline.drafts
    assert (draft.source_file, draft.url) == ("caf\ufffd.html", "caf\ufffd.html")


def test_a_paragraph_that_sets_the_title_is_not_text() -> None:
    outline = build_outline(
        ("Chapter I. The Street",), Text(text="CHAPTER I."), Text(text="The Street"), Text(text="I")
    )
    assert [s.text for s in outline.build_sections(title="Book")] == ["I"]


def test_a_paragraph_that_begins_like_the_title_is_text() -> None:
    outline = build_outline(("The",), Text(text="The street was dark."))
    assert outline.build_sections(title="Book")[0].text == "The street was dark."


def test_text_is_set_with_blank_lines_and_blocks_are_marked() -> None:
    steps = (Text(text="a"), Text(text="- b"), Text(text="- c", tight=True), Text(text="x = 1", block=True))
    section = build_outline(("One",), *steps).build_sections(title="Book")[0]
    assert section.text == "a\n\n- b\n- c\n\nx = 1"
    assert [section.text[b.start : b.end] for b in section.blocks] == ["x = 1"]


def test_pages_run_on_from_section_to_section() -> None:
    steps = (
        ("One",),
        Text(text="before any page"),
        Text(text="on i, on ii", breaks=(PageBreak(0, "i"), PageBreak(6, "ii"))),
        heading(2, "Two"),
        Text(text="still on ii"),
        Heading(level=2, text="Three", breaks=(PageBreak(0, "iii"),)),
        Text(text=""),
        Text(text="", breaks=(PageBreak(0, ""),)),
    )
    outline = build_outline(*steps)
    assert outline.page_count == 4
    marks = [[(m.offset, m.number, m.label) for m in s.pages] for s in outline.build_sections(title="Book")]
    assert marks == [[(17, 1, "i"), (23, 2, "ii")], [(0, 2, "ii")], [(0, 4, None)]]


def test_lines_that_lead_nowhere_are_left_out() -> None:
    steps = (("Book",), ("Contents",), ("Part",), ("Part", "One"), Text(text="x"), ("Empty",))
    assert paths(build_outline(*steps)) == [("Part",), ("Part", "One"), ("Empty",)]


def test_an_entry_that_ends_takes_nothing_more_under_it() -> None:
    outline = build_outline(("Lead",), Text(text="x"))
    outline.leave()
    outline.add([heading(2, "A")])
    assert paths(outline) == [("Lead",), ("A",)]


def test_text_needs_a_place_but_a_page_break_does_not() -> None:
    outline = Outline()
    outline.add([Text(text="", breaks=(PageBreak(0, "1"),))])
    assert outline.page_count == 1
    with pytest.raises(ValueError, match="enter"):
        outline.add([Text(text="homeless")])


words = st.text("ab \n", min_size=1, max_size=12).map(str.strip).filter(bool)
breaks = st.lists(st.integers(0, 1), max_size=2).map(
    lambda given: tuple(PageBreak(o, "p") for o in sorted(given))
)
pieces = st.one_of(
    st.builds(Heading, level=st.integers(1, 6), text=words, breaks=breaks),
    st.builds(Text, text=words, block=st.booleans(), tight=st.booleans(), breaks=breaks),
    st.tuples(words),
    st.tuples(words, words),
)


@settings(deadline=None)
@given(st.lists(pieces, max_size=20))
def test_every_outline_keeps_its_promises(steps: list[tuple[str, ...] | Piece]) -> None:
    outline = build_outline(("Start",), *steps)
    number = 0
    for section in outline.build_sections(title="Book"):
        assert section.heading_path
        assert all(part and part == " ".join(part.split()) for part in section.heading_path)
        offsets = [m.offset for m in section.pages]
        assert offsets == sorted(set(offsets))
        assert all(0 <= o <= len(section.text) for o in offsets)
        assert all(m.number >= number for m in section.pages)
        number = max([number, *(m.number for m in section.pages)])
        ends = 0
        for block in section.blocks:
            assert ends <= block.start < block.end <= len(section.text)
            ends = block.end
    said = [s.text for s in steps if isinstance(s, Text) and len(s.text) > 8]
    text = "\n".join(s.text for s in outline.build_sections(title="Book"))
    entries = {"".join(t.split()) for s in steps if isinstance(s, tuple) for t in s}
    assert all(t in text for t in said if not any(e.startswith("".join(t.split())) for e in entries))
