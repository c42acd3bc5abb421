"""The chapters of a book, and the gist of each: sentences of its own, in order, covering its parts.

A chapter is a heading of the highest level with everything under it. A part, which has no text of its own
and chapters under it (they have sections of their own, or are called chapters), is a group of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from octavo.text.bookmap.link import LinkedMap, Place
    from octavo.types import Section

CHAPTER_SENTENCES = 5
_CHAPTER = re.compile(r"chapter\b", re.IGNORECASE)


def list_chapters(sections: Sequence[Section]) -> list[int]:
    """Return the numbers of the sections that begin a chapter."""
    children: dict[int, list[int]] = {}
    roots: list[int] = []
    open_numbers: list[int] = []
    for number, section in enumerate(sections):
        while open_numbers and sections[open_numbers[-1]].id not in section.ancestors:
            open_numbers.pop()
        (children.setdefault(open_numbers[-1], []) if open_numbers else roots).append(number)
        open_numbers.append(number)
    if len(roots) == 1 and children.get(roots[0]):
        # The whole book stands under its title.
        title = roots[0]
        roots = [*([title] if sections[title].text else []), *children[title]]
    found: list[int] = []
    for root in roots:
        below = children.get(root, [])
        inner = sum(child in children or _CHAPTER.match(sections[child].title) is not None for child in below)
        is_part = not sections[root].text and 2 * inner >= len(below) > 0
        found += below if is_part else [root]
    return found


def find_descendants(sections: Sequence[Section], number: int) -> list[int]:
    """Return the numbers of a section and of those under it."""
    wanted = sections[number].id
    return [n for n, section in enumerate(sections) if n == number or wanted in section.ancestors]


def choose_sentences(linked: LinkedMap, numbers: Sequence[int]) -> list[Place]:
    """Return the gist of some sections together: the gists of its parts, thinned out evenly."""
    chosen = [
        (number, *linked.marks[number].sentences[sentence])
        for number in numbers
        for sentence in linked.marks[number].gist
    ]
    most = CHAPTER_SENTENCES
    if len(chosen) <= most:
        return chosen
    return [chosen[round(at * (len(chosen) - 1) / (most - 1))] for at in range(most)]
