"""How an edition comes into the records, replaces the one before it, and leaves: each step one transaction.

`begin` writes an edition that nobody sees; `publish` makes it the one that everybody sees and the former one
a thing of the past, whose sections stay so that what was cited from them can still be checked; `drop` and
`remove` take out. Every chunk id that the store may hold and no edition needs any longer goes into
`removals` in the same transaction, so a kill at any moment leaves a list of what is still to be done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

from sqlalchemy import (
    ColumnElement,
    Executable,
    Select,
    Table,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from octavo.errors import NotFound, RecordsError
from octavo.records import rows
from octavo.records.queries import BATCH, chunks_of
from octavo.records.tables import books, chunks, editions, meta, removals, sections
from octavo.store.base import digest_chunk
from octavo.validation import BookState, advance

if TYPE_CHECKING:
    from octavo.types import Book, Chunk, Section

SET_META = text(
    "INSERT INTO meta (key, value) VALUES (:key, :value) "
    "ON CONFLICT (key) DO UPDATE SET value = excluded.value"
)
NUMBER = "newest edition"
AT_ONCE = 128
_KEEP_TEXT = text("INSERT INTO texts (hash, text) VALUES (:hash, :text) ON CONFLICT (hash) DO NOTHING")
_SET_DIGEST = (
    update(chunks)
    .where(
        chunks.c.book_id == bindparam("of_book"),
        chunks.c.edition == bindparam("of_edition"),
        chunks.c.id == bindparam("of_id"),
    )
    .values(digest=bindparam("new_digest"))
)


async def begin(
    connection: AsyncConnection,
    book: Book,
    *,
    words_hash: str,
    new_sections: Sequence[Section],
    new_chunks: Sequence[Chunk],
    vector_keys: Mapping[str, str],
    digests: Mapping[str, str],
) -> int:
    """Writes a pending edition in the place of any other pending one; returns its number."""
    for number in await _numbers(connection, book.id, BookState.PENDING):
        await drop(connection, book.id, number)
    number = await _next(connection)
    entry = rows.book_values(book, words_hash=words_hash) | {
        "book_id": book.id,
        "edition": number,
        "state": str(BookState.PENDING),
        "created_at": datetime.now(UTC),
    }
    await connection.execute(insert(editions), entry)
    if new_sections:
        kept = {rows.hash_text(section.text): section.text for section in new_sections}
        await _put(connection, _KEEP_TEXT, ({"hash": h, "text": t} for h, t in kept.items()))
        made = (rows.section_values(section, edition=number) for section in new_sections)
        await _put(connection, insert(sections), made)
    if new_chunks:
        values = (
            rows.chunk_values(c, edition=number, vector_key=vector_keys[c.id], digest=digests.get(c.id))
            for c in new_chunks
        )
        await _put(connection, insert(chunks), values)
        await connection.execute(delete(removals).where(removals.c.id.in_(_ids(book.id, number))))
        await _survey(connection, len(new_chunks))
    return number


async def _put(connection: AsyncConnection, statement: Executable, values: Iterable[rows.Values]) -> None:
    """A few rows at a time: between two portions, whoever else waits in this process has a turn."""
    rest = iter(values)
    while some := list(islice(rest, AT_ONCE)):
        await connection.execute(statement, some)


async def _next(connection: AsyncConnection) -> int:
    """A number that no edition of any book has or ever had: what is gone cannot be taken for what came."""
    noted = await connection.scalar(select(meta.c.value).where(meta.c.key == NUMBER))
    latest = await connection.scalar(select(func.max(editions.c.edition)))
    number = max(int(noted or 0), latest or 0) + 1
    await connection.execute(SET_META, {"key": NUMBER, "value": str(number)})
    return number


async def publish(connection: AsyncConnection, book_id: str, number: int) -> None:
    """Pending becomes ready, ready becomes superseded, and the catalogue names the new edition."""
    new = await _edition(connection, book_id, number)
    advance(BookState(new.state), BookState.READY)
    await _fill_digests(connection, book_id, number)
    old = (await connection.execute(select(books).where(books.c.id == book_id))).one_or_none()
    entry = {c.name: getattr(new, c.name) for c in books.c if c.name in editions.c and c.name != "edition"}
    entry |= {"edition": number, "settled": 0}
    if old is None:
        await connection.execute(insert(books), entry | {"id": book_id})
    else:
        entry["added_at"] = old.added_at
        entry["updated_at"] = max(old.updated_at, new.updated_at)  # a clock may go back; a book does not
        await connection.execute(update(books).where(books.c.id == book_id).values(entry))
        await _retire(connection, book_id, old.edition)
    await _set_state(connection, book_id, number, BookState.READY)


async def drop(connection: AsyncConnection, book_id: str, number: int) -> None:
    """Takes out a pending edition. What it had put into the store is left in `removals`."""
    found = await _edition(connection, book_id, number)
    if found.state != BookState.PENDING:
        advance(BookState(found.state), BookState.PENDING)  # no state leads there: this raises
    await _doom(connection, book_id, number)
    for table in (chunks, sections, editions):
        await connection.execute(delete(table).where(_is(table, book_id, number)))


async def remove(connection: AsyncConnection, book_id: str) -> tuple[str, ...]:
    """Takes out a book with all its editions; returns the ids that the store has to drop."""
    if await connection.scalar(select(books.c.id).where(books.c.id == book_id)) is None:
        raise NotFound("book", book_id, hint="`octavo list` shows the books.")
    await connection.execute(delete(books).where(books.c.id == book_id))
    for number in await _numbers(connection, book_id, *BookState):
        await _doom(connection, book_id, number)
        for table in (chunks, sections, editions):
            await connection.execute(delete(table).where(_is(table, book_id, number)))
    return tuple(await connection.scalars(select(removals.c.id).where(removals.c.book_id == book_id)))


async def _retire(connection: AsyncConnection, book_id: str, number: int) -> None:
    old = await _edition(connection, book_id, number)
    advance(BookState(old.state), BookState.SUPERSEDED)
    await _doom(connection, book_id, number)
    await connection.execute(delete(chunks).where(_is(chunks, book_id, number)))
    await _set_state(connection, book_id, number, BookState.SUPERSEDED)


async def _doom(connection: AsyncConnection, book_id: str, number: int) -> None:
    """Notes for removal the chunks that only this edition has."""
    other = chunks.alias("other")
    elsewhere = exists().where(
        other.c.id == chunks.c.id, or_(other.c.book_id != book_id, other.c.edition != number)
    )
    noted = exists().where(removals.c.id == chunks.c.id)
    doomed = select(chunks.c.id, literal(book_id)).where(_is(chunks, book_id, number), ~elsewhere, ~noted)
    await connection.execute(insert(removals).from_select(["id", "book_id"], doomed))


async def _fill_digests(connection: AsyncConnection, book_id: str, number: int) -> None:
    """What the store must report of each chunk, from the vectors, where `begin` was not told."""
    condition = and_(_is(chunks, book_id, number), chunks.c.digest.is_(None))
    while found := await chunks_of(connection, condition, embedded=True, limit=BATCH):
        lacking = [chunk.id for chunk in found if chunk.embedding is None]
        if lacking:
            raise RecordsError(
                f"edition {number} of {book_id!r} cannot be published: {len(lacking)} chunks have no vector",
                hint="Add the book again.",
            )
        await set_digests(connection, book_id, number, {chunk.id: digest_chunk(chunk) for chunk in found})


async def set_digests(
    connection: AsyncConnection, book_id: str, number: int, digests: Mapping[str, str]
) -> None:
    place = {"of_book": book_id, "of_edition": number}
    values = [place | {"of_id": id_, "new_digest": made} for id_, made in digests.items()]
    if values:
        await connection.execute(_SET_DIGEST, values)


async def _survey(connection: AsyncConnection, added: int) -> None:
    """Tells PostgreSQL what it has, when a book made it so much more that its plans would be poor ones."""
    if connection.dialect.name == "postgresql":
        counted = await connection.scalar(
            text("SELECT reltuples FROM pg_class WHERE oid = 'chunks'::regclass")
        )
        if added * 10 >= (counted or 0):
            await connection.exec_driver_sql("ANALYZE sections, chunks")


async def _edition(connection: AsyncConnection, book_id: str, number: int) -> rows.Row:
    found = (await connection.execute(select(editions).where(_is(editions, book_id, number)))).one_or_none()
    if found is None:
        raise NotFound("edition", f"{number} of {book_id}")
    return found


async def _numbers(connection: AsyncConnection, book_id: str, *states: BookState) -> Sequence[int]:
    wanted = [str(state) for state in states]
    query = select(editions.c.edition).where(editions.c.book_id == book_id, editions.c.state.in_(wanted))
    return (await connection.scalars(query)).all()


async def _set_state(connection: AsyncConnection, book_id: str, number: int, state: BookState) -> None:
    where = _is(editions, book_id, number)
    await connection.execute(update(editions).where(where).values(state=str(state)))


def _is(table: Table, book_id: str, number: int) -> ColumnElement[bool]:
    return and_(table.c.book_id == book_id, table.c.edition == number)


def _ids(book_id: str, number: int) -> Select[tuple[str]]:
    return select(chunks.c.id).where(_is(chunks, book_id, number))
