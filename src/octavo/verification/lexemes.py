"""The words and marks of a sentence as the rules for paraphrases see them, and what small words tell.

A lexeme is compared by its `key`, so "wrote" and "writes" are the same, and so are "seven" and "7". Small
words say what the others are: who acts, who suffers, where and when.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

from octavo.text.english import (
    are_alike,
    find_pieces,
    list_numbers,
    list_words,
    split_units,
    stem,
    write_out,
)
from octavo.text.languages import is_unspaced, write_digits

ARTICLES = list_words("articles")
PRONOUNS = list_words("pronouns")
BEING = list_words("being")
PREPOSITIONS = list_words("prepositions")
CONTRASTS = list_words("contrasts")
LINKS = list_words("contrasts", "reasons")
TIMES = list_words("times_of_rate")
CONDITIONS = list_words("conditions")
FREE = list_words("articles", "free")
"""Words that a paraphrase may add or leave out."""
DECISIVE: Mapping[str, str] = {
    **dict.fromkeys(list_words("says_not"), "not"),
    **dict.fromkeys(list_words("says_all"), "all"),
    **dict.fromkeys(list_words("says_only"), "only"),
    **dict.fromkeys(list_words("says_if"), "if"),
    **dict.fromkeys(list_words("says_may"), "may"),
    **{word: word for word in list_words("says_itself")},
}
"""Words that change what a sentence says, by what they say: "never" says "not"."""
SMALL = FREE | PRONOUNS | PREPOSITIONS | LINKS | DECISIVE.keys()
_AUXILIARIES = BEING | list_words("auxiliaries") | {"shall", "cannot"}
_SUBJECTS = PRONOUNS | list_words("subjects_in_one_word")
_NO_ONE = re.compile(r"\b[Nn]o one\b")
_FILLERS = re.compile(r"\b(?:[Aa]long|[Tt]ogether)(?= with\b)|(?<= )in (?:all|total)(?=[.;,]|$)")


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A word or a mark: as written, in small letters, and what it is compared by."""

    raw: str
    low: str
    key: str

    @property
    def mark(self) -> bool:
        return not self.raw[0].isalnum()

    @property
    def number(self) -> bool:
        return self.key[0].isdigit()

    @property
    def content(self) -> bool:
        return not self.mark and self.low not in SMALL


@lru_cache(maxsize=512)
def read_lexemes(text: str) -> tuple[Lexeme, ...]:
    """Return the words and marks of a text in order, without fillers such as "along" in "along with"."""
    text = _NO_ONE.sub("nobody", text.replace("’", "'"))
    text = write_out(_FILLERS.sub("", text))
    raws = list[str]()
    for number, tail, word, _, mark in find_pieces(text):
        if number:
            raws += [number, *split_units(tail)]
        elif word or mark != "%":
            raws.append(word or mark)
    return tuple(map(_read_lexeme, raws))


def _read_lexeme(raw: str) -> Lexeme:
    low = write_digits(raw).replace(",", "") if raw[0].isdigit() else raw.casefold().removesuffix("'s")
    # "One" is seldom a number in a sentence: "the one who", "one of them".
    number = list_numbers("numbers").get(low) if low != "one" else None
    return Lexeme(raw, low, number or stem(low) or low)


def is_among(word: Lexeme, others: Iterable[Lexeme]) -> bool:
    """Say whether a word is there, in one form or another.

    In a script without spaces a "word" is a whole clause, and its end is where it is denied: it has no forms.
    """
    whole = word.number or is_unspaced(word.key)
    return any(word.key == w.key or (not whole and are_alike(word.key, w.key)) for w in others)


def find_decisive(text: Iterable[Lexeme]) -> list[str]:
    """Return what the decisive words of a text say."""
    return [DECISIVE[word.low] for word in text if word.low in DECISIVE]


def has_verb(text: Sequence[Lexeme]) -> bool:
    """Say whether words tell something of somebody and are no bare name: there is a verb, by its form."""
    if any(word.low in _AUXILIARIES for word in text):
        return True
    for at, (before, word) in enumerate(pairwise(text)):
        if word.content and (before.content or before.low in _SUBJECTS):
            after = text[at + 2 : at + 3]
            governs = any(w.low in ARTICLES | PRONOUNS | DECISIVE.keys() or w.number for w in after)
            past = word.low.endswith("ed") or word.low in _list_irregular_verb_forms()
            if past or (word.low.endswith("s") and governs):
                return True
    return False


@cache
def _list_irregular_verb_forms() -> frozenset[str]:
    rows = (row.split() for row in list_words("irregular"))
    nouns = list_words("irregular_but_no_verbs")
    return frozenset(form for base, *forms in rows if base not in nouns for form in forms)


def is_circumstance(text: Sequence[Lexeme], at: int) -> bool:
    """Say whether a word stands after "in", "of" and the like: a circumstance, not the one who acts."""
    for back in range(at - 1, max(-1, at - 4), -1):
        low = text[back].low
        if low in PREPOSITIONS:
            return True
        if low in ARTICLES | PRONOUNS:
            return back > 0 and text[back - 1].low in PREPOSITIONS
        if low in SMALL or text[back].mark:
            return False
    return False


def is_repeated_time(text: Sequence[Lexeme], at: int) -> bool:
    """Say whether this is the time of "every evening"."""
    return at > 0 and text[at].low in TIMES and DECISIVE.get(text[at - 1].low) == "all"


def is_passive(text: Sequence[Lexeme], at: int) -> bool:
    """Say whether a word stands after a form of "to be": "was built", "is not kept"."""
    # "It was Marlow who …" has no passive.
    if text[at].raw[0].isupper():
        return False
    while at and (text[at - 1].low in DECISIVE or text[at - 1].low == "also"):
        at -= 1
    return at > 0 and text[at - 1].low in BEING


def is_agent(text: Sequence[Lexeme], at: int) -> bool:
    """Say whether a word stands after "by", with nothing but an article and other such words between."""
    for back in range(at - 1, max(-1, at - 4), -1):
        if text[back].low == "by":
            return True
        if text[back].mark or text[back].low in SMALL - ARTICLES:
            return False
    return False
