"""What was asked and what was answered: sessions, questions and answers, each change durable when it returns.

A question goes through its states one at a time, and so does its answer; a step that the state machines do
not have raises. An answer is published together with the end of its question, in one transaction, so no
reader ever sees one without the other. Where nothing is done between its draft, its validation and its
publication, all three are in that transaction, and a kill leaves the whole answer or none. An answer is
stored as the reader got it, with its evidence, its citations and a receipt of how it was made, and comes out
equal.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sqlalchemy import (
    ColumnElement,
    Connection,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    text,
    true,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from octavo.errors import NotFound
from octavo.records.answer_rows import (
    ASKED_COLUMNS,
    STORED_COLUMNS,
    StoredAnswer,
    Values,
    build_answer,
    build_trace,
    checksum_answer,
    parse_answer,
    parse_stored_answer,
    seal_receipt,
)
from octavo.records.gaps import delete_gaps, save_gap, save_rating
from octavo.records.idempotency import delete_old_requests, delete_responses
from octavo.records.tables import Moment, answers, feedback, gaps, questions, sessions
from octavo.types import Answer, Message, Question, Scope, Session
from octavo.validation import AnswerState, Delivery, QuestionStatus, advance

if TYPE_CHECKING:
    from octavo.records.database import Database

ABANDONED_AFTER = timedelta(minutes=15)
"""After so long without an end, the process that worked on a question is taken for dead."""
ANSWERS_AT_ONCE = 100
"""How many answers one statement reads to be checked."""
_ANSWERED = answers.join(questions, answers.c.question_id == questions.c.id)
_OPEN_SESSION = text(
    "INSERT INTO sessions (session_id, start_time, query_count, owner)"
    " VALUES (:session_id, :start_time, 0, :owner) ON CONFLICT (session_id) DO NOTHING"
).bindparams(bindparam("start_time", type_=Moment))
_LAST_NUMBER = select(func.max(questions.c.number))
_PUBLISHED = answers.c.state == str(AnswerState.PUBLISHED)
_STORED_ANSWERS = (
    select(questions.c.number, *STORED_COLUMNS)
    .select_from(_ANSWERED)
    .where(_PUBLISHED)
    .order_by(questions.c.number)
)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question with the answer it got, if it has one yet."""

    question: Question
    interpreted: str
    answer: Answer | None
    receipt: Mapping[str, object]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Rating:
    """A reader's vote on an answer, `up` or `down`, and why."""

    answer_id: str
    vote: str
    reasons: tuple[str, ...] = ()
    comment: str = ""


class Conversations:
    """The sessions, questions, answers and ratings of one library."""

    def __init__(self, database: Database, *, log_gaps: bool = True) -> None:
        self._database, self._log_gaps = database, log_gaps

    async def start_session(self, session_id: str | None = None, *, owner: str = "") -> Session:
        """Starts a session, or opens the one that has this id again. Raises `NotFound` if it is another's."""
        async with self._database.begin() as connection:
            wanted = session_id or str(uuid4())
            values = {"session_id": wanted, "start_time": datetime.now(UTC), "owner": owner or None}
            # Another instance may be starting the same session.
            await connection.execute(_OPEN_SESSION, values)
            found = await self._require_session(connection, wanted, owner=owner)
            if found.end_time is not None:
                again = update(sessions).where(sessions.c.session_id == wanted).values(end_time=None)
                await connection.execute(again)
            return replace(found, end_time=None)

    async def continue_answer(self, answer_id: str, *, owner: str = "") -> Session:
        """Starts a session that begins with a copy of an answer and of its question."""
        exchange = await self.find_exchange(answer_id, owner=owner)
        if exchange.answer is None:
            raise _make_answer_error(answer_id)
        [stored] = await self.list_stored_answers(exchange.answer.id)
        session = await self.start_session(owner=owner)
        copied = _copy_answer(exchange.answer)
        # An answer that was changed afterwards stays one in its copy.
        is_sound = stored.receipt.get("seal") == checksum_answer(stored)
        async with self._database.begin("the numbers of questions") as connection:
            query = select(questions).where(questions.c.id == exchange.question.id)
            asked = (await connection.execute(query)).one()._asdict()
            number = (await connection.scalar(select(func.max(questions.c.number))) or 0) + 1
            asked |= {"copy_of": asked["copy_of"] or asked["id"], "number": number}
            asked |= {"id": copied.question_id, "session_id": session.session_id}
            await connection.execute(insert(questions), asked)
            values = build_answer(copied, receipt=stored.receipt)
            if is_sound:
                values["receipt"] = seal_receipt(values, asked)
            await connection.execute(insert(answers), values)
            counted = update(sessions).where(sessions.c.session_id == session.session_id)
            await connection.execute(counted.values(query_count=1))
        return await self.find_session(session.session_id, owner=owner)

    async def end_session(self, session_id: str, *, owner: str | None = None) -> Session:
        async with self._database.begin() as connection:
            found = await self._require_session(connection, session_id, owner=owner)
            ended = replace(found, end_time=found.end_time or datetime.now(UTC))
            changed = update(sessions).where(sessions.c.session_id == session_id)
            await connection.execute(changed.values(end_time=ended.end_time))
        return ended

    async def find_session(self, session_id: str, *, owner: str | None = None) -> Session:
        """Finds a session with everything that was asked and answered in it; with `owner`, only theirs."""
        async with self._database.connect() as connection:
            found = await self._require_session(connection, session_id, owner=owner)
        exchanges = await self.list_exchanges(session_id)
        return replace(
            found,
            query_count=max(found.query_count, len(exchanges)),
            questions=tuple(each.question for each in exchanges),
            answers=tuple(each.answer for each in exchanges if each.answer is not None),
            messages=tuple(m for each in exchanges for m in _build_messages(each.question, each.answer)),
        )

    async def check_owner(self, session_id: str, *, owner: str) -> None:
        """Raises `NotFound` unless there is such a session and it is theirs."""
        async with self._database.connect() as connection:
            await self._require_session(connection, session_id, owner=owner)

    async def rename_session(self, session_id: str, title: str, *, owner: str | None = None) -> Session:
        """Gives a session a title of its own; "" takes it away again."""
        async with self._database.begin() as connection:
            found = await self._require_session(connection, session_id, owner=owner)
            changed = update(sessions).where(sessions.c.session_id == session_id)
            await connection.execute(changed.values(title=title or None))
        return replace(found, title=title)

    async def list_sessions(
        self,
        *,
        owner: str | None = None,
        book_id: str | None = None,
        most: int | None = None,
        after: str | None = None,
    ) -> list[Session]:
        """Lists all sessions or those of one owner, the newest first, from the start or `after` one.

        With `book_id`, only those in which this book was asked.
        """
        query = select(sessions).order_by(sessions.c.start_time.desc(), sessions.c.session_id).limit(most)
        theirs = true() if owner is None else func.coalesce(sessions.c.owner, "") == owner
        query = query.where(theirs)
        if book_id is not None:
            asked = select(questions.c.session_id).where(questions.c.book_id == book_id)
            query = query.where(sessions.c.session_id.in_(asked))
        if after is not None:
            # A session of another owner counts as unknown.
            last = select(sessions.c.start_time).where(sessions.c.session_id == after, theirs)
            began = last.scalar_subquery()
            later = (sessions.c.start_time == began) & (sessions.c.session_id > after)
            query = query.where((sessions.c.start_time < began) | later)
        async with self._database.connect() as connection:
            return [_parse_session(row) for row in await connection.execute(query)]

    async def list_titles(self, session_ids: Sequence[str]) -> dict[str, str]:
        """Return the title of each session: its own, or its first question, by which a reader knows it."""
        named = select(sessions.c.session_id, sessions.c.title).where(
            sessions.c.session_id.in_(session_ids), sessions.c.title.is_not(None)
        )
        first = select(func.min(questions.c.number)).where(questions.c.session_id.in_(session_ids))
        query = select(questions.c.session_id, questions.c.content).where(
            questions.c.number.in_(first.group_by(questions.c.session_id))
        )
        async with self._database.connect() as connection:
            titles = {row.session_id: row.content for row in await connection.execute(query)}
            return titles | {row.session_id: row.title for row in await connection.execute(named)}

    async def receive(self, question: Question, *, interpreted: str) -> None:
        """Records a pending question, and counts it in its session."""

        def insert_question(connection: Connection) -> None:
            number = (connection.scalar(_LAST_NUMBER) or 0) + 1
            values = _build_question(question, interpreted=interpreted) | {"number": number}
            connection.execute(insert(questions), values)
            if question.session_id is not None:
                counted = update(sessions).where(sessions.c.session_id == question.session_id)
                connection.execute(counted.values(query_count=sessions.c.query_count + 1))

        await self._database.change(insert_question, turn="the numbers of questions")

    async def begin(self, question: Question, *, interpreted: str | None = None) -> Question:
        """Records that a question is being answered, and as what, where that has changed."""
        moved = question.to(QuestionStatus.PROCESSING)

        def step(connection: Connection) -> None:
            advance(_read_status(connection, question), moved.status)
            _write_status(connection, moved)
            if interpreted is not None:
                changed = update(questions).where(questions.c.id == question.id)
                connection.execute(changed.values(interpreted=interpreted))

        await self._database.change(step)
        return moved

    async def fail(self, question: Question, reason: str) -> None:
        """Ends a question in `error` with its reason. Raises if it has ended already."""

        def end(connection: Connection) -> None:
            current = _read_status(connection, question)
            if current is QuestionStatus.PENDING:
                current = advance(current, QuestionStatus.PROCESSING)
            values = {"status": str(advance(current, QuestionStatus.ERROR)), "error": reason}
            connection.execute(update(questions).where(questions.c.id == question.id).values(values))

        await self._database.change(end)

    async def fail_abandoned(self) -> None:
        """Ends the questions in `error` that an earlier process was working on when it died.

        Where other instances may be at work, it ends only those that are older than `ABANDONED_AFTER`.
        """
        alive = [str(QuestionStatus.PENDING), str(QuestionStatus.PROCESSING)]
        left: ColumnElement[bool] = questions.c.status.in_(alive)
        if self._database.is_shared:
            left &= questions.c.timestamp < datetime.now(UTC) - ABANDONED_AFTER
        async with self._database.connect() as connection:
            if await connection.scalar(select(questions.c.id).where(left).limit(1)) is None:
                return
        async with self._database.begin() as connection:
            values = {"status": str(QuestionStatus.ERROR), "error": "the process that worked on it ended"}
            await connection.execute(update(questions).where(left).values(values))

    async def save_draft(self, answer: Answer, *, receipt: Mapping[str, object]) -> None:
        await self._database.change(lambda connection: _insert_answer(connection, answer, receipt))

    async def mark_validated(self, answer: Answer) -> Answer:
        moved = answer.to(AnswerState.VALIDATED)
        await self._database.change(lambda connection: _advance_answer(connection, moved))
        return moved

    async def publish(
        self, question: Question, answer: Answer, *, receipt: Mapping[str, object]
    ) -> tuple[Question, Answer]:
        """Publishes the answer and ends the question, in one transaction."""
        done, shown = end_question(question, answer), answer.to(AnswerState.PUBLISHED)

        def record(connection: Connection) -> None:
            advance(_read_status(connection, question), done.status)
            self._publish(connection, done, shown, receipt)

        await self._database.change(record)
        return done, shown

    async def publish_draft(
        self, question: Question, draft: Answer, *, receipt: Mapping[str, object]
    ) -> tuple[Question, Answer]:
        """Saves a draft, marks it validated and publishes it, in one transaction.

        It is for an answer that has been checked already, with nothing left to do between these steps.
        """
        valid = draft.to(AnswerState.VALIDATED)
        done, shown = end_question(question, valid), valid.to(AnswerState.PUBLISHED)

        def record(connection: Connection) -> None:
            advance(_read_status(connection, question), done.status)
            _insert_answer(connection, draft, receipt)
            _advance_answer(connection, valid)
            self._publish(connection, done, shown, receipt)

        await self._database.change(record)
        return done, shown

    def _publish(
        self, connection: Connection, done: Question, shown: Answer, receipt: Mapping[str, object]
    ) -> None:
        asked = connection.execute(select(*ASKED_COLUMNS).where(questions.c.id == done.id)).one_or_none()
        # A reader may have deleted the conversation meanwhile.
        if asked is None:
            return
        sealed = seal_receipt(build_answer(shown, receipt=receipt), asked._asdict())
        _advance_answer(connection, shown, receipt=sealed)
        _write_status(connection, done)
        if self._log_gaps:
            save_gap(connection, done, shown)

    async def deliver(self, answer: Answer) -> Answer:
        """Records that a published answer was sent to its reader, and returns it with its whole trace."""
        if any(step is Delivery.DELIVERED for step, _ in answer.trace.steps):
            return answer
        sent = replace(answer, trace=answer.trace.reach(Delivery.DELIVERED, datetime.now(UTC)))
        changed = update(answers).where(answers.c.id == answer.id, _PUBLISHED)
        values = changed.values(trace=build_trace(sent.trace))
        await self._database.change(lambda connection: connection.execute(values).close())
        return sent

    async def delete_question(self, question_id: str) -> None:
        """Deletes a question with its answer and the ratings of that."""
        async with self._database.begin("the numbers of questions") as connection:
            await _delete_questions(connection, questions.c.id == question_id)

    async def delete_session(self, session_id: str, *, owner: str | None = None) -> None:
        """Deletes a session with everything that was asked and answered in it; with `owner`, only theirs."""
        async with self._database.begin("the numbers of questions") as connection:
            await self._require_session(connection, session_id, owner=owner)
            await _delete_questions(connection, questions.c.session_id == session_id)
            await connection.execute(delete(sessions).where(sessions.c.session_id == session_id))

    async def prune(self, *, before: datetime) -> int:
        """Deletes the questions that were asked before a time, and the sessions that are empty and as old.

        A session that goes on keeps its newer questions. Returns how many questions were deleted.
        """
        async with self._database.begin("the numbers of questions") as connection:
            count = await _delete_questions(connection, questions.c.timestamp < before)
            asked = select(questions.c.session_id).where(questions.c.session_id.is_not(None))
            empty = sessions.c.session_id.not_in(asked)
            await connection.execute(delete(sessions).where(empty, sessions.c.start_time < before))
            await delete_old_requests(connection, before=before)
        return count

    async def find_exchange(self, answer_id: str, *, owner: str | None = None) -> Exchange:
        """Finds an answer with its question, by the id of either; with `owner`, only if they asked."""
        async with self._database.connect() as connection:
            of_answer = select(answers.c.question_id).where(answers.c.id == answer_id)
            question_id = await connection.scalar(of_answer) or answer_id
            found = await self._list_exchanges(connection, questions.c.id == question_id)
        if not found or owner not in (None, found[0].question.user_id or ""):
            raise _make_answer_error(answer_id)
        return found[0]

    async def rate(self, rating: Rating, *, owner: str) -> None:
        """Saves a reader's rating of an answer in the place of an earlier one."""
        values = {f.name: getattr(rating, f.name) for f in fields(rating)} | {"owner": owner}
        values |= {"reasons": list(rating.reasons), "timestamp": datetime.now(UTC)}
        mine = (feedback.c.answer_id == rating.answer_id, feedback.c.owner == owner)
        async with self._database.begin() as connection:
            await connection.execute(
                select(answers.c.id).where(answers.c.id == rating.answer_id).with_for_update()
            )
            await connection.execute(delete(feedback).where(*mine))
            await connection.execute(insert(feedback), values)
            if self._log_gaps:
                await save_rating(connection, rating.answer_id)

    async def list_votes(self, session_id: str, *, owner: str) -> dict[str, str]:
        """Lists the votes of one reader in a session, by the ids of the answers."""
        query = select(feedback.c.answer_id, feedback.c.vote).select_from(
            feedback.join(_ANSWERED, feedback.c.answer_id == answers.c.id)
        )
        query = query.where(questions.c.session_id == session_id, feedback.c.owner == owner)
        async with self._database.connect() as connection:
            return {row.answer_id: row.vote for row in await connection.execute(query)}

    async def list_ratings(self, answer_id: str) -> list[Rating]:
        query = select(feedback).where(feedback.c.answer_id == answer_id).order_by(feedback.c.timestamp)
        async with self._database.connect() as connection:
            found = await connection.execute(query)
            return [Rating(row.answer_id, row.vote, tuple(row.reasons), row.comment) for row in found]

    async def list_exchanges(self, session_id: str | None = None) -> list[Exchange]:
        """Lists all questions, or those of one session, in the order asked, without drafts of answers."""
        async with self._database.connect() as connection:
            condition = true() if session_id is None else questions.c.session_id == session_id
            return await self._list_exchanges(connection, condition)

    async def list_turns(self, session_id: str, *, most: int) -> list[tuple[str, str]]:
        """Lists the last questions of a session as understood, with the answers; "" for a refusal."""
        query = select(questions.c.interpreted, answers.c.content, answers.c.refusal).select_from(_ANSWERED)
        latest = query.where(questions.c.session_id == session_id, _PUBLISHED)
        async with self._database.connect() as connection:
            found = await connection.execute(latest.order_by(questions.c.number.desc()).limit(most))
            turns = [(row.interpreted, "" if row.refusal else row.content) for row in found]
        return turns[::-1]

    async def list_stored_answers(self, answer_id: str | None = None) -> list[StoredAnswer]:
        """Lists one answer, or all, exactly as they are stored, to be checked."""
        if answer_id is None:
            return [stored async for some in self.read_stored_answers() for stored in some]
        query = _STORED_ANSWERS.where(or_(answers.c.id == answer_id, questions.c.id == answer_id))
        async with self._database.connect() as connection:
            found = [parse_stored_answer(row) for row in await connection.execute(query)]
        if not found:
            raise _make_answer_error(answer_id)
        return found

    async def read_stored_answers(self) -> AsyncIterator[list[StoredAnswer]]:
        """Yields all answers in batches, in the order asked, exactly as they are stored."""
        last = -1
        while True:
            query = _STORED_ANSWERS.where(questions.c.number > last).limit(ANSWERS_AT_ONCE)
            async with self._database.connect() as connection:
                rows = (await connection.execute(query)).all()
            if rows:
                yield [parse_stored_answer(row) for row in rows]
            if len(rows) < ANSWERS_AT_ONCE:
                return
            last = rows[-1].number

    async def _list_exchanges(
        self, connection: AsyncConnection, condition: ColumnElement[bool]
    ) -> list[Exchange]:
        asked = await connection.execute(select(questions).where(condition).order_by(questions.c.number))
        published = select(answers).select_from(_ANSWERED).where(condition, _PUBLISHED)
        given = await connection.execute(published)
        by_question = {row.question_id: row for row in given}
        return [_parse_exchange(row, by_question.get(row.id)) for row in asked]

    async def _require_session(
        self, connection: AsyncConnection, session_id: str, *, owner: str | None = None
    ) -> Session:
        """Finds a session. One of another owner raises `NotFound`, as one that does not exist."""
        query = select(sessions).where(sessions.c.session_id == session_id).with_for_update()
        row = (await connection.execute(query)).one_or_none()
        if row is None or owner not in (None, row.owner or ""):
            raise NotFound("session", session_id, hint="`octavo sessions` lists them.")
        return _parse_session(row)


def end_question(question: Question, answer: Answer) -> Question:
    """Return the question as it ends with this answer."""
    answered = answer.refusal is None
    return question.to(QuestionStatus.COMPLETED if answered else QuestionStatus.INSUFFICIENT_DATA)


def _read_status(connection: Connection, question: Question) -> QuestionStatus:
    """Reads the stored status: a cancelled step may have come through."""
    query = select(questions.c.status).where(questions.c.id == question.id).with_for_update()
    return QuestionStatus(connection.scalar(query) or question.status)


def _write_status(connection: Connection, question: Question) -> None:
    changed = update(questions).where(questions.c.id == question.id).values(status=str(question.status))
    connection.execute(changed)


def _insert_answer(connection: Connection, answer: Answer, receipt: Mapping[str, object]) -> None:
    connection.execute(insert(answers), build_answer(answer, receipt=receipt))


def _advance_answer(connection: Connection, answer: Answer, **more: object) -> None:
    query = select(answers.c.state).where(answers.c.id == answer.id).with_for_update()
    advance(AnswerState(connection.scalar(query) or AnswerState.DRAFT), answer.state)
    values = {
        "state": str(answer.state),
        "trace": build_trace(answer.trace),
        "processing_time_ms": answer.processing_time_ms,
    }
    connection.execute(update(answers).where(answers.c.id == answer.id).values(values | more))


async def _delete_questions(connection: AsyncConnection, condition: ColumnElement[bool]) -> int:
    """Deletes questions with their answers, ratings and stored responses; returns how many there were."""
    asked = select(questions.c.id).where(condition)
    await delete_responses(connection, asked)
    given = select(answers.c.id).where(answers.c.question_id.in_(asked))
    await connection.execute(delete(feedback).where(feedback.c.answer_id.in_(given)))
    await connection.execute(delete(answers).where(answers.c.question_id.in_(asked)))
    await delete_gaps(connection, gaps.c.question_id.in_(asked))
    counted = select(func.count()).where(questions.c.session_id == sessions.c.session_id, condition)
    left = sessions.c.query_count - counted.scalar_subquery()
    of_these = sessions.c.session_id.in_(select(questions.c.session_id).where(condition))
    await connection.execute(update(sessions).where(of_these).values(query_count=left))
    return (await connection.execute(delete(questions).where(condition))).rowcount


def _build_question(question: Question, *, interpreted: str) -> Values:
    return {
        "id": question.id,
        "session_id": question.session_id,
        "content": question.content,
        "interpreted": interpreted,
        "book_id": question.book_id,
        "selected_text": question.selected_text,
        "scope": {k: v if v is None else str(v) for k, v in asdict(question.scope).items()},
        "top_k": question.top_k,
        "user_id": question.user_id,
        "user_context": dict(question.user_context),
        "user_preferences": dict(question.user_preferences),
        "filters": dict(question.filters),
        "timestamp": question.timestamp,
        "status": str(question.status),
    }


def _parse_question(row: Any) -> Question:
    names = {field.name for field in fields(Question)} - {"conversation_history", "scope"}
    return Question(scope=Scope(**row.scope), **{name: getattr(row, name) for name in names})


def _build_messages(question: Question, answer: Answer | None) -> tuple[Message, ...]:
    """Builds the messages of a conversation that a question and its answer are."""
    asked = Message(
        id=question.id,
        role="user",
        content=question.content,
        timestamp=question.timestamp,
        query_id=question.id,
    )
    if answer is None:
        return (asked,)
    replied = Message(
        id=answer.id,
        role="assistant",
        content=answer.content,
        timestamp=answer.timestamp,
        query_id=question.id,
        source_references=answer.citations,
    )
    return asked, replied


def _copy_answer(answer: Answer) -> Answer:
    """Return an answer with ids of its own."""
    id_ = str(uuid4())
    citations = tuple(replace(cited, answer_id=id_) for cited in answer.citations)
    return replace(answer, id=id_, question_id=str(uuid4()), citations=citations)


def _make_answer_error(id_: str) -> NotFound:
    return NotFound("answer", id_, hint="`octavo sessions` lists what was asked.")


def _parse_exchange(asked: Any, answered: Any | None) -> Exchange:
    question = _parse_question(asked)
    if answered is None:
        return Exchange(question, asked.interpreted, None, {}, asked.error)
    meant = None if asked.interpreted == question.content else asked.interpreted
    answer = parse_answer(answered, interpreted=meant)
    return Exchange(question, asked.interpreted, answer, answered.receipt, asked.error)


def _parse_session(row: Any) -> Session:
    values = {name: getattr(row, name) for name in ("session_id", "start_time", "end_time", "query_count")}
    return Session(**values, title=row.title or "")
