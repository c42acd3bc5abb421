"""The marks of one section: offsets into its text, as small numbers that can be stored.

A mark never holds a word of the book: whatever is shown is cut from the text by its offsets. The stored form
is a version and lists of differences between neighbouring numbers, compressed.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import NamedTuple

from octavo.errors import InvalidValue

MARKS_VERSION = 6
"""Changes with everything that is marked. Marks of another version are made again."""
# Marks of the longest section take less.
_MOST_BYTES = 64 * 1024 * 1024


class Cue(IntFlag):
    """What stands around a capitalised run, and hints at what it names."""

    OPENS = 1
    """It opens a sentence or a quotation, so its capital letter proves nothing."""
    TITLE_CASE = 2
    """It stands in a line of capitals, such as a heading."""
    THE = 4
    PLACE = 8
    """A preposition of place stands before it."""
    SPEAKS = 16
    """A verb of speaking stands beside it."""
    PERSON = 32
    """"Who", "he" or "she" follows in the sentence."""
    ONE_OF = 64
    """"A", "every" or the like stands before it, as before a common noun."""
    OWNS = 128
    """It has a possessive ending, which is not part of the run."""
    NAMED = 256
    """"Named" or "called" stands before it."""


class Run(NamedTuple):
    """A run of capitalised words."""

    start: int
    end: int
    cues: int


class How(IntEnum):
    """How a term is defined, the plainest way first."""

    GLOSSARY = 0
    IS = 1
    CALLED = 2
    LISTED = 3
    """It stands in an index, which names it and defines nothing."""
    ENTRY = 4
    """The book marks it as a term that is explained, as manuals do with commands and options."""


class Definition(NamedTuple):
    """A term, the sentence (by number) that defines it, and how."""

    start: int
    end: int
    sentence: int
    how: int


class OtherName(NamedTuple):
    """Two stretches that the text says are one: "the Filesystem Hierarchy Standard (FHS)"."""

    start: int
    end: int
    other_start: int
    other_end: int


class Stretch(NamedTuple):
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SectionMarks:
    """What was found in one section. `gist` has the numbers of the sentences that say most, in order."""

    sentences: tuple[Stretch, ...] = ()
    runs: tuple[Run, ...] = ()
    codes: tuple[Stretch, ...] = ()
    definitions: tuple[Definition, ...] = ()
    other_names: tuple[OtherName, ...] = ()
    gist: tuple[int, ...] = ()


def encode_marks(marks: SectionMarks) -> bytes:
    """Return the stored form."""
    lists = [
        _shrink(marks.sentences),
        _shrink(marks.runs),
        _shrink(marks.codes),
        _shrink(marks.definitions),
        _shrink(marks.other_names),
        list(marks.gist),
    ]
    return zlib.compress(json.dumps([MARKS_VERSION, lists], separators=(",", ":")).encode(), 9)


def decode_marks(stored: bytes) -> SectionMarks | None:
    """Return the marks, or None if they are of another version. Damage raises `InvalidValue`."""
    try:
        unpacker = zlib.decompressobj()
        version, lists = json.loads(unpacker.decompress(stored, _MOST_BYTES))
        if version != MARKS_VERSION:
            return None
        sentences, runs, codes, definitions, other_names, gist = lists
        return SectionMarks(
            tuple(Stretch(*row) for row in _expand(sentences, 2)),
            tuple(Run(*row) for row in _expand(runs, 3)),
            tuple(Stretch(*row) for row in _expand(codes, 2)),
            tuple(Definition(*row) for row in _expand(definitions, 4)),
            tuple(OtherName(*row) for row in _expand(other_names, 4)),
            tuple(int(number) for number in gist),
        )
    except (ValueError, TypeError, zlib.error) as error:
        raise InvalidValue("marks", "must be readable", str(error)) from None


def _shrink(rows: Iterable[Sequence[int]]) -> list[int]:
    """Write each start as the distance from the one before, and each end as a length."""
    numbers: list[int] = []
    before = 0
    for start, end, *rest in rows:
        numbers += (start - before, end - start, *rest)
        before = start
    return numbers


def _expand(numbers: Sequence[int], width: int) -> Iterator[tuple[int, ...]]:
    at = 0
    for first in range(0, len(numbers), width):
        distance, length, *rest = numbers[first : first + width]
        at += distance
        yield (at, at + length, *rest)
