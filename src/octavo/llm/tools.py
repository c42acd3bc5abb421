"""The tools that a language model may call. Each searches or reads one workspace, and nothing else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from octavo.answers.identity import find_described
from octavo.answers.lists import read_list
from octavo.answers.overview import find_part, tell_part
from octavo.answers.workspace import FOUND_MOST, LISTED_MOST, QUERY_MOST, Workspace
from octavo.errors import NotFound
from octavo.llm import prompts

if TYPE_CHECKING:
    from agents import FunctionTool


@dataclass(slots=True)
class ToolBudget:
    """How many times tools were called, and how many times they may be."""

    most: int
    seconds: float
    made: int = 0


def make_tools(workspace: Workspace, calls: ToolBudget, *, nonce: str) -> list[FunctionTool]:
    """Make the tools that search and read this workspace."""
    work: Mapping[str, Callable[[Mapping[str, Any]], Awaitable[str]]] = {
        "search_book": lambda given: _search(workspace, given, nonce),
        "read_section": lambda given: _read_section(workspace, given, nonce),
        "list_contents": lambda given: _list_contents(workspace, given, nonce),
        "look_up_name": lambda given: _look_up_name(workspace, given, nonce),
        "read_gist": lambda given: _read_gist(workspace, given, nonce),
        "read_list": lambda given: _read_list(workspace, given, nonce),
    }
    return [make_tool(name, work[name], calls) for name in prompts.TOOL_NAMES]


async def _search(workspace: Workspace, given: Mapping[str, Any], nonce: str) -> str:
    query = str(given.get("query") or "").strip()[:QUERY_MOST]
    if not query:
        return "Give a `query`."
    wanted = given.get("top_k")
    top_k = min(FOUND_MOST, max(1, wanted)) if isinstance(wanted, int) else 5
    workspace.report("searching", query)
    return prompts.format_passages(await workspace.search(query, top_k=top_k), nonce)


async def _read_section(workspace: Workspace, given: Mapping[str, Any], nonce: str) -> str:
    name, around = str(given.get("section") or "")[:QUERY_MOST], str(given.get("around") or "")
    workspace.report("reading", name)
    return prompts.format_passages(await workspace.section(name, around=around), nonce)


async def _list_contents(workspace: Workspace, given: Mapping[str, Any], nonce: str) -> str:  # noqa: ARG001
    workspace.report("reading", "the contents")
    listed = await workspace.contents()
    more = [f"… and {len(listed) - LISTED_MOST} more"] if len(listed) > LISTED_MOST else []
    return prompts.mark_as_book_text([*listed[:LISTED_MOST], *more], nonce)


async def _look_up_name(workspace: Workspace, given: Mapping[str, Any], nonce: str) -> str:
    name = str(given.get("name") or "").strip()[:QUERY_MOST]
    workspace.report("reading", name)
    described = await find_described(name, workspace) if name else {}
    return prompts.format_passages(described, nonce)


async def _read_gist(workspace: Workspace, given: Mapping[str, Any], nonce: str) -> str:
    name = str(given.get("part") or "").strip()[:QUERY_MOST]
    workspace.report("reading", name)
    part = await find_part(name or "the book", workspace)
    if part is None:
        return "There is no such part here. `list_contents` shows the parts."
    ids = {id_ for claim in (await tell_part(part, workspace)).claims for id_ in claim.sentences}
    return prompts.format_passages([sentence for sentence in workspace if sentence.id in ids], nonce)


async def _read_list(workspace: Workspace, given: Mapping[str, Any], nonce: str) -> str:
    id_ = str(given.get("sentence") or "").strip()
    sentence = next((sentence for sentence in workspace if sentence.id == id_), None)
    if sentence is None:
        return "Give the id of a `sentence` that you were shown, such as s12."
    workspace.report("reading", "a list")
    listed, left_out = await read_list(sentence, workspace)
    more = f"… {left_out} more item{'' if left_out == 1 else 's'}" if left_out else ""
    return prompts.format_passages(listed, nonce, more=more)


_WHAT = {
    "search_book": (
        "Finds the passages of the book that fit a query best.",
        {"query": {"type": "string"}, "top_k": {"type": "integer", "description": "1 to 10"}},
    ),
    "read_section": (
        "Reads a section by its title, or what stands around a sentence.",
        {
            "section": {
                "type": "string",
                "description": "its title, or empty with `around`",
            },
            "around": {"type": "string", "description": "id of a sentence such as s12, or empty"},
        },
    ),
    "list_contents": ("Lists the sections of the book.", {}),
    "look_up_name": (
        "Reads where the book defines, describes and introduces a person, place, thing or term.",
        {"name": {"type": "string"}},
    ),
    "read_gist": (
        "Reads the sentences that say most of a part, in order.",
        {"part": {"type": "string", "description": 'such as "chapter 3", a title, "the end", "the book"'}},
    ),
    "read_list": (
        "Reads a list with the words that lead in to it. Of a very long one, says how many items are left.",
        {
            "sentence": {
                "type": "string",
                "description": "id of an item or of the lead-in, such as s12",
            }
        },
    ),
}


def make_tool(
    name: str, work: Callable[[Mapping[str, Any]], Awaitable[str]], calls: ToolBudget
) -> FunctionTool:
    """Make one of the tools. If the model calls it wrongly, the result says so."""
    from agents import FunctionTool

    async def invoke(context: Any, arguments: str) -> str:  # noqa: ARG001
        if calls.made >= calls.most:
            return "There are no calls left. Answer now from what you have read."
        calls.made += 1
        try:
            given = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            return "The arguments were not JSON."
        if not isinstance(given, dict):
            return "The arguments were not a JSON object."
        try:
            async with asyncio.timeout(calls.seconds):
                return await work(given)
        except NotFound as missing:
            near = ", ".join(missing.nearest)
            return f"There is no such section here. The nearest: {json.dumps(near, ensure_ascii=False)}"
        except TimeoutError:
            return "This took too long."

    said, properties = _WHAT[name]
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return FunctionTool(name=name, description=said, params_json_schema=schema, on_invoke_tool=invoke)
