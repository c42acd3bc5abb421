"""The catalogue: books with their editions, sections, chunks and vectors, in one database.

The records are the truth; the chunk store is an index of them and can be rebuilt from them without a model.
A reader sees whole editions only: `begin_edition` writes what nobody sees, `publish` shows it in a single
transaction. What the store has still to do afterwards is written down in the same transaction (`unsettled`,
`removals`), so that whoever opens the library next can finish it. What goes in comes out equal.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from sqlalchemy import delete, exists, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from octavo.errors import NotFound, RecordsError
from octavo.records import editions as lifecycle
from octavo.records import queries as reading
from octavo.records import rows
from octavo.records.database import CONNECTIONS, Database
from octavo.records.tables import books, chunks, editions, meta, removals, sections, texts, vectors
from octavo.store.base import digest_chunk
from octavo.validation import BookState

if TYPE_CHECKING:
    from octavo.protocols import Vector
    from octavo.types import Book, Chunk, Section

CATALOGUE = "the catalogue"
LIBRARY = "library"
_NAME = text("INSERT INTO meta (key, value) VALUES (:key, :value) ON CONFLICT (key) DO NOTHING")
_CHANGED = text(
    "INSERT INTO meta (key, value) VALUES ('changes', '1') "
    "ON CONFLICT (key) DO UPDATE SET value = CAST(CAST(meta.value AS INTEGER) + 1 AS TEXT)"
)
_CHANGES = select(meta.c.value).where(meta.c.key == "changes")
_PENDING = select(editions.c.edition).where(editions.c.state == str(BookState.PENDING))
_KEEP_VECTOR = text("INSERT INTO vectors (key, vector) VALUES (:key, :vector) ON CONFLICT (key) DO NOTHING")


class Records:
    """Opened by `await Records.open(path)`; a URL opens a database server instead of a file."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.generation = 0
        """Grows whenever what readers see changes: what was read under another number may be out of date."""
        self.unpublished: set[int] = set()
        """The editions that are being taken in: in the store, and not yet to be seen."""
        self._changes = ""

    @classmethod
    async def open(cls, where: Path | str, *, connections: int = CONNECTIONS) -> Records:
        """Opens the records, making or upgrading them as needed."""
        return cls(await Database.open(where, connections=connections))

    @property
    def database(self) -> Database:
        return self._database

    async def close(self) -> None:
        await self._database.close()

    async def refresh(self) -> int:
        """`generation`, after a look at what other instances have changed, if there can be any."""
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
        """A change of the catalogue: one after the other, and every instance can tell that there was one."""
        async with self._database.begin(CATALOGUE) as connection:
            yield connection
            if self._database.is_shared:
                await connection.execute(_CHANGED)

    # Notes about the library as a whole

    async def get_meta(self, key: str) -> str | None:
        async with self._database.connect() as connection:
            return await connection.scalar(select(meta.c.value).where(meta.c.key == key))

    async def set_meta(self, key: str, value: str) -> None:
        async with self._database.begin() as connection:
            await connection.execute(lifecycle.SET_META, {"key": key, "value": value})

    async def ensure_library_id(self) -> str:
        """The name of this library among others; made when it is first asked for, and kept for ever."""
        known = await self.get_meta(LIBRARY)
        if known is None:
            async with self._database.begin() as connection:
                await connection.execute(_NAME, {"key": LIBRARY, "value": str(uuid4())})
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
    ) -> int:
        """Writes an edition that nobody sees yet, in the place of any other such; returns its number.

        Digests that are not known yet are made from the vectors when the edition is published.
        """
        rows.check_edition(book, sections, chunks, vector_keys)
        async with self._change() as connection:
            number = await lifecycle.begin(
                connection,
                book,
                words_hash=words_hash,
                new_sections=sections,
                new_chunks=chunks,
                vector_keys=vector_keys,
                digests=digests or {},
            )
        self.unpublished.add(number)
        return number

    async def publish(self, book_id: str, edition: int) -> None:
        """Makes a pending edition the one that everybody sees, all at once; the book is then unsettled."""
        try:
            async with self._change() as connection:
                await lifecycle.publish(connection, book_id, edition)
        finally:  # a cancelled call may have come through: an edition that is out must not stay hidden
            self.generation += 1
            self.unpublished.discard(edition)

    async def save_digests(self, book_id: str, edition: int, digests: Mapping[str, str]) -> None:
        """Tells what the store must report of chunks of a pending edition, once their vectors are known."""
        async with self._database.begin() as connection:
            await lifecycle.set_digests(connection, book_id, edition, digests)

    async def settle(self, book_id: str) -> None:
        """The store holds exactly what the ready edition of this book says."""
        async with self._database.begin() as connection:
            done = await connection.execute(update(books).where(books.c.id == book_id).values(settled=1))
            if done.rowcount == 0:
                raise NotFound("book", book_id)

    async def abandon(self, book_id: str, edition: int) -> None:
        """Drops a pending edition; what it may have put into the store is noted in `removals`."""
        async with self._change() as connection:
            await lifecycle.drop(connection, book_id, edition)

    async def list_pending(self) -> list[tuple[str, int]]:
        """The editions that were begun and not published, as book id and number."""
        async with self._database.connect() as connection:
            return await reading.pending(connection, BookState.PENDING)

    async def list_unsettled(self) -> list[str]:
        """The books that were published and for which the store may not be done yet."""
        async with self._database.connect() as connection:
            return list(await connection.scalars(select(books.c.id).where(books.c.settled == 0)))

    async def remove(self, book_id: str) -> tuple[str, ...]:
        """Takes a book out with all its editions; returns what the store has to drop, as in `removals`."""
        try:
            async with self._change() as connection:
                return await lifecycle.remove(connection, book_id)
        finally:
            self.generation += 1

    async def list_removals(self) -> dict[str, tuple[str, ...]]:
        """The chunks that the store has still to drop, by book: none is in a pending or ready edition."""
        async with self._database.connect() as connection:
            found = await connection.execute(select(removals).order_by(removals.c.book_id, removals.c.id))
            by_book = groupby(found, key=lambda row: str(row.book_id))
            return {book_id: tuple(row.id for row in group) for book_id, group in by_book}

    async def clear_removals(self, book_id: str) -> None:
        """The store has dropped, durably, what `removals` listed for this book."""
        async with self._database.begin() as connection:
            await connection.execute(delete(removals).where(removals.c.book_id == book_id))

    # The catalogue

    async def find_book(self, book_id: str) -> Book | None:
        async with self._database.connect() as connection:
            return await reading.book_where(connection, books.c.id == book_id)

    async def list_books(self) -> list[Book]:
        """In the order in which they were added."""
        async with self._database.connect() as connection:
            return await reading.all_books(connection)

    async def list_editions(self) -> dict[str, int]:
        """The number of each book's ready edition."""
        async with self._database.connect() as connection:
            return await reading.book_editions(connection)

    async def find_by_content_hash(self, content_hash: str) -> Book | None:
        async with self._database.connect() as connection:
            return await reading.book_where(connection, books.c.content_hash == content_hash)

    async def find_by_words_hash(self, words_hash: str) -> Book | None:
        async with self._database.connect() as connection:
            return await reading.book_where(connection, books.c.words_hash == words_hash)

    async def find_words_hash(self, book_id: str) -> str | None:
        async with self._database.connect() as connection:
            return await connection.scalar(select(books.c.words_hash).where(books.c.id == book_id))

    # Sections

    async def list_sections(self, book_id: str) -> list[Section]:
        """In reading order, with their text, which is checked against its hash."""
        async with self._database.connect() as connection:
            return await reading.sections_of(connection, book_id)

    async def list_outline(self, book_id: str) -> list[Section]:
        """In reading order, without text or blocks; the pages are there, all marked at offset 0."""
        async with self._database.connect() as connection:
            return await reading.outline_of(connection, book_id)

    async def find_section(self, book_id: str, section_id: str) -> Section | None:
        async with self._database.connect() as connection:
            return await reading.section_of(connection, book_id, section_id)

    async def list_section_hashes(self, book_id: str) -> dict[str, str]:
        """The SHA-256 of each section's text."""
        async with self._database.connect() as connection:
            return await reading.section_hashes(connection, book_id)

    async def find_section_ends(self, book_id: str) -> dict[str, int]:
        """The position in the book of the last chunk of each section that has any."""
        async with self._database.connect() as connection:
            return await reading.ends(connection, book_id)

    # Chunks and vectors

    async def list_chunks(self, book_id: str) -> list[Chunk]:
        """In reading order, without embeddings."""
        async with self._database.connect() as connection:
            return await reading.ready_chunks(connection, book_id)

    async def find_chunks(self, ids: Sequence[str]) -> list[Chunk]:
        """Those that are in ready editions, in the order asked for, without embeddings."""
        return await reading.chunks_by_ids(self._database, ids, embedded=False)

    async def find_embedded_chunks(self, ids: Sequence[str]) -> list[Chunk]:
        """As `chunks_by_ids`, with embeddings: what the store takes. Ask for a few hundred at a time."""
        return await reading.chunks_by_ids(self._database, ids, embedded=True)

    async def find_chunks_within(self, book_id: str, section_id: str, start: int, end: int) -> list[Chunk]:
        """The chunks of a section that share characters with a stretch of its text, in order."""
        async with self._database.connect() as connection:
            return await reading.chunks_within(connection, book_id, section_id, start, end)

    async def read_page(self, book_id: str, source_file: str) -> str:
        """Everything that the book has from one of its files: what a reader finds on one web page."""
        async with self._database.connect() as connection:
            return await reading.page_text(connection, book_id, source_file)

    async def list_section_texts(self, book_id: str, section_id: str) -> list[str]:
        """The text of a section in every edition that has it, the newest first."""
        async with self._database.connect() as connection:
            return await reading.section_texts(connection, book_id, section_id)

    async def read_manifest(self, book_id: str | None = None) -> dict[str, tuple[str, str]]:
        """Digest and vector key of each chunk of a ready edition: of one book, or of the whole library."""
        async with self._database.connect() as connection:
            return await reading.manifest(connection, book_id)

    async def read_digests(self) -> dict[str, str]:
        """What the store must report, chunk by chunk."""
        return {id: digest_chunk for id, (digest_chunk, _) in (await self.read_manifest()).items()}

    async def find_missing_vectors(self, keys: Iterable[str]) -> list[str]:
        """The keys that have no vector yet, each once, in the order asked for."""
        async with self._database.connect() as connection:
            return await reading.missing_vectors(connection, keys)

    async def save_vectors(self, new: Mapping[str, Vector]) -> None:
        """Keeps vectors of unit length under their keys; one that is there already stays as it is."""
        # in one order, or two who keep the same ones would wait for each other
        values = [{"key": key, "vector": rows.vector_bytes(vector)} for key, vector in sorted(new.items())]
        if values:
            async with self._database.begin() as connection:
                await connection.execute(_KEEP_VECTOR, values)

    async def find_vectors(self, keys: Iterable[str]) -> dict[str, tuple[float, ...]]:
        async with self._database.connect() as connection:
            return await reading.vectors_of(connection, keys)

    # Housekeeping

    async def sweep(self) -> tuple[int, int]:
        """Drops the texts that no edition and the vectors that no chunk needs; says how many of each."""
        async with self._database.begin(CATALOGUE) as connection:
            unread = ~exists().where(sections.c.text_hash == texts.c.hash)
            unused = ~exists().where(chunks.c.vector_key == vectors.c.key)
            swept = await connection.execute(delete(texts).where(unread))
            dropped = await connection.execute(delete(vectors).where(unused))
            return swept.rowcount, dropped.rowcount

    async def find_problems(self) -> list[str]:
        """Reads everything once; a sentence for each thing that is not as it was written."""
        async with self._database.connect() as connection:
            found = [f"a text is damaged ({hash[:12]})" for hash in await reading.wrong_texts(connection)]
            if self._database.is_sqlite:
                said = await connection.exec_driver_sql("PRAGMA integrity_check")
                found += [f"the database says: {line}" for line in said.scalars() if line != "ok"]
        return found or await self._find_wrong_passages()

    async def _find_wrong_passages(self) -> list[str]:
        """The chunks that, with their vectors, are not those whose digests were noted."""
        expected, wrong = await self.read_digests(), []
        for batch in reading.batches(list(expected)):
            try:
                read = {chunk.id: chunk for chunk in await self.find_embedded_chunks(batch)}
            except RecordsError as error:
                return [error.message]
            for id in batch:
                sound = (
                    id in read and read[id].embedding is not None and digest_chunk(read[id]) == expected[id]
                )
                wrong += [] if sound else [f"a passage or its vector is damaged ({id})"]
        return wrong
