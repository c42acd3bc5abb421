"""`/mcp`: the tools of `octavo.mcp` over streamable HTTP, with the same access control as every other route.

A request is authenticated and counted like any other before the protocol sees it. There are no sessions to
steal and nothing to wait for, so `POST` is the only method. Without `octavo[mcp]` the answer is 501.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from octavo.errors import MissingExtra, require_extra
from octavo.library import Library
from octavo.server.auth import AskCaller, CurrentLibrary, get_access
from octavo.server.metrics import get_metrics

if TYPE_CHECKING:
    from octavo.mcp import McpEndpoint

router = APIRouter()


@router.post("/mcp", include_in_schema=False)
async def mcp(request: Request, library: CurrentLibrary, caller: AskCaller) -> Response:
    require_extra("mcp")
    from octavo.mcp import Visitor

    access, metrics = get_access(request), get_metrics(request)
    request.state.visitor = Visitor(
        owner=caller.owner,
        books=caller.books,
        reserve=lambda: access.hold_stream(caller),
        watch=lambda events: metrics.watch(events, library.conversations),
    )
    return McpResponse(request.app.state.mcp)


class McpResponse(Response):
    """The response that the protocol sends."""

    def __init__(self, endpoint: McpEndpoint) -> None:
        super().__init__()
        self._endpoint = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._endpoint(scope, receive, send)


@asynccontextmanager
async def run_endpoint(library: Library) -> AsyncIterator[McpEndpoint | None]:
    """Run the endpoint of the protocol; None where its extra is not installed."""
    try:
        from octavo.mcp import McpEndpoint
    except MissingExtra:
        yield None
        return
    most = library.settings.service.max_body_kb * 1024
    endpoint = McpEndpoint(library, find_visitor=lambda request: request.state.visitor, most_bytes=most)
    async with endpoint.run() as running:
        yield running
