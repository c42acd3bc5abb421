"""Split text into sentences, as spans: every character that is not blank lies in exactly one, in order.

No sentence goes over the end of a block: a paragraph, an item of a list, a row of a table. The code between
two blank lines is one. In the other blocks nupunkt decides about full stops, so abbreviations, initials,
decimals and versions stay whole; scripts with marks of their own (。 । ؟ ።) are parted at those. A sentence
of more than 1,000 characters is parted at a clause or a space, and a run without either is cut at 2,000, so
that no sentence is longer. The time taken grows with the length of the text and with nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any
from unicodedata import combining

from octavo.text.blocks import Block, list_blocks
from octavo.text.english import list_words
from octavo.types import ElementKind, Span

SENTENCE_MOST = 1_000
UNBROKEN_MOST = 2_000
# Nupunkt is quadratic on some runs of marks: it never sees more than this at once.
_WINDOW = 10_000
_MARKS = re.compile(
    r"[。！？｡．؟۔।॥።፧။།។]++(?:(?![」』）〕】》〉”’\"')\]])|[」』）〕】》〉”’\"')\]]++(?![とっ、，]))"
)
_STICKS = re.compile(r"(?:\[\d{1,4}\]|[¹²³⁰-⁹])+|[\"”’»)\]]+(?=\s|$)")
_FOOTNOTED = re.compile(r"[.!?][\"”’)]{0,3}(?:\[\d{1,4}\]|[¹²³⁰-⁹]){1,9}(?=\s+[\"“‘(]?[^\W\d_a-z])")
_GOES_ON = re.compile(r"[\"”’»)\]]*\s?[,;:](?=\s)")
_ENDING = re.compile(r"(?<=\s)([^\W\d_]{2,})\.(?=\s+[\"“‘(]?[A-Z])")
_CLAUSE = re.compile(r"[;:,.!?—–)\]](?=\s)|[、，；：。！？]")
_SPACE = re.compile(r"\s")
_LATIN_MARK = re.compile(r"[.!?…]")
_NOT_PROSE = re.compile(r"[.!?…]{40}")
_JOINS = frozenset("\u200d\u200c\ufe0e\ufe0f") | {chr(c) for c in range(0x1F3FB, 0x1F400)}


def split_sentences(text: str, *, blocks: Iterable[Block] | None = None) -> list[Span]:
    """Return the sentences of a text. Without its `blocks`, those are taken that its lines show."""
    found: list[Span] = []
    for block in list_blocks(text) if blocks is None else blocks:
        code = block.kind is ElementKind.CODE
        # The line's own end tells whether a mark stands at it.
        end = block.end + (text[block.end : block.end + 1] == "\n")
        stretches = [(block.start, block.end)] if code else _split_prose(text, block.start, end)
        for first, last in stretches:
            found += (Span(a, b) for a, b in split_long(text, first, last))
    return found


def split_long(
    text: str, start: int, end: int, *, most: int = SENTENCE_MOST, unbroken: int = UNBROKEN_MOST
) -> Iterator[tuple[int, int]]:
    """Yield a stretch in parts of `most` characters, cut at clauses or spaces, or at `unbroken` if none."""
    while (trimmed := trim(text, start, end)) is not None:
        start, end = trimmed
        if end - start <= most:
            yield start, end
            return
        cut = _cut(text, start, end, most=most, unbroken=unbroken)
        yield trim(text, start, cut) or (start, cut)
        start = cut


def trim(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the stretch without the blanks around it; None when there is nothing else."""
    inner = text[start:end]
    left = len(inner) - len(inner.lstrip())
    right = len(inner.rstrip())
    return (start + left, start + right) if right > left else None


def _cut(text: str, start: int, end: int, *, most: int, unbroken: int) -> int:
    """Return where to part a stretch that is too long."""
    for pattern in (_CLAUSE, _SPACE):
        places = [m.end() for m in pattern.finditer(text, start + most // 2, min(end, start + most))]
        if places:
            return places[-1]
    early = [m.end() for m in _SPACE.finditer(text, start + 1, start + most // 2)]
    if early:
        return early[-1]
    farthest = min(end, start + max(most, unbroken))
    later = _SPACE.search(text, start + most, farthest)
    cut = later.start() if later else farthest
    # A letter keeps its accents, an emoji its parts.
    for back in range(16):
        at = cut - back
        if at <= start + 1 or at >= end or not (_is_joiner(text[at]) or text[at - 1] == "\u200d"):
            return max(at, start + 1)
    return cut


def _is_joiner(character: str) -> bool:
    return character in _JOINS or combining(character) != 0


def _split_prose(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the sentences of one paragraph, by marks of other scripts first and by nupunkt within those."""
    bounds = [start, *(m.end() for m in _MARKS.finditer(text, start, end)), end]
    for first, last in pairwise(bounds):
        if last > first:
            yield from _split_latin(text, first, last)


def _split_latin(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end:
        window = min(end, start + _WINDOW)
        ends = [*_find_full_stops(text, start, window), window]
        if window < end and len(ends) > 1:
            # What the window cut off is looked at again, with what follows.
            ends.pop()
        for stop in ends:
            if stop > start and (trimmed := trim(text, start, stop)) is not None:
                yield trimmed
            start = max(start, stop)


def _find_full_stops(text: str, start: int, end: int) -> list[int]:
    """Return where nupunkt begins a sentence, after a footnote's number or a quotation's end that sticks."""
    part = text[start:end]
    if not _LATIN_MARK.search(part) or _NOT_PROSE.search(part):
        return []
    found = {match.end() for match in _FOOTNOTED.finditer(part)}
    # Nupunkt has learned these words as abbreviations: "dusk", "hall", "John".
    words = list_words("not_abbreviations")
    found |= {match.end() for match in _ENDING.finditer(part) if match[1] in words}
    for first, _ in list(_load_model().span_tokenize(part))[1:]:
        sticking = _STICKS.match(part, first) if first and not part[first - 1].isspace() else None
        found.add(sticking.end() if sticking else first)
    return [start + place for place in sorted(found) if not _GOES_ON.match(part, place)]


@cache
def _load_model() -> Any:
    import nupunkt

    return nupunkt.load("default")
