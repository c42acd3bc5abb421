"""Answers a question: scope → retrieve → answer → verify → cite → record → publish.

Each step is durable before the next begins. What the evidence does not support is not published; when nothing
is left, the question ends as `insufficient_data` with a refusal that says why. A failure leaves the question
in `error` with its reason and is raised: an outage is never told as "the book does not say".

What is being worked on is told while it happens. A claim is told only when its answer is on record: until
then it may still be mended, or give way to a refusal, and what a reader has seen is never taken back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import uuid4

from octavo.answers.citations import AnswerText, refuse_empty_library, refuse_out_of_scope, refuse_unanswered
from octavo.errors import OctavoError
from octavo.events import Answered, Asked, AskEvent, Retrieved, Scoped, Working
from octavo.types import Answer, Question, Refusal, ScopeType, Trace
from octavo.validation import Delivery, EvidenceState

if TYPE_CHECKING:
    from octavo.answers.steps import AskSteps, CheckedReply
    from octavo.search.scope import Bounds

LEAST_CONFIDENCE = 0.1  # whatever the risk: an answer that is wrong nine times in ten is none


async def ask(question: Question, steps: AskSteps) -> AsyncGenerator[AskEvent, None]:
    """The whole way of one question, as events. The last one is `Answered`."""
    clock = StageTimer()
    interpreted = await steps.interpret(question)
    clock.lap("interpret")
    await steps.conversations.receive(question, interpreted=interpreted)
    try:
        yield Asked(question, interpreted)
        question = await steps.conversations.begin(question)
        bounds = await steps.bounds(question)
        clock.lap("scope")
        yield Scoped(bounds.description)
        room = await steps.enter(question, interpreted, bounds)
        clock.lap("retrieve")
        yield Retrieved(tuple(room.evidence))
        clock.reach(Delivery.PROCESSING)
        async with aclosing(steps.reading(interpreted, room)) as working:
            async for step in working:
                if isinstance(step, Working):
                    yield step
                else:
                    read = step
        answer = await _decide(question, interpreted, bounds, read, steps, clock)
        clock.lap("answer", checking=read.checking)
        receipt = await steps.receipt(interpreted, bounds, read, answer, clock.stages)
        await steps.conversations.save_draft(answer, receipt=receipt)
        answer = await steps.conversations.mark_validated(clock.stamped(answer, Delivery.VALIDATED))
        answer = clock.stamped(clock.stamped(answer, Delivery.FORMATTED), Delivery.DELIVERED)
        clock.lap("record")
        question, answer = await steps.conversations.publish(
            question, answer, receipt={**receipt, "stages": clock.stages}
        )
    except BaseException as failure:
        await _failed(question, failure, steps, clock)
        raise
    steps.trace(question, clock.stages, receipt=receipt, answer_id=answer.id)
    claims = () if answer.refusal else read.told()
    for claim in claims:
        yield claim
    yield Answered(question, answer, interpreted, read.dropped, read.answerer, clock.stages, claims)


async def _failed(question: Question, failure: BaseException, steps: AskSteps, clock: StageTimer) -> None:
    """Notes why the question has no answer, even while the asking is being cancelled."""
    steps.trace(question, clock.stages, failed=type(failure).__name__)
    said = str(failure) or "stopped before there was an answer"
    noted = asyncio.ensure_future(steps.conversations.fail(question, f"{type(failure).__name__}: {said}"))
    with suppress(OctavoError):  # the first failure is the one to tell
        await asyncio.shield(noted)


async def _decide(
    question: Question,
    interpreted: str,
    bounds: Bounds,
    read: CheckedReply,
    steps: AskSteps,
    clock: StageTimer,
) -> Answer:
    """The answer with its footnotes when the evidence carries one, else the refusal that is true."""
    answer_id = str(uuid4())
    refusal = await _refusal(question, interpreted, bounds, read, steps)
    said = AnswerText(refusal.message, ()) if refusal else await steps.cite(answer_id, read)
    return Answer(
        id=answer_id,
        question_id=question.id,
        content=said.content,
        confidence=read.confidence,
        processing_time_ms=clock.milliseconds,
        timestamp=datetime.now(UTC),
        citations=said.citations,
        evidence=tuple(item.to(EvidenceState.VALIDATED) for item in read.evidence),
        refusal=refusal,
        trace=clock.trace,
    )


async def _refusal(
    question: Question, interpreted: str, bounds: Bounds, read: CheckedReply, steps: AskSteps
) -> Refusal | None:
    sure = read.answerable >= steps.threshold and read.confidence >= LEAST_CONFIDENCE
    if read.claims and sure:
        return None
    if not await steps.records.list_books():
        return refuse_empty_library()
    wider = steps.widened(bounds)
    if wider is not None:
        there = await steps.beyond(question, interpreted, wider)
        outside = there.quoted(bounds)
        if outside and there.answerable >= steps.threshold:
            return refuse_out_of_scope(
                bounds.description, outside, ahead=question.scope.type is ScopeType.UP_TO
            )
    near = () if bounds.passage else read.evidence
    unlikely = not read.claims or read.answerable < steps.silence
    return refuse_unanswered(bounds.description, near, unlikely=unlikely)


class StageTimer:
    """The delivery of one answer, and the time it took."""

    def __init__(self) -> None:
        self._began = self._lap = time.monotonic()
        self.stages: dict[str, float] = {}
        """Milliseconds of each stage."""
        self.trace = Trace().reach(Delivery.RECEIVED, datetime.now(UTC))

    def reach(self, step: Delivery) -> None:
        self.trace = self.trace.reach(step, datetime.now(UTC))

    def lap(self, stage: str, *, checking: float | None = None) -> None:
        """Ends a stage. The seconds of it that went into checking claims are a stage of their own."""
        now = time.monotonic()
        self.stages[stage] = round((now - self._lap - (checking or 0.0)) * 1000, 1)
        self._lap = now
        if checking is not None:
            self.stages["verify"] = round(checking * 1000, 1)

    @property
    def milliseconds(self) -> int:
        return max(1, round((time.monotonic() - self._began) * 1000))

    def stamped(self, answer: Answer, step: Delivery) -> Answer:
        self.reach(step)
        return replace(answer, trace=self.trace, processing_time_ms=self.milliseconds)
