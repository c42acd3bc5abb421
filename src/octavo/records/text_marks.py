"""The marks of the texts: what maps of books are made from, stored once for every text.

A text that several editions share is marked once, by the markup of the first of them, so a new edition marks
only what changed. Marks that are missing, of an earlier version or damaged are made again when they are
needed. They go with their text, and when its markup is replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, select, text

from octavo.concurrency import run_blocking
from octavo.errors import InvalidValue
from octavo.records.markup import list_markup
from octavo.records.rows import hash_text
from octavo.records.tables import text_marks, texts
from octavo.text.blocks import list_section_blocks
from octavo.text.bookmap.marks import MARKS_VERSION, SectionMarks, decode_marks, encode_marks
from octavo.text.bookmap.scan import mark_section

if TYPE_CHECKING:
    from octavo.records.database import Database
    from octavo.types import Element, Section

BATCH = 500
# How many characters are marked before the marks are saved: about half a second of work.
CHARACTERS_AT_ONCE = 200_000
_FIND = select(text_marks.c.hash, text_marks.c.marks).where(
    text_marks.c.hash.in_(bindparam("hashes", expanding=True)), text_marks.c.version == MARKS_VERSION
)
_EXISTING = select(texts.c.hash).where(texts.c.hash.in_(bindparam("hashes", expanding=True)))
_SAVE = text(
    "INSERT INTO text_marks (hash, version, marks) VALUES (:hash, :version, :marks) "
    "ON CONFLICT (hash) DO UPDATE SET version = excluded.version, marks = excluded.marks"
)


async def ensure_marks(database: Database, sections: Sequence[Section]) -> tuple[list[SectionMarks], int]:
    """Return the marks of sections of the records, and how many had to be made and saved first."""
    hashes = await run_blocking(_hash_texts, sections)
    known = await find_marks(database, hashes)
    missing = {key: section for key, section in zip(hashes, sections, strict=True) if key not in known}
    for batch in _split_by_length(missing):
        markup = await list_markup(database, list(batch.values()))
        made = await run_blocking(_mark_all, batch, markup)
        await save_marks(database, made)
        known |= made
    return [known[key] for key in hashes], len(missing)


def _hash_texts(sections: Iterable[Section]) -> list[str]:
    return [hash_text(section.text) for section in sections]


def _mark_all(
    sections: Mapping[str, Section], markup: Mapping[str, Sequence[Element]]
) -> dict[str, SectionMarks]:
    """Mark sections by their hash. `markup` is what the records have, by the ids of the sections."""
    return {
        key: mark_section(
            section.text, section.blocks, list_section_blocks(section, markup.get(section.id, ()))
        )
        for key, section in sections.items()
    }


def _split_by_length(sections: Mapping[str, Section]) -> Iterator[dict[str, Section]]:
    batch: dict[str, Section] = {}
    length = 0
    for key, section in sections.items():
        batch[key] = section
        length += len(section.text)
        if length >= CHARACTERS_AT_ONCE:
            yield batch
            batch, length = {}, 0
    if batch:
        yield batch


async def find_marks(database: Database, hashes: Sequence[str]) -> dict[str, SectionMarks]:
    """Find the marks of texts that have been made by this version of the code."""
    wanted = list(dict.fromkeys(hashes))
    found: dict[str, SectionMarks] = {}
    async with database.connect() as connection:
        for start in range(0, len(wanted), BATCH):
            rows = (await connection.execute(_FIND, {"hashes": wanted[start : start + BATCH]})).all()
            found |= await run_blocking(_decode_all, [(row.hash, row.marks) for row in rows])
    return found


def _decode_all(rows: Iterable[tuple[str, bytes]]) -> dict[str, SectionMarks]:
    found = {}
    for key, stored in rows:
        try:
            marks = decode_marks(stored)
        except InvalidValue:
            # Marks can always be made again from the text.
            continue
        if marks is not None:
            found[key] = marks
    return found


async def save_marks(database: Database, marks: Mapping[str, SectionMarks]) -> None:
    """Save marks under the hash of their text, in the place of older ones. A text that is gone gets none."""
    # Sorted, because two instances that save the same marks in different orders would deadlock.
    hashes = sorted(marks)
    for start in range(0, len(hashes), BATCH):
        async with database.begin() as connection:
            some = hashes[start : start + BATCH]
            existing = {*await connection.scalars(_EXISTING, {"hashes": some})}
            values = [
                {"hash": key, "version": MARKS_VERSION, "marks": encode_marks(marks[key])}
                for key in some
                if key in existing
            ]
            if values:
                await connection.execute(_SAVE, values)
