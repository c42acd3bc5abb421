"""Values as JSON between two processes of one machine that run the same Octavo: a command and a service.

Unlike the shapes for others, this keeps everything: a dataclass, an enum or an error arrives as what it was.
Only the classes of Octavo are known, and reading a message runs no code of theirs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

from octavo.errors import OctavoError

PACKAGE = "octavo"


def pack(value: object) -> bytes:
    """Write a value on one line."""
    return json.dumps(_encode(value)).encode() + b"\n"


def unpack(line: bytes) -> Any:
    """Read a value that `pack` wrote. Raises `ValueError` for anything else."""
    try:
        return _decode(json.loads(line))
    except (KeyError, TypeError, AttributeError, ImportError, RecursionError) as wrong:
        raise ValueError(f"not a message of Octavo: {wrong}") from None


def _encode(value: object) -> object:
    if isinstance(value, Enum):
        return {"enum": _name(value), "value": value.value}
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, OctavoError):
        more = {name: kept for name, kept in vars(value).items() if isinstance(kept, str | int | float)}
        return {"error": _name(value), "message": value.message, "more": more}
    if is_dataclass(value):
        return {
            "class": _name(value),
            "fields": {f.name: _encode(getattr(value, f.name)) for f in fields(value)},
        }
    if isinstance(value, Mapping):
        return {"map": [[_encode(key), _encode(kept)] for key, kept in value.items()]}
    if isinstance(value, list):
        return [_encode(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [_encode(item) for item in value]}
    if isinstance(value, datetime):
        return {"time": value.isoformat()}
    if isinstance(value, Path):
        return {"path": str(value)}
    raise TypeError(f"{type(value).__name__} cannot be sent to another process")


def _name(value: object) -> str:
    return f"{type(value).__module__}:{type(value).__qualname__}"


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind = next(iter(value), "")
    match kind:
        case "tuple":
            return tuple(_decode(item) for item in value[kind])
        case "map":
            return {_decode(key): _decode(kept) for key, kept in value[kind]}
        case "time":
            return datetime.fromisoformat(value[kind])
        case "path":
            return Path(value[kind])
        case "enum":
            return _find_class(value[kind], Enum)(value["value"])
        case "error":
            return _make_error(_find_class(value[kind], OctavoError), value["message"], value["more"])
        case "class":
            return _make_dataclass(_find_class(value[kind], object), value["fields"])
    raise ValueError(f"an unknown kind of value: {kind!r}")


def _find_class(name: str, base: type) -> Any:
    module, _, path = name.partition(":")
    if not module.startswith(f"{PACKAGE}.") or module.endswith("__main__"):
        raise ValueError(f"{name} is no class of Octavo")
    found = getattr(sys.modules.get(module) or import_module(module), path)
    if not isinstance(found, type) or not issubclass(found, base) or found.__module__ != module:
        raise ValueError(f"{name} is no class of Octavo")
    return found


def _make_dataclass(kind: Any, values: dict[str, Any]) -> object:
    """Make a value as it was, without checking it again: it was checked when it was first made."""
    if not (isinstance(kind, type) and is_dataclass(kind)):
        raise ValueError(f"{kind.__name__} has no fields")
    made = object.__new__(kind)
    for field in fields(kind):
        object.__setattr__(made, field.name, _decode(values[field.name]))
    return made


def _make_error(kind: type[OctavoError], message: str, more: dict[str, Any]) -> OctavoError:
    error = kind.__new__(kind)
    OctavoError.__init__(error, message)
    for name, value in more.items():
        setattr(error, name, value)
    return error
