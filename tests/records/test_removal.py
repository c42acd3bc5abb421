"""A removed book takes all that belongs to it along, and a new book of its id inherits nothing."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import func, select

from octavo.library import Library
from octavo.readers.parsed import Cover
from octavo.records.catalogue import Records
from octavo.records.covers import choose_cover
from octavo.records.notes import Notes
from octavo.records.removal import BATCH
from octavo.records.sources import BookSource, save_source
from octavo.records.tables import answers, covers, gaps, notes, questions, reading_places, sources, tags
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from tests.records.test_covers import PNG
from tests.support import small_books
from tests.support.places import RecordsPlace

BELONGINGS = (covers, gaps, notes, reading_places, sources, tags)


async def count(records: Records) -> dict[str, int]:
    found = {}
    async with records.database.connect() as connection:
        for table in (*BELONGINGS, answers):
            found[table.name] = int(await connection.scalar(select(func.count()).select_from(table)) or 0)
    return found


async def give_all(library: Library, book_id: str) -> None:
    """Give a book one of everything that may belong to it."""
    database = library.database
    await library.tag(book_id, add=["sea"])
    await choose_cover(database, book_id, Cover(PNG))
    await save_source(database, BookSource(Path("/books/tides.md"), book_id, "s1"))
    entry = (await library.contents(book_id))[-1]
    section = await library.section(book_id, entry.id)
    await Notes(database).add(section, owner="ann", kind="bookmark", start=0, end=5)
    await Notes(database).save_place(section, owner="ann", offset=3, share=0.5)
    await library.ask("How many boats were lost?", book_id=book_id)
    await library.ask("Which parliament abolished the window tax?", book_id=book_id)


async def test_a_kill_right_after_the_removal_leaves_nothing_to_the_next_book_of_that_id(
    tmp_path: Path, place: RecordsPlace
) -> None:
    path = small_books.write_markdown(tmp_path / "tides.md")
    records_url = place.url if "://" in place.url else ""
    settings = Settings(data=tmp_path / "library", records_url=records_url, keep_quotations=False)
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        book = await library.add(path)
        await give_all(library, book.id)
        assert min((await count(library._records)).values()) > 0
        # All that a killed `library.remove` has done.
        await library._records.remove(book.id, keep_answers=False)
        assert set((await count(library._records)).values()) == {0}


async def copy_answer(library: Library, times: int) -> None:
    """Store the one answer of a library again and again, each time to a question of its own."""
    async with library.database.begin() as connection:
        asked = (await connection.execute(select(questions))).one()._asdict()
        answered = (await connection.execute(select(answers))).one()._asdict()
        for number in range(times):
            id_ = f"copy-{number:04}"
            await connection.execute(
                questions.insert(), asked | {"id": id_, "number": asked["number"] + 1 + number}
            )
            await connection.execute(answers.insert(), answered | {"id": id_, "question_id": id_})


async def test_all_answers_from_a_removed_book_are_deleted_and_no_others(
    tmp_path: Path, place: RecordsPlace
) -> None:
    records_url = place.url if "://" in place.url else ""
    settings = Settings(data=tmp_path / "library", records_url=records_url, keep_quotations=False)
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        book = await library.add(small_books.write_markdown(tmp_path / "tides.md"), book_id="tides")
        await library.ask("How many boats were lost?", book_id=book.id)
        await copy_answer(library, 2 * BATCH + 3)
        hills = small_books.write_markdown(tmp_path / "hills.md", {"Tides": "The hills know no tides."})
        await library.add(hills, book_id="hills")
        kept = await library.ask("What do the hills know of tides?", book_id="hills")
        await library._records.remove("tides", keep_answers=False)
        async with library.database.connect() as connection:
            left = list(await connection.scalars(select(answers.c.id)))
    assert left == [kept.id]


async def test_a_new_book_does_not_inherit_what_an_earlier_version_left(tmp_path: Path) -> None:
    path = small_books.write_markdown(tmp_path / "tides.md")
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        async with library.database.begin() as connection:
            await connection.execute(tags.insert(), {"book_id": "the-tides", "tag": "old"})
            await connection.execute(tags.insert(), {"book_id": "the-hills", "tag": "kept"})
        book = await library.add(path)
        assert await library.tags() == {"the-hills": ("kept",)}
        # A new edition of the same book keeps what belongs to it.
        await library.tag(book.id, add=["sea"])
        newer = small_books.write_markdown(path, {"Neap": "No boats were lost at the neap tide that year."})
        await library.add(newer, book_id=book.id)
        assert (await library.tags())[book.id] == ("sea",)
