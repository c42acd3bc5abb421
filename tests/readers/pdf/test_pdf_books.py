"""Whole PDFs, written by hand: outlines good and bad, page numbers of all kinds, turned pages, scripts."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from octavo.limits import Limits
from octavo.readers import read_book
from octavo.readers.book_words import BookWords
from octavo.readers.parsed import ParsedBook
from octavo.readers.pdf.headings import OutlineEntry, locate_outline
from octavo.readers.pdf.layout import drop_boilerplate
from octavo.readers.pdf.lines import PdfLine, PdfPage
from tests.support.pdf_files import BOLD, Mark, Text, column, literal, make_book, objects, stream, write_file

FILLER = "which go on to the end of the line and fill it with words"


def read_data(folder: Path, data: bytes) -> ParsedBook:
    (folder / "my_book.pdf").write_bytes(data)
    return read_book(folder / "my_book.pdf", Limits())


def join_texts(found: ParsedBook) -> str:
    return "\n\n".join(s.text for s in found.sections)


def make_pages(
    count: int, foot: list[str] | None = None, *, head: list[str] | None = None
) -> list[list[Text]]:
    """Pages with two lines of their own, and what is printed above and below them."""
    made = []
    for n in range(count):
        body = column([f"Sheet {n + 1} has these words, {FILLER},", f"and a last line of {n + 1}."], top=600)
        above = [Text(72, 800, head[n], 8)] if head else []
        below = [Text(280, 40, foot[n], 9)] if foot else []
        made.append([*above, *body, *below])
    return made


def expect_text(count: int) -> str:
    return "\n\n".join(
        f"Sheet {n} has these words, {FILLER}, and a last line of {n}." for n in range(1, count + 1)
    )


ROMAN = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii"]


@pytest.mark.parametrize(
    "foot",
    [
        [f"- {n} -" for n in range(1, 10)],
        [f"— {n + 20} —" for n in range(1, 10)],
        [f"Page {n} of 9" for n in range(1, 10)],
        [f"PAGE {n}" for n in range(1, 10)],
        [f"{n} / 9" for n in range(1, 10)],
        [f"[{n}]" for n in range(1, 10)],
        ROMAN[:9],
        [f"( {numeral} )" for numeral in ROMAN[3:12]],
        ["", *ROMAN[1:4], *(str(n) for n in range(1, 6))],
    ],
)
def test_page_numbers_go_however_they_are_set(tmp_path: Path, foot: list[str]) -> None:
    found = read_data(tmp_path, make_book(make_pages(9, foot)))
    assert join_texts(found) == expect_text(9)


def test_running_heads_that_change_with_the_chapter_go(tmp_path: Path) -> None:
    head = [
        f"{n} TOWN AND WATER" if n % 2 == 0 else f"Chapter {1 + n // 8}: of rivers {n}" for n in range(1, 25)
    ]
    assert join_texts(read_data(tmp_path, make_book(make_pages(24, head=head)))) == expect_text(24)


def test_running_heads_that_count_the_pages_go(tmp_path: Path) -> None:
    head = [f"Town and Water {n} / 24" for n in range(1, 25)]
    assert join_texts(read_data(tmp_path, make_book(make_pages(24, head=head)))) == expect_text(24)


def test_running_heads_that_change_on_every_other_page_go(tmp_path: Path) -> None:
    head = [f"{1 + n // 8}.{1 + n // 2 % 4}. OF RIVERS" for n in range(24)]
    assert join_texts(read_data(tmp_path, make_book(make_pages(24, head=head)))) == expect_text(24)


def test_running_heads_go_whose_chapter_stays_while_the_section_changes(tmp_path: Path) -> None:
    pages = make_pages(24, head=[f"Part {1 + n // 8}. Of rivers" for n in range(24)])
    sections = ["source", "bank", "ford", "weir", "lock", "mill", "bridge", "mouth"]
    for n, page in enumerate(pages):
        page.insert(1, Text(400, 800, f"The {sections[n % 8]}", 8))
    assert join_texts(read_data(tmp_path, make_book(pages))) == expect_text(24)


TOWNS = ["Oslo", "Bergen", "Voss", "Hamar", "Bodo", "Moss", "Narvik", "Skien"]
NAMES = [f"{a}{b}{c}sen" for a in "BDFGH" for b in "aeiou" for c in "lmnrstvkp"]


@pytest.mark.parametrize(
    ("columns", "gap", "in_a_row"),
    [
        pytest.param((72, 220, 400), 0, 1, id="a directory by name"),
        pytest.param((72, 220, 400), 0, 6, id="a directory by town"),
        pytest.param((72, 220, 400), 20, 6, id="a table whose first row stands apart"),
        pytest.param((72,), 0, 3, id="a list of towns"),
        pytest.param((80, 300), 20, 1, id="letters with place and name"),
    ],
)
def test_first_and_last_lines_stay_although_their_words_recur(
    tmp_path: Path, columns: tuple[int, ...], gap: int, in_a_row: int
) -> None:
    pages, expected = [], []
    for n in range(24):
        page = []
        for k in range(7):
            name, town = NAMES[7 * n + k], TOWNS[n // in_a_row % (8 if in_a_row == 3 else 4)]
            cells = [town, name, f"{name[:3]} lane"] if k in (0, 6) or len(columns) == 3 else [f"To {name}"]
            y = 700 - 14 * k + (0 if k else gap)
            page += [Text(x, y, words) for x, words in zip(columns, cells, strict=False)]
            expected += cells[: len(columns)]
        pages.append(page)
    words = join_texts(read_data(tmp_path, make_book(pages))).split()
    assert Counter(word for cell in expected for word in cell.split()) - Counter(words) == Counter()


@pytest.mark.parametrize(
    "foot",
    [
        [f"Total of {n * n}" for n in range(3, 12)],
        ["mix", "civil", "livid", "vivid", "did", "ill", "lid", "mild", "dim"],
        [f"in the year {1900 + 7 * n}" for n in range(9)],
    ],
)
def test_last_lines_that_only_look_like_page_numbers_stay(tmp_path: Path, foot: list[str]) -> None:
    text = join_texts(read_data(tmp_path, make_book(make_pages(9, foot))))
    assert all(line in text for line in foot)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (b"0 << /S /r >> 2 << /S /D >>", ["i", "ii", "1", "2"]),
        (b"0 << /S /D /P (A-) /St 7 >>", ["A-7", "A-8", "A-9", "A-10"]),
        (b"0 << /P (Cover) >> 1 << /S /R /St 4 >>", ["Cover", "IV", "V", "VI"]),
        (b"0 << /S /a >> 3 << /S /A >>", ["a", "b", "c", "A"]),
    ],
)
def test_every_page_keeps_the_label_that_its_reader_sees(
    tmp_path: Path, labels: bytes, expected: list[str]
) -> None:
    found = read_data(tmp_path, make_book(make_pages(4), labels=labels))
    assert [mark.label for s in found.sections for mark in s.pages] == expected


def chapters(count: int) -> list[list[Text]]:
    return [
        [Text(72, 760, f"Chapter {n}", 16), *column([f"Words of {n}."], top=700)] for n in range(1, count + 1)
    ]


def list_sections(found: ParsedBook) -> list[tuple[str, str]]:
    return [(" / ".join(s.heading_path), s.text) for s in found.sections]


IN_ORDER = [(f"Chapter {n}", f"Words of {n}.") for n in (1, 2, 3)]
MARKS = [Mark(0, f"Chapter {n}", n) for n in (1, 2, 3)]


def test_named_destinations_are_followed(tmp_path: Path) -> None:
    made = objects(chapters(3), outline=MARKS)
    made[18] = made[18].replace(b"/Dest [12 0 R /Fit]", b"/Dest (two)")
    made[19] = made[19].replace(b"/Dest [14 0 R /Fit]", b"/A << /S /GoTo /D (three) >>")
    names = b"/Names << /Dests << /Names [(three) [14 0 R /Fit] (two) << /D [12 0 R /Fit] >>] >> >>"
    made[1] = made[1].replace(b"/Outlines", names + b" /Outlines")
    assert list_sections(read_data(tmp_path, write_file(made))) == IN_ORDER


@pytest.mark.parametrize(
    "target",
    [
        b"/Dest [999 0 R /Fit]",
        b"/A << /S /URI /URI (http://example.org) >>",
        b"/Dest (nowhere)",
        b"",
        b"/Dest 7",
    ],
)
def test_an_entry_that_points_nowhere_begins_where_its_title_is_printed(
    tmp_path: Path, target: bytes
) -> None:
    made = objects(chapters(3), outline=MARKS)
    made[18] = made[18].replace(b"/Dest [12 0 R /Fit]", target)
    assert list_sections(read_data(tmp_path, write_file(made))) == IN_ORDER


def test_an_entry_that_points_nowhere_and_is_printed_nowhere_takes_no_text(tmp_path: Path) -> None:
    made = objects(chapters(3), outline=[MARKS[0], Mark(0, "Elsewhere", 2), *MARKS[1:]])
    made[18] = made[18].replace(b"/Dest [12 0 R /Fit]", b"")
    assert list_sections(read_data(tmp_path, write_file(made))) == [*IN_ORDER, ("Elsewhere", "")]


def test_a_part_that_points_nowhere_begins_with_its_first_chapter(tmp_path: Path) -> None:
    made = objects(chapters(3), outline=[Mark(0, "Part", 1), *(Mark(1, m.title, m.page) for m in MARKS)])
    made[17] = made[17].replace(b"/Dest [10 0 R /Fit]", b"")
    assert list_sections(read_data(tmp_path, write_file(made))) == [
        ("Part", ""),
        *((f"Part / {title}", text) for title, text in IN_ORDER),
    ]


@pytest.mark.parametrize(
    "loop", [b" /Next 17 0 R /Parent", b" /First 17 0 R /Parent", b" /Next 18 0 R /First 18 0 R /Parent"]
)
def test_an_outline_that_runs_in_a_circle_comes_to_an_end(tmp_path: Path, loop: bytes) -> None:
    made = objects(chapters(3), outline=MARKS[:2])
    made[18] = made[18].replace(b" /Parent", loop)
    found = list_sections(read_data(tmp_path, write_file(made)))
    assert found[0] == IN_ORDER[0]
    assert [text for _, text in found].count("Words of 1.") == 1
    assert found[-1][1].endswith("Words of 3.")


def test_five_hundred_entries_over_three_hundred_pages_keep_every_page_in_order(tmp_path: Path) -> None:
    pages = [column([f"Words of sheet {n}, {FILLER}."], top=700) for n in range(1, 301)]
    marks = [Mark(i % 3, f"Entry {i}", 1 + i * 300 // 500) for i in range(500)]
    found = read_data(tmp_path, make_book(pages, outline=marks))
    assert [s.title for s in found.sections] == [f"Entry {i}" for i in range(500)]
    assert {len(s.heading_path) for s in found.sections} == {1, 2, 3}
    numbers = [mark.number for s in found.sections for mark in s.pages]
    assert numbers == list(range(1, 301))
    assert (
        "Words of sheet 300," in found.sections[-1].text or "Words of sheet 300," in found.sections[-2].text
    )


def test_titles_of_an_outline_are_clean_single_lines(tmp_path: Path) -> None:
    made = objects(chapters(2), outline=MARKS[:2])
    made[16] = made[16].replace(literal("Chapter 2"), literal("Of\r\n\u202e\u200bﬁsh\t and\x00 " + "x" * 999))
    titles = [s.title for s in read_data(tmp_path, write_file(made)).sections]
    assert titles[0] == "Chapter 1"
    assert titles[1].startswith("Of fish and xxx")
    assert len(titles[1]) <= 300


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_page_turned_any_way_reads_like_an_upright_one(tmp_path: Path, turn: int) -> None:
    lines = (f"The first line of it has words, {FILLER},", f"and so has the second, {FILLER}.", "The end.")
    matrix, start, step = {
        90: (b"0 1 -1 0 %d 72", 100, 12),
        180: (b"-1 0 0 -1 520 %d", 100, 12),
        270: (b"0 -1 1 0 %d 770", 500, -12),
    }[turn]
    made = objects([[]])
    made[10] = b"<< /Type /Page /Parent 2 0 R /Contents 11 0 R /Rotate %d >>" % turn
    made[11] = stream(
        b"\n".join(
            b"BT /F1 10 Tf %s Tm (%s) Tj ET" % (matrix % (start + step * i), line.encode())
            for i, line in enumerate(lines)
        )
    )
    upright = join_texts(read_data(tmp_path, make_book([column(lines)])))
    assert join_texts(read_data(tmp_path, write_file(made))) == upright == " ".join(lines)


def test_a_page_whose_corner_lies_elsewhere_still_loses_its_number(tmp_path: Path) -> None:
    made = objects([[*column([f"Words of {n}."], top=700), Text(300, 240, str(n), 9)] for n in range(1, 7)])
    for number in range(10, 22, 2):
        made[number] = made[number].replace(b"/Type /Page", b"/Type /Page /MediaBox [0 200 595 1042]")
    assert join_texts(read_data(tmp_path, write_file(made))) == "\n\n".join(
        f"Words of {n}." for n in range(1, 7)
    )


def test_a_sentence_goes_on_over_empty_pages(tmp_path: Path) -> None:
    pages = [
        column(["A sentence that goes over two empty pages and"], top=100),
        [],
        [],
        column(["ends here."]),
    ]
    (only,) = read_data(tmp_path, make_book(pages)).sections
    assert only.text == "A sentence that goes over two empty pages and ends here."
    assert [(m.number, only.text[m.offset :][:4]) for m in only.pages] == [(1, "A se"), (4, "ends")]


def test_a_note_at_the_foot_stays_apart_from_the_text(tmp_path: Path) -> None:
    page = [
        *column([f"Words with a mark, {FILLER}.", "The end."], top=700),
        Text(72, 90, "1 Annals, page 4.", 7),
    ]
    assert join_texts(read_data(tmp_path, make_book([page, column(["Another page."])]))) == (
        f"Words with a mark, {FILLER}. The end.\n\n1 Annals, page 4.\n\nAnother page."
    )


def test_a_heading_of_a_number_and_a_title_is_one_heading(tmp_path: Path) -> None:
    names = {"I": "Of Rivers", "II": "Of Towns", "III": "Of Rain", "IV": "Of Snow"}
    body = [f"Words of the chapter, {FILLER},"] * 4
    pages = [
        [
            Text(72, 760, f"CHAPTER {numeral}", 14, BOLD),
            Text(72, 742, name, 14, BOLD),
            *column([*body, f"and of {name}."], top=700),
        ]
        for numeral, name in names.items()
    ]
    found = list_sections(read_data(tmp_path, make_book(pages)))
    assert [title for title, _ in found] == [f"CHAPTER {numeral} {name}" for numeral, name in names.items()]
    assert all(
        text.endswith(f"and of {name}.") for (_, text), name in zip(found, names.values(), strict=True)
    )


def write_script_page(text: str) -> bytes:
    """A page in a font whose glyphs are told only by their table of characters."""
    made = objects([[]])
    codes = {c: n for n, c in enumerate(dict.fromkeys(text), start=3)}
    table = "\n".join(f"<{n:04x}> <{c.encode('utf-16-be').hex()}>" for c, n in codes.items())
    head = (
        "/CIDInit /ProcSet findresource begin begincmap /CMapName /X def 1 begincodespacerange <0000> <ffff>"
    )
    cmap = f"{head} endcodespacerange {len(codes)} beginbfchar\n{table}\nendbfchar endcmap end"
    made[3] = (
        b"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H"
        b" /ToUnicode 31 0 R /DescendantFonts [32 0 R] >>"
    )
    made[31] = stream(cmap.encode())
    made[32] = b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X /DW 500 /FontDescriptor 33 0 R"
    made[32] += b" /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>"
    made[33] = b"<< /Type /FontDescriptor /FontName /X /Flags 4 /FontBBox [0 0 500 700] /ItalicAngle 0"
    made[33] += b" /Ascent 700 /Descent -200 /CapHeight 700 /StemV 80 >>"
    shown = "".join(f"{codes[c]:04x}" for c in text)
    made[11] = stream(f"BT /F1 10 Tf 72 700 Td <{shown}> Tj ET".encode())
    return write_file(made)


@pytest.mark.parametrize(
    "text",
    ["Η βιβλιοθήκη της πόλης.", "Библиотека города", "図書館は川のそばにある。", "a 𝔟 𐍈 z", "naïve ﬁsh"],
)
def test_text_of_any_script_is_read_by_its_table_of_characters(tmp_path: Path, text: str) -> None:
    assert join_texts(read_data(tmp_path, write_script_page(text))) == text.replace("ﬁ", "fi")


lines_of = st.lists(
    st.sampled_from(["Alpha", "Beta", "Gamma", "some words", "more words"]), min_size=1, max_size=12
)
entry = st.builds(
    OutlineEntry,
    level=st.integers(0, 4),
    title=st.sampled_from(["Alpha", "Beta", "Gamma", "Unseen", ""]),
    page=st.none() | st.integers(1, 6),
    y=st.none() | st.floats(0, 842),
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(lines_of, min_size=1, max_size=4), st.lists(entry, min_size=1, max_size=8))
def test_any_outline_cuts_a_book_in_order_and_names_every_section(
    given_pages: list[list[str]], entries: list[OutlineEntry]
) -> None:
    lines = [
        PdfLine(page, words, 72, 200, 700 - 12 * row, 10)
        for page, texts in enumerate(given_pages, start=1)
        for row, words in enumerate(texts)
    ]
    found = locate_outline(entries, lines, words=BookWords([]), book_title="A Book")
    assert len(found) == len(entries)
    assert all(0 <= h.start <= h.body <= len(lines) for h in found)
    assert all(a.start <= b.start for a, b in pairwise(found))
    assert all(title.strip() for h in found for title in h.path)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(["5", "v", "Page 2 of 9", "words", "12 words", "a 3"]), max_size=6),
        min_size=1,
    )
)
def test_only_lines_at_the_edge_of_a_page_ever_go(texts: list[list[str]]) -> None:
    pages = [
        PdfPage(
            n, None, 0, 842, tuple(PdfLine(n, t, 72, 200, 800 - 150 * i, 10) for i, t in enumerate(lines))
        )
        for n, lines in enumerate(texts, start=1)
    ]
    for before, after in zip(pages, drop_boilerplate(pages), strict=True):
        kept = iter(before.lines)
        assert all(line in kept for line in after.lines)
        assert set(before.lines[1:-1]) <= set(after.lines)
