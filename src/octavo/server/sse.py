"""Streams of server-sent events (`text/event-stream`) with a heartbeat, time limits and backpressure.

The work runs in its own task, at most a few events ahead of the reader. A comment is sent when nothing
happened for a while. When the client leaves, stops reading, or the stream reaches its time limit, the work is
cancelled. An error is the last event, as a problem document. It is our own because the framework's streams
have no timeout for sending and do not end when the server drains.
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

from octavo.concurrency import complete
from octavo.errors import OctavoError, Overloaded
from octavo.limits import ServiceLimits
from octavo.schemas import Json
from octavo.server.errors import describe_error, describe_problem, get_folder, get_request_id
from octavo.server.load import Load

log = logging.getLogger("octavo.server")
AHEAD = 16
PING = ": ping\n\n"
Event = tuple[str, Json]
T = TypeVar("T")


def format_event(kind: str, data: Json) -> str:
    return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


class EventProducer:
    """Produces events in its own task, from the first to the last."""

    def __init__(self, events: AsyncGenerator[Event, None]) -> None:
        self._queue: asyncio.Queue[Event | BaseException | None] = asyncio.Queue(AHEAD)
        self._task = asyncio.create_task(self._run(events))

    async def _run(self, events: AsyncGenerator[Event, None]) -> None:
        end: BaseException | None = None
        try:
            async with aclosing(events):
                async for event in events:
                    await self._queue.put(event)
        except Exception as error:
            end = error
        await self._queue.put(end)

    async def next(self) -> Event | None:
        """Return the next event; None after the last. Raise what the work raised."""
        made = await self._queue.get()
        if isinstance(made, BaseException):
            raise made
        return made

    async def stop(self) -> None:
        """Cancel the work, and return when it has cleaned up."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def make_event_stream(
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
        producer = EventProducer(events)
        begun: list[Event] = []
        try:
            while len(begun) < first and (event := await producer.next()) is not None:
                begun.append(event)
        except BaseException:
            await complete(producer.stop())
            raise
        ended = len(begun) < first
        return EventStream(producer, begun, ended=ended, held=held.pop_all(), load=load, limits=limits)


class EventStream(Response):
    """Sends what a producer makes, as long as the client reads. The background task runs if all was sent."""

    media_type = "text/event-stream"

    def __init__(
        self,
        producer: EventProducer,
        begun: list[Event],
        *,
        ended: bool,
        held: ExitStack,
        load: Load,
        limits: ServiceLimits,
    ) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._producer, self._begun, self._ended, self._held = producer, begun, ended, held
        self._load, self._limits = load, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = asyncio.ensure_future(_wait_for_disconnect(receive))
        closing = asyncio.ensure_future(self._load.closing.wait())
        try:
            await self._run(scope, send, gone, closing)
        except TimeoutError:
            # The client does not read. The server closes a response that has no end.
            pass
        finally:
            gone.cancel()
            closing.cancel()
            try:
                await complete(self._producer.stop())
            finally:
                # A cancellation that comes meanwhile is raised when the work has ended.
                self._held.close()

    async def _run(
        self, scope: Scope, send: Send, gone: asyncio.Future[None], closing: asyncio.Future[Literal[True]]
    ) -> None:
        until = asyncio.get_running_loop().time() + self._limits.stream_seconds
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        for kind, data in self._begun:
            await self._send(send, format_event(kind, data))
        while not self._ended and not gone.done():
            left = until - asyncio.get_running_loop().time()
            text = await self._next(scope, gone, closing, left)
            if gone.done():
                return
            await self._send(send, text)
        if not gone.done():
            await self._send(send, "", more=False)
            if self.background is not None:
                await self.background()

    async def _next(
        self, scope: Scope, gone: asyncio.Future[None], closing: asyncio.Future[Literal[True]], left: float
    ) -> str:
        """Find what to send next: an event, a heartbeat, or why the stream ends."""
        request_id = get_request_id(scope)
        made = asyncio.ensure_future(self._producer.next())
        wait = min(self._limits.heartbeat_seconds, max(0.0, left))
        try:
            watched: set[asyncio.Future[Any]] = {made, gone, closing}
            await asyncio.wait(watched, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            if made.done():
                event = made.result()
                self._ended = event is None
                return format_event(*event) if event else ""
        except OctavoError as error:
            self._ended = True
            said = describe_error(error, request_id=request_id, folder=get_folder(scope))
            return format_event("error", said)
        except Exception as error:
            self._ended = True
            log.error("a stream failed", exc_info=error, extra={"request_id": request_id})
            detail = f"Internal error: {type(error).__name__}."
            return format_event("error", describe_problem(500, "internal", detail, request_id=request_id))
        finally:
            made.cancel()
        if closing.done() or left <= wait:
            self._ended = True
            why = "the service is stopping" if closing.done() else "the stream reached its time limit"
            ending = Overloaded(why, retry_after=5)
            return format_event("error", describe_error(ending, request_id=request_id))
        return PING

    async def _send(self, send: Send, text: str, *, more: bool = True) -> None:
        async with asyncio.timeout(self._limits.send_seconds):
            await send({"type": "http.response.body", "body": text.encode(), "more_body": more})


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def run_while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T | None:
    """Return what the work returns. When the client leaves first, cancel the work and return None."""
    working = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_wait_for_disconnect(request.receive))
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        gone.cancel()
        working.cancel()
        await complete(asyncio.gather(working, gone, return_exceptions=True))
