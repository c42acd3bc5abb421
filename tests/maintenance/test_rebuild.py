"""Points that the records have never heard of are never deleted, and lost records come back from them."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from octavo.errors import RecordsError, StoreError
from octavo.library import Library
from octavo.maintenance.repair import find_difference, find_stale_notes
from octavo.settings import Settings
from octavo.store import open_store
from octavo.testing import TinyEmbedder
from octavo.types import Book, Chunk, Section
from tests.support import small_books
from tests.support.qdrant_server import QdrantServer

PAGES = [[f"Page {n} of the log.", f"The wind was north by {n} points all day."] for n in range(1, 5)]
Everything = list[tuple[Book, list[Section], list[Chunk]]]


async def read_everything(library: Library) -> Everything:
    records = library._records
    return [
        (book, await records.list_sections(book.id), await records.list_chunks(book.id))
        for book in await library.books()
    ]


@asynccontextmanager
async def open_library(data: Path, embedder: TinyEmbedder | None = None) -> AsyncIterator[Library]:
    async with Library.open(data, embedder=embedder or TinyEmbedder()) as library:
        yield library


async def count_points(data: Path) -> int:
    store = await open_store(Settings(data=data), dimension=384, expected=True)
    try:
        return await store.count()
    finally:
        await store.close()


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    """A library with a book in its second edition, and a PDF with pages."""
    async with open_library(tmp_path / "library") as library:
        await library.add(small_books.write_markdown(tmp_path / "tides.md"), book_id="tides")
        text = (tmp_path / "tides.md").read_text()
        (tmp_path / "tides.md").write_text(
            f"# Before\n\nx\n\n{text}\n\n# Last\n\nA new ending, long enough.\n"
        )
        await library.add(tmp_path / "tides.md", book_id="tides")
        await library.add(small_books.write_pdf(tmp_path / "log.pdf", PAGES, roman=1))
    return tmp_path / "library"


def lose_records(data: Path) -> None:
    for file in data.glob("records.sqlite*"):
        file.unlink()


async def test_damaged_records_that_are_moved_away_are_read_back_as_the_error_says(data: Path) -> None:
    async with open_library(data) as library:
        before = await read_everything(library)
    (data / "records.sqlite").write_bytes(b"SQLite format 3\0" + b"\xff" * 8_000)
    with pytest.raises(RecordsError, match="damaged") as refused:
        async with open_library(data) as library:
            await library.books()
    assert "move this file away and run `octavo doctor --rebuild`" in refused.value.hint
    (data / "records.sqlite").rename(data / "damaged.sqlite")
    async with open_library(data) as library:
        assert all(finding.sound for finding in await library.examine(treatment="rebuild"))
        after = await read_everything(library)
    assert sorted(after, key=lambda each: each[0].id) == sorted(before, key=lambda each: each[0].id)


async def test_without_records_nothing_opens_and_nothing_is_deleted(data: Path) -> None:
    before = await count_points(data)
    lose_records(data)
    for _ in range(2):
        async with open_library(data) as library:
            with pytest.raises(RecordsError, match="never heard of; nothing was deleted") as refused:
                await library.search("the harbour master")
            assert "octavo doctor --rebuild" in refused.value.hint
    assert await count_points(data) == before > 0


async def test_the_records_are_rebuilt_field_by_field(data: Path) -> None:
    async with open_library(data) as library:
        before, found = await read_everything(library), await library.search("harbour", top_k=20)
    lose_records(data)
    embedder = TinyEmbedder()
    async with open_library(data, embedder) as library:
        findings = {f.what: f for f in await library.examine(treatment="rebuild")}
        assert all(f.sound for f in findings.values()), findings
        assert findings["rebuild"].said == "2 books are in the records again"
        # The doctor's own question and nothing else was embedded.
        assert embedder.embedded == 1
        after = await read_everything(library)
        assert sorted(after, key=lambda each: each[0].id) == sorted(before, key=lambda each: each[0].id)
        assert await library.search("harbour", top_k=20) == found
        await library.add(data.parent / "tides.md")
        assert not await find_difference(await library._context())


async def test_records_of_an_older_day_do_not_cost_a_newer_book(data: Path, tmp_path: Path) -> None:
    old = tmp_path / "old"
    shutil.copytree(data, old)
    text = tmp_path / "storm.txt"
    text.write_text("The storm\n\nThe storm of that year broke every mast in the bay of Quiberon.\n")
    async with open_library(data) as library:
        book = await library.add(text)
    for file in data.glob("records.sqlite*"):
        file.unlink()
    shutil.copy(old / "records.sqlite", data / "records.sqlite")
    async with open_library(data) as library:
        with pytest.raises(RecordsError, match="never heard of"):
            await library.search("mast")
        await library.examine(treatment="rebuild")
        assert [each.id for each in await library.books()][-1] == book.id
        assert (await library.search("mast", book_id=book.id))[0].chunk.content.endswith(
            "the bay of Quiberon."
        )


async def test_repair_keeps_unknown_passages_and_only_the_owner_drops_them(data: Path) -> None:
    lose_records(data)
    async with open_library(data) as library:
        findings = {f.what: f for f in await library.examine(repair=True)}
        assert not findings["repair"].sound
        assert not findings["store"].sound
        assert "--rebuild" in findings["store"].hint
    assert await count_points(data) > 0
    async with open_library(data) as library:
        assert all(f.sound for f in await library.examine(treatment="drop-unknown"))
        assert await library.search("harbour") == []
    assert await count_points(data) == 0


async def test_a_book_that_is_not_whole_is_kept_and_named(data: Path) -> None:
    store = await open_store(Settings(data=data), dimension=384, expected=True)
    lost = [p.id async for p in store.read_points() if p.payload["book_id"] == "tides"][:1]
    await store.delete(lost)
    await store.close()
    lose_records(data)
    async with open_library(data) as library:
        findings = {f.what: f for f in await library.examine(treatment="rebuild")}
        assert not findings["rebuild"].sound
        assert "not rebuilt: tides (" in findings["rebuild"].said
        assert len(await library.books()) == 1
    assert await count_points(data) > 0


async def test_another_embedder_rebuilds_nothing(data: Path) -> None:
    lose_records(data)
    async with open_library(data, TinyEmbedder(name="another")) as library:
        findings = {f.what: f for f in await library.examine(treatment="rebuild")}
        assert "Set OCTAVO_EMBEDDER back" in findings["rebuild"].hint
        assert await library.books() == []


async def test_notes_that_a_kill_kept_from_being_written_are_written_at_the_next_opening(data: Path) -> None:
    async with open_library(data) as library:
        context = await library._context()
        ids = list(await context.records.read_manifest("tides"))
        chunks = await context.records.find_embedded_chunks(ids)
        await context.store.upsert(chunks, edition=2)
        assert set(await find_stale_notes(context.records, context.store)) == {"tides"}
        async with context.records.database.begin() as connection:
            await connection.exec_driver_sql("UPDATE books SET settled = 0 WHERE id = 'tides'")
        await context.records.set_meta("store seal", "other")
    async with open_library(data) as library:
        context = await library._context()
        assert await find_stale_notes(context.records, context.store) == {}


async def test_doctor_says_that_a_library_of_an_earlier_version_has_no_second_copy(data: Path) -> None:
    async with open_library(data) as library:
        context = await library._context()
        chunks = await context.records.find_embedded_chunks(
            list(await context.records.read_manifest("tides"))
        )
        await context.store.upsert(chunks, edition=2)
        findings = {f.what: f for f in await library.examine()}
        assert not findings["second copy"].sound
        mended = {f.what: f for f in await library.examine(repair=True)}
        assert "wrote the second copy of the records of 1 books" in mended["repair"].said
        assert all(f.sound for f in mended.values())


async def test_lost_records_come_back_from_a_server_and_a_foreign_collection_is_left_alone(
    tmp_path: Path,
) -> None:
    with QdrantServer(tmp_path / "qdrant") as server:
        settings = Settings(data=tmp_path / "library", store_url=server.url)
        async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
            await library.add(small_books.write_markdown(tmp_path / "tides.md"))
            before = await read_everything(library)
        other = Settings(data=tmp_path / "other", store_url=server.url, collection="other")
        async with Library.open(settings=other, embedder=TinyEmbedder()) as library:
            hills = {"Top": "Nine goats graze on the summit in spring."}
            await library.add(small_books.write_markdown(tmp_path / "hills.md", hills, title="Hills"))
            # A library that has books of its own takes nothing over.
            wrong = other.model_copy(update={"collection": settings.collection})
        async with Library.open(settings=wrong, embedder=TinyEmbedder()) as library:
            found = await library.examine(treatment="rebuild")
            assert "points of another Octavo library" in " ".join(each.said for each in found)
            assert [book.id for book in await library.books()] == ["hills"]
        for file in settings.data.glob("records.sqlite*"):
            file.unlink()
        async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
            with pytest.raises(StoreError, match="another Octavo library") as refused:
                await library.search("boats")
            assert "octavo doctor --rebuild" in refused.value.hint
            assert "only if no other library uses the collection" in refused.value.hint
        async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
            found = await library.examine(treatment="rebuild")
            assert all(each.sound for each in found), found
            assert await read_everything(library) == before
            assert await library.search("boats", rerank=False)
