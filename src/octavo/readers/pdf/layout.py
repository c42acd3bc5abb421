"""Turn the printed lines of a PDF's pages into paragraphs, without what repeats on every page.

A PDF knows glyphs at places, not paragraphs; the reader passes one `PdfLine` for each printed line.
`drop_boilerplate` recognises running heads and feet: page numbers that count along with the pages, lines at
the edge of the page that carry such a number, and lines with the same words at the same height on page after
page. A head whose words change is recognised only by a gap to the text, and never if it stands like a row of
a table. Rows of figures are never boilerplate.

`lay_out` joins the lines of a paragraph, also over a page. Words broken at the end of a line become whole
again. A break is kept where the printer meant one: a gap, an indent, a change of type, a line that ends
although the next word would have fitted. Rows of figures stay rows and form one block. Pages are marked at
the exact word.
"""

from __future__ import annotations

import re
import statistics
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from octavo.readers.parts import Part, shift_element
from octavo.readers.pdf.cells import write_table
from octavo.readers.pdf.lines import ITEM, PdfLine, PdfPage, count_figures, shorten_leaders
from octavo.readers.pdf.tables import find_tables
from octavo.text.layout import read_prose
from octavo.types import PageMark, PrintedLine, Span

if TYPE_CHECKING:
    from octavo.readers.book_words import BookWords

# Boilerplate is among the outermost rows of a page. Except for the very first and last row, it is also within
# this share of the page's height from its edge.
_EDGE_ROWS = 3
_EDGE_SHARE = 0.16
_NUMBER = re.compile(r"\d{1,5}")
_ROMAN = re.compile(r"[ivxlcdm]+", re.IGNORECASE)
_SMALL_ROMAN = re.compile(r"(?=.)c{0,3}(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})")
_ROMAN_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_LONE_NUMBER = re.compile(r"(?:page\s+)?(\d{1,5})(?:\s*(?:of|/)\s*\d{1,5})?", re.IGNORECASE)
# The number of pages behind a page's own: `Reference 5 / 90`.
_OF_ALL = re.compile(r"(?<=\d)\s*(?:of|/)\s*\d{1,5}$", re.IGNORECASE)
# What printers put around a page number.
_AROUND = " -–—|[]()"
# Stands for the page's own number while lines are compared.
_HERE = "\x00"
# A part of a running head is the same on so many pages in a row.
_PAGES_IN_A_ROW = 3
# What begins or ends right above something else is not further from it to the side, in points.
_SAME_PLACE = 2.0
# So many lines beside each other show where their column ends, although one of them sticks out.
_MANY = 5
LINE, _PARAGRAPH = "\n", "\n\n"
# A gap between paragraphs, in units of the usual leading.
_GAP = 1.3
_SENTENCE_END = re.compile(r"[.!?:;…。！？][\"'”’»)\]\d]*$")
_HYPHENATED = re.compile(r"([^\W\d_]+)-$")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_WORD_PARTS = re.compile(r"[\w-]+")


_NOTHING = PdfLine(1, "", 0, 0, 0, 10)


class _EdgeLine(NamedTuple):
    """A line near the top or bottom of its page, with its page numbers masked."""

    line: PdfLine
    words: str
    height: int
    outermost: bool


def drop_boilerplate(pages: Sequence[PdfPage]) -> list[PdfPage]:
    """Return the pages without running heads, running feet and page numbers."""
    numbering = _find_numbering(pages)
    edges = {page.number: _mask_edges(page, numbering) for page in pages}
    alike = Counter((e.height, e.words) for found in edges.values() for e in found)
    numbered = Counter(e.height for found in edges.values() for e in found if _has_page_number(e.words))
    large = 1.15 * statistics.median(line.size for page in pages for line in page.lines or (_NOTHING,))
    few = 3 if len(pages) <= 20 else 4
    heads = _find_running_heads(pages, edges)

    def is_boilerplate(edge: _EdgeLine) -> bool:
        if edge.words.strip(_AROUND) == _HERE:
            return True
        if edge.line.size >= large:
            return False
        if _has_page_number(edge.words) and numbered[edge.height] >= max(5, len(pages) // 20):
            return True
        often = max(few, len(pages) // (25 if edge.outermost else 10))
        running = id(edge.line) in heads
        return count_figures(edge.words) < 2 and (running or alike[edge.height, edge.words] >= often)

    kept = []
    for page in pages:
        gone = {id(edge.line) for edge in edges[page.number] if is_boilerplate(edge)}
        lines = tuple(line for line in page.lines if id(line) not in gone) if gone else page.lines
        kept.append(page._replace(lines=lines))
    return kept if any(page.lines for page in kept) else list(pages)


def _find_running_heads(pages: Sequence[PdfPage], edges: Mapping[int, Sequence[_EdgeLine]]) -> set[int]:
    """Return the ids of outermost lines with words of the pages beside them, where most pages have such.

    A running head may name the section, and change on every other page. Then the part that names the chapter
    stays the same.
    """
    apart = _find_lines_apart(pages)
    places: dict[tuple[int, str], list[int]] = {}
    for at, page in enumerate(pages):
        for part in {part for e in edges[page.number] if id(e.line) in apart for part in _list_parts(e)}:
            places.setdefault(part, []).append(at)

    def is_repeated(edge: _EdgeLine, at: int) -> bool:
        whole, *parts = _list_parts(edge)
        return _runs_on(places[whole], at, 2) or any(
            _runs_on(places[part], at, _PAGES_IN_A_ROW) for part in parts
        )

    repeated = [
        [e for e in edges[page.number] if id(e.line) in apart and is_repeated(e, at)]
        for at, page in enumerate(pages)
    ]
    often = Counter(height for found in repeated for height in {e.height for e in found})
    enough = max(5, 0.6 * sum(bool(page.lines) for page in pages))
    return {id(e.line) for found in repeated for e in found if often[e.height] >= enough}


def _list_parts(edge: _EdgeLine) -> list[tuple[int, str]]:
    """Return the words of a line, and those that wide gaps divide, each with the height of the line."""
    return [(edge.height, words) for words in (edge.words, *(part.text for part in edge.line.segments))]


def _runs_on(places: Sequence[int], at: int, least: int) -> bool:
    """Whether the page at `at` is one of at least so many pages in a row, or of every other page."""
    here = bisect_left(places, at)
    first = last = here
    while first and last - first < least and places[first] - places[first - 1] <= 2:
        first -= 1
    while last + 1 < len(places) and last - first < least and places[last + 1] - places[last] <= 2:
        last += 1
    return last - first + 1 >= least


def _find_lines_apart(pages: Sequence[PdfPage]) -> set[int]:
    """Return the ids of first and last lines with a gap to the text that are no row of a table."""
    rows = [_list_rows(page) for page in pages]
    steps = [[b[0].y - a[0].y for a, b in pairwise(found)] for found in rows]
    everywhere = [step for found in steps for step in found]
    usual = statistics.median_low(everywhere) if everywhere else 0.0
    apart: set[int] = set()
    for found, gaps in zip(rows, steps, strict=True):
        for inwards, gap, others in ((found, gaps[:1], gaps[1:]), (found[::-1], gaps[-1:], gaps[:-1])):
            # Too few rows do not show how far apart the rows of a page are.
            step = statistics.median_low(others) if len(others) >= _EDGE_ROWS else usual
            if not gap or gap[0] <= _GAP * step:
                continue
            if not any(_share_columns(inwards[0], row) for row in inwards[1 : 1 + _EDGE_ROWS]):
                apart.update(id(line) for line in inwards[0])
    return apart


def _share_columns(row: Sequence[PdfLine], other: Sequence[PdfLine]) -> bool:
    """Whether two parts of a row begin, or end, right above or below parts of another."""
    parts, others = ([part for line in lines for part in line.segments or (line,)] for lines in (row, other))
    lefts = sum(any(abs(a.left - b.left) < _SAME_PLACE for b in others) for a in parts)
    rights = sum(any(abs(a.right - b.right) < _SAME_PLACE for b in others) for a in parts)
    return max(lefts, rights) > 1


def _has_page_number(words: str) -> bool:
    return words.startswith(_HERE) or words.endswith(_HERE)


def _list_rows(page: PdfPage) -> list[list[PdfLine]]:
    """Return the lines of a page by their height, from the bottom up."""
    ordered = sorted(page.lines, key=attrgetter("y"))
    return [list(row) for _, row in groupby(ordered, key=lambda line: round(line.y))]


def _find_edge_lines(page: PdfPage) -> Iterator[tuple[PdfLine, bool]]:
    """Yield the lines of a page's outermost rows, and whether theirs is the very first or last."""
    rows = _list_rows(page)
    low, high = page.bottom + _EDGE_SHARE * page.height, page.bottom + (1 - _EDGE_SHARE) * page.height
    last = len(rows) - 1
    for i in sorted({*range(min(_EDGE_ROWS, last + 1)), *range(max(0, last + 1 - _EDGE_ROWS), last + 1)}):
        outermost = i in (0, last)
        for line in rows[i]:
            if outermost or (i < _EDGE_ROWS and line.y < low) or (i > last - _EDGE_ROWS and line.y > high):
                yield line, outermost


def _find_numbering(pages: Sequence[PdfPage]) -> set[int]:
    """Return by how much printed page numbers run ahead of the physical ones, where that is the rule."""
    ahead: Counter[int] = Counter()
    for page in pages:
        ahead.update(
            {
                number - page.number
                for line, _ in _find_edge_lines(page)
                for number in _read_numbers(line.text)
            }
        )
    least = max(2, len(pages) // 20) if len(pages) < 40 else max(4, len(pages) // 30)
    return {gap for gap, count in ahead.items() if count >= least}


def _read_numbers(text: str) -> set[int]:
    """Return the numbers of a line that may be its page's: the first word, the last, or all of it."""
    tokens = _OF_ALL.sub("", text).split()
    ends = {token.strip(_AROUND) for token in (tokens[:1] + tokens[-1:])}
    found = {int(token) for token in ends if _NUMBER.fullmatch(token)}
    alone = _read_lone_number(text)
    return found if alone is None else {*found, alone}


def _read_lone_number(text: str) -> int | None:
    """Return the number of a line that says nothing else: `- 5 -`, `Page 5 of 90`, `xiv`."""
    bare = text.strip(_AROUND)
    if found := _LONE_NUMBER.fullmatch(bare):
        return int(found.group(1))
    if not _SMALL_ROMAN.fullmatch(bare):
        return None
    values = [_ROMAN_VALUES[letter] for letter in bare]
    return sum(-value if value < after else value for value, after in pairwise([*values, 0]))


def _mask_edges(page: PdfPage, numbering: set[int]) -> list[_EdgeLine]:
    return [
        _EdgeLine(
            line, _mask_numbers(line.text, page, numbering), round((line.y - page.bottom) / 3), outermost
        )
        for line, outermost in _find_edge_lines(page)
    ]


def _mask_numbers(text: str, page: PdfPage, numbering: set[int]) -> str:
    """Mask the page's own number at the start or end of a line, so that it is the same on every page."""
    alone = _read_lone_number(text)
    if alone is not None and alone - page.number in numbering:
        return _HERE
    tokens = _OF_ALL.sub("", text).split()
    for place in {0, len(tokens) - 1} if tokens else ():
        bare = tokens[place].strip(_AROUND)
        counts_along = bool(_NUMBER.fullmatch(bare)) and int(bare) - page.number in numbering
        if counts_along or (bare == page.label and bool(_ROMAN.fullmatch(bare) or bare[-1:].isdigit())):
            tokens[place] = _HERE
    return " ".join(tokens) if _HERE in tokens else text


@dataclass(frozen=True, slots=True)
class PdfText:
    """A section's text, its pages and tables, what each part of it is, and where it is printed."""

    text: str
    pages: tuple[PageMark, ...]
    blocks: tuple[Span, ...]
    markup: tuple[Part, ...] = ()
    lines: tuple[PrintedLine, ...] = ()


def measure_leading(lines: Sequence[PdfLine]) -> float:
    """Return the distance from line to line in a paragraph, in units of the type's size."""
    steps = ((a.y - b.y) / a.size for a, b in pairwise(lines) if a.page == b.page and a.size > 0)
    close = [round(step, 2) for step in steps if 0.9 < step < 2.6]
    return statistics.median(close) if close else 1.2


def join_lines(lines: Sequence[PdfLine], words: BookWords) -> str:
    """Return the lines of a heading as one, with the words whole that a line end breaks."""
    parts = [line.text for line in lines[:1]]
    for line, following in pairwise(lines):
        _join_line(parts, following.text, line.hyphen, words)
        parts.append(following.text)
    return "".join(parts)


def lay_out(
    lines: Sequence[PdfLine], *, words: BookWords, leading: float, label: Callable[[int], str | None]
) -> PdfText:
    """Return the text of consecutive lines, with its page marks, tables and markup."""
    tables = {table.start: table for table in find_tables(lines)}
    rights = _find_right_edges(lines)
    parts: list[str] = []
    marks: list[PageMark] = []
    blocks: list[Span] = []
    markup: list[Part] = []
    printed: list[PrintedLine] = []
    offset = opening = i = 0
    # Where the prose after the last table begins: in the text and among the parts.
    prose = (0, 0)
    while i < len(lines):
        line, table = lines[i], tables.get(i)
        text = shorten_leaders(line.text)
        if i:
            apart = table is not None or bool(blocks and offset == blocks[-1].end)
            gap = _PARAGRAPH if apart else _choose_gap(lines, i, opening, rights[i - 1], leading)
            if gap == " ":
                offset += _join_line(parts, text, lines[i - 1].hyphen, words)
            else:
                parts.append("-" + gap if lines[i - 1].hyphen and table else gap)
                offset += len(parts[-1])
                opening = i
        if not marks or marks[-1].number != line.page:
            marks.append(PageMark(offset, line.page, label(line.page)))
        if table:
            markup += _mark_prose("".join(parts[prose[1] :]), prose[0])
            made = write_table(table, offset)
            text, i = made.text, table.end
            blocks.append(Span(offset, offset + len(text)))
            markup += made.markup
            printed += (PrintedLine(at, line.page, one.first, one.length) for at, one in made.segments)
            prose = offset + len(text), len(parts) + 1
        else:
            printed.append(PrintedLine(offset, line.page, line.first, line.length))
            i += 1
        parts.append(text)
        offset += len(text)
    markup += _mark_prose("".join(parts[prose[1] :]), prose[0])
    return PdfText("".join(parts), tuple(marks), tuple(blocks), tuple(markup), tuple(printed))


def _mark_prose(text: str, start: int) -> list[Part]:
    """Return the paragraphs and lists of a text that begins at `start`."""
    return [shift_element(element, start) for element in read_prose(text)]


def _join_line(parts: list[str], text: str, hyphen: bool, words: BookWords) -> int:
    """Prepare the end of the text for the next line of its paragraph; return how much longer it got."""
    before, after = parts[-1], _FIRST_WORD.match(text)
    if hyphen:
        broken = _WORD_PARTS.findall(before[-60:].split(" ")[-1])
        keep = not (broken and after) or "-" in broken[-1] or words.keeps_hyphen(broken[-1], after.group())
        parts.append("-" if keep else "")
        return int(keep)
    match = _HYPHENATED.search(before[-60:]) if before.endswith("-") else None
    if match and after:
        if not words.keeps_hyphen(match.group(1), after.group()):
            parts[-1] = before[:-1]
            return -1
        return 0
    if before.endswith("/") and words.continues_path(before, text):
        return 0
    parts.append(" ")
    return 1


def _choose_gap(lines: Sequence[PdfLine], i: int, opening: int, right: float, leading: float) -> str:
    """Return what stands between line i-1 and line i: a space, a line end or a paragraph end."""
    a, b = lines[i - 1], lines[i]
    if a.hyphen:
        return " "
    em = max(a.size, b.size, 1.0)
    step = a.y - b.y
    if a.page != b.page or step < -0.5 * em or step > 12 * em:
        return " " if _goes_on(a, b) else _PARAGRAPH
    if abs(a.size - b.size) > 0.12 * em or a.bold != b.bold:
        return " " if abs(step) < 0.4 * em or ends_row(a, b) else _PARAGRAPH
    if abs(step) < 0.4 * em:
        return " "
    if step > _GAP * leading * em:
        return _PARAGRAPH
    if ITEM.match(b.text):
        return LINE
    if _has_room(a, b, right):
        return _PARAGRAPH if _is_ended(a.text) else LINE
    return _PARAGRAPH if _is_indented(a, b, first=i - 1 == opening) else " "


def ends_row(a: PdfLine, b: PdfLine) -> bool:
    """Whether smaller type stands right behind a line and higher, as the mark of a note does."""
    is_raised = a.page == b.page and b.size < 0.85 * a.size and 0 < b.y - a.y < 0.6 * a.size
    return is_raised and abs(b.left - a.right) < b.size


def _goes_on(a: PdfLine, b: PdfLine) -> bool:
    """Whether a paragraph continues over a page or column: its sentence is open and the next line fits."""
    if abs(a.size - b.size) > 0.12 * max(a.size, b.size) or a.bold != b.bold or count_figures(a.text) > 1:
        return False
    return bool(b.text) and not _is_ended(a.text) and (b.text[0].islower() or a.text.endswith((",", "-")))


def _is_ended(text: str) -> bool:
    return _SENTENCE_END.search(text[-6:]) is not None


def _has_room(a: PdfLine, b: PdfLine, right: float) -> bool:
    """Whether the next line's first word would have fitted on this line."""
    width = (b.right - b.left) / max(1, len(b.text))
    word = b.text.split(" ", 1)[0]
    return right - a.right > (len(word) + 1.5) * width + 0.02 * (right - a.left)


def _is_indented(a: PdfLine, b: PdfLine, *, first: bool) -> bool:
    """Whether line b starts a paragraph by standing further in or out than line a."""
    shift = b.left - a.left
    em = max(a.size, b.size)
    if shift > 0.9 * em:
        return not (first and ITEM.match(a.text)) and shift < 12 * em and not first
    return shift < -0.9 * em and not first


def _find_right_edges(lines: Sequence[PdfLine]) -> list[float]:
    """Return the right edge of each line's column: the second furthest end of the lines beside it."""
    edges: list[float] = []
    start = 0
    while start < len(lines):
        end = start
        while end < len(lines) and lines[end].page == lines[start].page:
            end += 1
        page = lines[start:end]
        lefts = sorted(ln.left for ln in page)
        ends = _find_furthest_ends(page)
        furthest = _find_edge(ends[-1])
        for line in page:
            if line.right > furthest - line.size:
                edges.append(furthest)
            else:
                before = ends[bisect_left(lefts, line.right)]
                edges.append(_find_edge([right for right in before if right > line.left] or [line.right]))
        start = end
    return edges


def _find_furthest_ends(page: Sequence[PdfLine]) -> list[list[float]]:
    """Return the furthest ends among the first n lines from the left, for each n from 0 to all.

    The lines beside another are those that start left of its end and end right of its start. So their
    furthest ends are among these, and a page of thousands of lines need not be compared pair by pair.
    """
    ends: list[list[float]] = [[]]
    for line in sorted(page, key=lambda ln: ln.left):
        ends.append(sorted((*ends[-1], line.right), reverse=True)[:_MANY])
    return ends


def _find_edge(ends: Sequence[float]) -> float:
    """Return the first of the ends, which is the furthest; of many the second, because one may stick out."""
    return ends[0] if len(ends) < _MANY else ends[1]
