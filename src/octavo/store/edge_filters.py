"""`Where` in the words of Qdrant Edge.

Only strings and integers pass: Edge takes a boolean for the number 1 and then finds nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from qdrant_edge import FieldCondition, Filter, MatchAny, RangeFloat

from octavo import rules
from octavo.errors import InvalidValue
from octavo.protocols import Values, Where
from octavo.store.payload import KEYWORDS, NUMBERS

if TYPE_CHECKING:
    from qdrant_edge import ConditionType as Condition

FILTERED = (*KEYWORDS, *NUMBERS)


def matches_nothing(where: Where) -> bool:
    """A condition that allows no value at all: the answer is known without asking."""
    return any(not values for values in where.any_of.values())


def edge_filter(where: Where) -> Filter | None:
    """The filter for `where`, or None where everything passes."""
    bounds = {key: (where.at_least.get(key), where.at_most.get(key)) for key in _keys(where)}
    ranges = [
        FieldCondition(key=key, range=RangeFloat(gte=least, lte=most))
        for key, (least, most) in bounds.items()
        if least is not None or most is not None
    ]
    must: list[Condition] = [*_conditions(where.any_of), *ranges]
    must_not: list[Condition] = [*_conditions(where.none_of)]
    if not must and not must_not:
        return None
    return Filter(must=must or None, must_not=must_not or None)


def _keys(where: Where) -> Iterable[str]:
    for name in ("at_least", "at_most"):
        for key, value in getattr(where, name).items():
            _check_key(key)
            rules.whole(f"Where.{name}[{key}]", value, least=-rules.LARGEST_EXACT_INTEGER)
    return {**where.at_least, **where.at_most}


def _conditions(wanted: Mapping[str, Values]) -> Iterable[FieldCondition]:
    for key, values in wanted.items():
        _check_key(key)
        kinds = {type(value) for value in values}
        if not kinds <= {int} and not kinds <= {str}:
            raise InvalidValue(f"Where[{key}]", "must be all strings or all integers", values)
        if values:
            yield FieldCondition(key=key, match=MatchAny([*values]))


def _check_key(key: str) -> None:
    rules.one_of("Where key", key, FILTERED)
