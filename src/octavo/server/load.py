"""How busy the service is: shared by the limits on requests, the streams, and the server that drains."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field


@dataclass(slots=True)
class Load:
    """How many requests there are, and whether new ones may begin."""

    working: int = 0
    """Requests that a route is working on."""
    arriving: int = 0
    """Requests whose bodies are still arriving. They wait for their clients and hold up nobody else."""
    uploading: int = 0
    """Uploads that are arriving. They do not count as work, so that slow ones keep nobody out."""
    draining: bool = False
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when streams have to end now."""
