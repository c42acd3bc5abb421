"""Parses a question: its kind, the expression that would answer it, and the words that matter.

The focus words of a question are its content words, with their weight. Names, numbers and superlatives among
them are marked, because an answer that lacks one of those answers another question. The words that only say
what sort of thing is asked for ("which *country*") are marked too, because a good answer seldom repeats them.

`find_sure` and `find_loose` recognise what can answer a question: dates, numbers, names, places, reasons.
They return spans of characters, by plain patterns for English prose. Sure spans name the thing itself
("1066", "twelve"); loose ones are phrases that often stand for it ("the next morning", "under the bed").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from octavo.text.english import Token, list_words, measure_rarity, tokenize

Spans = tuple[tuple[int, int], ...]


class Expected(StrEnum):
    """What kind of expression the answer to a question is."""

    PERSON = "person"
    DATE = "date"
    PLACE = "place"
    NUMBER = "number"
    REASON = "reason"
    FEELING = "feeling"
    SPEECH = "speech"
    ANYTHING = "anything"


_ASKS = re.compile(
    r"(?:(?:in|at|on|to|for|from|by|of|with) )?(?:who|whom|whose|what|which|when|where|why|how)(?:['’]?s)?\b"
    r"|(?:is|are|was|were|do|does|did|can|could|should|would|will|has|have|had|may|must)\b",
    re.IGNORECASE,
)
_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DAY = "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_ORDINAL = r"(?:\d{1,2}(?:st|nd|rd|th)|[A-Za-z]+(?:th|first|second|third))"
_DATES = re.compile(
    rf"(?:\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?)?\b{_MONTH}\b(?:\s+\d{{1,2}}(?:st|nd|rd|th)?\b)?(?:,?\s+\d{{3,4}}\b)?"
    rf"|\b{_ORDINAL}(?:\s+(?:and|or|to)\s+(?:the\s+)?{_ORDINAL})?[\s-]+centur(?:y|ies)\b(?:\s+(?:BC|AD)E?)?"
    r"|\b(?:AD\s+)?\d{1,4}\s*(?:BCE?|AD|CE)\b"
    r"|\b(?:1\d{3}|20\d\d)(?:s|(?:\s*[–-]\s*\d{2,4}))?\b"
    r"|(?<=\bin )\d{3}\b(?! \w+s\b)"
    rf"|\b{_DAY}s?\b"
)
_LOOSE_DATES = re.compile(
    r"\b(?:the|that|this|one|every|next|last)\s+(?:\w+\s+)?(?:day|morning|night|evening|afternoon|year|week|month|"
    r"spring|summer|autumn|winter|time|moment|war|century)\b|\b(?:midnight|noon|dawn|sunrise|sunset|dusk)\b"
    r"|\b\w+\s+(?:years?|days?|months?|weeks?|hours?|minutes?)\s+(?:ago|later|after|before|old)\b"
    r"|\b(?:when|after|before|until|till|while|once|as soon as|since)\b\s+[^,.;]+",
    re.IGNORECASE,
)
_COUNT = (
    "(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|"
    "eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundreds?|thousands?|dozens?|"
    "millions?|billions?|half|quarter|third|twice|thrice|double)"
)
_NUMBERS = re.compile(
    rf"(?:[$£€]\s?|US\$)?\d+(?:,\d{{3}})*(?:\.\d+)?"
    r"(?:\s?%|\s(?:percent|per cent|hundred|thousand|million|billion|trillion))?"
    rf"|\b{_COUNT}(?:[\s-]+(?:and\s+)?{_COUNT})*\b",
    re.IGNORECASE,
)
_LOOSE_NUMBERS = re.compile(
    r"\b(?:one|once|many|several|few|some|all|none|both|no|majority|most|every|single|each|pair)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:1\d{3}|20\d\d)s?")
_REASONS = re.compile(
    r"\b(?:because|due to|owing to|so that|in order (?:to|that)|as a result|therefore|thus|hence|"
    r"for fear|lest|caus(?:e|ed|es|ing)|reason|led to|leads? to|resulted|thanks to|on account of|so as to|"
    r"since)\b[^.;]*",
    re.IGNORECASE,
)
_LOOSE_REASONS = re.compile(r"\b(?:so|for|as|to|that|if|wanted|afraid|thought)\b\s+[^.;,]+", re.IGNORECASE)
_FEELINGS = re.compile(
    r"\b(?:happ(?:y|ily|iness|ier)|sad(?:ly|ness|der)?|angr(?:y|ily)|anger(?:ed)?|afraid|frighten(?:ed|ing)|fright|fears?|feared|"
    r"glad(?:ly)?|delight(?:ed)?|puzzl(?:ed|ing)|surpris(?:ed|e)|asham(?:ed)|shame|sorry|sorrow(?:ful)?|pleas(?:ed|ure)|"
    r"jealous(?:y)?|env(?:y|ious)|proud(?:ly)?|pride|lone(?:ly|liness)|scared|terrif(?:ied|y)|terror|excit(?:ed|ement)|joy(?:ful|fully|ous)?|"
    r"cheer(?:ful|fully)?|merry|content(?:ed)?|disappoint(?:ed|ment)|upset|griev(?:ed)|grief|despair|hope(?:ful|less)?|"
    r"anxious|anxiety|worr(?:y|ied)|nervous|astonish(?:ed|ment)|amaz(?:ed|ement)|wonder|curious(?:ity)?|grateful|thankful|"
    r"tired|weary|hungry|cross|vexed|furious|rage|mad|miserable|misery|unhappy|distress(?:ed)?|trembl(?:ed|ing)|wept|weep(?:ing)?|"
    r"cr(?:ied|ying)|tears?|sob(?:bed|bing)|sigh(?:ed)?|relieved|love[ds]?|hat(?:ed|red)|felt|feel(?:ing)?|"
    r"overjoyed|offended|indignant|annoyed|horrified|horror|alarm(?:ed)?|embarrassed|guilty|satisfied|discouraged)\b",
    re.IGNORECASE,
)
_SPEECH = re.compile(
    r"[\"“‘”][^\"“”]{2,}|(?<!\w)'[^']{4,}|\b(?:said|told|asked|replied|answered|cried|shouted|thought)\s+[^.;]+"
)
_LOOSE_PLACES = re.compile(
    r"\b(?:in|on|under|behind|near|into|at|to|by|beside|inside|above|below|beneath|over|through|from|upon|among|outside)"
    r"\s+(?:the|a|an|his|her|their|its|my|our|some|every)\s+[a-z][\w-]*(?:\s+(?:of\s+(?:the\s+)?)?[a-z][\w-]+)?",
)
_JOINS = frozenset(("of", "the", "de", "von", "van", "la", "du", "and", "&"))


def find_sure(text: str, expected: Expected, tokens: Sequence[Token]) -> Spans:
    """Find expressions in `text` that name what is expected."""
    if expected is Expected.DATE:
        return _find_spans(_DATES, text)
    if expected is Expected.NUMBER:
        return tuple((a, b) for a, b in _find_spans(_NUMBERS, text) if not _YEAR.fullmatch(text[a:b]))
    if expected is Expected.PERSON:
        return find_names(tokens, text)
    if expected is Expected.PLACE:
        leads = list_words("place_leads")
        return tuple(span for span in find_names(tokens, text) if _find_lead(tokens, span[0]) in leads)
    patterns = {Expected.REASON: _REASONS, Expected.FEELING: _FEELINGS, Expected.SPEECH: _SPEECH}
    return _find_spans(patterns[expected], text) if expected in patterns else ()


def find_loose(text: str, expected: Expected, tokens: Sequence[Token]) -> Spans:
    """Find phrases in `text` that may stand for what is expected."""
    if expected is Expected.PERSON:
        return tuple((t.start, t.end) for t in tokens if t.text.lower() in list_words("people"))
    if expected is Expected.PLACE:
        return (*find_names(tokens, text), *_find_spans(_LOOSE_PLACES, text))
    patterns = {
        Expected.DATE: _LOOSE_DATES,
        Expected.NUMBER: _LOOSE_NUMBERS,
        Expected.REASON: _LOOSE_REASONS,
    }
    return _find_spans(patterns[expected], text) if expected in patterns else ()


def find_names(tokens: Sequence[Token], text: str) -> Spans:
    """Find runs of capitalised words. The first word counts if it is uncommon or the run goes on."""
    return tuple(_run_span(run) for run in _find_name_runs(tokens, text) if run)


def _find_name_runs(tokens: Sequence[Token], text: str) -> Iterator[list[Token]]:
    run: list[Token] = []
    for number, token in enumerate(tokens):
        gap = text[run[-1].end : token.start] if run else ""
        initial = bool(run) and len(run[-1].text) == 1 and gap == ". "
        if run and not initial and gap not in (" ", "-", "'", "’"):
            yield from _keep_run(run)
            run = []
        named = token.capital and not token.stop and not (number == 0 and _is_plain_opening(tokens))
        if named or (run and token.text.lower() in _JOINS):
            run.append(token)
        elif run:
            yield from _keep_run(run)
            run = []
    yield from _keep_run(run)


def _is_plain_opening(tokens: Sequence[Token]) -> bool:
    """Whether the capital of the first word means nothing: the word is common, and no name follows."""
    follows = len(tokens) > 1 and tokens[1].capital
    return not follows and measure_rarity(tokens[0].stem) < 1.0


def _keep_run(run: list[Token]) -> Iterable[list[Token]]:
    while run and run[-1].text.lower() in _JOINS:
        run = run[:-1]
    return (run,) if run else ()


def _run_span(run: Sequence[Token]) -> tuple[int, int]:
    return run[0].start, run[-1].end


def _find_lead(tokens: Sequence[Token], start: int) -> str:
    """Return the word before the span, skipping an article."""
    before = [t.text.lower() for t in tokens if t.end <= start][-2:]
    if before and before[-1] in ("the", "a", "an"):
        before = before[:-1]
    return before[-1] if before else ""


def _find_spans(pattern: re.Pattern[str], text: str) -> Spans:
    return tuple(m.span() for m in pattern.finditer(text))


class QuestionKind(StrEnum):
    FACT = "fact"
    DEFINITION = "definition"
    LIST = "list"
    HOW_TO = "how-to"
    WHY = "why"
    YES_NO = "yes-no"
    COMPARISON = "comparison"
    SEQUEL = "sequel"


class Role(StrEnum):
    """The role of a focus word in its question."""

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
class ParsedQuestion:
    """A question, its kind, and what would answer it."""

    text: str
    kind: QuestionKind
    expected: Expected
    focus: tuple[Focus, ...]
    negated: bool
    tokens: tuple[Token, ...]

    @property
    def weight(self) -> float:
        return sum(f.weight for f in self.focus)


_AUXILIARY = "|".join((*sorted(list_words("auxiliaries")), "shall"))
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
            QuestionKind.COMPARISON,
        ),
        (r"\bwhy\b|\bhow\s+come\b|\bfor\s+what\s+reason", QuestionKind.WHY),
        (
            r"\bwhat\s+(?:will\s+|would\s+)?happen(?:s|ed)?\b|\bwhat\s+(?:did|does|will)\b.*\bdo\b.*\b(?:when|after|because|once|if|before)\b",
            QuestionKind.SEQUEL,
        ),
        (
            r"\b(?:what|which)\s+are\s+(?:the\s+)?(?:\w+\s+){0,2}(?:kinds|types|steps|ways|parts|stages|phases|examples|"
            r"names|reasons|causes|forms|members|benefits|advantages|rules|features|components|elements)\b"
            r"|^\s*(?:list|name|enumerate)\b|\b(?:what|which)\s+(?:two|three|four|five|six|several)\b",
            QuestionKind.LIST,
        ),
        (
            r"^\s*how\s+(?:do|does|can|could|should|would|to|did)\b(?=.*\b(?:i|you|we|one|to)\b)",
            QuestionKind.HOW_TO,
        ),
        (
            r"^\s*(?:define\b|what\s+does\s+.+\s+mean\b|what\s+is\s+(?:the\s+)?(?:meaning|definition)\s+of\b)",
            QuestionKind.DEFINITION,
        ),
        (
            r"^\s*(?:what|who)\s+(?:is|are|was|were)\s+(?:an?\s+|the\s+)?[\w'’-]+(?:\s+[\w'’-]+){0,2}\s*\??\s*$",
            QuestionKind.DEFINITION,
        ),
        (rf"^\s*(?:{_AUXILIARY})\b", QuestionKind.YES_NO),
    )
)
_VERBAL = frozenset(_AUXILIARY.split("|"))


def write_question(typed: str) -> str:
    """Write a question as the trained readers learned questions: "who is ahab" is "Who is ahab?"."""
    asked = typed.strip()
    if not _ASKS.match(asked):
        return typed
    return f"{asked[:1].upper()}{asked[1:]}{'' if asked.endswith(('?', '.', '!')) else '?'}"


def parse_question(question: str) -> ParsedQuestion:
    """Find the kind, the expected expression and the focus of a question from its form."""
    words = tokenize(question)
    kind = next((kind for pattern, kind in _KINDS if pattern.search(question)), QuestionKind.FACT)
    expected = next((e for pattern, e in _EXPECTED if pattern.search(question)), Expected.ANYTHING)
    if kind in (QuestionKind.YES_NO, QuestionKind.COMPARISON, QuestionKind.HOW_TO):
        expected = Expected.ANYTHING
    return ParsedQuestion(
        text=question,
        kind=kind,
        expected=expected,
        focus=_find_focus(words),
        negated=bool(_NEGATION.search(question)),
        tokens=words,
    )


def is_negative(text: str) -> bool:
    return bool(_NEGATION.search(text))


def _find_focus(words: Sequence[Token]) -> tuple[Focus, ...]:
    sorts = _find_sort_words(words)
    found: dict[str, Focus] = {}
    for number, token in enumerate(words):
        extreme = is_extreme(token)
        if token.stop and not extreme:
            continue
        if token.stem not in found:
            role = Role.EXTREME if extreme else _choose_role(token, number, number in sorts)
            found[token.stem] = Focus(token.stem, max(0.2, measure_rarity(token.stem)), role, token.text)
    return tuple(found.values())


def _choose_role(token: Token, number: int, sort: bool) -> Role:
    if token.number:
        return Role.NUMBER
    if token.capital and (number > 0 or measure_rarity(token.stem) == 1.0):
        return Role.NAME
    return Role.SORT if sort else Role.WORD


def is_extreme(token: Token) -> bool:
    low = token.text.lower()
    return low in list_words("extremes") or (
        low.endswith("est") and len(low) > 4 and low not in list_words("not_extremes")
    )


def _find_sort_words(words: Sequence[Token]) -> frozenset[int]:
    """Find the words between "what" or "which" and the verb: they say what sort of thing is asked for."""
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
