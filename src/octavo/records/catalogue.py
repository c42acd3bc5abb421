"""The catalogue: books with their editions, sections, chunks and vectors, in one database.

The records are the truth; the chunk store is an index of them and can be rebuilt from them without a model.
A reader sees whole editions only: `begin_edition` writes what nobody sees, `publish` shows it in a single
transaction and retires the edition before it, whose sections stay so that what was cited from them can still
be checked. Every chunk id that the store may hold and no edition needs any longer goes into `removals` in the
same transaction, so that after a kill at any moment whoever opens the library next can finish the work.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

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

from octavo.concurrency import run_blocking
from octavo.errors import NotFound, RecordsError
from octavo.records import rows
from octavo.records.database import CONNECTIONS, Database
from octavo.records.digests import save_digests, save_missing_digests
from octavo.records.entries import mend_entries
from octavo.records.files import delete_file, insert_file
from octavo.records.markup import delete_markup, insert_markup
from octavo.records.queries import Queries, list_undigested_chunks
from octavo.records.removal import delete_answers_from, delete_belongings
from octavo.records.scans import sweep_scans
from octavo.records.tables import (
    books,
    chunks,
    edition_images,
    edition_words,
    editions,
    images,
    meta,
    removals,
    sections,
    text_marks,
    texts,
    vectors,
)
from octavo.records.words import (
    change_totals,
    clear_counts,
    count_words,
    delete_counts,
    list_uncounted,
    read_counts,
    save_counts,
)
from octavo.store.base import digest_chunk
from octavo.validation import BookState, advance

if TYPE_CHECKING:
    from octavo.protocols import Vector
    from octavo.types import Book, Chunk, Section

CATALOGUE = "the catalogue"
LIBRARY = "library"
NEWEST_EDITION = "newest edition"
INSERT_ROWS = 128
_SET_META = text(
    "INSERT INTO meta (key, value) VALUES (:key, :value) "
    "ON CONFLICT (key) DO UPDATE SET value = excluded.value"
)
_ADD_META = text("INSERT INTO meta (key, value) VALUES (:key, :value) ON CONFLICT (key) DO NOTHING")
_COUNT_CHANGE = text(
    "INSERT INTO meta (key, value) VALUES ('changes', '1') "
    "ON CONFLICT (key) DO UPDATE SET value = CAST(CAST(meta.value AS INTEGER) + 1 AS TEXT)"
)
_CHANGES = select(meta.c.value).where(meta.c.key == "changes")
_PENDING = select(editions.c.edition).where(editions.c.state == str(BookState.PENDING))
_ADD_TEXT = text("INSERT INTO texts (hash, text) VALUES (:hash, :text) ON CONFLICT (hash) DO NOTHING")
_ADD_VECTOR = text("INSERT INTO vectors (key, vector) VALUES (:key, :vector) ON CONFLICT (key) DO NOTHING")
_SET_DIGEST = (
    update(chunks)
    .where(
        chunks.c.book_id == bindparam("of_book"),
        chunks.c.edition == bindparam("of_edition"),
        chunks.c.id == bindparam("of_id"),
    )
    .values(digest=bindparam("new_digest"))
)


class Records(Queries):
    """The catalogue as it is read and changed. Opened by `await Records.open(path)`, or a URL of a server."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.generation = 0
        """Grows whenever what readers see changes: what was read under another number may be out of date."""
        self.unpublished: set[int] = set()
        """The editions that are being added: in the store, and not yet to be seen."""
        self._changes = ""

    @classmethod
    async def open(cls, where: Path | str, *, connections: int = CONNECTIONS) -> Records:
        """Opens the records; creates or upgrades them as needed."""
        return cls(await Database.open(where, connections=connections))

    @property
    def database(self) -> Database:
        return self._database

    async def close(self) -> None:
        await self._database.close()

    async def refresh(self) -> int:
        """Returns `generation`, after a look at what other instances have changed, if there can be any."""
        if self._database.is_shared:
            found = await self._database.look_up(_CHANGES, {})
            changes = found[0].value if found else ""
            if changes != self._changes:
                pending = await self._database.look_up(_PENDING, {})
                self.unpublished = {row.edition for row in pending}
                self._changes, self.generation = changes, self.generation + 1
        return self.generation

    @asynccontextmanager
    async def _change(self) -> AsyncIterator[AsyncConnection]:
        """Opens a transaction that waits for its turn and tells every instance that something changed."""
        async with self._database.begin(CATALOGUE) as connection:
            yield connection
            if self._database.is_shared:
                await connection.execute(_COUNT_CHANGE)

    async def set_meta(self, key: str, value: str) -> None:
        async with self._database.begin() as connection:
            await connection.execute(_SET_META, {"key": key, "value": value})

    async def ensure_library_id(self) -> str:
        """Returns the name of this library among others; makes it when it is first asked for."""
        known = await self.get_meta(LIBRARY)
        if known is None:
            async with self._database.begin() as connection:
                await connection.execute(_ADD_META, {"key": LIBRARY, "value": str(uuid4())})
            known = await self.get_meta(LIBRARY)
        return str(known)

    # Editions

    async def begin_edition(
        self,
        book: Book,
        *,
        words_hash: str,
        sections: Sequence[Section],
        chunks: Sequence[Chunk],
        vector_keys: Mapping[str, str],
        digests: Mapping[str, str] | None = None,
        images: Mapping[str, bytes] | None = None,
        file: bytes = b"",
        scanner: str = "",
    ) -> int:
        """Writes an edition that nobody sees yet, in the place of any other such; returns its number.

        Digests that are not known yet are computed from the vectors when the edition is published.
        """
        rows.check_edition(book, sections, chunks, vector_keys)
        counts = await run_blocking(count_words, chunks)
        async with self._change() as connection:
            for pending in await _list_numbers(connection, book.id, BookState.PENDING):
                await _drop_pending(connection, book.id, pending)
            number = await _take_number(connection)
            entry = rows.build_book(book, words_hash=words_hash) | {
                "book_id": book.id,
                "edition": number,
                "state": str(BookState.PENDING),
                "created_at": datetime.now(UTC),
            }
            await connection.execute(insert(editions), entry)
            await _insert_sections(connection, sections, edition=number)
            await insert_markup(connection, book.id, number, sections, images or {})
            await insert_file(connection, book.id, number, file, engine=scanner)
            await _insert_chunks(
                connection, book.id, number, chunks, vector_keys=vector_keys, digests=digests or {}
            )
            await save_counts(connection, book.id, number, counts)
        self.unpublished.add(number)
        return number

    async def reserve_editions(self, newest: int) -> None:
        """Notes that numbers up to `newest` are in use, so that a new edition gets a higher one."""
        async with self._database.begin(CATALOGUE) as connection:
            noted = await connection.scalar(select(meta.c.value).where(meta.c.key == NEWEST_EDITION))
            if int(noted or 0) < newest:
                await connection.execute(_SET_META, {"key": NEWEST_EDITION, "value": str(newest)})

    async def publish(self, book_id: str, edition: int) -> None:
        """Makes a pending edition the one that everybody sees, all at once; the book is then unsettled."""
        try:
            async with self._change() as connection:
                await _publish(connection, book_id, edition)
        finally:
            # A cancelled call may have come through: a published edition must not stay hidden.
            self.generation += 1
            self.unpublished.discard(edition)

    async def save_digests(self, book_id: str, edition: int, digests: Mapping[str, str]) -> None:
        """Saves what the store must report of chunks of a pending edition, once their vectors are known."""
        async with self._database.begin() as connection:
            await _set_digests(connection, book_id, edition, digests)

    async def settle(self, book_id: str) -> None:
        """Notes that the store holds exactly what the ready edition of this book says."""
        async with self._database.begin() as connection:
            done = await connection.execute(update(books).where(books.c.id == book_id).values(settled=1))
            if done.rowcount == 0:
                raise NotFound("book", book_id)

    async def abandon(self, book_id: str, edition: int) -> None:
        """Drops a pending edition; what it may have put into the store is noted in `removals`."""
        async with self._change() as connection:
            await _drop_pending(connection, book_id, edition)

    async def drop_superseded(self, book_id: str, edition: int) -> None:
        """Drops an earlier edition that is damaged, when a sound one has taken its place."""
        async with self._change() as connection:
            found = await _find_edition(connection, book_id, edition)
            if found.state == BookState.SUPERSEDED:
                await _delete_edition(connection, book_id, edition)

    async def remove(self, book_id: str, *, keep_answers: bool = True) -> tuple[str, ...]:
        """Removes a book with all its editions and what belongs to it, all at once.

        Without `keep_answers`, the answers go that show its passages. Returns the chunks that the store must
        delete.
        """
        try:
            async with self._change() as connection:
                doomed = await _remove(connection, book_id)
                await delete_belongings(connection, book_id)
                if not keep_answers:
                    await delete_answers_from(connection, book_id)
                return doomed
        finally:
            self.generation += 1

    async def clear_removals(self, book_id: str) -> None:
        """Notes that the store has durably deleted what `list_removals` listed for this book."""
        async with self._database.begin() as connection:
            await connection.execute(delete(removals).where(removals.c.book_id == book_id))

    async def mend_entries(self) -> None:
        """Replace the catalogue entries that cannot be read, so that their books can be read back."""
        async with self._change() as connection:
            await mend_entries(connection)
        self.generation += 1

    async def save_vectors(self, new: Mapping[str, Vector]) -> None:
        """Saves vectors of unit length under their keys; an existing one stays as it is."""
        # Sorted, because two instances that save the same vectors in different orders would deadlock.
        values = [{"key": key, "vector": rows.encode_vector(vector)} for key, vector in sorted(new.items())]
        if values:
            async with self._database.begin() as connection:
                await connection.execute(_ADD_VECTOR, values)

    async def save_missing_digests(self) -> int:
        """Give digests to the editions that an earlier version published; return how many there were."""
        async with self._change() as connection:
            return await save_missing_digests(connection)

    async def count_missing_words(self) -> int:
        """Count the words of the books that an earlier version added; return how many books there were."""
        async with self._database.connect() as connection:
            without = await list_uncounted(connection)
        for book_id, _ in without:
            counts = await run_blocking(count_words, await self.list_chunks(book_id))
            async with self._change() as connection:
                # Another instance may have counted it, or published another edition, in the meantime.
                number = dict(await list_uncounted(connection)).get(book_id)
                if number is not None and (book_id, number) in without:
                    await save_counts(connection, book_id, number, counts)
                    await change_totals(connection, added=counts, removed={})
        if without:
            self.generation += 1
        return len(without)

    async def recount_words(self) -> None:
        """Count all words again, in the place of counts that are damaged."""
        async with self._change() as connection:
            await clear_counts(connection)
        await self.count_missing_words()

    async def sweep(self) -> tuple[int, int]:
        """Deletes the texts that no edition and the vectors that no chunk needs; returns how many of each.

        The marks of a text go with it. Pictures that no edition shows are deleted as well, and old scans.
        """
        async with self._database.begin(CATALOGUE) as connection:
            unread = ~exists().where(sections.c.text_hash == texts.c.hash)
            unused = ~exists().where(chunks.c.vector_key == vectors.c.key)
            swept = await connection.execute(delete(texts).where(unread))
            textless = ~exists().where(texts.c.hash == text_marks.c.hash)
            await connection.execute(delete(text_marks).where(textless))
            dropped = await connection.execute(delete(vectors).where(unused))
            unseen = ~exists().where(edition_images.c.hash == images.c.hash)
            await connection.execute(delete(images).where(unseen))
            await sweep_scans(connection)
            return swept.rowcount, dropped.rowcount


async def _publish(connection: AsyncConnection, book_id: str, number: int) -> None:
    """Pending becomes ready, ready becomes superseded, and the catalogue names the new edition."""
    new = await _find_edition(connection, book_id, number)
    advance(BookState(new.state), BookState.READY)
    await _fill_digests(connection, book_id, number)
    old = (await connection.execute(select(books).where(books.c.id == book_id))).one_or_none()
    await change_totals(
        connection,
        added=await read_counts(connection, book_id, number),
        removed=await read_counts(connection, book_id, old.edition) if old is not None else {},
    )
    entry = {c.name: getattr(new, c.name) for c in books.c if c.name in editions.c and c.name != "edition"}
    entry |= {"edition": number, "settled": 0}
    if old is None:
        # An earlier version may have been killed before it had deleted all of another book of this id.
        await delete_belongings(connection, book_id)
        await connection.execute(insert(books), entry | {"id": book_id})
    else:
        entry["added_at"] = old.added_at
        # A clock may go back; the time of a book does not.
        entry["updated_at"] = max(old.updated_at, new.updated_at)
        await connection.execute(update(books).where(books.c.id == book_id).values(entry))
        await _supersede(connection, book_id, old.edition)
    await _set_state(connection, book_id, number, BookState.READY)
    await save_digests(connection, book_id, number)


async def _supersede(connection: AsyncConnection, book_id: str, number: int) -> None:
    old = await _find_edition(connection, book_id, number)
    advance(BookState(old.state), BookState.SUPERSEDED)
    await _note_removals(connection, book_id, number)
    await connection.execute(delete(chunks).where(_match_edition(chunks, book_id, number)))
    await delete_counts(connection, book_id, number)
    await delete_markup(connection, book_id, number)
    await delete_file(connection, book_id, number)
    await _set_state(connection, book_id, number, BookState.SUPERSEDED)


async def _drop_pending(connection: AsyncConnection, book_id: str, number: int) -> None:
    """Deletes a pending edition. The chunks that it put into the store go into `removals`."""
    found = await _find_edition(connection, book_id, number)
    if found.state != BookState.PENDING:
        # No state leads to pending: this raises.
        advance(BookState(found.state), BookState.PENDING)
    await _delete_edition(connection, book_id, number)


async def _remove(connection: AsyncConnection, book_id: str) -> tuple[str, ...]:
    """Deletes a book with all its editions; returns the ids that the store must delete."""
    ready = await connection.scalar(select(books.c.edition).where(books.c.id == book_id))
    if ready is None:
        raise NotFound("book", book_id, hint="`octavo list` shows the books.")
    await change_totals(connection, added={}, removed=await read_counts(connection, book_id, ready))
    await connection.execute(delete(books).where(books.c.id == book_id))
    for number in await _list_numbers(connection, book_id, *BookState):
        await _delete_edition(connection, book_id, number)
    return tuple(await connection.scalars(select(removals.c.id).where(removals.c.book_id == book_id)))


async def _delete_edition(connection: AsyncConnection, book_id: str, number: int) -> None:
    await _note_removals(connection, book_id, number)
    await delete_markup(connection, book_id, number)
    await delete_file(connection, book_id, number)
    for table in (chunks, sections, edition_words, editions):
        await connection.execute(delete(table).where(_match_edition(table, book_id, number)))


async def _note_removals(connection: AsyncConnection, book_id: str, number: int) -> None:
    """Notes for removal the chunks that only this edition has."""
    other = chunks.alias("other")
    elsewhere = exists().where(
        other.c.id == chunks.c.id, or_(other.c.book_id != book_id, other.c.edition != number)
    )
    noted = exists().where(removals.c.id == chunks.c.id)
    unneeded = select(chunks.c.id, literal(book_id)).where(
        _match_edition(chunks, book_id, number), ~elsewhere, ~noted
    )
    await connection.execute(insert(removals).from_select(["id", "book_id"], unneeded))


async def _take_number(connection: AsyncConnection) -> int:
    """Returns a number that no edition of any book has or ever had, so that none is mistaken for another."""
    noted = await connection.scalar(select(meta.c.value).where(meta.c.key == NEWEST_EDITION))
    latest = await connection.scalar(select(func.max(editions.c.edition)))
    number = max(int(noted or 0), latest or 0) + 1
    await connection.execute(_SET_META, {"key": NEWEST_EDITION, "value": str(number)})
    return number


async def _insert_sections(connection: AsyncConnection, new: Sequence[Section], *, edition: int) -> None:
    if new:
        by_hash = {rows.hash_text(section.text): section.text for section in new}
        await _insert(connection, _ADD_TEXT, ({"hash": h, "text": t} for h, t in by_hash.items()))
        values = (rows.build_section(section, edition=edition) for section in new)
        await _insert(connection, insert(sections), values)


async def _insert_chunks(
    connection: AsyncConnection,
    book_id: str,
    number: int,
    new: Sequence[Chunk],
    *,
    vector_keys: Mapping[str, str],
    digests: Mapping[str, str],
) -> None:
    if new:
        values = (
            rows.build_chunk(c, edition=number, vector_key=vector_keys[c.id], digest=digests.get(c.id))
            for c in new
        )
        await _insert(connection, insert(chunks), values)
        needed = removals.c.id.in_(_select_chunk_ids(book_id, number))
        await connection.execute(delete(removals).where(needed))
        await _analyze(connection, added=len(new))


async def _insert(connection: AsyncConnection, statement: Executable, values: Iterable[rows.Values]) -> None:
    """Inserts a few rows at a time, so that other tasks of this process run in between."""
    rest = iter(values)
    while some := list(islice(rest, INSERT_ROWS)):
        await connection.execute(statement, some)


async def _fill_digests(connection: AsyncConnection, book_id: str, number: int) -> None:
    """Computes the digests that `begin_edition` was not given, from the vectors."""
    while found := await list_undigested_chunks(connection, book_id, number):
        lacking = [chunk.id for chunk in found if chunk.embedding is None]
        if lacking:
            raise RecordsError(
                f"edition {number} of {book_id!r} cannot be published: {len(lacking)} chunks have no vector",
                hint="Add the book again.",
            )
        digests = {chunk.id: digest_chunk(chunk) for chunk in found}
        await _set_digests(connection, book_id, number, digests)


async def _set_digests(
    connection: AsyncConnection, book_id: str, number: int, digests: Mapping[str, str]
) -> None:
    edition = {"of_book": book_id, "of_edition": number}
    values = [edition | {"of_id": id, "new_digest": digest} for id, digest in digests.items()]
    if values:
        await connection.execute(_SET_DIGEST, values)


async def _analyze(connection: AsyncConnection, *, added: int) -> None:
    """Updates PostgreSQL's statistics when a book adds so much that its query plans would be poor."""
    if connection.dialect.name == "postgresql":
        counted = await connection.scalar(
            text("SELECT reltuples FROM pg_class WHERE oid = 'chunks'::regclass")
        )
        if added * 10 >= (counted or 0):
            await connection.exec_driver_sql("ANALYZE sections, chunks")


async def _find_edition(connection: AsyncConnection, book_id: str, number: int) -> rows.Row:
    query = select(editions).where(_match_edition(editions, book_id, number))
    found = (await connection.execute(query)).one_or_none()
    if found is None:
        raise NotFound("edition", f"{number} of {book_id}")
    return found


async def _list_numbers(connection: AsyncConnection, book_id: str, *states: BookState) -> Sequence[int]:
    wanted = [str(state) for state in states]
    query = select(editions.c.edition).where(editions.c.book_id == book_id, editions.c.state.in_(wanted))
    return (await connection.scalars(query)).all()


async def _set_state(connection: AsyncConnection, book_id: str, number: int, state: BookState) -> None:
    edition = _match_edition(editions, book_id, number)
    await connection.execute(update(editions).where(edition).values(state=str(state)))


def _match_edition(table: Table, book_id: str, number: int) -> ColumnElement[bool]:
    return and_(table.c.book_id == book_id, table.c.edition == number)


def _select_chunk_ids(book_id: str, number: int) -> Select[tuple[str]]:
    return select(chunks.c.id).where(_match_edition(chunks, book_id, number))
