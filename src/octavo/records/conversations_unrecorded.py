"""Conversations that go on when the disk is full, without a record, where the owner allows it.

A question whose record finds no space is answered all the same. What was written of it is deleted, so that
nothing is half recorded. It cannot be looked up, exported or verified later.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import uuid4

from octavo.errors import StorageLow
from octavo.records.conversations import Conversations, end_question
from octavo.types import Answer, Question, Session
from octavo.validation import AnswerState, QuestionStatus

if TYPE_CHECKING:
    from octavo.records.database import Database


class TolerantConversations(Conversations):
    """The conversations of one library; a question that cannot be recorded is answered without a record."""

    def __init__(self, database: Database, *, log_gaps: bool = True) -> None:
        super().__init__(database, log_gaps=log_gaps)
        self._unrecorded: set[str] = set()

    async def start_session(self, session_id: str | None = None, *, owner: str = "") -> Session:
        try:
            return await super().start_session(session_id, owner=owner)
        except StorageLow:
            if session_id is not None:
                # Another's session must not be read because the disk is full.
                await self.check_owner(session_id, owner=owner)
            return Session(session_id=session_id or str(uuid4()), start_time=datetime.now(UTC))

    async def receive(self, question: Question, *, interpreted: str) -> None:
        try:
            await super().receive(question, interpreted=interpreted)
        except StorageLow:
            self._unrecorded.add(question.id)

    async def begin(self, question: Question, *, interpreted: str | None = None) -> Question:
        if question.id not in self._unrecorded:
            try:
                return await super().begin(question, interpreted=interpreted)
            except StorageLow:
                await self._give_up_record(question.id)
        return question.to(QuestionStatus.PROCESSING)

    async def fail(self, question: Question, reason: str) -> None:
        if question.id in self._unrecorded:
            self._unrecorded.discard(question.id)
            return
        await super().fail(question, reason)

    async def save_draft(self, answer: Answer, *, receipt: Mapping[str, object]) -> None:
        if answer.question_id not in self._unrecorded:
            try:
                await super().save_draft(answer, receipt=receipt)
            except StorageLow:
                await self._give_up_record(answer.question_id)

    async def mark_validated(self, answer: Answer) -> Answer:
        if answer.question_id not in self._unrecorded:
            try:
                return await super().mark_validated(answer)
            except StorageLow:
                await self._give_up_record(answer.question_id)
        return answer.to(AnswerState.VALIDATED)

    async def publish(
        self, question: Question, answer: Answer, *, receipt: Mapping[str, object]
    ) -> tuple[Question, Answer]:
        if question.id not in self._unrecorded:
            try:
                return await super().publish(question, answer, receipt=receipt)
            except StorageLow:
                await self._give_up_record(question.id)
        self._unrecorded.discard(question.id)
        return end_question(question, answer), answer.to(AnswerState.PUBLISHED)

    async def publish_draft(
        self, question: Question, draft: Answer, *, receipt: Mapping[str, object]
    ) -> tuple[Question, Answer]:
        if question.id not in self._unrecorded:
            try:
                return await super().publish_draft(question, draft, receipt=receipt)
            except StorageLow:
                await self._give_up_record(question.id)
        self._unrecorded.discard(question.id)
        valid = draft.to(AnswerState.VALIDATED)
        return end_question(question, valid), valid.to(AnswerState.PUBLISHED)

    async def _give_up_record(self, question_id: str) -> None:
        """Delete what was recorded of a question. What cannot be deleted now ends as abandoned later."""
        self._unrecorded.add(question_id)
        with suppress(StorageLow):
            await self.delete_question(question_id)
