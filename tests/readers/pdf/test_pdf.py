"""The PDF reader on small real files: sections, pages, boilerplate, titles, losses."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.errors import BadBook
from octavo.limits import Limits
from octavo.readers.parsed import ParsedBook
from octavo.readers.pdf.reader import read_pdf
from octavo.types import BookFormat
from tests.support.pdf_files import (
    BOLD,
    Mark,
    Text,
    column,
    make_book,
    make_encrypted,
    make_prose,
    objects,
    stream,
    write_file,
)

LOREM = (
    "The library of the town stood by the river and had been there longer",
    "than any of the houses around it, and every autumn the water came up",
    "to its lowest step and went away again.",
)


def read_bytes(
    folder: Path, data: bytes, limits: Limits | None = None, *, name: str = "book.pdf"
) -> ParsedBook:
    path = folder / name
    path.write_bytes(data)
    return read_pdf(path, limits or Limits())


def catch_refusal(folder: Path, data: bytes, limits: Limits | None = None) -> BadBook:
    with pytest.raises(BadBook) as caught:
        read_bytes(folder, data, limits)
    return caught.value


def chapters() -> bytes:
    """Two chapters and a section; the second chapter begins in the middle of page 2."""
    one = [Text(72, 740, "1 The River", 16), *column(LOREM, top=700)]
    two = [
        *column(["The end of the first chapter stands here."], top=700),
        Text(72, 600, "2 The Bridge", 16),
        *column(["The bridge has three arches."], top=570),
        Text(72, 500, "2.1 Its builders", 13),
        *column(["Nobody knows who built it."], top=470),
    ]
    marks = [Mark(0, "The River", 1, 760), Mark(0, "The Bridge", 2, 620), Mark(1, "Its builders", 2, 520)]
    return make_book(
        [one, two], outline=marks, title="Town and Water", author="A. Writer; B. Painter", lang=b"en-GB"
    )


def test_the_outline_makes_the_sections(tmp_path: Path) -> None:
    found = read_bytes(tmp_path, chapters())
    assert [section.heading_path for section in found.sections] == [
        ("1 The River",),
        ("2 The Bridge",),
        ("2 The Bridge", "2.1 Its builders"),
    ]
    assert (found.title, found.authors, found.language) == (
        "Town and Water",
        ("A. Writer", "B. Painter"),
        "en-GB",
    )
    assert (found.format, found.page_count, found.warnings) == (BookFormat.PDF, 2, ())


def test_text_above_a_heading_belongs_to_the_section_before(tmp_path: Path) -> None:
    river, bridge, builders = read_bytes(tmp_path, chapters()).sections
    assert river.text.endswith("The end of the first chapter stands here.")
    assert bridge.text == "The bridge has three arches."
    assert builders.text == "Nobody knows who built it."


def test_pages_are_marked_inside_their_sections(tmp_path: Path) -> None:
    river, bridge, _ = read_bytes(tmp_path, chapters()).sections
    assert [(mark.number, river.text[mark.offset :][:7]) for mark in river.pages] == [
        (1, "The lib"),
        (2, "The end"),
    ]
    assert [(mark.offset, mark.number) for mark in bridge.pages] == [(0, 2)]


def test_a_heading_that_is_not_printed_begins_at_its_height(tmp_path: Path) -> None:
    lines = [*column(["Above the line."], top=700), *column(["Below the line."], top=400)]
    found = read_bytes(tmp_path, make_book([lines], outline=[Mark(0, "Unseen", 1, 500)], title="Heights"))
    assert [(s.title, s.text) for s in found.sections] == [
        ("Heights", "Above the line."),
        ("Unseen", "Below the line."),
    ]


def test_a_heading_over_two_lines_is_taken_whole(tmp_path: Path) -> None:
    lines = [
        Text(72, 740, "Of the great flood and what", 16),
        Text(72, 720, "it left behind", 16),
        *column(LOREM, top=690),
    ]
    marks = [Mark(0, "Of the great flood and what it left behind", 1)]
    (section,) = read_bytes(tmp_path, make_book([lines], outline=marks)).sections
    assert section.text.startswith("The library of the town")


def test_a_word_that_a_heading_breaks_is_whole_in_its_title(tmp_path: Path) -> None:
    lines = [
        Text(72, 740, "1 Of the great inunda-", 16),
        Text(72, 720, "tion in the town", 16),
        *column([*LOREM, "An inundation is a flood."], top=690),
    ]
    marks = [Mark(0, "Of the great inundation in the town", 1)]
    (section,) = read_bytes(tmp_path, make_book([lines], outline=marks)).sections
    assert section.title == "1 Of the great inundation in the town"


def test_a_heading_that_is_told_by_its_type_keeps_its_hyphen_at_the_end_of_a_line(tmp_path: Path) -> None:
    pages = [
        [
            Text(72, 740, f"The Half-Timbered House {name}", 18),
            Text(72, 700, f"{name} of the Half-", 14),
            Text(72, 684, "Timbered House", 14),
            *column(LOREM, top=660),
        ]
        for name in ("Roof", "Walls", "Cellar")
    ]
    titles = [section.title for section in read_bytes(tmp_path, make_book(pages)).sections]
    assert [title for title in titles if " of the " in title] == [
        f"{name} of the Half-Timbered House" for name in ("Roof", "Walls", "Cellar")
    ]


def test_a_word_that_the_printed_title_of_a_book_breaks_is_whole(tmp_path: Path) -> None:
    lines = [Text(72, 740, "Of Inunda-", 30), Text(72, 700, "tions", 30), *column(LOREM, top=600)]
    assert read_bytes(tmp_path, make_book([lines])).title == "Of Inundations"


@pytest.mark.parametrize("label", ["NINE", "SEVENTEEN", "TWENTYONE", "Chapter Thirty-Two"])
def test_the_number_above_a_heading_is_no_text_of_the_section_before(tmp_path: Path, label: str) -> None:
    lines = [
        Text(72, 740, "The River", 16),
        *column(LOREM, top=700),
        Text(72, 630, label, 12),
        Text(72, 600, "The Bridge", 16),
        *column(["The bridge has three arches."], top=570),
    ]
    marks = [Mark(0, "The River", 1), Mark(0, "The Bridge", 1)]
    river, bridge = read_bytes(tmp_path, make_book([lines], outline=marks)).sections
    assert river.text.endswith("and went away again.")
    assert bridge.text == "The bridge has three arches."


@pytest.mark.parametrize(
    ("size", "rise", "read"),
    [(7, 3.6, "MMMM[12]"), (7, -2, "MMMM12"), (7, 0, "MMMM12"), (10, 0, "MMMM12")],
    ids=["raised", "lowered", "small", "same type"],
)
def test_a_raised_figure_behind_a_word_is_the_mark_of_a_note(
    tmp_path: Path, size: float, rise: float, read: str
) -> None:
    # Four letters of 8.33 points: the figure stands right behind them.
    lines = [Text(72, 700, "MMMM"), Text(105.4, 700 + rise, "12", size), Text(120, 700, "and more.")]
    (section,) = read_bytes(tmp_path, make_book([lines])).sections
    assert section.text == f"{read} and more."


def test_the_power_of_a_unit_is_no_note(tmp_path: Path) -> None:
    lines = [Text(72, 700, "20 MM"), Text(102.6, 703.6, "2", 7), Text(112, 700, "of land.")]
    (section,) = read_bytes(tmp_path, make_book([lines])).sections
    assert section.text == "20 MM2 of land."


def test_a_single_root_with_the_title_of_the_book_is_left_out(tmp_path: Path) -> None:
    pages = [[Text(72, 740, f"Chapter {n}", 16), *column([f"Words of {n}."], top=700)] for n in (1, 2)]
    marks = [Mark(0, "My Book", 1), Mark(1, "Chapter 1", 1), Mark(1, "Chapter 2", 2)]
    found = read_bytes(tmp_path, make_book(pages, outline=marks, title="My Book"))
    assert [s.heading_path for s in found.sections] == [("Chapter 1",), ("Chapter 2",)]


def test_an_entry_for_an_empty_page_begins_with_the_next_words(tmp_path: Path) -> None:
    pages = [column(["First words."]), [], column(["Last words."])]
    found = read_bytes(tmp_path, make_book(pages, outline=[Mark(0, "A", 1), Mark(0, "B", 2)]))
    assert [(s.title, s.text) for s in found.sections] == [("A", "First words."), ("B", "Last words.")]


def test_printed_page_numbers_are_kept_as_labels(tmp_path: Path) -> None:
    pages = [column([f"Words of sheet {n}, all of them."], top=500) for n in range(4)]
    found = read_bytes(tmp_path, make_book(pages, labels=b"0 << /S /r >> 2 << /S /D /St 1 >>"))
    marks = [mark for section in found.sections for mark in section.pages]
    assert [(mark.number, mark.label) for mark in marks] == [(1, "i"), (2, "ii"), (3, "1"), (4, "2")]


def test_every_word_is_on_its_page(tmp_path: Path) -> None:
    found = read_bytes(tmp_path, make_prose(25))
    for section in found.sections:
        ends = [*(mark.offset for mark in section.pages[1:]), len(section.text)]
        for mark, end in zip(section.pages, ends, strict=True):
            assert f"Here begins page {mark.number} of" in section.text[mark.offset : end]


def test_a_long_book_without_headings_is_cut_into_runs_of_pages(tmp_path: Path) -> None:
    found = read_bytes(tmp_path, make_prose(25))
    assert [section.title for section in found.sections] == ["Pages 1–10", "Pages 11–20", "Pages 21–25"]


def test_a_short_book_without_headings_is_one_section_under_its_title(tmp_path: Path) -> None:
    (section,) = read_bytes(tmp_path, make_prose(2), name="two_short_pages.pdf").sections
    assert section.heading_path == ("two short pages",)


def test_headings_are_told_by_larger_or_bold_type_where_there_is_no_outline(tmp_path: Path) -> None:
    pages = [
        [
            Text(72, 700, f"Chapter {n}. On number {n}", 16, BOLD),
            *column(LOREM, top=660),
            Text(72, 560, "A closer look", 10, BOLD),
            *column([f"Closer words of chapter {n}."], top=540),
        ]
        for n in range(1, 7)
    ]
    found = read_bytes(tmp_path, make_book(pages))
    assert [s.heading_path for s in found.sections[:3]] == [
        ("Chapter 1. On number 1",),
        ("Chapter 1. On number 1", "A closer look"),
        ("Chapter 2. On number 2",),
    ]
    assert found.sections[3].text == "Closer words of chapter 2."


def test_running_heads_feet_and_page_numbers_are_removed(tmp_path: Path) -> None:
    pages = []
    for n in range(1, 9):
        foot = f"{n + 4} Chapter {1 + n // 4}" if n % 2 else f"Part {1 + n // 4} {n + 4}"
        body = column([f"Body of sheet {n} says 1999.", f"It ends with the year {1990 + n}"], top=600)
        pages.append([Text(72, 800, "Town and Water, second edition", 8), *body, Text(72, 40, foot, 8)])
    text = "\n".join(section.text for section in read_bytes(tmp_path, make_book(pages)).sections)
    assert "second edition" not in text
    assert "Chapter" not in text
    assert "Part" not in text
    assert all(f"Body of sheet {n} says 1999." in text and str(1990 + n) in text for n in range(1, 9))


def test_pages_that_number_along_with_their_chapters_lose_nothing(tmp_path: Path) -> None:
    pages = [[Text(72, 780, f"Chapter {n}", 16), *column([f"Words of {n}."], top=60)] for n in range(1, 9)]
    text = "\n".join(f"{s.title}\n{s.text}" for s in read_bytes(tmp_path, make_book(pages)).sections)
    assert all(f"Chapter {n}" in text and f"Words of {n}." in text for n in range(1, 9))


def test_a_table_head_repeated_on_many_pages_is_kept(tmp_path: Path) -> None:
    pages = [
        [
            Text(72, 800, "Years ended 2022 2021 2020", 8),
            *column([f"Row {n} 1 2 3", f"Row {n} 4 5 6"], top=780),
        ]
        for n in range(6)
    ]
    text = "\n".join(section.text for section in read_bytes(tmp_path, make_book(pages)).sections)
    assert text.count("Years ended 2022 2021 2020") == 6


def test_broken_words_and_paragraphs_over_pages_are_joined(tmp_path: Path) -> None:
    one = column(
        [
            "All the informa-",
            "tion in the information office, the well-known",
            "one, went over the bridge and then",
        ],
        top=300,
    )
    two = column(["into the river without a word."], top=700)
    (section,) = read_bytes(tmp_path, make_book([one, two])).sections
    assert section.text == (
        "All the information in the information office, the well-known one, "
        "went over the bridge and then into the river without a word."
    )
    assert section.text[section.pages[1].offset :].startswith("into the river")


def test_ligatures_and_odd_spaces_are_cleaned(tmp_path: Path) -> None:
    (section,) = read_bytes(
        tmp_path, make_book([column(["An\xa0office  with “quotes” — and more."])])
    ).sections
    assert section.text == "An office with “quotes” — and more."


def test_a_turned_page_reads_like_an_upright_one(tmp_path: Path) -> None:
    made = objects([[], column(["An upright page."])])
    rows = b"".join(
        b"BT /F1 10 Tf 0 1 -1 0 %d 72 Tm (Turned row %d 5 6) Tj ET\n" % (100 + 12 * i, i) for i in range(3)
    )
    made[10] = b"<< /Type /Page /Parent 2 0 R /Contents 11 0 R /Rotate 90 >>"
    made[11] = stream(rows)
    (section,) = read_bytes(tmp_path, write_file(made)).sections
    assert section.text == "Turned row 0 5 6\nTurned row 1 5 6\nTurned row 2 5 6\n\nAn upright page."
    assert len(section.blocks) == 1


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ("A Real Title", "A Real Title"),
        ("Microsoft Word - thesis_final.doc", "my book"),
        ("untitled", "my book"),
        ("C:\\docs\\thesis", "my book"),
        ("thesis.indd", "my book"),
        ("0000012927-23-000007", "my book"),
        ("", "my book"),
    ],
)
def test_the_title_is_what_a_person_would_call_it(tmp_path: Path, stated: str, expected: str) -> None:
    data = make_book([column(["Some words."])], title=stated)
    assert read_bytes(tmp_path, data, name="my_book.pdf").title == expected


def test_without_a_stated_title_the_largest_words_of_the_first_page_are_it(tmp_path: Path) -> None:
    page = [Text(72, 700, "The History of", 24), Text(72, 670, "Small Bridges", 24), *column(LOREM, top=600)]
    found = read_bytes(tmp_path, make_book([page], author="admin"))
    assert found.title == "The History of Small Bridges"
    assert found.authors == ()


def test_a_book_with_an_empty_password_is_read_and_a_locked_one_is_not(tmp_path: Path) -> None:
    assert "The locked words" in read_bytes(tmp_path, make_encrypted(b"")).sections[0].text
    assert catch_refusal(tmp_path, make_encrypted(b"secret")).code == "encrypted"


def test_blank_pages_have_no_text_and_the_hint_speaks_of_scans(tmp_path: Path) -> None:
    error = catch_refusal(tmp_path, make_book([[], []]))
    assert error.code == "no_text"
    assert "Tesseract" in error.hint


def test_a_mostly_blank_book_is_read_with_a_warning(tmp_path: Path) -> None:
    found = read_bytes(tmp_path, make_book([column(["The only words."]), [], []]))
    assert "2 of 3 pages" in found.warnings[0]


def test_a_page_that_cannot_be_loaded_is_listed(tmp_path: Path) -> None:
    made = objects([column([f"Words of {n} here."], top=500) for n in range(1, 5)])
    made[12] = b"null"
    found = read_bytes(tmp_path, write_file(made))
    assert any(warning.startswith("pages lost: ") for warning in found.warnings), found.warnings
    assert "Words of 1" in found.sections[0].text
    assert "Words of 4" in found.sections[0].text


@pytest.mark.parametrize("share", [1, 10, 50, 90, 99])
def test_a_truncated_book_is_refused_or_says_what_it_lost(tmp_path: Path, share: int) -> None:
    data = make_prose(12)
    try:
        said = read_bytes(tmp_path, data[: len(data) * share // 100]).warnings
    except BadBook as error:
        said = (error.code,)
    assert any("cut off" in word or word == "damaged_pdf" for word in said)


def test_a_book_whose_end_is_lost_is_read_with_a_warning(tmp_path: Path) -> None:
    data = make_prose(3)
    found = read_bytes(tmp_path, data[: data.rindex(b"startxref")])
    assert "cut off" in found.warnings[0]
    assert "page 3" in found.sections[-1].text


def test_pages_that_the_file_promises_but_does_not_have_are_a_warning(tmp_path: Path) -> None:
    made = objects([column(["One page."])])
    made[2] = made[2].replace(b"/Count 1", b"/Count 1 ") + b" %"
    made[40] = b"<< /Type /Pages /Kids [] /Count 7 >>"
    found = read_bytes(tmp_path, write_file(made))
    assert any("should have 7 pages" in warning for warning in found.warnings)


def test_limits_on_pages_characters_and_text_hold(tmp_path: Path) -> None:
    for limits in (Limits(max_pages=2), Limits(max_page_chars=20)):
        assert catch_refusal(tmp_path, make_prose(3), limits).code == "too_large"
    long = make_book([column(["many words " * 150] * 64, top=800) for _ in range(12)])
    assert catch_refusal(tmp_path, long, Limits(max_text_mb=1)).code == "too_large"


def test_no_section_has_an_empty_heading_or_marks_outside_its_text(tmp_path: Path) -> None:
    for data in (chapters(), make_prose(25), make_encrypted(b"")):
        for section in read_bytes(tmp_path, data).sections:
            assert section.title == section.heading_path[-1]
            assert all(heading.strip() for heading in section.heading_path)
            assert all(mark.offset < len(section.text) for mark in section.pages)
            assert section.text == section.text.strip()
            assert not section.text or section.pages[0].offset == 0
