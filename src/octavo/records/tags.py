"""The tags of books: the words by which a reader gathers books into collections.

A tag belongs to the book and not to an edition, and is deleted with the book. It is stored in lower case, so
that `Sea` and `sea` are one collection.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select

from octavo import validation
from octavo.errors import InvalidValue
from octavo.records.tables import tags
from octavo.text.clean import clean, collapse

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from octavo.records.database import Database

TAG_MOST = 50
"""How many characters a tag has at most."""
TAGS_MOST = 50
"""How many tags a book has at most."""


def normalise_tag(tag: str) -> str:
    """Return a tag as it is stored. Raises for one that is empty or too long."""
    word = collapse(clean(tag)).casefold()
    validation.check_text("tag", word, most=TAG_MOST)
    return word


async def list_tags(database: Database) -> dict[str, tuple[str, ...]]:
    """List the tags of each book that has some, in alphabetical order."""
    async with database.connect() as connection:
        rows = (await connection.execute(select(tags))).all()
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row.book_id, []).append(row.tag)
    return {book_id: tuple(sorted(words)) for book_id, words in found.items()}


async def change_tags(
    database: Database, book_id: str, *, add: Sequence[str], remove: Sequence[str]
) -> tuple[str, ...]:
    """Add tags to a book and take others away; return those that it has then."""
    added, removed = ({normalise_tag(tag) for tag in each} for each in (add, remove))
    of_book = tags.c.book_id == book_id
    # Two who tag the same book at once take turns.
    async with database.begin(f"tags of {book_id}") as connection:
        before = set(await connection.scalars(select(tags.c.tag).where(of_book)))
        after = (before - removed) | added
        fits = len(after) <= TAGS_MOST
        if fits and (gone := before - after):
            await connection.execute(delete(tags).where(of_book, tags.c.tag.in_(gone)))
        if fits and (new := sorted(after - before)):
            await connection.execute(insert(tags), [{"book_id": book_id, "tag": tag} for tag in new])
    if not fits:
        raise InvalidValue("tags", f"must be at most {TAGS_MOST} for one book", str(len(after)))
    return tuple(sorted(after))


async def delete_tags_of(connection: AsyncConnection, book_id: str) -> None:
    """Delete the tags of a book that was removed."""
    await connection.execute(delete(tags).where(tags.c.book_id == book_id))
