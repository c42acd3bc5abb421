"""What a `Where` asks for, checked: the same keys and the same kinds of value for every store.

Only strings and integers pass: the embedded engine takes a boolean for the number 1 and then finds nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from octavo import rules
from octavo.errors import InvalidValue
from octavo.protocols import Values, Where
from octavo.store.payload import KEYWORDS, NUMBERS

FILTERED = (*KEYWORDS, *NUMBERS)
Bounds = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class Conditions:
    """All must hold: one of `any_of`, none of `none_of`, numbers within `ranges`, both ends included."""

    any_of: Mapping[str, Values]
    none_of: Mapping[str, Values]
    ranges: Mapping[str, Bounds]


def matches_nothing(where: Where) -> bool:
    """A condition that allows no value at all: the answer is known without asking."""
    return any(not values for values in where.any_of.values())


def conditions(where: Where) -> Conditions | None:
    """The conditions of `where`, or None where everything passes; what makes no sense is refused."""
    made = Conditions(_checked(where.any_of), _checked(where.none_of), _ranges(where))
    return made if made.any_of or made.none_of or made.ranges else None


def _checked(wanted: Mapping[str, Values]) -> dict[str, Values]:
    for key, values in wanted.items():
        rules.one_of("Where key", key, FILTERED)
        kinds = {type(value) for value in values}
        if not kinds <= {int} and not kinds <= {str}:
            raise InvalidValue(f"Where[{key}]", "must be all strings or all integers", values)
    return {key: values for key, values in wanted.items() if values}


def _ranges(where: Where) -> dict[str, Bounds]:
    for name in ("at_least", "at_most"):
        for key, value in getattr(where, name).items():
            rules.one_of("Where key", key, FILTERED)
            rules.whole(f"Where.{name}[{key}]", value, least=-rules.LARGEST_EXACT_INTEGER)
    return {
        key: (where.at_least.get(key), where.at_most.get(key)) for key in {**where.at_least, **where.at_most}
    }
