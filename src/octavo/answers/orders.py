"""Obeys an order about a selection: explain it, sum it up, define a word of it, translate it.

A bare command ("explain", "tl;dr", "what's this mean") asks nothing that a passage could answer, so it is not
looked up. It is about the text that the reader selected, and it is carried out on that. Without a language
model, a selection is explained with sentences of its own, the definitions of its terms from the book's map,
and one place where the book speaks of the same; it is summed up with its own sentences. To translate needs a
language model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from octavo.answers.extract import shortlist
from octavo.answers.followups import has_no_referent, is_small_talk
from octavo.answers.neighbours import NO_PROSE, read_around
from octavo.answers.requests import read_request
from octavo.concurrency import run_blocking
from octavo.text.bookmap.gist import choose_gist
from octavo.text.bookmap.marks import Stretch
from octavo.text.bookmap.model import EntityKind
from octavo.text.clean import collapse
from octavo.text.english import list_words, measure_rarity, tokenize
from octavo.text.languages import LANGUAGE_NAMES
from octavo.text.phrases import find_phrases
from octavo.types import Question, ScopeType
from octavo.verification.claims import Claim, UnansweredClaim

if TYPE_CHECKING:
    from octavo.answers.workspace import Workspace
    from octavo.search.scope import Bounds
    from octavo.text.bookmap.describe import MapDescriber
    from octavo.text.bookmap.link import Entity
    from octavo.text.bookmap.model import MapQuote
    from octavo.verification.claims import Sentence

OWN_MOST, TERMS_MOST = 2, 2
# A selection of so many words may be a name or a term.
NAME_MOST = 4
# A longer text is no order, but asks something of its own.
LONGEST = 200
# What stands elsewhere is told only if it is about the same with this probability.
LEAST_RELEVANCE = 0.2
# A term is defined only if one of its words is as rare as this, and a thing or a place only if it is not what
# the whole book is about: found in more than this share of the sections.
LEAST_RARITY, MOST_SECTIONS = 0.9, 0.2


class OrderKind(StrEnum):
    EXPLAIN = "explain"
    SUMMARISE = "summarise"
    DEFINE = "define"
    TRANSLATE = "translate"
    REWRITE = "rewrite"


@dataclass(frozen=True, slots=True)
class Order:
    """What to do with a selection. `term` is the word to define; `words` say the order in full."""

    kind: OrderKind
    words: str
    term: str = ""


ASK_SOMETHING = "I answer questions about your books, quoting them. Ask one: “What is chapter 1 about?”."
SAY_WHAT = "I do not know what this refers to. Ask the whole question, with the name of what you mean."
SELECT_FIRST = (
    "Select a passage, or name a chapter or a word, as in “summarise chapter 3” or “explain ownership”."
)
NOT_FOUND = "I did not find this text in your books, so only its own words are quoted."
_POINTS = re.compile(r"\b(?:this|these|here)\b|\b(?:that|it|he|she|they)\W*$", re.IGNORECASE)
_QUOTES = " ,;:“”\"'’‘()"
_POLITE = re.compile(
    r"^(?:(?:please|pls|plz|hey|hi|ok|so|(?:can|could|would|will) (?:you|u)|i want you to|help me)[,!.]? )*"
)
# Parts of the patterns below, by the names that they have there.
_PARTS = {
    "THIS": r"(?: (?:this|that|it|these|those|here|(?:the|this|that|my|these) (?:selected |highlighted )?"
    r"(?:text|passage|paragraphs?|sentences?|selection|part|lines?|quote|bit|words?|extract|verse|code)))?",
    "HOW": r"(?: (?:to me|for me|please|pls|again|simply|briefly|quickly|better|more"
    r"|like i['’]?m (?:5|five|a child)|in (?:brief|detail|english|bullet points)"
    r"|in (?:a )?(?:few |very )?(?:simpler?|plain|easy|easier|short|other|your own|one|two|modern)"
    r"(?: (?:words?|terms?|english|language|sentences?))?)){0,4}",
    "WHATS": r"what(?:['’]?s| is| does| do| did)?",
    "LANGUAGE": r"(?: (?:in|to|into) (?P<language>[^\W\d_]+(?: [^\W\d_]+)?))?",
}
# Each pattern is for the whole of what was said, in lower case.
_PATTERNS = (
    (OrderKind.TRANSLATE, r"(?:translate|translation)(?: of)?THISLANGUAGEHOW"),
    (OrderKind.SUMMARISE, r"(?:summari[sz]e|sum up|recap|shorten|condense|tl ?;? ?dr|outline)THISHOW"),
    (OrderKind.SUMMARISE, r"sum (?:this|it|that) upHOW|make (?:this|it|that) shorter|in short"),
    (
        OrderKind.SUMMARISE,
        r"(?:give me |WHATS )?(?:an? |the )?(?:short |brief |quick )?"
        r"(?:summary|gist|main (?:points?|ideas?)|key points?|point)(?: of)?THISHOW",
    ),
    (
        OrderKind.DEFINE,
        r"(?:define|(?:definition|meaning) of)(?: the (?:word|term))? "
        r"(?P<term>(?!(?:this|that|it|these)\b).+)",
    ),
    (
        OrderKind.DEFINE,
        r"what (?:does|do) (?:the (?:word|term) )?(?P<named>(?!(?:this|that|it|these|the|he|she)\b).+?) mean"
        r"(?: here)?",
    ),
    (
        OrderKind.EXPLAIN,
        r"(?:explain|clarify|elaborate|simplify|interpret|paraphrase|rephrase|define)THISHOW",
    ),
    (OrderKind.EXPLAIN, r"(?:unpack|break down|expand(?: on)?|eli ?5|tell me (?:more|about)|meaning)THISHOW"),
    (OrderKind.EXPLAIN, r"(?:break|dumb|put|make|say) (?:this|it|that)(?: down)?(?: simpler?| easier)?HOW"),
    (OrderKind.EXPLAIN, r"WHATSTHIS (?:means?|meant|(?:all )?about|say(?:ing)?|trying to say)HOW"),
    (OrderKind.EXPLAIN, r"WHATS (?:the )?meaning(?: of)?THIS|WHATS (?:this|that|it|going on)(?: here)?"),
    (
        OrderKind.EXPLAIN,
        r"WHATS (?:the (?:author|writer)|he|she|it) (?:mean|say(?:ing)?|trying to say)(?: here| by this)?",
    ),
    (OrderKind.EXPLAIN, r"what is meant(?: by)?THIS|(?:i )?(?:do not|don['’]?t) (?:get|understand)THIS"),
    (OrderKind.EXPLAIN, r"(?:in )?(?:simpler?|plain|easy) (?:words|terms|english|language)"),
    (OrderKind.EXPLAIN, r"simpler|huh|wdym"),
)


# Words of command. What has one of them, and otherwise only words that a command may have, is an order.
# Of the kinds that it names, the first one counts.
_COMMANDS = (
    (OrderKind.TRANSLATE, frozenset(("translate", "translation"))),
    (OrderKind.REWRITE, frozenset(("rewrite", "reword", "modernise", "modernize"))),
    (OrderKind.SUMMARISE, frozenset(("summarise", "summarize", "summary", "shorten", "shorter", "gist"))),
    (
        OrderKind.EXPLAIN,
        frozenset(
            (
                "explain",
                "explanation",
                "clarify",
                "simplify",
                "interpret",
                "paraphrase",
                "rephrase",
                "simpler",
            )
        ),
    ),
)
_POINTERS = frozenset(("this", "that", "it", "these", "those", "here", "he", "she", "they"))
_ASKS_IDENTITY = re.compile(
    r"(?:who|what)(?:['’]?s| is| are| was| were) (?:he|she|they|this|that|it|these|those)"
)
# "Is this Latin?" and "what does he need to explain to us?" ask something, whatever their words.
_ASKS = re.compile(
    r"(?:is|are|was|were|does|did|who(?: does| did)?|what (?:does|did|do)) "
    r"(?:he|she|they|this|that|it|these|those)\b"
)
_MEANS = re.compile(r"\b(?:mean|means|meant)\b")
_INTO = re.compile(r"\b(?:in|into|to) (?:plain |simple |modern |old )?([^\W\d_]+)")
_LANGUAGES = frozenset(name.lower() for name in LANGUAGE_NAMES.values())


def _read_words(said: str) -> Order | None:
    """Read an order by its words alone: "could you please explain what this means to a beginner"."""
    words = re.findall(r"[^\W_]+", re.sub(r"(?<=\w)['’](?=\w)", "", said))
    kinds = [kind for kind, commands in _COMMANDS if commands & {*words}]
    known = _POINTERS.union(list_words("order_words"), _LANGUAGES, *(commands for _, commands in _COMMANDS))
    if not words or not known.issuperset(words) or (_ASKS.match(said) and not _MEANS.search(said)):
        return _read_identity(said)
    # A language is one to translate into only after such a word, or with a command.
    named = [word for word in words if word in _LANGUAGES] if kinds else _INTO.findall(said)
    foreign = [name.capitalize() for name in named if name in _LANGUAGES and name != "english"]
    if foreign and (not kinds or kinds[0] is not OrderKind.REWRITE):
        kinds.insert(0, OrderKind.TRANSLATE)
    if not kinds and said in ("in english", "into english"):
        kinds = [OrderKind.EXPLAIN]
    return Order(kinds[0], _describe(kinds[0], "", "".join(foreign[:1]))) if kinds else _read_identity(said)


def _read_identity(said: str) -> Order | None:
    """Read "who is he?" and "what are these?", which ask what was selected."""
    explain = OrderKind.EXPLAIN
    return Order(explain, _describe(explain, "", "")) if _ASKS_IDENTITY.fullmatch(said) else None


def _compile(pattern: str) -> re.Pattern[str]:
    for name, part in _PARTS.items():
        pattern = pattern.replace(name, part)
    return re.compile(pattern)


_ORDERS = tuple((kind, _compile(pattern)) for kind, pattern in _PATTERNS)


def read_order(question: str) -> Order | None:
    """Read the order that a question is, or return None if it asks something of its own."""
    said = collapse(question[: LONGEST + 1]).lower().strip(' ?!.…:;"“”')
    if len(question) > LONGEST:
        return None
    said = _POLITE.sub("", f"{said} ", count=1).strip()
    for kind, pattern in _ORDERS:
        found = pattern.fullmatch(said)
        if found:
            named = found.groupdict()
            term = (named.get("term") or named.get("named") or "").strip(" \"“”'")
            return Order(kind, _describe(kind, term, named.get("language") or ""), term)
    return _read_words(said)


def find_order(question: Question) -> Order | None:
    """Return the order that a question is about the text that the reader selected, if it is one."""
    selected = question.selected_text is not None or question.scope.type is ScopeType.SELECTION
    return read_order(question.content) if selected else None


def find_selected_name(order: Order, bounds: Bounds) -> str:
    """Return the name or term that is all that the reader selected and wants explained, or ""."""
    if bounds.within is None or order.kind not in (OrderKind.EXPLAIN, OrderKind.DEFINE) or order.term:
        return ""
    # The full stop of "Mr." ends no phrase.
    text = collapse(re.sub(r"\.(?= )", "", bounds.within.text)).strip(_QUOTES)
    is_short = len(text.split()) <= NAME_MOST
    phrases = find_phrases(text) if is_short else []
    return text if any(phrase.text == text and phrase.sort != "time" for phrase in phrases) else ""


# Without a selection, this asks of the book.
_SAYS = re.compile(r"\s*what (?:does|did) (?:it|this) say\b", re.IGNORECASE)


def find_missing(question: Question, interpreted: str) -> str:
    """Say what a reader who selected nothing has to add, or "" for nothing."""
    whole = question.scope.type in (ScopeType.FULL_BOOK, ScopeType.UP_TO)
    if question.selected_text is not None or not whole:
        return ""
    if not tokenize(interpreted) or is_small_talk(interpreted):
        return ASK_SOMETHING
    order = read_order(interpreted)
    says = _SAYS.match(interpreted) is not None
    if order is not None and not order.term and not says and read_request(interpreted) is None:
        return SELECT_FIRST
    return SAY_WHAT if has_no_referent(interpreted) else ""


def is_about_selection(question: Question) -> bool:
    """Whether a question means the text that the reader selected, so that nothing else may answer it."""
    selected = question.selected_text is not None or question.scope.type is ScopeType.SELECTION
    points = _POINTS.search(question.content) is not None
    return selected and (points or all(token.stop for token in tokenize(question.content)))


def _describe(kind: OrderKind, term: str, language: str) -> str:
    match kind:
        case OrderKind.EXPLAIN:
            return "Explain the selected sentences in plain words, from what they say."
        case OrderKind.SUMMARISE:
            return "Sum up the selected sentences in one or two."
        case OrderKind.DEFINE:
            return f"Say what “{term}” means in the selected sentences."
        case OrderKind.REWRITE:
            return "Say in other words what the selected sentences say, in the way that the reader asks for."
        case OrderKind.TRANSLATE:
            return f"Translate the selected sentences{f' into {language}' if language else ''}."


async def obey(order: Order, workspace: Workspace) -> tuple[Claim, ...]:
    """Carry out an order with sentences of the book. What cannot be done without a model gives nothing.

    An explanation that would only say again what was selected is none. Where no book has the
    text, this is said.
    """
    own = await workspace.read_selection()
    claims: tuple[Claim, ...] = ()
    match order.kind:
        case OrderKind.TRANSLATE | OrderKind.REWRITE:
            pass
        case OrderKind.SUMMARISE:
            claims = _quote(_choose_own(own, most=OWN_MOST))
        case OrderKind.DEFINE:
            claims = _quote(await _define(order.term, workspace))
        case OrderKind.EXPLAIN:
            claims = _quote(await _explain(order, own, workspace))
    is_alien = bool(claims) and workspace.bounds.passage is not None
    return (UnansweredClaim(NOT_FOUND, ()), *claims) if is_alien else claims


async def _explain(order: Order, own: Sequence[Sentence], workspace: Workspace) -> list[Sentence]:
    """Find what explains a selection, and its own sentences. What only says these again explains nothing."""
    place, name = workspace.bounds.within, find_selected_name(order, workspace.bounds)
    defined = await _define(name, workspace) if name else []
    if defined and place is not None and place.recurs:
        # Nobody knows which of its places the reader is at.
        return defined
    told = _choose_own(own, most=OWN_MOST)
    before, after = await read_around(own, workspace) if told == own else ([], [])
    terms = await _define_terms(own, workspace)
    more = [*defined, *terms, *await _find_elsewhere(own, workspace)]
    known = {(s.chunk.section_id, s.start) for s in own}
    is_news = any((s.chunk.section_id, s.start) not in known for s in more)
    is_more = told != own or before or after or is_news
    return [*before, *told, *after, *more] if is_more or workspace.bounds.passage else []


def _quote(sentences: Iterable[Sentence]) -> tuple[Claim, ...]:
    kept = {(s.chunk.section_id, s.start): s for s in sentences}
    return tuple(Claim(sentence.text, (sentence.id,)) for sentence in kept.values())


def _choose_own(own: Sequence[Sentence], *, most: int) -> list[Sentence]:
    """Choose the sentences that say most of the selection, in order. A short one is told whole."""
    if len(own) <= most:
        return list(own)
    text = " ".join(sentence.text for sentence in own)
    places, at = [], 0
    for sentence in own:
        places.append(Stretch(at, at + len(sentence.text)))
        at += len(sentence.text) + 1
    return [own[n] for n in choose_gist(text, places, (), parts=most)] or list(own[:most])


async def _define(term: str, workspace: Workspace) -> list[Sentence]:
    """Find where the book defines or introduces a word."""
    opened = await workspace.open_map()
    if opened is None:
        return []
    book, described = opened
    entity = await run_blocking(described.find, term)
    quote = await run_blocking(described.define, entity) if entity else None
    if quote is None:
        # The definition of a technical term, as in a glossary, gives nothing away.
        whole = await workspace.open_map(whole=True)
        quote = await run_blocking(_find_glossary_entry, term, whole[1]) if whole else None
    if quote is None and entity is not None:
        quote = await run_blocking(described.introduce, entity)
    return await workspace.read_beyond(book.id, [quote] if quote else [])


def _find_glossary_entry(term: str, described: MapDescriber) -> MapQuote | None:
    entity = described.linked.find(term)
    return described.define(entity) if entity and entity.kind is EntityKind.TERM else None


async def _define_terms(own: Sequence[Sentence], workspace: Workspace) -> list[Sentence]:
    """Find what the book says of the people, places and terms that the selection names."""
    opened = await workspace.open_map()
    if opened is None or not own:
        return []
    book, described = opened
    found = await run_blocking(_list_definitions, described, own)
    return await workspace.read_beyond(book.id, found)


def _list_definitions(described: MapDescriber, own: Sequence[Sentence]) -> list[MapQuote]:
    section = own[0].chunk.section_id
    numbers = [n for n, s in enumerate(described.linked.sections) if s.id == section]
    start, end = own[0].start, own[-1].end
    found: list[MapQuote] = []
    for entity in described.linked.entities:
        if any(place[0] in numbers and start <= place[1] and place[2] <= end for place in entity.places):
            quote = _describe_term(described, entity)
            inside = quote is not None and quote.section_id == section and start <= quote.start < end
            if quote is not None and not inside:
                found.append(quote)
        if len(found) == TERMS_MOST:
            break
    return found


def _describe_term(described: MapDescriber, entity: Entity) -> MapQuote | None:
    """Return what defines a term, or says who or what a name is. Everyday words need no definition."""
    words = [token.stem for token in tokenize(entity.name)]
    if entity.kind is EntityKind.TERM and max(map(measure_rarity, words), default=0.0) < LEAST_RARITY:
        return None
    everywhere = len({place[0] for place in entity.places}) > MOST_SECTIONS * len(described.linked.sections)
    if everywhere and entity.kind in (EntityKind.THING, EntityKind.PLACE):
        return None
    quote = described.define(entity)
    if quote is None and entity.kind is not EntityKind.TERM:
        quote = next(iter(described.list_statements(entity)), None)
    return quote


async def _find_elsewhere(own: Sequence[Sentence], workspace: Workspace) -> list[Sentence]:
    """Find the sentence elsewhere in the book that is most about the same."""
    said = " ".join(sentence.text for sentence in own)
    item = await workspace.search_beyond(said) if own else []
    if not item or item[0].evidence_score < LEAST_RELEVANCE:
        return []
    best = shortlist(said, [sentence for sentence in item if sentence.kind not in NO_PROSE], most=1)
    return [sentence for sentence in item if sentence.id in best]
