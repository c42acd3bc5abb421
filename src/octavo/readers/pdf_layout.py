"""Lines become paragraphs: the text of a section as a reader would type it.

Lines of one paragraph are joined by a space, words broken at a line's end become one word again, and a
paragraph that runs over a page goes on. A break is kept where the printer meant one: a gap, an indent, a
change of type, a line that ends although the next word would have fitted. Rows of figures stay rows and form
one block. Where a page begins is marked at the very word.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from octavo.readers.pdf_lines import Line, figures
from octavo.types import PageMark, Span

LINE, PARAGRAPH = "\n", "\n\n"
GAP = 1.3  # times the usual leading
_ITEM = re.compile(r"(?:[•●○▪■◦‣⁃∙·➢✓]|[-–—*]\s|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})[.)]\s)")
_ENDED = re.compile(r"[.!?:;…。！？][\"'”’»)\]\d]*$")
_LEADERS = re.compile(r"\s*(?:[.·…] ?){4,}\s*")
_BROKEN = re.compile(r"([^\W\d_]+)-$")
_STARTS = re.compile(r"[^\W\d_]+")
_WORDS = re.compile(r"[\w-]+")


@dataclass(frozen=True, slots=True)
class Laid:
    """A section's text, where its pages begin, and its tables."""

    text: str
    pages: tuple[PageMark, ...]
    blocks: tuple[Span, ...]


class Words:
    """The book's own words, which decide whether a hyphen at a line's end belongs to the word."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = tuple(texts)

    @cached_property
    def _seen(self) -> Counter[str]:
        return Counter(_WORDS.findall("\n".join(self._texts).lower()))

    def hyphen_between(self, before: str, after: str) -> bool:
        """Whether “before-after” is spelled with its hyphen elsewhere than at a line's end."""
        seen, first, second = self._seen, before.lower(), after.lower()
        if first + second in seen:
            return f"{first}-{second}" in seen and seen[f"{first}-{second}"] > seen[first + second]
        if f"{first}-{second}" in seen or not after[:1].islower():
            return True
        return min(len(first), len(second)) > 2 and min(seen.get(first, 0), seen.get(second, 0)) > 1


def usual_leading(lines: Sequence[Line]) -> float:
    """Distance from line to line in a paragraph, in units of the type's size."""
    steps = ((a.y - b.y) / a.size for a, b in pairwise(lines) if a.page == b.page and a.size > 0)
    close = [round(step, 2) for step in steps if 0.9 < step < 2.6]
    return statistics.median(close) if close else 1.2


def lay_out(
    lines: Sequence[Line], *, words: Words, leading: float, label: Callable[[int], str | None]
) -> Laid:
    """The text of consecutive lines, with its page marks and tables."""
    if not lines:
        return Laid("", (), ())
    tables = _tables(lines)
    rights = _right_edges(lines)
    parts: list[str] = []
    marks: list[PageMark] = []
    blocks: list[Span] = []
    offset = table_start = opening = 0
    for i, line in enumerate(lines):
        text = (
            _LEADERS.sub(" … ", line.text).strip() if ".." in line.text or ". ." in line.text else line.text
        )
        if i:
            gap = (
                _row_gap(lines, i)
                if tables[i] and tables[i - 1]
                else _gap(lines, i, opening, rights[i - 1], leading)
            )
            if tables[i] != tables[i - 1] and not lines[i - 1].hyphen:
                gap = PARAGRAPH
            if gap == " ":
                offset += _join(parts, text, lines[i - 1].hyphen, words)
            else:
                parts.append(gap)
                offset += len(gap)
                opening = i
        if not marks or marks[-1].number != line.page:
            marks.append(PageMark(offset, line.page, label(line.page)))
        if tables[i] and not (i and tables[i - 1]):
            table_start = offset
        parts.append(text)
        offset += len(text)
        if tables[i] and not (i + 1 < len(lines) and tables[i + 1]):
            blocks.append(Span(table_start, offset))
    return Laid("".join(parts), tuple(marks), tuple(blocks))


def _join(parts: list[str], text: str, hyphen: bool, words: Words) -> int:
    """Prepares the end of the text for the next line of the same paragraph; how much longer it got."""
    before, after = parts[-1], _STARTS.match(text)
    if hyphen:
        broken = _WORDS.findall(before[-60:].split(" ")[-1])
        keep = not (broken and after) or "-" in broken[-1] or words.hyphen_between(broken[-1], after.group())
        parts.append("-" if keep else "")
        return int(keep)
    match = _BROKEN.search(before[-60:]) if before.endswith("-") else None
    if match and after:
        if not words.hyphen_between(match.group(1), after.group()):
            parts[-1] = before[:-1]
            return -1
        return 0
    parts.append(" ")
    return 1


def _gap(lines: Sequence[Line], i: int, opening: int, right: float, leading: float) -> str:
    """What stands between line i-1 and line i: a space, a line end or a paragraph end."""
    a, b = lines[i - 1], lines[i]
    if a.hyphen:
        return " "
    em = max(a.size, b.size, 1.0)
    step = a.y - b.y
    if a.page != b.page or step < -0.5 * em or step > 12 * em:
        return " " if _goes_on(a, b) else PARAGRAPH
    if abs(a.size - b.size) > 0.12 * em or a.bold != b.bold:
        return " " if abs(step) < 0.4 * em else PARAGRAPH
    if abs(step) < 0.4 * em:
        return " "
    if step > GAP * leading * em:
        return PARAGRAPH
    if _ITEM.match(b.text):
        return LINE
    if _had_room(a, b, right):
        return PARAGRAPH if _ended(a.text) else LINE
    return PARAGRAPH if _indented(a, b, first=i - 1 == opening) else " "


def _goes_on(a: Line, b: Line) -> bool:
    """Whether a paragraph runs on over a page or column: its sentence is open and the next line goes on."""
    if abs(a.size - b.size) > 0.12 * max(a.size, b.size) or a.bold != b.bold or figures(a.text) > 1:
        return False
    return bool(b.text) and not _ended(a.text) and (b.text[0].islower() or a.text.endswith((",", "-")))


def _ended(text: str) -> bool:
    return _ENDED.search(text[-6:]) is not None


def _had_room(a: Line, b: Line, right: float) -> bool:
    """Whether the next line's first word would have fitted on this line."""
    width = (b.right - b.left) / max(1, len(b.text))
    word = b.text.split(" ", 1)[0]
    return right - a.right > (len(word) + 1.5) * width + 0.02 * (right - a.left)


def _indented(a: Line, b: Line, *, first: bool) -> bool:
    """Whether line b starts a paragraph by standing further in or out than line a."""
    shift = b.left - a.left
    em = max(a.size, b.size)
    if shift > 0.9 * em:
        return not (first and _ITEM.match(a.text)) and shift < 12 * em and not first
    return shift < -0.9 * em and not first


def _right_edges(lines: Sequence[Line]) -> list[float]:
    """For each line, the right edge of its column: the second furthest end of the lines beside it."""
    edges: list[float] = []
    start = 0
    while start < len(lines):
        end = start
        while end < len(lines) and lines[end].page == lines[start].page:
            end += 1
        page = lines[start:end]
        furthest = _edge([ln.right for ln in page])
        edges += [furthest if ln.right > furthest - ln.size else _column_edge(ln, page) for ln in page]
        start = end
    return edges


def _column_edge(line: Line, page: Sequence[Line]) -> float:
    left, right = line.left, line.right
    return _edge([other.right for other in page if other.left < right and other.right > left] or [right])


def _edge(ends: list[float]) -> float:
    """The furthest end; of many lines the second furthest, because one may stick out."""
    return max(ends) if len(ends) < 5 else sorted(ends)[-2]


def _tables(lines: Sequence[Line]) -> list[bool]:
    """Which lines belong to tables: runs of rows with at most two other lines between them."""
    marked = [False] * len(lines)
    rows = [i for i, line in enumerate(lines) if figures(line.text) > 1 or _is_leader(line.text)]
    run: list[int] = []
    for row in [*rows, len(lines) + 9]:
        if run and (row - run[-1] > 3 or not _short_between(lines, run[-1], row)):
            if len(run) > 1:
                marked[run[0] : run[-1] + 1] = [True] * (run[-1] + 1 - run[0])
            run = []
        run.append(row)
    return marked


def _is_leader(text: str) -> bool:
    return (". . ." in text or "...." in text) and text[-1:].isdigit()


def _short_between(lines: Sequence[Line], row: int, other: int) -> bool:
    """Between two rows of a table stand only labels, never sentences."""
    return all(len(line.text) < 90 and not line.text.endswith(".") for line in lines[row + 1 : other])


def _row_gap(lines: Sequence[Line], i: int) -> str:
    """Rows stay rows; a label that runs on to a second line joins its row."""
    a, b = lines[i - 1], lines[i]
    runs_on = a.hyphen or (not figures(a.text) and b.text[:1].islower() and a.page == b.page and b.y < a.y)
    return " " if runs_on else LINE
