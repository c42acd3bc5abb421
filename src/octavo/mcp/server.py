"""The protocol around the tools: calls come in, are checked, done and reported, over stdio or HTTP.

An error of ours is a tool error with its message and its hint, which a model can act upon; a bug is reported
by its class name only. A call that is cancelled, or whose caller has left, stops at once. HTTP keeps no state
between requests, so any instance can take the next one, and clients do not notice a restart.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp.types import Tool as DescribedTool
from pydantic import ValidationError
from starlette.types import Receive, Scope, Send

from octavo import __version__
from octavo.errors import NotFound, OctavoError, hide_paths
from octavo.library import Library
from octavo.mcp import descriptions, tools
from octavo.mcp.arguments import (
    NEW,
    Arguments,
    AskBook,
    ListBooks,
    MapBook,
    ReadSection,
    SearchBook,
    VerifyAnswer,
)
from octavo.mcp.stdin import StdinLines
from octavo.mcp.tools import ToolCall, Visitor
from octavo.schemas import Schema
from octavo.schemas.tools import ToolAnswer, ToolBooks, ToolMap, ToolPassages, ToolReading, ToolVerification

log = logging.getLogger("octavo.mcp")
Context = ServerRequestContext[Any, Any]
FindVisitor = Callable[[Any], Visitor]
_HINTS = {
    "book": "`list_books` shows the books.",
    "name": "`map_book` without `name` lists the names.",
    "section": "`list_books` with `book` shows its sections.",
    "tag": "`list_books` shows the tags of each book.",
    "answer": "`ask_book` gives each answer its `answer_id`.",
    "session": f'`ask_book` with `session_id` "{NEW}" begins one.',
}


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as assistants see it: its texts, its arguments, its result."""

    title: str
    description: str
    arguments: type[Arguments]
    result: type[Schema]
    run: tools.Tool


DEFINITIONS = {
    "list_books": ToolDefinition(
        "List books", descriptions.LIST_BOOKS, ListBooks, ToolBooks, tools.list_books
    ),
    "search_book": ToolDefinition(
        "Search books", descriptions.SEARCH_BOOK, SearchBook, ToolPassages, tools.search_book
    ),
    "read_section": ToolDefinition(
        "Read a section", descriptions.READ_SECTION, ReadSection, ToolReading, tools.read_section
    ),
    "map_book": ToolDefinition("Map a book", descriptions.MAP_BOOK, MapBook, ToolMap, tools.map_book),
    "ask_book": ToolDefinition("Ask books", descriptions.ASK_BOOK, AskBook, ToolAnswer, tools.ask_book),
    "verify_answer": ToolDefinition(
        "Verify an answer", descriptions.VERIFY_ANSWER, VerifyAnswer, ToolVerification, tools.verify_answer
    ),
}


def make_server(library: Library, *, find_visitor: FindVisitor) -> Server[Any]:
    """Make the server of one library. `find_visitor` says who sent an HTTP request; on stdio it gets None."""
    offered = ListToolsResult(tools=[_describe(name, tool) for name, tool in DEFINITIONS.items()])
    schemas = {tool.name: tool.input_schema for tool in offered.tools}

    async def list_tools(_context: Context, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return offered.model_copy()

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
        tool = DEFINITIONS.get(params.name)
        if tool is None:
            known = ", ".join(DEFINITIONS)
            raise MCPError(INVALID_PARAMS, f"no tool {params.name!r} here; there are: {known}")
        call = ToolCall(library, find_visitor(context.request), _make_report(context))
        return await _run(tool, params.arguments or {}, call)

    return Server(
        "octavo",
        title="Octavo",
        version=__version__,
        instructions=descriptions.INSTRUCTIONS,
        get_tool_input_schema=schemas.get,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _describe(name: str, tool: ToolDefinition) -> DescribedTool:
    return DescribedTool(
        name=name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.arguments.model_json_schema(),
        output_schema=tool.result.model_json_schema(mode="serialization"),
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
    )


def _make_report(context: Context) -> tools.Report:
    count = 0

    async def report(message: str) -> None:
        nonlocal count
        count += 1
        await context.session.report_progress(count, message=message)

    return report


async def _run(tool: ToolDefinition, arguments: dict[str, Any], call: ToolCall) -> CallToolResult:
    try:
        result = await tool.run(tool.arguments.model_validate(arguments), call)
    except ValidationError as wrong:
        return _fail(_describe_mistakes(wrong), "The tool's schema says what it takes.", "invalid_request")
    except OctavoError as error:
        said, hint = hide_paths(error, folder=call.library.settings.data)
        if isinstance(error, NotFound):
            hint = _HINTS.get(error.what, hint)
        return _fail(said, hint, error.code)
    except Exception as error:
        log.error("a tool failed", exc_info=error)
        return _fail(f"Internal error: {type(error).__name__}.", "", "internal")
    shown = result.to_json()
    text = json.dumps(shown, ensure_ascii=False)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=shown)


def _fail(message: str, hint: str, code: str) -> CallToolResult:
    text = "\n".join(part for part in (message, hint) if part)
    return CallToolResult(
        content=[TextContent(type="text", text=text)], is_error=True, _meta={"octavo/code": code}
    )


def _describe_mistakes(wrong: ValidationError) -> str:
    said = [f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in wrong.errors()[:5]]
    return "; ".join(said)[:500]


async def serve_stdio(library: Library, *, books: tuple[str, ...] | None = None) -> None:
    """Serve whoever started the process, until they close its standard input."""
    visitor = Visitor(books=books)
    server = make_server(library, find_visitor=lambda _: visitor)
    # It is iterated line by line, like the file that is expected.
    lines = cast(Any, StdinLines(sys.stdin.fileno()))
    async with stdio_server(stdin=lines) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


class McpEndpoint:
    """The server over streamable HTTP, as an ASGI application for requests that are authenticated already."""

    def __init__(self, library: Library, *, find_visitor: FindVisitor, most_bytes: int) -> None:
        self._sessions = StreamableHTTPSessionManager(
            make_server(library, find_visitor=find_visitor), stateless=True, max_request_body_size=most_bytes
        )

    @asynccontextmanager
    async def run(self) -> AsyncIterator[McpEndpoint]:
        async with self._sessions.run():
            yield self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._sessions.handle_request(scope, receive, send)
