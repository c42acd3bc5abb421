"""A language model that follows a script, behind a real HTTP server that speaks the OpenAI protocols.

`async with ScriptedModel(script) as model:` listens on a free port of the loopback address; `model.url` is
the base URL to give to a client. It answers `POST /chat/completions` and `POST /responses` (JSON or events)
and `GET /models`. Every request is kept in `model.requests`; `open`, `peak` and `abandoned` count
connections, so that a test can tell whether a program hung up when it should have. `with
ScriptedModel(script) as model:` does the same from a thread of its own, for programs that run their own
event loop.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Self

from octavo.testing.delivery import Delivery, broken, deliver, problem
from octavo.testing.faults import misbehaving
from octavo.testing.model_request import ModelRequest, chat_request, responses_request
from octavo.testing.replies import Fault, Reply, Script, turn

MODEL = "scripted-1"
_READERS = {"/v1/chat/completions": chat_request, "/v1/responses": responses_request}
_MAX_BODY = 32 << 20


class ScriptedModel:
    """Serves a script. Leaving the block closes every connection."""

    def __init__(self, script: Script, *, key: str = "", tools: bool = True, structured: bool = True) -> None:
        """`key` is demanded when given; without `tools` or `structured`, requests for them get status 400."""
        self._script = script
        self._key, self._tools, self._structured = key, tools, structured
        self.requests: list[ModelRequest] = []
        self.open = 0
        """Connections at this moment."""
        self.peak = 0
        """Most connections at one time."""
        self.abandoned = 0
        """Connections that the client closed before the reply was complete."""
        self.failures: list[Exception] = []
        """What the script itself raised; the client saw status 500."""
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread: _Thread | None = None
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None, "leave what you have entered"
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def __enter__(self) -> Self:
        self._thread = _Thread(self)
        self._thread.start()
        self._thread.ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is not None:
            self._thread.stop()

    async def idle(self, *, seconds: float = 60.0) -> None:
        """Returns when no connection is open; raises TimeoutError when one stays."""
        async with asyncio.timeout(seconds):
            while self.open:  # noqa: ASYNC110 - the server may run in another thread
                await asyncio.sleep(0.005)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.open += 1
        self.peak = max(self.peak, self.open)
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.abandoned += 1
        except asyncio.CancelledError:
            pass  # the block was left; the stream protocol would report a cancelled connection as an error
        finally:
            self.open -= 1
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await _read(reader)
        if asked is None:
            return
        delivery = self._delivery(*asked)
        sending = asyncio.create_task(_send(writer, delivery))
        leaving = asyncio.create_task(reader.read(1))  # nothing more is due from the client: this is its end
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                self.abandoned += 1
            else:
                sending.result()
        finally:
            for task in (sending, leaving):
                task.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)

    def _delivery(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Delivery:
        if self._key and headers.get("authorization") != f"Bearer {self._key}":
            return problem(401, "invalid_api_key", "Incorrect API key provided.")
        if (method, path) == ("GET", "/v1/models"):
            return _models()
        if method != "POST" or path not in _READERS:
            return problem(404, "not_found", f"Nothing answers to {method} {path}.")
        try:
            request = _READERS[path](headers, json.loads(body))
        except (ValueError, KeyError, TypeError, AttributeError) as wrong:
            return problem(400, "invalid_body", f"The request cannot be read: {wrong!r}")
        self.requests.append(request)
        if request.tools and not self._tools:
            return problem(400, "unsupported", "This model does not support tools.")
        if request.response_format is not None and not self._structured:
            return problem(400, "unsupported", "This model does not support response_format json_schema.")
        return self._reply(request)

    def _reply(self, request: ModelRequest) -> Delivery:
        number = len(self.requests)
        try:
            reply = self._scripted(request, number)
            if isinstance(reply, Fault):
                return broken(reply, request, misbehaving(reply, request), number=number)
            return deliver(request, turn(reply), number=number)
        except Exception as wrong:  # the script is a test's own code: show its mistake on both sides
            self.failures.append(wrong)
            return problem(400, "script_failed", f"The script failed: {wrong!r}")

    def _scripted(self, request: ModelRequest, number: int) -> Reply:
        script = self._script
        if callable(script):
            return script(request)
        if not isinstance(script, list | tuple):
            return script  # type: ignore[return-value]
        if number > len(script):
            raise IndexError(f"the script has {len(script)} replies, and this is request {number}")
        reply: Reply = script[number - 1]
        return reply


class _Thread(threading.Thread):
    def __init__(self, model: ScriptedModel) -> None:
        super().__init__(name="scripted-model", daemon=True)
        self.ready = threading.Event()
        self._model = model
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over: asyncio.Event | None = None

    def run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        async with self._model:
            self.ready.set()
            await self._over.wait()

    def stop(self) -> None:
        if self._loop is not None and self._over is not None:
            self._loop.call_soon_threadsafe(self._over.set)
        self.join()


async def _read(reader: asyncio.StreamReader) -> tuple[str, str, dict[str, str], bytes] | None:
    """Method, path, headers and body; None where the client opened a connection and said nothing."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as over:
        if not over.partial:
            return None
        raise
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    method, target, _ = first.split(" ", 2)
    headers = {n.strip().lower(): v.strip() for n, _, v in (line.partition(":") for line in lines)}
    length = int(headers.get("content-length", 0))
    if length > _MAX_BODY:
        raise ConnectionError("the request is too long")
    return method, target.partition("?")[0], headers, await reader.readexactly(length)


async def _send(writer: asyncio.StreamWriter, delivery: Delivery) -> None:
    """Sends what is to be sent; a stalled delivery never returns."""
    if delivery.raw is not None:
        writer.write(delivery.raw)
    else:
        await _send_response(writer, delivery)
    await writer.drain()
    if delivery.ending == "stalled":
        await asyncio.Event().wait()


async def _send_response(writer: asyncio.StreamWriter, delivery: Delivery) -> None:
    chunked = delivery.kind == "text/event-stream"
    length = delivery.length or sum(len(piece) for piece in delivery.pieces)
    size = {"transfer-encoding": "chunked"} if chunked else {"content-length": str(length)}
    headers = {"content-type": delivery.kind, **size, "connection": "close", **delivery.headers}
    lines = [f"HTTP/1.1 {delivery.status} {HTTPStatus(delivery.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
    framed = [b"%x\r\n%b\r\n" % (len(p), p) for p in delivery.pieces] if chunked else list(delivery.pieces)
    if chunked and delivery.ending == "whole":  # with the last piece: a client hangs up when it has read that
        framed[-1:] = [b"".join((*framed[-1:], b"0\r\n\r\n"))]
    for number, piece in enumerate(framed):
        if number:
            await asyncio.sleep(delivery.pause)
        writer.write(piece)
        await writer.drain()


def _models() -> Delivery:
    model: dict[str, Any] = {"id": MODEL, "object": "model", "created": 1_750_000_000, "owned_by": "octavo"}
    return Delivery(pieces=[json.dumps({"object": "list", "data": [model]}).encode()])
