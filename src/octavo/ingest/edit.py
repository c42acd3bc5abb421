"""Change the title or the web address of a book that is in the library.

The book gets a new edition with the same words, passages, vectors and markup: only what names the book or
leads to it is new. Nothing is read or embedded again, and every id stays.
"""

from __future__ import annotations

import hashlib
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from octavo.errors import InvalidValue
from octavo.ingest.chunking import make_embedded_text
from octavo.ingest.edition import Edition, make_url
from octavo.ingest.install import install
from octavo.records import files, markup
from octavo.types import Book, BookFormat, Chunk, Section

if TYPE_CHECKING:
    from octavo.ingest.context import LibraryContext

# Their sections have no addresses of their own below the book's.
_ONE_ADDRESS = frozenset(
    (BookFormat.TEXT, BookFormat.EPUB, BookFormat.PDF, BookFormat.DOCX, BookFormat.ODT, BookFormat.FB2)
)


async def edit_book(book: Book, *, title: str, base_url: str | None, context: LibraryContext) -> Book:
    """Give a book another title and web address, and return it as it is then."""
    if (title, base_url) == (book.title, book.base_url):
        return book
    records = context.records
    changed = hashlib.sha256(f"{book.content_hash}\x1f{title}\x1f{base_url}".encode()).hexdigest()
    new = replace(book, title=title, base_url=base_url, content_hash=changed, updated_at=datetime.now(UTC))
    found = [
        replace(
            section,
            markup=await markup.find_markup(records.database, section),
            lines=await markup.find_lines(records.database, section),
        )
        for section in await records.list_sections(book.id)
    ]
    sections = [replace(section, url=_move_url(section, book, base_url)) for section in found]
    urls = {section.id: section.url for section in sections}
    chunks = [
        _rename(chunk, book, new, urls[chunk.section_id]) for chunk in await records.list_chunks(book.id)
    ]
    keys = {id_: key for id_, (_, key) in (await records.read_manifest(book.id)).items()}
    edition = Edition(
        book=new,
        words_hash=await records.find_words_hash(book.id) or "",
        sections=tuple(sections),
        chunks=tuple(chunks),
        texts={chunk.id: make_embedded_text(chunk) for chunk in chunks},
        vector_keys=keys,
        images=await markup.read_images(records.database, book.id),
        file=await files.read_file(records.database, await files.find_file(records.database, book.id)),
        scanner=await files.find_scanner(records.database, book.id),
    )
    async with aclosing(install(edition, context)) as steps:
        async for _ in steps:
            pass
    return await records.find_book(book.id) or new


def _rename(chunk: Chunk, old: Book, new: Book, url: str) -> Chunk:
    """Return a passage with the title and the address that it has now."""
    place = chunk.source_location
    if place.startswith(old.title):
        place = f"{new.title}{place.removeprefix(old.title)}"
    return replace(chunk, url=url, source_title=new.title, source_location=place)


def _move_url(section: Section, book: Book, base_url: str | None) -> str:
    """Return the address of a section below another address of its book."""
    if base_url == book.base_url:
        return section.url
    if book.base_url is None:
        if base_url and book.format not in _ONE_ADDRESS:
            raise InvalidValue(
                "base_url",
                "must be given when this book is added: only its files say where each page is published",
                base_url,
            )
        return make_url(section, "", base_url)
    below = f"{book.base_url.rstrip('/')}/"
    address = section.url.partition("#")[0]
    if not address.startswith(below) and address != book.base_url:
        return section.url
    return make_url(section, address.removeprefix(book.base_url).removeprefix(below), base_url)
