"""The JSON shapes of readers' notes and of the places where they stopped."""

from __future__ import annotations

from collections.abc import Sequence

from octavo.records.notes import Note, NoteKind, ReadingPlace
from octavo.schemas.base import Schema, Time
from octavo.types import Book


class ReadingPlaceJson(Schema):
    """Where the caller stopped in a book. `share` is how much of the book lies before it, from 0 to 1."""

    book_id: str
    section_id: str
    offset: int
    share: float
    updated_at: Time


class ReadingPlacesJson(Schema):
    """Where the caller stopped, the book that was read last first."""

    places: list[ReadingPlaceJson]

    @classmethod
    def from_places(cls, places: Sequence[ReadingPlace]) -> ReadingPlacesJson:
        return cls(places=[ReadingPlaceJson.from_value(place) for place in places])


class NoteJson(Schema):
    """A bookmark, highlight or note on the characters from `start` to `end` of a section.

    `text` are the words as they were when the note was made. `found` is false when they are no longer in the
    book.
    """

    id: str
    book_id: str
    kind: NoteKind
    section_id: str
    section: str
    page: str
    start: int
    end: int
    text: str
    comment: str
    found: bool
    created_at: Time
    updated_at: Time


class NotesJson(Schema):
    """The caller's notes in a book, in the order of the text."""

    notes: list[NoteJson]

    @classmethod
    def from_notes(cls, notes: Sequence[Note]) -> NotesJson:
        return cls(notes=[NoteJson.from_value(note) for note in notes])


class NoteExport(NoteJson):
    """A note with a link that opens its exact words."""

    title: str
    authors: list[str]
    link: str


class NotesExport(Schema):
    """All notes of the caller, by book."""

    notes: list[NoteExport]

    @classmethod
    def from_books(cls, books: Sequence[tuple[Book, Sequence[Note]]], links: Sequence[str]) -> NotesExport:
        pairs = [(book, note) for book, notes in books for note in notes]
        return cls(
            notes=[
                NoteExport.from_value(note, title=book.title, authors=list(book.authors), link=link)
                for (book, note), link in zip(pairs, links, strict=True)
            ]
        )
