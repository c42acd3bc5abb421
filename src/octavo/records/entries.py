"""Make the catalogue entries of books readable that were damaged, so that the store can give them back.

A book has its entry twice: as readers see it, and with its edition. One that cannot be read is replaced by
the other, and if neither can be, by an empty one. If the edition is gone, it gets a record without sound
digests. So a book that is not what was published still shows as changed, and `octavo doctor --rebuild` reads
it back.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, and_, insert, select, update

from octavo.errors import OctavoError
from octavo.records.rows import Values, parse_book
from octavo.records.tables import books, editions
from octavo.types import BookFormat
from octavo.validation import BookState

if TYPE_CHECKING:
    from sqlalchemy import Table
    from sqlalchemy.ext.asyncio import AsyncConnection

_SHARED = tuple(c.name for c in editions.c if c.name in books.c and c.name != "edition")
# No digest of anything is empty.
_UNSEALED = {"sections_digest": "", "chunks_digest": "", "looks_digest": ""}


async def mend_entries(connection: AsyncConnection) -> None:
    """Replace what cannot be read of the entries of all books."""
    for book_id, edition in (await connection.execute(select(books.c.id, books.c.edition))).all():
        shown = await _read_entry(connection, books, books.c.id, book_id, edition)
        kept = await _read_entry(connection, editions, editions.c.book_id, book_id, edition)
        entry = shown or kept or _make_empty_entry(book_id)
        if shown is None:
            await connection.execute(update(books).where(books.c.id == book_id).values(entry))
        ready = {"state": str(BookState.READY)} | (entry if kept is None else {})
        here = and_(editions.c.book_id == book_id, editions.c.edition == edition)
        changed = await connection.execute(update(editions).where(here).values(ready))
        if not changed.rowcount:
            made = {"book_id": book_id, "edition": edition, "created_at": entry["updated_at"]}
            await connection.execute(insert(editions), ready | made | _UNSEALED)


async def _read_entry(
    connection: AsyncConnection, table: Table, id_: Column[Any], book_id: str, edition: int
) -> Values | None:
    """Read the entry of a book as one of its tables has it; None if it is gone or no valid book."""
    query = select(id_.label("id"), *(table.c[name] for name in _SHARED))
    try:
        row = (
            await connection.execute(query.where(id_ == book_id, table.c.edition == edition))
        ).one_or_none()
        if row is None:
            return None
        parse_book(row)
    except (ValueError, TypeError, KeyError, AttributeError, OctavoError):
        return None
    return {name: getattr(row, name) for name in _SHARED}


def _make_empty_entry(book_id: str) -> Values:
    unknown = dict.fromkeys(("source_file", "content_hash", "words_hash", "index_fingerprint"), "unknown")
    counts = dict.fromkeys(("section_count", "chunk_count", "page_count"), 0)
    now = datetime.now(UTC)
    rest = {"title": book_id, "authors": [], "language": "", "format": str(BookFormat.TEXT)}
    return {
        **unknown,
        **counts,
        **rest,
        "base_url": None,
        "metadata": None,
        "added_at": now,
        "updated_at": now,
    }
