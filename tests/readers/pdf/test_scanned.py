"""What OCR has read becomes printed lines: places in points, hyphens apart, sizes of type evened out."""

from __future__ import annotations

from octavo.readers.pdf.lines import PdfLine, PdfPage
from octavo.readers.pdf.scanned import build_lines, even_out_sizes
from octavo.readers.scans import ScannedLine, ScannedPage, ScannedWord


def make_line(*words: tuple[str, float, float], base: float = 0.1, size: float = 0.01) -> ScannedLine:
    return ScannedLine(base, size, tuple(ScannedWord(w, a, base - size, b, base) for w, a, b in words))


def build(*lines: ScannedLine) -> tuple[PdfLine, ...]:
    return build_lines(ScannedPage(0.9, lines), 3, width=600, height=1000, bottom=0)


def test_a_line_has_its_place_its_type_and_its_characters() -> None:
    first, second = build(
        make_line(("The", 0.1, 0.13), ("ferry", 0.14, 0.2)),
        make_line(("leaves.", 0.1, 0.18), base=0.12),
    )
    assert (first.page, first.text, first.left, first.right, first.size) == (3, "The ferry", 60, 120, 10)
    assert first.y - second.y == 20
    assert (first.first, first.length, second.first, second.length) == (0, 9, 10, 7)


def test_a_hyphen_at_the_end_of_a_line_is_a_mark_of_its_own() -> None:
    broken, dash, code = build(
        make_line(("light-", 0.1, 0.2)), make_line(("—", 0.1, 0.2)), make_line(("A-1-", 0.1, 0.2))
    )
    assert (broken.text, broken.hyphen, broken.length) == ("light", True, 5)
    assert dash.first == len("light-\n")
    assert not dash.hyphen
    assert not code.hyphen


def test_wide_gaps_divide_a_line_into_cells() -> None:
    (row,) = build(make_line(("Net", 0.1, 0.14), ("sales", 0.145, 0.2), ("12", 0.5, 0.53), ("9", 0.8, 0.81)))
    assert [segment.text for segment in row.segments] == ["Net sales", "12", "9"]
    assert [row.text[s.first : s.first + s.length] for s in row.segments] == ["Net sales", "12", "9"]
    (prose,) = build(make_line(("Net", 0.1, 0.14), ("sales", 0.145, 0.2)))
    assert prose.segments == ()


def test_sizes_that_are_close_become_one_and_a_heading_stays_larger() -> None:
    sizes = [15.2, 14.9, 10.1, 9.8, 10.0, 10.9, 7.0, 7.2]
    lines = tuple(PdfLine(1, "words " * (1 if s > 12 else 10), 0, 1, 0, s) for s in sizes)
    (scanned, printed) = even_out_sizes([PdfPage(1, None, 0, 1, lines), PdfPage(2, None, 0, 1, lines)], {1})
    heading, body, note = (scanned.lines[i].size for i in (0, 2, 6))
    assert [line.size for line in scanned.lines] == [heading] * 2 + [body] * 4 + [note] * 2
    assert heading > 1.15 * body > body > note
    assert printed.lines == lines


def test_a_book_without_scans_stays_as_it_is() -> None:
    page = PdfPage(1, None, 0, 1, (PdfLine(1, "words", 0, 1, 0, 10.123),))
    assert even_out_sizes([page], set()) == [page]
