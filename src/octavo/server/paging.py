"""Long lists in pages: `limit` says how many, `after` is the `next` that the page before ended with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Query

T = TypeVar("T")
LIMIT_DEFAULT, LIMIT_MOST = 50, 200


@dataclass(frozen=True, slots=True)
class Page:
    limit: int = LIMIT_DEFAULT
    after: str | None = None

    def cut(self, found: Sequence[T], name: Callable[[T], str]) -> tuple[list[T], str | None]:
        """A list that begins after `after` and may be one longer than the limit: the page, its `next`."""
        shown = list(found[: self.limit])
        return shown, name(shown[-1]) if len(found) > self.limit else None

    def of(self, everything: Sequence[T], name: Callable[[T], str]) -> tuple[list[T], str | None]:
        """The page of a whole list, in the order of the names; what is gone meanwhile is passed over."""
        rest = sorted(
            (item for item in everything if self.after is None or name(item) > self.after), key=name
        )
        return self.cut(rest, name)


async def page(
    limit: Annotated[int, Query(ge=1, le=LIMIT_MOST, description="Most items on the page.")] = LIMIT_DEFAULT,
    after: Annotated[
        str | None,
        Query(
            min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$", description="`next` of the page before."
        ),
    ] = None,
) -> Page:
    return Page(limit, after)


ThePage = Annotated[Page, Depends(page)]
