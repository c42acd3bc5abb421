"""Collect the markup of a text while a reader builds it.

Readers change blanks while they collect text: runs of them become one, lines get indents. They never change
the order of the other characters. So `MarkedRuns` notes where an element begins and ends by counting the
characters that are not blank, and finds the places in the finished text by counting again. Text that was
composed across an element's edge would count differently; such a text loses its inline elements and keeps
its pictures.

A `Part` is an element that is not yet checked. A `Container` is a block that goes on over several pieces of
text: pieces that were read inside the same container are inside one element. Until the whole book is read,
`url` and `image` hold addresses as they were written.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from octavo.text.clean import clean
from octavo.types import Element, ElementKind
from octavo.types.markup import DEEPEST, LONGEST_ATTRIBUTE, NO_ATTRIBUTES, SHOWN_EMPTY, Attribute

_WORD = re.compile(r"\S+")
# Signs that readers put between runs; they are not in the finished text.
_SIGNS = re.compile("[\ufdd0\ufdd1\x00]")
_LONGEST_NAME = 40


class Part(NamedTuple):
    """An element of a text that is being built. Offsets and depth are relative to that text."""

    kind: ElementKind
    start: int
    end: int
    depth: int = 0
    attributes: Mapping[str, Attribute] = NO_ATTRIBUTES


@dataclass(frozen=True, slots=True, eq=False)
class Container:
    """A block that holds other blocks. Two containers are never equal."""

    kind: ElementKind
    attributes: Mapping[str, Attribute] = field(default_factory=lambda: NO_ATTRIBUTES)


def count_characters(text: str) -> int:
    """Count the characters of a run that are not blank, as they will be in the finished text."""
    if not text.isascii() or "\x00" in text:
        text = _SIGNS.sub("", text)
    return len("".join(clean(text).split()))


class CharacterIndex:
    """Finds characters of a text by how many characters that are not blank come before them."""

    def __init__(self, text: str) -> None:
        self._starts: list[int] = []
        self._counts: list[int] = []
        self.total = 0
        for word in _WORD.finditer(text):
            self._starts.append(word.start())
            self._counts.append(self.total)
            self.total += word.end() - word.start()

    def find_start(self, count: int) -> int:
        """Return the offset of the character that `count` others come before."""
        number = bisect_right(self._counts, count) - 1
        return self._starts[number] + count - self._counts[number] if number >= 0 else 0

    def find_end(self, count: int) -> int:
        """Return the offset after the last of the first `count` characters."""
        return self.find_start(count - 1) + 1 if count > 0 else 0

    def count_before(self, offset: int) -> int:
        number = bisect_left(self._starts, offset) - 1
        if number < 0:
            return 0
        upper = self._counts[number + 1] if number + 1 < len(self._counts) else self.total
        return min(upper, self._counts[number] + offset - self._starts[number])


@dataclass(slots=True)
class _Mark:
    """An element while its text is collected: its edges as the number of a run and characters into it."""

    kind: ElementKind
    attributes: Mapping[str, Attribute]
    level: int
    start: tuple[int, int]
    end: tuple[int, int] | None = None


class MarkedRuns:
    """Runs of text with the elements that begin and end between them."""

    def __init__(self) -> None:
        self.runs: list[str] = []
        self._marks: list[_Mark] = []
        self._open: list[_Mark] = []

    def __bool__(self) -> bool:
        return bool(self._marks)

    @property
    def depth(self) -> int:
        """How many elements are open."""
        return len(self._open)

    def open(self, kind: ElementKind, attributes: Mapping[str, Attribute] = NO_ATTRIBUTES) -> None:
        mark = _Mark(kind, attributes, len(self._open), (len(self.runs), 0))
        self._marks.append(mark)
        self._open.append(mark)

    def close(self) -> None:
        self._open.pop().end = (len(self.runs), 0)

    def add(self, text: str, parts: Iterable[Part]) -> None:
        """Add a finished text with its parts as one run."""
        index, run, level = CharacterIndex(text), len(self.runs), len(self._open)
        for part in parts:
            start = (run, index.count_before(part.start))
            end = (run, index.count_before(part.end))
            self._marks.append(_Mark(part.kind, part.attributes, level + part.depth, start, end))
        self.runs.append(text)

    def clear(self) -> None:
        """Start a new text. Elements that are open go on in it."""
        self.runs.clear()
        self._marks = list(self._open)
        for mark in self._open:
            mark.start = (0, 0)

    def place(self, texts: Sequence[str]) -> list[list[Part]]:
        """Return the parts of the texts that were made of the runs, in their order."""
        counts = [0]
        for run in self.runs:
            counts.append(counts[-1] + count_characters(run))
        counts.append(counts[-1])
        placed: list[list[Part]] = []
        before = 0
        for number, text in enumerate(texts):
            index = CharacterIndex(text)
            is_last = number == len(texts) - 1
            placed.append(_place_in_text(self._marks, counts, index, before, is_last=is_last))
            before += index.total
        if before != counts[-1]:
            images = [p._replace(start=0, end=0, depth=0) for ps in placed for p in ps if is_image(p)]
            return [images, *([] for _ in texts[1:])] if texts else []
        return placed


def _place_in_text(
    marks: Sequence[_Mark], counts: Sequence[int], index: CharacterIndex, before: int, *, is_last: bool
) -> list[Part]:
    """Return the parts of one text, which begins after `before` characters of the runs."""
    after = before + index.total
    parts: list[Part] = []
    around: list[tuple[int, Part]] = []
    for mark in marks:
        start = counts[mark.start[0]] + mark.start[1]
        end = counts[mark.end[0]] + mark.end[1] if mark.end is not None else counts[-1]
        while around and around[-1][0] >= mark.level:
            around.pop()
        if start == end:
            if mark.kind not in SHOWN_EMPTY or not (before <= start < after or (is_last and start == after)):
                continue
            first = last = index.find_end(start - before)
            if around:
                first = last = min(max(first, around[-1][1].start), around[-1][1].end)
        else:
            start, end = max(start, before), min(end, after)
            if start >= end:
                continue
            first, last = index.find_start(start - before), index.find_end(end - before)
        part = Part(mark.kind, first, last, len(around), mark.attributes)
        parts.append(part)
        around.append((mark.level, part))
    return parts


def is_image(part: Part) -> bool:
    return part.kind is ElementKind.IMAGE


def wrap(parts: Iterable[Part], *leaf: Part) -> list[Part]:
    """Put parts inside a part."""
    return [*leaf, *(p._replace(depth=p.depth + len(leaf)) for p in parts)]


def mark_lines(
    text: str, gap: str, *, depth: int = 0, kind: ElementKind = ElementKind.PARAGRAPH
) -> list[Part]:
    """Return a part for each stretch of a text between gaps."""
    parts, at = [], 0
    for line in text.split(gap):
        if line.strip():
            parts.append(Part(kind, at, at + len(line), depth))
        at += len(line) + len(gap)
    return parts


def shift_element(element: Element, by: int) -> Part:
    """Return an element of a stretch as a part of the text that the stretch begins `by` characters into."""
    return Part(element.kind, element.start + by, element.end + by, element.depth, element.attributes)


def build_elements(parts: Iterable[Part]) -> tuple[Element, ...]:
    """Return the parts as checked elements, without what is too deep and attributes that are too long."""
    return tuple(
        Element(p.kind, p.start, p.end, p.depth, _trim_attributes(p.attributes))
        for p in parts
        if p.depth <= DEEPEST
    )


def _trim_attributes(attributes: Mapping[str, Attribute]) -> Mapping[str, Attribute]:
    if not attributes:
        return NO_ATTRIBUTES
    return {
        name: clean(value) if isinstance(value, str) else value
        for name, value in attributes.items()
        if not isinstance(value, str) or len(value) <= LONGEST_ATTRIBUTE
    }


def describe_writing(lang: str | None, direction: str | None) -> dict[str, Attribute]:
    """Return the language and direction of an element as attributes."""
    made: dict[str, Attribute] = {}
    if lang and re.fullmatch(r"[A-Za-z][\w-]*", lang, re.ASCII) and len(lang) < _LONGEST_NAME:
        made["lang"] = lang
    if direction and direction.lower() in ("ltr", "rtl", "auto"):
        made["dir"] = direction.lower()
    return made
