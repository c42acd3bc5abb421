"""Find where a PDF's sections begin.

An outline is trusted: each of its entries is found on its page by its words, or else by its height. Without
an outline, headings are lines that look like headings throughout the book: lines in larger or bolder type
that stand alone, in as many levels as there are kinds of type. When too few or too many lines look so, the
book is cut into runs of pages instead, because a wrong table of contents is worse than a plain one.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from octavo.readers.pdf.layout import ends_row, join_lines
from octavo.readers.pdf.lines import PdfLine, count_figures
from octavo.readers.titles import squash_title
from octavo.text.clean import clean, collapse

if TYPE_CHECKING:
    from octavo.readers.book_words import BookWords

RUN_OF_PAGES = 10
_DEEPEST_FOUND = 4
LONGEST_TITLE = 300
_PLAIN = re.compile(r"[\W_]+")
_NUMBERED = re.compile(
    r"(?:(?:chapter|part|section|appendix|item|annex|§)\s*)?(?:\d|[IVXLC]+\b|[A-Z]\.)", re.IGNORECASE
)
_NUMBER_ONLY = re.compile(r"(?:chapter|part|section|appendix|item|annex)?(?:\d*|[ivxlc]+|[a-z])")
_ONES = "one|two|three|four|five|six|seven|eight|nine"
_TEENS = "ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_LABEL = re.compile(
    r"(?:(?:chapter|part|book|section|appendix|annex)\b)?\s*"
    rf"(?:\d{{1,3}}|[ivxlc]+|[a-z]|{_ONES}|{_TEENS}|(?:{_TENS})(?:[ -]?(?:{_ONES}))?)?[.:]?",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"(?P<top>(?:part|book)\s+(?:[ivxlc]+|\d+|one|two|three|four|five|six)\b)"
    r"|(?P<mid>(?:chapter|item|appendix|annex|exhibit)\s+(?:\d+[a-z]?|[ivxlc]+|[a-z])\b)"
    r"|(?P<note>(?:note|section)\s+\d+\b)"
    r"|(?P<num>\d{1,2}(?:\.\d{1,2}){0,3})\.\s+[A-Z]|(?P<sub>\d{1,2}(?:\.\d{1,2}){1,3})\s+[A-Z]",
    re.IGNORECASE,
)


class OutlineEntry(NamedTuple):
    """One entry of an outline: its level from 0, its title, and where it points; `page` counts from 1."""

    level: int
    title: str
    page: int | None
    y: float | None


@dataclass(frozen=True, slots=True)
class SectionStart:
    """A section's path of headings, and the lines [start, body) of the book that print it."""

    path: tuple[str, ...]
    start: int
    body: int


def clean_title(text: str) -> str:
    return collapse(clean(text))[:LONGEST_TITLE].strip()


def locate_outline(
    entries: Sequence[OutlineEntry], lines: Sequence[PdfLine], *, words: BookWords, book_title: str
) -> list[SectionStart]:
    """Find the outline's sections in reading order; drop a single root that repeats the book's title."""
    entries = _drop_root([e._replace(title=clean_title(e.title)) for e in entries], book_title)
    firsts, printed_at = _find_first_lines(lines), _find_printed_titles(entries, lines)
    found: list[SectionStart] = []
    path: list[str] = []
    after = 0
    for number, entry in enumerate(entries):
        target = _find_destination(entries, number)
        if target.page is None:
            start, body = _locate_printed_title(
                printed_at.get(squash_title(entry.title), []), after, len(lines)
            )
        else:
            start, body = _locate_on_page(target._replace(title=entry.title), lines, firsts, after=after)
        printed = clean_title(join_lines(lines[start:body], words))
        title = printed if _NUMBERED.match(printed) and not _NUMBERED.match(entry.title) else entry.title
        path[entry.level :] = [title or (f"Page {target.page}" if target.page else "Untitled")]
        start = _include_label(lines, start)
        after = max(after, body)
        found.append(SectionStart(tuple(path), start, body))
    return sorted(found, key=lambda heading: heading.start)


def _include_label(lines: Sequence[PdfLine], start: int) -> int:
    """Return the heading's line, or that of the “Chapter Three” printed above it."""
    while start and start < len(lines) and lines[start - 1].page == lines[start].page:
        if not _LABEL.fullmatch(lines[start - 1].text):
            break
        # The mark of a note at the end of the text above is no label.
        if start > 1 and ends_row(lines[start - 2], lines[start - 1]):
            break
        start -= 1
    return start


def _drop_root(entries: list[OutlineEntry], book_title: str) -> list[OutlineEntry]:
    if sum(e.level == 0 for e in entries) == 1 and len(entries) > 1 and entries[0].level == 0:
        root = squash_title(entries[0].title)
        if root and (root in squash_title(book_title) or squash_title(book_title) in root):
            return [e._replace(level=e.level - 1) for e in entries[1:]]
    levels: list[OutlineEntry] = []
    # No entry is more than one level below the entry before it.
    for entry in entries:
        deepest = levels[-1].level + 1 if levels else 0
        levels.append(entry._replace(level=min(entry.level, deepest)))
    return levels


def _find_destination(entries: Sequence[OutlineEntry], number: int) -> OutlineEntry:
    """Return the entry with the place to go to; one that points nowhere begins with its first child."""
    entry = entries[number]
    for other in entries[number:]:
        if other is not entry and other.level <= entry.level:
            break
        if other.page is not None:
            return other
    return entry


def _find_printed_titles(entries: Sequence[OutlineEntry], lines: Sequence[PdfLine]) -> dict[str, list[int]]:
    """Find the lines that print the titles of entries which point nowhere."""
    wanted = {squash_title(entry.title) for entry in entries if entry.page is None} - {""}
    found: dict[str, list[int]] = {}
    for i, line in enumerate(lines) if wanted else ():
        if (words := squash_title(line.text)) in wanted:
            found.setdefault(words, []).append(i)
    return found


def _locate_printed_title(places: Sequence[int], after: int, end: int) -> tuple[int, int]:
    """Place an entry that points nowhere where its title is printed next; else give it no text."""
    place = bisect_left(places, after)
    return (places[place], places[place] + 1) if place < len(places) else (end, end)


def _find_first_lines(lines: Sequence[PdfLine]) -> dict[int, int]:
    firsts: dict[int, int] = {}
    for i, line in enumerate(lines):
        firsts.setdefault(line.page, i)
    return firsts


def _locate_on_page(
    entry: OutlineEntry, lines: Sequence[PdfLine], firsts: dict[int, int], *, after: int
) -> tuple[int, int]:
    """Find the lines [start, body) that print the entry's heading; an empty range where none do."""
    page = entry.page or 1
    begin = firsts.get(page)
    if begin is None:
        # That page is blank: the section begins with the next page that has text.
        later = [i for number, i in firsts.items() if number > page]
        return (min(later), min(later)) if later else (len(lines), len(lines))
    end = begin
    while end < len(lines) and lines[end].page == page:
        end += 1
    wanted, longest = squash_title(entry.title), len(entry.title) + 24
    on_page = [i for i in range(begin, end) if len(lines[i].text) <= longest] if wanted else []
    matches = [(i, n) for i in on_page if (n := _count_title_lines(wanted, lines, i, end))]
    if matches:
        high = entry.y if entry.y is not None else float("inf")
        due = [m for m in matches if m[0] >= after] or matches
        i, n = min(
            due, key=lambda m: (abs(lines[m[0]].y - high), m[0]) if high < float("inf") else (0.0, m[0])
        )
        return i, i + n
    if entry.y is None:
        return begin, begin
    below = next((i for i in range(begin, end) if lines[i].y < entry.y), end)
    return below, below


def _count_title_lines(wanted: str, lines: Sequence[PdfLine], i: int, end: int) -> int:
    """Count the lines from line i on that print just this title, with or without its number."""
    bare = wanted.lstrip("0123456789") or wanted
    seen = ""
    for n in range(1, min(4, end - i) + 1):
        seen += squash_title(lines[i + n - 1].text)
        if seen == wanted or (seen.endswith(bare) and _NUMBER_ONLY.fullmatch(seen, 0, len(seen) - len(bare))):
            return n
        if not wanted.startswith(seen) and not bare.startswith(seen.lstrip("0123456789") or "\0"):
            return 0
    return 0


def detect_headings(lines: Sequence[PdfLine], *, words: BookWords, pages: int) -> list[SectionStart]:
    """Find headings by their looks; none when that is not reliable."""
    body = _measure_body_size(lines)
    kinds: dict[int, tuple[int, float, bool]] = {}
    for i, line in enumerate(lines):
        if _stands_out(lines, i, body):
            kinds[i] = _classify(line, body)
    starts = _merge_lines(lines, kinds)
    if not 3 <= len(starts) <= max(12, 4 * pages):
        return []
    above: list[tuple[tuple[int, float, bool], str]] = []
    found: list[SectionStart] = []
    for i, n in starts:
        while above and (above[-1][0] >= kinds[i] or len(above) == _DEEPEST_FOUND):
            above.pop()
        above.append((kinds[i], clean_title(join_lines(lines[i : i + n], words))))
        found.append(SectionStart(tuple(title for _, title in above), i, i + n))
    return found


def _measure_body_size(lines: Sequence[PdfLine]) -> float:
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[round(line.size * 2) / 2] += len(line.text)
    return max(sizes, key=lambda s: sizes[s]) if sizes else 10.0


def _classify(line: PdfLine, body: float) -> tuple[int, float, bool]:
    """Rank a heading for its level: by its name; without a name by size, then by capitals."""
    named = _NAMED.match(line.text)
    if named is None:
        return 9, -max(body, round(line.size)), not line.text.isupper()
    dots = (named.group("num") or named.group("sub") or "").count(".")
    return (0 if named.group("top") else 2 + dots if named.group("note") else 1 + dots), 0.0, False


def _heads_columns(lines: Sequence[PdfLine], i: int) -> bool:
    """Whether wide gaps divide both a line and the one below it: the headings of columns, and a row.

    The number of a heading may stand far before its words.
    """
    line = lines[i]
    if len(line.segments) < 2 or _NAMED.match(line.text) or not line.segments[0].text[-1:].isalpha():
        return False
    below = lines[i + 1] if i + 1 < len(lines) else None
    return below is not None and below.page == line.page and len(below.segments) > 1


def _stands_out(lines: Sequence[PdfLine], i: int, body: float) -> bool:
    """Whether a short line in larger or bold type, no row or sentence, has ordinary text soon below it."""
    line = lines[i]
    text = line.text
    if not 3 <= len(text) <= 120 or text[-1] in ".,;" or not (text[0].isupper() or text[0].isdigit()):
        return False
    if count_figures(text) > (1 if _NAMED.match(text) else 0) or sum(c.isalpha() for c in text) < 0.5 * len(
        text
    ):
        return False
    if line.size < body * 1.15 and not (line.bold and line.size >= body * 0.95):
        return False
    if _heads_columns(lines, i):
        return False
    below = next(
        (o for o in lines[i + 1 : i + 4] if not (o.bold == line.bold and abs(o.size - line.size) < 0.6)), None
    )
    if below is None or count_figures(below.text) > 1:
        return False
    # A named line that ends in a figure below it makes this a table of contents.
    return not (count_figures(below.text) and _NAMED.match(below.text))


def _merge_lines(
    lines: Sequence[PdfLine], kinds: dict[int, tuple[int, float, bool]]
) -> list[tuple[int, int]]:
    """Merge headings printed over several lines to (first line, how many); drop bold paragraphs."""
    starts: list[tuple[int, int]] = []
    for i in sorted(kinds):
        if starts and sum(starts[-1]) == i and starts[-1][1] < 3 and _is_same_heading(lines[i - 1], lines[i]):
            starts[-1] = (starts[-1][0], starts[-1][1] + 1)
        else:
            starts.append((i, 1))
    return [(i, n) for i, n in starts if not _runs_on(lines, i + n, kinds)]


def _runs_on(lines: Sequence[PdfLine], i: int, kinds: dict[int, tuple[int, float, bool]]) -> bool:
    return (
        i < len(lines)
        and i not in kinds
        and lines[i].bold == lines[i - 1].bold
        and _is_same_heading(lines[i - 1], lines[i])
    )


def _is_same_heading(a: PdfLine, b: PdfLine) -> bool:
    close = 0 < a.y - b.y < 1.6 * a.size
    return a.page == b.page and abs(a.size - b.size) < 0.3 and close and not _NAMED.match(b.text)


def split_into_runs(lines: Sequence[PdfLine]) -> list[SectionStart]:
    """Make sections of ten pages each, for a book that shows no headings."""
    firsts = _find_first_lines(lines)
    starts: dict[int, int] = {}
    for page, i in sorted(firsts.items()):
        starts.setdefault((page - 1) // RUN_OF_PAGES, i)
    last = max(firsts, default=1)
    return [
        SectionStart((f"Pages {run * RUN_OF_PAGES + 1}–{min(last, (run + 1) * RUN_OF_PAGES)}",), start, start)
        for run, start in sorted(starts.items())
    ]
