"""Walks the table in `seeds`: nothing of the five documents is missing, and every rule and step holds."""

from __future__ import annotations

import ast
import dataclasses
from itertools import product
from operator import attrgetter
from typing import Any

import pytest

import octavo
from octavo import validation
from octavo.errors import InvalidTransition, InvalidValue
from octavo.types import COLLECTION, EMBEDDING_SIZE, Scope, ScopeType
from tests.support import builders, spec

SECTION_SCOPE = Scope(type=ScopeType.SECTION, identifier="s42")


def example(entity: str) -> Any:
    """A valid value of the entity, to change one field of."""
    return SECTION_SCOPE if entity == "Scope" else getattr(builders, f"make_{entity.lower()}")()


def with_field(path: str, value: object) -> Any:
    entity, field = path.split(".")
    changes = {field: value}
    if path == "Chunk.content" and isinstance(value, str):
        changes["end"] = len(value)
    return dataclasses.replace(example(entity), **changes)


def lines(table: str) -> list[tuple[str, str]]:
    return [(head, rest) for line in table.strip().splitlines() for head, rest in [line.split(":", 1)]]


def field_rows() -> list[Any]:
    rows = []
    for head, names in lines(spec.FIELDS):
        seed, theirs, ours = head.split()
        for name in names.split():
            word, _, carrier = name.partition("=")
            rows.append(pytest.param(ours, carrier or word, id=f"{seed}-{theirs}.{word}"))
    return rows


@pytest.mark.parametrize(("entity", "path"), field_rows())
def test_every_field_of_the_documents_has_a_field_that_carries_it(entity: str, path: str) -> None:
    value = example(entity)
    for name in path.split("."):
        fields = {f.name for f in dataclasses.fields(value)}
        assert name in fields or isinstance(getattr(type(value), name, None), property)
        value = getattr(value, name)


def path_rows(table: str) -> list[Any]:
    """Path of a field, and what stands for nothing there."""
    rows = []
    for head, names in lines(table):
        seed, entity = head.split()
        for name in names.split():
            word, _, empty = name.partition("=")
            nothing = ast.literal_eval(empty) if empty else None
            rows.append(pytest.param(f"{entity}.{word}", nothing, id=f"{seed}-{entity}.{word}"))
    return rows


@pytest.mark.parametrize(("path", "nothing"), path_rows(spec.REQUIRED))
def test_a_value_must_have_every_field_that_is_required(path: str, nothing: object) -> None:
    with pytest.raises(InvalidValue) as refused:
        with_field(path, nothing)
    assert refused.value.field == path


@pytest.mark.parametrize(("path", "nothing"), path_rows(spec.OPTIONAL))
def test_a_value_can_do_without_every_field_that_is_optional(path: str, nothing: object) -> None:
    entity, field = path.split(".")
    value = Scope() if path == "Scope.identifier" else with_field(path, nothing)
    assert getattr(value, field) == nothing, entity


@pytest.mark.parametrize("rule", spec.RULES, ids=lambda r: f"{r.seed}-{r.words.replace(' ', '-')}")
def test_every_rule_takes_good_values_and_refuses_bad_ones_by_name(rule: spec.Rule) -> None:
    assert rule.good
    assert rule.bad
    for good in rule.good:
        kept = getattr(with_field(rule.field, good), rule.field.split(".")[1])
        assert kept == good
    for bad in rule.bad:
        with pytest.raises(InvalidValue) as refused:
            with_field(rule.field, bad)
        assert refused.value.field == rule.field
        assert refused.value.rule.startswith("must ")
        message = f"{rule.field} {refused.value.rule}; got "
        assert str(refused.value).startswith(message)
        assert str(refused.value)[len(message) :].removesuffix("...") in repr(refused.value.value)


def name_rows() -> list[Any]:
    """Document, its entity, ours, its field, ours. The model made of the five is not among them."""
    rows = []
    for head, names in lines(spec.FIELDS):
        seed, theirs, ours = head.split()
        for name in names.split() if seed != "DM" else ():
            word, _, carrier = name.partition("=")
            if f"{seed} {theirs}.{word}" not in spec.TAKEN:
                rows.append(pytest.param(theirs, ours, word, carrier or word, id=f"{seed}-{theirs}.{word}"))
    return rows


@pytest.mark.parametrize(("theirs", "ours", "word", "carrier"), name_rows())
def test_every_name_of_the_documents_can_be_imported_and_read(
    theirs: str, ours: str, word: str, carrier: str
) -> None:
    value = example(ours)
    kind = getattr(octavo, theirs)
    named = value.context if theirs == "QueryContext" else value
    assert isinstance(named, kind)
    assert getattr(named, word) == attrgetter(carrier)(value)


def test_every_excuse_names_a_field_of_the_documents() -> None:
    known = {
        f"{head.rsplit(' ', 1)[0]}.{name.partition('=')[0]}"
        for head, n in lines(spec.FIELDS)
        for name in n.split()
    }
    assert set(spec.TAKEN) <= known


def machine_steps() -> dict[str, set[tuple[str, str]]]:
    steps: dict[str, set[tuple[str, str]]] = {}
    for head, rest in lines(spec.STATES):
        machine = head.split()[1]
        steps.setdefault(machine, set()).update(
            (a, b) for a, _, b in (s.partition(">") for s in rest.split())
        )
    return steps


@pytest.mark.parametrize("machine", machine_steps())
def test_every_step_of_a_machine_passes_and_every_other_pair_raises(machine: str) -> None:
    kind = getattr(validation, machine)
    allowed = machine_steps()[machine]
    names = [state.name.lower() for state in kind]
    assert {name for step in allowed for name in step} == set(names)
    for a, b in product(names, repeat=2):
        before, after = kind[a.upper()], kind[b.upper()]
        if (a, b) in allowed:
            assert validation.advance(before, after) is after
        else:
            with pytest.raises(InvalidTransition, match=f"{machine} cannot go from {before} to {after}"):
                validation.advance(before, after)


def test_every_machine_is_in_the_table() -> None:
    assert {kind.__name__ for kind in validation.TRANSITIONS} == set(machine_steps())


@pytest.mark.parametrize(("head", "ours"), lines(spec.VIEWS), ids=lambda v: v.replace(" ", "-"))
def test_states_of_other_documents_are_views_of_ours(head: str, ours: str) -> None:
    word = head.split()[1]
    for name in ours.split():
        machine, state = name.split(".")
        assert word in validation.view(getattr(validation, machine)[state.upper()])


def test_the_collection_is_named_and_sized_as_the_second_document_says() -> None:
    assert (COLLECTION, EMBEDDING_SIZE) == ("ai_book_embedding", 384)
