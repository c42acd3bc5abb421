"""`Where` in the words of Qdrant Edge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qdrant_edge import FieldCondition, Filter, MatchAny, RangeFloat

from octavo.protocols import Where
from octavo.store.conditions import conditions

if TYPE_CHECKING:
    from qdrant_edge import ConditionType as Condition


def edge_filter(where: Where) -> Filter | None:
    """The filter for `where`, or None where everything passes."""
    wanted = conditions(where)
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
