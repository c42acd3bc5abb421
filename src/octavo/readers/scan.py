"""Finding where things end in a source that mixes prose and program text.

A `Scanner` answers for one text: where a run of backticks closes, where braces balance, where a tag or a
statement ends. All its looking ahead is paid from one budget that grows with the text alone, so that no
text, however hostile, takes more than linear time; when the budget is spent nothing closes any more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_FARTHEST = 20_000
_IN_BRACES = re.compile(r"""[{}"'`]|/\*""")
_IN_TAG = re.compile(r"""["'{<>]|\n[ \t]*\n""")
_IN_STATEMENT = re.compile(r"""[(){}\[\]"'`\n]|/\*|//""")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_TICKS = re.compile(r"`+")


class Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._budget = 8 * len(text) + 50_000

    def closing(self, mark: str, start: int) -> int | None:
        """The place after `mark`; backticks and dollar signs close within their paragraph."""
        if self._budget <= 0:
            return None
        if mark[0] == "`":
            return self._ticks(len(mark), start)
        if mark[0] == "$":
            return self._formula(mark, start)
        end = self._text.find(mark, start)
        if not self._pay((len(self._text) if end < 0 else end) - start) or end < 0:
            return None
        return end + len(mark)

    def balanced(self, start: int) -> int | None:
        """The place after the brace that closes the one at `start`."""
        depth, position = 0, start
        while found := _IN_BRACES.search(self._text, position, start + _FARTHEST):
            if not self._pay(found.end() - position):
                return None
            mark, position = found.group(), found.end()
            if mark == "{":
                depth += 1
            elif mark == "}":
                depth -= 1
                if not depth:
                    return position
            else:
                position = self._quoted(mark, position)
        self._pay(_FARTHEST)
        return None

    def tag(self, start: int) -> int | None:
        """The place after a tag whose name ends at `start`; None when it is no tag."""
        position = start
        while found := _IN_TAG.search(self._text, position, start + _FARTHEST):
            if not self._pay(found.end() - position):
                return None
            mark, position = found.group(), found.end()
            if mark == ">":
                return position
            if mark == "{":
                end = self.balanced(position - 1)
            elif mark in "\"'":
                end = self._text.find(mark, position, start + _FARTHEST) + 1
            else:
                return None
            if not end or not self._pay(end - position):
                return None
            position = end
        return None

    def line_ends(self, start: int) -> Iterator[int]:
        """The line ends from `start` on that stand outside brackets, strings and comments."""
        depth, position = 0, start
        while found := _IN_STATEMENT.search(self._text, position):
            mark, position = found.group(), found.end()
            if mark == "\n":
                if depth <= 0:
                    yield found.start()
            elif mark in "([{":
                depth += 1
            elif mark in ")]}":
                depth -= 1
            elif mark == "//":
                position = (self._text.find("\n", position) + 1 or len(self._text) + 1) - 1
            else:
                position = self._quoted(mark, position)

    def _quoted(self, opening: str, position: int) -> int:
        """The place after the string or comment that `opening` began; an apostrophe begins nothing."""
        mark = "*/" if opening == "/*" else opening
        last = position + _FARTHEST
        if mark in "\"'":
            last = (self._text.find("\n", position, last) + 1 or last + 1) - 1
        end = self._text.find(mark, position, last)
        self._pay(min(_FARTHEST, (last if end < 0 else end) - position))
        return position if end < 0 else end + len(mark)

    def _ticks(self, size: int, start: int) -> int | None:
        blank = _BLANK_LINE.search(self._text, start)
        last = blank.start() if blank else len(self._text)
        if not self._pay(last - start):
            return None
        for found in _TICKS.finditer(self._text, start, last):
            if len(found.group()) == size:
                return found.end()
        return None

    def _formula(self, mark: str, start: int) -> int | None:
        last = self._text.find("\n\n" if mark == "$$" else "\n", start)
        last = len(self._text) if last < 0 else last
        if self._text[start : start + 1].isspace() and mark == "$":
            return None
        if not self._pay(last - start):
            return None
        end = self._text.find(mark, start, last)
        while end > 0 and mark == "$" and self._text[end - 1].isspace():
            end = self._text.find(mark, end + 1, last)
        return end + len(mark) if end >= 0 else None

    def _pay(self, steps: int) -> bool:
        self._budget -= max(1, steps)
        return self._budget > 0
