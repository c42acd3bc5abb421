"""Stored answers: read, trace, verify and rate them."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from octavo.errors import NotFound
from octavo.library import Library
from octavo.records.conversations import Exchange, Rating
from octavo.schemas import AnsweredJson, TraceJson, VerificationJson
from octavo.server.auth import AskCaller, Caller, CurrentLibrary
from octavo.server.schemas import AnswerId, FeedbackBody, describe, respond

router = APIRouter(prefix="/v1/answers/{answer_id}", tags=["answers"])


@router.get("", response_model=AnsweredJson, responses=describe("The answer, as it was given.", 404))
async def answer(answer_id: AnswerId, library: CurrentLibrary, caller: AskCaller) -> Response:
    return respond(AnsweredJson.from_exchange(await _find_exchange(answer_id, library, caller)))


@router.get(
    "/verification",
    response_model=VerificationJson,
    responses=describe("Each quotation, compared with the book.", 404),
)
async def verification(answer_id: AnswerId, library: CurrentLibrary, caller: AskCaller) -> Response:
    await _find_exchange(answer_id, library, caller)
    verdicts = await library.verify(answer_id)
    return respond(VerificationJson.from_verdicts(verdicts, true=all(verdict.true for verdict in verdicts)))


@router.get(
    "/trace",
    response_model=TraceJson,
    responses=describe("The steps of its delivery, with their times.", 404),
)
async def trace(answer_id: AnswerId, library: CurrentLibrary, caller: AskCaller) -> Response:
    exchange = await _find_exchange(answer_id, library, caller)
    assert exchange.answer is not None
    return respond(TraceJson.from_answer(exchange.question, exchange.answer))


@router.post("/feedback", status_code=204, responses=describe("Recorded.", 404, status=204))
async def feedback(
    answer_id: AnswerId, body: FeedbackBody, library: CurrentLibrary, caller: AskCaller
) -> Response:
    """One rating for each reader and answer: a later one replaces the one before."""
    exchange = await _find_exchange(answer_id, library, caller)
    assert exchange.answer is not None
    rating = Rating(exchange.answer.id, body.vote, tuple(body.reasons), body.comment)
    await library.conversations.rate(rating, owner=caller.owner)
    return Response(status_code=204)


async def _find_exchange(answer_id: str, library: Library, caller: Caller) -> Exchange:
    exchange = await library.conversations.find_exchange(answer_id, owner=caller.owner)
    if exchange.answer is None:
        raise NotFound("answer", answer_id)
    return exchange
