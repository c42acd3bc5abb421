"""The routes. `/query` is the contract of the source documents, to the letter; `/v1` is everything else."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from octavo import wire, wire_asking
from octavo.errors import NotFound, OctavoError
from octavo.events import Answered, AskEvent
from octavo.library import Library, answered
from octavo.server.bodies import AskBody, CheckBody, QueryBody, SearchBody

router = APIRouter()


def _library(request: Request) -> Library:
    library: Library = request.app.state.library
    return library


TheLibrary = Annotated[Library, Depends(_library)]


@router.get("/healthz")
async def healthz() -> wire.Json:
    return {"status": "ok"}


@router.get("/readyz")
async def readyz(library: TheLibrary) -> wire.Json:
    return {"status": "ready", "books": len(await library.books())}


@router.get("/v1/books")
async def books(library: TheLibrary) -> wire.Json:
    return {"books": [wire.book_json(book) for book in await library.books()]}


@router.get("/v1/books/{book_id}/contents")
async def contents(book_id: str, library: TheLibrary) -> wire.Json:
    return {"sections": [wire.section_json(section) for section in await library.contents(book_id)]}


@router.get("/v1/books/{book_id}/sections/{section_id}")
async def section(book_id: str, section_id: str, library: TheLibrary) -> wire.Json:
    found = next((s for s in await library.contents(book_id) if s.id == section_id), None)
    if found is None:
        raise NotFound("section", section_id)
    return {**wire.section_json(found), "text": found.text}


@router.post("/v1/search")
async def search(body: SearchBody, library: TheLibrary) -> wire.Json:
    began = time.monotonic()
    scope = body.scope.scope() if body.scope else None
    found = await library.search(body.query, book_id=body.book_id, scope=scope, top_k=body.top_k)
    results = [wire.evidence_json(evidence) for evidence in found]
    return {"results": results, "processing_time_ms": max(1, round((time.monotonic() - began) * 1000))}


@router.post("/v1/check")
async def check(body: CheckBody, library: TheLibrary) -> wire.Json:
    return wire_asking.support_json(await library.check(body.claim, body.passages))


@router.post("/v1/ask")
async def ask(body: AskBody, request: Request, library: TheLibrary) -> Response:
    """The answer as JSON; as a stream of events when the client accepts `text/event-stream`."""
    if "text/event-stream" in request.headers.get("accept", ""):
        events = library.stream(**_arguments(body))
        begun = [await anext(events), await anext(events)]  # a wrong call is told before the stream
        return StreamingResponse(_sent_on(begun, events), media_type="text/event-stream")
    return JSONResponse(wire_asking.answered_json(await _answered(body, library)))


@router.post("/query")
async def query(body: QueryBody, library: TheLibrary) -> wire.Json:
    return wire_asking.query_json((await _answered(body.narrowed(), library)).answer)


@router.get("/v1/answers/{answer_id}")
async def answer(answer_id: str, library: TheLibrary) -> wire.Json:
    entry = await library.journal.entry(answer_id)
    if entry.answer is None:
        raise NotFound("answer", answer_id)
    dropped = tuple((text, reason) for text, reason in entry.receipt.get("dropped", ()))  # type: ignore[attr-defined]
    return wire_asking.answered_json(Answered(entry.question, entry.answer, entry.interpreted, dropped))


@router.get("/v1/answers/{answer_id}/verification")
async def verification(answer_id: str, library: TheLibrary) -> wire.Json:
    verdicts = await library.verify(answer_id)
    return {
        "true": all(v.true for v in verdicts),
        "citations": [wire_asking.verdict_json(v) for v in verdicts],
    }


async def _answered(body: AskBody, library: Library) -> Answered:
    return await answered(library.stream(**_arguments(body)))


async def _sent_on(
    begun: Sequence[AskEvent], events: AsyncGenerator[AskEvent, None]
) -> AsyncGenerator[str, None]:
    """Question and scope, which have been read already, and then the rest as it comes."""
    try:
        async with aclosing(events):
            for event in begun:
                yield _sent(event.kind, wire_asking.event_json(event))
            async for event in events:
                yield _sent(event.kind, wire_asking.event_json(event))
    except OctavoError as error:
        yield _sent("error", wire.error_json(error)["error"])


def _sent(kind: str, data: wire.Json) -> str:
    return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def _arguments(body: AskBody) -> wire.Json:
    return {
        "question": body.question,
        "book_id": body.book_id,
        "scope": body.scope.scope() if body.scope else None,
        "selected_text": body.selected_text,
        "session_id": body.session_id,
        "top_k": body.top_k,
    }
