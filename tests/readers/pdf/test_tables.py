"""Tables of a PDF: rows, columns, headings and captions, from real pages."""

from __future__ import annotations

from pathlib import Path

from octavo.limits import Limits
from octavo.readers.parsed import ParsedSection
from octavo.readers.pdf.reader import read_pdf
from octavo.types import ElementKind
from tests.support.pdf_files import BOLD, Text, column, make_book


def read_page(folder: Path, *lines: Text) -> ParsedSection:
    path = folder / "book.pdf"
    path.write_bytes(make_book([list(lines)], title="Report"))
    (section,) = read_pdf(path, Limits()).sections
    return section


def row(y: float, *cells: str, at: tuple[float, ...] = (72, 300, 400, 500)) -> list[Text]:
    return [Text(x, y, words) for x, words in zip(at, cells, strict=False) if words]


def list_cells(section: ParsedSection) -> list[list[str]]:
    rows: list[list[str]] = []
    for element in section.markup:
        if element.kind is ElementKind.ROW:
            rows.append([])
        elif element.kind is ElementKind.CELL:
            rows[-1].append(section.text[element.start : element.end])
    return rows


def list_spans(section: ParsedSection) -> dict[str, int]:
    """Return the headings that span columns, and how many."""
    wide = [e for e in section.markup if e.kind is ElementKind.CELL and e.attributes.get("columns")]
    return {section.text[e.start : e.end]: int(e.attributes["columns"]) for e in wide}


def list_headers(section: ParsedSection) -> list[str]:
    cells = [e for e in section.markup if e.kind is ElementKind.CELL and e.attributes.get("header")]
    return [section.text[e.start : e.end] for e in cells]


def test_a_table_has_a_caption_headings_and_cells(tmp_path: Path) -> None:
    section = read_page(
        tmp_path,
        *column(["The mill had a good year, as the following pages show in all detail."], top=740),
        Text(200, 690, "STATEMENT OF INCOME", 10, BOLD),
        Text(220, 678, "(in thousands)", 10, BOLD),
        # Each heading is drawn on its own, over two lines.
        *(Text(x, 660, f"June {day},") for x, day in ((300, 30), (400, 29))),
        *row(640, "Sales", "$", "$"),
        *row(625, "Flour", "1,200", "900"),
        *row(610, "Bran", "(35)", "—"),
        *row(595, "Total sales", "1,165", "900"),
    )
    assert section.text.split("\n\n")[1] == (
        "STATEMENT OF INCOME\n(in thousands)\n| June 30, | June 29,\nSales | $ | $\n"
        "Flour | 1,200 | 900\nBran | (35) | —\nTotal sales | 1,165 | 900"
    )


def test_headings_over_several_lines_are_one_cell_and_wide_ones_span_columns(tmp_path: Path) -> None:
    section = read_page(
        tmp_path,
        Text(310, 690, "Three months ended, in thousands"),
        Text(300, 675, "June 30,"),
        Text(305, 664, "2023"),
        Text(400, 675, "June 30,"),
        Text(405, 664, "2022"),
        *row(650, "Flour", "1,200", "900"),
        *row(635, "Bran", "350", "280"),
    )
    assert list_cells(section)[:2] == [
        ["", "Three months ended, in thousands"],
        ["", "June 30, 2023", "June 30, 2022"],
    ]
    wide = next(e for e in section.markup if e.attributes.get("columns"))
    assert section.text[wide.start : wide.end] == "Three months ended, in thousands"
    assert wide.attributes["columns"] == 2
    assert "Flour" not in list_headers(section)


def test_a_heading_is_centred_over_columns_with_the_room_before_their_figures(tmp_path: Path) -> None:
    section = read_page(
        tmp_path,
        Text(297, 690, "Flour"),
        Text(457, 690, "Bran"),
        *row(675, "", "2023", "2022", "2023", "2022", at=(72, 285, 365, 445, 525)),
        *row(660, "Sold", "18", "16", "11", "15", at=(72, 296, 376, 456, 536)),
        *row(645, "Kept", "26", "28", "41", "45", at=(72, 296, 376, 456, 536)),
    )
    assert list_cells(section)[0] == ["", "Flour", "Bran"]
    assert list_spans(section) == {"Flour": 2, "Bran": 2}


def test_a_heading_crosses_no_border_between_two_headings_above_it(tmp_path: Path) -> None:
    at = (72, 240, 300, 360, 420, 480, 540)
    section = read_page(
        tmp_path,
        Text(260, 705, "Past five years"),
        Text(440, 705, "Next five years"),
        Text(250, 690, "In barrels"),
        Text(430, 690, "In barrels"),
        *row(675, "", "Oats", "Bran", "Cost", "Oats", "Bran", "Cost", at=at),
        *row(660, "North", "118", "116", "111", "115", "119", "112", at=at),
        *row(645, "South", "226", "228", "241", "245", "231", "238", at=at),
    )
    assert list_cells(section)[:2] == [
        ["", "Past five years", "Next five years"],
        ["", "In barrels", "", "In barrels"],
    ]
    assert list_spans(section) == {"Past five years": 3, "Next five years": 3, "In barrels": 2}


def test_the_last_words_of_a_heading_head_its_column_though_they_are_figures(tmp_path: Path) -> None:
    section = read_page(
        tmp_path,
        # Each heading is drawn on its own, over two lines; the last line goes on to the next column.
        Text(300, 690, "Within"),
        Text(300, 679, "1 year"),
        Text(400, 690, "After"),
        *row(679, "15 years", "Total", at=(400, 500)),
        *row(660, "Loans", "1,200", "900", "2,100"),
        *row(645, "Leases", "350", "280", "630"),
    )
    assert list_headers(section) == ["Within 1 year", "After 15 years", "Total"]


def test_a_heading_may_end_in_an_abbreviation(tmp_path: Path) -> None:
    section = read_page(
        tmp_path,
        Text(72, 730, "The mill sells its flour in two countries and to nobody else at all."),
        Text(400, 690, "In the U.S."),
        *row(675, "", "2023", "2023"),
        *row(660, "Flour", "1,200", "900"),
        *row(645, "Bran", "350", "280"),
    )
    assert list_headers(section) == ["In the U.S.", "2023", "2023"]


def test_a_label_between_headings_and_rows_is_no_heading(tmp_path: Path) -> None:
    section = read_page(
        tmp_path,
        *row(690, "", "2023", "2022"),
        Text(72, 675, "Revenue:"),
        *row(660, "Flour", "1,200", "900"),
        *row(645, "Bran", "350", "280"),
    )
    assert list_headers(section) == ["2023", "2022"]
    assert list_cells(section)[1] == ["Revenue:"]


def test_an_empty_cell_keeps_the_figures_after_it_in_their_columns(tmp_path: Path) -> None:
    section = read_page(
        tmp_path,
        *row(690, "Year", "Flour", "Bran", "Oats"),
        *row(675, "1901", "12", "7", "3"),
        *row(660, "1902", "14", "", "4"),
        *row(645, "1903", "15", "9", "5"),
    )
    assert "1902 | 14 | | 4" in section.text
    assert list_cells(section)[2] == ["1902", "14", "", "4"]


def test_signs_belong_to_the_figure_beside_them(tmp_path: Path) -> None:
    section = read_page(
        tmp_path,
        *row(690, "Flour", "$", "1,200", "25", "%", at=(72, 300, 330, 400, 425)),
        *row(675, "Bran", "$", "350", "(4)", "%", at=(72, 300, 338, 398, 425)),
        *row(660, "Oats", "", "77", "12", "", at=(72, 300, 343, 400, 425)),
    )
    assert section.text == "Flour | $1,200 | 25%\nBran | $350 | (4)%\nOats | 77 | 12"


def test_words_in_columns_are_a_table_and_its_first_row_heads_it(tmp_path: Path) -> None:
    section = read_page(
        tmp_path,
        *(Text(x, 690, words, 10, BOLD) for x, words in ((72, "group"), (160, "what its members may do"))),
        *row(675, "dialout", "use the serial ports of the machine", at=(72, 160)),
        *row(660, "cdrom", "read and write discs", at=(72, 160)),
        *row(645, "adm", "read the logs", at=(72, 160)),
    )
    assert list_cells(section)[1] == ["dialout", "use the serial ports of the machine"]
    assert list_headers(section) == ["group", "what its members may do"]


def test_lists_code_and_columns_of_prose_are_no_tables(tmp_path: Path) -> None:
    items = [t for y, n in ((690, "1."), (675, "2."), (660, "3.")) for t in row(y, n, "an item", at=(72, 95))]
    assert not read_page(tmp_path, *items).blocks
    left = "the water came up to the lowest step of the town hall"
    prose = [t for y in (690, 678, 666, 654) for t in row(y, left, left, at=(40, 320))]
    assert not read_page(tmp_path, *prose).blocks


def test_a_label_that_runs_on_joins_its_row(tmp_path: Path) -> None:
    section = read_page(
        tmp_path,
        *row(690, "Flour", "1,200", "900"),
        Text(72, 675, "Bran and what is left"),
        *row(663, "of the wheat", "350", "280"),
    )
    assert section.text.endswith("\nBran and what is left of the wheat | 350 | 280")
