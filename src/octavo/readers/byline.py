"""Find who wrote a book on its first page, where nothing else says so: "by Ada Berg and Jan Cole"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from octavo.readers.titles import clean_line

if TYPE_CHECKING:
    from octavo.readers.parsed import ParsedSection

# A byline is one of the first lines of a book, and short. More names than this are a list of something else.
_LINES, _LONGEST, _MOST = 8, 200, 8
_BY = re.compile(r"\W*(?:(?:written|authored) )?by:?\s+(?P<names>\S.*)", re.IGNORECASE)
# What follows the names is about other people.
_AFTER = re.compile(
    r"[,;(]?\s*\b(?:with|edited|translated|illustrated|published|foreword|preface|introduction)\b.*",
    re.IGNORECASE,
)
_JOINED = re.compile(r"\s*(?:,|;|&|\band\b)\s*(?:and\s+)?", re.IGNORECASE)
_PART = r"(?:[^\W\d_a-z][\w’'-]*+\.?|(?:de|da|di|du|van|von|der|den|la|le|el|al|bin|ibn|y)\b)"
_NAME = re.compile(rf"[^\W\d_a-z][\w’'-]*+\.?(?: {_PART}){{1,4}}")


def find_byline(title: str, sections: Sequence[ParsedSection]) -> tuple[str, ...]:
    """Return the authors that a book names in a line of their own on its title page, or nothing.

    That is the section with the title of the book, or else the first one.
    """
    told = [section for section in sections if section.text.strip()]
    page = next((section for section in told if section.title == title), told[0] if told else None)
    lines = page.text.split("\n") if page else []
    for line in [line for line in map(clean_line, lines) if line][:_LINES]:
        found = _BY.fullmatch(line) if len(line) <= _LONGEST else None
        if found is None:
            continue
        names = [name for name in _JOINED.split(_AFTER.sub("", found["names"]).strip(" .*_")) if name]
        if 0 < len(names) <= _MOST and all(_NAME.fullmatch(name) for name in names):
            return tuple(names)
    return ()
