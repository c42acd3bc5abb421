"""Find what was deleted from the conversations behind Octavo's back.

A question that was answered has an answer, unless it says that this was deleted with its book. A session
knows how many questions it has. A question without a session that was deleted with its answer leaves no
trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import exists, func, select

from octavo.records.tables import answers, questions, sessions
from octavo.validation import AnswerState, QuestionStatus

if TYPE_CHECKING:
    from octavo.records.database import Database

DELETED_WITH_BOOK = "the answer was deleted with its book"
_ENDED = (str(QuestionStatus.COMPLETED), str(QuestionStatus.INSUFFICIENT_DATA))
_GIVEN = exists().where(
    answers.c.question_id == questions.c.id, answers.c.state == str(AnswerState.PUBLISHED)
)
_UNANSWERED = (
    select(questions.c.id)
    .where(questions.c.status.in_(_ENDED), questions.c.error.is_(None), ~_GIVEN)
    .order_by(questions.c.number)
)
_COUNTED = select(func.count()).where(questions.c.session_id == sessions.c.session_id).scalar_subquery()
_MISCOUNTED = select(sessions.c.session_id).where(sessions.c.query_count != _COUNTED)


async def list_lost_answers(database: Database) -> list[tuple[str, str]]:
    """List what is gone, by the id of the question or of the session, with a sentence that says it."""
    async with database.connect() as connection:
        unanswered = list(await connection.scalars(_UNANSWERED))
        miscounted = list(await connection.scalars(_MISCOUNTED))
    found = [(id_, "the answer to this question is gone") for id_ in unanswered]
    return found + [(id_, "this conversation has not as many questions as were asked") for id_ in miscounted]
