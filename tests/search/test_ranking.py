"""Two halves of a search become one list: complete, in one order, whatever order they came in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from octavo.protocols import Hit, StoreHits
from octavo.search.ranking import fuse

scores = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(-1, 30, width=16), max_size=8)


def hits(scored: dict[str, float]) -> tuple[Hit, ...]:
    return tuple(sorted((Hit(i, s) for i, s in scored.items()), key=lambda h: (-h.score, h.id)))


@given(scores, scores)
def test_every_candidate_of_either_half_comes_once_with_its_cosine(
    dense: dict[str, float], lexical: dict[str, float]
) -> None:
    fused = fuse(StoreHits(dense=hits(dense), lexical=hits(lexical)))
    assert sorted(f.id for f in fused) == sorted(dense.keys() | lexical.keys())
    for candidate in fused:
        assert candidate.cosine == dense.get(candidate.id, min(dense.values(), default=0.0))


@given(scores, scores)
def test_the_best_comes_first_and_equals_come_in_order_of_id(
    dense: dict[str, float], lexical: dict[str, float]
) -> None:
    fused = fuse(StoreHits(dense=hits(dense), lexical=hits(lexical)))
    keys = [(-round(f.score, 5), f.id) for f in fused]
    assert keys == sorted(keys)


def test_what_is_best_in_both_halves_is_best() -> None:
    found = StoreHits(dense=hits({"a": 0.9, "b": 0.5, "c": 0.1}), lexical=hits({"a": 12.0, "c": 3.0}))
    assert fuse(found)[0].id == "a"


def test_one_half_that_found_nothing_leaves_the_order_of_the_other() -> None:
    scored = hits({"a": 0.2, "b": 0.9, "c": 0.5})
    for found in (StoreHits(dense=scored, lexical=()), StoreHits(dense=(), lexical=scored)):
        assert [f.id for f in fuse(found)] == ["b", "c", "a"]
    assert fuse(StoreHits(dense=(), lexical=())) == []
