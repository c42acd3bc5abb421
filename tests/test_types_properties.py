"""The nouns cannot be made wrong: whatever is put into a field, it is taken as it is or refused by its name.

Every entity of `types` is tried, field by field, with values that belong there and with
all kinds that do not; the state machines are walked at random.
"""

from __future__ import annotations

import dataclasses
import json
import math
import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo import types, validation
from octavo.errors import InvalidTransition, InvalidValue
from octavo.types import (
    BookMetadata,
    CatalogueStatement,
    PageBox,
    PageMark,
    PrintedPage,
    Scope,
    ScopeType,
    ShortAnswer,
    Span,
    Trace,
    books,
)
from octavo.validation import TRANSITIONS, BookState, Delivery, QuestionStatus, advance, view
from tests.support.builders import (
    NOON,
    WHALE,
    make_answer,
    make_book,
    make_chunk,
    make_citation,
    make_evidence,
    make_message,
    make_question,
    make_refusal,
    make_section,
    make_session,
    make_vector,
)

EXAMPLES = (
    make_book(),
    BookMetadata(subjects=("Whaling",), published="1851", identifiers=("isbn:9780142437247",)),
    PageMark(0, 1, "i"),
    PageBox(0.1, 0.2, 0.3, 0.4),
    PrintedPage(1, "i", 595.0, 842.0, (PageBox(0.0, 0.0, 1.0, 1.0),)),
    Span(0, 1),
    dataclasses.replace(make_section(pages=(PageMark(0, 1),)), blocks=(Span(0, 3),)),
    make_chunk(page_number=2, embedding=make_vector()),
    Scope(type=ScopeType.PAGE, identifier="2"),
    make_evidence(),
    make_citation(),
    make_refusal(),
    ShortAnswer(text="whiteness", citation=1, start=4, end=13),
    CatalogueStatement(text="The title is “Moby Dick” (from the catalogue).", book_id="moby-dick"),
    Trace(((Delivery.RECEIVED, NOON),)),
    make_answer(),
    make_message(),
    make_question().context,
    make_question(),
    make_session(),
)
PLACES = [(one, field.name) for one in EXAMPLES for field in dataclasses.fields(one)]
UNCHECKED = {"QueryContext"}  # a view of a question, whose own fields are checked
AHEAD, BEHIND = timezone(timedelta(hours=5)), timezone(timedelta(hours=-5))


def entities(module: ModuleType) -> set[type]:
    own = [kind for kind in vars(module).values() if getattr(kind, "__module__", "") == module.__name__]
    return {kind for kind in own if dataclasses.is_dataclass(kind) and isinstance(kind, type)}


def named(place: tuple[Any, str]) -> str:
    return f"{type(place[0]).__name__}.{place[1]}"


def test_every_entity_has_an_example_here() -> None:
    assert {type(one) for one in EXAMPLES} == entities(types) | entities(books)


@pytest.mark.parametrize("one", EXAMPLES, ids=lambda one: type(one).__name__)
def test_every_entity_is_frozen_slotted_hashable_and_equal_to_its_copy(one: Any) -> None:
    name = dataclasses.fields(one)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(one, name, getattr(one, name))
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
        one.note = "in the margin"
    assert not hasattr(one, "__dict__")
    copy = dataclasses.replace(one)
    assert copy == one
    assert len({one, copy}) == 1


@pytest.mark.parametrize("one", [make_chunk(), make_question()], ids=["Chunk", "Question"])
def test_two_that_differ_only_in_what_was_noted_about_them_are_not_the_same(one: Any) -> None:
    noted = "metadata" if hasattr(one, "metadata") else "user_context"
    other = dataclasses.replace(one, **{noted: {"shelf": 3}})
    assert one != other
    assert len({one, other}) == 2


odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=6),
    st.sampled_from(["\0", "a\ud800", " ", "\u2028", "x" * 3000]),
    st.binary(max_size=4),
    st.datetimes(),
    st.sampled_from([datetime.min.replace(tzinfo=AHEAD), datetime.max.replace(tzinfo=BEHIND)]),
    st.lists(st.one_of(st.integers(), st.text(max_size=3), st.none()), max_size=3),
    st.tuples(st.one_of(st.integers(), st.text(max_size=3), st.none(), st.sampled_from(EXAMPLES))),
    st.dictionaries(st.one_of(st.integers(), st.text(max_size=3)), st.floats(), max_size=2),
    st.sampled_from([object(), type, len, Ellipsis, set(), frozenset({1}), range(3), math.nan]),
    st.sampled_from(EXAMPLES),
)


@given(place=st.sampled_from(PLACES), value=odd)
def test_an_odd_value_is_taken_as_it_is_or_refused_as_invalid(place: tuple[Any, str], value: object) -> None:
    one, name = place
    try:
        made = dataclasses.replace(one, **{name: value})
    except (InvalidValue, InvalidTransition):
        return
    kept = getattr(made, name)
    assert kept == value or kept != kept or value in ("", 0), (named(place), value, kept)
    if type(one).__name__ not in UNCHECKED:
        hash(made)


@pytest.mark.parametrize("place", [p for p in PLACES if type(p[0]).__name__ not in UNCHECKED], ids=named)
def test_no_field_takes_what_has_no_place_in_any_of_them(place: tuple[Any, str]) -> None:
    one, name = place
    for wrong in (object(), b"bytes", {1, 2}, [object()], (object(),), ("a\ud800",), "\0", -1.5, type):
        with pytest.raises((InvalidValue, InvalidTransition)):
            dataclasses.replace(one, **{name: wrong})


@given(st.text(), st.text())
def test_a_name_that_is_made_of_any_letters_is_kept_to_the_letter(title: str, file: str) -> None:
    fit = all(said.strip() and "\0" not in said for said in (title, file)) and len(title) <= 500
    if fit:
        book = dataclasses.replace(make_book(), title=title, source_file=file)
        assert (book.title, book.source_file) == (title, file)
    else:
        with pytest.raises(InvalidValue, match=r"Book\.(title|source_file)"):
            dataclasses.replace(make_book(), title=title, source_file=file)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), json_values, max_size=4))
def test_notes_on_a_chunk_are_any_json_object(notes: dict[str, object]) -> None:
    chunk = dataclasses.replace(make_chunk(), metadata=notes)
    assert json.loads(json.dumps(dict(chunk.metadata))) == notes


@given(
    st.one_of(
        json_values.filter(lambda v: not isinstance(v, dict)), st.just({"a": {1, 2}}), st.just({1: "a"})
    )
    | st.builds(lambda x: {"deep": [{"in": x}]}, st.sampled_from([math.nan, math.inf, object(), b"x", NOON]))
)
def test_notes_that_are_no_json_object_are_refused(notes: Any) -> None:
    with pytest.raises(InvalidValue, match=r"Chunk\.metadata must be a JSON object"):
        dataclasses.replace(make_chunk(), metadata=notes)
    with pytest.raises(InvalidValue, match=r"Question\.filters"):
        dataclasses.replace(make_question(), filters=notes)


@given(st.integers(0, len(WHALE)), st.integers(0, len(WHALE)), st.integers(0, 10**6))
def test_a_citation_stands_exactly_where_its_words_stand(start: int, end: int, offset: int) -> None:
    chunk = make_chunk(start=offset)
    snippet = WHALE[start:end]
    if not snippet.strip():
        return
    where: dict[str, Any] = {"start": offset + start, "end": offset + end, "content_snippet": snippet}
    cited = dataclasses.replace(make_citation(chunk=chunk), **where)
    assert chunk.content[cited.start - offset : cited.end - offset] == snippet
    for moved in (-1, 1):
        beside = where | {"start": where["start"] + moved, "end": where["end"] + moved}
        if WHALE[max(start + moved, 0) : end + moved] != snippet:
            with pytest.raises(InvalidValue):
                dataclasses.replace(cited, **beside)


@given(st.integers(-3, 12), st.one_of(st.none(), st.integers(-3, 12)))
def test_a_chunk_never_ends_on_a_page_before_its_first(first: int, last: int | None) -> None:
    if first >= 1 and (last is None or last >= first):
        made = dataclasses.replace(make_chunk(), page_number=first, page_end=last)
        assert (made.page_number, made.page_end) == (first, last)
    else:
        with pytest.raises(InvalidValue, match=r"Chunk\.page_"):
            dataclasses.replace(make_chunk(), page_number=first, page_end=last)


@given(st.datetimes(timezones=st.timezones() | st.just(UTC) | st.none()))
def test_a_time_is_taken_when_it_is_the_same_moment_everywhere(when: datetime) -> None:
    try:
        fit = when.utcoffset() is not None and bool(when.astimezone(UTC))
    except OverflowError:
        fit = False
    if fit:
        assert dataclasses.replace(make_book(), added_at=when).added_at == when
    else:
        with pytest.raises(InvalidValue, match=r"Book\.added_at"):
            dataclasses.replace(make_book(), added_at=when)


@given(st.integers(-3, 60), st.integers(-3, 60))
def test_a_span_has_a_beginning_and_an_end_after_it(start: int, end: int) -> None:
    if 0 <= start < end:
        assert Span(start, end) == Span(start=start, end=end)
    else:
        with pytest.raises(InvalidValue, match=r"Span\.(start|end)"):
            Span(start, end)


@given(st.lists(st.tuples(st.integers(0, 80), st.integers(1, 20)), max_size=5))
def test_blocks_of_a_section_are_in_order_inside_it_and_none_over_another(
    pairs: list[tuple[int, int]],
) -> None:
    blocks = tuple(Span(start, start + length) for start, length in pairs)
    ordered = all(a.end <= b.start for a, b in pairwise(blocks))
    if ordered and all(block.end <= len(WHALE) for block in blocks):
        assert dataclasses.replace(make_section(), blocks=blocks).blocks == blocks
    else:
        with pytest.raises(InvalidValue, match=r"Section\.blocks"):
            dataclasses.replace(make_section(), blocks=blocks)


@given(st.text(max_size=30) | st.builds("{}://{}/{}".format, st.text(max_size=5), st.text(), st.text()))
def test_any_string_is_a_url_or_is_refused_as_one(said: str) -> None:
    try:
        validation.check_url("x", said)
    except InvalidValue:
        return
    assert said.split(":")[0].lower() in validation.URL_SCHEMES
    assert not set(said) & set(' \n\t<>"\\^`{}|')


@pytest.mark.parametrize("machine", TRANSITIONS, ids=lambda machine: machine.__name__)
def test_a_walk_through_a_machine_goes_only_where_its_table_says_and_ends(machine: type[StrEnum]) -> None:
    table: Mapping[StrEnum, tuple[StrEnum, ...]] = TRANSITIONS[machine]
    chance = random.Random(machine.__name__)
    for _ in range(50):
        state, walked = next(iter(machine)), 0
        while table.get(state):
            wanted = chance.choice(list(machine))
            if wanted in table[state]:
                state, walked = advance(state, wanted), walked + 1
            else:
                with pytest.raises(InvalidTransition, match=f"from {state} to {wanted}"):
                    advance(state, wanted)
        assert walked < len(machine), "a walk that comes back somewhere would never end"
        for anywhere in machine:
            with pytest.raises(InvalidTransition, match="it is final"):
                advance(state, anywhere)


@pytest.mark.parametrize("machine", TRANSITIONS, ids=lambda machine: machine.__name__)
def test_every_state_can_be_reached_and_is_seen_under_its_own_word_first(machine: type[StrEnum]) -> None:
    reached, table = {next(iter(machine))}, TRANSITIONS[machine]
    for _ in machine:
        reached |= {after for before in reached for after in table.get(before, ())}
    assert reached == set(machine)
    assert all(view(state)[0] == state for state in machine)


@given(st.lists(st.tuples(st.sampled_from(Delivery), st.datetimes(timezones=st.just(UTC))), max_size=6))
def test_a_trace_is_a_beginning_of_the_delivery_and_nothing_else(
    steps: list[tuple[Delivery, datetime]],
) -> None:
    if [step for step, _ in steps] == list(Delivery)[: len(steps)]:
        assert Trace(tuple(steps)).steps == tuple(steps)
    else:
        with pytest.raises(InvalidTransition):
            Trace(tuple(steps))


@given(st.lists(st.sampled_from([*QuestionStatus, *BookState, *Delivery]), max_size=8))
def test_a_question_keeps_the_last_step_that_was_allowed(steps: list[StrEnum]) -> None:
    asked = make_question()
    for step in steps:
        before = asked.status
        try:
            asked = asked.to(step)  # type: ignore[arg-type]
        except InvalidTransition:
            assert asked.status is before
        else:
            assert step in TRANSITIONS[QuestionStatus][before]
            assert isinstance(asked.status, QuestionStatus)
