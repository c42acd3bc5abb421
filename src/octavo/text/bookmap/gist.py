"""Choose the sentences that say most of a section: its gist, in order, and covering its parts.

A section is divided into a few parts of equal length, and the best sentence of each part is chosen: one with
the words that the section uses often and English does not, that stands on its own (no dialogue, no question,
no pronoun at its beginning), and is neither very short nor very long.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from math import sqrt
from typing import TYPE_CHECKING

from octavo.text.bookmap.blocks import Blocks
from octavo.text.english import list_words, measure_rarity, stem

if TYPE_CHECKING:
    from octavo.text.bookmap.marks import Stretch
    from octavo.types import Span

GIST_MOST = 5
SENTENCES_PER_PART = 6
LEAD, OPENING, FRAGMENT = 1.7, 1.15, 0.5
_SHORTEST, _LONGEST = 30, 360
_WORDS = re.compile(r"[^\W\d_]{3,}")
_FIRST = re.compile(r"[^\W\d_]+")
_ANNOUNCES = re.compile(
    r"\b(?:this|the (?:next|following|present)) "
    r"(?:chapter|section|appendix|part|book|guide|page|lesson|module|tutorial|document|manual)\b"
)
_ENDED = re.compile(r"[.!…][”\"’)\]]*(?:\s?\[\d{1,3}\])?$")


def choose_gist(
    text: str, sentences: Sequence[Stretch], blocks: Sequence[Span], *, parts: int | None = None
) -> tuple[int, ...]:
    """Return the numbers of the chosen sentences: one for each of `parts` parts, or as many as usual."""
    inside = Blocks(blocks)
    prose = [number for number, sentence in enumerate(sentences) if not inside.hold(sentence.start)]
    words = {n: [_weigh(w) for w in _WORDS.findall(text, *sentences[n])] for n in prose}
    counts = Counter(root for found in words.values() for root, _ in found)
    scores = {n: _score(text[slice(*sentences[n])], words[n], counts) for n in prose}
    chosen = []
    for part in _divide(prose, sentences, parts or _count_parts(prose)):
        # The first of a part often says what the part is about, and the first of all does so most often.
        weighed = {n: scores[n] * _weigh_place(n, part, prose, text[sentences[n].start]) for n in part}
        best = max(part, key=weighed.__getitem__)
        if weighed[best] > 0:
            chosen.append(best)
    return tuple(chosen)


def _weigh_place(number: int, part: Sequence[int], prose: Sequence[int], first: str) -> float:
    """Weigh where a sentence stands. One that begins small, but does not open the section, is a fragment."""
    if number == prose[0]:
        return LEAD
    return (OPENING if number == part[0] else 1.0) * (FRAGMENT if first.islower() else 1.0)


@lru_cache(maxsize=50_000)
def _weigh(word: str) -> tuple[str, float]:
    root = stem(word)
    return root, 0.0 if word.lower() in list_words("stop") else measure_rarity(root)


def list_weighed_words(text: str) -> list[tuple[str, float]]:
    """List the roots of the words of a text, each with how rare it is in English; 0 if it says nothing."""
    return [_weigh(word) for word in _WORDS.findall(text)]


def leans(sentence: str) -> bool:
    """Whether a sentence begins with a word that refers to the one before."""
    first = _FIRST.search(sentence)
    return first is not None and first[0].lower() in _list_dangling_openings()


def is_spoken(sentence: str) -> bool:
    """Whether a sentence begins as speech, as an item or with a number, and not as a statement."""
    return sentence[:1] in "“\"‘'`-—[(•*" or sentence[:1].isdigit()


def stands_alone(sentence: str) -> bool:
    """Whether a sentence is a whole statement that needs none before it or after it."""
    if leans(sentence) or is_spoken(sentence) or "?" in sentence:
        return False
    return ends_whole(sentence) and not sentence.endswith((":", ";"))


def announces(sentence: str) -> bool:
    """Whether a sentence says what a chapter or the like is about."""
    return _ANNOUNCES.search(sentence) is not None


def ends_whole(sentence: str) -> bool:
    """Whether a sentence ends as a statement does."""
    return _ENDED.search(sentence) is not None


@cache
def _list_dangling_openings() -> frozenset[str]:
    """Return the words that refer to the sentence before when a sentence begins with them."""
    return list_words("pronouns", "determiners", "clause_joins", "contrasts", "greetings", "goes_on") - {
        "the",
        "a",
        "an",
    }


def _score(sentence: str, words: Sequence[tuple[str, float]], counts: Counter[str]) -> float:
    """Weigh what a sentence says by how often the section says it, and whether it can stand alone."""
    weight = sum(rarity * sqrt(counts[root]) for root, rarity in {*words})
    score = weight / (10 + len(words)) ** 0.75
    if leans(sentence):
        score *= 0.5
    if is_spoken(sentence) or "?" in sentence:
        score *= 0.25
    if announces(sentence):
        score *= 1.3
    if sentence.rstrip().endswith((":", ";")):
        return 0.0  # what it announces would be missing
    if not ends_whole(sentence):
        score *= 0.2
    length = len(sentence)
    return (
        score * (0.4 if length < _SHORTEST * 2 else 0.6 if length > _LONGEST else 1.0)
        if length > _SHORTEST
        else 0.0
    )


def _count_parts(prose: Sequence[int]) -> int:
    return min(GIST_MOST, max(1, round(len(prose) / SENTENCES_PER_PART)))


def _divide(prose: Sequence[int], sentences: Sequence[Stretch], wanted: int) -> list[list[int]]:
    """Divide the sentences into parts of about equal length."""
    total = sum(sentences[n].end - sentences[n].start for n in prose)
    parts: list[list[int]] = [[] for _ in range(wanted)]
    done = 0
    for n in prose:
        parts[min(wanted - 1, wanted * done // max(1, total))].append(n)
        done += sentences[n].end - sentences[n].start
    return [part for part in parts if part]
