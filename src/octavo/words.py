"""Words as a question and a sentence share them: found with their place, brought to a stem, weighed.

`tokens` keeps every word's offsets, so whatever is matched can be shown. `stem` takes inflection off ("wrote"
→ "writ", "cities" → "city") and `alike` forgives what it leaves ("invade", "invaders"). `rarity` runs from 0
(the commonest words of English) to 1 (a word that is in no list): it stands in for the statistics of a
collection, which one question does not have.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from math import log
from types import MappingProxyType
from typing import NamedTuple

_WORD = re.compile(r"\d+(?:[.,]\d+)*(?:st|nd|rd|th|s)?\b|[^\W\d_]+(?:['’][^\W\d_]+)?|\w+")
BEGINNING = 4  # letters that two forms of a word share at least
_VOWEL = re.compile("[aeiouy]")
_UNDOUBLED = frozenset(["bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"])


class Token(NamedTuple):
    """A word where it stands. `capital` says that it begins with a capital letter."""

    text: str
    start: int
    end: int
    stem: str
    capital: bool

    @property
    def stop(self) -> bool:
        return self.text.lower() in lexicon("stop")

    @property
    def number(self) -> bool:
        return self.text[0].isdigit()


@lru_cache(maxsize=1_024)
def tokens(text: str) -> tuple[Token, ...]:
    return tuple(Token(m[0], m.start(), m.end(), stem(m[0]), m[0][0].isupper()) for m in _WORD.finditer(text))


def stems(text: str) -> set[str]:
    """The stems of its words, where nothing else of them is asked for."""
    return {stem(word) for word in _WORD.findall(text)}


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """The word without its inflection, in lower case. Not a word of its own: only equality counts."""
    low = word.lower().replace("’", "'")
    low = low.removesuffix("'s").removesuffix("'")
    if low[:1].isdigit():
        return low.replace(",", "").removesuffix("s")
    low = _irregular().get(low, low)
    if len(low) <= 3:
        return low
    if low.endswith(("ies", "ied")) and len(low) > 4:
        return low[:-3] + "y"
    for suffix in ("ing", "edly", "ed"):
        rest = low.removesuffix(suffix)
        if rest != low and len(rest) >= 3 and _VOWEL.search(rest):
            return _bare(rest)
    if low.endswith(("sses", "shes", "ches", "xes", "zes")):
        return low[:-2]
    if low.endswith("s") and not low.endswith(("ss", "us", "is")):
        low = low[:-1]
    return _bare(low)


def _bare(word: str) -> str:
    """Without the doubled consonant or the silent e that a suffix makes or takes."""
    if word[-2:] in _UNDOUBLED:
        return word[:-1]
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


@cache
def _irregular() -> Mapping[str, str]:
    rows = (row.split() for row in lexicon("irregular"))
    return MappingProxyType({form: base for base, *forms in rows for form in forms})


def alike(one: str, other: str) -> bool:
    """Whether two stems are likely forms of one word: a long common beginning and short, different ends."""
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < 4 or shorter[:4] != longer[:4]:
        return False
    common = 4
    while common < len(shorter) and shorter[common] == longer[common]:
        common += 1
    return (common >= 5 and len(shorter) - common <= 2 and len(longer) - common <= 4) or (
        common == len(shorter) and len(longer) - common <= 3
    )


@cache
def lexicon(name: str) -> frozenset[str]:
    """A list of English words or groups of words that rules are written with."""
    lists: dict[str, list[str]] = json.loads(_data("english.json"))
    return frozenset(lists[name])


def _data(name: str) -> str:
    return files("octavo").joinpath("data", name).read_text(encoding="utf-8")


@cache
def _ranks() -> Mapping[str, int]:
    lines = _data("common.txt").splitlines()
    listed = [line for line in lines if line and not line.startswith("#")]
    return MappingProxyType({word: rank for rank, word in enumerate(" ".join(listed).split())})


def rarity(stemmed: str) -> float:
    """0 for the commonest stem, 1 for one that is not listed; between them, the logarithm of its rank."""
    ranks = _ranks()
    rank = ranks.get(stemmed)
    return 1.0 if rank is None else log(1 + rank) / log(1 + len(ranks))
