"""Pages of PDFs are drawn as they are printed, and boxes hold the ink of the words and nothing else."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from octavo.errors import BadBook
from octavo.ingest.edition import build_sections
from octavo.limits import Limits
from octavo.readers.printed import draw_page, find_boxes
from octavo.readers.sandbox import parse
from octavo.types import PageBox, PageMark, PrintedLine, PrintedPage, Section
from tests.support import pdf_files
from tests.support.patience import PATIENCE
from tests.support.pdf_files import Text

QUICK = Limits(parser_seconds=PATIENCE, page_seconds=PATIENCE)
LINES = [
    Text(72, 700, "The ferry leaves the north pier at seven. It comes back at noon, with the"),
    Text(72, 686, "mail and the bread. Nobody signs for the fog. The keeper of the lamp has"),
    Text(72, 672, "asked for a second boat since the year of the great storm."),
]


def turn(rotation: int, box: bytes = pdf_files.A4) -> bytes:
    """A book of one page that is shown turned, and cut to a part of it."""
    made = pdf_files.objects([LINES])
    made[10] = made[10].replace(b"/Contents", b"/Rotate %d /CropBox %s /Contents" % (rotation, box))
    return pdf_files.write_file(made)


def read_png(png: bytes) -> tuple[int, int, list[bytes]]:
    """The width, the height and the rows of a picture that `draw_page` made."""
    width, height = struct.unpack(">II", png[16:24])
    length = struct.unpack(">I", png[33:37])[0]
    body = zlib.decompress(png[41 : 41 + length])
    stride = 1 + 3 * width
    return width, height, [body[y * stride + 1 : (y + 1) * stride] for y in range(height)]


def list_ink(png: bytes) -> list[tuple[float, float]]:
    """Where the page is dark, in shares of its width and height."""
    width, height, rows = read_png(png)
    return [
        ((x + 0.5) / width, (y + 0.5) / height)
        for y, row in enumerate(rows)
        if min(row) < 128
        for x in range(width)
        if row[3 * x] < 128
    ]


def is_in(boxes: tuple[PageBox, ...], x: float, y: float) -> bool:
    edge = 0.002
    return any(b.left - edge <= x <= b.right + edge and b.top - edge <= y <= b.bottom + edge for b in boxes)


async def read_section(folder: Path, data: bytes) -> Section:
    (folder / "book.pdf").write_bytes(data)
    parsed = await parse(folder / "book.pdf", QUICK)
    return build_sections(parsed, book_id="book", base_url=None)[0]


async def box(data: bytes, section: Section, words: str) -> PrintedPage:
    start = section.text.index(words)
    (page,) = await find_boxes(
        data, section, section.lines, start=start, end=start + len(words), limits=QUICK
    )
    return page


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
async def test_the_boxes_of_a_text_hold_all_ink_of_the_page(tmp_path: Path, rotation: int) -> None:
    data = turn(rotation, b"[20 300 580 800]")
    section = await read_section(tmp_path, data)
    page = await box(data, section, section.text)
    png = await draw_page(data, 1, width=900, limits=QUICK)
    width, height, _ = read_png(png)
    assert width == 900
    assert page.width / page.height == pytest.approx(width / height, rel=0.01)
    ink = list_ink(png)
    assert len(ink) > 1_000
    assert all(is_in(page.boxes, x, y) for x, y in ink)


async def test_the_box_of_a_sentence_holds_its_words_on_both_lines_and_no_others(tmp_path: Path) -> None:
    data = turn(0)
    section = await read_section(tmp_path, data)
    page = await box(data, section, "It comes back at noon, with the mail and the bread.")
    before = await box(data, section, "The ferry leaves the north pier at seven.")
    after = await box(data, section, "Nobody signs for the fog.")
    assert len(page.boxes) == 2
    first, second = page.boxes
    assert before.boxes[0].right <= first.left < first.right
    assert second.left < second.right <= after.boxes[0].left
    assert first.bottom <= second.top + 0.005


async def test_words_that_the_reader_cleaned_have_their_boxes(tmp_path: Path) -> None:
    broken = [
        Text(72, 700, "He found the lighthouse in the morn-"),
        Text(72, 686, "ing, and the morning was the first of the year . . . . . . . . . 12"),
        Text(72, 672, "It was a fine morning for a walk of seven miles along the dunes."),
    ]
    data = pdf_files.make_book([broken])
    section = await read_section(tmp_path, data)
    assert "morning, and" in section.text
    page = await box(data, section, "morning, and")
    assert len(page.boxes) == 2
    assert page.boxes[0].left > page.boxes[1].left


async def test_a_text_that_is_not_on_the_page_gets_no_box(tmp_path: Path) -> None:
    data = turn(0)
    section = await read_section(tmp_path, data)
    other = replace(
        section, text="Quite other words, of which none is printed on this page at all.", lines=(), markup=()
    )
    start = len(other.text) - 20
    (page,) = await find_boxes(data, other, section.lines[:1], start=start, end=len(other.text), limits=QUICK)
    assert page.boxes == ()


async def test_a_cell_before_empty_cells_has_its_box(tmp_path: Path) -> None:
    data = turn(0)
    section = await read_section(tmp_path, data)
    # The third line begins with the word `asked`.
    cell = section.lines[2]._replace(offset=0, length=5)
    row = replace(section, text="asked | | | | | | | | ", pages=section.pages[:1], lines=(), markup=())
    (page,) = await find_boxes(data, row, [cell], start=0, end=len(row.text), limits=QUICK)
    assert len(page.boxes) == 1


def make_long_book(count: int, damaged: Sequence[int] = ()) -> bytes:
    """A book of many pages with the same lines; some of the pages are not there."""
    made = pdf_files.objects([LINES] * count)
    for number in damaged:
        made[8 + 2 * number] = b"null"
    return pdf_files.write_file(made)


def split_over_pages(section: Section, count: int) -> tuple[Section, list[PrintedLine]]:
    """A section of which each sentence is the first line of a page of its own."""
    text = f"{LINES[0].words}\n" * count
    size = len(LINES[0].words) + 1
    pages = tuple(PageMark(size * n, n + 1) for n in range(count))
    lines = [PrintedLine(size * n, n + 1, 0, size - 1) for n in range(count)]
    return replace(section, text=text, pages=pages, lines=(), markup=()), lines


async def test_only_the_pages_with_the_words_are_read(tmp_path: Path) -> None:
    count = 60
    made = pdf_files.objects([LINES] * count)
    # Reading all of the other pages would take much longer than is allowed.
    heavy = pdf_files.compress(b"0 0 9 9 re S\n" * 100_000)
    made |= dict.fromkeys((9 + 2 * number for number in range(2, count + 1)), heavy)
    data = pdf_files.write_file(made)
    whole, lines = split_over_pages(await read_section(tmp_path, turn(0)), count)
    limits = replace(QUICK, page_seconds=2)
    pages = await find_boxes(data, whole, lines, start=0, end=20, limits=limits)
    assert [page.number for page in pages] == list(range(1, count + 1))
    assert [page.number for page in pages if page.boxes] == [1]


async def test_a_damaged_page_is_left_out_and_the_others_have_their_boxes(tmp_path: Path) -> None:
    whole, lines = split_over_pages(await read_section(tmp_path, turn(0)), 4)
    size = len(LINES[0].words) + 1
    data = make_long_book(4, damaged=(2,))
    pages = await find_boxes(data, whole, lines, start=size, end=3 * size, limits=QUICK)
    assert [(page.number, len(page.boxes)) for page in pages] == [(1, 0), (3, 1), (4, 0)]
    with pytest.raises(BadBook) as refused:
        await find_boxes(make_long_book(4, (1, 2, 3, 4)), whole, lines, start=0, end=9, limits=QUICK)
    assert refused.value.code == "damaged_pdf"


async def test_a_page_has_no_more_pixels_than_allowed() -> None:
    data = turn(0)
    width, height, _ = read_png(
        await draw_page(data, 1, width=3_000, limits=replace(QUICK, max_page_pixels=90_000))
    )
    assert 80_000 < width * height < 95_000
    made = pdf_files.objects([LINES])
    made[2] = made[2].replace(pdf_files.A4, b"[0 0 14400 1]")
    width, height, _ = read_png(await draw_page(pdf_files.write_file(made), 1, width=3_000, limits=QUICK))
    assert (width, height) == (3_000, 1)


async def test_a_page_that_does_not_exist_is_refused() -> None:
    with pytest.raises(BadBook) as refused:
        await draw_page(turn(0), 2, width=300, limits=QUICK)
    assert refused.value.code == "damaged_pdf"


def make_picture_bomb(side: int = 60_000) -> bytes:
    """A page whose picture claims many pixels, in a few kilobytes."""
    made = pdf_files.objects([LINES])
    made[5] = pdf_files.stream(
        zlib.compress(bytes(side * side // 800)),
        b"/Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray "
        b"/BitsPerComponent 8 /Filter /FlateDecode" % (side, side),
    )
    made[10] = made[10].replace(b"/Contents", b"/Resources << /XObject << /P 5 0 R >> >> /Contents")
    made[11] = pdf_files.compress(b"500 0 0 500 20 20 cm /P Do")
    return pdf_files.write_file(made)


async def find_outcome(data: bytes, limits: Limits) -> str:
    """`drawn`, or the code with which the page was refused."""
    try:
        png = await draw_page(data, 1, width=600, limits=limits)
    except BadBook as refused:
        return refused.code
    return "drawn" if read_png(png)[0] == 600 else "something else"


@pytest.mark.parametrize(
    "data",
    [
        make_picture_bomb(),
        pdf_files.flate_bomb(1 << 28),
        pdf_files.self_calling_form(),
        pdf_files.page_tree_loop(),
        pdf_files.nested_arrays(),
        b"%PDF-1.7 and nothing else",
    ],
    ids=["picture", "flate", "form", "loop", "arrays", "nothing"],
)
async def test_a_hostile_page_is_drawn_or_refused_within_its_limits(data: bytes) -> None:
    limits = replace(QUICK, page_seconds=5, parser_memory_mb=1_024)
    codes = ("drawn", "damaged_pdf", "parser_limit", "parser_timeout", "parser_crash")
    assert await find_outcome(data, limits) in codes


async def test_drawing_stops_when_its_processor_time_is_over() -> None:
    circles = b"".join(b"%d 400 300 %d re S\n" % (x % 500, 1 + x % 400) for x in range(200_000))
    made = pdf_files.objects([LINES])
    made[11] = pdf_files.compress(circles)
    with pytest.raises(BadBook) as refused:
        await draw_page(pdf_files.write_file(made), 1, width=3_000, limits=replace(QUICK, page_seconds=0.5))
    assert refused.value.code == "parser_timeout"
