"""Change a book that is on the shelf, or take it off."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from octavo.concurrency import run_blocking
from octavo.errors import StorageLow
from octavo.ingest.edit import edit_book
from octavo.ingest.edition import TITLE_MOST
from octavo.ingest.install import delete_removed
from octavo.ingest.site.shelf import delete_shelf
from octavo.readers.parsed import Cover
from octavo.records import covers
from octavo.records.options import BookOptions
from octavo.text.clean import clean, collapse

if TYPE_CHECKING:
    from octavo.ingest.context import LibraryContext
    from octavo.types import Book


async def edit(
    book: Book, context: LibraryContext, *, title: str | None, base_url: str | None, cover: bytes | None
) -> Book:
    """Change what is given of a book. An empty web address or cover takes it away."""
    BookOptions(title=title, base_url=base_url or None)
    picture = Cover(cover) if cover else None
    edited = await edit_book(
        book,
        title=book.title if title is None else collapse(clean(title))[:TITLE_MOST].strip(),
        base_url=book.base_url if base_url is None else base_url or None,
        context=context,
    )
    if cover is not None:
        await covers.choose_cover(context.records.database, book.id, picture)
    return edited


async def remove(book: Book, context: LibraryContext) -> None:
    """Remove a book with everything that was stored of it."""
    await context.records.remove(book.id, keep_answers=context.settings.keep_quotations)
    # The book is gone now. What a full disk keeps from being cleaned up is deleted later.
    with suppress(StorageLow):
        await delete_removed(book.id, context)
        await context.records.sweep()
    await run_blocking(delete_shelf, context.settings.data, book.source_file)
