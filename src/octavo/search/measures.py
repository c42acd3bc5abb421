"""Knows what measures of accounting are computed from, so that a question for one finds the figures.

Few reports have a page that says "quick ratio". They have a balance sheet, which has none of the question's
words and is not near it in meaning. The table in measures.json has the names of each measure, and the
statements and line items that it is computed from, in the usual wordings of reports. A question that names a
measure is searched by these too, and a passage that states the measure itself counts more. Every other
question stays as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from types import MappingProxyType

from octavo.text.english import Token, tokenize

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
    """Find the measures that a question names. The longest name counts: "gross profit margin" is one."""
    words, names = tokenize(question), _load_names()
    found: dict[str, Measure] = {}
    start = 0
    while start < len(words):
        for end in range(min(start + _count_longest(), len(words)), start, -1):
            row = names.get(_make_key(words[start:end]))
            if row is not None:
                word = words[start].text if end == start + 1 else ""
                found.setdefault(row[1], Measure(word, *row))
                start = end - 1
                break
        start += 1
    return tuple(found.values())


def _make_key(words: Sequence[Token]) -> str:
    """Write a name as its stems. One word in capitals stays: "ROE" is a measure, and a roe is a deer."""
    if len(words) == 1 and words[0].text.isupper():
        return words[0].text
    return " ".join(word.stem for word in words)


@cache
def _load_names() -> Mapping[str, tuple[tuple[str, ...], str]]:
    """Load all names and the line items of each measure by each of its names."""
    rows = json.loads(files("octavo.search").joinpath("measures.json").read_text(encoding="utf-8"))
    return MappingProxyType(
        {
            _make_key(tokenize(name)): (tuple(row["names"]), row["line_items"])
            for row in rows
            for name in row["names"]
        }
    )


@cache
def _count_longest() -> int:
    return max(name.count(" ") + 1 for name in _load_names())


@cache
def _write_pattern(names: tuple[str, ...]) -> re.Pattern[str] | None:
    long = [r"[\s-]+".join(map(re.escape, name.split())) for name in names if " " in name]
    return re.compile(rf"\b(?:{'|'.join(long)})s?{_BETWEEN}", re.IGNORECASE) if long else None
