"""The words of a claim and of a passage as `check` compares them: by stem, by number, clause by clause.

"Twenty-one", "21" and "21st" are the same number, "can't" says "can not", accents and endings do not count,
and scripts without spaces are cut into pairs of signs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from octavo.text.english import (
    NUMBER_ENDINGS,
    find_pieces,
    list_numbers,
    list_words,
    measure_rarity,
    split_number,
    split_units,
    stem,
    write_out,
)
from octavo.text.languages import write_digits

# Scripts that put no spaces between words; then marks that belong to letters, and are none.
_JOINED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
)
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff"
_OTHER_SCRIPT = re.compile(f"[{_JOINED}{_MARKS}]")
_WORD_OF_ANY_SCRIPT = re.compile(
    r"\d+(?:[.,]\d+)*(?:st|nd|rd|th|s)?\b|\d+|%"
    rf"|[{_JOINED}]+|(?:(?![{_JOINED}])(?:[^\W\d_]|[{_MARKS}]))+"
)
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


def read_words(text: str) -> list[Word]:
    """Return every word of a text in order, with the clause that it stands in."""
    stop, raws, clauses = list_stems("stop", "stop_in_claims"), list[str](), list[int]()
    for place, piece in enumerate(_CLAUSE.split(text)):
        inside = split_words(piece)
        raws += inside
        clauses += [(place + 1) // 2] * len(inside)
    found: list[Word] = []
    for raw, key, clause in zip(raws, stem_words(raws), clauses, strict=True):
        digits = key[0].isdigit()
        number = digits and raw.lower() != "one"
        content = number or not (digits or key in stop)
        capital = content and not number and raw[0].isupper()
        name = capital and (bool(found) or measure_rarity(stem(raw)) == 1.0)
        found.append(Word(raw, key, content, number, name, clause))
    return found


def split_words(text: str) -> list[str]:
    """Return the words of a text as written; contractions opened, scripts without spaces cut into pairs."""
    text = write_out(text)
    if not text.isascii() and _OTHER_SCRIPT.search(text):
        return _split_scripts(text)
    found = list[str]()
    for number, tail, word, _, mark in find_pieces(text):
        if word and "'" not in word:
            found.append(word)
        elif word:
            found += word.split("'")
        elif number:
            found += _split_number(number, tail)
        elif mark == "%":
            found.append(mark)
    return found


def _split_number(number: str, tail: str) -> list[str]:
    """Split a number from the unit that is written onto it: "5kg" is "5" and "kg", "21st" stays whole."""
    if tail in NUMBER_ENDINGS:
        return [number + tail]
    head, last = split_number(number)
    return [head, last, *split_units(tail)] if head else [last, *split_units(tail)]


def _split_scripts(text: str) -> list[str]:
    found = list[str]()
    for raw in _WORD_OF_ANY_SCRIPT.findall(text):
        joined = len(raw) > 1 and raw[0] >= "\u0e00" and _OTHER_SCRIPT.match(raw)
        found += [raw[i : i + 2] for i in range(len(raw) - 1)] if joined else [raw]
    return found


def stem_words(raws: Sequence[str]) -> list[str]:
    """Return a stem for each word; "twenty-one" and "5 million" count as the number they say."""
    keys, scales = list(map(normalise, raws)), list_numbers("scales")
    for i in [i for i, s in enumerate(keys[:-1]) if s[0].isdigit()]:
        here, after, word = keys[i], keys[i + 1], raws[i + 1].lower()
        if word in scales and here.replace(".", "", 1).isdecimal():
            keys[i] = keys[i + 1] = f"{float(here) * scales[word]:.0f}"
        elif raws[i].isalpha() and word.isalpha() and here[1:] == "0" and len(after) == 1 and after.isdigit():
            keys[i] = keys[i + 1] = here[0] + after
    return keys


@lru_cache(maxsize=32_768)
def normalise(raw: str) -> str:
    """Return what a word is compared by: digits for numbers, a stem without accents for the rest."""
    if raw[0].isdigit():
        digits = write_digits(raw).rstrip("stndrh").replace(",", "")
        return digits.rstrip("0").rstrip(".") if "." in digits else digits.lstrip("0") or "0"
    if raw == "%":
        return "percent"
    word = raw.lower()
    if not word.isascii():
        word = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c)) or word
    return list_numbers("numbers").get(word) or _stem_apart(word)


def _stem_apart(word: str) -> str:
    """Keep a word that only looks like a form of a little one apart from it: "noted" from "not"."""
    made = stem(word)
    return f"{made}e" if made in _list_little_stems() and word not in list_little_words() else made


@cache
def list_stems(*names: str) -> frozenset[str]:
    """Return the stems of the words in the named lists."""
    return frozenset(map(stem, list_words(*names)))


@cache
def list_little_words() -> frozenset[str]:
    """Return the little words of the language, as they are written."""
    words = list_words("stop", "stop_in_claims", "negations", "speaker")
    return frozenset(word for word in words if stem(word) not in list_stems("lead_in"))


@cache
def _list_little_stems() -> frozenset[str]:
    return frozenset(map(stem, list_little_words()))


@cache
def list_opposites() -> frozenset[tuple[str, str]]:
    """Return the pairs of opposites, each both ways, by what they are compared by."""
    pairs = (pair.split() for pair in list_words("opposites", "opposites_in_claims"))
    stems = [(normalise(one), normalise(other)) for one, other in pairs]
    return frozenset(two for one, other in stems for two in ((one, other), (other, one)))
