"""Readers say what each part of a text is, where its links lead and which pictures it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.limits import Limits
from octavo.readers import read_book
from octavo.readers.parsed import ParsedBook, ParsedSection
from octavo.readers.parts import MarkedRuns
from octavo.readers.pictures import make_picture
from octavo.types import Element, ElementKind
from octavo.types.markup import check_nesting
from tests.support import illustrated

K = ElementKind


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> tuple[ParsedBook, ParsedBook]:
    chart, boats = illustrated.write_books(tmp_path_factory.mktemp("books"))
    return read_book(chart, Limits()), read_book(boats, Limits())


def find(book: ParsedBook, kind: ElementKind) -> list[tuple[str, Element, ParsedSection]]:
    """The elements of a kind, with their words and their section."""
    return [
        (section.text[e.start : e.end], e, section)
        for section in book.sections
        for e in section.markup
        if e.kind is kind
    ]


def words(book: ParsedBook, kind: ElementKind) -> list[str]:
    return [text for text, _, _ in find(book, kind)]


def follow(book: ParsedBook, element: Element) -> str:
    """The words that a link leads to."""
    number, offset = element.attributes["section"], element.attributes["offset"]
    assert isinstance(number, int)
    assert isinstance(offset, int)
    return book.sections[number].text[offset:]


def test_a_page_keeps_its_inline_elements(books: tuple[ParsedBook, ParsedBook]) -> None:
    page, _ = books
    assert words(page, K.EMPHASIS) == ["tide", "noon"]
    assert words(page, K.STRONG) == ["harbour", "quay"]
    assert words(page, K.INLINE_CODE) == ["tide --now"]
    assert words(page, K.SUBSCRIPT) == ["2"]
    assert words(page, K.SUPERSCRIPT) == ["[1]", "^9"]
    links = find(page, K.LINK)
    assert [text for text, _, _ in links] == ["ropes", "the almanac", "the tides"]
    assert follow(page, links[0][1]).startswith("3. Take a rope.")
    assert links[1][1].attributes["url"] == "https://example.org/x"


def test_a_note_is_found_from_its_reference(books: tuple[ParsedBook, ParsedBook]) -> None:
    page, notes = books
    ((text, reference, _),) = find(page, K.NOTE_REFERENCE)
    assert text == "1"
    assert follow(page, reference).startswith("Measured at noon")
    assert words(page, K.NOTE) == ["Measured at noon by the pilot."]
    ((text, reference, _),) = find(notes, K.NOTE_REFERENCE)
    assert text == "[1]"
    assert follow(notes, reference) == "[1] A note on masts."


def test_a_table_has_rows_cells_and_a_caption(books: tuple[ParsedBook, ParsedBook]) -> None:
    page, marked = books
    assert words(page, K.CAPTION) == ["The map of the harbour.", "Heights of the tide"]
    cells = find(page, K.CELL)
    named = ["Port", "Height", "Northern quay", "four fathoms", "five fathoms"]
    assert [text for text, _, _ in cells] == named
    assert [e.attributes.get("header", 0) for _, e, _ in cells] == [1, 1, 0, 0, 0]
    assert cells[2][1].attributes["rows"] == 2
    assert words(page, K.ROW)[2] == "Northern quay | five fathoms"
    assert words(marked, K.CELL) == ["sail", "size", "jib", "small", "main", "large"]


def test_lists_quotations_code_and_directions(books: tuple[ParsedBook, ParsedBook]) -> None:
    page, marked = books
    outer, inner = find(page, K.LIST)
    assert outer[1].attributes == {"ordered": 1, "start": 3}
    assert inner[1].depth == 2
    assert words(page, K.ITEM) == ["3. Take a rope.\n  - A long one.", "  - A long one.", "4. Tie the knot."]
    assert words(page, K.QUOTATION) == ["No rope is long enough."]
    assert find(page, K.CODE)[0][1].attributes["language"] == "python"
    assert find(marked, K.CODE)[0][1].attributes["language"] == "rust"
    hebrew = next(e for text, e, _ in find(page, K.PARAGRAPH) if text.startswith("שלום"))
    assert hebrew.attributes == {"lang": "he", "dir": "rtl"}
    assert words(page, K.TERM) == ["Bowline"]
    assert len(find(page, K.BREAK)) == 1


def test_pictures_are_taken_and_formulas_kept(books: tuple[ParsedBook, ParsedBook]) -> None:
    page, marked = books
    ((_, image, _),) = find(page, K.IMAGE)
    assert page.images[str(image.attributes["image"])] == illustrated.make_png()
    assert image.attributes["alt"] == "A map"
    ((_, formula, _),) = find(page, K.FORMULA)
    assert str(formula.attributes["mathml"]).startswith('["math",{"display":"block"},["mfrac"')
    mast, drawing = find(marked, K.IMAGE)
    assert mast[0] == "The mast seen from below"
    assert marked.images[str(drawing[1].attributes["image"])].startswith(b"<svg ")
    assert find(marked, K.FORMULA)[0][1].attributes == {"tex": "\\frac{a}{b}", "display": 1}


def test_a_book_crosses_from_its_parser_with_its_markup(books: tuple[ParsedBook, ParsedBook]) -> None:
    for book in books:
        again = ParsedBook.from_json(book.to_json())
        assert [s.markup for s in again.sections] == [s.markup for s in book.sections]
        assert again.images == book.images


def test_a_hostile_drawing_only_draws() -> None:
    made = make_picture(illustrated.HOSTILE_DRAWING.encode())
    assert made is not None
    for word in (
        b"pwned",
        b"evil.example",
        b"script",
        b"foreignObject",
        b"iframe",
        b"javascript",
        b"@import",
    ):
        assert word not in made
    assert b"<rect" in made
    assert make_picture(made) == made
    entity = b'<!DOCTYPE svg [<!ENTITY a "b">]><svg xmlns="http://www.w3.org/2000/svg">&a;</svg>'
    assert make_picture(entity) is None
    assert make_picture(b"<html><svg></svg></html>") is None


def make_drawing(body: str) -> bytes:
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">{body}</svg>'.encode()


def multiply(levels: int, write: Callable[[str, str], str]) -> bytes:
    """A drawing in which each group shows the one before it ten times."""
    groups = "".join(write(f"g{n}", f"g{n - 1}") for n in range(1, levels + 1))
    return make_drawing(f'<defs><g id="g0"><rect width="1" height="1"/></g></defs>{groups}')


MULTIPLIED: dict[str, Callable[[str, str], str]] = {
    "use": lambda name, before: f'<g id="{name}">{f"""<use href="#{before}"/>""" * 10}</g>',
    "pattern": lambda name, before: (
        f'<pattern id="{name}">{f"""<rect width="1" height="1" fill="url(#{before})"/>""" * 10}</pattern>'
    ),
    "style": lambda name, before: (
        f"<style>.{name} {{ mask: url( '#{before}' ) }}</style>"
        f'<mask id="{name}">{f"""<rect class="{name}" width="1" height="1"/>""" * 10}</mask>'
    ),
}


@pytest.mark.parametrize("how", MULTIPLIED)
def test_a_drawing_that_multiplies_itself_is_refused(how: str) -> None:
    assert make_picture(multiply(3, MULTIPLIED[how])) is not None
    assert make_picture(multiply(9, MULTIPLIED[how])) is None


def test_a_drawing_that_shows_itself_is_refused_and_one_with_a_clip_in_its_style_is_not() -> None:
    assert make_picture(make_drawing('<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g>')) is None
    clipped = (
        "<style>.c { clip-path: url(#k) } .d { fill: url(#p) }</style>"
        '<defs><clipPath id="k"><rect width="5" height="5"/></clipPath><linearGradient id="p"/></defs>'
        '<g class="c"><rect class="d" width="9" height="9"/></g>'
    )
    assert make_picture(make_drawing(clipped)) is not None


def test_the_words_of_links_and_choices_in_a_drawing_stay() -> None:
    made = make_picture(
        b'<svg xmlns="http://www.w3.org/2000/svg"><a href="https://evil.example"><text>Node</text></a>'
        b'<text>Go <a href="#x">there</a> or <foreignObject/>stay</text>'
        b"<switch><foreignObject/><text>Label</text></switch><style><g/>@import 'x'</style></svg>"
    )
    assert made is not None
    assert b"<g><text>Node</text></g>" in made
    assert b">there</tspan> or stay</text>" in made
    assert b"<text>Label</text>" in made
    assert b"evil" not in made
    assert b"import" not in made


def test_pictures_beyond_the_limit_are_left_out_and_said(tmp_path: Path) -> None:
    page, _ = illustrated.write_books(tmp_path)
    (page / "map.png").write_bytes(illustrated.make_png() + b"\0" * (5 << 20))
    (page / "other.html").write_text("<h1>Other</h1><p>More words of the book.</p>", encoding="utf-8")
    book = read_book(page, Limits(max_image_mb=1))
    assert book.images == {}
    assert any(e.kind is K.IMAGE for s in book.sections for e in s.markup)


def test_nothing_hostile_becomes_an_address(tmp_path: Path) -> None:
    for folder in illustrated.write_hostile_books(tmp_path):
        book = read_book(folder, Limits())
        said = book.to_json()
        for section in book.sections:
            for element in section.markup:
                assert not str(element.attributes.get("url", "")).startswith(("javascript", "data", " "))
                assert "onclick" not in str(element.attributes.get("mathml", ""))
                assert "evil" not in str(element.attributes.get("mathml", ""))
        assert len(book.images) == 1, said


@st.composite
def marked_runs(draw: st.DrawFn) -> tuple[MarkedRuns, str]:
    """Runs of text with elements opened and closed between them, and the text they give."""
    runs = MarkedRuns()
    for _ in range(draw(st.integers(1, 12))):
        step = draw(st.sampled_from(("text", "open", "close", "image")))
        if step == "open":
            runs.open(draw(st.sampled_from((K.EMPHASIS, K.LINK, K.STRONG))))
        elif step == "close" and runs.depth:
            runs.close()
        elif step == "image":
            runs.open(K.IMAGE)
            runs.close()
        else:
            runs.runs.append(draw(st.text("ab \n\tü", max_size=6)))
    return runs, " ".join("".join(runs.runs).split())


@given(marked_runs())
def test_placed_parts_always_nest(made: tuple[MarkedRuns, str]) -> None:
    runs, text = made
    (parts,) = runs.place([text])
    check_nesting("parts", [Element(*part) for part in parts], len(text))


def split_everywhere(text: str) -> Iterator[tuple[str, str]]:
    return ((text[:n], text[n:]) for n in range(len(text) + 1))


def test_an_element_is_found_wherever_the_text_is_cut() -> None:
    text = "a  bc\n d"
    for before, inside in split_everywhere(text):
        runs = MarkedRuns()
        runs.runs.append(before)
        runs.open(K.EMPHASIS)
        runs.runs.append(inside)
        runs.close()
        (parts,) = runs.place([" ".join(text.split())])
        words = [" ".join(text.split())[p.start : p.end] for p in parts]
        assert words == ([" ".join(inside.split())] if inside.strip() else [])
