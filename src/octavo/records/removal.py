"""Delete what belongs to a book besides its editions, so that a new book of its id inherits nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Text, bindparam, cast, delete, func, or_, select, update

from octavo.records.covers import delete_cover
from octavo.records.gaps import delete_gaps_of
from octavo.records.idempotency import delete_responses
from octavo.records.lost_answers import DELETED_WITH_BOOK
from octavo.records.notes import delete_notes_of
from octavo.records.sources import delete_sources_of
from octavo.records.tables import answers, feedback, questions
from octavo.records.tags import delete_tags_of

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from octavo.records.rows import Row

BATCH = 100
"""How many answers are read at once."""


def _mention(column: ColumnElement[Any]) -> ColumnElement[bool]:
    stored = cast(column, Text)
    names = (bindparam(name, type_=Text) for name in ("plain", "escaped"))
    return or_(*(func.length(func.replace(stored, name, "")) < func.length(stored) for name in names))


# The database leaves out the answers that do not have the id anywhere: those need not be parsed.
_MENTIONING = (
    select(answers.c.id, answers.c.question_id, answers.c.evidence, answers.c.refusal, answers.c.receipt)
    .where(answers.c.id > bindparam("last"))
    .where(or_(*map(_mention, (answers.c.evidence, answers.c.refusal, answers.c.receipt))))
    .order_by(answers.c.id)
    .limit(BATCH)
)


async def delete_belongings(connection: AsyncConnection, book_id: str) -> None:
    """Delete the gaps, the notes, the cover, the sources and the tags of a book."""
    await delete_gaps_of(connection, book_id)
    await delete_notes_of(connection, book_id)
    await delete_cover(connection, book_id)
    await delete_sources_of(connection, book_id)
    await delete_tags_of(connection, book_id)


async def delete_answers_from(connection: AsyncConnection, book_id: str) -> None:
    """Delete the answers that show passages of a book, with their ratings.

    The questions stay, and say so. An answer is made of the book's words, so nothing of it can be kept.
    """
    last = ""
    while found := (await connection.execute(_MENTIONING, _match(book_id) | {"last": last})).all():
        last = found[-1].id
        wanted = [row for row in found if _shows(row, book_id)]
        gone = [row.id for row in wanted]
        if gone:
            await connection.execute(delete(feedback).where(feedback.c.answer_id.in_(gone)))
            await connection.execute(delete(answers).where(answers.c.id.in_(gone)))
            asked = questions.c.id.in_([row.question_id for row in wanted])
            await connection.execute(update(questions).where(asked).values(error=DELETED_WITH_BOOK))
            await delete_responses(connection, [row.question_id for row in wanted])


def _match(book_id: str) -> dict[str, str]:
    """Build what is looked for in stored JSON: the id as it is, and as JSON may write it."""
    return {"plain": book_id, "escaped": json.dumps(book_id)[1:-1]}


def _shows(row: Row, book_id: str) -> bool:
    passages = [item["chunk"] for item in (*row.evidence, *((row.refusal or {}).get("nearest", ())))]
    return any(item["book_id"] == book_id for item in (*passages, *row.receipt.get("catalogue", ())))
