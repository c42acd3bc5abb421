"""Lets passages that found the same answer support each other.

The best words of each passage are its vote. Where several passages give the same name or number, their
sentences gain what the log-sum of their scores is above the best of them, up to `VOTE_MOST`. So a second
passage that is as good adds 0.69, and one that is far behind adds next to nothing. The order within such a
group stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log
from typing import TYPE_CHECKING

from octavo.text.english import list_numbers, tokenize

if TYPE_CHECKING:
    from octavo.answers.features import SentenceMatch, SentenceScore

# A sentence gains at most this from other passages.
VOTE_MOST = 1.0
# The words of a vote must be preferred to "no answer" by more than this.
VOTE_MARGIN = 0.0
_ARTICLES = frozenset(["a", "an", "the"])


def add_votes(
    matches: Sequence[SentenceMatch], scores: Sequence[float], seen: Mapping[str, SentenceScore]
) -> list[float]:
    """Add to the scores of sentences what other passages with the same answer are worth."""
    voted = list(scores)
    for group in _group_votes(matches, seen).values():
        best = max(scores[n] for n in group)
        total = best + log(sum(exp(scores[n] - best) for n in group))
        for n in group:
            voted[n] += min(VOTE_MOST, total - best)
    return voted


def _group_votes(matches: Sequence[SentenceMatch], seen: Mapping[str, SentenceScore]) -> dict[str, list[int]]:
    """Group the best sentence of each passage by its answer. The same sentence votes once."""
    groups: dict[str, list[int]] = {}
    texts: set[str] = set()
    for n in _find_best(matches, seen):
        sentence = matches[n].sentence
        answer = normalise_answer(sentence.text[seen[sentence.id].start : seen[sentence.id].end])
        if answer and sentence.text not in texts:
            texts.add(sentence.text)
            groups.setdefault(answer, []).append(n)
    return groups


def _find_best(matches: Sequence[SentenceMatch], seen: Mapping[str, SentenceScore]) -> list[int]:
    """Find the sentence of each passage whose words answer best, if they are preferred to "no answer"."""
    best: dict[str, int] = {}
    for n, match in enumerate(matches):
        chunk, margin = match.sentence.chunk.id, seen[match.sentence.id].margin
        if margin > VOTE_MARGIN and (
            chunk not in best or margin > seen[matches[best[chunk]].sentence.id].margin
        ):
            best[chunk] = n
    return sorted(best.values())


def normalise_answer(words: str) -> str:
    """Return a name or number in the form that is compared, or nothing if the words are neither.

    Case, articles, punctuation and possessives do not count: "the King's" and "King" are the same, and so are
    "Seven" and "7", but "seven boats" is another answer.
    """
    numbers = list_numbers("numbers")
    tokens = [token for token in tokenize(words) if token.text.lower() not in _ARTICLES]
    if not any(token.capital or token.number or token.text.lower() in numbers for token in tokens):
        return ""
    return " ".join(_normalise_word(token.text.lower(), numbers) for token in tokens)


def _normalise_word(word: str, numbers: Mapping[str, str]) -> str:
    if word[0].isdigit():
        return word.replace(",", "")
    bare = word.replace("’", "'").removesuffix("'s")
    return str(numbers.get(bare, bare))
