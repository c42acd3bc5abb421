"""Widens passages by what stands around them, for the model that reads closely.

A passage of a narrative seldom says who "he" is, and what answers may stand a few lines before or after the
words that were found. So the large model reads a passage with the text around it in its section.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from octavo.types import CHUNK_MOST

if TYPE_CHECKING:
    from octavo.types import Chunk

# Of the room that is left beside a passage, so much is given to what stands before it.
BEFORE_SHARE = 0.6
# The most characters that are read before and after a passage together.
MOST_AROUND = 850


def measure_room(chunk: Chunk, *, pieces: int, most: int) -> int:
    """Return how many characters may be read around a passage, so that all of it is read.

    With question and headings it has so many word `pieces`, and the model reads `most`.
    """
    wide = int((most - pieces) * len(chunk.content) / max(1, pieces))
    return max(0, min(MOST_AROUND, CHUNK_MOST - len(chunk.content), wide))


def widen(chunk: Chunk, around: Sequence[Chunk], room: int) -> Chunk:
    """Widen a passage by the passages of its section around it, by `room` characters in all.

    Places keep their characters. What is between two passages is no text of the book. The wider passage
    begins and ends with a whole word.
    """
    earliest, latest = find_reach(chunk, room)
    near = sorted((c for c in around if c.end > earliest and c.start < latest), key=lambda c: c.start)
    start = min(c.start for c in (*near, chunk))
    text = ""
    # The passage itself comes last, so that none of its own text is lost.
    for part in (*near, chunk):
        at = part.start - start
        text = text[:at].ljust(at, "\n") + part.content + text[at + len(part.content) :]
    first, last = max(0, earliest - start), min(len(text), latest - start)
    if first:
        first = _skip_word(text, first, chunk.start - start)
    if last < len(text):
        last = _end_word(text, chunk.end - start, last)
    return replace(chunk, content=text[first:last], start=start + first, end=start + last)


def find_reach(chunk: Chunk, room: int) -> tuple[int, int]:
    """Return between which places of its section what stands around a passage is read."""
    before = int(BEFORE_SHARE * room)
    return chunk.start - before, chunk.end + room - before


def group_covered(
    ids: Sequence[str], wide: Mapping[str, Chunk], chunks: Mapping[str, Chunk]
) -> dict[str, list[str]]:
    """Return the passages that are to be read, each with the later ones that are read with it."""
    kept: dict[str, list[str]] = {}
    for id_ in ids:
        here = chunks[id_]
        having = (other for other in kept if covers(wide[other], here, here.start, here.end))
        first = next(having, None)
        if first is None:
            kept[id_] = []
        else:
            kept[first].append(id_)
    return kept


def covers(wide: Chunk, chunk: Chunk, start: int, end: int) -> bool:
    """Whether a wider passage has all of a stretch of the section that a passage is in."""
    same = (wide.book_id, wide.section_id) == (chunk.book_id, chunk.section_id)
    return same and wide.start <= start and end <= wide.end


def _skip_word(text: str, first: int, most: int) -> int:
    """Go on to the word after the one at a place, unless that is beyond `most`."""
    space = text.find(" ", first, most)
    return space + 1 if space >= 0 else first


def _end_word(text: str, least: int, last: int) -> int:
    """Go back to the end of the word before a place, unless that is before `least`."""
    space = text.rfind(" ", least, last)
    return space if space >= 0 else last
