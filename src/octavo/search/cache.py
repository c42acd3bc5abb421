"""A cache of limited size that drops the entry which was not used for the longest time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

DEFAULT_SIZE = 10_000
T = TypeVar("T")


class LRUCache(Generic[T]):
    """The values that were used last, by key: at most `most` of them, or as much by their `measure`."""

    def __init__(self, *, most: int = DEFAULT_SIZE, measure: Callable[[T], int] | None = None) -> None:
        self._most, self._measure = most, measure
        self._known: OrderedDict[str, T] = OrderedDict()
        self._size = 0

    def get(self, key: str) -> T | None:
        known = self._known.get(key)
        if known is not None:
            self._known.move_to_end(key)
        return known

    def put(self, key: str, value: T) -> None:
        if (before := self._known.pop(key, None)) is not None:
            self._size -= self._count(before)
        self._known[key] = value
        self._size += self._count(value)
        while self._size > self._most:
            _, dropped = self._known.popitem(last=False)
            self._size -= self._count(dropped)

    def _count(self, value: T) -> int:
        return 1 if self._measure is None else self._measure(value)
