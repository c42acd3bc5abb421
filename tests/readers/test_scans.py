"""What OCR has read keeps its words and boxes on its way through JSON, and nothing else passes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.readers.scans import (
    ScannedLine,
    ScannedPage,
    ScannedWord,
    read_scanned_page,
    write_scanned_page,
)

share = st.floats(0, 1)
text = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp")), min_size=1)
word = st.builds(ScannedWord, text, share, share, share, share)
line = st.builds(ScannedLine, share, share, st.lists(word, min_size=1, max_size=3).map(tuple))
page = st.builds(ScannedPage, share, st.lists(line, max_size=3).map(tuple))


@given(page)
def test_a_page_comes_back_as_it_was(page: ScannedPage) -> None:
    assert read_scanned_page(write_scanned_page(page)) == page
    assert len(page.text.split()) == sum(len(line.words) for line in page.lines)


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        [0.5],
        [2, []],
        ["0.5", []],
        [0.5, [[0.1, 0.1]]],
        [0.5, [[0.1, 0.1, [["two words", 0, 0, 1, 1]]]]],
        [0.5, [[0.1, 0.1, [["", 0, 0, 1, 1]]]]],
        [0.5, [[0.1, 0.1, [[7, 0, 0, 1, 1]]]]],
        [0.5, [[0.1, 0.1, [["word", 0, 0, 1]]]]],
        [0.5, [[0.1, float("nan"), [["word", 0, 0, 1, 1]]]]],
        [0.5, [[0.1, -0.1, [["word", 0, 0, 1, 1]]]]],
    ],
)
def test_what_is_no_page_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError):
        read_scanned_page(json.dumps(wrong))
