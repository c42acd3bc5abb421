"""Stand-ins that programs built on Octavo can test with: small, and the same on every machine.

`TinyEmbedder` needs no weights. `ScriptedModel` is a language model behind real HTTP that says what its
script tells it to: `Say`, `Call`, `Claims` or a `Fault`; `pick_fault` picks one by a number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from octavo.testing.embedder import TinyEmbedder

if TYPE_CHECKING:
    from octavo.testing.model import ScriptedModel
    from octavo.testing.replies import Call, Claims, Fault, FaultKind, Reply, Say, Script, pick_fault
    from octavo.testing.request import ModelMessage, ModelRequest, ToolResult

__all__ = [
    "Call",
    "Claims",
    "Fault",
    "FaultKind",
    "ModelMessage",
    "ModelRequest",
    "Reply",
    "Say",
    "Script",
    "ScriptedModel",
    "TinyEmbedder",
    "ToolResult",
    "pick_fault",
]

_MODULES = {
    "model": ("ScriptedModel",),
    "replies": ("Call", "Claims", "Fault", "FaultKind", "Reply", "Say", "Script", "pick_fault"),
    "request": ("ModelMessage", "ModelRequest", "ToolResult"),
}


def __getattr__(name: str) -> Any:
    """Load the scripted model on first use: a test that wants an embedder needs no server."""
    from importlib import import_module

    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
