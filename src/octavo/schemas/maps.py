"""The JSON shapes of the map of a book. Every text is cut from the book at the place beside it."""

from __future__ import annotations

from octavo.schemas.base import Schema
from octavo.text.bookmap.model import EntityKind


class MapPlaceJson(Schema):
    """A stretch of a section's text, by its offsets."""

    section_id: str
    section: str
    position: int
    start: int
    end: int
    page: str | None
    url: str


class MapQuoteJson(MapPlaceJson):
    """A stretch of a section's text, with its words."""

    text: str


class MapMentionJson(MapQuoteJson):
    """A mention as it is spelled, with the sentence around it."""

    sentence: str


class EntityJson(Schema):
    """A person, place, thing or term of a book."""

    name: str
    kind: EntityKind
    aliases: list[str]
    mention_count: int
    section_count: int
    first: MapPlaceJson


class CompanionJson(Schema):
    """An entity that is mentioned near another one, and how often."""

    name: str
    kind: EntityKind
    count: int


class EntityDetailsJson(EntityJson):
    """Everything that the map has of one entity. `mentions` are the first ones, in the order of the book."""

    introduction: MapQuoteJson
    definition: MapQuoteJson | None
    statements: list[MapQuoteJson]
    mentions: list[MapMentionJson]
    companions: list[CompanionJson]


class ChapterGistJson(Schema):
    """A chapter, and the sentences that say most of it, in order."""

    section_id: str
    title: str
    heading_path: list[str]
    position: int
    gist: list[MapQuoteJson]


class BookMapJson(Schema):
    """The map of a book, or of what comes before the end of `up_to`."""

    book_id: str
    title: str
    up_to: str | None
    entities: list[EntityJson]
    entity_count: int
    chapters: list[ChapterGistJson]


class BuiltMapJson(Schema):
    """A book whose map is ready, and how many of its sections were marked for it now."""

    book_id: str
    sections: int


class BuiltMapsJson(Schema):
    """The result of `octavo map --build`."""

    books: list[BuiltMapJson]
