"""The words of a text as BM25 weights, the same for every store.

The embedded engine computes them for the server too, so that a text weighs the same wherever it is stored.
The records count how rare a word is, and the weights of the query say so. An engine would count it in each of
its shards.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

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


def weigh_by_rarity(
    weights: Mapping[int, float], counts: Mapping[int, int], *, passages: int
) -> dict[int, float]:
    """Weigh the words of a query by their rarity among so many passages (inverse document frequency).

    `counts` has how many passages have each word. A word that none has cannot be found, and is left out.
    """
    weighed = {}
    for index, weight in weights.items():
        count = min(counts.get(index, 0), passages)
        if count:
            weighed[index] = weight * math.log((passages - count + 0.5) / (count + 0.5) + 1.0)
    return weighed
