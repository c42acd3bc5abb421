"""Chat Completions as an OpenAI-compatible endpoint writes them: one JSON object, or a stream of chunks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from octavo.testing.replies import ModelTurn
    from octavo.testing.request import ModelRequest

CREATED = 1_750_000_000
# Characters of text in one event of a stream, and the most events of one text.
PIECE, MOST_PIECES = 24, 16


def count_tokens(text: str) -> int:
    """Estimate the tokens, the same on every machine: four characters are a token."""
    return len(text) // 4 + 1


def count_usage(request: ModelRequest, turn: ModelTurn) -> dict[str, Any]:
    read = count_tokens(request.text)
    written = count_tokens(turn.text + "".join(call.arguments_text for call in turn.calls))
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def write_completion(request: ModelRequest, turn: ModelTurn, *, number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
    if turn.calls:
        message["tool_calls"] = _list_calls(turn, number)
    message["refusal" if turn.refusal else "content"] = turn.text or None if turn.calls else turn.text
    choice = {"index": 0, "message": message, "finish_reason": _choose_finish(turn), "logprobs": None}
    frame = _make_frame(request, number, "chat.completion", [choice])
    return {**frame, "usage": count_usage(request, turn)}


def write_stream(request: ModelRequest, turn: ModelTurn, *, number: int) -> Iterator[str]:
    """Server-sent events, the last of them `[DONE]`."""
    yield _write_event(request, number, {"role": "assistant", "content": ""})
    kind = "refusal" if turn.refusal else "content"
    for piece in split_text(turn.text):
        yield _write_event(request, number, {kind: piece})
    for index, call in enumerate(_list_calls(turn, number)):
        function = {"name": call["function"]["name"], "arguments": ""}
        opened = {"index": index, "id": call["id"], "type": "function", "function": function}
        yield _write_event(request, number, {"tool_calls": [opened]})
        for piece in split_text(call["function"]["arguments"]):
            more = {"index": index, "function": {"arguments": piece}}
            yield _write_event(request, number, {"tool_calls": [more]})
    yield _write_event(request, number, {}, finish=_choose_finish(turn))
    if request.wants_usage:
        last = _make_frame(request, number, "chat.completion.chunk", [])
        yield _write_data({**last, "usage": count_usage(request, turn)})
    yield "data: [DONE]\n\n"


def write_without_choices(request: ModelRequest, *, number: int) -> dict[str, Any]:
    return _make_frame(request, number, "chat.completion", [])


def split_text(text: str) -> list[str]:
    size = max(PIECE, -(-len(text) // MOST_PIECES))
    return [text[at : at + size] for at in range(0, len(text), size)]


def _list_calls(turn: ModelTurn, number: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"call_{number}_{index}",
            "type": "function",
            "function": {"name": call.tool, "arguments": call.arguments_text},
        }
        for index, call in enumerate(turn.calls)
    ]


def _choose_finish(turn: ModelTurn) -> str:
    return "tool_calls" if turn.calls and turn.finish == "stop" else turn.finish


def _make_frame(
    request: ModelRequest, number: int, kind: str, choices: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{number}",
        "object": kind,
        "created": CREATED,
        "model": request.model,
        "choices": choices,
    }


def _write_event(
    request: ModelRequest, number: int, delta: dict[str, Any], *, finish: str | None = None
) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    return _write_data(_make_frame(request, number, "chat.completion.chunk", [choice]))


def _write_data(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"
