"""Find the sentences that say who or what something is, in all places that the book's map has of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from octavo.answers.entries import list_entries
from octavo.answers.extract import MOST_CLAIMS, MOST_WORDS, is_list_item, is_reference
from octavo.answers.features import refers_back
from octavo.concurrency import run_blocking
from octavo.text.bookmap.model import EntityKind
from octavo.text.english import tokenize
from octavo.verification.claims import Claim

if TYPE_CHECKING:
    from octavo.answers.workspace import Workspace
    from octavo.text.bookmap.describe import MapDescriber
    from octavo.text.bookmap.link import Entity
    from octavo.text.bookmap.model import MapQuote
    from octavo.verification.claims import Sentence

# How much a sentence counts more that defines, describes or introduces what is asked for, and one that does
# so at the beginning of its section. What somebody says in the book is not a description by the book.
DEFINES, DESCRIBES, INTRODUCES = 3.0, 2.5, 0.5
OPENS, SPOKEN = 0.7, -1.5
# How much a sentence about one side of a comparison counts more in a passage about both.
BESIDE = 2.5
# How much a sentence counts more that sets the two sides of a comparison against each other.
CONTRASTS = 2.5
# A ship or an inn is "the Pequod" at so many mentions, and so many at least. Without an article the name is
# another one's, and says as much less of the ship.
ARTICLED, ARTICLED_LEAST, OTHER_SENSE = 0.9, 10, -4.0
_ARTICLE = re.compile(
    r"\b(?:the|this|that|our|his|her|their|your|my)(?: [\w’'-]+,?){0,3}[ “‘\"]+$", re.IGNORECASE
)
# A clause that opens with the name is about its bearer: "a schooner; name, Hispaniola" gives one to a ship.
_OPENING = re.compile(r"(?:^|[.;:] )[“‘\"]*$")
_CONTRAST = re.compile(
    r"\b(?:differ(?:s|ence|ences|ent|ently)?|unlike|whereas|while|(?:in|by) contrast|as opposed to"
    r"|rather than|instead|on the other hand|however|but|only|not|same|similar|more|less|faster|slower"
    r"|better|former|latter)\b",
    re.IGNORECASE,
)
# Of the places in the map, so many are read.
MOST_PLACES = 6
# With so many of the names that occur most with a name of the question the book is searched again.
MOST_COMPANIONS = 5
_ENDS = (".", ".”", '."', ".)")
# A shorter name is like too many others.
SHORTEST_MISSPELT = 5


async def find_described(name: str, workspace: Workspace) -> dict[Sentence, float]:
    """Read where the map defines, describes and introduces a name, each place with how much it counts."""
    opened = await workspace.open_map()
    if opened is None:
        return {}
    book, describer = opened
    worth = await run_blocking(_list_places, name, describer)
    found: dict[Sentence, float] = {}
    for quote, more in worth:
        for sentence in await workspace.read_places(book.id, [quote]):
            if not is_reference(sentence.text):
                found.setdefault(sentence, more + _weigh_place(sentence))
    return found


async def is_known_person(name: str, workspace: Workspace) -> bool:
    """Tell whether the map of the book has a name as that of a person."""
    opened = await workspace.open_map()
    entity = await run_blocking(opened[1].linked.find, name) if opened else None
    return entity is not None and entity.kind is EntityKind.PERSON


async def list_companions(question: str, workspace: Workspace) -> list[str]:
    """List the names that occur most with what a question names, as the book's map has them."""
    opened = await workspace.open_map()
    return await run_blocking(_list_companions, question, opened[1]) if opened else []


def _list_companions(question: str, describer: MapDescriber) -> list[str]:
    asked = _collect_stems(question)
    found: list[str] = []
    for token in tokenize(question):
        entity = describer.find(token.text.removesuffix("'s").removesuffix("’s")) if not token.stop else None
        if entity is not None:
            names = (companion.name for companion in describer.list_companions(entity))
            found += [name for name in names if name[:1].isupper() and not asked & _collect_stems(name)]
    return list(dict.fromkeys(found))[:MOST_COMPANIONS]


def tell_more(
    name: str, claims: Sequence[Claim], described: Mapping[Sentence, float], sentences: Iterable[Sentence]
) -> tuple[Claim, ...]:
    """Add to what something is how its paragraph goes on, then what else the book says of it, in its order.

    Elsewhere a sentence has to have the name, as the reader wrote it. A sentence that begins with "it" is
    added only after the one that it goes on from, and an item of a list or a heading never.
    """
    first = {sentence.id: sentence for sentence in sentences}[claims[0].sentences[-1]]
    told = {id_ for claim in claims for id_ in claim.sentences}
    goes_on = (s for s in sentences if 0 <= s.start - first.end <= 1 and s.chunk.id == first.chunk.id)
    asked = {token.stem for token in tokenize(name) if not token.stop}
    named = (s for s in described if described[s] > 0 and asked <= _collect_stems(s.text))
    others = (s for s in named if not refers_back(s.text))
    more = [*goes_on, *sorted(others, key=lambda s: (s.chunk.document_position, s.start))]
    kept = list(claims)
    left = MOST_WORDS - sum(len(claim.text.split()) for claim in claims)
    for sentence in dict.fromkeys(more):
        if sentence.id in told or not sentence.text.endswith(_ENDS) or is_list_item(sentence):
            continue
        left -= len(sentence.text.split())
        if left < 0 or len(kept) == MOST_CLAIMS:
            break
        kept.append(Claim(sentence.text, (sentence.id,)))
    return tuple(kept)


def _list_places(name: str, describer: MapDescriber) -> list[tuple[MapQuote, float]]:
    """List what the map has of a name, each with how much it counts."""
    worth = [(quote, DEFINES) for quote in list_entries(name, describer)]
    entity = _find_entity(name, describer)
    if entity is None:
        return worth[:MOST_PLACES]
    defined = describer.define(entity)
    worth += [(defined, DEFINES)] if defined else []
    worth += [(quote, DESCRIBES) for quote in describer.list_statements(entity)]
    return [*worth, (describer.introduce(entity), INTRODUCES)][:MOST_PLACES]


def weigh_sides(side: str, sides: Sequence[str], sentences: Sequence[Sentence]) -> dict[Sentence, float]:
    """Find the sentences about one side of a comparison in passages that have both sides."""
    own, every = _collect_stems(side), _collect_stems(" ".join(sides))
    found: dict[Sentence, float] = {}
    passages: dict[str, bool] = {}
    for sentence in sentences:
        chunk = sentence.chunk
        if chunk.id not in passages:
            passages[chunk.id] = every <= _collect_stems(" ".join((*chunk.heading_path, chunk.content)))
        here = passages[chunk.id] and own <= _collect_stems(sentence.text)
        if here and not is_reference(sentence.text):
            found[sentence] = BESIDE
    return found


def weigh_contrast(sides: Sequence[str], sentences: Sequence[Sentence]) -> dict[Sentence, float]:
    """Find the sentences that set one side of a comparison against the other, in passages that have both."""
    every = _collect_stems(" ".join(sides))
    found: dict[Sentence, float] = {}
    for sentence in sentences:
        chunk, stems = sentence.chunk, _collect_stems(sentence.text)
        if not _CONTRAST.search(sentence.text) or is_reference(sentence.text):
            continue
        named = sum(_collect_stems(side) <= stems for side in sides)
        beside = every <= _collect_stems(" ".join((*chunk.heading_path, chunk.content)))
        if named == len(sides) or (named and beside):
            found[sentence] = CONTRASTS * named / len(sides)
    return found


def _collect_stems(text: str) -> frozenset[str]:
    return frozenset(token.stem for token in tokenize(text))


async def find_other_senses(name: str, workspace: Workspace) -> dict[Sentence, float]:
    """Find the sentences of a workspace that mean another of the name than the book mostly speaks of."""
    opened = await workspace.open_map()
    return await run_blocking(weigh_other_senses, name, [*workspace], opened[1]) if opened else {}


def weigh_other_senses(
    name: str, sentences: Iterable[Sentence], describer: MapDescriber
) -> dict[Sentence, float]:
    """Find the clauses that open with a name without the article that it nearly always has: another one's."""
    entity = describer.linked.find(name)
    if entity is None or not _has_article(entity, describer):
        return {}
    spelled = re.compile(rf"\b{re.escape(entity.name)}\b", re.IGNORECASE)
    found: dict[Sentence, float] = {}
    for sentence in sentences:
        named = [match.start() for match in spelled.finditer(sentence.text)]
        if any(_ARTICLE.search(sentence.text, 0, start) for start in named):
            continue
        if any(_OPENING.search(sentence.text, 0, start) for start in named):
            found[sentence] = OTHER_SENSE
    return found


def _has_article(entity: Entity, describer: MapDescriber) -> bool:
    """Tell whether the book nearly always says "the" before a name."""
    if entity.kind is EntityKind.TERM or len(entity.places) < ARTICLED_LEAST:
        return False
    texts = describer.linked.sections
    with_article = sum(
        _ARTICLE.search(texts[section].text, max(0, start - 60), start) is not None
        for section, start, _ in entity.places
    )
    return with_article >= ARTICLED * len(entity.places)


def weigh_speech(sentences: Iterable[Sentence]) -> dict[Sentence, float]:
    """Find the sentences that somebody says in the book."""
    return {sentence: SPOKEN for sentence in sentences if _is_spoken(sentence)}


def _weigh_place(sentence: Sentence) -> float:
    return OPENS * (sentence.start == 0) + SPOKEN * _is_spoken(sentence)


def _is_spoken(sentence: Sentence) -> bool:
    return sentence.text.startswith(("“", "‘", '"', "'", "`"))


def _find_entity(name: str, describer: MapDescriber) -> Entity | None:
    """Find an entity by its name, or, if the book does not have it, by one that is spelled much like it."""
    found = describer.find(name)
    if found is None and len(name) >= SHORTEST_MISSPELT:
        alike = describer.suggest(name, least=0.8)
        found = describer.find(alike[0]) if alike else None
    return found
