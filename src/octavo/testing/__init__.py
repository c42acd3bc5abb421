"""Stand-ins that programs built on Octavo can test with: small, real in behaviour, the same on every machine.

`TinyEmbedder` needs no weights: texts that share words are near each other, and nothing else is.
`ScriptedModel` is a language model behind real HTTP that says what its script tells it to: `Say`, `Call`,
`Claims` or a `Fault`; `seeded_fault` makes one from a number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from octavo.testing.model import ScriptedModel
    from octavo.testing.replies import Call, Claims, Fault, FaultKind, Reply, Say, Script, seeded_fault
    from octavo.testing.request import ModelRequest, Spoken, ToolResult

__all__ = [
    "Call",
    "Claims",
    "Fault",
    "FaultKind",
    "ModelRequest",
    "Reply",
    "Say",
    "Script",
    "ScriptedModel",
    "Spoken",
    "TinyEmbedder",
    "ToolResult",
    "seeded_fault",
]

_HOMES = {
    "model": ("ScriptedModel",),
    "replies": ("Call", "Claims", "Fault", "FaultKind", "Reply", "Say", "Script", "seeded_fault"),
    "request": ("ModelRequest", "Spoken", "ToolResult"),
}
_WORDS = re.compile(r"\w+|[^\w\s]")
_PLACES = 4  # dimensions that each word touches


class TinyEmbedder:
    """Adds up a fixed pattern for each word. Implements `octavo.protocols.Embedder`."""

    def __init__(self, dimension: int = 384, *, max_pieces: int = 254, name: str = "tiny") -> None:
        self.dimension = dimension
        self.max_pieces = max_pieces
        self.fingerprint = f"{name}-{dimension}"
        self.embedded = 0
        """How many texts have been embedded so far: shows what was not embedded again."""

    def count_pieces(self, texts: Sequence[str]) -> list[int]:
        return [sum(1 + (len(word) - 1) // 8 for word in _WORDS.findall(text)) for text in texts]

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        self.embedded += len(texts)
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> tuple[float, ...]:
        sums = [0.0] * self.dimension
        sums[0] = 0.01  # a text without words still has a direction
        for word in _WORDS.findall(text.casefold()):
            digest = blake2b(word.encode(), digest_size=4 * _PLACES).digest()
            for place in range(_PLACES):
                number = int.from_bytes(digest[4 * place : 4 * place + 4], "big")
                sums[number % self.dimension] += 1.0 if number & 0x8000_0000 else -1.0
        length = math.sqrt(sum(x * x for x in sums))
        return tuple(x / length for x in sums)


def __getattr__(name: str) -> Any:
    """The scripted model is loaded when it is asked for: an embedder for a test needs no server."""
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
