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

# So many characters before and after a passage are read with it, as far as they are of its section.
BEFORE, AFTER = 500, 350


def widen(chunk: Chunk, around: Sequence[Chunk]) -> Chunk:
    """Widen a passage by the passages of its section around it. Places keep their characters.

    What is between two passages is no text of the book. The wider passage begins and ends with a whole word,
    and is no longer than a passage may be.
    """
    room = min(1.0, (CHUNK_MOST - len(chunk.content)) / (BEFORE + AFTER))
    earliest, latest = chunk.start - int(BEFORE * room), chunk.end + int(AFTER * room)
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
        last = text.rfind(" ", chunk.end - start, last) if " " in text[chunk.end - start : last] else last
    return replace(chunk, content=text[first:last], start=start + first, end=start + last)


def drop_covered(ids: Sequence[str], wide: Mapping[str, Chunk], chunks: Mapping[str, Chunk]) -> list[str]:
    """Drop passages that stand wholly in what is read around an earlier one."""
    kept: list[str] = []
    for id_ in ids:
        here = chunks[id_]
        if not any(covers(wide[other], here, here.start, here.end) for other in kept):
            kept.append(id_)
    return kept


def covers(wide: Chunk, chunk: Chunk, start: int, end: int) -> bool:
    """Whether a wider passage has all of a stretch of the section that a passage is in."""
    same = (wide.book_id, wide.section_id) == (chunk.book_id, chunk.section_id)
    return same and wide.start <= start and end <= wide.end


def _skip_word(text: str, first: int, most: int) -> int:
    """Go on to the word after the one at a place, unless that is beyond `most`."""
    space = text.find(" ", first, most)
    return space + 1 if space >= 0 else first
