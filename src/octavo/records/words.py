"""How many passages have a word: what tells rare words from common ones, exactly and for the whole library.

An engine that counts for itself counts in each of its shards, and counts what is being added or deleted. So
the same library would answer differently on one server and on three. Here the counts of an edition are packed
beside it when it is begun. The transaction that publishes or removes it adds them to those of the library or
subtracts them, so that the counts are always those of what readers see.
"""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, and_, bindparam, delete, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from octavo.errors import RecordsError
from octavo.records.tables import books, edition_words, words

if TYPE_CHECKING:
    from octavo.types import Chunk

ANY_WORD = -1
"""Stands for any word at all: its count is the number of passages that have words."""
BATCH = 500
RECOUNT = "Run `octavo doctor --repair`: it counts them again."
Counts = Mapping[int, int]
_ADD = text(
    "INSERT INTO words (word, passages) VALUES (:of_word, :change) "
    "ON CONFLICT (word) DO UPDATE SET passages = words.passages + excluded.passages"
)
_SUBTRACT = (
    update(words)
    .where(words.c.word == bindparam("of_word"))
    .values(passages=words.c.passages + bindparam("change"))
)
_DROP = delete(words).where(words.c.word == bindparam("of_word"), words.c.passages <= 0)
COUNTS_OF_WORDS = select(words).where(words.c.word.in_(bindparam("wanted", expanding=True)))
_READY = and_(books.c.id == edition_words.c.book_id, books.c.edition == edition_words.c.edition)
PACKED_COUNTS_OF_BOOK = (
    select(edition_words.c.counts).join(books, _READY).where(books.c.id == bindparam("book_id"))
)
_UNCOUNTED = (
    select(books.c.id, books.c.edition)
    .outerjoin(edition_words, _READY)
    .where(edition_words.c.book_id.is_(None))
    .order_by(books.c.id)
)


def count_words(chunks: Iterable[Chunk]) -> Counter[int]:
    """Count in how many of these passages each word stands. Takes CPU time: run it in a thread."""
    # The engine takes a while to load, and whoever only reads the catalogue does not need it.
    from octavo.store.base import build_indexed_text
    from octavo.store.bm25 import Bm25Encoder

    encoder = Bm25Encoder()
    counts: Counter[int] = Counter()
    for chunk in chunks:
        found = encoder.encode_document(build_indexed_text(chunk), language=chunk.language)
        counts.update(found.keys())
        counts[ANY_WORD] += bool(found)
    return counts


def pack_counts(counts: Counts) -> bytes:
    """Pack counts into bytes. A changed bit is noticed when they are unpacked."""
    kept = sorted((word, count) for word, count in counts.items() if count)
    flat = [number for pair in kept for number in pair]
    return zlib.compress(struct.pack(f"<{len(flat)}q", *flat), level=6)


def unpack_counts(packed: bytes) -> Counter[int]:
    """Unpack counts. Raises `RecordsError` if they are not what was packed."""
    try:
        raw = zlib.decompress(packed)
        flat = struct.unpack(f"<{len(raw) // 8}q", raw)
        return Counter(dict(zip(flat[::2], flat[1::2], strict=True)))
    except (zlib.error, struct.error, ValueError) as error:
        raise RecordsError("the counts of a book's words are damaged", hint=RECOUNT) from error


async def save_counts(connection: AsyncConnection, book_id: str, edition: int, counts: Counts) -> None:
    """Save the counts of an edition that has none yet."""
    values = {"book_id": book_id, "edition": edition, "counts": pack_counts(counts)}
    await connection.execute(insert(edition_words), values)


async def read_counts(connection: AsyncConnection, book_id: str, edition: int) -> Counter[int]:
    """Read the counts of an edition; none where an earlier version began it."""
    query = select(edition_words.c.counts).where(_match(book_id, edition))
    packed = await connection.scalar(query)
    return unpack_counts(packed) if packed else Counter()


async def delete_counts(connection: AsyncConnection, book_id: str, edition: int) -> None:
    await connection.execute(delete(edition_words).where(_match(book_id, edition)))


async def change_totals(connection: AsyncConnection, *, added: Counts, removed: Counts) -> None:
    """Add counts to those of the library and subtract others, in one go."""
    difference = Counter(added)
    difference.subtract(removed)
    changes = [{"of_word": word, "change": change} for word, change in sorted(difference.items()) if change]
    more = [each for each in changes if each["change"] > 0]
    fewer = [each for each in changes if each["change"] < 0]
    for start in range(0, len(more), BATCH):
        await connection.execute(_ADD, more[start : start + BATCH])
    for start in range(0, len(fewer), BATCH):
        some = fewer[start : start + BATCH]
        await connection.execute(_SUBTRACT, some)
        await connection.execute(_DROP, [{"of_word": each["of_word"]} for each in some])


async def list_uncounted(connection: AsyncConnection) -> list[tuple[str, int]]:
    """List the books that an earlier version published without counts, as id and edition."""
    return [(row.id, row.edition) for row in await connection.execute(_UNCOUNTED)]


async def clear_counts(connection: AsyncConnection) -> None:
    """Forget all counts of what readers see."""
    ready = select(books.c.id).where(_READY).exists()
    await connection.execute(delete(edition_words).where(ready))
    await connection.execute(delete(words))


async def find_wrong_counts(connection: AsyncConnection) -> int:
    """Count the words whose total is not the sum over the ready editions; -1 if a count is damaged."""
    expected: Counter[int] = Counter()
    for packed in await connection.scalars(select(edition_words.c.counts).join(books, _READY)):
        try:
            expected.update(unpack_counts(packed))
        except RecordsError:
            return -1
    found = {row.word: row.passages for row in await connection.execute(select(words))}
    return sum(expected[word] != found.get(word, 0) for word in expected.keys() | found.keys())


def _match(book_id: str, edition: int) -> ColumnElement[bool]:
    return and_(edition_words.c.book_id == book_id, edition_words.c.edition == edition)
