"""Sets of tag, class and role names, written as a line of words."""

from __future__ import annotations


def split_names(words: str) -> frozenset[str]:
    """Split a line of tag, class or role names."""
    return frozenset(words.split())
