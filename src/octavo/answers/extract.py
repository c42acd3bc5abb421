"""Answers a question with the book's own sentences, chosen without any language model.

Every sentence of the evidence is scored against the question; the best is the answer, and the next ones are
added only while the choice is open, up to three claims and eighty words. A claim is verbatim: one sentence,
or one with what it cannot be read without: the sentence before when it begins with "This" or "He", the items
after a lead-in that ends with a colon. Claims of one section stand in the order of the book.
The words that answer (the date for "when", the name for "who") are marked where they can be told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from octavo.answers.calibration import read_score, sentence_score
from octavo.answers.features import (
    Reading,
    Seen,
    leans,
    odds_of,
    of_answer,
    of_seen,
    of_sentence,
    read_all,
    share,
    weights,
)
from octavo.answers.questions import Expected, Inquiry, Kind, read
from octavo.text.english import tokens
from octavo.text.sentences import ITEM
from octavo.verification.claims import Claim

if TYPE_CHECKING:
    from octavo.verification.claims import Sentence

MOST_CLAIMS, MOST_WORDS, SHORTLIST = 3, 80, 10
ENOUGH, TOO_LITTLE = (
    0.85,
    0.05,
)  # the odds at which the choice is settled, and below which a sentence adds nothing
_STEP = re.compile(
    r"\b(?:you can|you need to|to \w+,|use|run|first|then|next|finally|click|open|add|by \w+ing)\b",
    re.IGNORECASE,
)
_ENUMERATES = re.compile(
    r":\s*$|\w+, \w+[^.]*,? (?:and|or) \w+|\b(?:two|three|four|five|six|several) \w+", re.IGNORECASE
)
_DEFINES = re.compile(r"\b(?:is|are|was|were|means?|refers? to|denotes?)\b")
_SIDES = re.compile(
    r"\b(?:between\s+)?(.+?)\s+(?:and|or|versus|vs\.?|than|from|with|to)\s+(.+)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer before anyone decided whether to give it. Without evidence both are empty.

    `words` are those that a trained reader thinks answer; `around` is the sentence they stand in, with its
    heading and the sentence before it.
    """

    claims: tuple[Claim, ...]
    features: Mapping[str, float]
    words: str = ""
    around: str = ""


@dataclass(frozen=True, slots=True)
class _Part:
    """A stretch of neighbouring readings, with the one it was chosen for."""

    first: int
    last: int
    core: int


def answer(question: str, sentences: Sequence[Sentence], *, seen: Mapping[str, Seen] | None = None) -> Draft:
    """The sentences that answer best, whether or not they answer: `scoring` says how likely they do.

    `seen` is what a trained reader made of each sentence, by its id, where there is one.
    """
    inquiry = read(question)
    readings = read_all(inquiry, sentences)
    scores = [sentence_score(of_sentence(inquiry, r)) for r in readings]
    return compose(inquiry, readings, scores=scores, seen=seen)


def shortlist(question: str, sentences: Sequence[Sentence], *, most: int = SHORTLIST) -> tuple[str, ...]:
    """The ids of the sentences that may answer, by words alone: only their similarity is worth its price.

    The others keep a similarity of 0, which is what the weights were fitted with.
    """
    inquiry = read(question)
    readings = read_all(inquiry, sentences)
    weight = weights(inquiry)
    worth = [
        2 * share(r.own, weight)
        + share(r.around, weight)
        + share(r.chunk, weight)
        + 0.5 / r.sentence.evidence_rank
        + 0.5 * bool(r.sure)
        for r in readings
    ]
    best = sorted(range(len(readings)), key=lambda n: (-round(worth[n], 9), n))[:most]
    return tuple(readings[n].sentence.id for n in best)


def compose(
    inquiry: Inquiry,
    readings: Sequence[Reading],
    *,
    scores: Sequence[float],
    seen: Mapping[str, Seen] | None = None,
) -> Draft:
    """The draft for sentences that have been scored; no sentences, no draft."""
    if not readings:
        return Draft((), MappingProxyType({}))
    formed = [score + _form(inquiry, r) for score, r in zip(scores, readings, strict=True)]
    if seen is not None:
        formed = [read_score(score, seen[r.sentence.id]) for score, r in zip(formed, readings, strict=True)]
    parts = _choose(inquiry, readings, formed)
    features = of_answer(inquiry, readings, scores=formed, chosen=[p.core for p in parts])
    words, around = "", ""
    if seen is not None:
        best = seen[readings[parts[0].core].sentence.id]
        features |= of_seen([seen[r.sentence.id] for r in readings], best=parts[0].core)
        marks = {parts[0]: _named(best)}
        words, around = _pointed_at(readings, parts[0].core, best)
    else:
        sure = next((p for p in parts if readings[p.core].sure), None)
        marks = {sure: tuple(_mark(inquiry, readings[sure.core]))} if sure else {}
    claims = (_claim(readings, p, marks=marks.get(p, ())) for p in _in_order(readings, parts))
    return Draft(tuple(claims), MappingProxyType(features), words, around)


def _form(inquiry: Inquiry, reading: Reading) -> float:
    """What the form of a sentence adds for questions of a kind that ask for a form."""
    text = reading.sentence.text
    if inquiry.kind is Kind.LIST:
        return 1.0 * bool(_ENUMERATES.search(text))
    if inquiry.kind is Kind.HOW_TO:
        return 0.7 * bool(_STEP.search(text)) + 0.5 * _listed(text)
    if inquiry.kind is Kind.DEFINITION and inquiry.focus:
        return 1.5 * _defines(inquiry, reading)
    return 0.0


def _listed(text: str) -> bool:
    """Whether it is an item of a list or a row of a table."""
    return ITEM.match(text) is not None or text.lstrip().startswith("|")


def _defines(inquiry: Inquiry, reading: Reading) -> float:
    """Whether the sentence says what the question's subject is; more at the head of a section about it."""
    verb = _DEFINES.search(reading.sentence.text)
    if verb is None:
        return 0.0
    subject = {t.stem for t in reading.tokens if t.end <= verb.start()}
    if not {f.stem for f in inquiry.focus} <= subject or len(subject) > 3 * len(inquiry.focus) + 4:
        return 0.0
    titled = {t.stem for t in tokens(reading.sentence.chunk.section)}
    return 1.0 + 0.5 * (not titled.isdisjoint(f.stem for f in inquiry.focus)) * (reading.sentence.start == 0)


def _choose(inquiry: Inquiry, readings: Sequence[Reading], scores: Sequence[float]) -> list[_Part]:
    """The best sentences with what they need, best first, within the room there is."""
    order = sorted(range(len(readings)), key=lambda n: (-round(scores[n], 9), n))
    odds = odds_of(scores)
    room, settled = MOST_WORDS, 0.0
    parts: list[_Part] = []
    for n in [*_sides(inquiry, readings, order), *order]:
        held = any(p.first <= n <= p.last for p in parts)
        if held or (parts and readings[n].words > room) or _told(readings, parts, n):
            continue
        wanted = inquiry.kind is Kind.COMPARISON and len(parts) < 2
        if parts and not wanted and (settled >= ENOUGH or odds[n] < TOO_LITTLE):
            break
        if not parts and readings[n].words > room and any(r.words <= room for r in readings):
            continue
        told = {k for p in parts for k in range(p.first, p.last + 1)}
        part = _with_context(inquiry, readings, n, room=room, told=told)
        parts.append(part)
        room -= sum(readings[k].words for k in range(part.first, part.last + 1))
        settled += sum(odds[part.first : part.last + 1])
        if len(parts) == MOST_CLAIMS:
            break
    return parts


def _told(readings: Sequence[Reading], parts: Sequence[_Part], n: int) -> bool:
    """Whether the same words were chosen already, from another place."""
    return any(readings[p.core].sentence.text == readings[n].sentence.text for p in parts)


def _sides(inquiry: Inquiry, readings: Sequence[Reading], order: Sequence[int]) -> Iterator[int]:
    """For a comparison, the best sentence on each of the two things compared."""
    found = _SIDES.search(inquiry.text) if inquiry.kind is Kind.COMPARISON else None
    if found is None:
        return
    for side in found.groups():
        wanted = {t.stem for t in tokens(side) if not t.stop}
        with_it = (n for n in order if not wanted.isdisjoint(t.stem for t in readings[n].tokens))
        yield from list(with_it)[:1]


def _with_context(
    inquiry: Inquiry, readings: Sequence[Reading], n: int, *, room: int, told: Set[int]
) -> _Part:
    """The sentence with the one it leans on, or with the items it leads to, as far as there is room.

    What is told already is not told again.
    """
    first = last = n
    left = room - readings[n].words
    if readings[n].sentence.text.rstrip().endswith(":"):
        while _follows(readings, last) and last + 1 not in told and readings[last + 1].words <= left:
            if last > n and not _listed(readings[last + 1].sentence.text):
                break
            last += 1
            left -= readings[last].words
    if n - 1 not in told and _needs_before(inquiry, readings, n) and readings[n - 1].words <= left:
        first -= 1
    return _Part(first, last, n)


def _follows(readings: Sequence[Reading], n: int) -> bool:
    """Whether the next reading is the next sentence of the same passage."""
    return n + 1 < len(readings) and readings[n + 1].sentence.chunk.id == readings[n].sentence.chunk.id


def _needs_before(inquiry: Inquiry, readings: Sequence[Reading], n: int) -> bool:
    """It begins with a pronoun, and the sentence before has words of the question that it lacks itself."""
    if n == 0 or not _follows(readings, n - 1) or not leans(readings[n].sentence.text):
        return False
    weight, here = weights(inquiry), readings[n]
    both = [max(a, b) for a, b in zip(here.own, here.before, strict=True)]
    return share(both, weight) > share(here.own, weight)


def _in_order(readings: Sequence[Reading], parts: Sequence[_Part]) -> list[_Part]:
    """Sections as their best claim ranks, claims within a section as the book has them."""
    sections = [readings[p.core].sentence.chunk.section_id for p in parts]
    return sorted(
        parts,
        key=lambda p: (
            sections.index(readings[p.core].sentence.chunk.section_id),
            readings[p.first].sentence.start,
        ),
    )


def _claim(readings: Sequence[Reading], part: _Part, *, marks: Sequence[tuple[int, int]]) -> Claim:
    held = [readings[n].sentence for n in range(part.first, part.last + 1)]
    chunk, start = held[0].chunk, held[0].start
    text = chunk.content[start - chunk.start : held[-1].end - chunk.start]
    shift = readings[part.core].sentence.start - start
    moved = tuple((a + shift, b + shift) for a, b in marks)
    return Claim(text=text, sentences=tuple(s.id for s in held), marks=moved)


def _named(seen: Seen) -> tuple[tuple[int, int], ...]:
    """The words that answer, where the reader is more sure of them than of no answer."""
    return ((seen.start, seen.end),) if seen.margin > 0 and seen.end > seen.start else ()


def _pointed_at(readings: Sequence[Reading], n: int, seen: Seen) -> tuple[str, str]:
    """The words that answer best, however sure they are, and where they stand."""
    here = readings[n].sentence
    before = readings[n - 1].sentence.start if n and _follows(readings, n - 1) else here.start
    text = here.chunk.content[before - here.chunk.start : here.end - here.chunk.start]
    return here.text[seen.start : seen.end], ": ".join((*here.chunk.heading_path[-1:], text))


def _mark(inquiry: Inquiry, reading: Reading) -> Iterator[tuple[int, int]]:
    """The expected expression that stands nearest to the question's own words."""
    if inquiry.expected in (Expected.ANYTHING, Expected.SPEECH) or not reading.sure:
        return
    asked = {f.stem for f in inquiry.focus}
    places = [t.start for t in reading.tokens if t.stem in asked] or [0]
    yield min(reading.sure, key=lambda span: (sum(abs(span[0] - p) for p in places), span))
