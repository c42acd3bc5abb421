"""Which candidates are read, when reading stops, and that stopping early never costs the first place."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.search.cascade import (
    LARGE,
    LOOKED_AT,
    REPEATED,
    SMALL,
    SmallRules,
    choose_batch,
    count_affordable,
    order_totals,
    select_candidates,
    select_contenders,
    spread_totals,
)
from octavo.search.ranking import Candidate

RULES = replace(SMALL, depth=8, batch=2, reach=0.5, section_most=2, section_lead=0.2, most_fit=10.0)
IDS = "abcdefghijklmnop"


def find(*scores: float) -> list[Candidate]:
    return [Candidate(id_, score, score, 0.5) for id_, score in zip(IDS, scores, strict=False)]


def select(scores: tuple[float, ...], sections: str = IDS, rules: SmallRules = RULES) -> str:
    placed = dict(zip(IDS, sections, strict=False))
    return "".join(candidate.id for candidate in select_candidates(find(*scores), placed, rules))


def read_all(selected: list[Candidate], fits: dict[str, float], rules: SmallRules) -> dict[str, float]:
    """Read as the reranker does. `fits` has what the reader would say of each candidate."""
    totals: dict[str, float] = {}
    while batch := choose_batch(selected, totals, rules):
        totals |= {c.id: rules.total(min(rules.most_fit, fits[c.id]), c.score) for c in batch}
    return totals


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((0.9, 0.8, 0.7), "abc"),
        ((0.9, 0.4001, 0.4, 0.1), "ab"),
        ((0.9,) * 12, "abcdefgh"),
        ((0.9, 0.2), "a"),
        ((0.9,), "a"),
        ((), ""),
    ],
)
def test_only_close_candidates_are_selected_and_never_too_many(
    scores: tuple[float, ...], expected: str
) -> None:
    assert select(scores) == expected


def test_a_candidate_whose_text_is_not_there_is_not_selected() -> None:
    chosen = select_candidates(find(0.9, 0.8, 0.3), {"b": "x", "c": "y"}, RULES)
    assert [candidate.id for candidate in chosen] == ["b"]
    chosen = select_candidates(find(0.9, 0.5, 0.3), {"b": "x", "c": "y"}, RULES)
    assert [candidate.id for candidate in chosen] == ["b", "c"], "the best is the best of those there"


@pytest.mark.parametrize(
    ("scores", "sections", "expected"),
    [
        ((0.9, 0.89, 0.88, 0.87, 0.86, 0.85), "xxxyyz", "abdef"),
        ((0.9, 0.89, 0.88, 0.6, 0.59, 0.58), "xxxyyz", "abcdef"),  # the third is far ahead of the others
        ((0.9, 0.89, 0.88, 0.87, 0.86, 0.85), "xyxyxz", "abcdf"),
        ((0.9, 0.89, 0.88, 0.87), "xxxx", "abcd"),  # there is no other section
        ((0.9, 0.89, 0.88, 0.87), "xyyy", "abcd"),  # the other section has nothing left
    ],
)
def test_of_one_section_two_are_selected_unless_more_are_far_ahead(
    scores: tuple[float, ...], sections: str, expected: str
) -> None:
    assert select(scores, sections) == expected


def test_places_of_a_full_section_go_to_the_next_sections() -> None:
    sections = "xxxxxxyzuvwr"
    assert select((0.9,) * 12, sections) == "abghijkl"


def test_no_more_than_so_many_candidates_are_looked_at() -> None:
    many = [Candidate(f"{n:03}", 0.9, 0.9, 0.5) for n in range(LOOKED_AT + 20)]
    placed = {c.id: "x" if n < LOOKED_AT else "y" for n, c in enumerate(many)}
    chosen = select_candidates(many, placed, replace(RULES, depth=100))
    assert {placed[candidate.id] for candidate in chosen} == {"x"}


def test_candidates_are_read_in_batches_in_the_order_of_the_first_stage() -> None:
    selected = find(0.9, 0.89, 0.88, 0.87, 0.86)
    assert [c.id for c in choose_batch(selected, {}, RULES)] == ["a", "b"]
    assert [c.id for c in choose_batch(selected, {"a": 0.0, "b": 0.0}, RULES)] == ["c", "d"]
    assert [c.id for c in choose_batch(selected, dict.fromkeys("abcd", 0.0), RULES)] == ["e"]
    assert choose_batch(selected, dict.fromkeys("abcde", 0.0), RULES) == []


def test_reading_stops_when_no_unread_candidate_can_come_first() -> None:
    selected = find(0.9, 0.89, 0.5, 0.45)
    possible = RULES.total(RULES.most_fit, 0.5)
    assert choose_batch(selected, {"a": possible + 0.01, "b": 0.0}, RULES) == []
    assert choose_batch(selected, {"a": possible, "b": 0.0}, RULES) == selected[2:]


SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=12).map(lambda s: sorted(s, reverse=True))
FITS = st.lists(st.floats(-30, 40), min_size=12, max_size=12)


@given(SCORES, FITS, st.integers(1, 6), st.floats(0, 30))
def test_stopping_early_never_changes_the_first_place(
    scores: list[float], fits: list[float], batch: int, most_fit: float
) -> None:
    rules = replace(RULES, depth=12, batch=batch, most_fit=most_fit)
    whole = replace(rules, batch=12)
    told = dict(zip(IDS, fits, strict=False))
    selected = find(*scores)
    assert (
        order_totals(read_all(selected, told, rules))[0] == order_totals(read_all(selected, told, whole))[0]
    )


@given(SCORES, st.lists(st.sampled_from("xyz"), min_size=12, max_size=12))
def test_the_best_candidate_is_always_selected_and_the_order_is_kept(
    scores: list[float], sections: list[str]
) -> None:
    chosen = select(tuple(scores), "".join(sections))
    assert chosen[0] == "a"
    assert list(chosen) == sorted(chosen)
    assert len(chosen) <= RULES.depth


BEST = replace(LARGE, depth=3, clear=4.0, piece_ms=1.0, budget_ms=300.0)


@pytest.mark.parametrize(
    ("totals", "expected"),
    [
        ({"a": 9.0, "b": 11.0, "c": 10.0, "d": 8.5}, "bca"),
        ({"a": 9.0, "b": 5.01, "c": 5.0}, "ab"),  # the small reader's order is clear below the second
        ({"a": 9.0, "b": 1.0}, "a"),
        ({}, ""),
    ],
)
def test_the_large_model_reads_the_best_that_are_still_open(totals: dict[str, float], expected: str) -> None:
    assert "".join(select_contenders(totals, BEST)) == expected


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([100, 100, 100, 1], 3),
        ([100, 100, 101], 2),
        ([301, 1], 1),  # the best is read whatever it costs
        ([10, 280, 20, 5], 2),  # the next one is not read in place of one that is too long
        ([], 0),
    ],
)
def test_the_budget_is_counted_in_word_pieces(pieces: list[int], expected: int) -> None:
    assert count_affordable(pieces, BEST) == expected


@given(st.lists(st.integers(1, 320), max_size=12))
def test_the_budget_is_never_exceeded_by_more_than_the_first(pieces: list[int]) -> None:
    count = count_affordable(pieces)
    assert count <= LARGE.depth
    assert bool(count) == bool(pieces)
    if count > 1:
        assert sum(pieces[:count]) * LARGE.piece_ms <= LARGE.budget_ms


def test_that_a_passage_answers_counts_and_how_far_it_is_from_answering_does_not() -> None:
    rules = replace(SMALL, most_fit=99.0)
    assert rules.fit(0.0, -6.0) == pytest.approx(rules.fit(0.0, -60.0), abs=0.01)
    assert rules.fit(0.0, 9.0) > rules.fit(0.0, 6.0) + 5
    assert rules.fit(2.0, -60.0) == pytest.approx(2.0)


def test_how_badly_a_passage_fits_does_not_count_where_none_fits() -> None:
    bad, worse = SMALL.least_fit - 3.0, SMALL.least_fit - 30.0
    assert SMALL.total(bad, 0.5) == pytest.approx(SMALL.total(worse, 0.5), abs=0.1)
    assert SMALL.total(worse, 0.52) > SMALL.total(bad, 0.5)
    assert SMALL.total(9.0, 0.5) == pytest.approx(SMALL.total(6.0, 0.5) + 3.0, abs=0.001)


@given(st.floats(-400, 400), st.floats(0, 400))
def test_a_better_fit_is_never_put_behind(fit: float, more: float) -> None:
    assert SMALL.total(fit + more, 0.5) >= SMALL.total(fit, 0.5)
    assert LARGE.total(fit + more, 0.5) >= LARGE.total(fit, 0.5)


def test_a_fit_counts_for_a_bounded_amount() -> None:
    assert SMALL.fit(500.0, 500.0) == SMALL.most_fit
    assert SMALL.fit(-500.0, 0.0) < -400


def test_ties_go_by_id() -> None:
    assert order_totals({"b": 1.0, "a": 1.00001, "c": 1.0}) == ["a", "b", "c"]
    assert order_totals({"b": 1.1, "a": 1.0}) == ["b", "a"]


def test_a_section_counts_less_each_time_it_comes_up() -> None:
    sections = {"a": "one", "b": "one", "c": "one", "d": "two", "e": "three"}
    totals = {"a": 30.0, "b": 29.0, "c": 28.5, "d": 29.0 - REPEATED / 2, "e": 29.0 - 2 * REPEATED}
    assert spread_totals(totals, sections) == ["a", "d", "b", "e", "c"]
    assert spread_totals(totals, {id_: id_ for id_ in totals}) == order_totals(totals)


@given(st.dictionaries(st.sampled_from(IDS), st.floats(-50, 50)), st.text("123", min_size=16, max_size=16))
def test_spreading_keeps_the_first_and_the_order_within_a_section(
    totals: dict[str, float], placed: str
) -> None:
    sections = dict(zip(IDS, placed, strict=True))
    plain, spread = order_totals(totals), spread_totals(totals, sections)
    assert spread[:1] == plain[:1]
    for section in set(placed):
        within = [id_ for id_ in plain if sections[id_] == section]
        assert [id_ for id_ in spread if sections[id_] == section] == within
