"""Answers a question: scope → correct → retrieve → answer → verify → cite → record → publish.

Each state of a question is durable before the next step begins. What the evidence does not support is not
published. If nothing is left, the question ends as `insufficient_data` with a refusal that says why. A
failure leaves the question in `error` with its reason, and is raised: an outage never looks like "the book
does not say".

The trace of the answer ends with `formatted` here. Who sends it to the reader records that it was delivered.

Progress is reported while it happens. A claim is reported only when its answer is on record, because until
then it may still be corrected or give way to a refusal. What a reader has seen is never taken back.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import uuid4

from octavo import tracing
from octavo.answers import calibration
from octavo.answers.audit import write_receipt
from octavo.answers.citations import (
    AnswerText,
    CheckedReply,
    cite,
    pick_nearest,
    refuse_empty_library,
    refuse_incomplete,
    refuse_out_of_scope,
    refuse_unanswered,
    refuse_unexplained,
    refuse_without_model,
)
from octavo.answers.excerpts import cut_excerpts
from octavo.answers.orders import OrderKind, find_missing, find_order, is_about_selection
from octavo.answers.workspace import Sources
from octavo.concurrency import complete
from octavo.errors import OctavoError
from octavo.events import Answered, Asked, AskEvent, Retrieved, Scoped, Working
from octavo.types import Answer, Question, Refusal, Trace
from octavo.validation import Delivery, EvidenceState

if TYPE_CHECKING:
    from octavo.answers.steps import AskSteps
    from octavo.search.scope import Bounds


async def ask(question: Question, steps: AskSteps) -> AsyncGenerator[AskEvent, None]:
    """Answer one question, as events. The last one is `Answered`."""
    timer, least = StageTimer(), calibration.LEAST_CONFIDENCE
    interpreted = await steps.interpret(question)
    timer.end_stage("interpret")
    await steps.conversations.receive(question, interpreted=interpreted)
    try:
        yield Asked(question, interpreted)
        bounds = await steps.scope.resolve_question(question)
        interpreted, renamed = await steps.correct_spelling(question, interpreted, bounds)
        question = await steps.conversations.begin(question, interpreted=interpreted)
        timer.end_stage("scope")
        yield Scoped(bounds.description)

        timer.reach(Delivery.PROCESSING)
        workspace = await steps.make_workspace(question, bounds)
        is_complete = await steps.search(question, interpreted, workspace)
        found = tuple(workspace.evidence)
        timer.end_stage("retrieve")
        yield Retrieved(found)

        async with aclosing(steps.answer(interpreted, workspace, is_complete=is_complete)) as working:
            async for step in working:
                if isinstance(step, Working):
                    yield step
                else:
                    said = step.keep_answered(answerable=steps.find_threshold(step), sure=least)
        reply = await steps.verify(interpreted, workspace, said, found=found, renamed=renamed)
        threshold = steps.find_threshold(reply)
        if reply.claims and reply.answerable >= threshold and reply.confidence >= least:
            text = await cite(reply, Sources(steps.records))
        else:
            text = await _refuse(question, interpreted, bounds, reply, steps)
        answer = _make_answer(question, interpreted, reply, text, timer)
        timer.end_stage("answer", checking=reply.checking)

        receipt = write_receipt(
            answer,
            reply=reply,
            interpreted=interpreted,
            scope=bounds.description,
            books=await steps.records.list_books(),
            threshold=threshold,
            calibration=steps.load_calibration(reply).version,
            stages=timer.stages,
        )
        draft = timer.stamp(timer.stamp(answer, Delivery.VALIDATED), Delivery.FORMATTED)
        timer.end_stage("record")
        receipt = {**receipt, "stages": dict(timer.stages)}
        question, answer = await steps.conversations.publish_draft(question, draft, receipt=receipt)
        timer.end_stage("record")
    except BaseException as failure:
        await _record_failure(question, failure, steps, timer)
        raise
    if steps.settings.tracing:
        tracing.record(receipt, ids=_list_ids(question, answer), stages=timer.stages)
    claims = () if answer.refusal else reply.list_claimed()
    for claim in claims:
        yield claim
    yield Answered(question, answer, interpreted, reply.dropped, reply.answerer, timer.stages, claims)


async def _refuse(
    question: Question, interpreted: str, bounds: Bounds, reply: CheckedReply, steps: AskSteps
) -> AnswerText:
    """Refuse with the reason that is true."""
    refusal = await _find_refusal(question, interpreted, bounds, reply, steps)
    return AnswerText(str(uuid4()), refusal.message, refusal=refusal)


async def _find_refusal(
    question: Question, interpreted: str, bounds: Bounds, reply: CheckedReply, steps: AskSteps
) -> Refusal:
    if not await steps.records.list_books():
        return refuse_empty_library()
    missing = find_missing(question, interpreted)
    if missing:
        return refuse_incomplete(missing)
    order = find_order(question)
    if order is not None and order.kind in (OrderKind.TRANSLATE, OrderKind.REWRITE):
        return refuse_without_model(order.kind, bounds.description)
    if order is not None and order.kind is OrderKind.EXPLAIN and not reply.claims:
        return refuse_unexplained(bounds.description)
    # A bare command asks for nothing that could stand elsewhere.
    wider = None if order or is_about_selection(question) else bounds.widen()
    if wider is not None:
        beyond = await steps.look_beyond(question, interpreted, wider)
        outside = beyond.find_outside(bounds)
        if outside and beyond.answerable >= steps.find_threshold(beyond):
            return refuse_out_of_scope(bounds.description, outside, ahead=bounds.ahead)
    near = () if bounds.passage else pick_nearest(reply.evidence)
    unlikely = not reply.claims or reply.answerable < steps.find_silence(reply)
    near = cut_excerpts(interpreted, near, reply.sentences.values())
    return refuse_unanswered(bounds.description, near, unlikely=unlikely)


def _make_answer(
    question: Question, interpreted: str, reply: CheckedReply, text: AnswerText, timer: StageTimer
) -> Answer:
    used = {citation.chunk_id for citation in text.citations}
    return Answer(
        id=text.answer_id,
        question_id=question.id,
        content=text.content,
        confidence=reply.confidence,
        processing_time_ms=timer.milliseconds,
        timestamp=datetime.now(UTC),
        citations=text.citations,
        evidence=tuple(
            item.to(EvidenceState.VALIDATED) if item.chunk.id in used else item for item in reply.evidence
        ),
        refusal=text.refusal,
        trace=timer.trace,
        short=text.short,
        catalogue=text.catalogue,
        translated=text.translated,
        interpreted=None if interpreted == question.content else interpreted,
    )


async def _record_failure(
    question: Question, failure: BaseException, steps: AskSteps, timer: StageTimer
) -> None:
    """Record why the question has no answer, even if it is being cancelled."""
    name = type(failure).__name__
    if steps.settings.tracing:
        tracing.record({}, ids=_list_ids(question, None), stages=timer.stages, failed=name)
    reason = str(failure) or "stopped before there was an answer"
    # The first failure is the one to raise.
    with suppress(OctavoError):
        await complete(steps.conversations.fail(question, f"{name}: {reason}"))


def _list_ids(question: Question, answer: Answer | None) -> dict[str, str]:
    return {"question_id": question.id, "answer_id": answer.id if answer else ""}


class StageTimer:
    """Measures how long each stage takes, and notes when each step of the delivery is reached."""

    def __init__(self) -> None:
        self._began = self._stage_began = time.monotonic()
        self.stages: dict[str, float] = {}
        """Milliseconds of each stage."""
        self.trace = Trace().reach(Delivery.RECEIVED, datetime.now(UTC))

    @property
    def milliseconds(self) -> int:
        return max(1, round((time.monotonic() - self._began) * 1000))

    def end_stage(self, stage: str, *, checking: float | None = None) -> None:
        """End a stage, or more of one that ended last. The seconds that it took to check claims are a stage
        of their own.
        """
        now = time.monotonic()
        spent = (now - self._stage_began - (checking or 0.0)) * 1000
        self.stages[stage] = round(self.stages.get(stage, 0.0) + spent, 1)
        self._stage_began = now
        if checking is not None:
            self.stages["verify"] = round(checking * 1000, 1)

    def reach(self, step: Delivery) -> None:
        self.trace = self.trace.reach(step, datetime.now(UTC))

    def stamp(self, answer: Answer, step: Delivery) -> Answer:
        """Note that the answer has reached a step."""
        self.reach(step)
        return replace(answer, trace=self.trace, processing_time_ms=self.milliseconds)
