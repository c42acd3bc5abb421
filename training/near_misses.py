"""Questions that a passage nearly answers: made by rule from questions that it does answer.

A name in the question becomes another name, a number another number, "first" becomes "last", "did" becomes
"did not"; or the sentence with the answer is taken out of the passage. What comes out looks right in every
word but one, which is what unanswerable questions of real readers look like. People's own are few.
"""

# ruff: noqa: ARG001 - every rule is called alike, whatever it looks at
from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

NAME = re.compile(r"(?<=[a-z,] )(?:[A-Z][\w'’-]+)(?: (?:of |the |de )?[A-Z][\w'’-]+)*")
NUMBER = re.compile(r"\b\d[\d,.]*\d\b|\b\d\b")
SENTENCE = re.compile(r"[^.!?]+(?:[.!?]+[\"”')\]]*\s*|$)")
PAIRS = """
    first/last largest/smallest most/least highest/lowest oldest/youngest before/after more/less north/south
    east/west northern/southern eastern/western increase/decrease increased/decreased won/lost began/ended
    start/end best/worst above/below minimum/maximum inside/outside early/late earliest/latest
    longest/shortest gain/lose greater/smaller upper/lower same/different male/female mother/father
    son/daughter brother/sister king/queen husband/wife buy/sell bought/sold import/export strong/weak
    rich/poor hot/cold public/private internal/external positive/negative major/minor winter/summer
    morning/evening good/bad open/closed approved/rejected accepted/refused support/oppose
    supported/opposed allowed/forbidden common/rare
"""
OPPOSITES = [pair.split("/") for pair in PAIRS.split()]
OTHER = {a: b for one, two in OPPOSITES for a, b in ((one, two), (two, one))}
DENIED = re.compile(
    r"\b(did|does|do|was|were|is|are|can|could|would|should|has|had|have|will)\b", re.IGNORECASE
)


def other_name(question: str, passage: str, answer: str, chance: random.Random, spare: Sequence[str]) -> str:
    """A name of the question replaced by one from the passage, or from elsewhere."""
    here = [m for m in NAME.finditer(question) if m.group() in passage]
    if not here:
        return ""
    found = chance.choice(here)
    own = dict.fromkeys(m.group() for m in NAME.finditer(passage))
    barred = (found.group(), answer)
    fit = [n for n in own if n not in barred and n not in question and n not in answer and answer not in n]
    names = fit if fit and chance.random() < 0.6 else list(spare)
    return question[: found.start()] + chance.choice(names) + question[found.end() :] if names else ""


def other_number(
    question: str, passage: str, answer: str, chance: random.Random, spare: Sequence[str]
) -> str:
    found = next(iter(NUMBER.finditer(question)), None)
    if found is None:
        return ""
    own = [m.group() for m in NUMBER.finditer(passage)]
    fit = [n for n in own if n != found.group() and len(n) == len(found.group()) and n not in answer]
    if fit and chance.random() < 0.6:
        number = chance.choice(fit)
    else:
        digits = re.sub(r"\D", "", found.group())
        far = chance.choice([-1, 1]) * chance.randint(1, 9 if len(digits) > 2 else 3)
        number = str(max(1, int(digits) + far))
    return "" if number == found.group() else question[: found.start()] + number + question[found.end() :]


def opposite(question: str, passage: str, answer: str, chance: random.Random, spare: Sequence[str]) -> str:
    words = question.split()
    places = [n for n, word in enumerate(words) if word.lower() in OTHER]
    if not places:
        return ""
    place = chance.choice(places)
    words[place] = OTHER[words[place].lower()]
    return " ".join(words)


def deny(question: str, passage: str, answer: str, chance: random.Random, spare: Sequence[str]) -> str:
    found = list(DENIED.finditer(question))
    if not found or re.search(r"\bnot\b|n't", question):
        return ""
    verb = found[0]
    rest = question[verb.end() :].split(" ")
    after = 1 if verb.group().lower() in ("is", "was", "are", "were") else min(2, len(rest) - 1)
    said = [*rest[:after], "not" if chance.random() < 0.7 else "never", *rest[after:]]
    return question[: verb.end()] + " ".join(said)


def without_answer(passage: str, start: int, answer: str) -> str:
    """The passage without the sentence that answers; empty where the answer stands elsewhere too."""
    parts = [(m.start(), m.end()) for m in SENTENCE.finditer(passage)]
    kept = [passage[a:b] for a, b in parts if not a <= start < b]
    left = "".join(kept).strip()
    words = {w.lower() for w in re.findall(r"\w{4,}", answer)}
    spoken = {w.lower() for w in re.findall(r"\w{4,}", left)}
    return left if len(left) > 80 and answer.lower() not in left.lower() and not words <= spoken else ""


RULES: tuple[tuple[Callable[[str, str, str, random.Random, Sequence[str]], str], float], ...] = (
    (other_name, 0.45),
    (other_number, 0.8),
    (opposite, 0.9),
    (deny, 0.04),
)


def near_miss(row: dict, passage: str, chance: random.Random, spare: Sequence[str]) -> str:
    """One question that the passage does not answer, or nothing."""
    for rule, share in RULES:
        if chance.random() < share:
            made = rule(row["q"], passage, row["a"], chance, spare)
            if made and made != row["q"]:
                return made
    return ""
