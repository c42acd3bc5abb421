"""Find the names that a book gives to things of a kind: which of them is a ship, and whose.

The book shows it where the noun stands beside a name: "the ship Pequod", "Starbuck, the chief mate", "my
sister, Mrs. Joe", "Captain Ahab". Whose it is, is said there too ("Darcy’s sister", "the captain of the
Pequod", "his wife" after a name), or shown by how often two names occur together. How much that proves, the
book's own use of the noun tells: a sister is always somebody's, and a ship seldom.

What a sentence denies, asks or supposes does not count as said. The work grows with the book and no faster:
the mentions of the owner are walked once, at most `OWNED_MOST` of them, for all names together.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from octavo.text.bookmap.model import EntityKind

if TYPE_CHECKING:
    from octavo.text.bookmap.link import Entity, LinkedMap, Place

# How far from a name another one stands with it, a noun belongs to its surroundings, and "his" means it.
TOGETHER, AROUND, MEANT = 240, 150, 300
# What counts that whose it is stands in words beside the noun, and that "his" or "my" stands there after the
# owner's name or, with other names between, somewhere after it.
SAYS, MEANS, MAY_MEAN = 3.0, 1.0, 0.25
# How far words say it that leave room for doubt: one such place alone is no clear winner.
DOUBTFUL = 0.4
# What counts that a name is near the noun, or near what is the owner's, once more than by chance.
NEAR_NOUN, NEAR_OWNED = 0.3, 0.5
# So many places beside the noun are half the proof of a kind, and so many more for each mention of the name.
HALF, OF_MENTIONS = 2.0, 0.05
# So many names are scored, and so many mentions of the owner are looked at; of more, every so many-th.
NAMES_MOST, OWNED_MOST = 200, 3_000
# How far back a clause is read for what denies it, and how many marks may end a sentence.
CLAUSE_MOST, QUOTES_MOST = 200, 4
_OWNS = re.compile(
    r"(?P<owner>['’]s?|\b(?:his|her|their|my|our|your|thy|its))(?: [\w-]+){0,2} $", re.IGNORECASE
)
_OF = re.compile(r" (?:of|to|in|aboard|on board)(?: of)?(?: the| this| our)?(?: [a-z]+)? $")
# What may stand between the noun and a name of what it means, in this order and in the other.
_ADJECTIVES = (
    r"(?: (?:old|new|young|elder|eldest|older|younger|youngest|little|small|big|great|good|poor|dear|own|only"
    r"|late|last|first|second|third|fourth|chief|head|famous|brave|gallant|faithful|beloved|twin|best|worst|true"
    r"|real|one|certain)){0,2}"
)
_LEADS = re.compile(
    r"(?P<mark>,|:|\(| —|—)?"
    r"(?P<verb>(?: (?:was|is|named|called|being|known as|surnamed|by the name of|whose name (?:is|was)))*)"
    rf"(?: (?:the|an?))?{_ADJECTIVES}[ “\"‘]+"
)
_FOLLOWS = re.compile(
    r"[’”\"]?(?:(?P<mark>,|;|—| —| \()|(?P<verb> was| is|, who (?:is|was)| became))"
    r"(?: (?:the|an?|his|her|their|my|our|your|its))?"
    rf"(?: [A-Z][\w.]*(?: [A-Z][\w.]*){{0,2}}['’]s?)?{_ADJECTIVES} "
)
# Words of rank and kinship that mean the same. Of ranks only, as somebody's first wife is not the chief one.
_RANKED = ("mate", "officer", "engineer", "cook", "clerk", "steward", "harpooneer", "surgeon")
_SAME = (
    *(tuple(f"{first} {rank}" for first in ("first", "chief", "head")) for rank in _RANKED),
    ("mother", "mamma", "mama"),
    ("father", "papa"),
)
# After a comma, only what ends there is another word for the same. A noun may go on, as in "captain of", but
# a name may not: in "when he met the captain, Rudd was asleep" it begins another clause.
_NOUN_CLOSES = re.compile(
    r"[’”\"]?(?:[.,;:!)—]|$| (?:—|\(|(?:of|in|to|at|on|for|from|aboard|who|which|that)\b))"
)
_NAME_CLOSES = re.compile(r"[.,;:!)—]|$| —")
_GOES_ON = re.compile(r",? (?:and|or|nor)\b")
_POSSESSIVE = re.compile(r"['’](?:s\b|(?= [a-z]))")
# Who is spoken to is named after a comma at the end of what is said, as in "he is the captain, Rudd."
_SPOKEN_TO = re.compile(r"[.,!?…]?[”\"]")
_DENIES = re.compile(
    r"\b(?:not|cannot|never|no|nobody|none|nor|neither|nothing|if|unless|unlike|whether|without|instead|hardly"
    r"|scarcely|perhaps|maybe|than|wish\w*|pretend\w*|den(?:y|ied|ies)|doubt\w*|false\w*)\b|n['’]t\b",
    re.IGNORECASE,
)
_WHILE = re.compile(
    r"\b(?:when|while|as|after|before|since|until|till|though|although|because|where)\b", re.I
)
_CLAUSE_BEGINS = re.compile(r".*[.!?,;:“”\"—(\n]", re.DOTALL)
_CLAUSE = re.compile(r"[^.!?,;:“”\"—)\n]{0,200}")
_OF_SOMETHING = re.compile(r"\b(?:of|and|or)(?: the| this| our)? $")
Mention = tuple[int, int, int]
"""Where a name begins and ends in its section, and the number of its entity."""


@dataclass(frozen=True, slots=True)
class Noun:
    """A place of the noun, and how far it is the owner's: `worth`. It may be somebody's whatever that is.

    Where a name beside it says whose it is, `owner` is the place of that name.
    """

    place: Place
    whose: int | None
    is_owned: bool
    worth: float
    owner: Place | None = None


@dataclass(frozen=True, slots=True)
class NounUse:
    """How a book uses a noun: at how many places, how many of them are nobody's, and how many the owner's.

    The book mentions the owner `owned` times.
    """

    free: int
    his: int
    places: int
    owned: int


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

    @property
    def seen(self) -> float:
        """How much speaks for the name at first sight."""
        return self.said + self.around + self.beside + len(self.places)


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
        owned = {noun.owner for noun in nouns if noun.owner}
        for noun in nouns:
            self._count(noun, found, mine, owned)
        likely = sorted(found.items(), key=lambda item: (-item[1].seen, item[0]))
        fit = (item for item in likely if self._may_be(item[1].entity, person=person))
        kept = dict(islice(fit, NAMES_MOST))
        if not kept:
            return []
        use = NounUse(
            free=sum(not noun.is_owned for noun in nouns),
            his=sum(noun.worth >= MEANS for noun in nouns),
            places=len(nouns),
            owned=sum(len(self.linked.entities[n].places) for n in mine),
        )
        near = self._count_together(mine)
        for number, one in kept.items():
            one.together = near[number] if mine else len(one.entity.places)
            one.score = self._score(one, use, person=bool(person))
        return sorted(kept.values(), key=lambda one: (-one.score, one.entity.name))

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
        return [([start for start, _, _ in row], row) for row in map(sorted, rows)]

    @cached_property
    def _length(self) -> int:
        return sum(len(section.text) for section in self.linked.sections)

    def list_between(self, section: int, start: int, end: int) -> Sequence[Mention]:
        """Return the mentions that begin within a stretch."""
        starts, rows = self._mentions[section]
        return rows[bisect_left(starts, start) : bisect_left(starts, end)]

    def _read_noun(self, place: Place, mine: Set[int]) -> Noun:
        section, start, _ = place
        owner, pronoun = self._find_owner(place)
        if owner is not None:
            first, last, whose = owner
            worth = SAYS * (whose in mine)
            return Noun(place, whose, is_owned=True, worth=worth, owner=(section, first, last))
        before = [number for _, _, number in self.list_between(section, start - MEANT, start)]
        people = [n for n in before if self.linked.entities[n].kind is EntityKind.PERSON]
        last = bool(people) and people[-1] in mine
        worth = MEANS if last else MAY_MEAN * (not mine.isdisjoint(before))
        return Noun(place, None, is_owned=pronoun, worth=worth * pronoun)

    def _find_owner(self, place: Place) -> tuple[Mention | None, bool]:
        """Find whose a thing is by what stands beside the noun: a name, or a pronoun."""
        section, start, end = place
        text = self.linked.sections[section].text
        before = _OWNS.search(text, max(0, start - 40), start)
        if before and before["owner"][0] in "'’":
            at = before.start()
            mine = [mention for mention in self.list_between(section, at - 60, at) if mention[1] == at]
            return (mine[0] if mine else None), False
        for mention in self.list_between(section, end, end + 40):
            if _OF.fullmatch(text, end, mention[0]) and not _POSSESSIVE.match(text, mention[1]):
                return mention, False
        # "Captain Wick of the Gannet": what belongs to somebody may have its own name before that.
        titled = (b for a, b, _ in self.list_between(section, start, end + 2) if a <= end + 1 < b)
        for tail in titled:
            for mention in self.list_between(section, tail, tail + 10):
                if text[tail : mention[0]] in (" of ", " of the "):
                    return mention, False
        return None, before is not None

    def _count(self, noun: Noun, found: dict[int, NamedThing], mine: Set[int], owned: Set[Place]) -> None:
        """Count what a place of the noun says about the names around it."""
        section, start, end = noun.place
        others = mine | {noun.whose}
        for number in {n for _, _, n in self.list_between(section, start - AROUND, end + AROUND)} - others:
            one = found.setdefault(number, NamedThing(self.linked.entities[number]))
            one.around += not noun.is_owned
            one.beside += noun.worth >= MEANS
        for (first, last, number), sure in self._list_named(noun.place):
            if number not in others and (section, first, last) not in owned:
                one = found.setdefault(number, NamedThing(self.linked.entities[number]))
                mention, worth = (section, first, last), noun.worth * sure
                one.said += max(0.0, worth - one.places.get(mention, 0.0))
                one.places[mention] = max(worth, one.places.get(mention, 0.0))

    def _list_named(self, place: Place) -> Iterator[tuple[Mention, float]]:
        """List the names that stand beside a noun as names of what it means, and how sure that is."""
        section, start, end = place
        text = self.linked.sections[section].text
        after = (b for a, b, _ in self.list_between(section, end, end + 40) if _OF.fullmatch(text, end, a))
        tail = next(after, end)
        for mention in self.list_between(section, start - 90, tail + 60):
            first, last, _ = mention
            sure = 0.0
            titled = first <= start and end <= last and last - first > end - start
            # Captain Ahab is a captain, and the ship Pequod a ship, whatever they never did.
            close = titled or (first >= end and not text[end:first].strip(' “"‘'))
            if titled:
                sure = 1.0
            elif last <= start:
                sure = _measure_following(text, mention, start, tail)
            elif first >= tail:
                sure = self._measure_leading(section, end, tail, mention)
            if sure and (close or not self._is_denied(section, min(first, start), max(last, tail))):
                yield mention, sure

    def _measure_leading(self, section: int, end: int, tail: int, name: Mention) -> float:
        """Measure how sure it is that a name after a noun, which ends at `tail`, is that of what it means."""
        text = self.linked.sections[section].text
        first, last, _ = name
        leads = _LEADS.fullmatch(text, tail, first)
        if not leads or _POSSESSIVE.match(text, last):
            return 0.0
        if leads["verb"]:
            return 1.0
        if leads["mark"] == ",":
            closed = _NAME_CLOSES.match(text, last) and not _SPOKEN_TO.match(text, last)
            if not closed or _WHILE.search(self._read_clause_before(section, end)):
                return 0.0
            return DOUBTFUL if _GOES_ON.match(text, last) else 1.0
        return DOUBTFUL if leads["mark"] or tail > end else 1.0

    def _is_denied(self, section: int, start: int, end: int) -> bool:
        """Tell whether the clause around a stretch denies, asks or supposes what it says."""
        text = self.linked.sections[section].text
        rest = _CLAUSE.match(text, end)
        until = rest.end() if rest else end
        _, last = self._find_sentence(section, end)
        ends = text[max(until, last - QUOTES_MOST) : last].rstrip("”’\"' \n")
        asks = text[until : until + 1] == "?" or ends.endswith("?")
        return asks or bool(_DENIES.search(self._read_clause_before(section, start) + text[start:until]))

    def _read_clause_before(self, section: int, end: int) -> str:
        start, _ = self._find_sentence(section, end)
        before = self.linked.sections[section].text[max(start, end - CLAUSE_MOST) : end]
        return _CLAUSE_BEGINS.sub("", before)

    def _find_sentence(self, section: int, at: int) -> tuple[int, int]:
        sentences = self.linked.marks[section].sentences
        number = bisect_right(sentences, (at, len(self.linked.sections[section].text) + 1)) - 1
        return sentences[number] if number >= 0 else (0, at)

    def _count_together(self, mine: Set[int]) -> Counter[int]:
        """Count for each name the mentions of the owner that it stands near."""
        places = [place for number in sorted(mine) for place in self.linked.entities[number].places]
        step = -(-len(places) // OWNED_MOST) or 1
        near: Counter[int] = Counter()
        for section, start, end in places[::step]:
            near.update({n for _, _, n in self.list_between(section, start - TOGETHER, end + TOGETHER)})
        return Counter({number: step * count for number, count in near.items()})

    def _score(self, one: NamedThing, use: NounUse, *, person: bool) -> float:
        """Score how far the book says, and shows, that a name is of the kind and the owner's.

        People are near all sorts of nouns, so that proves nothing of them.
        """
        mentions = len(one.entity.places)
        chance = use.free * min(1.0, mentions * 2 * AROUND / self._length)
        proof = len(one.places) + (0.0 if person else NEAR_NOUN * max(0.0, one.around - chance))
        proven = proof / (proof + HALF + OF_MENTIONS * mentions)
        more = max(0.0, one.beside - use.his * one.together / max(1, use.owned))
        return one.said + NEAR_OWNED * more + (use.free / use.places) ** 2 * proven * one.together


def _measure_following(text: str, name: Mention, start: int, tail: int) -> float:
    """Measure how sure it is that a name is that of what a noun after it means, which ends at `tail`."""
    first, last, _ = name
    follows = _FOLLOWS.fullmatch(text, last, start)
    if not follows:
        return 0.0
    if follows["verb"]:
        return 1.0
    if not _NOUN_CLOSES.match(text, tail):
        return 0.0
    # "The father of Bess, captain of the Gannet": who is meant may be the one before.
    doubtful = follows["mark"] != "," or _GOES_ON.match(text, tail)
    return DOUBTFUL if doubtful or _OF_SOMETHING.search(text, max(0, first - 12), first) else 1.0
