"""Marks: stored small, read back equal, and damaged ones are noticed."""

from __future__ import annotations

import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import InvalidValue
from octavo.text.bookmap.marks import MARKS_VERSION, SectionMarks, decode_marks, encode_marks
from octavo.text.bookmap.scan import mark_section
from tests.support.mapped_books import MANUAL, STORY

PIECES = [
    "Ahab",
    " is a ",
    "The White Whale",
    ". ",
    ", the ",
    " (FHS)",
    "\n\n",
    "“Yes,” said ",
    "debian/rules",
    "x: ",
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=40).map("".join))
def test_marks_come_back_as_they_were_and_lie_inside_the_text(text: str) -> None:
    marks = mark_section(text)
    assert decode_marks(encode_marks(marks)) == marks
    stretches = [*marks.sentences, *marks.codes, *((r.start, r.end) for r in marks.runs)]
    assert all(0 <= start < end <= len(text) for start, end in stretches)
    assert all(0 <= d.start < d.end <= len(text) for d in marks.definitions)
    assert all(d.sentence < len(marks.sentences) for d in marks.definitions)
    assert all(0 <= number < len(marks.sentences) for number in marks.gist)


def test_marks_hold_offsets_and_take_a_fraction_of_the_text() -> None:
    text = "\n\n".join([*STORY.values(), *MANUAL.values()])
    stored = encode_marks(mark_section(text))
    assert len(stored) < len(text) / 4
    assert b"Edda" not in zlib.decompress(stored)


def test_marks_of_another_version_are_not_used() -> None:
    other = zlib.compress(json.dumps([MARKS_VERSION + 1, []]).encode())
    assert decode_marks(other) is None


WRONG_LISTS = json.dumps([MARKS_VERSION, [["a"]]]).encode()


@pytest.mark.parametrize("stored", [b"", b"nothing", zlib.compress(b"{}"), zlib.compress(WRONG_LISTS)])
def test_damaged_marks_are_an_error(stored: bytes) -> None:
    with pytest.raises(InvalidValue):
        decode_marks(stored)


def test_an_empty_section_has_no_marks() -> None:
    assert mark_section("") == SectionMarks()
