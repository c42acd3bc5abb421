"""The embedder for tests behaves like a real one: unit vectors, the same everywhere, near when alike."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.protocols import Embedder
from octavo.testing import TinyEmbedder


@given(st.text(max_size=80), st.sampled_from([8, 384]))
def test_every_text_has_a_unit_vector_of_the_right_size(text: str, dimension: int) -> None:
    embedder: Embedder = TinyEmbedder(dimension)
    (vector,) = embedder.embed([text])
    assert len(vector) == dimension
    assert math.hypot(*vector) == pytest.approx(1.0)


def test_texts_that_share_words_are_nearer_than_others() -> None:
    whale, same, other = TinyEmbedder().embed(["the white whale", "The WHALE was white", "tax law of 1842"])
    assert sum(map(float.__mul__, whale, same)) > 0.5 > sum(map(float.__mul__, whale, other))


def test_vectors_are_the_same_in_every_process() -> None:
    (vector,) = TinyEmbedder(8).embed(["whale"])
    assert [round(x, 3) for x in vector] == [round(x, 3) for x in TinyEmbedder(8).embed(["whale"])[0]]
    assert {round(abs(x), 3) for x in vector} <= {0.0, 0.005, 0.5, 0.995, 1.0, 0.003, 0.707, 0.007, 0.004}


def test_it_counts_what_it_embeds_and_names_itself() -> None:
    embedder = TinyEmbedder(8, name="other")
    embedder.embed(["a", "b"])
    embedder.embed(["c"])
    assert embedder.embedded == 3
    assert embedder.fingerprint == "other-8"
    assert embedder.count_pieces(["a longerwordthaneight, b", ""]) == [6, 0]
