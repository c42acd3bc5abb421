"""Turns claims that rest on sentences into an answer with footnotes.

A claim names sentences; the quotation is copied from the chunk by the sentence's offsets, here and nowhere
else. Citations are numbered in the order in which the answer first needs them, and a sentence that is used
twice keeps its number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid5

from octavo.conversation import Citation
from octavo.matching import Sentence
from octavo.types import Evidence

NAMESPACE = UUID("0c7a0b00-71c0-5a0e-9a57-6f1d6b1e2d5c")
_OWN_MARK, _PLAIN = re.compile(r"\[(\d+)\]"), r"(\1)"  # a book's own "[3]" must not pass for one of ours
Link = Callable[[Sentence], str]


@dataclass(frozen=True, slots=True)
class Footnoted:
    """The text of an answer with its marks, and what the marks point at."""

    content: str
    citations: tuple[Citation, ...]


def footnoted(
    answer_id: str,
    claims: Sequence[tuple[str, Sequence[str], float]],
    *,
    sentences: Mapping[str, Sentence],
    evidence: Sequence[Evidence],
    link: Link,
) -> Footnoted:
    """Claims are (text, ids of sentences, confidence). Every claim ends with the numbers of its citations."""
    found = {item.chunk.id: item for item in evidence}
    numbers: dict[str, int] = {}
    citations: list[Citation] = []
    parts: list[str] = []
    for text, ids, confidence in claims:
        for id_ in ids:
            if id_ not in numbers:
                numbers[id_] = len(numbers) + 1
                sentence = sentences[id_]
                citations.append(_citation(answer_id, numbers[id_], sentence, found, confidence, link))
        marks = "".join(f"[{number}]" for number in sorted({numbers[id_] for id_ in ids}))
        parts.append(f"{_OWN_MARK.sub(_PLAIN, text)} {marks}")
    apart = "\n\n" if any("\n" in part for part in parts) else " "  # lists and code keep their lines
    return Footnoted(apart.join(parts), tuple(citations))


def _citation(
    answer_id: str,
    number: int,
    sentence: Sentence,
    found: Mapping[str, Evidence],
    confidence: float,
    link: Link,
) -> Citation:
    chunk = sentence.chunk
    item = found[chunk.id]
    return Citation(
        id=str(uuid5(NAMESPACE, f"{answer_id}\x1f{number}")),
        answer_id=answer_id,
        number=number,
        chunk=chunk,
        start=sentence.start,
        end=sentence.end,
        content_snippet=chunk.content[sentence.start - chunk.start : sentence.end - chunk.start],
        relevance_score=item.relevance_score,
        confidence=confidence,
        retrieved_content_id=item.id or chunk.id,
        link=link(sentence),
    )
