"""Knows what measures of accounting are computed from, so that a question for one finds the figures.

Few reports have a page that says "quick ratio". They have a balance sheet, which has none of the question's
words and is not near it in meaning. The table in measures.json has the names of each measure, and the
statements and line items that it is computed from, in the usual wordings of reports. A question that names a
measure is searched by these too, and a passage that states the measure itself counts more. Every other
question stays as it is.

Books that are no reports may use the same names for other things. So a name that ordinary prose has as well
counts only in a question about a period, and no name counts where the books seldom have the words of its line
items.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple

from octavo.records.words import ANY_WORD
from octavo.text.english import Token, tokenize

# The books have the words of the line items if half of these words are each in one of so many passages. In
# reports the median word is mostly in one of about 10 passages, in an encyclopedia in one of 54 or more.
ONE_IN = 40
# What says that a question is about a period or a figure of a report.
_PERIOD = re.compile(r"\d|\b(?:FY|fiscal|annual|quarter|quarterly)\b", re.IGNORECASE)
# The end of a plural in a name, as "shareholders", "shareholders'" and "shareholder's" have it.
_PLURAL = re.compile(r"s\b")
_PLURAL_OR_POSSESSIVE = r"(?:['’]?s\b['’]?)?"
# Between a measure's name and its figure, in one line of a passage.
_BETWEEN = r"\b[^\n]{0,60}?\d"


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure that a question names, and what it is computed from.

    `word` is its name where that is a single word ("EBITDA"), else "". `names` are all of its names.
    """

    word: str
    names: tuple[str, ...]
    line_items: str

    def is_stated(self, text: str) -> bool:
        """Say whether a text has a name of several words with a figure behind it."""
        found = _write_pattern(self.names)
        return found is not None and found.search(text) is not None


@lru_cache(maxsize=256)
def find_measures(question: str) -> tuple[Measure, ...]:
    """Find the measures that a question names. The longest name counts: "gross profit margin" is one.

    An ambiguous name, such as "total debt", counts only in a question that has a figure or names a period.
    """
    words, names = tokenize(question), _load_names()
    about_period = _PERIOD.search(question) is not None
    found: dict[str, Measure] = {}
    start = 0
    while start < len(words):
        for end in range(min(start + _count_longest(), len(words)), start, -1):
            row = names.get(_make_key(words[start:end]))
            if row is not None:
                word = words[start].text if end == start + 1 else ""
                if about_period or not row.ambiguous:
                    found.setdefault(row.line_items, Measure(word, row.names, row.line_items))
                start = end - 1
                break
        start += 1
    return tuple(found.values())


def have_words(counts: Mapping[int, int], words: Collection[int]) -> bool:
    """Say whether books have the words of line items, and often enough to be reports.

    `counts` has how many of their passages have each word.
    """
    least = max(1.0, counts.get(ANY_WORD, 0) / ONE_IN)
    return 2 * sum(counts.get(word, 0) >= least for word in words) >= len(words)


class _Row(NamedTuple):
    """What one name stands for."""

    names: tuple[str, ...]
    line_items: str
    ambiguous: bool


def _make_key(words: Sequence[Token]) -> str:
    """Write a name as its stems. One word in capitals stays: "ROE" is a measure, and a roe is a deer."""
    if len(words) == 1 and words[0].text.isupper():
        return words[0].text
    return " ".join(word.stem for word in words)


@cache
def _load_names() -> Mapping[str, _Row]:
    """Load all names and the line items of each measure by each of its names."""
    rows = json.loads(files("octavo.search").joinpath("measures.json").read_text(encoding="utf-8"))
    return MappingProxyType(
        {
            _make_key(tokenize(name)): _Row(
                tuple(row["names"]), row["line_items"], name in row.get("ambiguous", ())
            )
            for row in rows
            for name in row["names"]
        }
    )


@cache
def _count_longest() -> int:
    return max(name.count(" ") + 1 for name in _load_names())


@cache
def _write_pattern(names: tuple[str, ...]) -> re.Pattern[str] | None:
    long = [r"[\s-]+".join(map(_write_word, name.split())) for name in names if " " in name]
    return re.compile(rf"\b(?:{'|'.join(long)})s?{_BETWEEN}", re.IGNORECASE) if long else None


def _write_word(word: str) -> str:
    return _PLURAL.sub(lambda _: _PLURAL_OR_POSSESSIVE, re.escape(word))
