"""Marks in the records: made once for each text, made again when they are of no use, swept with the text."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select, text

from octavo.records.catalogue import Records
from octavo.records.rows import hash_text
from octavo.records.tables import text_marks, texts
from octavo.records.text_marks import ensure_marks, find_marks, save_marks
from octavo.text.bookmap.marks import MARKS_VERSION, decode_marks
from octavo.text.bookmap.scan import mark_section
from octavo.types import Section
from tests.support.mapped_books import STORY, make_section

SECTIONS = [make_section(said, position=number) for number, said in enumerate([*STORY.values(), ""])]


async def add_texts(records: Records, sections: Sequence[Section]) -> None:
    async with records.database.begin() as connection:
        await connection.execute(
            texts.insert(), [{"hash": hash_text(s.text), "text": s.text} for s in sections]
        )


async def list_stored(records: Records) -> dict[str, bytes]:
    async with records.database.connect() as connection:
        return {row.hash: row.marks for row in await connection.execute(select(text_marks))}


async def test_marks_are_made_once_and_saved(records: Records) -> None:
    await add_texts(records, SECTIONS)
    marks, made = await ensure_marks(records.database, SECTIONS)
    assert made == len(SECTIONS)
    assert marks == [mark_section(section.text) for section in SECTIONS]
    again, remade = await ensure_marks(records.database, SECTIONS)
    assert (again, remade) == (marks, 0)
    assert {hash_text(s.text) for s in SECTIONS} == set(await list_stored(records))


async def test_only_new_texts_are_marked(records: Records) -> None:
    await add_texts(records, SECTIONS)
    await ensure_marks(records.database, SECTIONS[:5])
    _, made = await ensure_marks(records.database, SECTIONS[3:])
    assert made == len(SECTIONS) - 5


async def test_damaged_and_older_marks_are_made_again(records: Records) -> None:
    await add_texts(records, SECTIONS[:2])
    await ensure_marks(records.database, SECTIONS[:2])
    first, second = (hash_text(section.text) for section in SECTIONS[:2])
    async with records.database.begin() as connection:
        await connection.execute(text_marks.update().where(text_marks.c.hash == first), {"marks": b"nothing"})
        await connection.execute(
            text_marks.update().where(text_marks.c.hash == second), {"version": MARKS_VERSION - 1}
        )
    assert await find_marks(records.database, [first, second]) == {}
    marks, made = await ensure_marks(records.database, SECTIONS[:2])
    assert (made, marks) == (2, [mark_section(section.text) for section in SECTIONS[:2]])
    stored = await list_stored(records)
    assert [decode_marks(stored[key]) for key in (first, second)] == marks


async def test_a_text_that_is_gone_gets_no_marks(records: Records) -> None:
    await save_marks(records.database, {hash_text("gone"): mark_section("gone")})
    assert await list_stored(records) == {}


async def test_marks_are_swept_with_their_text(records: Records) -> None:
    await add_texts(records, SECTIONS)
    await ensure_marks(records.database, SECTIONS)
    async with records.database.begin() as connection:
        await connection.execute(text("DELETE FROM texts"))
    await records.sweep()
    assert await list_stored(records) == {}
