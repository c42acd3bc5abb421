"""Recognises what can answer a question of a kind: dates, numbers, names, places, reasons.

Each recogniser returns character spans. These are plain patterns for English prose: `sure` spans name the
thing itself ("1066", "twelve"), `loose` ones are phrases that often stand for it ("the next morning", "under
the bed").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from octavo.words import Token, lexicon, rarity

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


def sure(text: str, expected: Expected, tokens: Sequence[Token]) -> Spans:
    """Expressions in `text` that name what is expected."""
    if expected is Expected.DATE:
        return _found(_DATES, text)
    if expected is Expected.NUMBER:
        return tuple((a, b) for a, b in _found(_NUMBERS, text) if not _YEAR.fullmatch(text[a:b]))
    if expected is Expected.PERSON:
        return names(tokens, text)
    if expected is Expected.PLACE:
        return tuple(span for span in names(tokens, text) if _lead(tokens, span[0]) in lexicon("place_leads"))
    patterns = {Expected.REASON: _REASONS, Expected.FEELING: _FEELINGS, Expected.SPEECH: _SPEECH}
    return _found(patterns[expected], text) if expected in patterns else ()


def loose(text: str, expected: Expected, tokens: Sequence[Token]) -> Spans:
    """Phrases in `text` that may stand for what is expected."""
    if expected is Expected.PERSON:
        return tuple((t.start, t.end) for t in tokens if t.text.lower() in lexicon("people"))
    if expected is Expected.PLACE:
        return (*names(tokens, text), *_found(_LOOSE_PLACES, text))
    patterns = {
        Expected.DATE: _LOOSE_DATES,
        Expected.NUMBER: _LOOSE_NUMBERS,
        Expected.REASON: _LOOSE_REASONS,
    }
    return _found(patterns[expected], text) if expected in patterns else ()


def names(tokens: Sequence[Token], text: str) -> Spans:
    """Runs of capitalised words; the text's first counts when it is no common word or the run goes on."""
    return tuple(_trimmed(run) for run in _runs(tokens, text) if run)


def _runs(tokens: Sequence[Token], text: str) -> Iterator[list[Token]]:
    run: list[Token] = []
    for number, token in enumerate(tokens):
        gap = text[run[-1].end : token.start] if run else ""
        initial = bool(run) and len(run[-1].text) == 1 and gap == ". "
        if run and not initial and gap not in (" ", "-", "'", "’"):
            yield from _kept(run)
            run = []
        named = token.capital and not token.stop and not (number == 0 and _plain_opening(tokens))
        if named or (run and token.text.lower() in _JOINS):
            run.append(token)
        elif run:
            yield from _kept(run)
            run = []
    yield from _kept(run)


def _plain_opening(tokens: Sequence[Token]) -> bool:
    """Whether the capital of the first word says nothing: it is a common word, with none after it."""
    follows = len(tokens) > 1 and tokens[1].capital
    return not follows and rarity(tokens[0].stem) < 1.0


def _kept(run: list[Token]) -> Iterable[list[Token]]:
    while run and run[-1].text.lower() in _JOINS:
        run = run[:-1]
    return (run,) if run else ()


def _trimmed(run: Sequence[Token]) -> tuple[int, int]:
    return run[0].start, run[-1].end


def _lead(tokens: Sequence[Token], start: int) -> str:
    """The word before the span, past an article."""
    before = [t.text.lower() for t in tokens if t.end <= start][-2:]
    if before and before[-1] in ("the", "a", "an"):
        before = before[:-1]
    return before[-1] if before else ""


def _found(pattern: re.Pattern[str], text: str) -> Spans:
    return tuple(m.span() for m in pattern.finditer(text))
