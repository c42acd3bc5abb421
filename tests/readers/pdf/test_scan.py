"""The look at a PDF's raw bytes: bombs are found on a budget, and a missing end is noticed."""

from __future__ import annotations

import os
import zlib

import pytest

from octavo.errors import BadBook
from octavo.limits import MB, Limits
from octavo.readers.pdf.scan import count_claimed_pages, is_cut_off, refuse_bombs
from tests.support.pdf_files import (
    compress,
    flate_bomb,
    make_prose,
    make_with_content,
    nested_flate_bomb,
    objects,
    stream,
    write_file,
)


def catch_refusal(data: bytes, limits: Limits | None = None) -> str:
    with pytest.raises(BadBook) as caught:
        refuse_bombs(data, limits or Limits())
    return caught.value.code


def test_an_ordinary_book_passes() -> None:
    refuse_bombs(make_prose(9), Limits())


def test_a_bomb_is_found() -> None:
    assert catch_refusal(flate_bomb()) == "too_large_expanded"


def test_a_bomb_in_a_bomb_is_found() -> None:
    assert catch_refusal(nested_flate_bomb()) == "too_large_expanded"


def test_a_bomb_is_found_whatever_its_dictionary_says() -> None:
    packed = zlib.compress(b" " * (32 * MB), 9)
    for said in (b"/Filter 9 0 R", b"/Filter /#46lateDecode", b"/Filter /Fl", b"/Length 3", b""):
        assert catch_refusal(make_with_content(stream(packed, said))) == "too_large_expanded"


def test_a_bomb_that_hides_an_end_mark_inside_is_found() -> None:
    packer = zlib.compressobj(0)
    hidden = packer.compress(b"endstream endobj") + packer.flush(zlib.Z_FULL_FLUSH)
    blanks = zlib.compressobj(9, wbits=-15)
    packed = hidden + blanks.compress(b" " * (32 * MB)) + blanks.flush()
    assert catch_refusal(make_with_content(stream(packed, b"/Filter /FlateDecode"))) == "too_large_expanded"


def test_many_streams_together_are_held_to_the_total() -> None:
    content = os.urandom(1000) * 3000
    made = objects([[]])
    for number in range(20, 26):
        made[number] = compress(content)
    refuse_bombs(write_file(made), Limits(max_ratio=5000))
    assert catch_refusal(write_file(made), Limits(max_ratio=5000, max_expanded_mb=8)) == "too_large_expanded"


def test_a_large_picture_is_not_unpacked() -> None:
    packed = zlib.compress(bytes(32 * MB), 9)
    made = objects([[]])
    made[20] = stream(packed, b"/Type /XObject /Subtype /Image /Width 8192 /Height 4096 /Filter /FlateDecode")
    refuse_bombs(write_file(made), Limits())


def test_what_only_looks_packed_is_left_to_the_parser() -> None:
    refuse_bombs(make_with_content(stream(b"\x78\x9c and then words", b"/Filter /FlateDecode")), Limits())


def test_streams_that_overlap_many_times_are_refused() -> None:
    filler = b"\x78\x01" + b"\x00\x00\x00\xff\xff" * 40_000  # packed nothing, at length
    head = b"1 0 obj << /Length 999999 >>\nstream\n\x78\x01"
    assert catch_refusal(b"%PDF-1.4\n" + head * 3000 + filler) == "damaged_pdf"


def test_a_whole_file_is_not_cut_off_and_a_shortened_one_is() -> None:
    data = make_prose(2)
    assert not is_cut_off(data)
    assert not is_cut_off(data + b"\n\n")
    assert all(is_cut_off(data[:-n]) for n in (6, 20, 200))
    assert is_cut_off(b"%PDF-1.4 and nothing more")


def test_an_index_that_is_not_where_the_file_says_means_damage() -> None:
    data = make_prose(2)
    assert is_cut_off(data[:40] + b"lost bytes" + data[40:])


def test_the_page_tree_says_how_many_pages_there_should_be() -> None:
    assert count_claimed_pages(make_prose(7)) == 7
    assert count_claimed_pages(b"<< /Count 12 /Type /Pages >>") == 12
    assert count_claimed_pages(b"no tree in plain sight") == 0
