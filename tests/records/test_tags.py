"""The tags of books: stored in both databases, kept across editions and backups, gone with the book."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from octavo.errors import InvalidValue, NotFound
from octavo.library import Library
from octavo.maintenance.backup import back_up, restore
from octavo.records.database import Database
from octavo.records.tags import TAG_MOST, TAGS_MOST, change_tags, delete_tags_of, list_tags
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from tests.support import small_books
from tests.support.answerers import fill_library

HILLS = {"Summit": "Nine goats were lost on the summit in spring."}


async def test_tags_are_added_taken_away_and_deleted(database: Database) -> None:
    assert await change_tags(database, "one", add=["Sea", " whaling\ttrade "], remove=[]) == (
        "sea",
        "whaling trade",
    )
    assert await change_tags(database, "one", add=["sea", "old"], remove=["WHALING TRADE"]) == ("old", "sea")
    assert await change_tags(database, "two", add=["sea"], remove=["never there"]) == ("sea",)
    assert await list_tags(database) == {"one": ("old", "sea"), "two": ("sea",)}
    async with database.begin() as connection:
        await delete_tags_of(connection, "one")
    assert await list_tags(database) == {"two": ("sea",)}


async def test_two_who_tag_the_same_book_at_once_both_have_their_way(database: Database) -> None:
    words = [f"tag {n}" for n in range(8)]
    await asyncio.gather(*(change_tags(database, "one", add=[word, "sea"], remove=[]) for word in words))
    assert set((await list_tags(database))["one"]) == {*words, "sea"}


@pytest.mark.parametrize("wrong", ["", "  ", "x" * (TAG_MOST + 1)])
async def test_a_tag_that_is_empty_or_too_long_is_refused(file: Database, wrong: str) -> None:
    with pytest.raises(InvalidValue):
        await change_tags(file, "one", add=["sea", wrong], remove=[])
    assert await list_tags(file) == {}


async def test_a_book_has_a_limited_number_of_tags(file: Database) -> None:
    await change_tags(file, "one", add=[f"tag {n}" for n in range(TAGS_MOST)], remove=[])
    with pytest.raises(InvalidValue, match="at most 50"):
        await change_tags(file, "one", add=["one more"], remove=[])


async def test_tags_stay_with_a_book_in_editions_and_backups_and_go_with_it(tmp_path: Path) -> None:
    tides = small_books.write_markdown(tmp_path / "tides.md")
    hills = small_books.write_markdown(tmp_path / "hills.md", HILLS, title="The Hills")
    data = await asyncio.to_thread(fill_library, tmp_path / "library", tides, hills)
    settings = Settings(data=data)
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        await library.tag("The Tides", add=["sea", "short"])
        await library.tag("the-hills", add=["short"])
        small_books.write_markdown(tides, {"Neap": "No boats were lost at the neap tide that year."})
        assert (await library.add(tides, book_id="the-tides")).section_count == 1
        assert await library.tags() == {"the-tides": ("sea", "short"), "the-hills": ("short",)}
        assert await library.tagged(["Sea"]) == ("the-tides",)
        assert set(await library.tagged(["sea", "short"])) == {"the-tides", "the-hills"}
        assert await library.tagged(["short"], among=["the-hills"]) == ("the-hills",)
        found = await library.search("lost", books=await library.tagged(["sea"]))
        assert {item.chunk.book_id for item in found} == {"the-tides"}
        answer = await library.ask("How many goats were lost?", books=await library.tagged(["sea"]))
        assert {item.chunk.book_id for item in answer.evidence} <= {"the-tides"}
    await asyncio.to_thread(back_up, settings, tmp_path / "backup")
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        await library.remove("the-tides")
        assert await library.tags() == {"the-hills": ("short",)}
        with pytest.raises(NotFound, match="no tag 'sea' here; there are: short"):
            await library.tagged(["sea"])
    restored = Settings(data=tmp_path / "restored")
    await asyncio.to_thread(restore, restored, tmp_path / "backup")
    async with Library.open(settings=restored, embedder=TinyEmbedder()) as library:
        assert await library.tags() == {"the-tides": ("sea", "short"), "the-hills": ("short",)}
