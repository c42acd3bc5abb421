"""A book gets another title or web address: its words, ids, vectors, markup and citations stay."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from octavo.errors import InvalidValue
from octavo.library import Library
from octavo.records import covers, files, markup
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from tests.support import illustrated, small_books


@pytest.fixture
def embedder() -> TinyEmbedder:
    return TinyEmbedder()


@pytest.fixture
async def library(tmp_path: Path, embedder: TinyEmbedder) -> AsyncIterator[Library]:
    async with Library.open(settings=Settings(data=tmp_path / "library"), embedder=embedder) as opened:
        yield opened


async def test_only_what_names_the_book_or_leads_to_it_changes(
    library: Library, embedder: TinyEmbedder, tmp_path: Path
) -> None:
    chart, _ = illustrated.write_books(tmp_path)
    book = await library.add(chart, base_url="https://example.org/old/")
    sections = [await library.section(book.id, s.id) for s in await library.contents(book.id)]
    before = await library.search("the tide of the harbour", top_k=20)
    embedded = embedder.embedded
    edited = await library.edit(book.id, title="Charts of the Sea", base_url="https://example.net/new")
    assert (edited.id, edited.title, edited.base_url) == (
        book.id,
        "Charts of the Sea",
        "https://example.net/new",
    )
    now = [await library.section(book.id, s.id) for s in await library.contents(book.id)]
    moved = [s.url.replace("https://example.org/old", "https://example.net/new") for s in sections]
    assert [s.url for s in now] == moved
    assert [replace(s, url=old.url) for s, old in zip(now, sections, strict=True)] == sections
    assert any(s.markup for s in now)
    image = next(str(e.attributes["image"]) for s in now for e in s.markup if "image" in e.attributes)
    assert await library.image(book.id, image) == illustrated.make_png()
    after = await library.search("the tide of the harbour", top_k=20)
    # A title is a word that counts, so only the set of passages is the same.
    assert {e.chunk.id for e in after} == {e.chunk.id for e in before}
    assert {e.chunk.source_title for e in after} == {"Charts of the Sea"}
    assert all(e.chunk.source_location.startswith("Charts of the Sea") for e in after)
    assert embedder.embedded == embedded
    assert await library._records.find_problems() == []
    context = await library._context()
    assert await context.store.read_digests() == await context.records.read_digests()


async def test_the_same_file_added_again_keeps_the_title_that_was_given(
    library: Library, tmp_path: Path
) -> None:
    path = small_books.write_epub(tmp_path / "tides.epub")
    book = await library.add(path)
    await library.edit(book.id, title="Ebb", base_url="https://example.org/ebb")
    again = await library.add(path)
    assert (again.id, again.title, again.base_url) == (book.id, "Ebb", "https://example.org/ebb")
    assert all(s.url.startswith("https://example.org/ebb") for s in await library.contents(book.id))
    bare = await library.edit(book.id, base_url="")
    assert bare.base_url is None
    assert all(s.url.startswith("book://") for s in await library.contents(book.id))


async def test_an_address_that_only_the_files_could_give_is_refused(library: Library, tmp_path: Path) -> None:
    book = await library.add(small_books.write_markdown(tmp_path / "tides.md"))
    with pytest.raises(InvalidValue, match="when this book is added"):
        await library.edit(book.id, base_url="https://example.org")
    with pytest.raises(InvalidValue):
        await library.edit(book.id, title=" ")
    for wrong in ("javascript:x", "https://a:b@c.de"):
        with pytest.raises(InvalidValue):
            await library.edit(book.id, base_url=wrong)
    assert await library.books() == [book]


async def test_a_cover_is_given_and_taken_away(library: Library, tmp_path: Path) -> None:
    book = await library.add(small_books.write_markdown(tmp_path / "tides.md"))
    picture = illustrated.make_png()
    assert await library.edit(book.id, cover=picture) == book
    stored = await covers.find_cover(library.database, book.id)
    assert stored is not None
    assert stored.data == picture
    with pytest.raises(InvalidValue):
        await library.edit(book.id, title="Other", cover=b"<svg/>")
    assert (await library.book(book.id)).title == book.title
    await library.edit(book.id, cover=b"")
    assert await covers.find_cover(library.database, book.id) is None


async def test_the_pages_of_a_pdf_stay(library: Library, tmp_path: Path) -> None:
    pages = [["ONE", "The harbour was old before the lighthouse was built."], ["More was said of it later."]]
    path = small_books.write_pdf(tmp_path / "paged.pdf", pages)
    book = await library.add(path, title="Paged")
    before = await files.find_file(library.database, book.id)
    sections = await library.contents(book.id)
    lines = [await markup.find_lines(library.database, section) for section in sections]
    assert before
    assert any(lines)
    edited = await library.edit(book.id, title="Pages")
    now = [await markup.find_lines(library.database, s) for s in await library.contents(edited.id)]
    assert (await files.find_file(library.database, book.id), now) == (before, lines)
    assert await files.read_file(library.database, before) == path.read_bytes()
