"""Answers a question with the book's own sentences, chosen without a language model.

Every sentence of the evidence is scored against the question. The best one is the answer. The next ones are
added only while the choice is open, up to three claims and eighty words; a longer one is quoted alone, if no
shorter one is nearly as good. A claim is verbatim: one sentence
with what it cannot be understood without. That is the sentence before if it begins with "This" or "He", the
one after if it turns what was said ("However, …"), or the items after a lead-in that ends with a colon.
Claims of one section stand in the order of the book. The words that answer (the date for "when", the name
for "who") are marked where they can be recognised.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from octavo.answers.calibration import score_sentence, score_with_reader
from octavo.answers.features import (
    SentenceMatch,
    SentenceScore,
    match_sentences,
    measure_answer,
    measure_reader,
    measure_sentence,
    normalise_scores,
    refers_back,
    weigh_focus,
    weigh_matches,
)
from octavo.answers.questions import Expected, ParsedQuestion, QuestionKind, parse_question
from octavo.answers.references import is_caption, points_back
from octavo.answers.short import choose_short, has_extreme
from octavo.answers.voting import add_votes
from octavo.text.english import tokenize
from octavo.types import ElementKind
from octavo.verification.claims import Claim

if TYPE_CHECKING:
    from octavo.search.ranking import ReaderKind
    from octavo.verification.claims import Phrase, Sentence

MOST_CLAIMS, MOST_WORDS, SHORTLIST = 3, 80, 10
# The best sentence is quoted alone if it is longer than all that may be said, as many are in older books. It
# gives way to one within that limit that is nearly as good. With more words than this, it gives way to any.
MOST_FIRST, NEARLY = 200, 2.0
# With odds of `ENOUGH` the choice is settled. Below `TOO_LITTLE` a sentence adds nothing.
ENOUGH, TOO_LITTLE = 0.85, 0.05
_STEP = re.compile(
    r"\b(?:you can|you need to|to \w+,|use|run|first|then|next|finally|click|open|add|by \w+ing)\b",
    re.IGNORECASE,
)
_ENUMERATES = re.compile(
    r":\s*$|\w+, \w+[^.]*,? (?:and|or) \w+|\b(?:two|three|four|five|six|several) \w+", re.IGNORECASE
)
# A question of the book is no answer, nor is what a chapter asks of its readers at the end.
ASKS_BACK, EXERCISE = -3.0, -2.0
# The name of somebody who is spoken to is not what the sentence tells: "when I married her, Starbuck; and".
ADDRESSED = -4.0  # log odds
_ADDRESSED = re.compile(
    r"\b(?:me|you|ye|thee|him|her|it|them|us|aye|yes|no|nay|now|well|oh|here|there|sir|come|look)[,!] ?$",
    re.IGNORECASE,
)
# A heading or the line with an author's name says nothing, and neither does a reference to another place.
HEADLINE, REFERENCE = -3.0, -2.0
_REFERENCE = re.compile(
    r"\b(?:is|are) (?:further |also )?(?:described|explained|discussed|documented|covered|detailed)"
    r" (?:(?:in|under) (?:(?:the )?(?i:chapter|section|appendix|part|page)\b|[“\"‘§\d]|[A-Z][\w’'-]* \w)"
    r"|(?:below|above|later|earlier)\b)|^\W*(?:[Ss]ee|[Rr]efer to|[Cc]f\.) ",
)
# The name of a figure tells nothing, and what is said of "this" does not decide whether something is so.
CAPTION, POINTS_BACK = -3.0, -3.0
# What something is, and why, is said in prose and not in code.
CODE = -3.0
_IN_PROSE = frozenset((QuestionKind.DEFINITION, QuestionKind.WHY, QuestionKind.COMPARISON))
_ASKS_BACK = re.compile(r"\?[”\"’')\]]*(?:\s*$|(?<=[”\"’'])\s+\w+)")
_EXERCISES = re.compile(
    r"\W*(?:[\d.]+ )?(?:(?:chapter|end|more|suggested|selected|general|subject) )?"
    r"(?:exercises?|(?:review|discussion|study|practice|check) questions?|quiz(?:zes)?|problems"
    r"|knowledge check|key terms|further reading|references|bibliography|(?:table of )?contents|index"
    r"|about the (?:author|editor|translator)s?|also by .*|acknowledge?ments?|colophon|copyright.*|imprint"
    r"|credits|works cited|sources)\W*(?:[\d.]+\W*)?",
    re.IGNORECASE,
)
# What a sentence says may be turned by the next one, and these questions are not answered without it.
_TURNED = frozenset(
    (QuestionKind.COMPARISON, QuestionKind.HOW_TO, QuestionKind.YES_NO, QuestionKind.DEFINITION)
)
_TURN = re.compile(
    r"(?:however|but|instead|nevertheless|nonetheless|conversely|(?:in|by) contrast|unlike|otherwise"
    r"|on the other hand|the difference is|(?:this|that|it) means|in other words|note,? (?:that|however))\b",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[^\W\d_]+")
_DEFINES = re.compile(r"\b(?:is|are|was|were|means?|refers? to|denotes?)\b")
_SIDES = re.compile(
    r"\b(?:between\s+)?(.+?)\s+(?:and|or|versus|vs\.?|than|from|with|to)\s+(.+)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Extraction:
    """The best answer that can be quoted, before it is decided whether to give it. Empty without evidence.

    `words` are those that answer, by the trained reader. `around` is the sentence that they stand in, with
    its heading and the sentence before it. `short` are the same words, if they answer by themselves.
    `has_extreme` says that the longest or highest was not asked for, or that `around` has one.
    """

    claims: tuple[Claim, ...]
    features: Mapping[str, float]
    words: str = ""
    around: str = ""
    short: Phrase | None = None
    has_extreme: bool = True


@dataclass(frozen=True, slots=True)
class _SentenceRun:
    """Neighbouring sentences by their indices, and the one, `core`, that they were chosen for."""

    first: int
    last: int
    core: int


def extract_answer(
    question: str,
    sentences: Sequence[Sentence],
    *,
    seen: Mapping[str, SentenceScore] | None = None,
    reader: ReaderKind = "small",
    bonus: Mapping[str, float] = MappingProxyType({}),
) -> Extraction:
    """Choose the sentences that answer best, whether or not they do: `calibration` says how likely that is.

    `seen` has the score of each sentence by its id, as the trained reader `reader` gave it. `bonus`
    is added to the scores of sentences that are known to fit the question.
    """
    parsed = parse_question(question)
    matches = match_sentences(parsed, sentences)
    scores = [score_sentence(measure_sentence(parsed, r)) for r in matches]
    return compose(parsed, matches, scores=scores, seen=seen, reader=reader, bonus=bonus)


def shortlist(question: str, sentences: Sequence[Sentence], *, most: int = SHORTLIST) -> tuple[str, ...]:
    """Return the ids of the sentences that may answer, by words alone. Only these are worth embedding.

    The others keep a similarity of 0, and the weights were fitted with that.
    """
    parsed = parse_question(question)
    matches = match_sentences(parsed, sentences)
    weight = weigh_focus(parsed)
    worth = [
        2 * weigh_matches(r.own, weight)
        + weigh_matches(r.around, weight)
        + weigh_matches(r.chunk, weight)
        + 0.5 / r.sentence.evidence_rank
        + 0.5 * bool(r.sure)
        for r in matches
    ]
    best = sorted(range(len(matches)), key=lambda n: (-round(worth[n], 9), n))[:most]
    return tuple(matches[n].sentence.id for n in best)


def compose(
    parsed: ParsedQuestion,
    matches: Sequence[SentenceMatch],
    *,
    scores: Sequence[float],
    seen: Mapping[str, SentenceScore] | None = None,
    reader: ReaderKind = "small",
    bonus: Mapping[str, float] = MappingProxyType({}),
) -> Extraction:
    """Choose among sentences that have been scored."""
    if not matches:
        return Extraction((), MappingProxyType({}))
    formed = [score + _score_form(parsed, r) for score, r in zip(scores, matches, strict=True)]
    if seen is not None:
        seen = {r.sentence.id: _discount_address(r.sentence.text, seen[r.sentence.id]) for r in matches}
        formed = [
            score_with_reader(score, seen[r.sentence.id], reader=reader)
            for score, r in zip(formed, matches, strict=True)
        ]
        formed = add_votes(matches, formed, seen)
    raised = [score + bonus.get(r.sentence.id, 0.0) for score, r in zip(formed, matches, strict=True)]
    parts = _choose(parsed, matches, raised, seen=seen or {})
    features = measure_answer(parsed, matches, scores=formed, chosen=[p.core for p in parts])
    words, around, short = "", "", None
    if seen is not None:
        best = seen[matches[parts[0].core].sentence.id]
        features |= measure_reader([seen[r.sentence.id] for r in matches], best=parts[0].core)
        marks = {parts[0]: _mark_reader_words(best)}
        words, around = _find_reader_words(matches, parts[0].core, best)
        short = choose_short(parsed, matches[parts[0].core].sentence, best, around=around)
    else:
        sure = next((p for p in parts if matches[p.core].sure), None)
        marks = {sure: tuple(_mark_expected(parsed, matches[sure.core]))} if sure else {}
    claims = (_make_claim(matches, p, marks=marks.get(p, ())) for p in _sort_runs(matches, parts))
    limited = not around or has_extreme(parsed, around)
    return Extraction(tuple(claims), MappingProxyType(features), words, around, short, limited)


def _score_form(parsed: ParsedQuestion, match: SentenceMatch) -> float:
    """Score the form of a sentence: what no answer has, and what a kind of question asks for."""
    text = match.sentence.text
    score = 0.0
    if parsed.expected is not Expected.SPEECH and _ASKS_BACK.search(text):
        score += ASKS_BACK
    if is_apparatus(match.sentence.chunk.section):
        score += EXERCISE
    if is_headline(text) or says_nothing(match.sentence):
        score += HEADLINE
    if parsed.kind is QuestionKind.YES_NO and points_back(text):
        score += POINTS_BACK
    if is_caption(match.sentence):
        score += CAPTION
    if parsed.kind in (*_IN_PROSE, QuestionKind.HOW_TO, QuestionKind.YES_NO) and is_reference(text):
        score += REFERENCE
    if parsed.kind in _IN_PROSE and match.sentence.kind is ElementKind.CODE:
        score += CODE
    if parsed.kind is QuestionKind.LIST:
        return score + 1.0 * bool(_ENUMERATES.search(text))
    if parsed.kind is QuestionKind.HOW_TO:
        return score + 0.7 * bool(_STEP.search(text)) + 0.5 * is_list_item(match.sentence)
    if parsed.kind is QuestionKind.DEFINITION and parsed.focus:
        return score + 1.5 * _score_definition(parsed, match)
    return score


def _discount_address(text: str, seen: SentenceScore) -> SentenceScore:
    """Take from the reader's opinion what it has of the name of the one who is spoken to."""
    words, after = text[seen.start : seen.end], text[seen.end : seen.end + 1]
    named = words.istitle() and len(words.split()) <= 3 and after in (",", ";", "!", "?", ".", "—")
    if not named or not _ADDRESSED.search(text[max(0, seen.start - 12) : seen.start]):
        return seen
    return replace(seen, margin=min(seen.margin, ADDRESSED), answerable=min(seen.answerable, ADDRESSED))


def is_headline(text: str) -> bool:
    """Whether a sentence begins with a line of capitals, and nothing ends it as a sentence."""
    first, *_ = text.strip().splitlines()
    return first.isupper() and " " in first and not text.rstrip().endswith((".", "!", "?", "”", '"'))


def says_nothing(sentence: Sentence) -> bool:
    """Whether a line has no words ("112", "[D]"), or only repeats the heading of its section."""
    if sentence.kind in (ElementKind.CODE, ElementKind.ROW, ElementKind.ITEM):
        return False
    words = _WORDS.findall(sentence.text.casefold())
    return len("".join(words)) <= 1 or words == _WORDS.findall(sentence.chunk.section.casefold())


def is_apparatus(title: str) -> bool:
    """Whether a section is by its title no text of the book: exercises, references, contents."""
    return _EXERCISES.fullmatch(title) is not None


def is_reference(text: str) -> bool:
    """Whether a sentence says where something is told, instead of telling it."""
    return _REFERENCE.search(text) is not None


def is_list_item(sentence: Sentence) -> bool:
    """Whether a sentence is an item of a list or a row of a table."""
    return sentence.kind in (ElementKind.ITEM, ElementKind.ROW)


def _score_definition(parsed: ParsedQuestion, match: SentenceMatch) -> float:
    """Score whether a sentence defines the question's subject. The first one of its section has more."""
    verb = _DEFINES.search(match.sentence.text)
    if verb is None or is_reference(match.sentence.text):
        return 0.0
    subject = {t.stem for t in match.tokens if t.end <= verb.start()}
    if not {f.stem for f in parsed.focus} <= subject or len(subject) > 3 * len(parsed.focus) + 4:
        return 0.0
    titled = {t.stem for t in tokenize(match.sentence.chunk.section)}
    return 1.0 + 0.5 * (not titled.isdisjoint(f.stem for f in parsed.focus)) * (match.sentence.start == 0)


def _choose(
    parsed: ParsedQuestion,
    matches: Sequence[SentenceMatch],
    scores: Sequence[float],
    *,
    seen: Mapping[str, SentenceScore],
) -> list[_SentenceRun]:
    """Choose the best sentences with their context, best first, within the limit of words."""
    order = sorted(range(len(matches)), key=lambda n: (-round(scores[n], 9), n))
    odds = normalise_scores(scores)
    words_left, settled = MOST_WORDS, 0.0
    parts: list[_SentenceRun] = []
    for n in [*_find_sides(parsed, matches, order), *order]:
        held = any(p.first <= n <= p.last for p in parts)
        here = matches[n].sentence
        held = held or (bool(parts) and (is_headline(here.text) or says_nothing(here)))
        if held or (parts and matches[n].words > words_left) or _is_repeated(matches, parts, n, seen):
            continue
        wanted = parsed.kind is QuestionKind.COMPARISON and len(parts) < 2
        if parts and not wanted and (settled >= ENOUGH or odds[n] < TOO_LITTLE):
            break
        if not parts and _gives_way(matches, scores, n):
            continue
        chosen = {k for p in parts for k in range(p.first, p.last + 1)}
        part = _add_context(parsed, matches, n, words_left=words_left, chosen=chosen)
        parts.append(part)
        words_left -= sum(matches[k].words for k in range(part.first, part.last + 1))
        settled += sum(odds[part.first : part.last + 1])
        if len(parts) == MOST_CLAIMS:
            break
    return parts


def _gives_way(matches: Sequence[SentenceMatch], scores: Sequence[float], n: int) -> bool:
    """Whether a sentence is too long to be the first, because there is a shorter one that may be."""
    if matches[n].words <= MOST_WORDS:
        return False
    least = scores[n] - NEARLY if matches[n].words <= MOST_FIRST else min(scores)
    return any(r.words <= MOST_WORDS and s >= least for r, s in zip(matches, scores, strict=True))


def _is_repeated(
    matches: Sequence[SentenceMatch],
    parts: Sequence[_SentenceRun],
    n: int,
    seen: Mapping[str, SentenceScore],
) -> bool:
    """Whether the same words were chosen already, from another place, or those of them that answer."""
    here = matches[n]
    if any(matches[p.core].sentence.text == here.sentence.text for p in parts):
        return True
    score = seen.get(here.sentence.id)
    if score is None or not parts:
        return False
    said = {t.stem for p in parts for t in matches[p.core].tokens}
    words = {t.stem for t in here.tokens if score.start <= t.start and t.end <= score.end and not t.stop}
    return bool(words) and words <= said


def _find_sides(
    parsed: ParsedQuestion, matches: Sequence[SentenceMatch], order: Sequence[int]
) -> Iterator[int]:
    """For a comparison, find the best sentence about each of the two things."""
    found = _SIDES.search(parsed.text) if parsed.kind is QuestionKind.COMPARISON else None
    if found is None:
        return
    for side in found.groups():
        wanted = {t.stem for t in tokenize(side) if not t.stop}
        with_it = (n for n in order if not wanted.isdisjoint(t.stem for t in matches[n].tokens))
        yield from list(with_it)[:1]


def _add_context(
    parsed: ParsedQuestion, matches: Sequence[SentenceMatch], n: int, *, words_left: int, chosen: Set[int]
) -> _SentenceRun:
    """Add the sentence that this one refers back to, the one that turns it, or the items that follow.

    All within the limit of words.

    What was chosen already is not added again.
    """
    first = last = n
    left = words_left - matches[n].words
    if matches[n].sentence.text.rstrip().endswith(":"):
        while _follows(matches, last) and last + 1 not in chosen and matches[last + 1].words <= left:
            after = matches[last + 1].sentence
            if is_caption(after) or says_nothing(after):
                break
            if last > n and not is_list_item(matches[last + 1].sentence):
                break
            last += 1
            left -= matches[last].words
    elif last + 1 not in chosen and _is_turned(parsed, matches, n) and matches[n + 1].words <= left:
        last += 1
        left -= matches[last].words
    if n - 1 not in chosen and _needs_before(parsed, matches, n) and matches[n - 1].words <= left:
        first -= 1
    return _SentenceRun(first, last, n)


def explains(text: str) -> bool:
    """Whether a sentence turns or explains the one before it."""
    return _TURN.match(text) is not None


def _is_turned(parsed: ParsedQuestion, matches: Sequence[SentenceMatch], n: int) -> bool:
    """Whether the next sentence of the paragraph turns what this one says: "However, …", "This means …".

    Without it, what something is, whether it is so, or how it is done would be told by half.
    """
    if parsed.kind not in _TURNED or not _follows(matches, n):
        return False
    here, after = matches[n].sentence, matches[n + 1].sentence
    return here.block == after.block and explains(after.text)


def _follows(matches: Sequence[SentenceMatch], n: int) -> bool:
    """Whether the next sentence follows in the same passage. Some in between may not have been read."""
    if n + 1 >= len(matches):
        return False
    here, after = matches[n].sentence, matches[n + 1].sentence
    between = here.chunk.content[here.end - here.chunk.start : after.start - here.chunk.start]
    return here.chunk.id == after.chunk.id and not any(map(str.isalnum, between))


def _needs_before(parsed: ParsedQuestion, matches: Sequence[SentenceMatch], n: int) -> bool:
    """Whether it begins with a pronoun, and the sentence before has words of the question that it lacks."""
    if n == 0 or not _follows(matches, n - 1) or not refers_back(matches[n].sentence.text):
        return False
    weight, here = weigh_focus(parsed), matches[n]
    both = [max(a, b) for a, b in zip(here.own, here.before, strict=True)]
    return weigh_matches(both, weight) > weigh_matches(here.own, weight)


def _sort_runs(matches: Sequence[SentenceMatch], parts: Sequence[_SentenceRun]) -> list[_SentenceRun]:
    """Sort sections by their best claim, and claims within a section in the order of the book."""
    sections = [matches[p.core].sentence.chunk.section_id for p in parts]
    return sorted(
        parts,
        key=lambda p: (
            sections.index(matches[p.core].sentence.chunk.section_id),
            matches[p.first].sentence.start,
        ),
    )


def _make_claim(
    matches: Sequence[SentenceMatch], part: _SentenceRun, *, marks: Sequence[tuple[int, int]]
) -> Claim:
    held = [matches[n].sentence for n in range(part.first, part.last + 1)]
    chunk, start = held[0].chunk, held[0].start
    text = chunk.content[start - chunk.start : held[-1].end - chunk.start]
    shift = matches[part.core].sentence.start - start
    moved = tuple((a + shift, b + shift) for a, b in marks)
    return Claim(text=text, sentences=tuple(s.id for s in held), marks=moved)


def _mark_reader_words(seen: SentenceScore) -> tuple[tuple[int, int], ...]:
    """Mark the words that answer, if the trained reader prefers them to "no answer"."""
    return ((seen.start, seen.end),) if seen.margin > 0 and seen.end > seen.start else ()


def _find_reader_words(matches: Sequence[SentenceMatch], n: int, seen: SentenceScore) -> tuple[str, str]:
    """Find the words that answer best, however sure they are, and the text around them."""
    here = matches[n].sentence
    before = matches[n - 1].sentence.start if n and _follows(matches, n - 1) else here.start
    text = here.chunk.content[before - here.chunk.start : here.end - here.chunk.start]
    return here.text[seen.start : seen.end], ": ".join((*here.chunk.heading_path[-1:], text))


def _mark_expected(parsed: ParsedQuestion, match: SentenceMatch) -> Iterator[tuple[int, int]]:
    """Mark the expected expression that stands nearest to the question's own words."""
    if parsed.expected in (Expected.ANYTHING, Expected.SPEECH) or not match.sure:
        return
    asked = {f.stem for f in parsed.focus}
    places = [t.start for t in match.tokens if t.stem in asked] or [0]
    yield min(match.sure, key=lambda span: (sum(abs(span[0] - p) for p in places), span))
