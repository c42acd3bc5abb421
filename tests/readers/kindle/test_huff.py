"""Codes for phrases: what a damaged or hostile record may cost is bounded, whatever comes out of it."""

from __future__ import annotations

import pytest

from octavo.errors import BadBook
from octavo.readers.kindle.huff import HuffDictionary
from tests.support.kindle_files import write_codes, write_huff, write_phrases


def make_nested(text: bytes, *, depth: int, width: int) -> HuffDictionary:
    """A text, and phrases of which each is so many codes of the one before."""
    packed = [write_codes([number] * width) for number in range(depth)]
    return HuffDictionary(write_huff(), [write_phrases([text], packed)])


def test_phrases_of_phrases_are_unpacked() -> None:
    assert make_nested(b"fog ", depth=3, width=10).unpack(write_codes([3])) == b"fog " * 1_000


@pytest.mark.parametrize("text", [b"", b"fog "])
def test_a_record_with_too_much_in_it_is_refused_even_when_nothing_comes_out(text: bytes) -> None:
    with pytest.raises(BadBook) as refused:
        make_nested(text, depth=4, width=30).unpack(write_codes([4]))
    assert refused.value.code == "too_large_expanded"
