"""Holds back answers from books in other languages where the question's own words are not in what is cited.

The local models were trained on English. In other languages they often choose the right sentence, because
names, numbers and the words of the question stand in it, but they cannot tell that a book does not answer:
they are as sure of a sentence about something else. So an answer is given only if its passages hold enough
of the question's words. A question in another language than its book shares hardly any, and is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from octavo.text.languages import collect_words, weigh_words

if TYPE_CHECKING:
    from octavo.verification.claims import Claim, Sentence

LEAST_COVERED = 0.45
"""The share of a question's words, by weight, that the passages of an answer must hold."""


def is_covered(question: str, claims: Sequence[Claim], given: Sequence[Sentence]) -> bool:
    """Say whether claims rest on English passages, or on those that hold enough of the question's words."""
    named = {id_ for claim in claims for id_ in claim.sentences}
    cited = [sentence for sentence in given if sentence.id in named and sentence.chunk.language]
    return not cited or measure_coverage(question, cited) >= LEAST_COVERED


def measure_coverage(question: str, cited: Sequence[Sentence]) -> float:
    """Return the share of the question's words that stand in the sentences' passages or their headings."""
    language = cited[0].chunk.language
    asked = weigh_words(question, language)
    passages = {sentence.chunk.id: sentence.chunk for sentence in cited}.values()
    found = {
        word
        for chunk in passages
        for word in collect_words("\n".join((*chunk.heading_path, chunk.content)), language)
    }
    return sum(weight for word, weight in asked.items() if word in found) / (sum(asked.values()) or 1.0)
