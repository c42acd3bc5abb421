"""Whatever a reader sees of a book or of an answer cannot be changed in the records without being noticed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

import pytest
from sqlalchemy import Column, Integer, MetaData, String, Table, insert, make_url, select

from octavo.library import Library
from octavo.records import digests
from octavo.records.database import Database
from octavo.records.tables import chunks
from octavo.testing import TinyEmbedder
from tests.support import illustrated, small_books
from tests.support.answerers import fill_library
from tests.support.copies import copy_library

PAGES = [[f"Page {n} of the log.", f"The wind was north by {n} points all day."] for n in range(1, 5)]


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    """A library with two editions of a book, a PDF with printed page labels, and two answers."""
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        tides = small_books.write_markdown(tmp_path / "tides.md")
        await library.add(tides, book_id="tides")
        tides.write_text(tides.read_text() + "\n\n# Last\n\nA new ending that is long enough.\n")
        await library.add(tides, book_id="tides")
        await library.add(small_books.write_pdf(tmp_path / "log.pdf", PAGES, roman=1), book_id="log")
        await library.ask("Who keeps the harbour?")
        await library.ask("Where was the wind all day?", book_id="log")
    return tmp_path / "library"


def change(data: Path, statement: str) -> None:
    with closing(sqlite3.connect(data / "records.sqlite")) as database, database:
        assert database.execute(statement).rowcount > 0, statement


async def examine(data: Path, treatment: str = "") -> dict[str, bool]:
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        return {f.what: f.sound for f in await library.examine(treatment=treatment)}


async def verify(data: Path) -> list[str]:
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        return [verdict.note for verdict in await library.verify() if not verdict.true]


async def test_what_nobody_changed_is_sound(data: Path) -> None:
    assert all((await examine(data)).values())
    assert await verify(data) == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE books SET title = 'Another' WHERE id = 'tides'",
        """UPDATE books SET authors = '["Nobody"]' WHERE id = 'tides'""",
        """UPDATE books SET metadata = '{"series": "Other"}' WHERE id = 'tides'""",
        "UPDATE sections SET title = 'Other', heading_path = '[\"Other\"]' WHERE book_id = 'log'",
        "UPDATE sections SET pages = replace(pages, '\"i\"', '\"v\"') WHERE book_id = 'log'",
        "UPDATE sections SET url = 'https://example.org/' WHERE book_id = 'tides' AND position = 0",
        "UPDATE sections SET text_hash = 'gone' WHERE book_id = 'tides' AND position = 1",
        "UPDATE chunks SET page_label = 'xx' WHERE book_id = 'log'",
        "UPDATE chunks SET section = 'Other' WHERE book_id = 'tides'",
        "UPDATE chunks SET source_location = 'Other' WHERE book_id = 'tides'",
        "UPDATE sections SET title = 'Other' WHERE book_id = 'tides' AND edition = 1",
        "DELETE FROM chunks WHERE book_id = 'log'",
        "DELETE FROM editions WHERE book_id = 'log'",
        "UPDATE editions SET state = 'superseded' WHERE book_id = 'log'",
        "UPDATE books SET authors = '{' WHERE id = 'log'",
        "UPDATE books SET added_at = 'soon' WHERE id = 'log'",
        "UPDATE books SET updated_at = 9000000000000000000 WHERE id = 'log'",
    ],
)
async def test_a_change_of_anything_that_a_reader_sees_is_noticed(data: Path, statement: str) -> None:
    change(data, statement)
    assert not (await examine(data))["records"]
    assert any("not what was published" in note for note in await verify(data))


async def test_damaged_records_of_a_book_are_read_back_from_the_store(data: Path) -> None:
    change(data, "UPDATE books SET title = 'Another' WHERE id = 'tides'")
    change(data, "UPDATE chunks SET page_label = 'xx' WHERE book_id = 'log'")
    change(data, "DELETE FROM chunks WHERE book_id = 'tides' AND document_position = 1")
    change(data, "UPDATE sections SET url = 'https://example.org/' WHERE book_id = 'log'")
    change(
        data,
        "UPDATE sections SET text_hash = 'gone' WHERE book_id = 'tides' AND edition = 2 AND position = 1",
    )
    assert all((await examine(data, "rebuild")).values())
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        assert (await library.book("tides")).title == "The Tides"
        assert {e.chunk.page_label for e in await library.search("wind", book_id="log")} <= {
            "i",
            "1",
            "2",
            "3",
        }
    assert await verify(data) == []


@pytest.mark.parametrize(
    "statements",
    [
        ["UPDATE books SET authors = '{' WHERE id = 'log'"],
        ["UPDATE books SET metadata = '[1]' WHERE id = 'log'"],
        [
            "UPDATE books SET authors = '{' WHERE id = 'log'",
            "UPDATE editions SET format = 'nonsense' WHERE book_id = 'log'",
        ],
        ["UPDATE editions SET authors = '{' WHERE book_id = 'log'"],
        ["DELETE FROM editions WHERE book_id = 'log'"],
        ["UPDATE editions SET state = 'superseded' WHERE book_id = 'log'"],
    ],
)
async def test_a_damaged_entry_does_not_keep_any_book_from_being_read_back(
    data: Path, statements: list[str]
) -> None:
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        before = {book.id: book for book in await library.books()}
    for statement in statements:
        change(data, statement)
    change(data, "UPDATE books SET title = 'Another' WHERE id = 'tides'")
    assert all((await examine(data, "rebuild")).values())
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        assert await library.search("wind", book_id="log")
        for book in await library.books():
            # A book may have been read back now, and of an entry that is lost nobody knows when it was added.
            same = replace(before[book.id], added_at=book.added_at, updated_at=book.updated_at)
            assert book == same


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a book that has links and a picture, with a PDF, and with a library that has both."""
    folder = tmp_path_factory.mktemp("drawn")
    chart, _ = illustrated.write_books(folder)
    fill_library(folder / "library", chart, small_books.write_pdf(folder / "log.pdf", PAGES))
    return folder


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE markup SET markup = x'789c8b8e0500011500b9' WHERE book_id = 'the-sea-chart'",
        "DELETE FROM markup WHERE book_id = 'the-sea-chart'",
        "UPDATE markup SET lines = NULL WHERE book_id = 'log'",
        "DELETE FROM edition_images WHERE book_id = 'the-sea-chart'",
        "UPDATE edition_images SET hash = 'another'",
        "UPDATE edition_files SET hash = 'another'",
        "UPDATE images SET data = x'00'",
        "UPDATE files SET data = x'00'",
        "DELETE FROM files",
        "INSERT INTO files SELECT hash, part + 1, x'00' FROM files",
    ],
)
async def test_a_change_of_how_a_book_is_drawn_is_noticed_and_mended_by_adding_it_again(
    drawn: Path, tmp_path: Path, statement: str
) -> None:
    data = copy_library(drawn / "library", tmp_path / "library")
    assert (await examine(data))["records"]
    change(data, statement)
    assert not (await examine(data))["records"]
    assert any("not what was published" in note for note in await verify(data))
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        for book in await library.books():
            await library.add(drawn / book.source_file)
    assert (await examine(data))["records"]


async def test_rebuilding_leaves_a_book_alone_of_which_only_the_looks_were_changed(
    drawn: Path, tmp_path: Path
) -> None:
    data = copy_library(drawn / "library", tmp_path / "library")
    change(data, "UPDATE edition_images SET hash = 'another'")
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        found = {each.what: each for each in await library.examine(treatment="rebuild")}
    assert found["rebuild"].said == "0 books are in the records again"
    assert "Add the same file again" in found["records"].hint
    assert "--rebuild" not in found["records"].hint
    with closing(sqlite3.connect(data / "records.sqlite")) as database:
        kept = "SELECT count(*) FROM markup WHERE book_id = 'the-sea-chart'"
        assert database.execute(kept).fetchone()[0] > 0


async def test_books_of_an_earlier_version_keep_their_other_digests_when_they_get_that_of_their_looks(
    data: Path,
) -> None:
    change(data, "UPDATE editions SET looks_digest = NULL")
    change(data, "DELETE FROM meta WHERE key = 'sealed after edition'")
    assert not (await examine(data))["records"]
    change(data, "UPDATE books SET title = 'Another' WHERE id = 'tides'")
    assert not (await examine(data, "repair"))["records"]
    change(data, "UPDATE books SET title = 'The Tides' WHERE id = 'tides'")
    assert (await examine(data))["records"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE answers SET evidence = replace(evidence, 'source_location\": \"', 'source_location\": \"x')",
        "UPDATE answers SET citations = replace(citations, 'book://', 'https://')",
        "UPDATE answers SET content = content || '.'",
    ],
)
async def test_a_change_of_what_an_answer_showed_is_noticed(data: Path, statement: str) -> None:
    change(data, statement)
    assert "the stored answer was changed afterwards" in await verify(data)


@pytest.mark.parametrize("broken", ["{", "[1]", "[{}]", "null", '[{"retrieved_content_id": "x"}]'])
@pytest.mark.parametrize("column", ["citations", "evidence", "receipt"])
async def test_one_damaged_answer_does_not_keep_the_others_from_being_checked(
    data: Path, broken: str, column: str
) -> None:
    change(data, f"UPDATE answers SET {column} = '{broken}' WHERE rowid = 1")
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        verdicts = await library.verify()
        assert any(verdict.true for verdict in verdicts)
        assert [v.note for v in verdicts if not v.true] == ["the stored answer was changed afterwards"]


async def test_books_of_an_earlier_version_get_their_digests_by_a_repair(data: Path) -> None:
    change(data, "UPDATE editions SET sections_digest = NULL, chunks_digest = NULL, looks_digest = NULL")
    change(data, "DELETE FROM meta WHERE key = 'sealed after edition'")
    assert not (await examine(data))["records"]
    assert all((await examine(data, "repair")).values())
    change(data, "UPDATE books SET title = 'Another' WHERE id = 'tides'")
    assert not (await examine(data))["records"]


async def test_a_book_that_is_published_while_it_is_compared_is_not_called_changed(
    data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    compute = digests.compute_digests
    text = tmp_path / "tides.md"
    text.write_text(text.read_text() + "\n\n# More\n\nYet another ending that is long enough.\n")
    async with Library.open(data, embedder=TinyEmbedder()) as library:

        async def publish_first(connection, book_id, edition, *, catalogue):  # type: ignore[no-untyped-def]
            if book_id == "tides" and edition == 2 and digests.compute_digests is publish_first:
                monkeypatch.setattr(digests, "compute_digests", compute)
                await library.add(text, book_id="tides")
            return await compute(connection, book_id, edition, catalogue=catalogue)

        monkeypatch.setattr(digests, "compute_digests", publish_first)
        assert await library._records.find_changed_editions() == []
        assert digests.compute_digests is compute


@pytest.mark.parametrize("gone", ["sections_digest = NULL, looks_digest = NULL", "looks_digest = NULL"])
async def test_digests_that_were_deleted_count_as_changed_and_no_repair_replaces_them(
    data: Path, gone: str
) -> None:
    change(data, f"UPDATE editions SET {gone}")
    change(data, "UPDATE books SET title = 'Another' WHERE id = 'tides'")
    assert any("not what was published" in note for note in await verify(data))
    assert not (await examine(data, "repair"))["records"]


def test_postgresql_is_asked_for_the_order_of_bytes() -> None:
    key = digests.build_sort_key(chunks, "postgresql")
    query = str(
        select(chunks.c.id)
        .where(key > "a")
        .order_by(key)
        .compile(dialect=make_url("postgresql+asyncpg://").get_dialect()())
    )
    assert '(chunks.id COLLATE "C") > ' in query
    assert 'ORDER BY chunks.id COLLATE "C"' in query


async def test_rows_are_hashed_in_the_order_of_bytes_in_every_database(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digests, "BATCH", 2)
    ids = ["a~1", "a.1", "B-1", "a-2", "a1", "A~", "b", "a-10"]
    async with database.begin() as connection:
        other = "en-x-icu" if connection.dialect.name == "postgresql" else None
        table = Table(
            "shelves",
            MetaData(),
            Column("id", String(20, collation=other), primary_key=True),
            Column("book_id", String(20)),
            Column("edition", Integer),
        )
        await connection.run_sync(table.create)
        await connection.execute(insert(table), [{"id": i, "book_id": "b", "edition": 1} for i in ids])
        made = await digests._digest_rows(connection, table, "b", 1)
    expected = blake2b(digest_size=16)
    for each in sorted(ids, key=str.encode):
        expected.update(f'["{each}","b"]\n'.encode())
    assert made == f"{len(ids)}:{expected.hexdigest()}"
