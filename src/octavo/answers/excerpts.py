"""Cuts the passages that come nearest to a question down to the few sentences that a reader needs to see.

An excerpt is a piece of its chunk, with the offsets of that piece. It is made of sentences that were found
within the reader's bounds, so it never shows what the reader did not ask to see.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from octavo.answers.extract import shortlist
from octavo.types import CHUNK_LEAST

if TYPE_CHECKING:
    from octavo.types import Evidence
    from octavo.verification.claims import Sentence

EXCERPT_MOST = 300
"""Characters of an excerpt."""


def cut_excerpts(
    question: str, evidence: Iterable[Evidence], sentences: Iterable[Sentence]
) -> tuple[Evidence, ...]:
    """Cut each passage to the sentence that is nearest to the question, and those after it that have room."""
    known = list(sentences)
    made = []
    for item in evidence:
        own = sorted((s for s in known if s.chunk.id == item.chunk.id), key=lambda s: s.start)
        made.append(_cut(item, own, question) if own else item)
    return tuple(made)


def _cut(item: Evidence, own: Sequence[Sentence], question: str) -> Evidence:
    chunk = item.chunk
    best = shortlist(question, own, most=1)[0]
    at = next(n for n, sentence in enumerate(own) if sentence.id == best)
    start, end = own[at].start, own[at].end
    for after in own[at + 1 :]:
        if after.end - start > EXCERPT_MOST:
            break
        end = after.end
    for before in reversed(own[:at]):
        if end - before.start > EXCERPT_MOST:
            break
        start = before.start
    text = chunk.content[start - chunk.start : end - chunk.start]
    if len(text) > EXCERPT_MOST:
        # One long sentence, a listing or a table: end between two words.
        cut = text[:EXCERPT_MOST].rsplit(maxsplit=1)[0].rstrip()
        text = cut if len(cut) >= CHUNK_LEAST else text[:EXCERPT_MOST]
    if len(text) < CHUNK_LEAST:
        return item
    return replace(item, chunk=replace(chunk, content=text, start=start, end=start + len(text)))
