"""What was asked and what was answered: sessions, questions and answers, each change durable when it returns.

A question goes through its states one at a time, and so does its answer; a step that the state machines do
not have raises. An answer is published together with the end of its question, in one transaction, so no
reader ever sees one without the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import uuid4

from sqlalchemy import ColumnElement, func, insert, or_, select, true, update
from sqlalchemy.ext.asyncio import AsyncConnection

from octavo import journal_rows as rows
from octavo.conversation import Answer, Question, Session
from octavo.errors import NotFound
from octavo.records_database import Database
from octavo.schema_asking import answers, questions, sessions
from octavo.states import AnswerState, QuestionStatus, advance

_ANSWERED = answers.join(questions, answers.c.question_id == questions.c.id)
_PUBLISHED = answers.c.state == str(AnswerState.PUBLISHED)


@dataclass(frozen=True, slots=True)
class Entry:
    """A question with the answer it got, if it has one yet."""

    question: Question
    interpreted: str
    answer: Answer | None
    receipt: Mapping[str, object]
    error: str | None = None


class Journal:
    """The conversations of one library."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def start_session(self, session_id: str | None = None) -> Session:
        """A new session, or the one that has this id, which is open again if it had ended."""
        async with self._database.writing() as connection:
            found = None if session_id is None else await self._session(connection, session_id)
            if found is not None:
                again = update(sessions).where(sessions.c.session_id == session_id).values(end_time=None)
                await connection.execute(again)
                return replace(found, end_time=None)
            started = Session(session_id=session_id or str(uuid4()), start_time=datetime.now(UTC))
            values = {"session_id": started.session_id, "start_time": started.start_time, "query_count": 0}
            await connection.execute(insert(sessions), values)
            return started

    async def end_session(self, session_id: str) -> Session:
        async with self._database.writing() as connection:
            found = await self._session(connection, session_id)
            if found is None:
                raise NotFound("session", session_id, hint="`octavo sessions` lists them.")
            ended = replace(found, end_time=found.end_time or datetime.now(UTC))
            changed = update(sessions).where(sessions.c.session_id == session_id)
            await connection.execute(changed.values(end_time=ended.end_time))
        return ended

    async def session(self, session_id: str) -> Session:
        """With everything that was asked and answered in it."""
        async with self._database.reading() as connection:
            found = await self._session(connection, session_id)
        if found is None:
            raise NotFound("session", session_id, hint="`octavo sessions` lists them.")
        said = await self.entries(session_id)
        return replace(
            found,
            query_count=max(found.query_count, len(said)),
            questions=tuple(entry.question for entry in said),
            answers=tuple(entry.answer for entry in said if entry.answer is not None),
            messages=tuple(
                message for entry in said for message in rows.messages(entry.question, entry.answer)
            ),
        )

    async def sessions(self) -> list[Session]:
        """The newest first."""
        async with self._database.reading() as connection:
            query = select(sessions).order_by(sessions.c.start_time.desc())
            return [_session_of(row) for row in await connection.execute(query)]

    async def receive(self, question: Question, *, interpreted: str) -> None:
        """Records a pending question, and counts it in its session."""
        async with self._database.writing() as connection:
            number = (await connection.scalar(select(func.max(questions.c.number))) or 0) + 1
            values = rows.question_values(question, interpreted=interpreted) | {"number": number}
            await connection.execute(insert(questions), values)
            if question.session_id is not None:
                counted = update(sessions).where(sessions.c.session_id == question.session_id)
                await connection.execute(counted.values(query_count=sessions.c.query_count + 1))

    async def begin(self, question: Question) -> Question:
        moved = question.to(QuestionStatus.PROCESSING)
        async with self._database.writing() as connection:
            advance(await self._status(connection, question), moved.status)
            changed = update(questions).where(questions.c.id == question.id)
            await connection.execute(changed.values(status=str(moved.status)))
        return moved

    async def fail(self, question: Question, reason: str) -> None:
        """The question ends in `error`, with its reason, however far it had come; if it has ended, raises."""
        async with self._database.writing() as connection:
            current = await self._status(connection, question)
            if current is QuestionStatus.PENDING:
                current = advance(current, QuestionStatus.PROCESSING)
            values = {"status": str(advance(current, QuestionStatus.ERROR)), "error": reason}
            await connection.execute(update(questions).where(questions.c.id == question.id).values(values))

    async def abandon(self) -> None:
        """Ends in `error` what an earlier process was working on when it died."""
        alive = [str(QuestionStatus.PENDING), str(QuestionStatus.PROCESSING)]
        async with self._database.reading() as connection:
            if await connection.scalar(select(questions.c.id).where(questions.c.status.in_(alive))) is None:
                return
        async with self._database.writing() as connection:
            left = update(questions).where(questions.c.status.in_(alive))
            reason = "the process that worked on it ended"
            await connection.execute(left.values(status=str(QuestionStatus.ERROR), error=reason))

    async def draft(self, answer: Answer, *, receipt: Mapping[str, object]) -> None:
        async with self._database.writing() as connection:
            await connection.execute(insert(answers), rows.answer_values(answer, receipt=receipt))

    async def validated(self, answer: Answer) -> Answer:
        moved = answer.to(AnswerState.VALIDATED)
        async with self._database.writing() as connection:
            await self._answer_to(connection, moved)
        return moved

    async def publish(
        self, question: Question, answer: Answer, *, receipt: Mapping[str, object]
    ) -> tuple[Question, Answer]:
        """The answer is published and the question ends, in one step."""
        answered = answer.refusal is None
        status = QuestionStatus.COMPLETED if answered else QuestionStatus.INSUFFICIENT_DATA
        done, shown = question.to(status), answer.to(AnswerState.PUBLISHED)
        async with self._database.writing() as connection:
            advance(await self._status(connection, question), status)
            await self._answer_to(connection, shown, receipt=dict(receipt))
            ended = update(questions).where(questions.c.id == done.id)
            await connection.execute(ended.values(status=str(done.status)))
        return done, shown

    async def entry(self, answer_id: str) -> Entry:
        """An answer with its question, by the id of either."""
        async with self._database.reading() as connection:
            of_answer = select(answers.c.question_id).where(answers.c.id == answer_id)
            question_id = await connection.scalar(of_answer) or answer_id
            found = await self._entries(connection, questions.c.id == question_id)
        if not found:
            raise _no_answer(answer_id)
        return found[0]

    async def entries(self, session_id: str | None = None) -> list[Entry]:
        """In the order in which they were asked: all, or those of one session. Drafts are nobody's to see."""
        async with self._database.reading() as connection:
            condition = true() if session_id is None else questions.c.session_id == session_id
            return await self._entries(connection, condition)

    async def turns(self, session_id: str, *, most: int) -> list[tuple[str, str]]:
        """The last questions of a session as they were understood, with the answers; "" for a refusal."""
        query = select(questions.c.interpreted, answers.c.content, answers.c.refusal).select_from(_ANSWERED)
        latest = query.where(questions.c.session_id == session_id, _PUBLISHED)
        async with self._database.reading() as connection:
            found = await connection.execute(latest.order_by(questions.c.number.desc()).limit(most))
            turns = [(row.interpreted, "" if row.refusal else row.content) for row in found]
        return turns[::-1]

    async def kept(self, answer_id: str | None = None) -> list[rows.Kept]:
        """What is stored of the answers, as it is stored, to be checked: of one answer, or of all."""
        query = select(answers).select_from(_ANSWERED).where(_PUBLISHED).order_by(questions.c.number)
        if answer_id is not None:
            query = query.where(or_(answers.c.id == answer_id, questions.c.id == answer_id))
        async with self._database.reading() as connection:
            found = [rows.kept_of(row) for row in await connection.execute(query)]
        if answer_id is not None and not found:
            raise _no_answer(answer_id)
        return found

    async def _entries(self, connection: AsyncConnection, condition: ColumnElement[bool]) -> list[Entry]:
        asked = await connection.execute(select(questions).where(condition).order_by(questions.c.number))
        published = select(answers).select_from(_ANSWERED).where(condition, _PUBLISHED)
        given = await connection.execute(published)
        by_question = {row.question_id: row for row in given}
        return [_entry(row, by_question.get(row.id)) for row in asked]

    async def _session(self, connection: AsyncConnection, session_id: str) -> Session | None:
        query = select(sessions).where(sessions.c.session_id == session_id)
        row = (await connection.execute(query)).one_or_none()
        return None if row is None else _session_of(row)

    async def _status(self, connection: AsyncConnection, question: Question) -> QuestionStatus:
        """As it is stored: a cancelled step may have come through."""
        stored = await connection.scalar(select(questions.c.status).where(questions.c.id == question.id))
        return QuestionStatus(stored or question.status)

    async def _answer_to(self, connection: AsyncConnection, answer: Answer, **more: object) -> None:
        current = await connection.scalar(select(answers.c.state).where(answers.c.id == answer.id))
        advance(AnswerState(current or AnswerState.DRAFT), answer.state)
        values = {
            "state": str(answer.state),
            "trace": rows.trace_json(answer.trace),
            "processing_time_ms": answer.processing_time_ms,
        }
        await connection.execute(update(answers).where(answers.c.id == answer.id).values(values | more))


def _no_answer(id_: str) -> NotFound:
    return NotFound("answer", id_, hint="`octavo sessions` lists what was asked.")


def _entry(asked: object, given: object | None) -> Entry:
    question = rows.question_of(asked)
    interpreted, error = asked.interpreted, asked.error  # type: ignore[attr-defined]
    if given is None:
        return Entry(question, interpreted, None, {}, error)
    return Entry(question, interpreted, rows.answer_of(given), given.receipt, error)  # type: ignore[attr-defined]


def _session_of(row: object) -> Session:
    values = {name: getattr(row, name) for name in ("session_id", "start_time", "end_time", "query_count")}
    return Session(**values)
