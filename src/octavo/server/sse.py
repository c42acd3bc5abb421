"""Streams of events (`text/event-stream`): alive while they are silent, stopped when nobody listens.

The work runs in a task of its own, a few events ahead of the reader at most. A comment goes out when
nothing has happened for a while. When the client leaves, reads nothing, or has listened long enough, the
work is cancelled, so that no question is worked on for nobody. What fails is the last event, as a problem
document.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Coroutine
from contextlib import AbstractContextManager, ExitStack, aclosing
from typing import Any, Literal, TypeVar

from fastapi import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from octavo.errors import OctavoError, Overloaded
from octavo.limits import ServiceLimits
from octavo.schemas import Json
from octavo.server.errors import document, request_id_of, told
from octavo.server.load import Load

log = logging.getLogger("octavo.server")
AHEAD = 16
PING = ": ping\n\n"
Event = tuple[str, Json]
T = TypeVar("T")


def sent(kind: str, data: Json) -> str:
    return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


class Flow:
    """Events that are made in a task of their own, from the first to the last."""

    def __init__(self, events: AsyncGenerator[Event, None]) -> None:
        self._made: asyncio.Queue[Event | BaseException | None] = asyncio.Queue(AHEAD)
        self._task = asyncio.create_task(self._run(events))

    async def _run(self, events: AsyncGenerator[Event, None]) -> None:
        end: BaseException | None = None
        try:
            async with aclosing(events):
                async for event in events:
                    await self._made.put(event)
        except Exception as error:
            end = error
        await self._made.put(end)

    async def next(self) -> Event | None:
        """The next event; None after the last. Raises what the work raised."""
        made = await self._made.get()
        if isinstance(made, BaseException):
            raise made
        return made

    async def stop(self) -> None:
        """Cancels the work, and returns when it has cleaned up."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def event_stream(
    request: Request,
    events: AsyncGenerator[Event, None],
    *,
    slot: AbstractContextManager[None],
    limits: ServiceLimits,
    first: int = 0,
) -> Response:
    """Make the response that sends the events, and hold `slot` until it ends.

    What goes wrong before the `first` few events is an ordinary error.
    """
    load: Load = request.app.state.load
    with ExitStack() as held:
        held.enter_context(slot)
        flow = Flow(events)
        begun: list[Event] = []
        try:
            while len(begun) < first and (event := await flow.next()) is not None:
                begun.append(event)
        except BaseException:
            await flow.stop()
            raise
        ended = len(begun) < first
        return EventStream(flow, begun, ended=ended, held=held.pop_all(), load=load, limits=limits)


class EventStream(Response):
    """Sends what a flow makes, as long as somebody reads it."""

    media_type = "text/event-stream"

    def __init__(
        self,
        flow: Flow,
        begun: list[Event],
        *,
        ended: bool,
        held: ExitStack,
        load: Load,
        limits: ServiceLimits,
    ) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._flow, self._begun, self._ended, self._held = flow, begun, ended, held
        self._load, self._limits = load, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = asyncio.ensure_future(_disconnected(receive))
        closing = asyncio.ensure_future(self._load.closing.wait())
        try:
            await self._run(scope, send, gone, closing)
        except TimeoutError:
            pass  # nobody reads; the server closes a response that has no end
        finally:
            gone.cancel()
            closing.cancel()
            await asyncio.shield(asyncio.ensure_future(self._flow.stop()))
            self._held.close()

    async def _run(
        self, scope: Scope, send: Send, gone: asyncio.Future[None], closing: asyncio.Future[Literal[True]]
    ) -> None:
        until = asyncio.get_running_loop().time() + self._limits.stream_seconds
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        for kind, data in self._begun:
            await self._send(send, sent(kind, data))
        while not self._ended and not gone.done():
            left = until - asyncio.get_running_loop().time()
            text = await self._next(request_id_of(scope), gone, closing, left)
            if gone.done():
                return
            await self._send(send, text)
        if not gone.done():
            await self._send(send, "", more=False)

    async def _next(
        self, request_id: str, gone: asyncio.Future[None], closing: asyncio.Future[Literal[True]], left: float
    ) -> str:
        """What to send next: an event, a sign of life, or why this is the end."""
        made = asyncio.ensure_future(self._flow.next())
        wait = min(self._limits.heartbeat_seconds, max(0.0, left))
        try:
            watched: set[asyncio.Future[Any]] = {made, gone, closing}
            await asyncio.wait(watched, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            if made.done():
                event = made.result()
                self._ended = event is None
                return sent(*event) if event else ""
        except OctavoError as error:
            self._ended = True
            return sent("error", told(error, request_id=request_id))
        except Exception as error:
            self._ended = True
            log.error("a stream failed", exc_info=error, extra={"request_id": request_id})
            said = f"Something went wrong here: {type(error).__name__}."
            return sent("error", document(500, "internal", said, request_id=request_id))
        finally:
            made.cancel()
        if closing.done() or left <= wait:
            self._ended = True
            why = (
                "the service is about to stop" if closing.done() else "a stream has its time, and it is over"
            )
            return sent("error", told(Overloaded(why, retry_after=5), request_id=request_id))
        return PING

    async def _send(self, send: Send, text: str, *, more: bool = True) -> None:
        async with asyncio.timeout(self._limits.send_seconds):
            await send({"type": "http.response.body", "body": text.encode(), "more_body": more})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T | None:
    """What the work gives; None when the client has left meanwhile, and the work is cancelled."""
    working = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_disconnected(request.receive))
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        gone.cancel()
        working.cancel()
        await asyncio.shield(asyncio.gather(working, gone, return_exceptions=True))
