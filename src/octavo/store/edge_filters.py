"""The embedded engine's filters for the conditions of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qdrant_edge import FieldCondition, Filter, MatchAny, RangeFloat

from octavo.store.base import read_conditions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from qdrant_edge import ConditionType as Condition

    from octavo.protocols import Values, Where


def build_filter(where: Where) -> Filter | None:
    """Builds the filter for `where`; None where everything passes."""
    wanted = read_conditions(where)
    if wanted is None:
        return None
    must = _match_any(wanted.any_of)
    must += [
        FieldCondition(key=key, range=RangeFloat(gte=least, lte=most))
        for key, (least, most) in wanted.ranges.items()
    ]
    return Filter(must=must or None, must_not=_match_any(wanted.none_of) or None)


def build_left_out(where: Where) -> Filter | None:
    """Builds the filter for what `where` leaves out; None where it wants anything else too."""
    wanted = read_conditions(where)
    if wanted is None or wanted.any_of or wanted.ranges:
        return None
    return Filter(should=_match_any(wanted.none_of))


def _match_any(wanted: Mapping[str, Values]) -> list[Condition]:
    return [FieldCondition(key=key, match=MatchAny([*values])) for key, values in wanted.items()]
