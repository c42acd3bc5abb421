"""Bookmarks, highlights and notes of readers, and where they stopped reading.

A note is at a passage by its section and offsets, and has the words that stood there. When a new edition has
moved the words, `list_notes` says where they stand now; a note whose words are gone keeps them and is not
`found`. Each reader sees their own notes and places and nobody else's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from octavo.concurrency import run_blocking
from octavo.errors import InvalidValue, NotFound
from octavo.records.queries import Queries
from octavo.records.tables import notes, reading_places
from octavo.text.relocate import find_again

if TYPE_CHECKING:
    from octavo.records.database import Database
    from octavo.types import Section

NoteKind = Literal["bookmark", "highlight", "note"]
MOST_NOTES = 5_000
"""How many notes a reader may have in one book."""
MOST_CHARACTERS = 5_000
"""How long a passage with a note may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingPlace:
    """Where a reader stopped in a book. `share` is how much of the book lies before that, from 0 to 1."""

    book_id: str
    section_id: str
    offset: int
    share: float
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A bookmark, highlight or note. `section` is the title of its section, `page` the label of its page."""

    id: str
    book_id: str
    kind: NoteKind
    section_id: str
    start: int
    end: int
    text: str
    comment: str
    created_at: datetime
    updated_at: datetime
    section: str = ""
    page: str = ""
    found: bool = True


class Notes:
    """The notes and reading places of one library's readers."""

    def __init__(self, database: Database) -> None:
        self._database, self._queries = database, Queries(database)

    async def add(
        self, section: Section, *, owner: str, kind: NoteKind, start: int, end: int, comment: str = ""
    ) -> Note:
        """Adds a note on the characters from `start` to `end` of a section."""
        if not 0 <= start < end <= len(section.text) or end - start > MOST_CHARACTERS:
            rule = f"must be 1 to {MOST_CHARACTERS} characters of the section"
            raise InvalidValue("end", rule, end)
        now = datetime.now(UTC)
        note = Note(
            id=str(uuid4()),
            book_id=section.book_id,
            kind=kind,
            section_id=section.id,
            start=start,
            end=end,
            text=section.text[start:end],
            comment=comment,
            created_at=now,
            updated_at=now,
        )
        async with self._database.begin() as connection:
            mine = (notes.c.owner == owner, notes.c.book_id == section.book_id)
            if (await connection.scalar(select(func.count()).where(*mine)) or 0) >= MOST_NOTES:
                raise InvalidValue("notes", f"a book can have {MOST_NOTES} notes at most", MOST_NOTES)
            values = {column.name: getattr(note, column.name) for column in notes.c if column.name != "owner"}
            await connection.execute(insert(notes), values | {"owner": owner})
        return _describe(note, section)

    async def change(
        self, note_id: str, *, owner: str, kind: NoteKind | None = None, comment: str | None = None
    ) -> Note:
        """Changes the kind or the words of a note. Raises `NotFound` if it is another's."""
        async with self._database.begin() as connection:
            found = await self._require(connection, note_id, owner=owner)
            changed = replace(
                found,
                kind=found.kind if kind is None else kind,
                comment=found.comment if comment is None else comment,
                updated_at=datetime.now(UTC),
            )
            values = {"kind": changed.kind, "comment": changed.comment, "updated_at": changed.updated_at}
            await connection.execute(update(notes).where(notes.c.id == note_id).values(values))
        return (await self._locate([changed]))[0]

    async def find(self, note_id: str, *, owner: str) -> Note:
        """Finds a note as it is stored. Raises `NotFound` if it is another's."""
        async with self._database.connect() as connection:
            return await self._require(connection, note_id, owner=owner)

    async def delete(self, note_id: str, *, owner: str) -> None:
        async with self._database.begin() as connection:
            await self._require(connection, note_id, owner=owner)
            await connection.execute(delete(notes).where(notes.c.id == note_id))

    async def list_notes(self, book_id: str, *, owner: str) -> list[Note]:
        """Lists a reader's notes in a book in the order of the text, each where its words stand now."""
        query = select(notes).where(notes.c.owner == owner, notes.c.book_id == book_id)
        async with self._database.connect() as connection:
            found = [_parse(row) for row in await connection.execute(query.order_by(notes.c.created_at))]
        return await self._locate(found)

    async def list_noted_books(self, *, owner: str) -> list[str]:
        """Lists the ids of the books in which a reader has notes."""
        query = select(notes.c.book_id).where(notes.c.owner == owner).distinct().order_by(notes.c.book_id)
        async with self._database.connect() as connection:
            return list(await connection.scalars(query))

    async def save_place(
        self, section: Section, *, owner: str, offset: int = 0, share: float = 0.0
    ) -> ReadingPlace:
        """Saves where a reader is, in place of where they were before."""
        place = ReadingPlace(
            book_id=section.book_id,
            section_id=section.id,
            offset=min(offset, len(section.text)),
            share=share,
            updated_at=datetime.now(UTC),
        )
        mine = (reading_places.c.owner == owner, reading_places.c.book_id == place.book_id)
        values = {name: getattr(place, name) for name in place.__slots__}
        async with self._database.begin(f"the reading place of {owner}") as connection:
            await connection.execute(delete(reading_places).where(*mine))
            await connection.execute(insert(reading_places), values | {"owner": owner})
        return place

    async def list_places(self, *, owner: str) -> list[ReadingPlace]:
        """Lists where a reader stopped, the book that was read last first."""
        query = select(reading_places).where(reading_places.c.owner == owner)
        async with self._database.connect() as connection:
            found = await connection.execute(query.order_by(reading_places.c.updated_at.desc()))
            return [
                ReadingPlace(**{name: getattr(row, name) for name in ReadingPlace.__slots__}) for row in found
            ]

    async def _require(self, connection: AsyncConnection, note_id: str, *, owner: str) -> Note:
        query = select(notes).where(notes.c.id == note_id, notes.c.owner == owner)
        row = (await connection.execute(query)).one_or_none()
        if row is None:
            raise NotFound("note", note_id)
        return _parse(row)

    async def _locate(self, found: Sequence[Note]) -> list[Note]:
        """Say where each note's words stand now, in the order of the text; those that are gone come last."""
        if not found:
            return []
        sections = await self._queries.list_outline(found[0].book_id)
        positions = {section.id: section.position for section in sections}
        texts: dict[str, Section] = {}
        for section_id in {note.section_id for note in found} & positions.keys():
            section = await self._queries.find_section(found[0].book_id, section_id)
            if section is not None:
                texts[section_id] = section
        moved = {note.id for note in found if not _stands(note, texts.get(note.section_id))}
        everything = await self._queries.list_sections(found[0].book_id) if moved else []

        def place(note: Note) -> Note:
            if note.id in moved:
                return _find_note(note, everything, positions.get(note.section_id, 0))
            return _describe(note, texts[note.section_id])

        def order(note: Note) -> tuple[int, int]:
            return (positions[note.section_id] if note.found else len(positions), note.start)

        # Looking for many notes in a long book takes a while.
        placed = await run_blocking(lambda: [place(note) for note in found])
        return sorted(placed, key=order)


async def delete_notes_of(connection: AsyncConnection, book_id: str) -> None:
    """Deletes all notes and reading places in a book, of every reader."""
    await connection.execute(delete(notes).where(notes.c.book_id == book_id))
    await connection.execute(delete(reading_places).where(reading_places.c.book_id == book_id))


def _parse(row: Any) -> Note:
    return Note(**{column.name: getattr(row, column.name) for column in notes.c if column.name != "owner"})


def _stands(note: Note, section: Section | None) -> bool:
    return section is not None and section.text[note.start : note.end] == note.text


def _find_note(note: Note, sections: Sequence[Section], position: int) -> Note:
    """Find the words of a note in another edition: in its own section first, then in the nearest one."""
    nearest = sorted(sections, key=lambda each: (each.id != note.section_id, abs(each.position - position)))
    for section in nearest:
        near = note.start if section.id == note.section_id else 0
        if span := find_again(section.text, note.text, near=near):
            moved = replace(note, section_id=section.id, start=span[0], end=span[1])
            return _describe(moved, section)
    return replace(note, found=False)


def _describe(note: Note, section: Section) -> Note:
    mark = section.page_at(note.start)
    page = "" if mark is None else str(mark.label or mark.number)
    return replace(note, section=section.title, page=page)
