"""Measures how well a sentence answers a question, and how likely an answer is right.

A `SentenceMatch` compares a question with a sentence: for each focus word of the question, how well it is
matched by the sentence, by its neighbours, and by its passage with its headings. Expressions of the kind that
the question expects are noted, unless they only repeat the words of the question.

`measure_sentence` compares the sentences of one question with each other. `measure_answer` describes the
chosen ones, so that answers to different questions can be compared. Each measure has the name by which the
fitted weights find it. What is missing counts more than what is there: a sentence without the question's
name, year or "first" answers another question, however much else it shares.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, log
from types import MappingProxyType
from typing import TYPE_CHECKING

from octavo.answers.questions import (
    Expected,
    Focus,
    ParsedQuestion,
    QuestionKind,
    Role,
    Spans,
    find_loose,
    find_sure,
    is_negative,
)
from octavo.text.english import BEGINNING, Token, are_alike, list_words, stem, tokenize
from octavo.text.languages import count_words

if TYPE_CHECKING:
    from octavo.verification.claims import Sentence

ALIKE = 0.8  # what a word counts that is alike, but not the same
SORT_SHARE = 0.3  # what a word counts that only says what sort of thing is asked for

Matches = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SentenceScore:
    """The trained reader's score of a sentence: of its passage, and of its words from `start` to `end`."""

    rank: float
    answerable: float
    margin: float
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SentenceMatch:
    """A sentence compared with a question: one number from 0 to 1 for each focus word."""

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
        return count_words(self.sentence.text, self.sentence.chunk.language)


def weigh_focus(parsed: ParsedQuestion) -> tuple[float, ...]:
    return tuple(f.weight * (SORT_SHARE if f.role is Role.SORT else 1.0) for f in parsed.focus)


def weigh_matches(matches: Sequence[float], weight: Sequence[float]) -> float:
    """Return how much of the question is matched, from 0 to 1."""
    total = sum(weight)
    return sum(m * w for m, w in zip(matches, weight, strict=True)) / total if total else 0.0


def merge_matches(several: Iterable[Sequence[float]]) -> Matches:
    return tuple(max(column) for column in zip(*several, strict=True))


def match_sentences(parsed: ParsedQuestion, sentences: Sequence[Sentence]) -> list[SentenceMatch]:
    """Compare every sentence with the question, passage by passage as the evidence ranks them."""
    passages: dict[str, list[Sentence]] = {}
    for sentence in sentences:
        passages.setdefault(sentence.chunk.id, []).append(sentence)
    found: list[SentenceMatch] = []
    seen: set[tuple[str, int, int]] = set()
    for passage in sorted(passages.values(), key=lambda p: (p[0].evidence_rank, p[0].chunk.id)):
        fresh = {(s.chunk.section_id, s.start, s.end): s for s in passage}
        mine = [fresh[place] for place in sorted(fresh.keys() - seen)]
        seen |= fresh.keys()
        found += _match_passage(parsed, mine)
    return found


def _match_passage(parsed: ParsedQuestion, sentences: Sequence[Sentence]) -> list[SentenceMatch]:
    """Compare the sentences of one passage, in the order of the book."""
    if not sentences:
        return []
    words = [tokenize(s.text) for s in sentences]
    own = [match_focus(parsed.focus, (t.stem for t in w)) for w in words]
    heading = " ".join((*sentences[0].chunk.heading_path, sentences[0].chunk.section))
    title = match_focus(parsed.focus, (t.stem for t in tokenize(heading)))
    none = tuple(0.0 for _ in parsed.focus)
    padded = [none, *own, none]
    whole = merge_matches((title, *own))
    similarity = max(s.similarity for s in sentences)
    asked = frozenset(t.stem for t in parsed.tokens)
    return [
        SentenceMatch(
            sentence=sentence,
            tokens=words[n],
            own=own[n],
            before=padded[n],
            after=padded[n + 2],
            around=merge_matches((title, *padded[n : n + 3])),
            chunk=whole,
            sure=_drop_known(find_sure(sentence.text, parsed.expected, words[n]), words[n], asked),
            loose=_drop_known(find_loose(sentence.text, parsed.expected, words[n]), words[n], asked),
            chunk_similarity=similarity,
        )
        for n, sentence in enumerate(sentences)
    ]


def match_focus(focus: Sequence[Focus], stems: Iterable[str]) -> Matches:
    """Say for each focus word whether one of the stems is the same (1) or alike."""
    present = frozenset(stems)
    beginnings = {word[:BEGINNING] for word in present}
    return tuple(1.0 if f.stem in present else _match_alike(f.stem, present, beginnings) for f in focus)


def _match_alike(wanted: str, present: frozenset[str], beginnings: set[str]) -> float:
    if wanted[:BEGINNING] not in beginnings:
        return 0.0
    return ALIKE if any(are_alike(wanted, other) for other in present) else 0.0


def _drop_known(spans: Spans, words: Sequence[Token], asked: frozenset[str]) -> Spans:
    """Keep the spans that say something that the question does not."""
    if not spans:
        return ()
    fresh = [t for t in words if t.stem not in asked and not t.stop]
    return tuple((a, b) for a, b in spans if any(a <= t.start and t.end <= b for t in fresh))


_LEANS = re.compile(
    r"[\"“'‘]?(?:he|she|it|they|this|these|that|those|his|her|their|its|however|such|therefore|thus|but|instead)\b",
    re.IGNORECASE,
)
_MOST_MARGIN, _MOST_MISSING = 5.0, 2.0
_VERBS = "|".join(sorted(list_words("auxiliaries")))
_ASKED = re.compile(
    r"\b(?:what|which|whose)\b"
    r"(?: (?:is|are|was|were) the (?:name|number|amount|term|title)s? of\b"
    r"| (?:kind|type|sort|percentage|number|amount)s? of\b)?"
    rf"(?: (?!(?:{_VERBS})\b)[a-z]+(?= (?:{_VERBS})\b))?"  # "which *country* was"
    r"|\bhow (?:many|much|long|old|far|often|large|big|high|tall)\b|\b(?:who|whom|when|where|why|how)\b",
    re.IGNORECASE,
)
_DO = re.compile(r"\A\s*(?:do|does|did)\b", re.IGNORECASE)


def refers_back(text: str) -> bool:
    """Whether the sentence begins with a word that points to what was said before."""
    return bool(_LEANS.match(text))


def measure_sentence(parsed: ParsedQuestion, match: SentenceMatch) -> dict[str, float]:
    weight = weigh_focus(parsed)
    text, own = match.sentence.text, weigh_matches(match.own, weight)
    before, after = weigh_matches(match.before, weight), weigh_matches(match.after, weight)
    why, sequel = parsed.kind is QuestionKind.WHY, parsed.kind is QuestionKind.SEQUEL
    told = parsed.expected in (Expected.FEELING, Expected.SPEECH)
    found, count = bool(match.sure), len(match.tokens)
    return {
        "own": own,
        "own_squared": own * own,
        "around": weigh_matches(match.around, weight),
        "chunk": weigh_matches(match.chunk, weight),
        "similarity": match.sentence.similarity,
        "chunk_similarity": match.chunk_similarity,
        "rank": 1 / match.sentence.evidence_rank,
        "sure": float(found),
        "loose": float(bool(match.loose) and not found),
        "sure_why": float(why and found),
        "sure_told": float(told and found),
        "length": log(1 + count),
        "short": float(count < 6),
        "asks": float(text.rstrip(" \"'”’").endswith("?")),
        "leans": float(refers_back(text)),
        "before": before,
        "after": after,
        "before_why": before * why,
        "after_why": after * why,
        "own_why": own * why,
        "before_sequel": before * sequel,
        "own_sequel": own * sequel,
        "before_told": before * told,
    }


def measure_answer(
    parsed: ParsedQuestion,
    matches: Sequence[SentenceMatch],
    *,
    scores: Sequence[float],
    chosen: Sequence[int],
) -> dict[str, float]:
    """Measure what speaks for and against the chosen sentences. The first of them is the best."""
    best = matches[chosen[0]]
    odds = normalise_scores(scores)
    top = sorted(scores, reverse=True)[:2]
    at_home = (o for o, r in zip(odds, matches, strict=True) if r.sentence.chunk.id == best.sentence.chunk.id)
    typed = parsed.expected is not Expected.ANYTHING
    denies = is_negative(best.sentence.text)
    return {
        "margin": min(_MOST_MARGIN, top[0] - top[1]) if len(top) > 1 else _MOST_MARGIN,
        "odds": sum(odds[n] for n in chosen),
        "odds_chunk": sum(at_home),
        "similarity": best.sentence.similarity,
        "chunk_similarity": best.chunk_similarity,
        "most_similar": max(r.sentence.similarity for r in matches),
        "not_sure": float(typed and not best.sure),
        "not_even_loose": float(typed and not best.sure and not best.loose),
        "question_denies": float(parsed.negated and not denies),
        "sentence_denies": float(denies and not parsed.negated),
        "opposite": float(_has_opposite(parsed, best)),
        "why": float(parsed.kind is QuestionKind.WHY),
        "sequel": float(parsed.kind is QuestionKind.SEQUEL),
        "told": float(parsed.expected in (Expected.FEELING, Expected.SPEECH)),
        **_measure_gaps(parsed, best, merge_matches(r.chunk for r in matches)),
    }


def measure_reader(seen: Sequence[SentenceScore], *, best: int) -> dict[str, float]:
    """Measure the trained reader's scores of the evidence, and of the passage and words that were chosen."""
    chosen = seen[best]
    return {
        "able": chosen.answerable,
        "able_most": max(s.answerable for s in seen),
        "margin_read": chosen.margin,
        "rank_read": chosen.rank,
        "rank_most": max(s.rank for s in seen),
    }


def state_answer(question: str, words: str) -> str:
    """Join question and answer to a rough statement: "Who led them?" and "Rollo" make "Rollo led them"."""
    said = " ".join(question.split()).rstrip("? ")
    asked = _ASKED.search(said)
    if asked is None:
        return f"{said} {words}"
    rest = _DO.sub("", said[asked.end() :], count=1)
    return " ".join(f"{said[: asked.start()]}{words} {rest}".split())


def _measure_gaps(parsed: ParsedQuestion, best: SentenceMatch, every: Sequence[float]) -> dict[str, float]:
    """Measure what the sentence, its neighbours, its passage and all of the evidence lack of the question."""
    places = {"own": best.own, "around": best.around, "chunk": best.chunk, "every": every}
    gaps: dict[str, float] = {}
    for where, matched in places.items():
        lacking = [((1 - m) * f.weight, f.role) for f, m in zip(parsed.focus, matched, strict=True)]
        for role in (Role.NAME, Role.NUMBER, Role.EXTREME):
            gaps[f"{role}_missing_{where}"] = min(_MOST_MISSING, sum(w for w, r in lacking if r is role))
        gaps[f"rarest_missing_{where}"] = max((w for w, r in lacking if r is not Role.SORT), default=0.0)
    return gaps


def normalise_scores(scores: Sequence[float]) -> list[float]:
    """Turn scores into shares of 1 (softmax)."""
    high = max(scores)
    raised = [exp(s - high) for s in scores]
    total = sum(raised)
    return [r / total for r in raised]


def _has_opposite(parsed: ParsedQuestion, match: SentenceMatch) -> bool:
    """Whether the sentence has the opposite of a word that the question has and the sentence lacks."""
    present = {t.stem for t in match.tokens}
    missing = (f.stem for f, m in zip(parsed.focus, match.own, strict=True) if m == 0.0)
    return any(not present.isdisjoint(_load_opposites().get(word, ())) for word in missing)


@cache
def _load_opposites() -> Mapping[str, frozenset[str]]:
    listed = list_words("opposites", "opposites_in_questions")
    pairs = [[stem(word) for word in pair.split()] for pair in listed]
    both = [*pairs, *([b, a] for a, b in pairs)]
    return MappingProxyType({one: frozenset(b for a, b in both if a == one) for one, _ in both})
