"""Describe what a linked map knows: entries, introductions, definitions, mentions and company.

Everything is cut from the text of the sections by offset.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, TypedDict

from octavo.text.bookmap.chapters import choose_sentences, find_descendants, list_chapters
from octavo.text.bookmap.entities import fold, split_title
from octavo.text.bookmap.link import Entity, LinkedMap, Place, fold_entry, fold_plural
from octavo.text.bookmap.marks import How
from octavo.text.bookmap.model import (
    ChapterGist,
    Companion,
    EntityDetails,
    EntityKind,
    EntitySummary,
    MapMention,
    MapPlace,
    MapQuote,
)

if TYPE_CHECKING:
    from octavo.types import Section

STATEMENTS_MOST, COMPANIONS_MOST = 8, 12
# How many of the first mentions may introduce an entity, and in how many statements are looked for.
INTRODUCTIONS, STATEMENTS_AMONG = 12, 1_000
# How far apart two entities may stand to be together, and how many entities are looked at.
NEAR, COMPANIONS_AMONG = 240, 500
_IS = re.compile(
    r"['’”\"]?,?(?: (?:also|now|then|here|himself|herself|itself))? "
    r"(?:is|was|are|were|means?|refers? to|consists? of|comprises?|became) "
    r"(?:an?|the|one|his|her|our|my|only|what|that|called|named|used|by|not|to|of)\b"
)
_APPOSED = re.compile(
    r"(?:, | \()(?:an?|the|one of|our|his|her|my|whose|who (?:is|was|had)|which (?:is|was)) "
)
# After "the captain of the Pequod", something is said of the captain; ", Ahab," is spoken to.
_GOVERNED = re.compile(
    r"\b(?:of|by|in|on|at|to|for|from|with|and|or|than|round|upon)(?: the| an?| his| her| our)? $"
)
_LISTED = re.compile(r"(?:,|\band|\bor|\bof(?: the)?) $")
_NAMED = re.compile(
    r"(?:\b(?:called|named|known as|name (?:is|was)|by the name of|christened"
    r"|(?:call|called|named) (?:me|him|her|it|them))(?: the| an?)?"
    r"|\b(?:mate|man|one|ship|captain|it|this|he|she|here|of \w+|the \w+|\w+’s \w+) (?:is|was))[ “\"‘]+$"
)
_BETWEEN = r"[\W_]{1,3}"


class MapDescriber:
    """Answers what a reader or an answerer asks of one linked map."""

    def __init__(self, linked: LinkedMap) -> None:
        self.linked = linked

    def find(self, name: str) -> Entity | None:
        """Find an entity by any of its names, or else the phrase itself wherever it stands."""
        return self.linked.find(name) or self._search(name)

    def list_bearers(self, name: str) -> list[Entity]:
        """List the entities whose name may be this one: "Darcy" may be "Mr. Darcy", but not "Miss Darcy"."""
        found = self.linked.find(name)
        if found is None:
            return []
        (core, own), (_, asked) = split_title(found.name, {}), split_title(name, {})
        bearers = [found]
        for entity in self.linked.entities:
            other, gender = split_title(entity.name, {})
            same = fold(other) == fold(core) and gender in ("", asked or own or "m")
            bearers += [entity] if same and entity is not found else []
        return bearers

    def quote_around(self, place: Place) -> MapQuote:
        """Return the sentence around a mention."""
        return self._quote(self._find_sentence(place))

    def suggest(self, name: str, *, least: float = 0.6) -> list[str]:
        """Return names of the map that are like this one."""
        names = {fold(text): text for entity in self.linked.entities for text, _ in entity.spellings[:3]}
        return [names[key] for key in get_close_matches(fold(name), names, n=5, cutoff=least)]

    def list_entities(self, limit: int) -> list[EntitySummary]:
        """Return the weightiest entities of each kind, `limit` of each."""
        left = Counter(dict.fromkeys(EntityKind, limit))
        found = []
        for entity in self.linked.entities:
            if left[entity.kind] > 0:
                left[entity.kind] -= 1
                found.append(self.summarise(entity))
        return found

    def summarise(self, entity: Entity) -> EntitySummary:
        return EntitySummary(
            name=entity.name,
            kind=entity.kind,
            aliases=_list_aliases(entity),
            mention_count=len(entity.places),
            section_count=len({place[0] for place in entity.places}),
            first=self._place(entity.places[0]),
        )

    def describe(self, entity: Entity, *, mentions: int) -> EntityDetails:
        """Return everything about an entity, with the first `mentions` of its places."""
        short = self.summarise(entity)
        return EntityDetails(
            name=short.name,
            kind=short.kind,
            aliases=short.aliases,
            mention_count=short.mention_count,
            section_count=short.section_count,
            first=short.first,
            introduction=self.introduce(entity),
            definition=self.define(entity),
            statements=tuple(self.list_statements(entity)),
            mentions=tuple(self._mention(place) for place in entity.places[:mentions]),
            companions=tuple(self.list_companions(entity)),
        )

    def introduce(self, entity: Entity) -> MapQuote:
        """Return the first sentence that describes an entity, or the first that mentions it."""
        places = entity.places[:INTRODUCTIONS]
        describing = (place for place in places if self._is_describing(place))
        return self._quote(self._find_sentence(next(describing, places[0])))

    def define(self, entity: Entity) -> MapQuote | None:
        """Return the sentence that defines an entity: of a glossary or reference, or of the plainest form."""
        entries = self.find_entries(entity.name)
        for section, number, how in entity.definitions:
            if how != How.GLOSSARY and entries:
                break
            if number < len(self.linked.marks[section].sentences) and how != How.LISTED:
                return self._quote_sentence(section, number)
        return entries[0] if entries else None

    def find_entries(self, name: str) -> list[MapQuote]:
        """Return the sentences that explain the entries of this name in glossaries and references."""
        return [self._quote_sentence(*place) for place in self.linked.entries.get(fold_entry(name), ())]

    def list_statements(self, entity: Entity) -> list[MapQuote]:
        """Return the sentences that say what an entity is, in the order of the book."""
        found: dict[Place, None] = {}
        for place in entity.places[:STATEMENTS_AMONG]:
            if self._is_describing(place):
                found.setdefault(self._find_sentence(place))
                if len(found) == STATEMENTS_MOST:
                    break
        return [self._quote(place) for place in found]

    def list_companions(self, entity: Entity) -> list[Companion]:
        """Return the entities that stand near this one most often."""
        counts: Counter[int] = Counter()
        for section, start, end in entity.places:
            starts, owners = self._near[section]
            first, last = bisect_left(starts, start - NEAR), bisect_right(starts, end + NEAR)
            counts.update({*owners[first:last]})
        entities = self.linked.entities
        terms = entity.kind is EntityKind.TERM
        shown = (
            (entities[number], count)
            for number, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            if entities[number] is not entity and (terms or entities[number].kind is not EntityKind.TERM)
        )
        return [
            Companion(name=other.name, kind=other.kind, count=count)
            for (other, count), _ in zip(shown, range(COMPANIONS_MOST), strict=False)
        ]

    def list_chapters(self) -> list[ChapterGist]:
        """Return the chapters in order, each with its gist."""
        return [self._describe_chapter(number) for number in list_chapters(self.linked.sections)]

    def find_gist(self, section_id: str) -> ChapterGist | None:
        """Return the gist of a section with those under it."""
        numbers = (n for n, section in enumerate(self.linked.sections) if section.id == section_id)
        number = next(numbers, None)
        return None if number is None else self._describe_chapter(number)

    def _describe_chapter(self, number: int) -> ChapterGist:
        section = self.linked.sections[number]
        chosen = choose_sentences(self.linked, find_descendants(self.linked.sections, number))
        return ChapterGist(
            section_id=section.id,
            title=section.title,
            heading_path=section.heading_path,
            position=section.position,
            gist=tuple(self._quote(place) for place in chosen),
        )

    def _search(self, name: str) -> Entity | None:
        """Find a phrase that is no entity wherever it stands as whole words."""
        words = re.findall(r"\w+", name)
        if not words:
            return None
        spelled_out = _BETWEEN.join(re.escape(word) for word in words)
        pattern = re.compile(rf"(?<!\w){spelled_out}(?!\w)", re.IGNORECASE)
        found = [
            (number, *match.span())
            for number, section in enumerate(self.linked.sections)
            for match in pattern.finditer(section.text)
        ]
        if not found:
            return None
        section, start, end = found[0]
        spelled = self.linked.sections[section].text[start:end]
        return Entity(EntityKind.TERM, ((spelled, found[0]),), tuple(found), 0.0)

    @cached_property
    def _near(self) -> list[tuple[list[int], list[int]]]:
        """The places of the weightiest entities, by section: where they begin, and whose they are."""
        rows: list[list[tuple[int, int]]] = [[] for _ in self.linked.sections]
        for number, entity in enumerate(self.linked.entities[:COMPANIONS_AMONG]):
            for section, start, _ in entity.places:
                rows[section].append((start, number))
        return [([s for s, _ in sorted(row)], [n for _, n in sorted(row)]) for row in rows]

    def _is_describing(self, place: Place) -> bool:
        """Tell whether the sentence around a mention says what it is."""
        section, start, end = place
        text = self.linked.sections[section].text
        _, first, last = self._find_sentence(place)
        if last - first < 12 or text[last - 1] == "?":
            return False
        begin = max(first, start - 60)
        if _NAMED.search(text, begin, start):
            return True
        if _IS.match(text, end, last):
            return not _GOVERNED.search(text, begin, start)
        return bool(_APPOSED.match(text, end, last)) and not _LISTED.search(text, begin, start)

    def _quote_sentence(self, section: int, number: int) -> MapQuote:
        return self._quote((section, *self.linked.marks[section].sentences[number]))

    def _find_sentence(self, place: Place) -> Place:
        section, start, end = place
        sentences = self.linked.marks[section].sentences
        number = max(0, bisect_right(sentences, (start, len(self._text(section)) + 1)) - 1)
        first, last = sentences[number] if sentences else (start, end)
        return section, min(first, start), max(last, end)

    def _text(self, section: int) -> str:
        return self.linked.sections[section].text

    def _place(self, place: Place) -> MapPlace:
        return MapPlace(**_locate(self.linked.sections[place[0]], place))

    def _quote(self, place: Place) -> MapQuote:
        section = self.linked.sections[place[0]]
        return MapQuote(**_locate(section, place), text=section.text[place[1] : place[2]])

    def _mention(self, place: Place) -> MapMention:
        section = self.linked.sections[place[0]]
        _, first, last = self._find_sentence(place)
        return MapMention(
            **_locate(section, place),
            text=section.text[place[1] : place[2]],
            sentence=section.text[first:last],
        )


class _Located(TypedDict):
    section_id: str
    section: str
    position: int
    start: int
    end: int
    page: str | None
    url: str


def _locate(section: Section, place: Place) -> _Located:
    page = section.page_at(place[1])
    return {
        "section_id": section.id,
        "section": section.title,
        "position": section.position,
        "start": place[1],
        "end": place[2],
        "page": None if page is None else page.label or str(page.number),
        "url": section.url,
    }


def _list_aliases(entity: Entity) -> tuple[str, ...]:
    """Return the other names of an entity, without those that differ only in case or number."""
    known = {fold_plural(entity.name)}
    found = []
    for text, _ in entity.spellings[1:]:
        key = fold_plural(text)
        if key not in known:
            known.add(key)
            found.append(text)
    return tuple(found)
