"""Searching and asking. `/query` has exactly the contract of the source documents."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from starlette.background import BackgroundTask

from octavo.errors import AccessDenied
from octavo.events import Answered, AskEvent, last
from octavo.library import Library
from octavo.records.conversations import Conversations
from octavo.records.idempotency import IdempotentRequests
from octavo.schemas import AnsweredJson, QueryJson, SearchJson, SupportJson, describe_event
from octavo.search.scope import keep_tagged
from octavo.server.auth import PUBLIC, AskCaller, Caller, CurrentLibrary, ReadCaller, get_access
from octavo.server.metrics import get_metrics
from octavo.server.schemas import (
    EVENTS,
    AskBody,
    CheckBody,
    IdempotencyKey,
    QueryBody,
    SearchBody,
    describe,
    respond,
)
from octavo.server.sse import Event, make_event_stream, run_while_connected
from octavo.types import Answer

router = APIRouter(tags=["asking"])
STREAMED = "text/event-stream"
_GONE = Response(status_code=499)


@router.post(
    "/v1/search", response_model=SearchJson, responses=describe("The passages found, best first.", 404)
)
async def search(body: SearchBody, library: CurrentLibrary, caller: ReadCaller) -> Response:
    began = time.monotonic()
    scope = body.scope.to_scope() if body.scope else None
    found = await library.search(
        body.query,
        book_id=body.book_id,
        scope=scope,
        top_k=body.top_k,
        books=await _choose_books(body, library, caller),
        rerank=body.rerank,
    )
    return respond(SearchJson.from_results(found, seconds=time.monotonic() - began))


@router.post(
    "/v1/check",
    response_model=SupportJson,
    responses=describe("Whether the passages support the claim."),
)
async def check(body: CheckBody, library: CurrentLibrary, caller: AskCaller) -> Response:  # noqa: ARG001
    return respond(SupportJson.from_support(await library.check(body.claim, body.passages)))


_ASKED = describe("The answer or a refusal; or the events on the way to it.", 404, 409, 502)
_ASKED[200]["content"] = {STREAMED: EVENTS}


@router.post("/v1/ask", response_model=AnsweredJson, responses=_ASKED)
async def ask(
    body: AskBody,
    request: Request,
    library: CurrentLibrary,
    caller: ReadCaller,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """The answer as JSON; as a stream of events when the client accepts `text/event-stream`.

    The events are `asked`, `scoped`, `retrieved`, `working`, `claimed` and, last, `answered` with the same
    object as the JSON response; or `error` with a problem document.
    """
    await _check_session(body, library, caller)
    access = get_access(request)
    books = await _choose_books(body, library, caller)
    asked = library.stream(body.to_question(owner=caller.owner), books=books)
    delivery = _Delivery(library.conversations)
    watched = delivery.watch(get_metrics(request).watch(asked, library.conversations))
    events = _stream_events(body, watched, caller, access.idempotency, idempotency_key)
    if STREAMED in request.headers.get("accept", ""):
        slot, limits = access.hold_stream(caller), access.settings.service
        response = await make_event_stream(request, events, slot=slot, limits=limits, first=2)
        response.background = BackgroundTask(delivery.complete)
        return response
    final = await run_while_connected(request, last(events))
    if final is None:
        return _GONE
    return JSONResponse(final[1], background=BackgroundTask(delivery.complete))


@router.post("/query/", include_in_schema=False)
@router.post(
    "/query", response_model=QueryJson, responses=describe("The answer with its citations.", 404, 502)
)
async def query(body: QueryBody, request: Request, library: CurrentLibrary, caller: ReadCaller) -> Response:
    await _check_session(body, library, caller)
    books = await _choose_books(body, library, caller)
    asked = library.stream(body.to_question(owner=caller.owner), books=books)
    done = await run_while_connected(request, last(get_metrics(request).watch(asked, library.conversations)))
    if done is None:
        return _GONE
    response = respond(QueryJson.from_answer(done.answer))
    response.background = BackgroundTask(library.conversations.deliver, done.answer)
    return response


async def _choose_books(
    body: AskBody | SearchBody, library: Library, caller: Caller
) -> tuple[str, ...] | None:
    """Return the ids of the books that the request names, of those with its tags, or all of the caller's."""
    if body.tags is None and body.books is None:
        return caller.books
    names = [body.book_id] if body.books is None and body.book_id is not None else body.books or ()
    named = tuple(dict.fromkeys([(await library.book(name, among=caller.books)).id for name in names]))
    if body.tags is None:
        return named
    tagged = await library.tagged(body.tags, among=caller.books)
    return keep_tagged(named, tagged, body.tags) if named else tagged


async def _check_session(body: AskBody, library: Library, caller: Caller) -> None:
    """Check that a caller with a key continues its own session. Without keys, a new name starts one.

    Visitors of the public books cannot be told apart, so they have no conversations.
    """
    if body.session_id is not None and caller.owner == PUBLIC:
        raise AccessDenied(
            "a conversation needs a key",
            code="forbidden",
            hint="Leave session_id out, and send conversation_history with the question.",
        )
    if body.session_id is not None and caller.owner:
        await library.conversations.check_owner(body.session_id, owner=caller.owner)


class _Delivery:
    """Notes the answer that a response sends, and records that it was sent."""

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations
        self._answer: Answer | None = None

    async def watch(self, events: AsyncGenerator[AskEvent, None]) -> AsyncGenerator[AskEvent, None]:
        """Yield the same events, and note the answer among them."""
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Answered):
                    self._answer = event.answer
                yield event

    async def complete(self) -> None:
        """Record that the answer was sent. A repeated request sends an answer that is delivered already."""
        if self._answer is not None:
            await self._conversations.deliver(self._answer)


async def _stream_events(
    body: AskBody,
    asked: AsyncGenerator[AskEvent, None],
    caller: Caller,
    idempotency: IdempotentRequests,
    key: str | None,
) -> AsyncGenerator[Event, None]:
    """Yield the events of one question; of a repeated request only the last."""
    request = f"/v1/ask {body.model_dump_json()}".encode()
    async with idempotency.claim(key, owner=caller.visitor_id, request=request) as once:
        if once.previous is not None:
            yield "answered", once.previous
            return
        async with aclosing(asked):
            async for event in asked:
                data = describe_event(event).to_json()
                if isinstance(event, Answered):
                    once.response = data
                yield event.kind, data
