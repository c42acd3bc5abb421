"""What the records are asked, each question one statement.

Only ready editions are seen, unless a question names another. Statements are built once; the one that reads
a search's chunks back joins everything they need and cuts their text where it is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, and_, bindparam, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from octavo.records import rows
from octavo.records.errors import report_damage
from octavo.records.tables import books, chunks, editions, sections, texts, vectors

if TYPE_CHECKING:
    from octavo.records.database import Database
    from octavo.types import Book, Chunk, Section

BATCH = 500

_READY = and_(books.c.id == chunks.c.book_id, books.c.edition == chunks.c.edition)
_ITS_SECTION = and_(
    sections.c.book_id == chunks.c.book_id,
    sections.c.edition == chunks.c.edition,
    sections.c.id == chunks.c.section_id,
)
_CONTENT = func.substr(texts.c.text, chunks.c.start + 1, chunks.c.end - chunks.c.start).label("content")
_COLUMNS = [c for c in chunks.c if c.name not in ("edition", "digest", "vector_key")]
_CHUNKS = (
    select(*_COLUMNS, _CONTENT, sections.c.heading_path, sections.c.ancestors, sections.c.source_file)
    .join(sections, _ITS_SECTION)
    .join(texts, texts.c.hash == sections.c.text_hash)
)
_EMBEDDED = _CHUNKS.add_columns(vectors.c.vector).outerjoin(vectors, vectors.c.key == chunks.c.vector_key)
_WANTED = chunks.c.id.in_(bindparam("ids", expanding=True))
_BY_IDS = {
    False: _CHUNKS.join(books, _READY).where(_WANTED),
    True: _EMBEDDED.join(books, _READY).where(_WANTED),
}
_READY_SECTIONS = select(sections).join(
    books, and_(books.c.id == sections.c.book_id, books.c.edition == sections.c.edition)
)
_WITH_TEXT = _READY_SECTIONS.add_columns(texts.c.text).join(texts, texts.c.hash == sections.c.text_hash)
_MANIFEST = select(chunks.c.id, chunks.c.digest, chunks.c.vector_key).join(books, _READY)
_ENDS = (
    select(chunks.c.section_id, func.max(chunks.c.document_position).label("end"))
    .join(books, _READY)
    .where(chunks.c.book_id == bindparam("book_id"))
    .group_by(chunks.c.section_id)
)
_FIRST = (
    select(func.min(editions.c.edition)).where(editions.c.book_id == books.c.id).scalar_subquery()
)  # numbers only grow: the order of the first ones is that of adding, whatever the clocks said
_HAVE = select(vectors.c.key).where(vectors.c.key.in_(bindparam("keys", expanding=True)))
_SOME_TEXTS = select(texts).where(texts.c.hash > bindparam("last")).order_by(texts.c.hash).limit(BATCH)
_VECTORS = select(vectors).where(vectors.c.key.in_(bindparam("keys", expanding=True)))


def batches(items: Sequence[str]) -> Iterator[Sequence[str]]:
    """As many as one statement takes, and again."""
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))


async def book_where(connection: AsyncConnection, condition: ColumnElement[bool]) -> Book | None:
    """The book that fits; of several, the one that came first."""
    query = select(books).where(condition).order_by(_FIRST).limit(1)
    row = (await connection.execute(query)).one_or_none()
    return None if row is None else rows.book_of(row)


async def all_books(connection: AsyncConnection) -> list[Book]:
    query = select(books).order_by(_FIRST)
    return [rows.book_of(row) for row in await connection.execute(query)]


async def book_editions(connection: AsyncConnection) -> dict[str, int]:
    return {row.id: row.edition for row in await connection.execute(select(books.c.id, books.c.edition))}


async def pending(connection: AsyncConnection, state: str) -> list[tuple[str, int]]:
    query = select(editions.c.book_id, editions.c.edition).where(editions.c.state == state)
    return [(row.book_id, row.edition) for row in await connection.execute(query)]


async def sections_of(connection: AsyncConnection, book_id: str) -> list[Section]:
    query = _WITH_TEXT.where(sections.c.book_id == book_id).order_by(sections.c.position)
    return [rows.section_of(row) for row in await connection.execute(query)]


async def outline_of(connection: AsyncConnection, book_id: str) -> list[Section]:
    query = _READY_SECTIONS.where(sections.c.book_id == book_id).order_by(sections.c.position)
    return [rows.heading_of(row) for row in await connection.execute(query)]


async def section_of(connection: AsyncConnection, book_id: str, section_id: str) -> Section | None:
    query = _WITH_TEXT.where(sections.c.book_id == book_id, sections.c.id == section_id)
    row = (await connection.execute(query)).one_or_none()
    return None if row is None else rows.section_of(row)


async def section_hashes(connection: AsyncConnection, book_id: str) -> dict[str, str]:
    query = _READY_SECTIONS.with_only_columns(sections.c.id, sections.c.text_hash, maintain_column_froms=True)
    found = await connection.execute(query.where(sections.c.book_id == book_id))
    return {row.id: row.text_hash for row in found}


async def ends(connection: AsyncConnection, book_id: str) -> dict[str, int]:
    found = await connection.execute(_ENDS, {"book_id": book_id})
    return {row.section_id: row.end for row in found}


async def manifest(connection: AsyncConnection, book_id: str | None) -> dict[str, tuple[str, str]]:
    query = _MANIFEST if book_id is None else _MANIFEST.where(chunks.c.book_id == book_id)
    return {id: (digest, key) for id, digest, key in await connection.execute(query)}


async def chunks_by_ids(database: Database, ids: Sequence[str], *, embedded: bool) -> list[Chunk]:
    """Those of the ids that are in ready editions, in the order asked for."""
    found: dict[str, Chunk] = {}
    for batch in batches(ids):
        answer = await database.look_up(_BY_IDS[embedded], {"ids": list(batch)})
        with report_damage(database.place):
            found.update((row.id, _chunk(row, embedded)) for row in answer)
    return [found[id] for id in ids if id in found]


async def chunks_of(
    connection: AsyncConnection, condition: ColumnElement[bool], *, embedded: bool, limit: int | None = None
) -> list[Chunk]:
    query = (_EMBEDDED if embedded else _CHUNKS).where(condition).order_by(chunks.c.document_position)
    return [_chunk(row, embedded) for row in await connection.execute(query.limit(limit))]


async def ready_chunks(connection: AsyncConnection, book_id: str) -> list[Chunk]:
    query = _CHUNKS.join(books, _READY).where(chunks.c.book_id == book_id)
    found = await connection.execute(query.order_by(chunks.c.document_position))
    return [_chunk(row, False) for row in found]


async def chunks_within(
    connection: AsyncConnection, book_id: str, section_id: str, start: int, end: int
) -> list[Chunk]:
    there = (chunks.c.book_id == book_id, chunks.c.section_id == section_id)
    query = _CHUNKS.join(books, _READY).where(*there, chunks.c.start < end, chunks.c.end > start)
    found = await connection.execute(query.order_by(chunks.c.document_position))
    return [_chunk(row, False) for row in found]


async def page_text(connection: AsyncConnection, book_id: str, source_file: str) -> str:
    page = (sections.c.book_id == book_id, sections.c.source_file == source_file)
    found = await connection.execute(_WITH_TEXT.where(*page).order_by(sections.c.position))
    return "\n\n".join(row.text for row in found)


async def section_texts(connection: AsyncConnection, book_id: str, section_id: str) -> list[str]:
    query = select(texts.c.text).join(sections, sections.c.text_hash == texts.c.hash)
    there = query.where(sections.c.book_id == book_id, sections.c.id == section_id)
    return list(await connection.scalars(there.order_by(sections.c.edition.desc())))


def _chunk(row: rows.Row, embedded: bool) -> Chunk:
    stored = row.vector if embedded else None
    return rows.chunk_of(row, embedding=None if stored is None else rows.vector_of(stored))


async def missing_vectors(connection: AsyncConnection, keys: Iterable[str]) -> list[str]:
    """The keys that have no vector yet, each once, in the order asked for."""
    wanted = list(dict.fromkeys(keys))
    have: set[str] = set()
    for batch in batches(wanted):
        have.update(await connection.scalars(_HAVE, {"keys": list(batch)}))
    return [key for key in wanted if key not in have]


async def vectors_of(connection: AsyncConnection, keys: Iterable[str]) -> dict[str, tuple[float, ...]]:
    wanted = list(dict.fromkeys(keys))
    found: dict[str, tuple[float, ...]] = {}
    for batch in batches(wanted):
        answer = await connection.execute(_VECTORS, {"keys": list(batch)})
        found.update((row.key, rows.vector_of(row.vector)) for row in answer)
    return found


async def wrong_texts(connection: AsyncConnection) -> list[str]:
    """The hashes of texts that are no longer what the hash was made from."""
    wrong: list[str] = []
    last = ""
    while some := (await connection.execute(_SOME_TEXTS, {"last": last})).all():
        wrong += [row.hash for row in some if rows.hash_text(row.text) != row.hash]
        last = some[-1].hash
    return wrong
