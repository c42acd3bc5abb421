"""Tell what a question asks for: a whole part of the book, what something is, two things side by side, a
table or list, or several things at once. Everything else is a plain question. What the catalogue knows of a
book is read apart.

Only the form of the question counts here. Whether the book has such a part or name is found out later, and a
question whose part or name is not there is plain as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from octavo.answers.halves import complete_half
from octavo.answers.parts import KINDS
from octavo.text.clean import collapse
from octavo.text.english import list_words
from octavo.text.languages import LANGUAGE_NAMES


@dataclass(frozen=True, slots=True)
class PartRequest:
    """Asks for the gist of a part of the book: "what is chapter 3 about?" names "chapter 3"."""

    part: str


@dataclass(frozen=True, slots=True)
class IdentityRequest:
    """Asks who or what something is: "who is Starbuck?" names "Starbuck"."""

    name: str


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """Asks for the difference between two things."""

    sides: tuple[str, str]


@dataclass(frozen=True, slots=True)
class SeveralRequest:
    """Asks several things at once. `asked` are the questions as they were asked.

    `questions` can be understood by themselves, as far as each one tells what the next leaves out.
    """

    questions: tuple[str, ...]
    asked: tuple[str, ...]

    @property
    def is_split_wholly(self) -> bool:
        """Whether no part asks something more: "when, and where?" is one part that asks two things."""
        return not any(_ASKS_MORE.match(asked) for asked in self.asked)


@dataclass(frozen=True, slots=True)
class TableRequest:
    """Asks to be shown a table or a list: "show me the table of refusal reasons" names "refusal reasons"."""

    name: str


_REPLY_IN = r"(?:please )?(?:answer|reply|respond)(?: (?:me|it|this|the question))? in (?P<language>[a-z]+)"
_REPLY_FIRST = re.compile(rf"{_REPLY_IN}(?: please)? ?[:,.;–—-] ?(?P<asked>.+)", re.IGNORECASE)
_REPLY_LAST = re.compile(rf"(?P<asked>.+[?.!]) ?\(?{_REPLY_IN}(?:,? please)?[).!]*", re.IGNORECASE)
_KNOWN_LANGUAGES = frozenset(LANGUAGE_NAMES.values())


def read_reply_language(question: str) -> tuple[str, str]:
    """Return a question without the wish for a language, and the language: "Answer in Urdu: who is Ahab?".

    The language is "" if there is no such wish, and the question is then as it was.
    """
    found = _REPLY_FIRST.fullmatch(collapse(question)) or _REPLY_LAST.fullmatch(collapse(question))
    language = found["language"].capitalize() if found else ""
    return (found["asked"], language) if found and language in _KNOWN_LANGUAGES else (question, "")


class CatalogueFact(StrEnum):
    """What the catalogue knows of a book."""

    TITLE = "title"
    AUTHORS = "authors"
    COUNT = "count"
    CHAPTERS = "chapters"
    LENGTH = "length"
    LANGUAGE = "language"
    PUBLISHED = "published"


@dataclass(frozen=True, slots=True)
class CatalogueRequest:
    """Asks for something that the catalogue knows. `book` is how the question names the book; "" if it does
    not. `noun` is what is to be counted: "how many chapters has it?" counts "chapter" of "it".
    """

    fact: CatalogueFact
    book: str = ""
    noun: str = ""


Request = PartRequest | IdentityRequest | ComparisonRequest | SeveralRequest | TableRequest

_POLITE = re.compile(
    r"^(?:(?:hi|hello|hey|ok|okay|please|so|and|then)\b[,!.]?\s+)*"
    r"(?:(?:can|could|would|will) (?:you|u) (?:please )?|please |i(?:'d| would) like to know "
    r"|tell me (?!about\b)|i want )?"
    r"(?:just |briefly |quickly )?",
    re.IGNORECASE,
)
_PARTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"what(?:['’]?s| is| was| are| were)? (?P<part>.+?) (?:all |mainly |mostly )?about",
        r"what happen(?:s|ed) (?:in|at|during|by) (?P<part>.+)",
        r"how (?:does|did|do) (?P<ends>.+?) (?:end|conclude|finish)(?: up)?",
        r"how (?:does|did|do) (?P<begins>.+?) (?:begin|start|open)",
        r"(?:summari[sz]e|recap|outline|sum up)(?: for me)? (?P<part>.+)",
        r"(?:give (?:me )?|write (?:me )?|show (?:me )?|what is |what['’]s )?(?:an? |the )?"
        r"(?:short |brief |quick )?(?:summary|overview|outline|gist|synopsis|recap|tl;?dr) (?:of|for) "
        r"(?P<part>.+)",
        rf"what (?:does|did|do) (?P<part>(?:.+ )?(?:{KINDS}|book|manual|guide)\b.*?) "
        r"(?:cover|say|discuss|describe|explain|teach|contain|deal with|talk about)",
        r"what (?:is|gets) (?:covered|discussed|described|explained|taught|told) (?:in|by) (?P<part>.+)",
        r"(?:what(?: are|['’]s| is) )?(?:the )?(?:main|key|most important) "
        r"(?:points?|ideas?|topics?|themes?|takeaways?|message) (?:of|in|from) (?P<part>.+)",
        r"(?:what did i miss|what (?:has )?happened|the story|recap)(?P<so_far> so far)",
    )
)
_TABLE = re.compile(
    r"(?:(?:show|give|get|print|display|find|tell|list)(?: me| us)? (?:the |an? )?"
    r"|what(?: is|['’]s) the |the )?(?:whole |full |complete |entire )?(?:table|list)"
    r"(?: for (?:me|us))? (?:of|for|with|about|on|showing|listing) (?:all )?(?:the )?(?P<name>(?!contents\b"
    r"|(?:me|us|you|him|her|it|them|i|we|he|she|they|this|that|these|those)\b"
    r"|(?:who|whom|whose|what|which|when|where|why|how)\b)[^,;:?!]{3,80})",
    re.IGNORECASE,
)
_EDGES = MappingProxyType({"ends": "the end of ", "begins": "the beginning of "})
_THING = r"(?P<name>(?!(?:it|this|that|he|she|they|these|those|there)\b)[^,;:?!]{2,60}?)"
_IDENTITIES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"who(?:['’]?s| is| was| are| were) {_THING}(?: again| exactly| really)?",
        rf"what(?:['’]?s| is| are) (?:an? |the )?{_THING} (?:used |good |there )?for",
        rf"what(?:['’]?s| is| was| are| were) (?:an? |the )?{_THING}(?: again| exactly)?",
        rf"what (?:does|do|did) (?:the (?:word|term) )?{_THING} (?:mean|refer to|stand for)",
        rf"what (?:does|do|did) (?:an? |the )?{_THING} (?:actually |really )?do",
        rf"(?:define|describe|who['’]?s|tell me about|about) (?:an? |the )?{_THING}",
        r"what is meant by (?:an? |the )?" + _THING,
    )
)
_COMPARISONS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r".*?\b(?:difference|differences|distinction) (?:is (?:there )?|are (?:there )?)?between "
        r"(?P<one>.+?) (?:and|&|vs\.?|versus) (?P<other>.+)",
        r"(?:compare|distinguish|contrast)(?: between)? (?P<one>.+?) (?:and|with|to|from|vs\.?|against) "
        r"(?P<other>.+)",
        r"how (?:does|do|is|are|did|was|were) (?P<one>.+?) (?:differ|different) from (?P<other>.+)",
        r"how (?:do|are|did|were) (?P<one>.+?) and (?P<other>.+?) (?:differ|different)(?: from each other)?",
        r"(?P<one>.+?) (?:vs\.?|versus) (?P<other>.+?)",
    )
)
_TAIL = re.compile(
    r"(?:,? ?(?:what(?:['’]?s| is| are)? the difference|compare them|differences?|in (?:this|the) book))$",
    re.IGNORECASE,
)
_WHERE = re.compile(r" (?:in|within|for|under|according to) (?:the |this |a )?\S+$", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:an?|the) ", re.IGNORECASE)
_ASKS = r"(?:what|which|who|whom|whose|where|when|why|how)\b"
_LED = r"(?:(?:in|for|to|from|by|at|on|since|until|after|before|with|of|under|during|about|through) )?"
# "My screen is black when it boots, what can I do?" asks one thing.
_BEFORE = r"(?:.*[,;:?.!] |.*\b(?:know|tell|say|explain|wonder|me|us) )?"
_MODAL = r"(?:can|could|should|must|may|might|will|would|shall)"
_AUXILIARY = rf"(?:{_MODAL}|do|does|did|is|are|was|were|has|have|had)"
_PERSON = r"(?:i|you|we|he|she|they)\b"
_SUBJECT = rf"(?:{_PERSON}|(?:it|one|there|the|an?|my|his|her|its|their|this|that)\b)"
_ASKS_ONE = re.compile(rf"{_BEFORE}{_LED}{_ASKS}.{{6,}}", re.IGNORECASE)
_ASKS_WHETHER = re.compile(rf"{_AUXILIARY} {_SUBJECT}", re.IGNORECASE)
# "And is the capital", "and had the crown melted" may go on with what is said of the first subject.
_SURELY_WHETHER = re.compile(
    rf"{_MODAL} {_SUBJECT}|{_AUXILIARY} {_PERSON}|(?:is|are|was|were) it\b", re.IGNORECASE
)
# The question word is not the subject: "where was", "which city did they found", "who did she meet".
_FRONTED = re.compile(
    rf"{_BEFORE}(?:{_LED}(?:where|when|why|whom|how(?! many| much))\b"
    rf"|{_LED}(?:what|which|whose|how many|how much)(?: [\w-]+){{0,3}}? (?:{_MODAL}|do|does|did) "
    rf"|{_LED}who (?:{_MODAL}|do|does|did) (?:{_PERSON}|(?-i:[A-Z])))",
    re.IGNORECASE,
)
_JOIN = re.compile(r"(?:,? and|(?P<mark>[;?])|,) ", re.IGNORECASE)
_ASKS_NEXT = re.compile(rf"{_LED}{_ASKS}", re.IGNORECASE)
# "The ship, which sank" and "the town, where he was born" ask nothing.
_RELATIVE = re.compile(
    rf"{_LED}(?:who\b|whose\b|(?:whom|where|when)\b(?! {_AUXILIARY})|which\b(?! \w+ {_AUXILIARY}))",
    re.IGNORECASE,
)
# "Who founded it, who resigned, and where …" asks three things, unless the first half asks who somebody is.
_SERIES = re.compile(rf"who\b.*(?:, and|;) {_LED}{_ASKS}", re.IGNORECASE)
_ASKS_WHO_IS = re.compile(r"(?:who|what)(?: is| was| are| were|['’]s)\b", re.IGNORECASE)
_ASKS_MORE = re.compile(rf"{_LED}{_ASKS}.*(?:[,;?]| and) {_LED}{_ASKS}", re.IGNORECASE)
_OTHER_LEAST = 8
_JOINS = ("of", "that", "which", "who", "for", "in", "on", "with", "and", "or")
_WORDS_MOST, _SIDE_MOST = 5, 8
_OF_BOOK = r"(?: (?:of|in|to|for) (?P<book>.+?))"
_NOUN = r"(?P<noun>[a-z]+?)"
_CATALOGUE = tuple(
    (fact, re.compile(pattern, re.IGNORECASE))
    for fact, pattern in (
        (CatalogueFact.TITLE, r"what(?: is|['’]?s) (?P<book>.+?) (?:called|entitled|titled)"),
        (CatalogueFact.TITLE, rf"what(?: is|['’]?s) (?:the|its) (?:title|full title){_OF_BOOK}?"),
        (CatalogueFact.AUTHORS, r"who (?:wrote|authored|is the author of|was the author of) (?P<book>.+)"),
        (CatalogueFact.AUTHORS, r"(?:who|by whom) (?:is|was) (?P<book>.+?) (?:written|authored)(?: by)?"),
        (CatalogueFact.AUTHORS, r"who (?:is|was) (?P<book>.+?) by"),
        (
            CatalogueFact.AUTHORS,
            r"(?:(?:who|what)(?: is| are| was| were|['’]?s) |name |list )?(?:the |its )?(?:name of the )?"
            rf"(?:authors?|author['’]s name|names of the authors){_OF_BOOK}?",
        ),
        (CatalogueFact.COUNT, rf"how many {_NOUN} (?:are there|in total|altogether)"),
        (CatalogueFact.COUNT, rf"how many {_NOUN} (?:are|is) (?:there )?(?:(?:in|to) )?(?P<book>.+?)"),
        (
            CatalogueFact.COUNT,
            rf"how many {_NOUN} (?:does|do|did) (?P<book>.+?) (?:have|contain|comprise|consist of)",
        ),
        (CatalogueFact.COUNT, rf"how many {_NOUN} (?:has|have) (?P<book>.+?)(?: got)?"),
        (CatalogueFact.COUNT, rf"how many {_NOUN}(?: in (?P<book>.+?))?"),
        (CatalogueFact.COUNT, rf"(?:what(?: is|['’]?s) )?the number of {_NOUN}{_OF_BOOK}"),
        (CatalogueFact.LENGTH, r"how (?:long|thick) is (?P<book>.+)"),
        # "How big is Treasure Island?" asks about the island.
        (CatalogueFact.LENGTH, r"how big is (?P<book>it|this|(?:this|that|the) \w+)"),
        (CatalogueFact.LENGTH, rf"what(?: is|['’]?s) the (?:length|word count){_OF_BOOK}"),
        (
            CatalogueFact.LENGTH,
            r"how (?:long|much time|many hours) (?:does|will|would|do) (?:it|i|one|you|we) (?:need|take)"
            r" to read (?P<book>.+)",
        ),
        (
            CatalogueFact.LANGUAGE,
            r"(?:in )?(?:what|which) language (?:is|was) (?P<book>.+?)(?: written)?(?: in)?",
        ),
        (CatalogueFact.LANGUAGE, rf"(?:what(?: is|['’]?s) )?the language{_OF_BOOK}"),
        (CatalogueFact.LANGUAGE, r"(?:what|which) language"),
        (
            CatalogueFact.PUBLISHED,
            r"(?:when|(?:in )?(?:what|which) year) (?:was|is) (?P<book>.+?)"
            r"(?: first| originally)? (?:published|released|printed|issued)",
        ),
        (
            CatalogueFact.PUBLISHED,
            r"(?:what(?: is|['’]?s) )?(?:the |its )?(?:publication|release) (?:date|year)" + f"{_OF_BOOK}?",
        ),
        (
            CatalogueFact.CHAPTERS,
            r"(?:list|show|name|give|enumerate)(?: me| us)?(?: all)?(?: of)?(?: the| its)? "
            rf"(?:chapters|chapter titles|names of the chapters|titles of the chapters){_OF_BOOK}?",
        ),
        (CatalogueFact.CHAPTERS, rf"what are (?:all )?(?:the|its) chapters{_OF_BOOK}?"),
        (CatalogueFact.CHAPTERS, r"(?:what|which) chapters (?:are there|does (?P<book>.+?) have)"),
        (CatalogueFact.CHAPTERS, r"(?:what|which) chapters are (?:there )?in (?P<book>.+)"),
        (
            CatalogueFact.CHAPTERS,
            rf"(?:(?:list|show|give)(?: me| us)? |what(?: is|['’]?s) )?the (?:table of )?contents{_OF_BOOK}?",
        ),
    )
)
# A longer question tells a story before it asks.
LONGEST = 300


def read_request(question: str) -> Request | None:
    """Read what a question asks for, or None if it is a plain question."""
    if len(question) > LONGEST:
        return None
    said = _POLITE.sub("", collapse(question).strip(" ?!."))
    table = _TABLE.fullmatch(said)
    return (
        _read_part(said)
        or _read_comparison(said)
        or _read_several(said)
        or (TableRequest(table["name"]) if table else None)
        or _read_identity(said)
    )


def read_catalogue_request(question: str) -> CatalogueRequest | None:
    """Read a question about a book as a thing: who wrote it, how long it is, which chapters it has.

    The question may name anything in the place of the book. Whether that is a book is found out later.
    """
    if len(question) > LONGEST:
        return None
    said = _POLITE.sub("", collapse(question).strip(" ?!."))
    for fact, pattern in _CATALOGUE:
        found = pattern.fullmatch(said)
        if found:
            named = found.groupdict()
            noun = _make_singular((named.get("noun") or "").lower())
            return CatalogueRequest(fact, (named.get("book") or "").strip(" \"“”'"), noun)
    return None


def _make_singular(noun: str) -> str:
    return "appendix" if noun == "appendices" else noun.removesuffix("s")


def _read_part(said: str) -> PartRequest | None:
    for pattern in _PARTS:
        found = pattern.fullmatch(said)
        if found:
            named = found.groupdict()
            if named.get("so_far"):
                return PartRequest("the book")
            edge = next((edge for edge in _EDGES if named.get(edge)), "part")
            part = named[edge].lower()
            if part in list_words("personal_pronouns", "pronouns"):
                # "What is it about?" and "how does it end?" mean the book; "how do I start?" means no part.
                asked = pattern is _PARTS[0] or edge == "ends"
                return PartRequest(f"{_EDGES.get(edge, '')}the book") if asked and part == "it" else None
            return PartRequest(f"{_EDGES.get(edge, '')}{named[edge]}")
    return None


def _read_comparison(said: str) -> ComparisonRequest | None:
    for pattern in _COMPARISONS:
        found = pattern.fullmatch(_TAIL.sub("", said))
        if found:
            one, other = (_ARTICLE.sub("", found[side]).strip(" \"“”'") for side in ("one", "other"))
            sides = _share_noun(one, other) if one and other else ()
            if sides and all(0 < len(side.split()) <= _SIDE_MOST for side in sides):
                return ComparisonRequest(sides)
    return None


def _share_noun(one: str, other: str) -> tuple[str, str]:
    """Give both sides the noun that they share: "single and double quotes in muttrc" compares two quotes.

    Where the comparison holds ("in muttrc") is not part of the second side.
    """
    other = _WHERE.sub("", other) or other
    words = other.split()
    plural = words[-1].endswith("s") and not words[-1].endswith(("ss", "us", "is"))
    if len(words) == 2 and len(one.split()) == 1 and plural and not one.endswith("s"):
        one = f"{one} {words[-1]}"
    return one, other


def _read_several(said: str) -> SeveralRequest | None:
    """Split at "and what", "and who" and the like. What a part leaves out comes from the one before it."""
    asked = tuple(f"{part.strip(' ,?')}?" for part in _split(said))
    if len(asked) < 2:
        return None
    questions = list(asked[:1])
    for other in asked[1:]:
        questions.append(complete_half(other, first=questions[-1]))
    return SeveralRequest(tuple(questions), asked)


def _split(said: str) -> list[str]:
    """Split a text into the questions that it asks one after another."""
    parts, start = list[str](), 0
    for join in _JOIN.finditer(said):
        one, rest = said[start : join.start()], said[join.end() :]
        if _ASKS_ONE.fullmatch(one) and len(rest) >= _OTHER_LEAST and _begins_question(one, join, rest):
            parts.append(one)
            start = join.end()
    return [*parts, said[start:]]


def _begins_question(one: str, join: re.Match[str], rest: str) -> bool:
    """Whether another question begins after one: with a question word, or with a verb and its own subject.

    "Which city was founded in 1850 and is the capital?" asks one thing.
    """
    comma = join[0] == ", "
    if _ASKS_NEXT.match(rest):
        in_series = _SERIES.match(rest) and not _ASKS_WHO_IS.match(one)
        return bool(in_series) or not (comma and _RELATIVE.match(rest))
    whether = _ASKS_WHETHER if join["mark"] or _FRONTED.match(one) else _SURELY_WHETHER
    return not comma and whether.match(rest) is not None


def _read_identity(said: str) -> IdentityRequest | None:
    for pattern in _IDENTITIES:
        found = pattern.fullmatch(said)
        if found:
            name = found["name"].strip(" \"“”'")
            words = name.lower().split()
            # "What is the name of Ahab's ship" asks for a fact, not for what a name is.
            if len(words) <= _WORDS_MOST and not _is_description(words):
                return IdentityRequest(name)
    return None


def _is_description(words: list[str]) -> bool:
    """Whether words describe a thing by another one, or ask for something's property."""
    joined = any(word in _JOINS for word in words[1:])
    owned = any(word.endswith(("'s", "’s")) for word in words[:-1])
    return joined or owned or words[0] in list_words("pronouns", "possessives", "question_words")
