"""English words: one tokenizer, stems, weights by rarity, and the lists that rules are written with.

`tokenize` keeps every word's offsets, so whatever is matched can be shown. `stem` takes inflection off
("wrote" → "writ", "cities" → "city"), and `are_alike` forgives what it leaves ("invade", "invaders").
`measure_rarity` runs from 0 (the commonest words of English) to 1 (a word that is in no list): it stands in
for the statistics of a collection, which one question does not have. The lists are in english.json.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from math import log
from types import MappingProxyType
from typing import Any, NamedTuple

BEGINNING = 4
"""How many letters two forms of a word share at least."""
NUMBER_ENDINGS = frozenset(["", "st", "nd", "rd", "th", "s"])
"""What may be written onto a number without changing it: "21st", "1960s"."""
LONGEST_KEPT = 64
_PIECE = re.compile(r"(\d+(?:[.,]\d+)*)(\w*)|([^\W\d_]+(?:['’][^\W\d_]+)?)|(_\w*)|([%,;:—–()])")
_AROUND_WORDS = ".,;:!?()[]*\"'“”‘’—–"
_SPACE = re.compile(r"\s")
_RUN = re.compile(r"\d+|[^\W\d_]+")
_NOT = re.compile(r"n't\b")
_ENDINGS = ("s", "es", "d", "ed", "ing", "er", "ers", "ly", "ness", "less")
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
        return self.text.lower() in list_words("stop", "stop_in_questions")

    @property
    def number(self) -> bool:
        return self.text[0].isdigit()


def find_pieces(text: str) -> list[tuple[str, str, str, str, str]]:
    """Return the pieces of a text in order, each as (number, tail, word, code, mark), the others empty.

    The tail is what is written onto a number: "kg" of "2.5kg", "st" of "21st". Code is what begins with an
    underscore: "_line" of "read_line". This is the only tokenizer: `tokenize`, `verification.words` and
    `verification.lexemes` each make of the pieces what they compare.
    """
    return _PIECE.findall(text)


@lru_cache(maxsize=1_024)
def tokenize(text: str) -> tuple[Token, ...]:
    """Return the words and numbers of a text in order; "the king's" and "1,200" stay whole."""
    return tuple(
        Token(word, start, start + len(word), stem(word), word[0].isupper())
        for word, start in _find_words(text)
    )


def collect_stems(text: str) -> set[str]:
    """Return the stems of a text's words, where nothing else about them is wanted."""
    # No word has a space in it, and a text repeats many of its words: each is looked at once.
    runs = set(text.split())
    long = set[str]()
    if len(max(runs, key=len, default="")) > LONGEST_KEPT:
        # What has no space for so long is no word, and would fill the memory.
        long = {run for run in runs if len(run) > LONGEST_KEPT}
    stems = set[str]().union(*map(_collect_stems_between_spaces, runs - long))
    stems.update(stem(word) for run in long for word, _ in _find_words(run))
    return stems


@lru_cache(maxsize=50_000)
def _collect_stems_between_spaces(run: str) -> frozenset[str]:
    # Most runs are one word with marks around it, and need no tokenizer.
    word = run.strip(_AROUND_WORDS)
    if word.isascii() and word.isalpha():
        return frozenset((stem(word),))
    return frozenset(stem(word) for word, _ in _find_words(run))


def find_stems(text: str, wanted: Collection[str]) -> set[str]:
    """Return those of the wanted stems that a text has.

    It looks only at words that may have them, so for a few stems it is several times as fast as
    `collect_stems`.
    """
    low = text.lower().replace("’", "'")
    # Other letters may be lowered to two, or to another one at the end of a word.
    plain = {one for one in wanted if one and one.isascii()} if len(low) == len(text) else set[str]()
    found = {one for one in plain if _has_stem(text, low, one)}
    rest = set(wanted) - plain
    return found | (collect_stems(text) & rest) if rest else found


def _has_stem(text: str, low: str, wanted: str) -> bool:
    for beginning in _list_beginnings(wanted):
        at = low.find(beginning)
        while at >= 0:
            start, space = at, _SPACE.search(text, at)
            while start and not text[start - 1].isspace():
                start -= 1
            end = space.start() if space else len(text)
            if wanted in collect_stems(text[start:end]):
                return True
            at = low.find(beginning, end)
    return False


@lru_cache(maxsize=4_096)
def _list_beginnings(wanted: str) -> tuple[str, ...]:
    """List strings, one of which is in every word of this stem: `stem` changes nothing but the end."""
    if wanted[0].isdigit():
        # It may be written with commas.
        return (wanted[0],)
    return (wanted.removesuffix("y") or wanted, *_load_irregular_stems().get(wanted, ()))


def _find_words(text: str) -> Iterator[tuple[str, int]]:
    for piece in _PIECE.finditer(text):
        number, tail, _, _, mark = piece.groups("")
        if tail in NUMBER_ENDINGS:
            if not mark:
                yield piece[0], piece.start()
        else:
            head, last = split_number(number)
            if head:
                yield head, piece.start()
            yield last + tail, piece.end() - len(last + tail)


def split_units(tail: str) -> list[str]:
    """Split what is written onto a number into runs of letters and of digits."""
    return _RUN.findall(tail)


def split_number(digits: str) -> tuple[str, str]:
    """Split a number before its last group of digits: "1,234.5" into "1,234" and "5".

    A unit written onto a number ("2.5kg") belongs to the last group only.
    """
    at = max(digits.rfind("."), digits.rfind(","))
    return digits[: max(at, 0)], digits[at + 1 :]


def write_out(text: str) -> str:
    """Write "can't" as "can not", "didn't" as "did not", apostrophes straight and underscores as spaces."""
    text = text.replace("’", "'").replace("_", " ")
    if "n't" not in text:
        return text
    return _NOT.sub(" not", text.replace("can't", "can not").replace("won't", "will not"))


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Return the word without its inflection, in lower case. Not a word of its own: only equality counts."""
    low = word.lower().replace("’", "'")
    low = low.removesuffix("'s").removesuffix("'")
    if low[:1].isdigit():
        return low.replace(",", "").removesuffix("s")
    low = _load_irregular_forms().get(low, low)
    if len(low) <= 3:
        return low
    if low.endswith(("ies", "ied")) and len(low) > 4:
        return low[:-3] + "y"
    for suffix in ("ing", "edly", "ed"):
        rest = low.removesuffix(suffix)
        if rest != low and len(rest) >= 3 and _VOWEL.search(rest):
            return _strip_ending(rest)
    if low.endswith(("sses", "shes", "ches", "xes", "zes")):
        return low[:-2]
    if low.endswith("s") and not low.endswith(("ss", "us", "is")):
        low = low[:-1]
    return _strip_ending(low)


def _strip_ending(word: str) -> str:
    """Take off the doubled consonant or the silent e that a suffix makes or takes."""
    if word[-2:] in _UNDOUBLED:
        return word[:-1]
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


@cache
def _load_irregular_forms() -> Mapping[str, str]:
    rows = (row.split() for row in list_words("irregular"))
    return MappingProxyType({form: base for base, *forms in rows for form in forms})


@cache
def _load_irregular_stems() -> Mapping[str, tuple[str, ...]]:
    """Load the irregular forms by their stems."""
    found: dict[str, tuple[str, ...]] = {}
    for form in _load_irregular_forms():
        found[stem(form)] = (*found.get(stem(form), ()), form)
    return MappingProxyType(found)


def are_alike(one: str, other: str) -> bool:
    """Say whether two stems are likely forms of one word: a long common beginning and short, other ends."""
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < BEGINNING or shorter[:BEGINNING] != longer[:BEGINNING]:
        return False
    common = BEGINNING
    while common < len(shorter) and shorter[common] == longer[common]:
        common += 1
    return (common >= 5 and len(shorter) - common <= 2 and len(longer) - common <= 4) or (
        common == len(shorter) and len(longer) - common <= 3
    )


@cache
def list_words(*names: str) -> frozenset[str]:
    """Return the words, or groups of words, of the named lists together."""
    return frozenset(word for name in names for word in _load_lists()[name])


_HUNDRED = 100


@cache
def list_numbers(name: str) -> Mapping[str, Any]:
    """Return what words say as numbers: "numbers" ("seven" is "7"), "ordinals" ("third" is "3") or "scales"
    ("million" is 1000000)."""
    return MappingProxyType(_load_lists()[name])


def find_number_words(text: str) -> set[str]:
    """Find the numbers that are written in words: "nine hundred and ninety-nine" is 999."""
    numbers, scales = list_numbers("numbers"), list_numbers("scales")
    found, total, part, reading = set[str](), 0, 0, False
    for word in (*re.findall(r"[a-z]+", text.lower()), ""):
        if word in numbers:
            part, reading = part + int(numbers[word]), True
        elif word in scales:
            part, reading = (part or 1) * scales[word], True
            if scales[word] > _HUNDRED:
                total, part = total + part, 0
        elif reading and word != "and":
            found.add(str(total + part))
            total, part, reading = 0, 0, False
    return found


@cache
def _load_lists() -> Mapping[str, Any]:
    lists: dict[str, Any] = json.loads(_read_data("english.json"))
    return lists


def _read_data(name: str) -> str:
    return files("octavo.text").joinpath(name).read_text(encoding="utf-8")


@cache
def _load_ranks() -> Mapping[str, int]:
    lines = _read_data("common.txt").splitlines()
    listed = [line for line in lines if line and not line.startswith("#")]
    return MappingProxyType({word: rank for rank, word in enumerate(" ".join(listed).split())})


@cache
def _load_known() -> frozenset[str]:
    _, _, listed = _read_data("known.txt").partition("\n")
    return frozenset(listed.split())


def is_ordinary(word: str) -> bool:
    """Say whether a word in small letters is one of English prose, and no name."""
    return not _load_known().isdisjoint((word, word.removesuffix("s")))


def is_known(word: str) -> bool:
    """Say whether a word, or another form of it, is one of English prose or a name that is common there."""
    low = word.lower()
    forms = {low, *(low.removesuffix(ending) for ending in _ENDINGS)}
    forms |= {f"{form}e" for form in forms} | {form.capitalize() for form in forms}
    forms |= {f"{low.removesuffix('e')}{ending}" for ending in ("ed", "ing")}
    return stem(low) in _load_ranks() or not _load_known().isdisjoint(forms)


def measure_rarity(stemmed: str) -> float:
    """Return 0 for the commonest stem, 1 for an unlisted one, and between them the logarithm of the rank."""
    ranks = _load_ranks()
    rank = ranks.get(stemmed)
    return 1.0 if rank is None else log(1 + rank) / log(1 + len(ranks))
