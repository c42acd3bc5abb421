"""Measures what is particular to answers that are not from English to English.

The multilingual reader learnt from English questions, and is less sure of the difference between a passage
that answers and one on the same subject. How much of the question's words an answer's passages hold says
more, where question and book are in one language; across languages it says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from octavo.text.language import is_foreign
from octavo.text.languages import collect_words, weigh_words

if TYPE_CHECKING:
    from octavo.verification.claims import Claim, Sentence


def measure_language(
    question: str, claims: Sequence[Claim], given: Sequence[Sentence]
) -> Mapping[str, float]:
    """Measure how much of the question the passages of claims hold, and whether they are in its language."""
    named = {id_ for claim in claims for id_ in claim.sentences}
    cited = [sentence for sentence in given if sentence.id in named]
    if not cited:
        return {}
    across = is_foreign(question, cited[0].chunk.content)
    covered = 0.0 if across else measure_coverage(question, cited)
    return {"covered": round(covered, 4), "across": float(across)}


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
