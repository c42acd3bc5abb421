"""Tell by a book's own words what belongs to a word at the end of a line: its hyphen, the rest of a path."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise

_WORDS = re.compile(r"[\w-]+")
# No word goes on in small letters after these: `SQL-compatible` has its hyphen.
_CAPITALS_AT_END = re.compile(r"[A-Z]{2}$")
# A path or a web address that may go on in the next line, its last part, and the first part that follows.
_PATH_END = re.compile(r"(?:^|[\s/(“\"'])([\w.+~*-]*\w)/$")
_PATH_PART = re.compile(r"[\w.+~-]*\w")
_FILE_NAME = re.compile(r"[\w+~-]+(?:[./][\w+~-]|/)")
_PATHS = re.compile(r"[\w.+~/-]+/[\w.+~/-]*\w")


class BookWords:
    """The book's own words, which decide whether a hyphen at the end of a line belongs to the word."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = tuple(texts)

    @cached_property
    def _seen(self) -> Counter[str]:
        return Counter(_WORDS.findall("\n".join(self._texts).lower()))

    @cached_property
    def _steps(self) -> frozenset[str]:
        """Each two parts of a path that stand together in some line, as `usr/share`."""
        paths = (path.split("/") for text in self._texts for path in _PATHS.findall(text))
        return frozenset(f"{a}/{b}" for parts in paths for a, b in pairwise(parts) if a and b)

    def continues_path(self, before: str, after: str) -> bool:
        """Whether a path or address at the end of a line goes on in the next, as it does elsewhere."""
        end, part = _PATH_END.search(before[-200:]), _PATH_PART.match(after)
        if end is None or part is None:
            return False
        return _FILE_NAME.match(after) is not None or f"{end[1]}/{part[0]}" in self._steps

    def keeps_hyphen(self, before: str, after: str) -> bool:
        """Whether “before-after” is spelled with its hyphen where it is not broken."""
        seen, first, second = self._seen, before.lower(), after.lower()
        if first + second in seen:
            return f"{first}-{second}" in seen and seen[f"{first}-{second}"] > seen[first + second]
        if f"{first}-{second}" in seen or not after[:1].islower() or _CAPITALS_AT_END.search(before):
            return True
        return min(len(first), len(second)) > 2 and min(seen.get(first, 0), seen.get(second, 0)) > 1

    def is_broken(self, before: str, after: str) -> bool:
        """Whether “beforeafter” is one word: the book has it, or lacks one of the two by itself."""
        seen, first, second = self._seen, before.lower(), after.lower()
        whole = first + second in seen or first not in seen or second not in seen
        return whole and not self.keeps_hyphen(before, after)
