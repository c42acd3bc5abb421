"""What can be read of the catalogue: books, sections, chunks and vectors, each method one statement.

Only ready editions are seen, unless a method says otherwise. Statements are built once; the one that reads a
search's chunks joins everything they need and cuts their text where it is stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, and_, bindparam, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from octavo.errors import RecordsError
from octavo.records import rows
from octavo.records.digests import ChangedEdition, compare_edition, list_published, list_undigested
from octavo.records.errors import report_damage
from octavo.records.tables import books, chunks, editions, meta, removals, sections, texts, vectors
from octavo.records.words import (
    COUNTS_OF_WORDS,
    PACKED_COUNTS_OF_BOOK,
    find_wrong_counts,
    list_uncounted,
    unpack_counts,
)
from octavo.store.base import digest_chunk
from octavo.validation import BookState

if TYPE_CHECKING:
    from octavo.records.database import Database
    from octavo.types import Book, Chunk, Section

BATCH = 500
"""How many keys or rows one statement takes."""

_READY = and_(books.c.id == chunks.c.book_id, books.c.edition == chunks.c.edition)
_SECTION_OF_CHUNK = and_(
    sections.c.book_id == chunks.c.book_id,
    sections.c.edition == chunks.c.edition,
    sections.c.id == chunks.c.section_id,
)
_EDITION_OF_SECTION = and_(editions.c.book_id == sections.c.book_id, editions.c.edition == sections.c.edition)
_CONTENT = func.substr(texts.c.text, chunks.c.start + 1, chunks.c.end - chunks.c.start).label("content")
_COLUMNS = [c for c in chunks.c if c.name not in ("edition", "digest", "vector_key")]
_CHUNKS = (
    select(*_COLUMNS, _CONTENT, sections.c.heading_path, sections.c.ancestors, sections.c.source_file)
    .join(sections, _SECTION_OF_CHUNK)
    .join(texts, texts.c.hash == sections.c.text_hash)
)
_EMBEDDED_CHUNKS = _CHUNKS.add_columns(vectors.c.vector).outerjoin(
    vectors, vectors.c.key == chunks.c.vector_key
)
_READY_CHUNKS = _CHUNKS.join(books, _READY).order_by(chunks.c.document_position)
_WANTED_CHUNKS = chunks.c.id.in_(bindparam("ids", expanding=True))
_CHUNKS_BY_IDS = {
    False: _CHUNKS.join(books, _READY).where(_WANTED_CHUNKS),
    True: _EMBEDDED_CHUNKS.join(books, _READY).where(_WANTED_CHUNKS),
}
_SECTIONS = select(sections).join(
    books, and_(books.c.id == sections.c.book_id, books.c.edition == sections.c.edition)
)
_SECTIONS_WITH_TEXT = _SECTIONS.add_columns(texts.c.text).join(texts, texts.c.hash == sections.c.text_hash)
_SECTION_HASHES = _SECTIONS.with_only_columns(sections.c.id, sections.c.text_hash, maintain_column_froms=True)
_MANIFEST = select(chunks.c.id, chunks.c.digest, chunks.c.vector_key).join(books, _READY)
_BOOKS_BY_IDS = select(chunks.c.book_id).distinct().join(books, _READY).where(_WANTED_CHUNKS)
_BOOKS_BY_FILES = (
    _SECTIONS.with_only_columns(sections.c.book_id, maintain_column_froms=True)
    .where(sections.c.source_file.in_(bindparam("files", expanding=True)))
    .distinct()
)
_DIGESTS = select(chunks.c.id, chunks.c.digest).join(books, _READY)
_DIGESTS_BY_IDS = _MANIFEST.where(_WANTED_CHUNKS)
_SECTION_ENDS = (
    select(chunks.c.section_id, func.max(chunks.c.document_position).label("end"))
    .join(books, _READY)
    .where(chunks.c.book_id == bindparam("book_id"))
    .group_by(chunks.c.section_id)
)
# Edition numbers only grow: the order of the first ones is that of adding, whatever the clocks said.
_FIRST_EDITION = (
    select(func.min(editions.c.edition)).where(editions.c.book_id == books.c.id).scalar_subquery()
)
_TEXTS = select(texts).where(texts.c.hash > bindparam("last")).order_by(texts.c.hash).limit(BATCH)
_VECTOR_KEYS = select(vectors.c.key).where(vectors.c.key.in_(bindparam("keys", expanding=True)))
_VECTORS = select(vectors).where(vectors.c.key.in_(bindparam("keys", expanding=True)))


class Queries:
    """The questions that the catalogue in `database` answers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get_meta(self, key: str) -> str | None:
        """Returns a note about the library as a whole."""
        async with self._database.connect() as connection:
            return await connection.scalar(select(meta.c.value).where(meta.c.key == key))

    # Books and editions

    async def find_book(self, book_id: str) -> Book | None:
        return await self._find_book(books.c.id == book_id)

    async def find_by_words_hash(self, words_hash: str) -> Book | None:
        """Finds the book with these words; of several, the one that was added first."""
        return await self._find_book(books.c.words_hash == words_hash)

    async def _find_book(self, condition: ColumnElement[bool]) -> Book | None:
        query = select(books).where(condition).order_by(_FIRST_EDITION).limit(1)
        async with self._database.connect() as connection:
            row = (await connection.execute(query)).one_or_none()
            return None if row is None else rows.parse_book(row)

    async def list_books(self) -> list[Book]:
        """Lists the books in the order in which they were added."""
        async with self._database.connect() as connection:
            found = await connection.execute(select(books).order_by(_FIRST_EDITION))
            return [rows.parse_book(row) for row in found]

    async def list_editions(self) -> dict[str, int]:
        """Returns the number of each book's ready edition."""
        async with self._database.connect() as connection:
            found = await connection.execute(select(books.c.id, books.c.edition))
            return {row.id: row.edition for row in found}

    async def find_words_hash(self, book_id: str) -> str | None:
        async with self._database.connect() as connection:
            return await connection.scalar(select(books.c.words_hash).where(books.c.id == book_id))

    async def list_pending(self) -> list[tuple[str, int]]:
        """Lists the editions that were begun and not published, as book id and number."""
        query = select(editions.c.book_id, editions.c.edition)
        async with self._database.connect() as connection:
            found = await connection.execute(query.where(editions.c.state == str(BookState.PENDING)))
            return [(row.book_id, row.edition) for row in found]

    async def list_unsettled(self) -> list[str]:
        """Lists the books that were published and for which the store may not be done yet."""
        async with self._database.connect() as connection:
            return list(await connection.scalars(select(books.c.id).where(books.c.settled == 0)))

    async def list_removals(self) -> dict[str, tuple[str, ...]]:
        """Returns the chunks that the store must still delete, by book. No edition needs any of them."""
        query = select(removals).order_by(removals.c.book_id, removals.c.id)
        async with self._database.connect() as connection:
            by_book = groupby(await connection.execute(query), key=lambda row: str(row.book_id))
            return {book_id: tuple(row.id for row in group) for book_id, group in by_book}

    # Sections

    async def list_sections(self, book_id: str) -> list[Section]:
        """Lists the sections in reading order, with their text, which is checked against its hash."""
        query = _SECTIONS_WITH_TEXT.where(sections.c.book_id == book_id).order_by(sections.c.position)
        async with self._database.connect() as connection:
            return [rows.parse_section(row) for row in await connection.execute(query)]

    async def list_outline(self, book_id: str) -> list[Section]:
        """Lists the sections in reading order, without text or blocks. Pages are all marked at offset 0."""
        query = _SECTIONS.where(sections.c.book_id == book_id).order_by(sections.c.position)
        async with self._database.connect() as connection:
            return [rows.parse_heading(row) for row in await connection.execute(query)]

    async def find_section(self, book_id: str, section_id: str) -> Section | None:
        query = _SECTIONS_WITH_TEXT.where(sections.c.book_id == book_id, sections.c.id == section_id)
        async with self._database.connect() as connection:
            row = (await connection.execute(query)).one_or_none()
            return None if row is None else rows.parse_section(row)

    async def list_section_hashes(self, book_id: str) -> dict[str, str]:
        """Returns the SHA-256 of each section's text."""
        async with self._database.connect() as connection:
            found = await connection.execute(_SECTION_HASHES.where(sections.c.book_id == book_id))
            return {row.id: row.text_hash for row in found}

    async def find_section_ends(self, book_id: str) -> dict[str, int]:
        """Returns the position in the book of the last chunk of each section that has any."""
        async with self._database.connect() as connection:
            found = await connection.execute(_SECTION_ENDS, {"book_id": book_id})
            return {row.section_id: row.end for row in found}

    async def list_content_hashes(self, book_id: str) -> frozenset[str]:
        """Returns the content hash of every edition of a book, the present one and the earlier ones."""
        query = select(editions.c.content_hash).where(editions.c.book_id == book_id)
        async with self._database.connect() as connection:
            return frozenset(await connection.scalars(query))

    async def list_section_texts(self, book_id: str, section_id: str) -> list[str]:
        """Lists the text of a section in every edition that has it, the newest first.

        What is left of an edition that is gone proves nothing.
        """
        query = select(texts.c.text).join(sections, sections.c.text_hash == texts.c.hash)
        query = query.join(editions, _EDITION_OF_SECTION)
        query = query.where(sections.c.book_id == book_id, sections.c.id == section_id)
        async with self._database.connect() as connection:
            return list(await connection.scalars(query.order_by(sections.c.edition.desc())))

    async def read_page(self, book_id: str, source_file: str) -> str:
        """Reads everything that the book has from one of its files: what a reader finds on one web page."""
        page = (sections.c.book_id == book_id, sections.c.source_file == source_file)
        async with self._database.connect() as connection:
            found = await connection.execute(_SECTIONS_WITH_TEXT.where(*page).order_by(sections.c.position))
            return "\n\n".join(row.text for row in found)

    # Chunks and vectors

    async def list_chunks(self, book_id: str) -> list[Chunk]:
        """Lists the chunks in reading order, without embeddings."""
        async with self._database.connect() as connection:
            found = await connection.execute(_READY_CHUNKS.where(chunks.c.book_id == book_id))
            return [_parse_chunk(row, False) for row in found]

    async def count_chunks(self) -> int:
        """Counts the chunks of the ready editions."""
        query = select(func.count()).select_from(chunks).join(books, _READY)
        async with self._database.connect() as connection:
            return int(await connection.scalar(query) or 0)

    async def find_chunks(self, ids: Sequence[str]) -> list[Chunk]:
        """Finds those that are in ready editions, in the order of `ids`, without embeddings."""
        return await self._find_chunks(ids, embedded=False)

    async def find_embedded_chunks(self, ids: Sequence[str]) -> list[Chunk]:
        """Like `find_chunks`, with embeddings, as the store takes them. Ask for a few hundred at a time."""
        return await self._find_chunks(ids, embedded=True)

    async def _find_chunks(self, ids: Sequence[str], *, embedded: bool) -> list[Chunk]:
        found: dict[str, Chunk] = {}
        for batch in split_batches(ids):
            answer = await self._database.look_up(_CHUNKS_BY_IDS[embedded], {"ids": list(batch)})
            with report_damage(self._database.place):
                found.update((row.id, _parse_chunk(row, embedded)) for row in answer)
        return [found[id] for id in ids if id in found]

    async def find_chunks_within(self, book_id: str, section_id: str, start: int, end: int) -> list[Chunk]:
        """Finds the chunks of a section that overlap a stretch of its text, in order."""
        here = (chunks.c.book_id == book_id, chunks.c.section_id == section_id)
        query = _READY_CHUNKS.where(*here, chunks.c.start < end, chunks.c.end > start)
        async with self._database.connect() as connection:
            return [_parse_chunk(row, False) for row in await connection.execute(query)]

    async def read_manifest(self, book_id: str | None = None) -> dict[str, tuple[str, str]]:
        """Returns digest and vector key of each chunk of a ready edition: of one book, or of the library."""
        query = _MANIFEST if book_id is None else _MANIFEST.where(chunks.c.book_id == book_id)
        async with self._database.connect() as connection:
            return {id: (digest, key) for id, digest, key in await connection.execute(query)}

    async def find_digests(self, ids: Sequence[str]) -> dict[str, str]:
        """Returns what the store must report of those of these chunks that are in ready editions."""
        found = await self._database.look_up(_DIGESTS_BY_IDS, {"ids": list(ids)})
        return {row.id: row.digest for row in found}

    async def read_digests(self) -> dict[str, str]:
        """Returns what the store must report, chunk by chunk."""
        async with self._database.connect() as connection:
            return dict((await connection.execute(_DIGESTS)).all())

    async def list_books_of(self, ids: Iterable[str]) -> set[str]:
        """Returns the ids of the books whose ready editions have any of these chunks."""
        found: set[str] = set()
        async with self._database.connect() as connection:
            for batch in split_batches([*ids]):
                found.update(await connection.scalars(_BOOKS_BY_IDS, {"ids": list(batch)}))
        return found

    async def list_books_with(self, files: Iterable[str]) -> set[str]:
        """Returns the ids of the books whose ready editions have text from any of these files."""
        async with self._database.connect() as connection:
            return set(await connection.scalars(_BOOKS_BY_FILES, {"files": [*files]}))

    async def find_missing_vectors(self, keys: Iterable[str]) -> list[str]:
        """Finds the keys that have no vector yet, each once, in the order given."""
        wanted = list(dict.fromkeys(keys))
        existing: set[str] = set()
        async with self._database.connect() as connection:
            for batch in split_batches(wanted):
                existing.update(await connection.scalars(_VECTOR_KEYS, {"keys": list(batch)}))
        return [key for key in wanted if key not in existing]

    async def find_vectors(self, keys: Iterable[str]) -> dict[str, tuple[float, ...]]:
        wanted = list(dict.fromkeys(keys))
        found: dict[str, tuple[float, ...]] = {}
        async with self._database.connect() as connection:
            for batch in split_batches(wanted):
                answer = await connection.execute(_VECTORS, {"keys": list(batch)})
                found.update((row.key, rows.parse_vector(row.vector)) for row in answer)
        return found

    # Words

    async def count_passages_with(self, numbers: Iterable[int]) -> dict[int, int]:
        """Count the passages that have each of these words; of those that have any, for `ANY_WORD`."""
        wanted = [*numbers]
        found = await self._database.look_up(COUNTS_OF_WORDS, {"wanted": wanted})
        return dict.fromkeys(wanted, 0) | {row.word: row.passages for row in found}

    async def count_passages_of(self, book_id: str) -> dict[int, int]:
        """Count the passages of one book that have each of its words; {} if they were never counted."""
        for row in await self._database.look_up(PACKED_COUNTS_OF_BOOK, {"book_id": book_id}):
            return dict(unpack_counts(row.counts))
        return {}

    async def count_wrong_words(self) -> int:
        """Count the words whose passages are counted wrong; -1 if a count cannot be read at all."""
        async with self._database.connect() as connection:
            return await find_wrong_counts(connection)

    async def count_uncounted_books(self) -> int:
        """Count the books that an earlier version added without counting their words."""
        async with self._database.connect() as connection:
            return len(await list_uncounted(connection))

    # Damage

    async def find_changed_editions(
        self, *, among: Sequence[tuple[str, int]] | None = None, pause: float = 0
    ) -> list[ChangedEdition]:
        """Compares everything that readers see with the digests that were saved when it was published.

        `among` names the editions to compare, by default all. `pause` is how long to sleep after each.
        """
        found: list[ChangedEdition] = []
        async with self._database.connect() as connection:
            wanted = await list_published(connection) if among is None else among
        for book_id, edition in wanted:
            async with self._database.connect() as connection:
                found += await compare_edition(connection, book_id, edition)
            await asyncio.sleep(pause)
        return found

    async def count_undigested_editions(self) -> int:
        """Counts the editions that an earlier version published without digests."""
        async with self._database.connect() as connection:
            return len(await list_undigested(connection))

    async def find_problems(self) -> list[str]:
        """Reads everything once, and returns a sentence for each thing that is not as it was written."""
        async with self._database.connect() as connection:
            found = [f"a text is damaged ({hash[:12]})" for hash in await _find_wrong_texts(connection)]
            if self._database.is_sqlite:
                checked = await connection.exec_driver_sql("PRAGMA integrity_check")
                found += [f"the database says: {line}" for line in checked.scalars() if line != "ok"]
        found += [str(changed) for changed in await self.find_changed_editions()]
        return found or await self._find_wrong_chunks()

    async def _find_wrong_chunks(self) -> list[str]:
        """Finds the chunks that, with their vectors, do not have the digests that were saved."""
        expected, wrong = await self.read_digests(), []
        for batch in split_batches(list(expected)):
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


async def list_undigested_chunks(connection: AsyncConnection, book_id: str, edition: int) -> list[Chunk]:
    """Lists a batch of an edition's chunks that have no digest yet, with their embeddings."""
    query = _EMBEDDED_CHUNKS.where(
        chunks.c.book_id == book_id, chunks.c.edition == edition, chunks.c.digest.is_(None)
    )
    found = await connection.execute(query.order_by(chunks.c.document_position).limit(BATCH))
    return [_parse_chunk(row, True) for row in found]


def split_batches(items: Sequence[str]) -> Iterator[Sequence[str]]:
    """Splits items into as many as one statement takes."""
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))


async def _find_wrong_texts(connection: AsyncConnection) -> list[str]:
    """Finds the hashes of texts that no longer match them."""
    wrong: list[str] = []
    last = ""
    while some := (await connection.execute(_TEXTS, {"last": last})).all():
        wrong += [row.hash for row in some if rows.hash_text(row.text) != row.hash]
        last = some[-1].hash
    return wrong


def _parse_chunk(row: rows.Row, embedded: bool) -> Chunk:
    stored = row.vector if embedded else None
    return rows.parse_chunk(row, embedding=None if stored is None else rows.parse_vector(stored))
