"""Payloads, canonical vectors and digests, as pure functions."""

from __future__ import annotations

import math
import random
from array import array
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import InvalidValue
from octavo.store import base
from octavo.types import Chunk
from tests.support.store_contract import SIZE, make_chunk, make_vector


def _make_direction(seed: int, power: int) -> list[float]:
    """384 numbers; the higher the power, the more a few of them outweigh the rest."""
    chance = random.Random(seed)
    return [chance.gauss(0.0, 1.0) ** power for _ in range(384)]


directions = st.builds(_make_direction, st.integers(0, 10**9), st.sampled_from([1, 3, 9]))


def normalise(numbers: list[float]) -> tuple[float, ...]:
    length = math.hypot(*numbers)
    return tuple(n / length for n in numbers)


def test_a_payload_has_the_four_keys_of_the_collection_and_ours() -> None:
    made = base.build_payload(make_chunk(7, ancestors=("part-1",), page=3), edition=2)
    assert made == {
        "url": "book://moby-dick/ch-1",
        "text": "The whale is white and large.",
        "chunk_id": 7,
        "source_title": "Moby-Dick",
        "book_id": "moby-dick",
        "edition": 2,
        "sections": ["part-1", "ch-1"],
        "document_position": 7,
        "source_file": "moby-dick.txt",
        "page_number": 3,
        "page_end": 3,
    }


def test_a_book_without_pages_has_no_page_keys() -> None:
    assert not {"page_number", "page_end"} & base.build_payload(make_chunk(1), edition=1).keys()


def test_a_payload_holds_strings_and_integers_only() -> None:
    made = base.build_payload(make_chunk(1, page=3), edition=1)
    kinds = {type(v) for value in made.values() for v in (value if isinstance(value, list) else [value])}
    assert kinds == {str, int}


def test_every_filter_key_is_in_the_payload() -> None:
    assert {*base.KEYWORDS, *base.NUMBERS} <= base.build_payload(make_chunk(1, page=1), edition=1).keys()


def test_the_words_of_a_chunk_are_its_headings_and_its_content() -> None:
    assert (
        base.build_indexed_text(make_chunk(1, "It is white.", headings=("Part", "Whale")))
        == "Part\nWhale\nIt is white."
    )


@given(directions)
def test_a_canonical_vector_is_of_unit_length_as_far_as_the_engine_looks(numbers: list[float]) -> None:
    kept = array("f", base.encode_vector(normalise(numbers)))
    assert abs(math.fsum(x * x for x in kept) - 1.0) < 1e-6


@given(directions)
def test_making_a_vector_canonical_twice_changes_nothing(numbers: list[float]) -> None:
    once = base.encode_vector(normalise(numbers))
    assert base.encode_vector(array("f", once)) == once


@given(directions)
def test_a_vector_is_the_same_before_and_after_it_was_kept_as_32_bit_floats(numbers: list[float]) -> None:
    exact = normalise(numbers)
    assert base.encode_vector(exact) == base.encode_vector(array("f", exact))


def test_a_vector_a_little_off_unit_length_is_brought_to_it() -> None:
    off = tuple(x * 1.0004 for x in make_vector(0.6, 0.8))
    kept = array("f", base.encode_vector(off))
    assert math.hypot(*kept) == pytest.approx(1.0, abs=1e-7)


def test_a_digest_needs_a_vector() -> None:
    with pytest.raises(InvalidValue, match="embedding"):
        base.digest_chunk(replace(make_chunk(1), embedding=None))


@pytest.mark.parametrize(
    "other",
    [
        replace(make_chunk(1), url="book://moby-dick/ch-2"),
        replace(make_chunk(1), content="The whale is white and LARGE."),
        replace(make_chunk(1), chunk_id=2),
        replace(make_chunk(1), source_title="Emma"),
        replace(make_chunk(1), book_id="emma"),
        replace(make_chunk(1), section_id="ch-2"),
        replace(make_chunk(1), ancestors=("part-1",)),
        replace(make_chunk(1), page_number=1),
        replace(make_chunk(1), page_number=1, page_end=2),
        replace(make_chunk(1), document_position=2),
        replace(make_chunk(1), source_file="emma.txt"),
        replace(make_chunk(1), embedding=make_vector(1.0, 0.001)),
    ],
)
def test_a_digest_changes_with_everything_that_is_stored(other: Chunk) -> None:
    assert base.digest_chunk(other) != base.digest_chunk(make_chunk(1))


def test_a_digest_does_not_change_with_what_is_not_stored() -> None:
    assert base.digest_chunk(replace(make_chunk(1), metadata={"a": 1}, page_label="iv")) == base.digest_chunk(
        make_chunk(1)
    )


@given(st.integers(0, 4 * SIZE - 1), st.integers(0, 7))
def test_a_digest_sees_every_single_bit_of_the_vector(byte: int, bit: int) -> None:
    raw = bytearray(base.encode_vector(make_vector(0.6, 0.8)))
    held = base.build_payload(make_chunk(1), edition=1)
    before = base.digest_payload(held, bytes(raw))
    raw[byte] ^= 1 << bit
    assert base.digest_payload(held, bytes(raw)) != before


def test_a_checksum_covers_the_edition_and_the_words() -> None:
    checksums = {
        base.checksum_point("d", 1, indices=[1, 2], weights=[0.5, 0.25]),
        base.checksum_point("e", 1, indices=[1, 2], weights=[0.5, 0.25]),
        base.checksum_point("d", 2, indices=[1, 2], weights=[0.5, 0.25]),
        base.checksum_point("d", 1, indices=[1, 3], weights=[0.5, 0.25]),
        base.checksum_point("d", 1, indices=[1, 2], weights=[0.5, 0.5]),
    }
    assert len(checksums) == 5


def test_of_two_chunks_with_one_id_the_last_is_stored() -> None:
    first, last = make_chunk(1, "The first of the two."), make_chunk(1, "The second of the two.")
    assert base.check_chunks([first, make_chunk(2), last], edition=1, dimension=SIZE) == [last, make_chunk(2)]


@pytest.mark.parametrize(
    ("bad", "rule"),
    [
        (make_vector(1.0)[:-1], f"must hold {SIZE} numbers"),
        ((*make_vector(1.0), 0.0), f"must hold {SIZE} numbers"),
        ((math.nan,) * SIZE, "finite"),
        ((math.inf,) * SIZE, "finite"),
        ((0.0,) * SIZE, "unit length"),
        ((1.0,) * SIZE, "unit length"),
    ],
)
def test_a_vector_that_the_engine_would_take_and_never_find_is_refused(
    bad: tuple[float, ...], rule: str
) -> None:
    with pytest.raises(InvalidValue, match=rule):
        base.check_vector("embedding", bad, dimension=SIZE)


@given(st.lists(st.floats(width=32) | st.floats() | st.integers(-5, 5), max_size=20))
def test_floats_are_packed_as_an_array_keeps_them(numbers: list[float]) -> None:
    assert base.pack_floats(numbers) == array("f", numbers).tobytes()


@pytest.mark.parametrize("edition", [0, -1, True])
def test_an_edition_is_a_positive_number(edition: int) -> None:
    with pytest.raises(InvalidValue, match="edition"):
        base.check_chunks([make_chunk(1)], edition=edition, dimension=SIZE)
