"""A language model that follows a script, behind a real HTTP server that speaks the OpenAI protocols.

`async with ScriptedModel(script) as model:` listens on a free port of the loopback address; `model.url` is
the base URL to give to a client. It answers `POST /chat/completions` and `POST /responses` (JSON or events)
and `GET /models`. `model.requests` keeps every request; `open`, `peak` and `abandoned` count connections, so
that a test can check that a program hung up when it should have.

`with ScriptedModel(script) as model:` serves from a thread of its own, for programs that run their own event
loop.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from http import HTTPStatus
from typing import Self

from octavo.testing.delivery import HttpReply, apply_fault, deliver, make_json, make_problem
from octavo.testing.replies import Fault, Reply, Script, make_turn, misbehave
from octavo.testing.request import ModelRequest, read_chat_request, read_responses_request

MODEL = "scripted-1"
_READERS = {"/v1/chat/completions": read_chat_request, "/v1/responses": read_responses_request}
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
        self._thread: _ServerThread | None = None
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
        self._thread = _ServerThread(self)
        self._thread.start()
        self._thread.ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is not None:
            self._thread.stop()

    async def wait_until_idle(self, *, seconds: float = 60.0) -> None:
        """Return when no connection is open; raise TimeoutError when one stays."""
        async with asyncio.timeout(seconds):
            # The server may run in another thread, so there is no event to wait for.
            while self.open:  # noqa: ASYNC110
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
            # The block was left. The stream protocol would report a cancelled connection as an error.
            pass
        finally:
            self.open -= 1
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await _read_request(reader)
        if request is None:
            return
        reply = self._choose_reply(*request)
        sending = asyncio.create_task(_send_reply(writer, reply))
        # The client has sent all it had to send, so this read ends when the client hangs up.
        leaving = asyncio.create_task(reader.read(1))
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

    def _choose_reply(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> HttpReply:
        if self._key and headers.get("authorization") != f"Bearer {self._key}":
            return make_problem(401, "invalid_api_key", "Incorrect API key provided.")
        if (method, path) == ("GET", "/v1/models"):
            return _list_models()
        if method != "POST" or path not in _READERS:
            return make_problem(404, "not_found", f"Nothing answers to {method} {path}.")
        try:
            request = _READERS[path](headers, json.loads(body))
        except (ValueError, KeyError, TypeError, AttributeError) as wrong:
            return make_problem(400, "invalid_body", f"The request cannot be read: {wrong!r}")
        self.requests.append(request)
        if request.tools and not self._tools:
            return make_problem(400, "unsupported", "This model does not support tools.")
        if request.response_format is not None and not self._structured:
            return make_problem(
                400, "unsupported", "This model does not support response_format json_schema."
            )
        return self._follow_script(request)

    def _follow_script(self, request: ModelRequest) -> HttpReply:
        number = len(self.requests)
        try:
            reply = self._next_reply(request, number)
            if isinstance(reply, Fault):
                return apply_fault(reply, request, misbehave(reply, request), number=number)
            return deliver(request, make_turn(reply), number=number)
        except Exception as wrong:
            # The script is a test's own code: show its mistake on both sides.
            self.failures.append(wrong)
            return make_problem(400, "script_failed", f"The script failed: {wrong!r}")

    def _next_reply(self, request: ModelRequest, number: int) -> Reply:
        script = self._script
        if callable(script):
            return script(request)
        if not isinstance(script, list | tuple):
            return script  # type: ignore[return-value]
        if number > len(script):
            raise IndexError(f"the script has {len(script)} replies, and this is request {number}")
        reply: Reply = script[number - 1]
        return reply


class _ServerThread(threading.Thread):
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


async def _read_request(reader: asyncio.StreamReader) -> tuple[str, str, dict[str, str], bytes] | None:
    """Read method, path, headers and body; None where the client opened a connection and sent nothing."""
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


async def _send_reply(writer: asyncio.StreamWriter, reply: HttpReply) -> None:
    """Send the reply; one that stalls never returns."""
    if reply.raw is not None:
        writer.write(reply.raw)
    else:
        await _send_response(writer, reply)
    await writer.drain()
    if reply.ending == "stalled":
        await asyncio.Event().wait()


async def _send_response(writer: asyncio.StreamWriter, reply: HttpReply) -> None:
    chunked = reply.kind == "text/event-stream"
    length = reply.length or sum(len(piece) for piece in reply.pieces)
    size = {"transfer-encoding": "chunked"} if chunked else {"content-length": str(length)}
    headers = {"content-type": reply.kind, **size, "connection": "close", **reply.headers}
    lines = [f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
    framed = [b"%x\r\n%b\r\n" % (len(p), p) for p in reply.pieces] if chunked else list(reply.pieces)
    if chunked and reply.ending == "whole":
        # The end goes with the last piece: a client hangs up when it has read that.
        framed[-1:] = [b"".join((*framed[-1:], b"0\r\n\r\n"))]
    for number, piece in enumerate(framed):
        if number:
            await asyncio.sleep(reply.pause)
        writer.write(piece)
        await writer.drain()


def _list_models() -> HttpReply:
    model = {"id": MODEL, "object": "model", "created": 1_750_000_000, "owned_by": "octavo"}
    return make_json({"object": "list", "data": [model]})
