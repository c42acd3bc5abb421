"""Markup and pictures are stored with an edition, found by readers of the book, and go with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import delete, func, select

from octavo.errors import NotFound, RecordsError
from octavo.library import Library
from octavo.records.tables import edition_images, images, markup
from octavo.testing import TinyEmbedder
from octavo.types import ElementKind
from tests.support import illustrated


async def count(library: Library, table: object) -> int:
    async with library.database.connect() as connection:
        return int(await connection.scalar(select(func.count()).select_from(table)) or 0)  # type: ignore[arg-type]


async def test_a_book_shows_its_markup_and_its_pictures_until_it_is_removed(tmp_path: Path) -> None:
    chart, boats = illustrated.write_books(tmp_path)
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        book = await library.add(chart)
        sections = await library.contents(book.id)
        tides = await library.section(book.id, sections[0].id)
        links = [e for e in tides.markup if e.kind is ElementKind.LINK]
        assert links[0].attributes["section"] in {s.id for s in sections}
        name = next(str(e.attributes["image"]) for e in tides.markup if e.kind is ElementKind.IMAGE)
        assert await library.image(book.id, name) == illustrated.make_png()
        other = await library.add(boats)
        with pytest.raises(NotFound):
            await library.image(other.id, name)
        await library.remove(book.id)
        await library.remove(other.id)
        assert [await count(library, t) for t in (markup, images, edition_images)] == [0, 0, 0]


async def test_a_book_from_before_is_text_until_it_is_added_again(tmp_path: Path) -> None:
    chart, _ = illustrated.write_books(tmp_path)
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        book = await library.add(chart)
        sections = await library.contents(book.id)
        before = await library.section(book.id, sections[0].id)
        async with library.database.begin() as connection:
            for table in (markup, edition_images, images):
                await connection.execute(delete(table))
        assert await library.section(book.id, sections[0].id) == replace(before, markup=())
        again = await library.add(chart)
        assert again.updated_at == book.updated_at
        assert await library.section(book.id, sections[0].id) == before
        assert await count(library, images) == 1


async def test_damaged_markup_is_shown_as_text(tmp_path: Path) -> None:
    chart, _ = illustrated.write_books(tmp_path)
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        book = await library.add(chart)
        first = (await library.contents(book.id))[0].id
        async with library.database.begin() as connection:
            await connection.execute(markup.update().values(markup=b"no markup"))
        found = await library.section(book.id, first)
        assert found.text
        assert found.markup == ()


async def test_a_picture_that_is_not_what_was_stored_is_not_shown(tmp_path: Path) -> None:
    chart, _ = illustrated.write_books(tmp_path)
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        book = await library.add(chart)
        async with library.database.begin() as connection:
            await connection.execute(images.update().values(data=illustrated.make_png()[:-1]))
            name = str(await connection.scalar(select(images.c.hash)))
        with pytest.raises(RecordsError, match="damaged"):
            await library.image(book.id, name)
