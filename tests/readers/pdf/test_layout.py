"""Lines to paragraphs, without a PDF: each rule on a few lines, and what holds for any lines at all."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.readers.book_words import BookWords
from octavo.readers.pdf.headings import OutlineEntry, detect_headings, locate_outline, split_into_runs
from octavo.readers.pdf.layout import (
    PdfText,
    _find_right_edges,
    drop_boilerplate,
    lay_out,
    measure_leading,
)
from octavo.readers.pdf.lines import PdfLine, PdfPage, Segment, count_figures

WIDTH = 5.0  # of a letter


def line(
    text: str, row: int, *, page: int = 1, left: float = 72, size: float = 10, hyphen: bool = False
) -> PdfLine:
    """A line of a page, 12 points below the one before it."""
    return PdfLine(page, text, left, left + WIDTH * len(text), 700 - 12 * row, size, False, hyphen)


def lines(*texts: str, page: int = 1, left: float = 72) -> list[PdfLine]:
    return [line(text, row, page=page, left=left) for row, text in enumerate(texts)]


def lay_out_lines(given_lines: Sequence[PdfLine], *, known: str = "") -> PdfText:
    words = BookWords([*(line.text for line in given_lines), known])
    return lay_out(given_lines, words=words, leading=1.2, label=lambda _: None)


def text(given_lines: Sequence[PdfLine], *, known: str = "") -> str:
    return lay_out_lines(given_lines, known=known).text


FULL = "This line of the paragraph reaches the right edge"
MORE = "and so does this one, which ends near the same edge"


def test_full_lines_are_one_paragraph() -> None:
    assert text(lines(FULL, MORE, "and here it ends.")) == f"{FULL} {MORE} and here it ends."


@pytest.mark.parametrize(
    ("before", "after", "known", "joined"),
    [
        ("it is in debian/", "rules, as always", "see debian/rules", True),
        ("it is in debian/", "rules, as always", "", False),
        ("https://example.org/doc/", "debian-policy/. Also there", "", True),
        ("the file (/etc/", "logrotate.conf) says so", "", True),
        ("below /usr/include/", "is amended by that", "usr/include/x.h", False),
        ("either and/", "or both of them", "", False),
    ],
)
def test_a_path_that_breaks_after_a_slash_is_whole_again(
    before: str, after: str, known: str, joined: bool
) -> None:
    long = f"{FULL} and reaches further to the right {before}"
    assert text(lines(long, after), known=known) == f"{long}{'' if joined else ' '}{after}"


def test_a_gap_parts_paragraphs() -> None:
    assert text([line(FULL, 0), line(MORE, 1), line(FULL, 3)]) == f"{FULL} {MORE}\n\n{FULL}"


def test_a_short_last_line_that_ends_a_sentence_ends_the_paragraph() -> None:
    assert text(lines(FULL, "and ends.", FULL, MORE)) == f"{FULL} and ends.\n\n{FULL} {MORE}"


def test_an_indent_starts_a_paragraph() -> None:
    given_lines = [line(FULL, 0), line(MORE, 1), line(FULL[:-3], 2, left=87), line(MORE, 3)]
    assert text(given_lines) == f"{FULL} {MORE}\n\n{FULL[:-3]} {MORE}"


def test_another_size_of_type_starts_a_paragraph() -> None:
    assert (
        text([line(FULL, 0), line("1 A note at the foot of the page, set small", 1, size=8)]).count("\n\n")
        == 1
    )


def test_the_raised_mark_of_a_note_stays_behind_its_line() -> None:
    ended = line("The bridge has three arches.", 0)
    mark = PdfLine(1, "5", ended.right, ended.right + 4, ended.y + 4.3, 7)
    assert text([ended, mark]) == "The bridge has three arches. 5"
    assert text([ended, mark._replace(left=ended.left)]).count("\n\n") == 1


def test_lines_that_end_early_stay_lines() -> None:
    assert text(lines("12 River Lane", "Old Town", "The Marches", FULL, MORE)).startswith(
        "12 River Lane\nOld Town\nThe Marches\n"
    )


def test_items_of_a_list_stay_apart_and_their_lines_together() -> None:
    item = "• the first item of the list, which is so long that"
    given_lines = [line(item, 0), line("it needs a second line", 1, left=82), line("• the next item", 2)]
    assert text(given_lines) == f"{item} it needs a second line\n• the next item"


def test_rows_of_figures_stay_rows_and_are_a_block() -> None:
    given_lines = lines(FULL, MORE, "Sales 12 14 16", "Costs $ 3 4 (5)", "Profit 9 10 —", FULL)
    made = lay_out_lines(given_lines)
    (block,) = made.blocks
    assert made.text[block.start : block.end] == "Sales 12 14 16\nCosts $ 3 4 (5)\nProfit 9 10 —"


def test_a_label_that_runs_on_joins_its_row() -> None:
    given_lines = lines("Sales 12 14", "Other income", "net of taxes 3 4", "Profit 9 10")
    assert text(given_lines) == "Sales 12 14\nOther income net of taxes 3 4\nProfit 9 10"


def test_dots_that_lead_to_a_page_number_are_one_mark() -> None:
    made = text(lines("1 Of rivers . . . . . . . . . . 12", "2 Of bridges ............. 34"))
    assert made == "1 Of rivers … 12\n2 Of bridges … 34"


@pytest.mark.parametrize(
    ("known", "before", "after", "joined"),
    [
        ("", "informa", "tion", "information"),
        ("information", "informa", "tion", "information"),
        ("a well-known fact", "well", "known", "well-known"),
        ("well known, well known", "well", "known", "well-known"),
        ("noncontrolling", "non", "controlling", "noncontrolling"),
        ("", "Half", "Installed", "Half-Installed"),
        ("", "MySQL", "compatible", "MySQL-compatible"),
        ("", "state-of-the", "art", "state-of-the-art"),
    ],
)
def test_a_hyphen_at_the_end_of_a_line_is_judged_by_the_books_own_words(
    known: str, before: str, after: str, joined: str
) -> None:
    filler = "Words that fill the line up to its right end "
    as_marked = [line(f"{filler}{before}", 0, hyphen=True), line(f"{after} and more of it.", 1)]
    as_printed = [line(f"{filler}{before}-", 0), line(f"{after} and more of it.", 1)]
    assert text(as_marked, known=known) == f"{filler}{joined} and more of it."
    if before != "state-of-the":
        assert text(as_printed, known=known) == f"{filler}{joined} and more of it."


def test_a_paragraph_goes_on_over_a_page_and_the_mark_is_at_its_word() -> None:
    made = lay_out_lines([line(FULL, 40), line("and goes on here.", 0, page=2)])
    assert made.text == f"{FULL} and goes on here."
    assert [(mark.number, made.text[mark.offset :][:3]) for mark in made.pages] == [(1, "Thi"), (2, "and")]


def test_a_new_sentence_on_a_new_page_is_a_new_paragraph() -> None:
    assert text([line("It ends.", 40), line("It begins.", 0, page=2)]) == "It ends.\n\nIt begins."


def test_columns_are_read_one_after_the_other() -> None:
    left = lines("The left column has", "lines that are short", "but full, and it ends")
    right = lines("in the right column", "where the sentence is", "brought to its end.", left=300)
    assert text([*left, *right]) == (
        "The left column has lines that are short but full, and it ends "
        "in the right column where the sentence is brought to its end."
    )


@pytest.mark.parametrize(
    ("row", "count"),
    [
        ("Total $ 1,234 (56) 7.8%", 3),
        ("in the years 2021 and 2022", 1),
        ("as of December 31, 2022", 1),
        ("It was the year 2022.", 0),
        ("Nothing — — —", 3),
        ("no figures at all", 0),
        ("", 0),
    ],
)
def test_figures_at_the_end_of_a_line_are_counted(row: str, count: int) -> None:
    assert count_figures(row) == count


KINDS = ("barley", "millet", "oats", "rye", "wheat")


def divide(text: str, row: int, *, bold: bool = False) -> PdfLine:
    """A line whose words stand in columns 150 points apart."""
    whole = line(text.replace("|", ""), row)._replace(bold=bold)
    cells = [cell.strip() for cell in text.split("|")]
    places = [72 + 150 * n for n in range(len(cells))]
    segments = [Segment(c, x, x + WIDTH * len(c), 0, len(c)) for c, x in zip(cells, places, strict=True)]
    return whole._replace(right=segments[-1].right, segments=tuple(segments))


def test_the_bold_headings_of_columns_are_no_headings_of_sections() -> None:
    given_lines: list[PdfLine] = []
    for row, kind in zip(range(0, 30, 6), KINDS, strict=True):
        given_lines += [
            line(f"Of {kind}", row)._replace(bold=True),
            line("Grain is sold by weight.", row + 1),
        ]
        given_lines += [divide("Commodity | Volume | Place", row + 2, bold=True)]
        given_lines += [divide("Barley | a few tons | Norwick", row + n) for n in (3, 4, 5)]
    found = detect_headings(given_lines, words=BookWords([]), pages=1)
    assert [heading.path[-1] for heading in found] == [f"Of {kind}" for kind in KINDS]


def test_the_usual_leading_is_that_of_most_lines() -> None:
    assert measure_leading(lines("a", "b", "c", "d")) == pytest.approx(1.2)
    assert measure_leading([]) == pytest.approx(1.2)


def test_without_pages_nothing_is_furniture() -> None:
    page = PdfPage(1, None, 0, 842, tuple(lines("Only", "these", "lines")))
    assert drop_boilerplate([page]) == [page]


def test_a_roman_page_number_is_furniture_where_it_is_the_label() -> None:
    body = lines("Words of the preface")
    page = PdfPage(3, "iii", 0, 842, (*body, PdfLine(3, "iii", 300, 310, 40, 10)))
    assert drop_boilerplate([page])[0].lines == tuple(body)


def test_runs_of_pages_begin_where_pages_have_text() -> None:
    given_lines = [line("x", 0, page=page) for page in (2, 3, 11, 25)]
    assert [(h.path[0], h.start) for h in split_into_runs(given_lines)] == [
        ("Pages 1–10", 0),
        ("Pages 11–20", 2),
        ("Pages 21–25", 3),
    ]


def test_a_book_where_every_line_shouts_has_no_headings() -> None:
    shouting = [PdfLine(1, f"Line Number {i}", 72, 200, 700 - 12 * i, 10, True) for i in range(99)]
    assert detect_headings(shouting, words=BookWords([]), pages=1) == []


def test_an_outline_that_jumps_levels_and_goes_backwards_is_put_in_order() -> None:
    given_lines = [line("Beta", 0), line("words", 1), line("Alpha", 0, page=2), line("more", 1, page=2)]
    found = locate_outline(
        [OutlineEntry(3, "Alpha", 2, None), OutlineEntry(9, "", 2, None), OutlineEntry(0, "Beta", 1, None)],
        given_lines,
        words=BookWords([]),
        book_title="x",
    )
    assert [heading.path for heading in found] == [("Beta",), ("Alpha",), ("Alpha", "Page 2")]


def test_the_mark_of_a_note_above_a_heading_is_not_the_number_of_the_heading() -> None:
    ended = line("The bridge has three arches.", 0)
    mark = PdfLine(1, "5", ended.right, ended.right + 4, ended.y + 4.3, 7)
    heading = line("Its builders", 3)

    def find_start(above: PdfLine) -> int:
        entry = OutlineEntry(0, "Its builders", 1, None)
        (found,) = locate_outline([entry], [ended, above, heading], words=BookWords([]), book_title="x")
        return found.start

    assert find_start(mark) == 2
    assert find_start(line("5", 2)) == 1


words = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=12)
any_line = st.builds(
    PdfLine,
    page=st.just(1),
    text=st.lists(words, min_size=1, max_size=6).map(" ".join),
    left=st.floats(0, 500),
    right=st.floats(0, 600),
    y=st.floats(0, 842),
    size=st.floats(1, 40),
    bold=st.booleans(),
    hyphen=st.booleans(),
    first=st.just(0),
    length=st.just(1),
    segments=st.just(()),
)


@st.composite
def draw_line(draw: st.DrawFn) -> PdfLine:
    """A line, and perhaps wide gaps between its words."""
    line = draw(any_line)
    words = line.text.split(" ")
    if len(words) < 2 or not draw(st.booleans()):
        return line
    places = draw(st.lists(st.floats(0, 600), min_size=len(words), max_size=len(words)))
    cells = tuple(Segment(word, left, left + 10) for word, left in zip(words, places, strict=True))
    # A hyphen at the end of a line stands in its last cell.
    last = cells[-1]._replace(text=cells[-1].text + "-") if line.hyphen else cells[-1]
    return line._replace(segments=(*cells[:-1], last))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(draw_line(), st.integers(0, 1)), min_size=1, max_size=25))
def test_any_lines_keep_their_letters_and_their_marks_stand_in_order(
    given_lines: list[tuple[PdfLine, int]],
) -> None:
    page, pages = 1, []
    for made, turn in given_lines:
        page += turn
        pages.append(made._replace(page=page))
    found = lay_out_lines(pages)
    letters = [c for made in pages for c in made.text if c.isalnum()]
    assert [c for c in found.text if c.isalnum()] == letters
    offsets = [mark.offset for mark in found.pages]
    assert offsets == sorted(offsets)
    assert offsets[0] == 0
    assert all(offset <= len(found.text) for offset in offsets)
    ends = [0, *(place for block in found.blocks for place in (block.start, block.end)), len(found.text)]
    assert ends == sorted(ends)


def find_edge_of_column(line: PdfLine, page: Sequence[PdfLine]) -> float:
    """What `_find_right_edges` promises, by comparing all lines of a page."""

    def choose(ends: list[float]) -> float:
        return max(ends) if len(ends) < 5 else sorted(ends)[-2]

    furthest = choose([other.right for other in page])
    if line.right > furthest - line.size:
        return furthest
    beside = [other.right for other in page if other.left < line.right and other.right > line.left]
    return choose(beside or [line.right])


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(-2, 12), st.integers(0, 1)).map(
            lambda drawn: (drawn[0] * 10.0, drawn[1] * 10.0, drawn[2])
        ),
        max_size=25,
    )
)
def test_the_edge_of_a_column_is_that_of_the_lines_beside_it(drawn: list[tuple[float, float, int]]) -> None:
    page, found = 1, []
    for left, width, turn in drawn:
        page += turn
        found.append(PdfLine(page, "word", left, left + width, 100, 10))
    same_page = [[other for other in found if other.page == line.page] for line in found]
    wanted = [find_edge_of_column(line, others) for line, others in zip(found, same_page, strict=True)]
    assert _find_right_edges(found) == wanted


def test_a_page_of_figures_is_not_compared_figure_by_figure() -> None:
    compared = 0

    class Place(float):
        """A place on the page that counts how often it is compared."""

        def __lt__(self, other: float) -> bool:
            nonlocal compared
            compared += 1
            return float(self) < float(other)

        def __gt__(self, other: float) -> bool:
            nonlocal compared
            compared += 1
            return float(self) > float(other)

    count = 1_000
    figures = [
        PdfLine(1, "7", Place(5 * (n % 100)), Place(5 * (n % 100) + 4), 700 - n // 100, 1)
        for n in range(count)
    ]
    _find_right_edges(figures)
    assert compared < 100 * count
