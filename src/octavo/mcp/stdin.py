"""Standard input as lines, such that waiting for the next one can be given up.

A thread that reads from a pipe cannot be cancelled. So a daemon thread reads standard input, and the program
can stop while whoever started it still holds the other end.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator

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
