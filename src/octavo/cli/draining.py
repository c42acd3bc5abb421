"""How the service stops: what is running is finished, nothing new begins, and it ends in time.

At the first SIGTERM or Ctrl-C the service tells newcomers to go elsewhere and waits for the requests that are
being worked on. Streams that are still open when the time is over end with an event that says so. A second
signal stops at once.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from socket import socket
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn

if TYPE_CHECKING:
    from octavo.server.intake import Load

DRAIN_SECONDS = 10.0
FAREWELL_SECONDS = 1.0
"""For streams to send their last event."""


class Draining(uvicorn.Server):
    """A server that finishes what it has begun. `announce` is told the port once it listens."""

    def __init__(
        self,
        config: uvicorn.Config,
        load: Load,
        *,
        seconds: float = DRAIN_SECONDS,
        announce: Callable[[int], None] = lambda _: None,
    ) -> None:
        super().__init__(config)
        self._load, self._seconds, self._announce = load, seconds, announce
        self._until: float | None = None

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            gc.collect()
            gc.freeze()  # what is there now stays: it need not be looked through again and again
            self._announce(self.servers[0].sockets[0].getsockname()[1])

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self._until is not None:
            self.should_exit = self.force_exit = True
            return
        self._load.draining = True
        self._until = time.monotonic() + self._seconds

    async def on_tick(self, counter: int) -> bool:
        if self._until is not None:
            late = time.monotonic() - self._until
            if late >= 0:
                self._load.closing.set()
            self.should_exit = self.should_exit or not self._load.working or late >= FAREWELL_SECONDS
        return await super().on_tick(counter)
