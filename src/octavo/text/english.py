"""Words as a question and a sentence share them: found with their place, brought to a stem, weighed.

`tokens` keeps every word's offsets, so whatever is matched can be shown. `stem` takes inflection off ("wrote"
→ "writ", "cities" → "city") and `alike` forgives what it leaves ("invade", "invaders"). `rarity` runs from 0
(the commonest words of English) to 1 (a word that is in no list): it stands in for the statistics of a
collection, which one question does not have.

The words of a text as they are compared when a claim is checked: by stem, by number, clause by clause.

"Twenty-one", "21" and "21st" are the same number, "can't" says "can not", accents and endings do not count,
and scripts without spaces are cut into pairs of signs. The lists of small words, negations, opposites and
numbers are in data/verification.json.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from math import log
from types import MappingProxyType
from typing import Any, NamedTuple

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
    return files("octavo.text").joinpath(name).read_text(encoding="utf-8")


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


# Scripts that put no spaces between words; then marks that belong to letters, and are none.
_JOINED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
)
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff"
_NUMBER = r"\d+(?:[.,]\d+)*(?:st|nd|rd|th|s)?\b|\d+|%"
_TOKEN = re.compile(rf"{_NUMBER}|[^\W\d_]+")
_TOKEN_OF_ANY_SCRIPT = re.compile(rf"{_NUMBER}|[{_JOINED}]+|(?:(?![{_JOINED}])(?:[^\W\d_]|[{_MARKS}]))+")
_OTHER_SCRIPT = re.compile(f"[{_JOINED}{_MARKS}]")
_CLAUSE = re.compile(r"([;:—–()]|[.!?](?=\s)|,(?!\d)|\b(?:and|but|while|which|who|because|when)\b(?!['’]))")


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a text: how it was written, what it is compared by, and what kind it is."""

    raw: str
    stem: str
    content: bool
    number: bool
    name: bool
    clause: int


@lru_cache(maxsize=1)
def data() -> Mapping[str, Any]:
    """What was fitted and listed for checking claims."""
    return dict(json.loads(files("octavo.verification").joinpath("verification.json").read_bytes()))


@lru_cache(maxsize=16)
def written(name: str) -> frozenset[str]:
    """The words of a list as they are written."""
    return frozenset(data()[name].split())


@lru_cache(maxsize=16)
def listed(name: str) -> frozenset[str]:
    """The stems of the words of a list."""
    return frozenset(map(stem, written(name)))


@lru_cache(maxsize=1)
def little() -> frozenset[str]:
    """The little words of the language, as they are written."""
    words = written("stop") | written("negations") | written("person")
    return frozenset(word for word in words if stem(word) not in listed("about"))


@lru_cache(maxsize=1)
def _little_stems() -> frozenset[str]:
    return frozenset(map(stem, little()))


@lru_cache(maxsize=1)
def opposites() -> frozenset[tuple[str, str]]:
    pairs = [tuple(map(normal, pair.split())) for pair in data()["antonyms"].split(",")]
    return frozenset(two for one, other in pairs for two in ((one, other), (other, one)))


@lru_cache(maxsize=32_768)
def normal(raw: str) -> str:
    """What a word is compared by: digits for numbers, a stem without accents for the rest."""
    if raw[0].isdigit():
        digits = raw.rstrip("stndrh").replace(",", "")
        return digits.rstrip("0").rstrip(".") if "." in digits else digits.lstrip("0") or "0"
    word = raw.lower()
    if not word.isascii():
        word = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c)) or word
    return str(data()["numbers"].get(word) or _stem(word))


def _stem(word: str) -> str:
    """A word that only looks like a form of a little one keeps apart from it: "noted" from "not"."""
    made = stem(word)
    return f"{made}e" if made in _little_stems() and word not in little() else made


def split(text: str) -> list[str]:
    """The words of a text as written; contractions opened, scripts without spaces cut into pairs."""
    text = text.replace("’", "'")
    if "n't" in text:
        text = text.replace("can't", "can not").replace("won't", "will not").replace("n't", " not")
    if text.isascii() or not _OTHER_SCRIPT.search(text):
        return _TOKEN.findall(text)
    found = list[str]()
    for raw in _TOKEN_OF_ANY_SCRIPT.findall(text):
        joined = len(raw) > 1 and raw[0] >= "\u0e00" and _OTHER_SCRIPT.match(raw)
        found += [raw[i : i + 2] for i in range(len(raw) - 1)] if joined else [raw]
    return found


def number_stems(raws: Sequence[str]) -> list[str]:
    """Stems, one for each word; "twenty-one" and "5 million" count as the number they say."""
    keys, scales = list(map(normal, raws)), data()["scales"]
    for i in [i for i, s in enumerate(keys[:-1]) if s[0].isdigit()]:
        here, after, word = keys[i], keys[i + 1], raws[i + 1].lower()
        if word in scales and here.replace(".", "", 1).isdecimal():
            keys[i] = keys[i + 1] = f"{float(here) * scales[word]:.0f}"
        elif raws[i].isalpha() and word.isalpha() and here[1:] == "0" and len(after) == 1 and after.isdigit():
            keys[i] = keys[i + 1] = here[0] + after
    return keys


def words_of(text: str) -> list[Word]:
    """Every word of a text in order, with the clause that it stands in."""
    stop, raws, clauses = listed("stop"), [], []
    for place, piece in enumerate(_CLAUSE.split(text)):
        inside = split(piece)
        raws += inside
        clauses += [(place + 1) // 2] * len(inside)
    found: list[Word] = []
    for raw, key, clause in zip(raws, number_stems(raws), clauses, strict=True):
        digits = key[0].isdigit()
        number = digits and raw.lower() != "one"
        content = number or not (digits or key in stop)
        name = content and not number and raw[0].isupper() and (bool(found) or rarity(stem(raw)) == 1.0)
        found.append(Word(raw, key, content, number, name, clause))
    return found
