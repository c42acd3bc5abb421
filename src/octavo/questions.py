"""Reads a question: of what kind it is, what sort of expression would answer it, which of its words count.

A question's focus words are its content words with their weight. Names, numbers and superlatives among them
are marked, because an answer that lacks one of those answers another question. The words that only say what
sort of thing is asked for ("which *country*") are marked too: a good answer seldom repeats them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from octavo.mentions import Expected
from octavo.words import Token, lexicon, rarity, tokens


class Kind(StrEnum):
    FACT = "fact"
    DEFINITION = "definition"
    LIST = "list"
    HOW_TO = "how-to"
    WHY = "why"
    YES_NO = "yes-no"
    COMPARISON = "comparison"
    SEQUEL = "sequel"


class Role(StrEnum):
    """What a focus word is to its question."""

    WORD = "word"
    NAME = "name"
    NUMBER = "number"
    EXTREME = "extreme"
    SORT = "sort"


@dataclass(frozen=True, slots=True)
class Focus:
    """A content word of the question. `weight` is its rarity, never 0."""

    stem: str
    weight: float
    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question as it was understood."""

    text: str
    kind: Kind
    expected: Expected
    focus: tuple[Focus, ...]
    negated: bool
    tokens: tuple[Token, ...]

    @property
    def weight(self) -> float:
        return sum(f.weight for f in self.focus)


_AUXILIARY = "is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|might|must|shall"
_NEGATION = re.compile(
    r"\b(?:not|never|no|none|nor|neither|without|cannot|nobody|nothing)\b|n['’]t\b", re.IGNORECASE
)
_DATE_WORDS = "year|years|date|day|month|century|decade|time|era|period|season|age"
_NUMBER_WORDS = (
    "number|percentage|percent|population|amount|rate|ratio|proportion|price|cost|size|length|height|temperature|"
    "fraction|distance|total|speed|score"
)
_PLACE_WORDS = (
    "country|countries|city|cities|town|place|state|region|continent|location|river|island|sea|ocean|village|province|"
    "county|nation|area|street|district|mountain|building|kingdom"
)
_PERSON_WORDS = (
    "person|king|queen|man|woman|leader|president|author|writer|scientist|emperor|pope|general|duke|people|ruler|"
    "monarch|name|singer|actor|player|group|company|organization"
)
_EXPECTED = tuple(
    (re.compile(pattern, re.IGNORECASE), expected)
    for pattern, expected in (
        (
            r"\bhow\s+(?:many|much|long|old|far|tall|high|large|big|often|fast|deep|wide|heavy)\b",
            Expected.NUMBER,
        ),
        (r"^\s*(?:how|what)\b.*\b(?:feel|felt|feelings?)\b", Expected.FEELING),
        (
            rf"\bwhat\s+(?:{_AUXILIARY})\b.*\b(?:say|tell|ask|reply|answer|cry|shout|think|exclaim)\b",
            Expected.SPEECH,
        ),
        (
            r"\bwhy\b|\bwhat\s+(?:\w+\s+)?(?:reasons?|caused?|causes|purpose|made)\b|\bhow\s+come\b",
            Expected.REASON,
        ),
        (
            rf"^(?:(?!\b(?:what|who|how|where|which)\b).)*\bwhen\b|\b(?:what|which)\s+(?:\w+\s+)?(?:{_DATE_WORDS})\b",
            Expected.DATE,
        ),
        (
            rf"\b(?:what|which)(?:\s+(?:is|was|are|were)\s+the)?\s+(?:\w+\s+)?(?:{_NUMBER_WORDS})\b",
            Expected.NUMBER,
        ),
        (r"^(?:(?!\b(?:what|who|how|which)\b).)*\bwhere\b", Expected.PLACE),
        (rf"\b(?:what|which)\s+(?:\w+\s+)?(?:{_PLACE_WORDS})\b", Expected.PLACE),
        (r"\bwho(?:m|se)?\b", Expected.PERSON),
        (rf"\b(?:what|which)\s+(?:\w+\s+)?(?:{_PERSON_WORDS})\b", Expected.PERSON),
    )
)
_KINDS = tuple(
    (re.compile(pattern, re.IGNORECASE), kind)
    for pattern, kind in (
        (
            r"\bdifferen(?:ce|t|ces)\b.*\b(?:between|from|than)\b|\bcompare[ds]?\b|\bversus\b|\bvs\b",
            Kind.COMPARISON,
        ),
        (r"\bwhy\b|\bhow\s+come\b|\bfor\s+what\s+reason", Kind.WHY),
        (
            r"\bwhat\s+(?:will\s+|would\s+)?happen(?:s|ed)?\b|\bwhat\s+(?:did|does|will)\b.*\bdo\b.*\b(?:when|after|because|once|if|before)\b",
            Kind.SEQUEL,
        ),
        (
            r"\b(?:what|which)\s+are\s+(?:the\s+)?(?:\w+\s+){0,2}(?:kinds|types|steps|ways|parts|stages|phases|examples|"
            r"names|reasons|causes|forms|members|benefits|advantages|rules|features|components|elements)\b"
            r"|^\s*(?:list|name|enumerate)\b|\b(?:what|which)\s+(?:two|three|four|five|six|several)\b",
            Kind.LIST,
        ),
        (r"^\s*how\s+(?:do|does|can|could|should|would|to|did)\b(?=.*\b(?:i|you|we|one|to)\b)", Kind.HOW_TO),
        (
            r"^\s*(?:define\b|what\s+does\s+.+\s+mean\b|what\s+is\s+(?:the\s+)?(?:meaning|definition)\s+of\b)",
            Kind.DEFINITION,
        ),
        (
            r"^\s*(?:what|who)\s+(?:is|are|was|were)\s+(?:an?\s+|the\s+)?[\w'’-]+(?:\s+[\w'’-]+){0,2}\s*\??\s*$",
            Kind.DEFINITION,
        ),
        (rf"^\s*(?:{_AUXILIARY})\b", Kind.YES_NO),
    )
)
_VERBAL = frozenset(_AUXILIARY.split("|"))


def read(question: str) -> Inquiry:
    """Understands a question, as far as its form tells."""
    words = tokens(question)
    kind = next((kind for pattern, kind in _KINDS if pattern.search(question)), Kind.FACT)
    expected = next((e for pattern, e in _EXPECTED if pattern.search(question)), Expected.ANYTHING)
    if kind in (Kind.YES_NO, Kind.COMPARISON, Kind.HOW_TO):
        expected = Expected.ANYTHING
    return Inquiry(
        text=question,
        kind=kind,
        expected=expected,
        focus=_focus(words),
        negated=bool(_NEGATION.search(question)),
        tokens=words,
    )


def negative(text: str) -> bool:
    return bool(_NEGATION.search(text))


def _focus(words: Sequence[Token]) -> tuple[Focus, ...]:
    sorts = _sort_words(words)
    found: dict[str, Focus] = {}
    for number, token in enumerate(words):
        extreme = is_extreme(token)
        if token.stop and not extreme:
            continue
        if token.stem not in found:
            role = Role.EXTREME if extreme else _role(token, number, number in sorts)
            found[token.stem] = Focus(token.stem, max(0.2, rarity(token.stem)), role, token.text)
    return tuple(found.values())


def _role(token: Token, number: int, sort: bool) -> Role:
    if token.number:
        return Role.NUMBER
    if token.capital and (number > 0 or rarity(token.stem) == 1.0):
        return Role.NAME
    return Role.SORT if sort else Role.WORD


def is_extreme(token: Token) -> bool:
    low = token.text.lower()
    return low in lexicon("extremes") or (
        low.endswith("est") and len(low) > 4 and low not in lexicon("not_extremes")
    )


def _sort_words(words: Sequence[Token]) -> frozenset[int]:
    """The places of the words between "what" or "which" and the verb: what kind of thing is asked for."""
    for number, token in enumerate(words):
        if token.text.lower() in ("what", "which", "whose", "many", "much"):
            end = number + 1
            while end < len(words) and end <= number + 4 and words[end].text.lower() not in _VERBAL:
                end += 1
            stopped = end < len(words) and words[end].text.lower() in _VERBAL
            if stopped:
                return frozenset(range(number + 1, end))
            return frozenset() if token.text.lower() == "what" else frozenset((number + 1,))
    return frozenset()
