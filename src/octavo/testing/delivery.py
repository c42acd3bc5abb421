"""How a reply goes over the connection: status, headers, pieces, pauses, and how it ends.

A sound turn becomes JSON or server-sent events in the protocol that was spoken. A fault of the connection
becomes the same with something taken away: the status, the end, the JSON, or HTTP itself.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from octavo.testing import chat_format, responses_format
from octavo.testing.replies import Fault, FaultKind, ModelTurn

if TYPE_CHECKING:
    from octavo.testing.request import ModelRequest

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
class HttpReply:
    """The bytes that answer one request. `raw` is sent instead of an HTTP response."""

    status: int = 200
    kind: str = "application/json"
    pieces: Sequence[bytes] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    ending: Literal["whole", "cut", "stalled"] = "whole"
    pause: float = 0.0
    raw: bytes | None = None
    length: int = 0
    """Bytes that the headers promise, where less than that is sent."""


def make_problem(status: int, code: str, message: str) -> HttpReply:
    """Write an error as OpenAI's endpoints do."""
    kind = code if code in ("insufficient_quota", "server_error") else "invalid_request_error"
    return make_json(
        {"error": {"message": message, "type": kind, "param": None, "code": code}}, status=status
    )


def deliver(request: ModelRequest, turn: ModelTurn, *, number: int) -> HttpReply:
    protocol = chat_format if request.api == "chat" else responses_format
    if request.stream:
        events = protocol.write_stream(request, turn, number=number)
        return HttpReply(kind="text/event-stream", pieces=[event.encode() for event in events])
    if request.api == "chat":
        return make_json(chat_format.write_completion(request, turn, number=number))
    return make_json(responses_format.write_response(request, turn, number=number))


def apply_fault(fault: Fault, request: ModelRequest, turn: ModelTurn, *, number: int) -> HttpReply:
    """Deliver `turn` with what the fault does to it: nothing, where the fault is the model's own."""
    chance = random.Random(fault.seed)
    kind = fault.kind
    if kind in _STATUS:
        reply = make_problem(*_STATUS[kind])
        retry = {"retry-after": f"{fault.seconds:g}"} if kind is FaultKind.RATE_LIMITED else {}
        return replace(reply, headers=retry)
    if kind is FaultKind.SILENT:
        return HttpReply(raw=b"", ending="stalled")
    if kind is FaultKind.CLOSED:
        return HttpReply(raw=b"", ending="cut")
    if kind is FaultKind.GARBAGE:
        return _make_garbage(chance, request)
    if kind is FaultKind.WRONG_TYPE:
        return HttpReply(kind="text/html; charset=utf-8", pieces=[_PAGE])
    if kind is FaultKind.EMPTY_BODY:
        return HttpReply(kind="text/event-stream" if request.stream else "application/json")
    if kind is FaultKind.EMPTY_CHOICES:
        return _make_empty(request, number)
    sound = deliver(request, turn, number=number)
    if kind is FaultKind.SLOW_STREAM:
        return replace(_split(sound), pause=fault.seconds)
    if kind is FaultKind.INVALID_JSON:
        return _spoil(sound, chance)
    if kind is FaultKind.CUT_STREAM:
        return _cut(sound, chance, "cut")
    return _cut(sound, chance, "stalled") if kind is FaultKind.STALLED_STREAM else sound


def make_json(value: Mapping[str, Any], *, status: int = 200) -> HttpReply:
    return HttpReply(status=status, pieces=[json.dumps(value, ensure_ascii=False).encode()])


def _make_garbage(chance: random.Random, request: ModelRequest) -> HttpReply:
    """Send no HTTP at all, or HTTP around noise."""
    noise = chance.randbytes(chance.randint(1, 4096))
    if chance.random() < 0.5:
        return HttpReply(raw=noise, ending="cut")
    return HttpReply(kind="text/event-stream" if request.stream else "application/json", pieces=[noise])


def _make_empty(request: ModelRequest, number: int) -> HttpReply:
    if request.api == "responses":
        body = responses_format.write_without_output(request, number=number)
        event = {"type": "response.completed", "sequence_number": 0, "response": body}
    else:
        body = chat_format.write_without_choices(request, number=number)
        event = {**body, "object": "chat.completion.chunk"}
    if not request.stream:
        return make_json(body)
    pieces = [f"data: {json.dumps(event)}\n\n".encode(), b"data: [DONE]\n\n"]
    return HttpReply(kind="text/event-stream", pieces=pieces)


def _split(sound: HttpReply) -> HttpReply:
    """Split into a few pieces, so that there is something to be slow about, and never more than a dozen."""
    whole = b"".join(sound.pieces)
    size = len(whole) // 8 + 1
    return replace(sound, pieces=[whole[at : at + size] for at in range(0, len(whole), size)])


def _spoil(sound: HttpReply, chance: random.Random) -> HttpReply:
    """Keep the HTTP complete, and drop a quote somewhere in every object."""
    gone = chance.choice((b'"choices"', b'"id"', b'"object"'))
    return replace(sound, pieces=[piece.replace(gone, gone[:-1], 1) for piece in sound.pieces])


def _cut(sound: HttpReply, chance: random.Random, ending: Literal["cut", "stalled"]) -> HttpReply:
    whole = b"".join(sound.pieces)
    sent = whole[: max(1, int(len(whole) * chance.uniform(0.05, 0.95)))]
    return replace(sound, pieces=[sent], ending=ending, length=len(whole))
