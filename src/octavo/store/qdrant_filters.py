"""`Where` in the words of a Qdrant server."""

from __future__ import annotations

from collections.abc import Mapping

from qdrant_client import models

from octavo.protocols import Values, Where
from octavo.store.conditions import conditions


def server_filter(where: Where) -> models.Filter | None:
    """The filter for `where`, or None where everything passes."""
    wanted = conditions(where)
    if wanted is None:
        return None
    ranges = [
        models.FieldCondition(key=key, range=models.Range(gte=least, lte=most))
        for key, (least, most) in wanted.ranges.items()
    ]
    return models.Filter(
        must=[*_matches(wanted.any_of), *ranges] or None, must_not=[*_matches(wanted.none_of)] or None
    )


def _matches(wanted: Mapping[str, Values]) -> list[models.FieldCondition]:
    return [
        models.FieldCondition(key=key, match=models.MatchAny(any=[*values])) for key, values in wanted.items()
    ]
