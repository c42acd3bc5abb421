"""The values that a map is made of: what readers and programs get.

Every `text`, `name` and alias is cut from the book at the place beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class EntityKind(StrEnum):
    PERSON = "person"
    PLACE = "place"
    THING = "thing"
    TERM = "term"


@dataclass(frozen=True, slots=True, kw_only=True)
class MapPlace:
    """A stretch of a section's text."""

    section_id: str
    section: str
    position: int
    start: int
    end: int
    page: str | None
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MapQuote(MapPlace):
    """A stretch of a section's text, with its words."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MapMention(MapQuote):
    """A mention as it is spelled, with the sentence around it."""

    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntitySummary:
    """An entry of the map: a name, what it is called besides, and how often it occurs."""

    name: str
    kind: EntityKind
    aliases: tuple[str, ...]
    mention_count: int
    section_count: int
    first: MapPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class Companion:
    """An entity that occurs near another one, and how often."""

    name: str
    kind: EntityKind
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityDetails(EntitySummary):
    """Everything that the map has of one entity.

    `introduction` is the first sentence that describes it, `definition` the sentence that defines it, and
    `statements` are those that say what it is. `mentions` are all its places in the order of the book.
    """

    introduction: MapQuote
    definition: MapQuote | None
    statements: tuple[MapQuote, ...]
    mentions: tuple[MapMention, ...]
    companions: tuple[Companion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChapterGist:
    """A chapter, or any section with those under it, and the sentences that say most of it, in order."""

    section_id: str
    title: str
    heading_path: tuple[str, ...]
    position: int
    gist: tuple[MapQuote, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BookMap:
    """The map of a book, or of what was read of it: the weightiest entities, and the chapters in order.

    `entity_count` counts all entities.
    """

    book_id: str
    title: str
    up_to: str | None
    entities: tuple[EntitySummary, ...]
    entity_count: int
    chapters: tuple[ChapterGist, ...]
