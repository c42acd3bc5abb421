"""The words of a text as BM25 weights, the same for every store.

The embedded engine computes them for the server too, so that a text weighs the same wherever it is kept.
"""

from __future__ import annotations

from qdrant_edge import Bm25, Bm25Config

WORDS_A_CHUNK = 120


class Words:
    """Texts to sparse vectors, as weights by index, in order of the index."""

    def __init__(self) -> None:
        self._bm25 = Bm25(Bm25Config(language="english", avg_len=WORDS_A_CHUNK))

    def of_document(self, text: str) -> dict[int, float]:
        made = self._bm25.embed_document(text)
        return dict(sorted(zip(made.indices, made.values, strict=True)))

    def of_query(self, text: str) -> dict[int, float]:
        made = self._bm25.embed_query(text)
        return dict(sorted(zip(made.indices, made.values, strict=True)))
