"""The HTTP service. Needs `octavo[service]`."""

from __future__ import annotations

from octavo.errors import require_extra

require_extra("service")
