"""A language model that follows a script, behind a real HTTP server that speaks the OpenAI protocols.

`async with ScriptedModel(script) as model:` listens on a free port of the loopback address; `model.url` is
the base URL to give to a client. It answers `POST /chat/completions` and `POST /responses` (JSON or events)
and `GET /models`. Every request is kept in `model.requests`; `open`, `peak` and `abandoned` count
connections, so that a test can tell whether a program hung up when it should have. `with
ScriptedModel(script) as model:` does the same from a thread of its own, for programs that run their own
event loop.

How a reply goes over the connection: status, headers, pieces, pauses, and how it ends.

A sound turn becomes JSON or server-sent events in the protocol that was spoken. A fault of the connection
becomes the same with something taken away: the status, the end, the JSON, or HTTP itself.
"""

from __future__ import annotations

import asyncio
import json
import random
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, Literal, Self

from octavo.testing import chat_format, responses_format
from octavo.testing.replies import Fault, FaultKind, Reply, Script, Turn, misbehaving, turn
from octavo.testing.request import ModelRequest, chat_request, responses_request

_STATUS = {
    FaultKind.RATE_LIMITED: (429, "rate_limit_exceeded", "Rate limit reached. Please try again later."),
    FaultKind.RATE_LIMITED_BARE: (429, "rate_limit_exceeded", "Too many requests at once."),
    FaultKind.NO_QUOTA: (429, "insufficient_quota", "You exceeded your current quota; check your plan."),
    FaultKind.SERVER_ERROR: (500, "server_error", "The server had an error while processing your request."),
    FaultKind.UNAVAILABLE: (503, "overloaded", "The engine is currently overloaded."),
    FaultKind.UNAUTHORIZED: (401, "invalid_api_key", "Incorrect API key provided."),
    FaultKind.UNKNOWN_MODEL: (
        404,
        "model_not_found",
        "The model does not exist or you have no access to it.",
    ),
}
_PAGE = b"<!doctype html><title>502</title><h1>Bad gateway</h1><script>document.title='x'</script>"


@dataclass(frozen=True, slots=True)
class Delivery:
    """Bytes for one request. `raw` is sent instead of an HTTP response."""

    status: int = 200
    kind: str = "application/json"
    pieces: Sequence[bytes] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    ending: Literal["whole", "cut", "stalled"] = "whole"
    pause: float = 0.0
    raw: bytes | None = None
    length: int = 0
    """Bytes that the headers promise, where less than that is sent."""


def problem(status: int, code: str, message: str) -> Delivery:
    """An error as the endpoints that everyone imitates write it."""
    kind = code if code in ("insufficient_quota", "server_error") else "invalid_request_error"
    return _json({"error": {"message": message, "type": kind, "param": None, "code": code}}, status=status)


def deliver(request: ModelRequest, turn: Turn, *, number: int) -> Delivery:
    protocol = chat_format if request.api == "chat" else responses_format
    if request.stream:
        events = protocol.stream(request, turn, number=number)
        return Delivery(kind="text/event-stream", pieces=[event.encode() for event in events])
    if request.api == "chat":
        return _json(chat_format.completion(request, turn, number=number))
    return _json(responses_format.response(request, turn, number=number))


def broken(fault: Fault, request: ModelRequest, turn: Turn, *, number: int) -> Delivery:
    """The delivery of `turn`, with what the fault does to it: nothing, where the model is to blame."""
    chance = random.Random(fault.seed)
    kind = fault.kind
    if kind in _STATUS:
        made = problem(*_STATUS[kind])
        retry = {"retry-after": f"{fault.seconds:g}"} if kind is FaultKind.RATE_LIMITED else {}
        return replace(made, headers=retry)
    if kind is FaultKind.SILENT:
        return Delivery(raw=b"", ending="stalled")
    if kind is FaultKind.CLOSED:
        return Delivery(raw=b"", ending="cut")
    if kind is FaultKind.GARBAGE:
        return _garbage(chance, request)
    if kind is FaultKind.WRONG_TYPE:
        return Delivery(kind="text/html; charset=utf-8", pieces=[_PAGE])
    if kind is FaultKind.EMPTY_BODY:
        return Delivery(kind="text/event-stream" if request.stream else "application/json")
    if kind is FaultKind.EMPTY_CHOICES:
        return _empty(request, number)
    sound = deliver(request, turn, number=number)
    if kind is FaultKind.SLOW_STREAM:
        return replace(_in_pieces(sound), pause=fault.seconds)
    if kind is FaultKind.INVALID_JSON:
        return _spoiled(sound, chance)
    if kind is FaultKind.CUT_STREAM:
        return _cut(sound, chance, "cut")
    return _cut(sound, chance, "stalled") if kind is FaultKind.STALLED_STREAM else sound


def _json(value: Mapping[str, Any], *, status: int = 200) -> Delivery:
    return Delivery(status=status, pieces=[json.dumps(value, ensure_ascii=False).encode()])


def _garbage(chance: random.Random, request: ModelRequest) -> Delivery:
    """Not HTTP at all, or HTTP around noise."""
    noise = chance.randbytes(chance.randint(1, 4096))
    if chance.random() < 0.5:
        return Delivery(raw=noise, ending="cut")
    return Delivery(kind="text/event-stream" if request.stream else "application/json", pieces=[noise])


def _empty(request: ModelRequest, number: int) -> Delivery:
    if request.api == "responses":
        made = responses_format.without_output(request, number=number)
        event = {"type": "response.completed", "sequence_number": 0, "response": made}
    else:
        made = chat_format.without_choices(request, number=number)
        event = {**made, "object": "chat.completion.chunk"}
    if not request.stream:
        return _json(made)
    pieces = [f"data: {json.dumps(event)}\n\n".encode(), b"data: [DONE]\n\n"]
    return Delivery(kind="text/event-stream", pieces=pieces)


def _in_pieces(sound: Delivery) -> Delivery:
    """At least a few pieces, so that there is something to be slow about, and never more than a dozen."""
    whole = b"".join(sound.pieces)
    size = len(whole) // 8 + 1
    return replace(sound, pieces=[whole[at : at + size] for at in range(0, len(whole), size)])


def _spoiled(sound: Delivery, chance: random.Random) -> Delivery:
    """Complete as HTTP, but a brace or a quote is missing somewhere in every object."""
    gone = chance.choice((b'"choices"', b'"id"', b'"object"'))
    return replace(sound, pieces=[piece.replace(gone, gone[:-1], 1) for piece in sound.pieces])


def _cut(sound: Delivery, chance: random.Random, ending: Literal["cut", "stalled"]) -> Delivery:
    whole = b"".join(sound.pieces)
    sent = whole[: max(1, int(len(whole) * chance.uniform(0.05, 0.95)))]
    return replace(sound, pieces=[sent], ending=ending, length=len(whole))


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
