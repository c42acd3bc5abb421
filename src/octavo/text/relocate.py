"""Finds words again after the text around them has changed.

A passage is remembered by its offsets and its words. While the words still stand at the offsets, nothing has
to be looked for. Otherwise the nearest place counts where the same words stand; white space may differ.
"""

from __future__ import annotations

import re


def find_again(text: str, words: str, *, near: int = 0) -> tuple[int, int] | None:
    """Find where `words` stand in `text`, nearest to the offset `near`; None where they do not."""
    if text.startswith(words, near):
        return near, near + len(words)
    parts = words.split()
    if not parts:
        return None
    pattern = re.compile(r"\s+".join(map(re.escape, parts)))
    found = [match.span() for match in pattern.finditer(text)]
    return min(found, key=lambda span: abs(span[0] - near), default=None)
