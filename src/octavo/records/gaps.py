"""The gap log: questions that readers asked and got no good answer to, for the author of the book.

A question is listed when it was refused, when its answer had little confidence, or when a reader rated the
answer down. The log has no words of its own: the question stays with its conversation, and leaves the log
when that is deleted. Who asked is not part of it. A question that was refused because its answer lies outside
the scope is not listed: the book does answer it. A question and the copies of it, with which conversations go
on from its answer, count as one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

from sqlalchemy import delete, func, insert, select

from octavo.records.tables import answers, feedback, gaps, questions
from octavo.types import RefusalReason

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection
    from sqlalchemy.ext.asyncio import AsyncConnection

    from octavo.records.database import Database
    from octavo.types import Answer, Question

GapKind = Literal["refused", "unsure", "disliked"]
KINDS: tuple[GapKind, ...] = get_args(GapKind)
UNSURE = 0.5
"""An answer with less confidence is more likely wrong than right."""
NEAREST = 5
"""How many sections are kept with a question."""
MOST = 2_000
"""How many questions a report is made of, the newest ones."""
_ASKED = func.coalesce(questions.c.copy_of, questions.c.id)
"""The question that was asked: the same for it and for its copies."""
_NO_GAP = (RefusalReason.NOT_IN_SCOPE, RefusalReason.EMPTY_LIBRARY)


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question without a good answer. `sections` are the ids of the nearest ones, the best first."""

    content: str
    kind: GapKind
    confidence: float
    sections: tuple[str, ...]
    asked_at: datetime


def save_gap(connection: Connection, question: Question, answer: Answer) -> None:
    """Lists a question if it was refused, or answered with little confidence."""
    refused = answer.refusal is not None
    if refused and answer.refusal and answer.refusal.reason in _NO_GAP:
        return
    if refused or answer.confidence < UNSURE:
        found = [(item.chunk.book_id, item.chunk.section_id) for item in answer.evidence]
        values = _build_row(found, question.book_id, kind="refused" if refused else "unsure")
        values |= {"question_id": question.id, "confidence": answer.confidence}
        connection.execute(insert(gaps), values | {"timestamp": question.timestamp})


async def save_rating(connection: AsyncConnection, answer_id: str) -> None:
    """Lists the question of an answer that has been rated down, and takes off one that no longer is."""
    query = select(answers.c.question_id, answers.c.confidence, answers.c.evidence).where(
        answers.c.id == answer_id
    )
    answer = (await connection.execute(query)).one()
    down = select(func.count()).where(feedback.c.answer_id == answer_id, feedback.c.vote == "down")
    listed = select(gaps.c.kind).where(gaps.c.question_id == answer.question_id)
    kind, is_disliked = await connection.scalar(listed), bool(await connection.scalar(down))
    if kind is None and is_disliked:
        asked = (
            await connection.execute(select(questions).where(questions.c.id == answer.question_id))
        ).one()
        found = [(item["chunk"]["book_id"], item["chunk"]["section_id"]) for item in answer.evidence]
        values = _build_row(found, asked.book_id, kind="disliked")
        values |= {"question_id": asked.id, "confidence": answer.confidence, "timestamp": asked.timestamp}
        await connection.execute(insert(gaps), values)
    elif kind == "disliked" and not is_disliked:
        await connection.execute(delete(gaps).where(gaps.c.question_id == answer.question_id))


def _build_row(found: list[tuple[str, str]], book_id: str | None, *, kind: GapKind) -> dict[str, Any]:
    """Builds a row for the book that was asked, or else for the one whose passage came nearest."""
    chosen = book_id or (found[0][0] if found else "")
    sections = list(dict.fromkeys(section for book, section in found if book == chosen))
    return {"book_id": chosen, "kind": kind, "sections": sections[:NEAREST]}


async def delete_gaps(connection: AsyncConnection, condition: ColumnElement[bool]) -> None:
    await connection.execute(delete(gaps).where(condition))


async def delete_old_gaps(database: Database, *, before: datetime) -> None:
    """Deletes what was asked before a time. The conversations stay."""
    async with database.connect() as connection:
        if await connection.scalar(select(gaps.c.kind).where(gaps.c.timestamp < before).limit(1)) is None:
            return
    async with database.begin() as connection:
        await delete_gaps(connection, gaps.c.timestamp < before)


async def delete_gaps_of(connection: AsyncConnection, book_id: str) -> None:
    await delete_gaps(connection, gaps.c.book_id == book_id)


async def list_gaps(database: Database, book_id: str, *, since: datetime) -> list[OpenQuestion]:
    """Lists the questions of a book since a time, the newest first, at most `MOST`."""
    columns = (questions.c.interpreted, gaps.c.kind, gaps.c.confidence, gaps.c.sections, gaps.c.timestamp)
    listed = gaps.join(questions, gaps.c.question_id == questions.c.id)
    wanted = (gaps.c.book_id == book_id, gaps.c.timestamp >= since)
    first = select(func.min(questions.c.number)).select_from(listed).where(*wanted).group_by(_ASKED)
    query = select(*columns).select_from(listed).where(questions.c.number.in_(first))
    async with database.connect() as connection:
        newest = query.order_by(gaps.c.timestamp.desc(), questions.c.number).limit(MOST)
        return [
            OpenQuestion(row.interpreted, row.kind, row.confidence, tuple(row.sections), row.timestamp)
            for row in await connection.execute(newest)
        ]


async def count_questions(database: Database, book_id: str, *, since: datetime) -> int:
    """Counts the questions that were asked of a book since a time, answered or not."""
    query = select(func.count(_ASKED.distinct())).where(
        questions.c.book_id == book_id, questions.c.timestamp >= since
    )
    async with database.connect() as connection:
        return await connection.scalar(query) or 0
