"""Tells whether an answer stands where the book speaks of those whom the question names.

How somebody died, got away or lost a leg is told in a scene that has them in it. A sentence of another scene
may read just like an answer, and is about somebody else. Causes and facts are told anywhere, so nothing is
said of those.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from octavo.answers.names import find_any
from octavo.concurrency import run_blocking
from octavo.text.bookmap.model import EntityKind
from octavo.text.english import tokenize

if TYPE_CHECKING:
    from octavo.answers.workspace import Workspace
    from octavo.text.bookmap.describe import MapDescriber
    from octavo.text.bookmap.link import Entity
    from octavo.verification.claims import Claim, Sentence

# So far before a sentence its people may be named last.
REACH = 1000
# A name of a person has at most so many words, and the book speaks of them so often at least.
NAME_WORDS, MENTIONED = 4, 3
_HOW = re.compile(r"\W*how (?:did|was|were|had|has)\b", re.IGNORECASE)


async def has_people(question: str, claims: Sequence[Claim], workspace: Workspace) -> bool:
    """Whether one of the people whom a question of how names is named where its answer stands.

    Where it names nobody, and for other questions, nothing speaks against it.
    """
    opened = await workspace.open_map() if claims and _HOW.match(question) else None
    if opened is None:
        return True
    people = await run_blocking(find_people, question, opened[1])
    cited = {id_ for claim in claims for id_ in claim.sentences}
    quoted = [sentence for sentence in workspace if sentence.id in cited]
    return not people or any(is_near(one, sentence, opened[1]) for one in people for sentence in quoted)


def find_people(question: str, describer: MapDescriber) -> list[Entity]:
    """Find the people whom a question names, by the longest names."""
    words = [re.sub(r"['’]s?$", "", token.text) for token in tokenize(question)]
    found: list[Entity] = []
    first = 0
    while first < len(words):
        lengths = range(min(NAME_WORDS, len(words) - first), 0, -1)
        named = ((n, describer.linked.find(" ".join(words[first : first + n]))) for n in lengths)
        length, entity = next(((n, one) for n, one in named if one is not None), (1, None))
        if entity and entity.kind is EntityKind.PERSON and len(entity.places) >= MENTIONED:
            found.append(entity)
        first += length
    return found


def is_near(entity: Entity, sentence: Sentence, describer: MapDescriber) -> bool:
    """Whether a name stands in a sentence, in a heading over it, or not far before it, also under another."""
    if find_any((name for name, _ in entity.spellings), "\n".join(sentence.chunk.heading_path)):
        return True
    sections = describer.linked.sections
    begins = [0, *accumulate(len(section.text) for section in sections)]
    own = next((n for n, section in enumerate(sections) if section.id == sentence.chunk.section_id), None)
    if own is None:
        return False
    end = begins[own] + sentence.end
    first = begins[own] + sentence.start - REACH
    return any(first <= begins[number] + start < end for number, start, _ in entity.places)
