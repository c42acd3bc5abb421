"""Each rule for paraphrases, by the examples that stand in its docstring."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest

from octavo.verification import rules
from octavo.verification.lexemes import read_lexemes
from octavo.verification.rules import RULES, find_faults, may_overrule


def examples(kind: str) -> Iterator[tuple[str, ...]]:
    for _, function in inspect.getmembers(rules, inspect.isfunction):
        for line in (inspect.getdoc(function) or "").splitlines():
            if line.startswith(f"{kind}: "):
                yield tuple(part.strip() for part in line.removeprefix(f"{kind}: ").split(" | "))


@pytest.mark.parametrize(("said", "text", "objection"), list(examples("Wrong")))
def test_a_rule_objects_to_its_example(said: str, text: str, objection: str) -> None:
    assert objection in list(find_faults(read_lexemes(said), text))


@pytest.mark.parametrize(("said", "text"), list(examples("Right")))
def test_no_rule_objects_to_what_is_right(said: str, text: str) -> None:
    assert list(find_faults(read_lexemes(said), text)) == []


def test_every_rule_stands_in_the_list_and_has_an_example() -> None:
    public = {f for name, f in inspect.getmembers(rules, inspect.isfunction) if name.startswith("find_")}
    ours = {f for f in public if f.__module__ == rules.__name__} - {find_faults}
    assert ours == set(RULES)
    assert len(list(examples("Wrong"))) >= len(RULES)
    assert len(list(examples("Right"))) >= 5


@pytest.mark.parametrize(
    ("said", "text", "may"),
    [
        ("The clerk posts ten grey letters every day.", "The clerk sorts ten grey letters every day.", True),
        (
            "Ten grey letters are sorted by the clerk at noon in the hall.",
            "In the hall the clerk sorts ten grey letters at noon.",
            True,
        ),
        (
            "The keeper of the north tower lights the great lamp before sunset.",
            "The keeper of the north tower rarely lights the great lamp before sunset.",
            False,
        ),
        (
            "The old mate did see the ship, but the captain did not hear the bell.",
            "The old mate did not see the ship, but the captain did not hear the bell.",
            False,
        ),
        ("The pier broke the storm.", "The storm broke the pier.", False),
    ],
)
def test_a_judge_overrules_no_change_of_a_limit_and_no_order_of_few_words(
    said: str, text: str, may: bool
) -> None:
    assert may_overrule(said, text) == may
