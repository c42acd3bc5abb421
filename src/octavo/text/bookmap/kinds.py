"""Find the names that a book gives to things of a kind: which of them is a ship, and whose.

The book shows it where the noun stands beside a name: "the ship Pequod", "Starbuck, the chief mate", "my
sister, Mrs. Joe", "Captain Ahab". Whose it is, is said there too ("Darcy’s sister", "the captain of the
Pequod", "his wife" after a name), or shown by how often two names occur together. How much that proves, the
book's own use of the noun tells: a sister is always somebody's, and a ship seldom.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from octavo.text.bookmap.model import EntityKind

if TYPE_CHECKING:
    from octavo.text.bookmap.link import Entity, LinkedMap, Place

# How far from a name another one stands with it, a noun belongs to its surroundings, and "his" means it.
TOGETHER, AROUND, MEANT = 240, 150, 300
# What counts that whose it is stands in words beside the noun, and that "his" or "my" stands there after the
# owner's name or, with other names between, somewhere after it.
SAYS, MEANS, MAY_MEAN = 3.0, 1.0, 0.25
# What counts that a name is near the noun, or near what is the owner's, once more than by chance.
NEAR_NOUN, NEAR_OWNED = 0.3, 0.5
# So many places beside the noun are half the proof of a kind, and so many more for each mention of the name.
HALF, OF_MENTIONS = 2.0, 0.05
_OWNS = re.compile(
    r"(?P<owner>['’]s?|\b(?:his|her|their|my|our|your|thy|its))(?: [\w-]+){0,2} $", re.IGNORECASE
)
_OF = re.compile(r" (?:of|to|in|aboard|on board)(?: of)?(?: the| this| our)?(?: [a-z]+)? $")
# What may stand between the noun and a name of what it means, in this order and in the other.
_LEADS = re.compile(
    r"(?:,|:|\(| —|—)?"
    r"(?: (?:was|is|named|called|being|known as|surnamed|by the name of|whose name (?:is|was)))*"
    r"(?: (?:the|an?|old|poor|dear|young|little|good|great|one|certain))*[ “\"‘]+"
)
_FOLLOWS = re.compile(
    r"[’”\"]?(?:,|;|—| —| \(| was| is|, who (?:is|was)| became)"
    r"(?: (?:the|an?|his|her|their|my|our|your|its))?"
    r"(?: [A-Z][\w.]*){0,3}(?:['’]s?)?(?: [a-z-]+){0,2} "
)
# After a comma, only what ends there is another word for the same.
_CLOSES = re.compile(r"[’”\"]?(?:[.,;:!?)—]|$| (?:of|in|to|at|on|for|from|who|which|that|and|was|is|had)\b)")
# Words of rank and kinship that mean the same. Of ranks only, as somebody's first wife is not the chief one.
_RANKED = ("mate", "officer", "engineer", "cook", "clerk", "steward", "harpooneer", "surgeon")
_SAME = (
    *(tuple(f"{first} {rank}" for first in ("first", "chief", "head")) for rank in _RANKED),
    ("mother", "mamma", "mama"),
    ("father", "papa"),
)
Mention = tuple[int, int, int]
"""Where a name begins and ends in its section, and the number of its entity."""


@dataclass(frozen=True, slots=True)
class Noun:
    """A place of the noun, and how far it is the owner's: `worth`. It may be somebody's whatever that is."""

    place: Place
    whose: int | None
    is_owned: bool
    worth: float


@dataclass(slots=True)
class NamedThing:
    """A name that may be what is asked for.

    At `places` it stands beside the noun as a name of what that means, `said` is how far they make it the
    owner's. It is near a noun that is nobody's `around` times, and near one that is the owner's `beside`
    times. With the owner's name it occurs `together` so often, or ever, if there is no owner.
    """

    entity: Entity
    said: float = 0.0
    around: int = 0
    beside: int = 0
    together: int = 0
    score: float = 0.0
    places: dict[Place, float] = field(default_factory=dict)


def match_kind(kind: str) -> re.Pattern[str]:
    """Match a noun, or another that means the same: "chief mate" for "first mate"."""
    same = next((words for words in _SAME if kind in words), (kind,))
    words = "|".join("[ -]".join(map(re.escape, each.split())) for each in same)
    return re.compile(rf"(?<![\w’'-])(?:{words})(?![\w’'-])", re.IGNORECASE)


class KindFinder:
    """Finds names of a kind in one linked map."""

    def __init__(self, linked: LinkedMap) -> None:
        self.linked = linked

    def find(self, kind: str, owners: Collection[Entity], *, person: bool | None) -> list[NamedThing]:
        """Find the names that may be of a kind and belong to the one whose names are `owners`, best first.

        `person` says whether they are of people or not, if that is known.
        """
        mine = {n for n, entity in enumerate(self.linked.entities) if entity in owners}
        nouns = [self._read_noun(place, mine) for place in self._list_places(kind)]
        found: dict[int, NamedThing] = {}
        for noun in nouns:
            self._count(noun, found, mine)
        kept = [one for one in found.values() if self._may_be(one.entity, person=person)]
        for one in kept:
            one.together = self._count_together(one.entity, mine)
            one.score = self._score(one, nouns, mine, person=bool(person))
        return sorted(kept, key=lambda one: (-one.score, one.entity.name))

    def _may_be(self, entity: Entity, *, person: bool | None) -> bool:
        """Tell whether a name may be a person's, or may not. Ships and inns have "the" before their names."""
        if person is None or (entity.kind is EntityKind.PERSON) == person:
            return True
        texts = self.linked.sections
        the = sum(texts[n].text[max(0, start - 4) : start].lower() == "the " for n, start, _ in entity.places)
        return not person and 2 * the > len(entity.places)

    def _list_places(self, kind: str) -> Iterator[Place]:
        pattern = match_kind(kind)
        for number, section in enumerate(self.linked.sections):
            yield from ((number, *noun.span()) for noun in pattern.finditer(section.text))

    @cached_property
    def _mentions(self) -> list[tuple[list[int], list[Mention]]]:
        """The mentions of names by section: where they begin, and all of each."""
        rows: list[list[Mention]] = [[] for _ in self.linked.sections]
        for number, entity in enumerate(self.linked.entities):
            for section, start, end in entity.places if entity.kind is not EntityKind.TERM else ():
                if self.linked.sections[section].text[start].isupper():
                    rows[section].append((start, end, number))
        return [([start for start, _, _ in sorted(row)], sorted(row)) for row in rows]

    @cached_property
    def _length(self) -> int:
        return sum(len(section.text) for section in self.linked.sections)

    def _between(self, section: int, start: int, end: int) -> Sequence[Mention]:
        """Return the mentions that begin within a stretch."""
        starts, rows = self._mentions[section]
        return rows[bisect_left(starts, start) : bisect_left(starts, end)]

    def _read_noun(self, place: Place, mine: Set[int]) -> Noun:
        whose, pronoun = self._find_owner(place)
        if whose is not None:
            return Noun(place, whose, is_owned=True, worth=SAYS * (whose in mine))
        section, start, _ = place
        before = [number for _, _, number in self._between(section, start - MEANT, start)]
        people = [n for n in before if self.linked.entities[n].kind is EntityKind.PERSON]
        last = bool(people) and people[-1] in mine
        worth = MEANS if last else MAY_MEAN * (not mine.isdisjoint(before))
        return Noun(place, None, is_owned=pronoun, worth=worth * pronoun)

    def _find_owner(self, place: Place) -> tuple[int | None, bool]:
        """Find whose a thing is by what stands beside the noun: a name, or a pronoun."""
        section, start, end = place
        text = self.linked.sections[section].text
        before = _OWNS.search(text, max(0, start - 40), start)
        if before and before["owner"][0] in "'’":
            at = before.start()
            mine = [number for _, last, number in self._between(section, at - 60, at) if last == at]
            return (mine[0] if mine else None), False
        for first, _, number in self._between(section, end, end + 40):
            if _OF.fullmatch(text, end, first):
                return number, False
        return None, before is not None

    def _count(self, noun: Noun, found: dict[int, NamedThing], mine: Set[int]) -> None:
        """Count what a place of the noun says about the names around it."""
        section, start, end = noun.place
        others = mine | {noun.whose}
        for number in {n for _, _, n in self._between(section, start - AROUND, end + AROUND)} - others:
            one = found.setdefault(number, NamedThing(self.linked.entities[number]))
            one.around += not noun.is_owned
            one.beside += noun.worth >= MEANS
        for first, last, number in self._list_named(noun.place):
            if number not in others:
                one = found.setdefault(number, NamedThing(self.linked.entities[number]))
                one.said += noun.worth
                one.places[section, first, last] = noun.worth

    def _list_named(self, place: Place) -> Iterator[Mention]:
        """List the names that stand beside a noun as names of what it means."""
        section, start, end = place
        text = self.linked.sections[section].text
        after = (b for a, b, _ in self._between(section, end, end + 40) if _OF.fullmatch(text, end, a))
        tail = next(after, end)
        for mention in self._between(section, start - 90, tail + 60):
            first, last, _ = mention
            named = first <= start and end <= last and last - first > end - start
            if last <= start:
                closed = text[last] != "," or _CLOSES.match(text, end)
                named = bool(closed and _FOLLOWS.fullmatch(text, last, start))
            elif first >= tail:
                closed = text[tail] != "," or _CLOSES.match(text, last)
                named = bool(closed and _LEADS.fullmatch(text, tail, first))
            if named:
                yield mention

    def _count_together(self, entity: Entity, mine: Set[int]) -> int:
        """Count the mentions of the owner that the name stands near; without an owner, all of the name."""
        if not mine:
            return len(entity.places)
        places = (place for number in mine for place in self.linked.entities[number].places)
        near = (self._between(section, a - TOGETHER, b + TOGETHER) for section, a, b in places)
        return sum(any(self.linked.entities[n] is entity for _, _, n in each) for each in near)

    def _score(self, one: NamedThing, nouns: Sequence[Noun], mine: Set[int], *, person: bool) -> float:
        """Score how far the book says, and shows, that a name is of the kind and the owner's.

        People are near all sorts of nouns, so that proves nothing of them.
        """
        free = sum(not noun.is_owned for noun in nouns)
        his = sum(noun.worth >= MEANS for noun in nouns)
        mentions = len(one.entity.places)
        chance = free * min(1.0, mentions * 2 * AROUND / self._length)
        proof = len(one.places) + (0.0 if person else NEAR_NOUN * max(0.0, one.around - chance))
        proven = proof / (proof + HALF + OF_MENTIONS * mentions)
        owned = sum(len(self.linked.entities[n].places) for n in mine)
        more = max(0.0, one.beside - his * one.together / max(1, owned))
        return one.said + NEAR_OWNED * more + (free / len(nouns)) ** 2 * proven * one.together
