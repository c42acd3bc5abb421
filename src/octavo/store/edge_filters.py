"""The embedded engine's filter for the conditions of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qdrant_edge import FieldCondition, Filter, MatchAny, RangeFloat

from octavo.store.base import read_conditions

if TYPE_CHECKING:
    from qdrant_edge import ConditionType as Condition

    from octavo.protocols import Where


def build_filter(where: Where) -> Filter | None:
    """Builds the filter for `where`; None where everything passes."""
    wanted = read_conditions(where)
    if wanted is None:
        return None
    must: list[Condition] = [
        FieldCondition(key=key, match=MatchAny([*values])) for key, values in wanted.any_of.items()
    ]
    must += [
        FieldCondition(key=key, range=RangeFloat(gte=least, lte=most))
        for key, (least, most) in wanted.ranges.items()
    ]
    must_not: list[Condition] = [
        FieldCondition(key=key, match=MatchAny([*values])) for key, values in wanted.none_of.items()
    ]
    return Filter(must=must or None, must_not=must_not or None)
