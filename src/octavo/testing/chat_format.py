"""Chat Completions as an OpenAI-compatible endpoint writes them: one JSON object, or a stream of chunks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from octavo.testing.replies import Turn
    from octavo.testing.request import ModelRequest

CREATED = 1_750_000_000
PIECE, MOST_PIECES = 24, 16  # characters of text in one event of a stream; events of one text


def tokens(text: str) -> int:
    """A plain estimate, the same on every machine: four characters are a token."""
    return len(text) // 4 + 1


def usage(request: ModelRequest, turn: Turn) -> dict[str, Any]:
    read = tokens(request.text)
    written = tokens(turn.text + "".join(call.written for call in turn.calls))
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def completion(request: ModelRequest, turn: Turn, *, number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
    if turn.calls:
        message["tool_calls"] = _calls(turn, number)
    message["refusal" if turn.refusal else "content"] = turn.text or None if turn.calls else turn.text
    choice = {"index": 0, "message": message, "finish_reason": _finish(turn), "logprobs": None}
    made = _frame(request, number, "chat.completion", [choice])
    return {**made, "usage": usage(request, turn)}


def stream(request: ModelRequest, turn: Turn, *, number: int) -> Iterator[str]:
    """Server-sent events, the last of them `[DONE]`."""
    yield _event(request, number, {"role": "assistant", "content": ""})
    kind = "refusal" if turn.refusal else "content"
    for piece in pieces(turn.text):
        yield _event(request, number, {kind: piece})
    for index, call in enumerate(_calls(turn, number)):
        function = {"name": call["function"]["name"], "arguments": ""}
        opened = {"index": index, "id": call["id"], "type": "function", "function": function}
        yield _event(request, number, {"tool_calls": [opened]})
        for piece in pieces(call["function"]["arguments"]):
            more = {"index": index, "function": {"arguments": piece}}
            yield _event(request, number, {"tool_calls": [more]})
    yield _event(request, number, {}, finish=_finish(turn))
    if request.wants_usage:
        last = _frame(request, number, "chat.completion.chunk", [])
        yield _data({**last, "usage": usage(request, turn)})
    yield "data: [DONE]\n\n"


def without_choices(request: ModelRequest, *, number: int) -> dict[str, Any]:
    return _frame(request, number, "chat.completion", [])


def pieces(text: str) -> list[str]:
    size = max(PIECE, -(-len(text) // MOST_PIECES))
    return [text[at : at + size] for at in range(0, len(text), size)]


def _calls(turn: Turn, number: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"call_{number}_{index}",
            "type": "function",
            "function": {"name": call.tool, "arguments": call.written},
        }
        for index, call in enumerate(turn.calls)
    ]


def _finish(turn: Turn) -> str:
    return "tool_calls" if turn.calls and turn.finish == "stop" else turn.finish


def _frame(request: ModelRequest, number: int, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{number}",
        "object": kind,
        "created": CREATED,
        "model": request.model,
        "choices": choices,
    }


def _event(request: ModelRequest, number: int, delta: dict[str, Any], *, finish: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    return _data(_frame(request, number, "chat.completion.chunk", [choice]))


def _data(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"
