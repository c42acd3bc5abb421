"""Finds a reader's selection at its real place in the book.

What a reader copies from a page differs from the canonical text in white space, quotes, hyphens and line
ends. Letters and digits do not differ, so a selection is found by them alone, and the place that comes
back is exact: it starts with the first letter of the selection and ends with the last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from octavo.text import clean
from octavo.types import Section

_BETWEEN = r"[\W_]*"


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of one section's text."""

    section: Section
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.section.text[self.start : self.end]


def locate(selected: str, sections: Iterable[Section]) -> Place | None:
    """Where `selected` stands, or None when the book does not have it.

    The first place wins; one where it is made of whole words comes before one where it is not.
    """
    letters = [c for c in clean(selected) if c.isalnum()]
    if not letters:
        return None
    within = _BETWEEN.join(re.escape(c) for c in letters)
    places = list(sections)
    for spelled in (rf"(?<![^\W_]){within}(?![^\W_])", within):  # whole words before parts of words
        pattern = re.compile(spelled, re.IGNORECASE)
        for section in places:
            found = pattern.search(section.text)
            if found:
                return Place(section, found.start(), found.end())
    return None
