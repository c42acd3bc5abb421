"""The server on standard input and output, for a program that starts `octavo mcp`.

A thread that reads from a pipe cannot be cancelled. So a daemon thread reads standard input, and the program
can stop while whoever started it still holds the other end.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator
from typing import Any, cast

from mcp.server.stdio import stdio_server

from octavo.library import Library
from octavo.mcp.server import make_server
from octavo.mcp.tools import Visitor

PIECE_BYTES = 1 << 16


class StdinLines:
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
                piece = os.read(self._descriptor, PIECE_BYTES)
            except OSError:
                # The terminal is gone.
                piece = b""
            try:
                self._loop.call_soon_threadsafe(self._read.put_nowait, piece)
            except RuntimeError:
                # The event loop is closed.
                return


async def serve_stdio(library: Library, *, books: tuple[str, ...] | None = None) -> None:
    """Serve whoever started the process, until they close its standard input."""
    visitor = Visitor(books=books)
    server = make_server(library, find_visitor=lambda _: visitor)
    # It is iterated line by line, like the file that is expected.
    lines = cast(Any, StdinLines(sys.stdin.fileno()))
    async with stdio_server(stdin=lines) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
