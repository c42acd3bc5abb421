"""Where synced books come from, in both databases."""

from __future__ import annotations

from pathlib import Path

from octavo.records.database import Database
from octavo.records.sources import (
    BookSource,
    delete_sources,
    delete_sources_of,
    list_sources,
    save_source,
)


async def test_sources_are_listed_by_folder_replaced_by_path_and_forgotten(database: Database) -> None:
    first, second = (
        BookSource(Path("/b/one.epub"), "one", "s1"),
        BookSource(Path("/b/c/two.pdf"), "two", "s2"),
    )
    other = BookSource(Path("/books/three.pdf"), "three", "s3")
    for source in (second, first, other):
        await save_source(database, source)
    assert await list_sources(database, Path("/b")) == [second, first]
    newer = BookSource(first.path, "one", "s9")
    await save_source(database, newer)
    assert await list_sources(database, Path("/b")) == [second, newer]
    await delete_sources(database, [second.path])
    async with database.begin() as connection:
        await delete_sources_of(connection, "one")
    assert await list_sources(database, Path("/")) == [other]
