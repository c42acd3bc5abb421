"""Delete what belongs to a book besides its editions, when it is removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.records.covers import delete_cover
from octavo.records.gaps import delete_gaps_of
from octavo.records.notes import delete_notes_of
from octavo.records.sources import delete_sources_of
from octavo.records.tags import delete_tags_of

if TYPE_CHECKING:
    from octavo.records.database import Database


async def delete_belongings(database: Database, book_id: str) -> None:
    """Delete the gaps, the notes, the cover, the sources and the tags of a book."""
    await delete_gaps_of(database, book_id)
    await delete_notes_of(database, book_id)
    await delete_cover(database, book_id)
    await delete_sources_of(database, book_id)
    await delete_tags_of(database, book_id)
