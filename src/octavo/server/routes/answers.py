"""Answers that were given: read again, checked again, and judged by their readers."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response

from octavo import schemas
from octavo.errors import NotFound
from octavo.events import Answered, Claimed
from octavo.library import Library
from octavo.records.conversations import Exchange, Rating
from octavo.server import shapes
from octavo.server.auth import Asking, Caller, TheLibrary
from octavo.server.shapes import AnswerId, FeedbackBody

router = APIRouter(prefix="/v1/answers/{answer_id}", tags=["answers"])


@router.get("", responses=shapes.gives(shapes.Answered, "The answer, as it was given.", 404))
async def answer(answer_id: AnswerId, library: TheLibrary, caller: Asking) -> Response:
    return JSONResponse(schemas.answered_json(answered_of(await _entry(answer_id, library, caller))))


@router.get("/verification", responses=shapes.gives(shapes.Verified, "Each quotation against the book.", 404))
async def verification(answer_id: AnswerId, library: TheLibrary, caller: Asking) -> Response:
    await _entry(answer_id, library, caller)
    verdicts = await library.verify(answer_id)
    shown = [schemas.verdict_json(verdict) for verdict in verdicts]
    return JSONResponse({"true": all(verdict.true for verdict in verdicts), "citations": shown})


@router.post("/feedback", status_code=204, responses=shapes.gives(None, "Noted.", 404, status=204))
async def feedback(answer_id: AnswerId, body: FeedbackBody, library: TheLibrary, caller: Asking) -> Response:
    """One judgement for each reader and answer: a later one replaces the one before."""
    entry = await _entry(answer_id, library, caller)
    assert entry.answer is not None
    rating = Rating(entry.answer.id, body.vote, tuple(body.reasons), body.comment)
    await library.conversations.rate(rating, owner=caller.owner)
    return Response(status_code=204)


async def _entry(answer_id: str, library: Library, caller: Caller) -> Exchange:
    entry = await library.conversations.find_exchange(answer_id, owner=caller.owner)
    if entry.answer is None:
        raise NotFound("answer", answer_id)
    return entry


def answered_of(entry: Exchange) -> Answered:
    """A stored answer as the event that it was."""
    assert entry.answer is not None
    dropped = tuple((text, reason) for text, reason in entry.receipt.get("dropped", ()))  # type: ignore[attr-defined]
    claims = tuple(
        Claimed(text, tuple(citations), tuple((start, end) for start, end in marks))
        for text, citations, marks in entry.receipt.get("told", ())  # type: ignore[attr-defined]
    )
    answerer = str(entry.receipt.get("answerer", "offline"))
    return Answered(
        entry.question, entry.answer, entry.interpreted, dropped, answerer=answerer, claims=claims
    )
