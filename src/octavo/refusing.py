"""Refusals, in the words a librarian would use."""

from __future__ import annotations

from collections.abc import Sequence

from octavo.conversation import Refusal, RefusalReason
from octavo.types import Evidence

NEAREST = 3


def empty_library() -> Refusal:
    return Refusal(
        reason=RefusalReason.EMPTY_LIBRARY,
        message="There is no book in the library yet. Add one first.",
    )


def refused(where: str, evidence: Sequence[Evidence], *, unlikely: bool) -> Refusal:
    """Nothing that answers, or nothing that answers surely enough."""
    near = nearest(evidence)
    places = f" The nearest I found: {_listed(near)}." if near else ""
    if unlikely:
        said = f"I found no answer to this in {where}.{places}"
        return Refusal(reason=RefusalReason.NOT_IN_BOOK, message=said, nearest=near)
    said = f"I am not sure enough to answer this from {where}.{places}"
    return Refusal(reason=RefusalReason.BELOW_CONFIDENCE, message=said, nearest=near)


def elsewhere(where: str, evidence: Sequence[Evidence], *, ahead: bool = False) -> Refusal:
    """Not within the scope; `evidence` is where the book does answer it. `ahead`, the place is not told."""
    near = () if ahead else nearest(evidence)
    place = "further on" if ahead else f"in {_listed(near)}"
    said = f"I found no answer to this in {where}, but the book has one {place}."
    return Refusal(
        reason=RefusalReason.NOT_IN_SCOPE, message=f"{said} Widen the search to see it.", nearest=near
    )


def nearest(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """The best passage of each of the nearest sections."""
    by_section = {(e.chunk.book_id, e.chunk.section_id): e for e in reversed(evidence)}
    best = sorted(by_section.values(), key=lambda e: e.rank)
    return tuple(best[:NEAREST])


def _listed(near: Sequence[Evidence]) -> str:
    names = [f"“{e.chunk.section}”" for e in near[:2]]
    return " and ".join(names)
