"""The order of what a search finds: best first, equals in order of id, equals not cut apart at random.

Every engine may return equal scores in any order and cut through the middle of them. Both stores ask for a
few more than wanted, and once for many more when equals stand across the cut; `cut` decides what is certain.
"""

from __future__ import annotations

from collections.abc import Iterable

from octavo.protocols import Hit

DECIMALS = 5  # scores that agree this far are equal
FEW_MORE, MANY_MORE = 16, 512


def portions(limit: int) -> tuple[int, int]:
    """How many to ask for at first, and how many if that cannot be certain."""
    return limit + FEW_MORE, 2 * limit + MANY_MORE


def cut(scored: Iterable[tuple[str, float]], *, asked: int, limit: int) -> tuple[tuple[Hit, ...], bool]:
    """The best `limit`, equals in order of id; and whether they are certain to be the best ones.

    When as many came as were asked for, more of the last score may exist: that group is left out, unless
    there is no other.
    """
    hits = [Hit(id, round(score, DECIMALS)) for id, score in scored]
    hits.sort(key=lambda hit: (-hit.score, hit.id))
    if len(hits) < asked:
        return tuple(hits[:limit]), True
    whole = [hit for hit in hits if hit.score > hits[-1].score]
    return tuple((whole or hits)[:limit]), len(whole) >= limit
