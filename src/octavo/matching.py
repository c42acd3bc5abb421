"""Lays a question against every sentence of its evidence and notes what they share.

A Reading is a sentence with its words and, for each focus word of the question, how well it is matched by the
sentence itself, by its neighbours, and by its passage with its headings. Expressions of the kind the question
expects are noted when they are not the question's own words given back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from octavo.mentions import Spans, loose, sure
from octavo.questions import Focus, Inquiry, Role
from octavo.types import Chunk
from octavo.words import BEGINNING, Token, alike, tokens

ALIKE = 0.8  # what a word counts that is alike, but not the same
SORT_SHARE = 0.3  # what a word counts that only says what sort of thing is asked for

Matches = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the evidence. `start` and `end` point into the section's text, as the chunk's own do."""

    id: str
    chunk: Chunk
    start: int
    end: int
    text: str
    similarity: float
    evidence_rank: int
    evidence_score: float


@dataclass(frozen=True, slots=True)
class Seen:
    """What a trained reader made of a sentence: its passage, and the words from `start` to `end` in it."""

    rank: float
    answerable: float
    margin: float
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Reading:
    """A sentence and what of the question it has: one number from 0 to 1 for each focus word."""

    sentence: Sentence
    tokens: tuple[Token, ...]
    own: Matches
    before: Matches
    after: Matches
    around: Matches
    chunk: Matches
    sure: Spans
    loose: Spans
    chunk_similarity: float

    @property
    def words(self) -> int:
        return len(self.sentence.text.split())


def weights(inquiry: Inquiry) -> tuple[float, ...]:
    return tuple(f.weight * (SORT_SHARE if f.role is Role.SORT else 1.0) for f in inquiry.focus)


def share(matches: Sequence[float], weight: Sequence[float]) -> float:
    """How much of the question is matched, from 0 to 1."""
    total = sum(weight)
    return sum(m * w for m, w in zip(matches, weight, strict=True)) / total if total else 0.0


def best_of(several: Iterable[Sequence[float]]) -> Matches:
    return tuple(max(column) for column in zip(*several, strict=True))


def read_all(inquiry: Inquiry, sentences: Sequence[Sentence]) -> list[Reading]:
    """Every sentence laid against the question, passage by passage as the evidence ranks them."""
    passages: dict[str, list[Sentence]] = {}
    for sentence in sentences:
        passages.setdefault(sentence.chunk.id, []).append(sentence)
    found: list[Reading] = []
    seen: set[tuple[str, int, int]] = set()
    for passage in sorted(passages.values(), key=lambda p: (p[0].evidence_rank, p[0].chunk.id)):
        fresh = {(s.chunk.section_id, s.start, s.end): s for s in passage}
        mine = [fresh[place] for place in sorted(fresh.keys() - seen)]
        seen |= fresh.keys()
        found += _read_passage(inquiry, mine)
    return found


def _read_passage(inquiry: Inquiry, sentences: Sequence[Sentence]) -> list[Reading]:
    """The sentences of one passage, in the order of the book."""
    if not sentences:
        return []
    words = [tokens(s.text) for s in sentences]
    own = [matches(inquiry.focus, (t.stem for t in w)) for w in words]
    heading = " ".join((*sentences[0].chunk.heading_path, sentences[0].chunk.section))
    title = matches(inquiry.focus, (t.stem for t in tokens(heading)))
    none = tuple(0.0 for _ in inquiry.focus)
    padded = [none, *own, none]
    whole = best_of((title, *own))
    similarity = max(s.similarity for s in sentences)
    asked = frozenset(t.stem for t in inquiry.tokens)
    return [
        Reading(
            sentence=sentence,
            tokens=words[n],
            own=own[n],
            before=padded[n],
            after=padded[n + 2],
            around=best_of((title, *padded[n : n + 3])),
            chunk=whole,
            sure=_new(sure(sentence.text, inquiry.expected, words[n]), words[n], asked),
            loose=_new(loose(sentence.text, inquiry.expected, words[n]), words[n], asked),
            chunk_similarity=similarity,
        )
        for n, sentence in enumerate(sentences)
    ]


def matches(focus: Sequence[Focus], stems: Iterable[str]) -> Matches:
    """For each focus word whether one of the stems is the same (1) or alike."""
    present = frozenset(stems)
    beginnings = {word[:BEGINNING] for word in present}
    return tuple(1.0 if f.stem in present else _alike(f.stem, present, beginnings) for f in focus)


def _alike(wanted: str, present: frozenset[str], beginnings: set[str]) -> float:
    if wanted[:BEGINNING] not in beginnings:
        return 0.0
    return ALIKE if any(alike(wanted, other) for other in present) else 0.0


def _new(spans: Spans, words: Sequence[Token], asked: frozenset[str]) -> Spans:
    """Those spans that say something the question does not."""
    if not spans:
        return ()
    fresh = [t for t in words if t.stem not in asked and not t.stop]
    return tuple((a, b) for a, b in spans if any(a <= t.start and t.end <= b for t in fresh))
