"""Find the sentences that say who or what something is, in all places that the book's map has of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from octavo.concurrency import run_blocking
from octavo.text.english import tokenize

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
# Of the places in the map, so many are read.
MOST_PLACES = 6
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
            found.setdefault(sentence, more + _weigh_place(sentence))
    return found


def _list_places(name: str, describer: MapDescriber) -> list[tuple[MapQuote, float]]:
    """List what the map has of a name, each with how much it counts."""
    entity = _find_entity(name, describer)
    if entity is None:
        return []
    defined = describer.define(entity)
    worth = [(defined, DEFINES)] if defined else []
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
        if passages[chunk.id] and own <= _collect_stems(sentence.text):
            found[sentence] = BESIDE
    return found


def _collect_stems(text: str) -> frozenset[str]:
    return frozenset(token.stem for token in tokenize(text))


def weigh_speech(sentences: Iterable[Sentence]) -> dict[Sentence, float]:
    """Find the sentences that somebody says in the book."""
    return {sentence: SPOKEN for sentence in sentences if _is_spoken(sentence)}


def _weigh_place(sentence: Sentence) -> float:
    return OPENS * (sentence.start == 0) + SPOKEN * _is_spoken(sentence)


def _is_spoken(sentence: Sentence) -> bool:
    return sentence.text.startswith(("“", "‘", '"', "'"))


def _find_entity(name: str, describer: MapDescriber) -> Entity | None:
    """Find an entity by its name, or, if the book does not have it, by one that is spelled much like it."""
    found = describer.find(name)
    if found is None and len(name) >= SHORTEST_MISSPELT:
        alike = describer.suggest(name, least=0.8)
        found = describer.find(alike[0]) if alike else None
    return found
