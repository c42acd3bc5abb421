"""Complete the second half of a question from the first half and its answer, and a third from the second.

"What food did he dream about, and where did the doctor keep a piece of it?" asks with "it" for the answer of
the first half. "Since which version are there accounts, and since which can I write scripts?" leaves out a
word of the first half.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.answers.followups import find_it, interpret
from octavo.answers.turns import Turn
from octavo.text.clean import collapse
from octavo.text.english import tokenize
from octavo.text.phrases import find_phrases, is_listed, is_verb

if TYPE_CHECKING:
    from octavo.verification.claims import Claim

# The most words of an answer that stand for "it".
ANSWER_MOST = 6
_AUXILIARY = (
    r"(?:is|are|was|were|am|do|does|did|has|have|had|can|could|should|must|may|might|will|would|shall)\b"
)
_ASKED_KIND = re.compile(
    rf"(?P<led>\w+ )??(?P<asks>which|what|whose|how many|how much) "
    rf"(?P<noun>(?!{_AUXILIARY})[\w-]+(?: (?!{_AUXILIARY})[\w-]+){{0,2}}?) (?P<verb>{_AUXILIARY})",
    re.IGNORECASE,
)
_WITHOUT_KIND = re.compile(
    rf"(?P<led>\w+ )??(?P<asks>which|what|whose|how many|how much) (?P<rest>{_AUXILIARY}.*)", re.IGNORECASE
)
_WITHOUT_ACTION = re.compile(
    r"(?P<asks>what|which \w+|where|when|why|whom?|how) (?P<lead>to|in|for|from|by|on|with|at|after|before)\b"
    r"(?P<rest>.+)",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"\b(?:ways? to|how (?:do|can|could|should) (?:i|you|we|one)|how to) (?P<task>.+)", re.IGNORECASE
)
_THAT_WAY = re.compile(r" (?:in )?(?:that|this) way\W*$", re.IGNORECASE)
_WHAT = re.compile(rf"what (?P<verb>{_AUXILIARY})", re.IGNORECASE)
_ABOUT_SUBJECT = re.compile(r"\b(?:do|mean|cost|weigh|happen|called|named|like|look like)\W*$", re.IGNORECASE)
_ASKS_WHO = re.compile(r"who(?: is| was|['’]s) (?P<name>[a-z]+(?: [a-z]+){0,2})\?", re.IGNORECASE)
# "What is the advantage, and what does it cost?" does not ask for the cost of the advantage.
_PROPERTY = re.compile(
    r"\w+ (?:\w+ )?(?:(?:dis)?advantage|benefit|drawback|difference|point|name|title|purpose|reason|meaning"
    r"|cause|effect|use|cost|price|number|date|size|length|colou?r|age)",
    re.IGNORECASE,
)
_BE = re.compile(r"(?:is|are|was|were)$", re.IGNORECASE)
_DETERMINED = re.compile(r"(?:the|an?|this|that|his|her|its|their|my|our)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Half:
    """One part of a question as it was asked, how likely it is answered, and the sentences that answer it.

    A claim that names no sentence stands among them with its text.
    """

    question: str
    answerable: float
    confidence: float
    sentences: frozenset[str]


def list_named(claim: Claim) -> set[str]:
    """List the sentences that a claim names, or its text if it names none."""
    return set(claim.sentences or (claim.text,))


def complete_half(other: str, *, first: str, answer: str = "") -> str:
    """Return the second half of a question so that it stands alone. `answer` is what the first is told."""
    asked = collapse(first).rstrip(" ?!.")
    text = _fill_kind(other, asked) or _fill_action(other, asked) or _fill_way(other, asked) or other
    found = find_it(text)
    meant = _find_meant(asked, collapse(answer)) if found else ""
    if found and meant:
        owned = f"{meant}'s" if found[0].lower() == "its" else meant
        text = f"{text[: found.start()]}{owned}{text[found.end() :]}"
    return interpret(text, [Turn(_write_name(first), answer)])


def _write_name(first: str) -> str:
    """Write the name large in a question of who somebody is: "he" can mean "van helsing" then."""
    found = _ASKS_WHO.fullmatch(first)
    return f"{first[: found.start('name')]}{found['name'].title()}?" if found else first


def _fill_kind(other: str, asked: str) -> str:
    """Say which kind is asked for again: "since which can I …" after "since which version are there …".

    "What" alone asks for anything, unless the same word stands before both.
    """
    named, bare = _ASKED_KIND.match(asked), _WITHOUT_KIND.match(other)
    if not named or not bare:
        return ""
    same = named["asks"].lower() == bare["asks"].lower()
    led = [(found["led"] or "").lower() for found in (named, bare)]
    alike = led[0] == led[1] and (bool(led[1]) or bare["asks"].lower() != "what")
    return f"{bare['led'] or ''}{bare['asks']} {named['noun']} {bare['rest']}" if same and alike else ""


def _fill_action(other: str, asked: str) -> str:
    """Say again what is done: "what to answer the list" after "what do I press to answer everybody"."""
    bare = _WITHOUT_ACTION.match(other)
    if not bare or not asked.lower().startswith(f"{bare['asks'].lower()} "):
        return ""
    words = tokenize(bare["rest"])
    told = any(is_verb(words, number) or is_listed(w.text, "auxiliaries") for number, w in enumerate(words))
    before, lead, _ = asked.lower().rpartition(f" {bare['lead'].lower()} ")
    if not lead or (told and bare["lead"].lower() != "to"):
        return ""
    return f"{asked[: len(before)]} {bare['lead']}{bare['rest']}"


def _fill_way(other: str, asked: str) -> str:
    """Say which way is meant: "can I keep it that way" after "what are the ways to preseed"."""
    task, way = _TASK.search(asked), _THAT_WAY.search(other)
    return f"{other[: way.start()]} when I {task['task']}?" if task and way else ""


def _find_meant(asked: str, answer: str) -> str:
    """Find what "it" means after a question: its answer, the kind that it asks for, or its object."""
    kind, what = _ASKED_KIND.match(asked), _WHAT.match(asked)
    spoken_of = _find_object(asked)
    told = answer.strip(' .,;:"“”') if 0 < len(answer.split()) <= ANSWER_MOST else ""
    if kind and not (_BE.match(kind["verb"]) and spoken_of):
        return told or f"the {kind['noun']}"
    if what and not _BE.match(what["verb"]) and not _ABOUT_SUBJECT.search(asked):
        return told or spoken_of
    return spoken_of


def _find_object(asked: str) -> str:
    """Find the thing that a question speaks of, with its article: "the mirror" of "who stole the mirror"."""
    things = [p for p in find_phrases(asked) if _DETERMINED.match(p.text) and p.sort in ("", "beast")]
    direct = [p for p in things if not is_listed(p.lead, "phrase_leads") and p.lead != "of" and not p.plural]
    spoken_of = [p.text for p in direct if not _PROPERTY.fullmatch(p.text)]
    return spoken_of[-1] if spoken_of else ""
