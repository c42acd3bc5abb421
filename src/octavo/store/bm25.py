"""The words of a text as BM25 weights, the same for every store.

The embedded engine computes them for the server too, so that a text weighs the same wherever it is stored.
"""

from __future__ import annotations

import re

from qdrant_edge import Bm25, Bm25Config

WORDS_A_CHUNK = 120
CODE_WEIGHT = 1.5
"""How much more a word of a query counts when it is set as code, between backticks."""
_CODE = re.compile(r"(?<![`\w])(`+)([^`]+)\1(?![`\w])")


class Bm25Encoder:
    """Encodes texts as sparse vectors: weights by index, in order of the index."""

    def __init__(self) -> None:
        self._bm25 = Bm25(Bm25Config(language="english", avg_len=WORDS_A_CHUNK))

    def encode_document(self, text: str) -> dict[int, float]:
        encoded = self._bm25.embed_document(text)
        return dict(sorted(zip(encoded.indices, encoded.values, strict=True)))

    def encode_query(self, text: str) -> dict[int, float]:
        """Encodes a query. Words that it sets as code count more: they name what it is about."""
        encoded = self._bm25.embed_query(text)
        weights = dict(sorted(zip(encoded.indices, encoded.values, strict=True)))
        code = " ".join(found[2] for found in _CODE.finditer(text))
        marked = set(self._bm25.embed_query(code).indices) if code else set[int]()
        return {
            index: weight * CODE_WEIGHT if index in marked else weight for index, weight in weights.items()
        }
