"""Say what the lines of a plain text are, by how they begin: items of a list, rows of a table, code, prose.

Nothing after the readers tells structure from characters, but for this. Readers of formats that have no marks
of their own (plain text, PDF) find the lists in their prose with it. A text of which nothing better is known
is described by it: the words of a language model, a passage of somebody else's collection, a book that was
added before markup was stored.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from octavo.types import Element, ElementKind, Span

if TYPE_CHECKING:
    from octavo.types.markup import Attribute

_STARTS_NEW = re.compile(
    r"[ \t]*(?:(?:[-*+•‣◦▪–—]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)])[ \t]|\||#{1,6} |>)"
)
"""How a line begins that does not go on with the line before."""
_MARK = re.compile(r"[ \t]*(?:([-*+•‣◦▪–—])|\(?(?:(\d{1,3})|([a-zA-Z]|[ivxIVX]{1,5}))[.)])[ \t]+(?=\S)")
"""The bullet, number, letter or roman numeral before an item."""
# Lines of a novel begin with these where somebody speaks.
_DASHES = ("–", "—")
_CODE = re.compile(r"[{}<>;=$\\]")
# The share of such characters from which on a text is code.
_CODE_SHARE = 0.06
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii", "xiv", "xv")


class _Run(NamedTuple):
    """Lines that belong together, without the blanks around them."""

    kind: ElementKind
    start: int
    end: int


class _Mark(NamedTuple):
    """What stands before an item: its style (`*`, `1`, `a`, `A`, `i` or `I`), its number, and its length."""

    style: str
    number: int
    length: int


def read_layout(text: str, *, kept: Sequence[Span] = ()) -> tuple[Element, ...]:
    """Return the markup of a text as far as its lines show it: lists, rows of tables, code and paragraphs.

    The lines of the spans `kept` are known to be code or tables.
    """
    runs = (_name_code(text, run) for run in _find_runs(text, _NameLine(kept)))
    return _mark_runs(text, list(runs))


def read_prose(text: str) -> tuple[Element, ...]:
    """Return the lists and paragraphs of a text that is known to have no code and no tables."""
    return _mark_runs(text, list(_find_runs(text, lambda line, _: _name_prose(line))))


def _mark_runs(text: str, runs: Sequence[_Run]) -> tuple[Element, ...]:
    elements: list[Element] = []
    at = 0
    while at < len(runs):
        kind, end = runs[at].kind, at + 1
        while end < len(runs) and kind is not ElementKind.PARAGRAPH and runs[end].kind is kind:
            end += 1
        if kind is ElementKind.ITEM:
            elements += _read_lists(text, runs[at:end])
        elif kind is ElementKind.ROW:
            elements.append(Element(ElementKind.TABLE, runs[at].start, runs[end - 1].end))
            elements += (Element(kind, run.start, run.end, 1) for run in runs[at:end])
        else:
            elements.append(Element(kind, runs[at].start, runs[end - 1].end))
        at = end
    return tuple(elements)


def list_items(text: str) -> list[str]:
    """Return the words of the items of all lists in a text, without the marks before them."""
    layout = read_layout(text)
    leaves = (leaf for item, leaf in pairwise(layout) if item.kind is ElementKind.ITEM)
    return [text[leaf.start : leaf.end] for leaf in leaves]


def _find_runs(text: str, name_line: Callable[[str, int], ElementKind]) -> Iterator[_Run]:
    """Yield the runs of a text. `name_line` says what a line is, by its words and where it begins."""
    run: _Run | None = None
    after = 0
    for line in text.split("\n"):
        at, after = after, after + len(line) + 1
        first, last = at + len(line) - len(line.lstrip()), at + len(line.rstrip())
        kind = name_line(line, at) if last > first else None
        alone = kind in (ElementKind.ROW, ElementKind.CODE)
        if run and (kind is None or alone or _STARTS_NEW.match(line)):
            yield run
            run = None
        if alone and kind:
            yield _Run(kind, first, last)
        elif kind:
            run = run._replace(end=last) if run else _Run(kind, first, last)
    if run:
        yield run


def _name_prose(line: str) -> ElementKind:
    return ElementKind.ITEM if _MARK.match(line) else ElementKind.PARAGRAPH


def _name_code(text: str, run: _Run) -> _Run:
    """Say that a paragraph is code if much of it is written in signs."""
    if run.kind is not ElementKind.PARAGRAPH:
        return run
    is_code = len(_CODE.findall(text, run.start, run.end)) > _CODE_SHARE * (run.end - run.start)
    return run._replace(kind=ElementKind.CODE) if is_code else run


class _NameLine:
    """Says what a line is: a row, code, an item or prose."""

    def __init__(self, kept: Sequence[Span]) -> None:
        self._kept = kept
        self._starts = [span.start for span in kept]

    def __call__(self, line: str, at: int) -> ElementKind:
        if "\t" in line or " | " in line or line.lstrip().startswith("|"):
            return ElementKind.ROW
        holder = bisect_right(self._starts, at + len(line)) - 1
        inside = holder >= 0 and self._kept[holder].end > at
        return ElementKind.CODE if inside else _name_prose(line)


def _read_lists(text: str, runs: Sequence[_Run]) -> Iterator[Element]:
    """Yield lists of the runs whose marks go on with each other, and the others as paragraphs."""
    held: list[tuple[_Run, _Mark]] = []
    for run in runs:
        before = held[-1][1] if held else None
        mark = _read_mark(text, run, before)
        if before and (mark.style, mark.number) != (before.style, before.number + (before.style != "*")):
            yield from _make_list(text, held)
            held = []
        held.append((run, mark))
    yield from _make_list(text, held)


def _read_mark(text: str, run: _Run, before: _Mark | None) -> _Mark:
    """Read the mark of an item. "i" follows "h" in one list, and begins another."""
    found = _MARK.match(text, run.start)
    if found is None:
        return _Mark("", 0, 0)
    bullet, number, letters = found.groups()
    length = found.end() - run.start
    if bullet or number:
        return _Mark("*" if bullet else "1", int(number or 0), length)
    low = letters.lower()
    letter = ord(low) - ord("a") + 1 if len(low) == 1 else 0
    roman = _ROMAN.index(low) + 1 if low in _ROMAN else 0
    style, cased = ("a", "i") if letters.islower() else ("A", "I")
    follows = before is not None and (before.style, before.number + 1) == (style, letter)
    return _Mark(style, letter, length) if follows or not roman else _Mark(cased, roman, length)


def _make_list(text: str, held: Sequence[tuple[_Run, _Mark]]) -> Iterator[Element]:
    """Yield a list, or paragraphs where it may be none: a single "A. Smith", dashes between paragraphs."""
    (first, mark), last = held[0], held[-1][0]
    doubtful = mark.style not in ("*", "1")
    dashes = text[first.start] in _DASHES
    apart = "\n\n" in text[first.start : last.end]
    if not mark.length or (len(held) == 1 and (doubtful or dashes)) or (dashes and apart):
        yield from (Element(ElementKind.PARAGRAPH, run.start, run.end) for run, _ in held)
        return
    attributes: dict[str, Attribute] = {} if mark.style == "*" else {"ordered": 1}
    if mark.style != "*" and mark.number != 1:
        attributes["start"] = mark.number
    if doubtful:
        attributes["style"] = mark.style
    yield Element(ElementKind.LIST, first.start, last.end, 0, attributes)
    for run, own in held:
        yield Element(ElementKind.ITEM, run.start, run.end, 1)
        yield Element(ElementKind.PARAGRAPH, run.start + own.length, run.end, 2)
