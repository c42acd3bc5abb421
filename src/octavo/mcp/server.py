"""The protocol around the tools: calls come in, are checked, done and told about, over stdio or HTTP.

An error of ours is a tool error with its sentence and its advice, which a model can act upon; a mistake of
the program is told by its kind only. A call that is cancelled, or whose caller has left, stops at once.
HTTP keeps no state between requests, so any instance can take the next one, and a restart is not noticed.

Standard input as lines, such that waiting for the next one can be given up.

A thread that reads from a pipe cannot be cancelled. So it is one that nobody waits for, and the program
can stop while whoever started it still holds the other end.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import threading
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
from mcp.types import Tool as Described
from pydantic import ValidationError
from starlette.types import Receive, Scope, Send

from octavo import __version__
from octavo.errors import NotFound, OctavoError
from octavo.library import Library
from octavo.mcp import shapes, tools
from octavo.mcp import tools as descriptions
from octavo.mcp.tools import Call, Visitor

LARGEST = 1 << 16


class Lines:
    """The lines that come in on a file descriptor, from now until it is closed."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._read: asyncio.Queue[bytes] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._run, daemon=True, name="octavo-mcp-stdin").start()

    async def __aiter__(self) -> AsyncIterator[str]:
        rest = bytearray()
        while piece := await self._read.get():
            rest += piece
            if b"\n" in piece:
                *whole, rest = rest.split(b"\n")
                for line in whole:
                    yield line.decode("utf-8", errors="replace")
        if rest:
            yield rest.decode("utf-8", errors="replace")

    def _run(self) -> None:
        piece = b"-"
        while piece:
            try:
                piece = os.read(self._descriptor, LARGEST)
            except OSError:  # a terminal that has gone away
                piece = b""
            try:
                self._loop.call_soon_threadsafe(self._read.put_nowait, piece)
            except RuntimeError:  # nobody listens any more
                return


log = logging.getLogger("octavo.mcp")
Context = ServerRequestContext[Any, Any]
VisitorOf = Callable[[Any], Visitor]
_HINTS = {
    "book": "`list_books` shows the books.",
    "section": "`list_books` with `book` shows its sections.",
    "answer": "`ask_book` gives each answer its `answer_id`.",
    "session": f'`ask_book` with `session_id` "{shapes.NEW}" begins one.',
}


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool as it is offered: its words, its arguments, its result."""

    title: str
    description: str
    arguments: type[shapes.Arguments]
    result: type[shapes.Result]
    work: tools.Tool


OFFERS = {
    "list_books": Offer(
        "List books", descriptions.LIST_BOOKS, shapes.ListBooks, shapes.Books, tools.list_books
    ),
    "search_book": Offer(
        "Search books", descriptions.SEARCH_BOOK, shapes.SearchBook, shapes.Found, tools.search_book
    ),
    "read_section": Offer(
        "Read a section", descriptions.READ_SECTION, shapes.ReadSection, shapes.Reading, tools.read_section
    ),
    "ask_book": Offer("Ask books", descriptions.ASK_BOOK, shapes.AskBook, shapes.Answered, tools.ask_book),
    "verify_answer": Offer(
        "Verify an answer",
        descriptions.VERIFY_ANSWER,
        shapes.VerifyAnswer,
        shapes.Verified,
        tools.verify_answer,
    ),
}


def make_server(library: Library, *, visitor_of: VisitorOf) -> Server[Any]:
    """The server of one library. `visitor_of` says who sent an HTTP request; on stdio, it gets None."""
    offered = ListToolsResult(tools=[_described(name, offer) for name, offer in OFFERS.items()])
    schemas = {tool.name: tool.input_schema for tool in offered.tools}

    async def list_tools(_context: Context, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return offered.model_copy()

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
        offer = OFFERS.get(params.name)
        if offer is None:
            raise MCPError(INVALID_PARAMS, f"no tool {params.name!r} here; there are: {', '.join(OFFERS)}")
        call = Call(library, visitor_of(context.request), _telling(context))
        return await _done(offer, params.arguments or {}, call)

    return Server(
        "octavo",
        title="Octavo",
        version=__version__,
        instructions=descriptions.INSTRUCTIONS,
        get_tool_input_schema=schemas.get,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _described(name: str, offer: Offer) -> Described:
    return Described(
        name=name,
        title=offer.title,
        description=offer.description,
        input_schema=offer.arguments.model_json_schema(),
        output_schema=offer.result.model_json_schema(mode="serialization"),
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
    )


def _telling(context: Context) -> tools.Tell:
    count = 0

    async def tell(message: str) -> None:
        nonlocal count
        count += 1
        await context.session.report_progress(count, message=message)

    return tell


async def _done(offer: Offer, arguments: dict[str, Any], call: Call) -> CallToolResult:
    try:
        result = await offer.work(offer.arguments.model_validate(arguments), call)
    except ValidationError as wrong:
        return _failed(_wrong_arguments(wrong), "The tool's schema says what it takes.", "invalid_request")
    except OctavoError as error:
        hint = _HINTS.get(error.what, error.hint) if isinstance(error, NotFound) else error.hint
        return _failed(error.message, hint, error.code)
    except Exception as error:
        log.error("a tool failed", exc_info=error)
        return _failed(f"Something went wrong here: {type(error).__name__}.", "", "internal")
    shown = result.model_dump(mode="json")
    text = json.dumps(shown, ensure_ascii=False)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=shown)


def _failed(message: str, hint: str, code: str) -> CallToolResult:
    text = "\n".join(part for part in (message, hint) if part)
    return CallToolResult(
        content=[TextContent(type="text", text=text)], is_error=True, _meta={"octavo/code": code}
    )


def _wrong_arguments(wrong: ValidationError) -> str:
    said = [f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in wrong.errors()[:5]]
    return "; ".join(said)[:500]


async def serve_stdio(library: Library, *, books: tuple[str, ...] | None = None) -> None:
    """Speaks with whoever started the process, until they close its standard input."""
    visitor = Visitor(books=books)
    server = make_server(library, visitor_of=lambda _: visitor)
    typed = cast(Any, Lines(sys.stdin.fileno()))  # read line by line, like the file that is expected
    async with stdio_server(stdin=typed) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


class Endpoint:
    """The same over streamable HTTP, as an ASGI application for requests that were let in already."""

    def __init__(self, library: Library, *, visitor_of: VisitorOf, most_bytes: int) -> None:
        self._sessions = StreamableHTTPSessionManager(
            make_server(library, visitor_of=visitor_of), stateless=True, max_request_body_size=most_bytes
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Endpoint]:
        async with self._sessions.run():
            yield self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._sessions.handle_request(scope, receive, send)
