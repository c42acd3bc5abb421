"""The words of a text as they are compared when a claim is checked: by stem, by number, clause by clause.

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
from functools import lru_cache
from importlib.resources import files
from typing import Any

from octavo.words import rarity, stem

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
    return dict(json.loads(files("octavo").joinpath("data", "verification.json").read_bytes()))


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


def stems(raws: Sequence[str]) -> list[str]:
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
    for raw, key, clause in zip(raws, stems(raws), clauses, strict=True):
        digits = key[0].isdigit()
        number = digits and raw.lower() != "one"
        content = number or not (digits or key in stop)
        name = content and not number and raw[0].isupper() and (bool(found) or rarity(stem(raw)) == 1.0)
        found.append(Word(raw, key, content, number, name, clause))
    return found
