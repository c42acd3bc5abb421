"""How busy the service is: shared by the limits on requests, the streams, and the server that drains."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class Load:
    """How many requests there are, and whether new ones may begin."""

    working: int = 0
    """Requests that a route is working on."""
    arriving: int = 0
    """Requests whose bodies are still arriving. They wait for their clients and hold up nobody else."""
    arriving_by_address: Counter[str] = field(default_factory=Counter)
    uploading: int = 0
    """Uploads that are arriving. They do not count as work, so that slow ones keep nobody out."""
    draining: bool = False
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when streams have to end now."""

    @contextmanager
    def hold_body(self, address: str, *, places: int) -> Iterator[None]:
        """Count a body that is arriving from this address; a large one takes several places."""
        self.arriving += places
        self.arriving_by_address[address] += places
        try:
            yield
        finally:
            self.arriving -= places
            self.arriving_by_address[address] -= places
            if not self.arriving_by_address[address]:
                del self.arriving_by_address[address]
