"""Octavo for assistants, over the Model Context Protocol: search, read, ask and verify, with citations.

The same tools over stdio (`serve_stdio`) and streamable HTTP (`McpEndpoint`). Whoever mounts the
endpoint says with a `Visitor` who is calling and which books they may read; the tools keep to it.
"""

from __future__ import annotations

from octavo.errors import require_extra

require_extra("mcp")

from octavo.mcp.server import McpEndpoint, make_server, serve_stdio  # noqa: E402
from octavo.mcp.tools import Visitor  # noqa: E402

__all__ = ["McpEndpoint", "Visitor", "make_server", "serve_stdio"]
