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
from octavo.wording.rules import faults
from octavo.wording.text import ARTICLES, GRAVE, PRONOUNS, words

_JOINT = re.compile(r"\s*[;,:—–]\s*(?:and|but|while)?\s+|\s+(?:and|but|while)\s+")


@dataclass(frozen=True, slots=True)
class Cited:
    """A sentence that a claim rests on.

    `before` is the sentence just before it, where that is cited too: it tells who "he" is. The `headings`
    over it may tell that as well, or where something was.
    """

    text: str
    before: str = ""
    headings: str = ""


def objections(said: str, cited: Sequence[Cited]) -> tuple[str, ...]:
    """What speaks against a claim, given the sentences it rests on; nothing if it holds."""
    texts = [one.text for one in cited]
    quoted = {_plain(text[part.start : part.end]) for text in texts for part in sentences(text)}
    quoted |= {_plain(text) for text in texts}
    small = common(language(" ".join(texts))) - GRAVE.keys()
    carriers = [replace(c, text=_without(small, c.text), before=_without(small, c.before)) for c in cited]
    for part in sentences(said):
        sentence = said[part.start : part.end]
        if _plain(sentence) not in quoted:
            wrong = _unsaid(_without(small, sentence), carriers)
            if wrong:
                return (wrong,)
    return ()


def _plain(text: str) -> str:
    return " ".join(w.low for w in words(text) if not w.mark)


def _without(small: frozenset[str], text: str) -> str:
    return re.sub(r"\w+", lambda w: "" if w[0].casefold() in small else w[0], text) if small else text


def _unsaid(sentence: str, cited: Sequence[Cited]) -> str:
    """What speaks against a sentence. One cited sentence has to carry it, or one each of its statements."""
    first, _ = _carried(sentence, cited)
    if not first:
        return ""
    for joint in _JOINT.finditer(sentence) if len(cited) > 1 else ():
        before, after = sentence[: joint.start()], sentence[joint.end() :]
        wrong, carrier = _carried(before, cited)
        rest = [one for one in cited if one != carrier]
        if not _own_subject(after):  # "… and wrote": the sentence after has to say it of the same one
            rest = [one for one in rest if _goes_on(one, carrier)]
        if not wrong and rest and not _carried(after, rest)[0]:
            return ""
    return first


def _own_subject(text: str) -> bool:
    first = next(iter(words(text)), None)
    return first is not None and (
        first.low in ARTICLES | PRONOUNS | GRAVE.keys() or first.number or first.raw[0].isupper()
    )


def _goes_on(one: Cited, carrier: Cited | None) -> bool:
    begins = words(one.text)[:1]
    return carrier is not None and one.before == carrier.text and bool(begins) and begins[0].low in PRONOUNS


def _carried(said: str, cited: Sequence[Cited]) -> tuple[str, Cited | None]:
    """Nothing, and the sentence that carries a statement; or what the nearest one has against it."""
    mine, nearest, worst = words(said), -1, "it names no sentence"
    for one in cited:
        lent = words(one.before), words(one.headings)
        wrong = next(faults(mine, one.text, before=lent[0], headings=lent[1]), "")
        if not wrong:
            return "", one
        common_words = len({w.key for w in mine} & {w.key for w in words(one.text)})
        if common_words > nearest:
            nearest, worst = common_words, wrong
    return worst, None
