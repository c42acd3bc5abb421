"""Join the marks of sections into one map: entities with all their places, in the order of the book.

A map is made from the sections that it is given and from nothing else. To show a reader only what they have
read, give only that.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import TYPE_CHECKING

from octavo.text.bookmap.entities import (
    Group,
    KindJudge,
    fold,
    group_forms,
    join_other_names,
    speaks_of_people,
)
from octavo.text.bookmap.forms import collect_forms, count_lower, is_title
from octavo.text.bookmap.marks import Cue, How, SectionMarks
from octavo.text.bookmap.model import EntityKind
from octavo.text.bookmap.terms import Source, Term, collect_terms, split_keys
from octavo.text.english import list_words, measure_rarity, stem

if TYPE_CHECKING:
    from octavo.types import Section

_WEIGHTS = {Source.DEFINED: 1.0, Source.HEADED: 0.8, Source.CODE: 0.8, Source.PAIR: 0.5, Source.RARE: 0.35}
# What a name counts that mostly has "a" before it, as "a Quaker".
COMMON_NOUN = 0.3
_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)
Place = tuple[int, int, int]
"""The number of a section, and where a stretch of its text begins and ends."""


@dataclass(frozen=True, slots=True)
class Entity:
    """Something that a book speaks of. `spellings` are its names and a place of each, most frequent first."""

    kind: EntityKind
    spellings: tuple[tuple[str, Place], ...]
    places: tuple[Place, ...]
    weight: float
    definitions: tuple[tuple[int, int, int], ...] = ()

    @property
    def name(self) -> str:
        return self.spellings[0][0]


@dataclass(frozen=True, slots=True)
class LinkedMap:
    """The entities of some sections, by weight, with the sections and their marks."""

    sections: tuple[Section, ...]
    marks: tuple[SectionMarks, ...]
    entities: tuple[Entity, ...]
    by_name: Mapping[str, int] = field(default_factory=dict)
    entries: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    """Where each entry of a glossary or a reference is explained: sections and sentences by number."""

    def find(self, name: str) -> Entity | None:
        """Find an entity by any of its names, whatever their case, plural or hyphens."""
        words = _ARTICLE.sub("", " ".join(name.split())).split()
        untitled = words
        while len(untitled) > 1 and is_title(untitled[0]):
            untitled = untitled[1:]
        for text in dict.fromkeys([name, " ".join(words), " ".join(untitled)]):
            for key in (fold(text), fold_plural(text)):
                if key in self.by_name:
                    return self.entities[self.by_name[key]]
        return None


def fold_plural(name: str) -> str:
    return " ".join(split_keys(name))


def link_map(sections: Sequence[Section], marks: Sequence[SectionMarks]) -> LinkedMap:
    """Link the marks of sections, which are given in reading order. Takes CPU time: run it in a thread."""
    texts = [section.text for section in sections]
    lower = count_lower(sections)
    names, doubtful = collect_forms(texts, marks, lower)
    groups = group_forms(names, doubtful, lower)
    loose = join_other_names(groups, texts, marks)
    phrases = [phrase for pair in loose for phrase in pair]
    terms = collect_terms(texts, [section.title for section in sections], marks, extra=phrases)
    _join_loose(terms, loose)
    judge = KindJudge(peopled=speaks_of_people(groups.values()), lower=lower, texts=texts)
    found = [*_make_names(groups, terms, texts, judge), *(_make_term(term, texts) for term in terms.values())]
    ranked = sorted(found, key=lambda entity: (-entity.weight, entity.places[0], entity.name))
    entries = _index_entries(texts, marks)
    return LinkedMap(tuple(sections), tuple(marks), tuple(ranked), _index_names(ranked), entries)


def fold_entry(name: str) -> str:
    """Write the name of an entry in one way. Marks count ("-v" is not "v"), and the case of an option."""
    said = " ".join(name.split()).strip("“”\"‘’'` ")
    return said if said.startswith("-") or len(said) == 1 else said.lower()


def _index_entries(
    texts: Sequence[str], marks: Sequence[SectionMarks]
) -> dict[str, tuple[tuple[int, int], ...]]:
    entries: dict[str, dict[tuple[int, int], None]] = {}
    for number, (text, marked) in enumerate(zip(texts, marks, strict=True)):
        for start, end, sentence, how in marked.definitions:
            if how in (How.GLOSSARY, How.ENTRY) and sentence < len(marked.sentences):
                entries.setdefault(fold_entry(text[start:end]), {}).setdefault((number, sentence))
    return {name: tuple(places) for name, places in entries.items()}


def _index_names(entities: Sequence[Entity]) -> dict[str, int]:
    """Index all names; where two entities share one, it is that of the weightier."""
    index: dict[str, int] = {}
    for way in (fold, fold_plural):
        for number, entity in enumerate(entities):
            for text, _ in entity.spellings:
                index.setdefault(way(text), number)
    # A word of a name is enough where no other name has it: "Mapple" for "Father Mapple".
    parts: dict[str, set[int]] = {}
    for number, entity in enumerate(entities):
        words = {word for text, _ in entity.spellings if text[0].isupper() for word in fold(text).split()}
        for word in words - list_words("stop", "place_nouns"):
            parts.setdefault(word, set()).add(number)
    for word, numbers in parts.items():
        if len(numbers) == 1 and not is_title(word):
            index.setdefault(word, *numbers)
    return index


def _join_loose(terms: dict[tuple[str, ...], Term], loose: Sequence[tuple[str, str]]) -> None:
    """Join abbreviations with long forms that are not names: "mail transport agent (MTA)"."""
    for long, short in loose:
        one, other = split_keys(long), split_keys(short)
        if one != other and one in terms and other in terms:
            terms[one].places += terms[other].places
            terms[one].definitions += terms.pop(other).definitions


def _make_names(
    groups: Mapping[str, Group],
    terms: dict[tuple[str, ...], Term],
    texts: Sequence[str],
    judge: KindJudge,
) -> list[Entity]:
    """Make an entity of each group. It takes over the terms that are written like it."""
    made = []
    for group in groups.values():
        places = {place for form in group.forms for place in form.places}
        definitions: list[tuple[int, int, int]] = []
        common = 0
        for form in group.forms:
            term = terms.pop(split_keys(form.text), None)
            if term is None:
                continue
            definitions += term.definitions
            if " " in form.text:
                # "sperm whale" is the Sperm Whale, but "provides" is not the field Provides.
                common += len({*term.places} - places)
                places |= {*term.places}
        kind = judge.find_kind(group.forms, group.gender)
        defined = any(how in (How.GLOSSARY, How.IS) for *_, how in definitions)
        if common > len(places) / 4 or (defined and kind is EntityKind.THING):
            kind = EntityKind.TERM
        classed = sum(form.count(Cue.ONE_OF) for form in group.forms) / max(1, group.count)
        factor = COMMON_NOUN if classed > 0.25 else 1.0
        made.append(_make_entity(kind, places, definitions, factor, texts))
    return made


def _make_term(term: Term, texts: Sequence[str]) -> Entity:
    # Of two terms, the one that English uses less says more about the book.
    rarity = 1.0 if term.source is Source.CODE else max(measure_rarity(stem(word)) for word in term.key)
    factor = _WEIGHTS[term.source] * rarity**4 * (1.5 if len(term.key) > 1 else 1.0)
    return _make_entity(EntityKind.TERM, {*term.places}, term.definitions, factor, texts)


def _make_entity(
    kind: EntityKind,
    places: set[Place],
    definitions: Sequence[tuple[int, int, int]],
    factor: float,
    texts: Sequence[str],
) -> Entity:
    ordered = tuple(sorted(places))
    first: dict[str, Place] = {}
    counts: Counter[str] = Counter()
    for place in ordered:
        spelled = texts[place[0]][place[1] : place[2]]
        first.setdefault(spelled, place)
        counts[spelled] += 1
    spread = len({section for section, _, _ in ordered})
    return Entity(
        kind=kind,
        spellings=tuple(
            (text, first[text]) for text in sorted(counts, key=lambda text: (-counts[text], text))
        ),
        places=ordered,
        weight=factor * len(ordered) * (1 + log(spread)),
        definitions=tuple(sorted(definitions, key=lambda d: (d[2], d[0], d[1]))),
    )
