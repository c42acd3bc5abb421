"""Notes and reading places: each reader's own, and still at their words in another edition."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.errors import InvalidValue, NotFound
from octavo.library import Library
from octavo.records.notes import MOST_CHARACTERS, Notes
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from tests.support import small_books
from tests.support.places import RecordsPlace

BOATS = "Seven boats were lost with all their nets."
CHAPTERS = dict(small_books.TIDES)


def write_edition(path: Path, chapters: dict[str, str]) -> Path:
    return small_books.write_markdown(path / "tides.md", chapters)


async def test_notes_follow_their_words_into_a_new_edition(tmp_path: Path, place: RecordsPlace) -> None:
    settings = Settings(data=tmp_path / "library", records_url=place.url if "://" in place.url else "")
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        book = await library.add(write_edition(tmp_path, CHAPTERS))
        notes = Notes(library.database)
        section = next(s for s in await library.contents(book.id) if s.title == "Storm")
        storm = await library.section(book.id, section.id)
        at = storm.text.index(BOATS)
        kept = await notes.add(storm, owner="ann", kind="highlight", start=at, end=at + len(BOATS))
        gone = await notes.add(storm, owner="ann", kind="note", start=0, end=10, comment="hm")
        await notes.add(storm, owner="ben", kind="bookmark", start=0, end=5)
        await notes.save_place(storm, owner="ann", offset=10**6, share=0.5)
        await notes.save_place(storm, owner="ann", offset=3, share=0.6)
        assert [note.id for note in await notes.list_notes(book.id, owner="ann")] == [gone.id, kept.id]
        assert [(p.offset, p.share) for p in await notes.list_places(owner="ann")] == [(3, 0.6)]
        assert await notes.list_places(owner="eve") == []

        moved = {
            **CHAPTERS,
            "Storm": "Nothing is left here.",
            "Losses": f"It is told that. {BOATS} So be it.",
        }
        again = await library.add(write_edition(tmp_path, moved))
        assert again.id == book.id
        here, lost = await notes.list_notes(book.id, owner="ann")
        text = (await library.section(book.id, here.section_id)).text
        assert (here.id, here.found, here.section) == (kept.id, True, "Losses")
        assert text[here.start : here.end] == BOATS
        assert (lost.id, lost.found, lost.comment) == (gone.id, False, "hm")

        with pytest.raises(NotFound):
            await notes.delete(kept.id, owner="ben")
        changed = await notes.change(kept.id, owner="ann", kind="note", comment="seven!")
        assert (changed.kind, changed.comment, changed.section) == ("note", "seven!", "Losses")
        await notes.delete(gone.id, owner="ann")
        await library.remove(book.id)
        assert await notes.list_noted_books(owner="ann") == []
        assert await notes.list_noted_books(owner="ben") == []
        assert await notes.list_places(owner="ann") == []


async def test_a_note_is_on_characters_that_the_section_has(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "library")
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        long = {"Long": "A word of it. " * 600}
        book = await library.add(write_edition(tmp_path, long))
        section = await library.section(book.id, (await library.contents(book.id))[-1].id)
        notes = Notes(library.database)
        for start, end in ((-1, 3), (5, 5), (0, MOST_CHARACTERS + 1), (len(section.text) - 1, 10**9)):
            with pytest.raises(InvalidValue):
                await notes.add(section, owner="", kind="highlight", start=start, end=end)
        assert await notes.list_notes(book.id, owner="") == []
