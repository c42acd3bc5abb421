"""What OCR has read is kept with its file, by page and engine, and goes with the last edition that has it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import select, update

from octavo.library import Library
from octavo.readers.scans import ScannedLine, ScannedPage, ScannedWord
from octavo.records.files import find_file
from octavo.records.scans import KEPT_DAYS, ScanSummary, find_scans, list_scans, save_scan
from octavo.records.tables import scans
from octavo.testing import TinyEmbedder
from tests.records.test_files import WORDS, write_pdf


def make_page(text: str) -> ScannedPage:
    return ScannedPage(0.9, (ScannedLine(0.1, 0.02, (ScannedWord(text, 0.1, 0.2, 0.3, 0.4),)),))


async def test_pages_are_found_by_file_engine_and_number(tmp_path: Path) -> None:
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        database = library.database
        for number in (1, 2):
            await save_scan(database, "f" * 64, number, "one", make_page(f"page{number}"))
        # A page that is saved already stays as it is.
        await save_scan(database, "f" * 64, 1, "one", make_page("other"))
        await save_scan(database, "f" * 64, 1, "two", make_page("newer"))
        assert await find_scans(database, "f" * 64, engine="one") == {
            1: make_page("page1"),
            2: make_page("page2"),
        }
        assert await find_scans(database, "f" * 64, pages=[1]) == {1: make_page("newer")}
        assert await find_scans(database, "e" * 64) == {}
        async with database.begin() as connection:
            await connection.execute(update(scans).where(scans.c.page == 1).values(words=b"damaged"))
        assert await find_scans(database, "f" * 64) == {2: make_page("page2")}


async def test_pages_go_with_their_file_and_those_of_no_book_after_a_month(tmp_path: Path) -> None:
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        database = library.database
        book = await library.add(write_pdf(tmp_path / "ferry.pdf", *WORDS))
        file = await find_file(database, book.id)
        for name in (file, "new", "old"):
            await save_scan(database, name, 1, "one", make_page(name))
        old = datetime.now(UTC) - timedelta(days=KEPT_DAYS + 1)
        async with database.begin() as connection:
            await connection.execute(update(scans).where(scans.c.file != "new").values(read_at=old))
        await library.remove(book.id)
        async with database.connect() as connection:
            assert list(await connection.scalars(select(scans.c.file))) == ["new"]


async def test_scans_are_summed_up_for_the_books_that_are_asked_for(tmp_path: Path) -> None:
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        database = library.database
        ferry = await library.add(write_pdf(tmp_path / "ferry.pdf", *WORDS))
        other = await library.add(write_pdf(tmp_path / "other.pdf", "Another boat leaves at nine."))
        for book in (ferry, other):
            await save_scan(database, await find_file(database, book.id), 1, "one", make_page("pier"))
        assert await list_scans(database, [ferry.id]) == {ferry.id: ScanSummary(1, 0.9)}
        assert set(await list_scans(database)) == {ferry.id, other.id}
        assert await list_scans(database, []) == {}
