"""Delete what belongs to a book besides its editions, so that a new book of its id inherits nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, select

from octavo.records.covers import delete_cover
from octavo.records.gaps import delete_gaps_of
from octavo.records.idempotency import delete_responses
from octavo.records.notes import delete_notes_of
from octavo.records.sources import delete_sources_of
from octavo.records.tables import answers, feedback
from octavo.records.tags import delete_tags_of

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection


async def delete_belongings(connection: AsyncConnection, book_id: str) -> None:
    """Delete the gaps, the notes, the cover, the sources and the tags of a book."""
    await delete_gaps_of(connection, book_id)
    await delete_notes_of(connection, book_id)
    await delete_cover(connection, book_id)
    await delete_sources_of(connection, book_id)
    await delete_tags_of(connection, book_id)


async def delete_answers_from(connection: AsyncConnection, book_id: str) -> None:
    """Delete the answers that show passages of a book, with their ratings.

    The questions stay. An answer is made of the book's words, so nothing of it can be kept.
    """
    shown = select(
        answers.c.id, answers.c.question_id, answers.c.evidence, answers.c.refusal, answers.c.receipt
    )
    for row in (await connection.execute(shown)).all():
        passages = [item["chunk"] for item in (*row.evidence, *((row.refusal or {}).get("nearest", ())))]
        if any(item["book_id"] == book_id for item in (*passages, *row.receipt.get("catalogue", ()))):
            await connection.execute(delete(feedback).where(feedback.c.answer_id == row.id))
            await connection.execute(delete(answers).where(answers.c.id == row.id))
            await delete_responses(connection, [row.question_id])
