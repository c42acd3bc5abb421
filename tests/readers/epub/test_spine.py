"""One document of the spine: what it is, where its entries begin, what it is called without them."""

from __future__ import annotations

import pytest

from octavo.limits import Limits
from octavo.readers.epub.package import TocEntry
from octavo.readers.epub.spine import find_kinds, is_wrapper, place_document
from octavo.readers.html.dom import parse_page, read_page
from octavo.readers.outline import Outline
from octavo.readers.pages import HtmlPage

SENTENCE = "It was a bright cold day in April, and the clocks of the town were striking thirteen."


def parse_body(body: str, *, title: str = "") -> HtmlPage:
    return read_page(parse_page(f"<title>{title}</title><body>{body}", Limits(), name="p"), site=False)


def place_all(
    *bodies: tuple[str, list[TocEntry]], kinds: frozenset[str] = frozenset()
) -> list[tuple[str, ...]]:
    outline = Outline()
    for number, (body, entries) in enumerate(bodies):
        place_document(
            outline, parse_body(body), path=f"{number}.xhtml", entries=entries, kinds=kinds, title="Book"
        )
    return [s.heading_path for s in outline.build_sections(title="Book")]


def make_entry(fragment: str, *path: str) -> TocEntry:
    return TocEntry(path, "0.xhtml", fragment)


def test_kinds_come_from_the_document_and_the_guide() -> None:
    given = [{"epub:type": "frontmatter dedication"}, {"role": "doc-epigraph"}, {"class": "x"}]
    assert find_kinds(given, "Cover") == {"cover", "frontmatter", "dedication", "epigraph"}
    assert find_kinds([], "") == frozenset()


@pytest.mark.parametrize(
    ("body", "kinds", "path", "expected"),
    [
        ("<img src=c.png>", {"cover"}, "x.xhtml", True),
        ("<p>A Novel</p>", set(), "text/cover.xhtml", True),
        (f"<p>{SENTENCE}</p>", {"cover"}, "cover.xhtml", False),
        ("<h1>Book</h1><p>A. Writer</p>", {"titlepage"}, "x.xhtml", True),
        ("<h1>Book</h1><p>A. Writer</p>", set(), "titlepage.xhtml", True),
        (f"<h1>Book</h1><p>{SENTENCE}</p>", {"titlepage"}, "x.xhtml", False),
        ("<p><a href=a>One long line of contents</a></p>", set(), "x.xhtml", True),
        ("<h1>Book</h1>", set(), "bk01.xhtml", True),
        ("<h1>Part One</h1>", set(), "part1.xhtml", False),
        ("<p>© 1949</p>", {"copyright-page"}, "c.xhtml", False),
    ],
)
def test_wrapping_is_told_from_text(body: str, kinds: set[str], path: str, expected: bool) -> None:
    assert is_wrapper(parse_body(body), frozenset(kinds), path, title="Book") is expected


def test_the_books_own_title_above_all_entries_is_left_out() -> None:
    entries = [make_entry("", "Book", "One"), make_entry("b", "Book", "Two")]
    assert place_all(("<p>x</p><p id=b>y</p>", entries)) == [("One",), ("Two",)]


def test_an_entry_whose_fragment_is_nowhere_begins_with_the_one_before() -> None:
    entries = [make_entry("a", "A"), make_entry("lost", "Lost"), make_entry("b", "B")]
    body = "<p id=a>first of all</p><p>second</p><p id=b>third</p>"
    assert place_all((body, entries)) == [("A",), ("Lost",), ("B",)]


def test_entries_are_placed_where_they_stand_not_as_they_are_listed() -> None:
    entries = [make_entry("b", "B"), make_entry("a", "A")]
    assert place_all(("<p>lead</p><p id=a>x</p><p id=b>y</p>", entries)) == [("Book",), ("A",), ("B",)]


def test_an_id_after_the_last_word_still_makes_an_entry() -> None:
    assert place_all(("<p>x</p><p>y</p><div id=end></div>", [make_entry("end", "End")])) == [
        ("Book",),
        ("End",),
    ]


def test_a_document_without_entry_or_heading_goes_on_with_the_chapter() -> None:
    assert place_all(("<p>x</p>", [make_entry("", "One")]), ("<p>y</p>", [])) == [("One",)]


def test_a_document_that_says_what_it_is_needs_no_heading() -> None:
    assert place_all(("<p>For my mother.</p>", []), kinds=frozenset({"dedication"})) == [("Dedication",)]


def test_a_first_document_is_called_by_its_title() -> None:
    outline = Outline()
    made = parse_body("<p>x</p>", title="A Word Before")
    place_document(outline, made, path="0.xhtml", entries=[], kinds=frozenset(), title="Book")
    assert [s.heading_path for s in outline.build_sections(title="Book")] == [("A Word Before",)]


def test_a_page_list_may_name_the_start_of_a_file() -> None:
    outline = Outline()
    place_document(
        outline,
        parse_body("<h1>One</h1><p>x</p>"),
        path="0.xhtml",
        entries=[],
        kinds=frozenset(),
        title="Book",
        first_label="xii",
    )
    (section,) = outline.build_sections(title="Book")
    assert [(m.offset, m.number, m.label) for m in section.pages] == [(0, 1, "xii")]
