"""An embedder for tests that needs no weights: only texts that share words are near each other."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from hashlib import blake2b

_WORDS = re.compile(r"\w+|[^\w\s]")
# Each word touches so many dimensions.
_PLACES = 4


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
        return [self._compute(text) for text in texts]

    def _compute(self, text: str) -> tuple[float, ...]:
        sums = [0.0] * self.dimension
        # A text without words still has a direction.
        sums[0] = 0.01
        for word in _WORDS.findall(text.casefold()):
            digest = blake2b(word.encode(), digest_size=4 * _PLACES).digest()
            for place in range(_PLACES):
                number = int.from_bytes(digest[4 * place : 4 * place + 4], "big")
                sums[number % self.dimension] += 1.0 if number & 0x8000_0000 else -1.0
        length = math.sqrt(sum(x * x for x in sums))
        return tuple(x / length for x in sums)
