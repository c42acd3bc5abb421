"""Whether a sentence in other words still says what its sentences say: judged by rules, and strictly.

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

from octavo.prompts import common, language
from octavo.sentences import sentences
from octavo.wording.context import Cited, lists, readings, topic_of, without_setting
from octavo.wording.rules import faults
from octavo.wording.text import ARTICLES, GRAVE, PRONOUNS, Word, known, states, words

__all__ = ["Cited", "Judged", "judge", "objections"]

_JOINT = re.compile(r"\s*[;,:—–]\s*(?:and|but|while)?\s+|\s+(?:and|but|while)\s+")


@dataclass(frozen=True, slots=True)
class Judged:
    """What speaks against a claim, and its sentences as they were read: with their context, if need be."""

    against: tuple[str, ...]
    texts: tuple[str, ...]


def objections(said: str, cited: Sequence[Cited], *, given: str = "") -> tuple[str, ...]:
    """What speaks against a claim, given the sentences it rests on; nothing if it holds."""
    return judge(said, cited, given=given).against


def judge(said: str, cited: Sequence[Cited], *, given: str = "") -> Judged:
    """Holds a claim against the sentences it rests on. `given` is the question: it may tell who is meant."""
    texts = [one.text for one in cited]
    quoted = {_plain(text[part.start : part.end]) for text in texts for part in sentences(text)}
    quoted |= {_plain(text) for text in texts}
    small = common(language(" ".join(texts))) - GRAVE.keys()
    carriers = [
        replace(c, text=_without(small, c.text), before=_without(small, c.before))
        for c in (*cited, *lists(cited))
    ]
    read, named = dict[Cited, str](), words(" . ".join((given, *texts)))
    for part in sentences(said):
        sentence = said[part.start : part.end]
        if _plain(sentence) not in quoted:
            wrong, found = _unsaid(_without(small, sentence), carriers, named)
            if wrong:
                return Judged((wrong,), tuple(texts))
            read |= found
    as_read = (read.get(c, one.text) for c, one in zip(carriers, cited, strict=False))
    return Judged((), (*as_read, *(text for c, text in read.items() if c in carriers[len(cited) :])))


def _plain(text: str) -> str:
    return " ".join(w.low for w in words(text) if not w.mark)


def _without(small: frozenset[str], text: str) -> str:
    return re.sub(r"\w+", lambda w: "" if w[0].casefold() in small else w[0], text) if small else text


def _unsaid(sentence: str, cited: Sequence[Cited], given: Sequence[Word]) -> tuple[str, dict[Cited, str]]:
    """What speaks against a sentence. One cited sentence has to carry it, or one each of its statements.

    If nothing does: the sentences that carry it, as they were read.
    """
    first, read = _carried(sentence, cited, given)
    if not first:
        return "", read
    for joint in _JOINT.finditer(sentence) if len(cited) > 1 else ():
        before, after = sentence[: joint.start()], sentence[joint.end() :]
        if not states(words(before)) or (_own_subject(after) and not states(words(after))):
            continue  # a bare name is in many a sentence
        wrong, read = _carried(before, cited, given)
        carrier = next(iter(read), None)
        rest = [one for one in cited if one != carrier]
        if not _own_subject(after):  # "… and wrote": the sentence after has to say it of the same one
            rest = [one for one in rest if _goes_on(one, carrier)]
        if not wrong and rest:
            wrong, more = _carried(after, rest, given)
            if not wrong:
                return "", read | more
    return first, {}


def _own_subject(text: str) -> bool:
    first = next(iter(words(text)), None)
    return first is not None and (
        first.low in ARTICLES | PRONOUNS | GRAVE.keys() or first.number or first.raw[0].isupper()
    )


def _goes_on(one: Cited, carrier: Cited | None) -> bool:
    begins = words(one.text)[:1]
    return carrier is not None and one.before == carrier.text and bool(begins) and begins[0].low in PRONOUNS


def _carried(said: str, cited: Sequence[Cited], given: Sequence[Word]) -> tuple[str, dict[Cited, str]]:
    """The sentence that carries a statement, as it was read; or what the nearest one has against it."""
    mine, nearest, worst = words(said), -1, "it names no sentence"
    for one in cited:
        before, headings, topic = words(one.before), words(one.headings), topic_of(one)
        bare = without_setting(mine, headings, given)
        forms = [mine, bare] if len(bare) < len(mine) else [mine]
        held = list[str]()
        for text in readings(mine, one, given):
            against = [
                next(faults(form, text, before=before, headings=headings, topic=topic), "") for form in forms
            ]
            if not all(against):
                held.append(text)
            elif (shared := len({w.key for w in mine} & {w.key for w in words(text)})) > nearest:
                nearest, worst = shared, against[0]
        if held:
            text = min(held, key=lambda text: _missing(mine, text))
            if _missing(mine, text)[0]:  # a heading told who or where
                text = f"{text.rstrip('.')}, {one.headings}"
            return "", {one: text}
    return worst, {}


def _missing(said: Sequence[Word], text: str) -> tuple[int, int]:
    """How many words of a statement a text does not have: those that say something, and all of them."""
    there = words(text)
    gone = [word for word in said if not known(word, there)]
    return sum(word.content for word in gone), len(gone)
