"""Tell whether a place lies in a block of code or a table."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from octavo.types import Span


class Blocks:
    """The blocks of one section, which do not overlap."""

    def __init__(self, blocks: Iterable[Span]) -> None:
        self._edges = [
            edge for block in blocks if block.end > block.start for edge in (block.start, block.end)
        ]

    def hold(self, at: int) -> bool:
        # An odd number of edges before a place means that a block is open there.
        return bisect_right(self._edges, at) % 2 == 1
