"""The Responses protocol as an OpenAI-compatible endpoint writes it: one JSON object, or typed events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from octavo.testing import chat_format
from octavo.testing.replies import ModelTurn

if TYPE_CHECKING:
    from octavo.testing.request import ModelRequest

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


def write_response(request: ModelRequest, turn: ModelTurn, *, number: int) -> dict[str, Any]:
    return _make_frame(request, turn, number, output=_list_items(turn, number), status=_choose_status(turn))


def write_without_output(request: ModelRequest, *, number: int) -> dict[str, Any]:
    return _make_frame(request, ModelTurn(), number, output=[], status="completed")


def write_stream(request: ModelRequest, turn: ModelTurn, *, number: int) -> Iterator[str]:
    """Server-sent events from `response.created` to `response.completed` (or `.incomplete`)."""
    opened = _make_frame(request, turn, number, output=[], status="in_progress")
    events = [("response.created", {"response": opened}), ("response.in_progress", {"response": opened})]
    for index, item in enumerate(_list_items(turn, number)):
        events += (
            _list_message_events(item, index) if item["type"] == "message" else _list_call_events(item, index)
        )
    status = _choose_status(turn)
    events.append((f"response.{status}", {"response": write_response(request, turn, number=number)}))
    for sequence, (kind, value) in enumerate(events):
        data = json.dumps({"type": kind, "sequence_number": sequence, **value}, ensure_ascii=False)
        yield f"event: {kind}\ndata: {data}\n\n"


def _list_message_events(item: dict[str, Any], index: int) -> list[tuple[str, dict[str, Any]]]:
    (part,) = item["content"]
    field, kind = ("refusal", "refusal") if part["type"] == "refusal" else ("text", "output_text")
    place = {"item_id": item["id"], "output_index": index, "content_index": 0}
    extra: dict[str, Any] = {} if field == "refusal" else {"logprobs": []}
    deltas = [
        (f"response.{kind}.delta", {**place, "delta": piece, **extra})
        for piece in chat_format.split_text(part[field])
    ]
    empty = {**item, "status": "in_progress", "content": []}
    return [
        ("response.output_item.added", {"output_index": index, "item": empty}),
        ("response.content_part.added", {**place, "part": {**part, field: ""}}),
        *deltas,
        (f"response.{kind}.done", {**place, field: part[field], **extra}),
        ("response.content_part.done", {**place, "part": part}),
        ("response.output_item.done", {"output_index": index, "item": item}),
    ]


def _list_call_events(item: dict[str, Any], index: int) -> list[tuple[str, dict[str, Any]]]:
    kind = "response.function_call_arguments"
    place = {"item_id": item["id"], "output_index": index}
    deltas = [
        (f"{kind}.delta", {**place, "delta": piece}) for piece in chat_format.split_text(item["arguments"])
    ]
    empty = {**item, "status": "in_progress", "arguments": ""}
    return [
        ("response.output_item.added", {"output_index": index, "item": empty}),
        *deltas,
        (f"{kind}.done", {**place, "name": item["name"], "arguments": item["arguments"]}),
        ("response.output_item.done", {"output_index": index, "item": item}),
    ]


def _list_items(turn: ModelTurn, number: int) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if turn.text or not turn.calls:
        part: dict[str, Any] = {"type": "output_text", "text": turn.text, "annotations": [], "logprobs": []}
        if turn.refusal:
            part = {"type": "refusal", "refusal": turn.text}
        status = "completed" if turn.finish == "stop" else "incomplete"
        head = {"id": f"msg_{number}", "type": "message", "role": "assistant", "status": status}
        items.append({**head, "content": [part]})
    for index, call in enumerate(turn.calls):
        head = {"id": f"fc_{number}_{index}", "type": "function_call", "status": "completed"}
        asked = {"call_id": f"call_{number}_{index}", "name": call.tool, "arguments": call.arguments_text}
        items.append({**head, **asked})
    return items


def _choose_status(turn: ModelTurn) -> str:
    return "completed" if turn.finish == "stop" else "incomplete"


def _make_frame(
    request: ModelRequest, turn: ModelTurn, number: int, *, output: list[dict[str, Any]], status: str
) -> dict[str, Any]:
    body = request.body
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": chat_format.CREATED,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": _INCOMPLETE[turn.finish]} if status == "incomplete" else None,
        "instructions": body.get("instructions"),
        "metadata": {},
        "model": request.model,
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": body.get("tools") or [],
        "top_p": 1.0,
        "text": body.get("text") or {"format": {"type": "text"}},
        "usage": None if status == "in_progress" else _count_usage(request, turn),
    }


def _count_usage(request: ModelRequest, turn: ModelTurn) -> dict[str, Any]:
    counted = chat_format.count_usage(request, turn)
    return {
        "input_tokens": counted["prompt_tokens"],
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": counted["completion_tokens"],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": counted["total_tokens"],
    }
