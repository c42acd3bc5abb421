"""The markup of the sections and the pictures of the books, as the page draws them.

The lines of a PDF's section, which say where it is printed, are stored with its markup.

Both belong to an edition and go with it. A picture is stored once, under the SHA-256 of its bytes, for every
edition that shows it. Nothing but the page needs them: a section whose markup is missing or damaged is shown
as text, and a picture that is not what its name says is not shown. A book whose markup or pictures are
missing or damaged gets them when the same file is added again, and what was marked in its texts for the map
is marked anew.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import and_, delete, insert, select, text

from octavo.concurrency import run_blocking
from octavo.errors import InvalidValue, NotFound
from octavo.records.digests import save_looks_digest
from octavo.records.tables import books, edition_images, editions, images, markup, sections, text_marks
from octavo.types import PrintedLine
from octavo.types.books import check_lines
from octavo.types.markup import check_nesting, decode_markup, encode_markup

if TYPE_CHECKING:
    from sqlalchemy import Column
    from sqlalchemy.ext.asyncio import AsyncConnection

    from octavo.records.database import Database
    from octavo.types import Element, Section

T = TypeVar("T")
BATCH = 128
Packed = dict[str, tuple[bytes, bytes | None]]
"""From the id of a section to its markup and its lines."""

_ADD_IMAGE = text(
    "INSERT INTO images (hash, data) VALUES (:hash, :data) "
    "ON CONFLICT (hash) DO UPDATE SET data = excluded.data WHERE images.data <> excluded.data"
)
_OF_READY = and_(markup.c.book_id == books.c.id, markup.c.edition == books.c.edition)
_FIND_IMAGE = (
    select(images.c.data)
    .join(edition_images, edition_images.c.hash == images.c.hash)
    .join(books, and_(edition_images.c.book_id == books.c.id, edition_images.c.edition == books.c.edition))
)


async def insert_markup(
    connection: AsyncConnection,
    book_id: str,
    edition: int,
    sections: Sequence[Section],
    pictures: Mapping[str, bytes],
) -> None:
    """Write the markup of an edition and its pictures, in the transaction that writes its sections."""
    packed = await run_blocking(_pack_all, sections)
    await _insert_packed(connection, book_id, edition, packed, pictures)


async def save_markup(
    database: Database, book_id: str, given: Sequence[Section], pictures: Mapping[str, bytes]
) -> bool:
    """Replace the markup of the edition that readers see, if it is another; return whether it was.

    A file of another name may give the sections other ids. Then nothing is replaced.
    """
    packed = await run_blocking(_pack_all, given)
    async with database.begin() as connection:
        edition = await connection.scalar(select(books.c.edition).where(books.c.id == book_id))
        if edition is None:
            return False
        of_edition = (sections.c.book_id == book_id, sections.c.edition == edition)
        if not packed.keys() <= set(await connection.scalars(select(sections.c.id).where(*of_edition))):
            return False
        here = (markup.c.book_id == book_id, markup.c.edition == edition)
        stored = await connection.execute(select(markup).where(*here))
        shown = select(images).join(edition_images, edition_images.c.hash == images.c.hash)
        shown = shown.where(edition_images.c.book_id == book_id, edition_images.c.edition == edition)
        known = {row.hash: bytes(row.data) for row in await connection.execute(shown)}
        same = {row.section_id: (row.markup, row.lines) for row in stored} == packed
        of_book = (editions.c.book_id == book_id, editions.c.edition == edition)
        is_sealed = await connection.scalar(select(editions.c.looks_digest).where(*of_book)) is not None
        if same and known == pictures and is_sealed:
            return False
        await delete_markup(connection, book_id, edition)
        await _insert_packed(connection, book_id, edition, packed, pictures)
        await save_looks_digest(connection, book_id, edition)
        # The map's sentences follow the markup.
        marked = select(sections.c.text_hash).where(*of_edition)
        await connection.execute(delete(text_marks).where(text_marks.c.hash.in_(marked)))
        return True


async def delete_markup(connection: AsyncConnection, book_id: str, edition: int) -> None:
    """Delete the markup of an edition. Pictures that no other edition shows are swept later."""
    for table in (markup, edition_images):
        await connection.execute(delete(table).where(table.c.book_id == book_id, table.c.edition == edition))


async def find_markup(database: Database, section: Section) -> tuple[Element, ...]:
    """Find the markup of a section of the edition that readers see; () where there is none that fits."""
    return _decode(await _read_packed(database, markup.c.markup, section), len(section.text))


async def list_markup(database: Database, of: Sequence[Section]) -> dict[str, tuple[Element, ...]]:
    """Find the markup of sections of one book that have none with them, as `find_markup` does."""
    wanted = {section.id: len(section.text) for section in of if not section.markup}
    found: dict[str, tuple[Element, ...]] = {}
    for some in _split(list(wanted)):
        query = (
            select(markup.c.section_id, markup.c.markup)
            .join(books, _OF_READY)
            .where(markup.c.book_id == of[0].book_id, markup.c.section_id.in_(some))
        )
        async with database.connect() as connection:
            rows = [(row.section_id, row.markup) for row in await connection.execute(query)]
        found |= await run_blocking(_decode_all, rows, wanted)
    return found


def _decode_all(
    rows: Iterable[tuple[str, bytes]], lengths: Mapping[str, int]
) -> dict[str, tuple[Element, ...]]:
    return {section_id: _decode(stored, lengths[section_id]) for section_id, stored in rows}


def _decode(stored: bytes | None, length: int) -> tuple[Element, ...]:
    """Return markup that fits a text of this length; () for none, and for damage."""
    try:
        found = decode_markup(_unpack(stored))
        check_nesting("markup", found, length)
    except (zlib.error, ValueError, InvalidValue):
        return ()
    return found


async def find_lines(database: Database, section: Section) -> tuple[PrintedLine, ...]:
    """Find where a section of the edition that readers see is printed; () where that is not known."""
    stored = await _read_packed(database, markup.c.lines, section)
    try:
        found = tuple(PrintedLine(*line) for line in _unpack(stored))
        check_lines("lines", found, len(section.text))
    except (zlib.error, ValueError, TypeError, InvalidValue):
        return ()
    return found


async def _read_packed(database: Database, column: Column[bytes], section: Section) -> bytes | None:
    """Read what a column has of a section of the edition that readers see."""
    query = (
        select(column)
        .join(books, _OF_READY)
        .where(markup.c.book_id == section.book_id, markup.c.section_id == section.id)
    )
    async with database.connect() as connection:
        return await connection.scalar(query)


def _unpack(stored: bytes | None) -> list[Any]:
    return [] if stored is None else list(json.loads(zlib.decompress(stored)))


async def read_image(database: Database, book_id: str, name: str) -> bytes:
    """Read a picture by its name, if the edition of the book that readers see shows it.

    Raises `RecordsError` for one that is not what its name says.
    """
    query = _FIND_IMAGE.where(images.c.hash == name, books.c.id == book_id)
    async with database.connect() as connection:
        data = await connection.scalar(query)
        if data is None:
            raise NotFound("image", name)
        if (await run_blocking(sha256, data)).hexdigest() != name:
            raise ValueError(f"the picture {name} of {book_id!r} is not what was stored")
    return bytes(data)


async def read_images(database: Database, book_id: str) -> dict[str, bytes]:
    """Read all pictures that the edition of the book that readers see shows, by their names."""
    query = _FIND_IMAGE.add_columns(images.c.hash).where(books.c.id == book_id)
    async with database.connect() as connection:
        return {row.hash: bytes(row.data) for row in await connection.execute(query)}


def _pack_all(sections: Iterable[Section]) -> Packed:
    return {
        section.id: (_pack(encode_markup(section.markup)), _pack(section.lines) if section.lines else None)
        for section in sections
        if section.markup or section.lines
    }


def _pack(rows: object) -> bytes:
    return zlib.compress(json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode(), 6)


async def _insert_packed(
    connection: AsyncConnection,
    book_id: str,
    edition: int,
    packed: Packed,
    pictures: Mapping[str, bytes],
) -> None:
    of_edition = {"book_id": book_id, "edition": edition}
    rows = [
        of_edition | {"section_id": id_, "markup": drawn, "lines": lines}
        for id_, (drawn, lines) in packed.items()
    ]
    for some in _split(rows):
        await connection.execute(insert(markup), some)
    # Sorted, because two instances that save the same pictures in different orders would deadlock.
    for name in sorted(pictures):
        await connection.execute(_ADD_IMAGE, {"hash": name, "data": pictures[name]})
    for some in _split([of_edition | {"hash": name} for name in sorted(pictures)]):
        await connection.execute(insert(edition_images), some)


def _split(rows: list[T]) -> Iterator[list[T]]:
    return (rows[start : start + BATCH] for start in range(0, len(rows), BATCH))
