"""A cache of limited size that drops the entry which was not used for the longest time."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

DEFAULT_SIZE = 10_000
T = TypeVar("T")


class LRUCache(Generic[T]):
    """The values that were used last, by key."""

    def __init__(self, *, most: int = DEFAULT_SIZE) -> None:
        self._most = most
        self._known: OrderedDict[str, T] = OrderedDict()

    def get(self, key: str) -> T | None:
        known = self._known.get(key)
        if known is not None:
            self._known.move_to_end(key)
        return known

    def put(self, key: str, value: T) -> None:
        self._known[key] = value
        self._known.move_to_end(key)
        if len(self._known) > self._most:
            self._known.popitem(last=False)
