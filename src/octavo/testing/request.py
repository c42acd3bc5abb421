"""What a program asked of a scripted model, in one shape for both protocols.

The raw body and headers are there too, so that a test can look at anything. `sentences` is what the program
showed of its sources: every short id such as `s12`, with the text that stood behind it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

_SHOWN = re.compile(
    r"^\W{0,8}(?P<id>s\d{1,5})\b[\]\)>:|.–—-]*\s+(?P<text>\S.*?)\s*(?:</s\d+>)?$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """A message of the conversation so far."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the program's tool gave back for one of the model's calls."""

    call_id: str
    tool: str
    arguments: str
    text: str


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request for a completion."""

    api: Literal["chat", "responses"]
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    model: str = ""
    stream: bool = False
    messages: tuple[ModelMessage, ...] = ()
    tools: tuple[str, ...] = ()
    tool_results: tuple[ToolResult, ...] = ()
    response_format: Mapping[str, Any] | None = None
    """The JSON schema that the answer should follow, or the whole field where it has no schema."""
    wants_usage: bool = field(default=True)

    @property
    def system(self) -> str:
        return "\n".join(m.text for m in self.messages if m.role in ("system", "developer"))

    @property
    def question(self) -> str:
        """What the user said last."""
        return next((m.text for m in reversed(self.messages) if m.role == "user"), "")

    @property
    def text(self) -> str:
        """Everything the model gets to read."""
        return "\n".join([*(m.text for m in self.messages), *(r.text for r in self.tool_results)])

    @property
    def sentences(self) -> dict[str, str]:
        """The sentences shown with short ids (`s12: …`, `[s12] …`, or in JSON), by id."""
        shown = [m.text for m in self.messages if m.role == "user"] + [r.text for r in self.tool_results]
        return {id_: said for text in shown for id_, said in _find_sentences(text)}


def _find_sentences(text: str) -> Iterator[tuple[str, str]]:
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    if isinstance(value, str):
        yield from ((found["id"], found["text"]) for found in _SHOWN.finditer(value))
    else:
        yield from _find_in_json(value)


def _find_in_json(value: Any) -> Iterator[tuple[str, str]]:
    """Sentences anywhere in JSON: objects with `id` and `text`, or keys that are ids."""
    if isinstance(value, dict):
        if isinstance(value.get("id"), str) and isinstance(value.get("text"), str):
            yield value["id"], value["text"]
        for key, item in value.items():
            if re.fullmatch(r"s\d+", key) and isinstance(item, str):
                yield key, item
            else:
                yield from _find_in_json(item)
    elif isinstance(value, list):
        for item in value:
            yield from _find_in_json(item)
    elif isinstance(value, str) and len(value) > 3:
        yield from ((found["id"], found["text"]) for found in _SHOWN.finditer(value))


def read_chat_request(headers: Mapping[str, str], body: Mapping[str, Any]) -> ModelRequest:
    """Reads the body of `POST /v1/chat/completions`."""
    messages = body.get("messages") or []
    calls = {c["id"]: c["function"] for m in messages for c in m.get("tool_calls") or []}
    results = tuple(
        _make_result(m.get("tool_call_id", ""), calls, _join_text(m.get("content")))
        for m in messages
        if m["role"] == "tool"
    )
    wanted = body.get("response_format")
    return ModelRequest(
        api="chat",
        headers=headers,
        body=body,
        model=body.get("model", ""),
        stream=bool(body.get("stream")),
        messages=tuple(
            ModelMessage(m["role"], _join_text(m.get("content"))) for m in messages if m["role"] != "tool"
        ),
        tools=tuple(t["function"]["name"] for t in body.get("tools") or []),
        tool_results=results,
        response_format=_get_schema(wanted.get("json_schema") or wanted) if wanted else None,
        wants_usage=bool((body.get("stream_options") or {}).get("include_usage")),
    )


def read_responses_request(headers: Mapping[str, str], body: Mapping[str, Any]) -> ModelRequest:
    """Reads the body of `POST /v1/responses`."""
    given = body.get("input") or []
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    calls = {i["call_id"]: i for i in items if i.get("type") == "function_call"}
    results = tuple(
        _make_result(i["call_id"], calls, _join_text(i.get("output")))
        for i in items
        if i.get("type") == "function_call_output"
    )
    spoken = [ModelMessage(i["role"], _join_text(i.get("content"))) for i in items if "role" in i]
    instructions = [ModelMessage("system", body["instructions"])] if body.get("instructions") else []
    wanted = (body.get("text") or {}).get("format")
    return ModelRequest(
        api="responses",
        headers=headers,
        body=body,
        model=body.get("model", ""),
        stream=bool(body.get("stream")),
        messages=(*instructions, *spoken),
        tools=tuple(t["name"] for t in body.get("tools") or [] if t.get("type") == "function"),
        tool_results=results,
        response_format=_get_schema(wanted) if wanted and wanted.get("type") != "text" else None,
    )


def _get_schema(wanted: Mapping[str, Any]) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = wanted.get("schema") or wanted
    return schema


def _make_result(call_id: str, calls: Mapping[str, Mapping[str, Any]], text: str) -> ToolResult:
    call = calls.get(call_id, {})
    return ToolResult(call_id, call.get("name", ""), call.get("arguments", ""), text)


def _join_text(content: Any) -> str:
    """A message's words: a string, or parts of which some are text."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part.get("text") or part.get("refusal") or "" for part in content)
