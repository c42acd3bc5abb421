"""Corrects the words of a question that are misspelt, by the words that the books have.

A word that no passage has may be misspelt by one letter: left out, too many, or exchanged with the next. Each
word that it may stand for is made from it and looked up in the counts of the books' words, so that no
vocabulary is stored. The word is corrected if just one of them is in the books, or one far more often than
the others. A letter is never replaced by another: "Barlow" is not "Marlow". A misspelt name cannot be told
from another name ("Marina" from "Marian"), so what is corrected says whether it may be one.

A word that English prose has (text/known.txt) is right, even if the books do not have it. Other languages
have no such list, so only English questions are corrected. Short words, code, abbreviations and words with
digits are left as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import ascii_lowercase
from typing import TYPE_CHECKING, NamedTuple

from octavo.text.english import is_ordinary
from octavo.text.language import detect_language

if TYPE_CHECKING:
    from octavo.store.bm25 import Bm25Encoder

SHORTEST = 5
"""How many letters a misspelt word and its correction have at least."""
LONGEST = 30
# So many times as many passages have a word as have the next one that may be meant.
LEAD = 10
_TICKS = re.compile("`+")
_RUN = re.compile(r"\S+")
_AROUND = "\"'“”‘’«».,;:!?…()[]*—–-"
_PLAIN = re.compile(r"[^\W\d_]+(?:['’—–-]+[^\W\d_]+)*")
_WORD = re.compile(r"[^\W\d_]+")
_SENTENCE_START = re.compile(r"(?:^|[.!?])[\s\"'“‘(]*$")

Counts = Mapping[int, int]


class Word(NamedTuple):
    """A word of a question where it stands. `name` says that it has a capital which no sentence gave it."""

    text: str
    start: int
    name: bool


class Corrected(NamedTuple):
    """A question as the books are asked. `renamed` says that a word was changed which may be a name."""

    question: str
    renamed: bool = False


def find_words(question: str) -> list[Word]:
    """Find the words of an English question that may be misspelt; none in another language."""
    if detect_language(question) not in ("", "en"):
        return []
    prose = _blank_code(question)
    found = []
    for run in _RUN.finditer(prose):
        plain = run[0].strip(_AROUND)
        if not _PLAIN.fullmatch(plain):
            continue
        begin = run.start() + run[0].index(plain)
        for part in _WORD.finditer(plain):
            word, start = part[0], begin + part.start()
            if SHORTEST <= len(word) <= LONGEST and (word.islower() or word.istitle()):
                capital = word.istitle() and not _SENTENCE_START.search(question[:start])
                found.append(Word(word, start, capital))
    return found


def _blank_code(question: str) -> str:
    """Put blanks in the place of code: what stands between two runs of as many backticks."""
    runs = [run.span() for run in _TICKS.finditer(question)]
    later: dict[int, int] = {}
    closed: dict[int, int] = {}
    for start, end in reversed(runs):
        closed[start] = later.get(end - start, 0)
        later[end - start] = end
    parts, done = [], 0
    for start, _ in runs:
        if start >= done and closed[start]:
            parts += [question[done:start], " " * (closed[start] - start)]
            done = closed[start]
    return "".join([*parts, question[done:]])


def list_corrections(word: str) -> list[str]:
    """List what a word in small letters may stand for: likelier mistakes first, the first letter kept."""
    inner = range(1, len(word))
    exchanged = [word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in inner[:-1]]
    longer = [word[:at] + letter + word[at:] for at in (*inner, len(word)) for letter in ascii_lowercase]
    # Many names and words differ by their last letter: "Angela" is not "angel".
    shorter = [word[:at] + word[at + 1 :] for at in inner[:-1]]
    found = [*exchanged, *longer, *(shorter if len(word) > SHORTEST else ())]
    return [other for other in dict.fromkeys(found) if other != word]


def choose_correction(word: Word, counts: Counts, encoder: Bm25Encoder) -> str:
    """Return the word that a misspelt one stands for, or "" where none stands out."""
    low = word.text.lower()
    found: dict[int, list[str]] = {}
    for other in list_corrections(low):
        for index in encoder.index_word(other):
            if counts.get(index) and _may_be_meant(low, other, encoder):
                found.setdefault(index, []).append(other)
    first, *others = sorted(found, key=lambda index: -counts[index]) if found else [-1]
    if not found or any(counts[first] < LEAD * counts[other] for other in others):
        return ""
    # Of those with one stem, the one that is a word.
    best = next(filter(is_ordinary, found[first]), found[first][0])
    if (word.name and is_ordinary(best)) or _is_other_name(word, best):
        return ""
    return best.capitalize() if word.text.istitle() else best


def _may_be_meant(typed: str, other: str, encoder: Bm25Encoder) -> bool:
    """Say whether somebody may have meant a word, which the books seem to have.

    They have its stem, and "augustal" has the stem of "August". So a word that is in no list differs within
    its stem from what was typed, and is not made from an ordinary word.
    """
    if is_ordinary(other):
        return True
    stem = encoder.find_stem(other)
    same = next(at for at in range(len(other) + 1) if typed[: at + 1] != other[: at + 1])
    return same < len(stem) and (other[len(stem) :] in ("", "s") or not is_ordinary(stem))


def _is_other_name(word: Word, other: str) -> bool:
    """Say whether a name was typed, and the other has a letter more or less at its end: "Dominica"."""
    low = word.text.lower()
    return _may_be_name(word, other) and (other[:-1] == low or low[:-1] == other)


def _may_be_name(word: Word, other: str) -> bool:
    return word.text.istitle() or not is_ordinary(other)


def write_corrected(question: str, corrected: Mapping[Word, str]) -> Corrected:
    """Return the question with the corrected words in their places."""
    renamed = any(_may_be_name(word, other) for word, other in corrected.items())
    for word in sorted(corrected, key=lambda word: -word.start):
        end = word.start + len(word.text)
        question = question[: word.start] + corrected[word] + question[end:]
    return Corrected(question, renamed)
