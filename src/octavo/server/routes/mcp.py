"""`/mcp`: the tools of `octavo.mcp` over streamable HTTP, behind the same door as every other route.

A request is let in, counted and scoped like any other before the protocol sees it. There are no sessions to
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
from octavo.server.auth import Asking, TheLibrary, gate_of
from octavo.server.metrics import metrics_of

if TYPE_CHECKING:
    from octavo.mcp import McpEndpoint

router = APIRouter()


@router.post("/mcp", include_in_schema=False)
async def mcp(request: Request, library: TheLibrary, caller: Asking) -> Response:
    require_extra("mcp")
    from octavo.mcp import Visitor

    gate, metrics = gate_of(request), metrics_of(request)
    request.state.visitor = Visitor(
        owner=caller.owner,
        books=caller.books,
        reserve=lambda: gate.stream(caller),
        watch=lambda events: metrics.watched(events, library.conversations),
    )
    return Spoken(request.app.state.mcp)


class Spoken(Response):
    """The response that the protocol gives."""

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
