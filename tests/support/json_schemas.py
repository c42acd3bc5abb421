"""JSON schemas for tests that compare what is sent with what is described."""

from __future__ import annotations

from typing import Any


def forbid_other_keys(schema: Any) -> Any:
    """The same schema, in which no object may have a property that it does not name."""
    if isinstance(schema, list):
        return [forbid_other_keys(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: forbid_other_keys(value) for name, value in schema.items()}
    return {"additionalProperties": False, **closed} if "properties" in schema else closed
