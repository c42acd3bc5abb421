"""Titles: how they are cleaned, made from file names, and compared.

Two titles are the same when their letters and digits are, whatever their case, spacing and punctuation.
"""

from __future__ import annotations

import re
import unicodedata

from octavo.text.clean import clean, collapse

LONGEST_TITLE = 300
_ORDER_PREFIX = re.compile(r"^\d+\s*[-_.)]+\s*(?=\D)")
_NOT_ALPHANUMERIC = re.compile(r"[\W_]+")


def clean_line(text: str) -> str:
    """Clean any text and make it one line that a table of contents can show; it may be empty."""
    line = collapse(clean(text))
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1].rstrip() + "…"


def make_title(name: str) -> str:
    """Make a title of a file or folder name: `03-first_steps` becomes `First steps`."""
    words = collapse(clean(re.sub(r"[-_]+", " ", _ORDER_PREFIX.sub("", name))))
    return clean_line(words[:1].upper() + words[1:]) or "Untitled"


def split_words(title: str) -> list[str]:
    """Return the words of a title without case and punctuation."""
    folded = title.casefold()
    if folded.isascii():
        return _NOT_ALPHANUMERIC.sub(" ", folded).split()
    # The vowel signs of Indic scripts are combining marks, and part of their word.
    letters = (c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in folded)
    return "".join(letters).split()


def squash_title(title: str) -> str:
    """Return only the letters and digits of a title, without case, for comparing."""
    return "".join(split_words(title))


def is_same_title(one: str, other: str) -> bool:
    return squash_title(one) == squash_title(other)
