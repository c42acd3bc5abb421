"""Answers a question for the name of a thing of a kind, or of whoever is something to somebody, by a vote.

"What is the name of Ahab's ship?", "which ship does Ahab command?" and "who is the captain of the Pequod?"
ask for a name of the book's map. All places of the noun vote for the names around them
(`text/bookmap/kinds`). A clear winner is the answer. It is quoted in a sentence that shows it, and is as sure
as the vote is clear. Otherwise the names that came first are only searched for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.concurrency import run_blocking
from octavo.text.bookmap.kinds import KindFinder, NamedThing, match_kind
from octavo.text.clean import collapse
from octavo.text.english import list_words
from octavo.verification.claims import Claim, Phrase

if TYPE_CHECKING:
    from octavo.answers.workspace import Workspace
    from octavo.text.bookmap.describe import MapDescriber
    from octavo.text.bookmap.model import MapQuote
    from octavo.verification.claims import Sentence

# A winner is as sure as its share of the votes for it, for the next one, and for this: the vote that nothing
# proves. Less than the least is no clear winner.
UNPROVEN, LEAST, MOST = 1.5, 0.5, 0.9
# What the votes for a name count that the noun never stands beside.
ONLY_NEAR = 0.25
# So many of the names that came first are worth a search, and such a vote is the least.
SEARCHED, WORTH_A_SEARCH = 3, 0.1
# What a sentence is worth that has the noun beside the name, the noun, and a name of the owner, and what one
# loses for so many characters, and for asking.
BESIDE, HAS_NOUN, HAS_OWNER, LONG, ASKS = 3.0, 1.0, 2.0, 200, 2.0
_KIND = r"(?P<kind>[^\W\d_][\w-]*(?: [\w-]+)?)"
_OWNER = r"(?P<owner>[\w.’'& -]+?)"
_BE = r"(?:['’]?s| is| was| are| were)"
_HOLDS = (
    r"(?:commands?|captains?|owns?|possess(?:es)?|sails?|steers?|rules?|leads?|rides?|rents?"
    r"|lives? (?:in|at|on)|belongs? to|sail (?:in|on|aboard)|work on)"
)
_LINK = r"(?:of|in|on|at|aboard|on board)"
_FORMS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"what{_BE} the names? of {_OWNER}['’]s? {_KIND}",
        rf"what{_BE} the names? of (?:the|that) {_KIND} {_LINK} {_OWNER}",
        rf"what{_BE} the names? of (?:the|that) {_KIND}",
        rf"what{_BE} the {_KIND} {_LINK} {_OWNER} (?:called|named)",
        rf"what{_BE} {_OWNER}['’]s? {_KIND} (?:called|named)",
        rf"what{_BE} the {_KIND} (?:called|named)",
        rf"(?:what|which) {_KIND} (?:do|does|did) {_OWNER} {_HOLDS}",
        rf"who{_BE} {_OWNER}['’]s? {_KIND}",
        rf"who{_BE} (?:the|an?) {_KIND} {_LINK} {_OWNER}",
    )
)
_PLACE = re.compile(r" in (?:the|this) (?:book|story|novel|tale)$", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:the|an?|this|that) ", re.IGNORECASE)
_CLAUSE = re.compile(r"\b(?:that|which|who|whose|where|when)\b", re.IGNORECASE)
# Of these the catalogue and the headings tell the names, and in a manual they stand for much else.
_OF_THE_BOOK = frozenset(
    ("author", "book", "chapter", "character", "file", "function", "name", "option", "section", "title")
)
# "Wives" and "crew" are asked for with more than one name.
_SEVERAL = re.compile(r"(?:[^s]s|men|wives|children|crew|people)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NameRequest:
    """Asks for the name of a `kind`, such as "ship", that belongs to `owner`, if there is one.

    `person` says whether it is that of a person, if the question tells.
    """

    kind: str
    owner: str
    person: bool | None


@dataclass(frozen=True, slots=True)
class FoundName:
    """The winner of a vote: its claim, the name in it, how sure it is, and all spellings of it."""

    claim: Claim
    short: Phrase
    confidence: float
    spellings: frozenset[str]

    def is_said(self, words: str) -> bool:
        """Whether words are the name, and nothing besides: "the daughter of Jonas" is somebody else."""
        said = {words.strip(" .,;:!?"), _ARTICLE.sub("", words.strip(" .,;:!?"))}
        return bool(said & self.spellings)


def read_name_request(question: str) -> NameRequest | None:
    """Read a question for a name, or None if it is another one."""
    said = _PLACE.sub("", collapse(question).strip(" ?!."))
    for form in _FORMS:
        found = form.fullmatch(said)
        if found:
            kind = found["kind"].lower()
            owner = _ARTICLE.sub("", found.groupdict().get("owner") or "")
            small = {*kind.split()} & list_words("stop", "auxiliaries") or _CLAUSE.search(owner)
            if small or _SEVERAL.search(kind) or _OF_THE_BOOK & {*kind.split()}:
                return None
            return NameRequest(kind, owner, _is_person(kind, asks_who=said[:3].lower() == "who"))
    return None


def _is_person(kind: str, *, asks_who: bool) -> bool | None:
    """Tell whether a noun means people: it does if "who" asks for it. An animal may be taken for one."""
    noun = kind.split()[-1]
    if noun in list_words("animals"):
        return None
    people = list_words("men", "women", "persons", "titles_of_people") | list_words("people")
    return asks_who or noun in people or noun.endswith(("man", "woman"))


def _read_for(workspace: Workspace, question: str) -> NameRequest | None:
    """Read a question for a name to the whole book: where only a part is asked, the rest has no vote."""
    return None if workspace.bounds.is_narrow else read_name_request(question)


async def find_name(question: str, workspace: Workspace) -> FoundName | None:
    """Find the name that a question asks for, if the book has a clear winner."""
    request = _read_for(workspace, question)
    opened = await workspace.open_map() if request else None
    if request is None or opened is None:
        return None
    book, describer = opened
    ranked = await run_blocking(rank_names, request, describer)
    sure = measure_lead(ranked)
    if sure < LEAST:
        return None
    quotes = await run_blocking(_list_quotes, request, ranked[0], describer)
    spellings = sorted((name for name, _ in ranked[0].entity.spellings if name[:1].isupper()), key=len)[::-1]
    for quote in quotes:
        for sentence in await workspace.read_places(book.id, [quote]):
            found = find_any(spellings, sentence.text)
            if found:
                claim = Claim(sentence.text, (sentence.id,), (found.span(),))
                return FoundName(claim, Phrase(sentence.id, *found.span()), sure, frozenset(spellings))
    return None


async def is_of_owner(question: str, claim: Claim, workspace: Workspace) -> bool:
    """Whether the passage of a claim names the owner, if the question for a name has one that the map knows.

    Somebody else's dog is not the one that was asked for.
    """
    request = read_name_request(question)
    opened = await workspace.open_map() if request and request.owner else None
    if request is None or opened is None:
        return True
    owners = _list_spellings(opened[1], request.owner)
    return not owners or has_any(owners, claim, workspace)


def has_any(names: Iterable[str], claim: Claim, sentences: Iterable[Sentence]) -> bool:
    """Whether a passage that a claim is cut from has one of some names, in its text or its headings."""
    chunks = [sentence.chunk for sentence in sentences if sentence.id in claim.sentences]
    told = "\n".join(text for chunk in chunks for text in (*chunk.heading_path, chunk.content))
    return find_any(names, told) is not None


def find_any(names: Iterable[str], text: str) -> re.Match[str] | None:
    """Find the first of some names, the first one given before others that begin there. "Jr." is one too."""
    every = "|".join(re.escape(name) for name in names)
    return re.search(rf"(?<!\w)(?:{every})(?!\w)", text) if every else None


def _list_spellings(describer: MapDescriber, name: str) -> list[str]:
    """List all spellings of a name and of the names that may be the same."""
    return [spelled for one in describer.list_bearers(name) for spelled, _ in one.spellings]


async def list_likely_names(question: str, workspace: Workspace) -> list[str]:
    """List the names that came first in the vote, however clear it was."""
    request = _read_for(workspace, question)
    opened = await workspace.open_map() if request else None
    if request is None or opened is None:
        return []
    ranked = await run_blocking(rank_names, request, opened[1])
    return [one.entity.name for one in ranked[:SEARCHED] if one.score >= WORTH_A_SEARCH]


def rank_names(request: NameRequest, describer: MapDescriber) -> list[NamedThing]:
    """Let all places of the noun vote for the names that may be asked for."""
    owners = describer.list_bearers(request.owner) if request.owner else []
    if request.owner and not owners:
        return []
    return KindFinder(describer.linked).find(request.kind, owners, person=request.person)


def measure_lead(ranked: Sequence[NamedThing]) -> float:
    """Measure how sure the first of some names is."""
    if not ranked:
        return 0.0
    first, second = (sum(one.score for one in each) for each in (ranked[:1], ranked[1:2]))
    share = 1.0 if ranked[0].places else ONLY_NEAR
    return min(MOST, share * first / (share * (first + second) + UNPROVEN))


def _list_quotes(request: NameRequest, winner: NamedThing, describer: MapDescriber) -> list[MapQuote]:
    """List the sentences that show best that the winner is what was asked for.

    They have the noun beside the name, or else the noun and the owner.
    """
    noun = match_kind(request.kind)
    owners = _list_spellings(describer, request.owner)
    shown: dict[MapQuote, float] = {}
    for place in winner.entity.places:
        quote = describer.quote_around(place)
        beside, has_noun = place in winner.places, noun.search(quote.text) is not None
        has_owner = find_any(owners, quote.text) is not None
        if not beside and not (has_noun and (has_owner or not owners)):
            continue
        worth = HAS_NOUN * has_noun + HAS_OWNER * has_owner
        worth += BESIDE + winner.places[place] if beside else 0.0
        worth -= len(quote.text) / LONG + ASKS * quote.text.rstrip("”’\"'").endswith("?")
        shown[quote] = max(worth, shown.get(quote, worth))
    return sorted(shown, key=lambda quote: (-shown[quote], quote.position, quote.start))[:SEARCHED]
