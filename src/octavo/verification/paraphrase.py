"""Judge whether a sentence in other words still says what its sentences say: by rules, and strictly.

A paraphrase may change the voice, move "in 1874" to the front, leave out a circumstance, put a name in the
place of "it", or join two sentences. It may not bring in a word, a number or a name that is not there, lose
or gain a "not", "some", "may", "if" or "at most", turn around who did it and who suffered it, or lend one
sentence the subject of another. What the rules cannot follow is objected to: a true sentence may be lost, a
false one should not get through. They are written for English. Of other languages only the smallest words are
known, so that little passes but what keeps to the words and their order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from octavo.text.language import detect_language, list_common_words
from octavo.text.sentences import split_sentences
from octavo.verification.context import CitedSentence, drop_setting, find_topic, join_lists, write_readings
from octavo.verification.lexemes import (
    ARTICLES,
    DECISIVE,
    PRONOUNS,
    Lexeme,
    has_verb,
    is_among,
    read_lexemes,
)
from octavo.verification.rules import find_faults

_JOINT = re.compile(r"\s*[;,:—–]\s*(?:and|but|while)?\s+|\s+(?:and|but|while)\s+")
Readings = dict[CitedSentence, str]
"""Sentences that support a statement, and how each was read: with its context, if need be."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What speaks against a claim, and its sentences as they were read: with their context, if need be."""

    against: tuple[str, ...]
    texts: tuple[str, ...]


def judge(said: str, cited: Sequence[CitedSentence], *, given: str = "") -> Judgement:
    """Judge a claim by the sentences it rests on. `given` is the question: it may tell who is meant."""
    texts = [one.text for one in cited]
    quoted = {_normalise(text[part.start : part.end]) for text in texts for part in split_sentences(text)}
    quoted |= {_normalise(text) for text in texts}
    small = list_common_words(detect_language(" ".join(texts))) - DECISIVE.keys()
    carriers = [
        replace(c, text=_drop_words(small, c.text), before=_drop_words(small, c.before))
        for c in (*cited, *join_lists(cited))
    ]
    read, named = Readings(), read_lexemes(" . ".join((given, *texts)))
    for part in split_sentences(said):
        sentence = said[part.start : part.end]
        if _normalise(sentence) not in quoted:
            wrong, found = _judge_sentence(_drop_words(small, sentence), carriers, named)
            if wrong:
                return Judgement((wrong,), tuple(texts))
            read |= found
    as_read = (read.get(c, one.text) for c, one in zip(carriers, cited, strict=False))
    return Judgement((), (*as_read, *(text for c, text in read.items() if c in carriers[len(cited) :])))


def _normalise(text: str) -> str:
    return " ".join(w.low for w in read_lexemes(text) if not w.mark)


def _drop_words(small: frozenset[str], text: str) -> str:
    return re.sub(r"\w+", lambda w: "" if w[0].casefold() in small else w[0], text) if small else text


def _judge_sentence(
    sentence: str, cited: Sequence[CitedSentence], given: Sequence[Lexeme]
) -> tuple[str, Readings]:
    """Return what speaks against a sentence, or else the cited sentences that support it.

    One cited sentence has to support it, or one each of its statements.
    """
    first, read = _find_support(sentence, cited, given)
    if not first:
        return "", read
    for joint in _JOINT.finditer(sentence) if len(cited) > 1 else ():
        before, after = sentence[: joint.start()], sentence[joint.end() :]
        # A bare name is in many a sentence, so it proves nothing.
        if has_verb(read_lexemes(before)) and (not _has_subject(after) or has_verb(read_lexemes(after))):
            read = _judge_parts(before, after, cited, given)
            if read:
                return "", read
    return first, {}


def _judge_parts(
    before: str, after: str, cited: Sequence[CitedSentence], given: Sequence[Lexeme]
) -> Readings:
    """Return the sentences that support two statements, one each; nothing if there are none."""
    wrong, read = _find_support(before, cited, given)
    carrier = next(iter(read), None)
    rest = [one for one in cited if one != carrier]
    # "… and wrote": the sentence after has to say it of the same one.
    if not _has_subject(after):
        rest = [one for one in rest if _continues(one, carrier)]
    if wrong or not rest:
        return {}
    wrong, more = _find_support(after, rest, given)
    return {} if wrong else read | more


def _has_subject(text: str) -> bool:
    first = next(iter(read_lexemes(text)), None)
    return first is not None and (
        first.low in ARTICLES | PRONOUNS | DECISIVE.keys() or first.number or first.raw[0].isupper()
    )


def _continues(one: CitedSentence, carrier: CitedSentence | None) -> bool:
    begins = read_lexemes(one.text)[:1]
    return carrier is not None and one.before == carrier.text and bool(begins) and begins[0].low in PRONOUNS


def _find_support(said: str, cited: Sequence[CitedSentence], given: Sequence[Lexeme]) -> tuple[str, Readings]:
    """Return the sentence that supports a statement, as it was read; or what the nearest one objects to."""
    mine, nearest, worst = read_lexemes(said), -1, "it names no sentence"
    for one in cited:
        before, headings, topic = read_lexemes(one.before), read_lexemes(one.headings), find_topic(one)
        bare = drop_setting(mine, headings, given)
        forms = [mine, bare] if len(bare) < len(mine) else [mine]
        held = list[str]()
        for text in write_readings(mine, one, given):
            against = [
                next(find_faults(form, text, before=before, headings=headings, topic=topic), "")
                for form in forms
            ]
            if not all(against):
                held.append(text)
            elif (shared := len({w.key for w in mine} & {w.key for w in read_lexemes(text)})) > nearest:
                nearest, worst = shared, against[0]
        if held:
            return "", {one: _choose_reading(mine, held, one)}
    return worst, {}


def _choose_reading(said: Sequence[Lexeme], held: Sequence[str], one: CitedSentence) -> str:
    """Return the reading that lacks least of the statement, with the headings if they told who or where."""
    text = min(held, key=lambda text: _count_missing(said, text))
    return f"{text.rstrip('.')}, {one.headings}" if _count_missing(said, text)[0] else text


def _count_missing(said: Sequence[Lexeme], text: str) -> tuple[int, int]:
    """Count the words of a statement that a text does not have: those that say something, and all."""
    there = read_lexemes(text)
    gone = [word for word in said if not is_among(word, there)]
    return sum(word.content for word in gone), len(gone)
