"""Choose the sentences that together say most of a long text, within a limit of words.

A word counts the more, the more often the text has it and the fewer other sections of the book do. Sentences
are chosen one after another, each for what it adds: a word that was told already counts a quarter as much,
and a sentence from a stretch of the text that has given one counts half. So the choice is spread over the
text, and reaches its end however long the first sentences are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace
from math import log

from octavo.text.bookmap.gist import announces, ends_whole, is_spoken, leans, list_weighed_words

# What a word counts that was told already, and a sentence of a stretch that has given one.
AGAIN, SAME_STRETCH = 0.25, 0.5
# What a sentence counts that opens a section, announces what the part is about, leans on the one before it,
# is said by somebody, asks, is cut off, or is shorter or longer than most.
LEAD, ANNOUNCES, LEANS, SPOKEN, ASKS, CUT, SHORT, LONG = 1.5, 1.3, 0.7, 0.5, 0.25, 0.2, 0.4, 0.5
# The least of what a word counts that every section has.
EVERYWHERE = 0.3
# From so few sections nobody can tell which words are their own.
FEWEST_SECTIONS = 4
# So many characters of a book are read to tell which words are a section's own.
MOST_COUNTED = 1_500_000
_SHORTEST, _SHORT_MOST, _LONG_LEAST = 30, 60, 45


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence to choose from: its text, how many words it has, and whether it opens a section.

    `spoken` says that it stands in the middle of what somebody says.
    """

    text: str
    words: int
    opens: bool = False
    spoken: bool = False


@dataclass(frozen=True, slots=True)
class SectionWords:
    """How many sections of a book have each word."""

    sections: int
    having: Mapping[str, int]

    def weigh(self, root: str) -> float:
        """Weigh how much a word is a section's own: 1 if no other has it."""
        if self.sections < FEWEST_SECTIONS:
            return 1.0
        own = log((1 + self.sections) / (self.having.get(root, 1) + 0.5)) / log(1 + self.sections)
        return EVERYWHERE + (1 - EVERYWHERE) * min(1.0, max(0.0, own))


def count_sections(texts: Sequence[str]) -> SectionWords:
    """Count in how many of the texts each word stands. Of a very large book every nth section is counted."""
    step = 1 + sum(map(len, texts)) // MOST_COUNTED
    counted = texts[::step]
    having: Counter[str] = Counter()
    if len(counted) >= FEWEST_SECTIONS:
        for text in counted:
            having.update({root for root, _ in list_weighed_words(text)})
    return SectionWords(len(counted), having)


def choose_covering(
    statements: Sequence[Statement],
    *,
    most: int,
    words: int,
    book: SectionWords,
    told: Iterable[str] = (),
) -> tuple[int, ...]:
    """Return the numbers of at most `most` statements with at most `words` words together, in order.

    `told` are texts that are quoted in any case: their words count as told. If there are none, and even the
    best statement is too long, it is chosen alone.
    """
    closing = tuple(told)
    if most < 1:
        return ()
    choice = _Choice(statements, most=most, book=book)
    for text in closing:
        choice.tell(text)
    # What a statement adds only becomes less, so that the first one whose score is fresh is the best.
    heap = [(-score, n) for n in range(len(statements)) if (score := choice.score(n)) > 0]
    heapify(heap)
    chosen: list[int] = []
    best = heap[0][1] if heap else None
    while heap and len(chosen) < most:
        stale, n = heap[0]
        fits = statements[n].words <= words
        fresh = choice.score(n) if fits and n not in chosen else 0.0
        if fresh > 0 and -fresh <= stale + 1e-12:
            chosen.append(n)
            words -= statements[n].words
            choice.take(n)
            fresh = 0.0
        heapreplace(heap, (-fresh, n))
        if heap[0][0] == 0.0:
            break
    return tuple(sorted(chosen)) or (() if best is None or closing else (best,))


class _Choice:
    """What has been chosen of a text so far, and what each statement would add."""

    def __init__(self, statements: Sequence[Statement], *, most: int, book: SectionWords) -> None:
        found = [list_weighed_words(one.text) for one in statements]
        counts = Counter(root for those in found for root, _ in those)
        own = {root: counts[root] * book.weigh(root) for root in counts}
        self._weights = [{root: rarity * own[root] for root, rarity in those if rarity} for those in found]
        self._forms: list[float] = [
            _weigh_form(one) / (10 + len(those)) ** 0.75 for one, those in zip(statements, found, strict=True)
        ]
        self._stretches = _divide([len(one.text) for one in statements], most)
        self._told: Counter[str] = Counter()
        self._given: Counter[int] = Counter()

    def score(self, n: int) -> float:
        if not self._forms[n]:
            return 0.0
        adds: float = sum(weight * AGAIN ** self._told[root] for root, weight in self._weights[n].items())
        fresh: float = SAME_STRETCH ** self._given[self._stretches[n]]
        return self._forms[n] * adds * fresh

    def tell(self, text: str) -> None:
        self._told.update({root for root, _ in list_weighed_words(text)})

    def take(self, n: int) -> None:
        self._told.update(self._weights[n].keys())
        self._given[self._stretches[n]] += 1


def _weigh_form(statement: Statement) -> float:
    """Weigh whether a sentence can stand alone. One that only announces what follows counts nothing."""
    text = statement.text
    if len(text) <= _SHORTEST or text.rstrip().endswith((":", ";")):
        return 0.0
    weight = LEAD if statement.opens else 0.5 if text[:1].islower() else 1.0
    for holds, factor in (
        (announces(text), ANNOUNCES),
        (leans(text), LEANS),
        (statement.spoken or is_spoken(text), SPOKEN),
        ("?" in text, ASKS),
        (not ends_whole(text), CUT),
        (len(text) < _SHORT_MOST, SHORT),
        (statement.words > _LONG_LEAST, LONG),
    ):
        weight *= factor if holds else 1.0
    return weight


def _divide(lengths: Sequence[int], parts: int) -> list[int]:
    """Say for each sentence in which of so many stretches of equal length it begins."""
    total, done = max(1, sum(lengths)), 0
    stretches: list[int] = []
    for length in lengths:
        stretches.append(parts * done // total)
        done += length
    return stretches
