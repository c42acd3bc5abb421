"""Rebuild lost or damaged records from the store, or drop what the owner does not need.

Each point of the store has a note, and the notes of a book hold everything that the records knew of its last
edition: text, sections, pages and vectors. A book is rebuilt only where its notes are whole, and installed
like any other edition. What was asked and answered, keys and jobs are in the records only, and come back from
a backup only.
"""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.concurrency import run_blocking
from octavo.errors import EmbedderMismatch
from octavo.ingest.install import STORE_AT_ONCE, install, split_batches
from octavo.ingest.notes import read_notes
from octavo.maintenance.repair import compare_store
from octavo.protocols import is_made_by
from octavo.records.catalogue import LIBRARY
from octavo.store import find_store_owner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from octavo.ingest.context import LibraryContext
    from octavo.ingest.notes import RecoveredEdition
    from octavo.protocols import StoredPoint
    from octavo.records.catalogue import Records
    from octavo.settings import Settings
    from octavo.types import Book


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The books that are in the records again, and the passages by book that are not."""

    books: tuple[Book, ...]
    left: Mapping[str, int]


async def rebuild_records(context: LibraryContext) -> Rebuilt:
    """Read back every book whose records are not what was published, or lack points that the store has."""
    unknown = set((await compare_store(context.records, context.store)).unknown)
    found_changed = await context.records.find_changed_editions()
    # The store has no looks: a book that lost only these would lose the rest of them too.
    damaged = [each for each in found_changed if each.ready and not each.looks_only]
    changed = {each.book_id: each.edition for each in damaged}
    by_book = await _group_points(context, unknown, changed)
    books: list[Book] = []
    left: dict[str, int] = {}
    newest = max((int(p.payload.get("edition", 0)) for those in by_book.values() for p in those), default=0)
    # The points keep their edition numbers, so a new edition must not get one of them.
    await context.records.reserve_editions(newest)
    for book_id, points in sorted(by_book.items()):
        found = await run_blocking(read_notes, points)
        if found is None or found.edition.book.id != book_id:
            left[book_id] = sum(point.id in unknown for point in points)
            continue
        _require_same_embedder(found, context)
        books.append(await _install(found, context))
        if book_id in changed:
            await context.records.drop_superseded(book_id, changed[book_id])
    return Rebuilt(tuple(books), left)


async def adopt_collection(settings: Settings, records: Records) -> None:
    """Take the name of the library whose collection this is, if the records are new and have no name to lose.

    On a server every point says whose it is. Records that were lost have lost the name of their library too.
    """
    if not await records.list_books() and (owner := await find_store_owner(settings)):
        await records.set_meta(LIBRARY, owner)


async def drop_unknown(context: LibraryContext) -> int:
    """Delete the points that the records have never heard of; return how many there were."""
    unknown = (await compare_store(context.records, context.store)).unknown
    for batch in split_batches(unknown, STORE_AT_ONCE):
        await context.store.delete(batch)
    if unknown:
        await context.store.commit()
    return len(unknown)


async def _group_points(
    context: LibraryContext, unknown: set[str], changed: Mapping[str, int]
) -> dict[str, list[StoredPoint]]:
    """Return the points of each book that has unknown ones or was changed."""
    by_book: dict[str, list[StoredPoint]] = {}
    async for point in context.store.read_points():
        by_book.setdefault(str(point.payload.get("book_id", "")), []).append(point)
    return {
        id: those
        for id, those in by_book.items()
        if id in changed or any(point.id in unknown for point in those)
    }


def _require_same_embedder(found: RecoveredEdition, context: LibraryContext) -> None:
    book = found.edition.book
    embedder = context.find_embedder(book.index_fingerprint)
    if not is_made_by(book.index_fingerprint, embedder):
        raise EmbedderMismatch(
            f"{book.title!r} was indexed by {book.index_fingerprint}, and the settings ask for "
            f"{embedder.fingerprint}",
            hint="Set OCTAVO_EMBEDDER back to rebuild the records.",
        )


async def _install(found: RecoveredEdition, context: LibraryContext) -> Book:
    vectors = list(found.vectors.items())
    for batch in split_batches(vectors, STORE_AT_ONCE):
        await context.records.save_vectors(dict(batch))
    async with aclosing(install(found.edition, context)) as steps:
        async for _ in steps:
            pass
    return await context.records.find_book(found.edition.book.id) or found.edition.book
