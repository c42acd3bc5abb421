"""Finds the passages of a library that answer a query, within the bounds of the reader's scope.

The query is embedded, both halves of the search run in one round trip, and their scores are fused. The best
chunks are read from the records: the store only points to them. A chunk outside of the bounds is dropped even
if the store returned it. With a reranker, the trained reader decides which of the first come first.

Vectors of queries and chunks are cached; chunks only as long as no edition changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from octavo.concurrency import run_blocking
from octavo.search.cache import LRUCache
from octavo.search.ranking import (
    Candidate,
    collect_stems,
    estimate_relevance,
    fuse,
    select_reachable,
    weigh_query,
)
from octavo.text.clean import clean, collapse
from octavo.types import Chunk, Evidence

if TYPE_CHECKING:
    from octavo.protocols import ChunkStore, Embedder
    from octavo.records.catalogue import Records
    from octavo.search.rerank import Reranker
    from octavo.search.scope import Bounds

CANDIDATES = 50


class Retriever:
    """Searches one open library."""

    def __init__(
        self, store: ChunkStore, records: Records, embedder: Embedder, *, reranker: Reranker | None = None
    ) -> None:
        self._store, self._records, self._embedder = store, records, embedder
        self.reranker = reranker
        self._vectors: LRUCache[tuple[float, ...]] = LRUCache()
        self._chunks: LRUCache[tuple[Chunk, frozenset[str]]] = LRUCache()
        self._generation = -1

    async def search(self, query: str, *, bounds: Bounds, top_k: int, rerank: bool = True) -> list[Evidence]:
        """Find up to `top_k` passages, best first. Without `rerank`, the trained reader is not asked."""
        cleaned = collapse(clean(query))
        vector = await self.embed_query(cleaned)
        limit = max(CANDIDATES, 2 * top_k)
        while True:
            generation = await self._records.refresh()
            visible = bounds.exclude(self._records.unpublished)
            found = await self._store.search(vector, cleaned, where=visible.where, limit=limit)
            evidence = await self._select(cleaned, fuse(found), bounds, top_k, rerank)
            # If an edition was published in the meantime, the old one is gone: search again.
            if generation == await self._records.refresh():
                return evidence

    async def _select(
        self, query: str, candidates: list[Candidate], bounds: Bounds, top_k: int, rerank: bool
    ) -> list[Evidence]:
        """Read the best candidates from the records. The next ones replace those gone or out of bounds."""
        evidence: list[Evidence] = []
        reranked = await self._rerank(query, candidates, bounds) if rerank else {}
        place = {id_: number for number, id_ in enumerate(reranked)}
        rest = sorted(candidates, key=lambda candidate: place.get(candidate.id, len(place)))
        words, most = weigh_query(query), 1.0
        while rest and len(evidence) < top_k:
            batch, rest = rest[: top_k - len(evidence)], rest[top_k - len(evidence) :]
            loaded = await self._load_chunks([candidate.id for candidate in batch])
            for candidate in batch:
                chunk, stems = loaded.get(candidate.id, (None, frozenset[str]()))
                if chunk is not None and bounds.holds(chunk):
                    score = reranked.get(candidate.id)
                    most = min(most, estimate_relevance(words, stems, candidate) if score is None else score)
                    evidence.append(Evidence(chunk=chunk, relevance_score=most, rank=len(evidence) + 1))
        return evidence

    async def _rerank(self, query: str, candidates: list[Candidate], bounds: Bounds) -> dict[str, float]:
        """Return the first candidates in the reader's order, with their relevance."""
        if self.reranker is None or not candidates:
            return {}
        loaded = await self._load_chunks([candidate.id for candidate in select_reachable(candidates)])
        chunks = {id_: chunk for id_, (chunk, _) in loaded.items() if bounds.holds(chunk)}
        return await self.reranker.rank(query, candidates, chunks)

    async def embed_query(self, query: str) -> tuple[float, ...]:
        """Return the vector of a query, computed once."""
        known = self._vectors.get(query)
        if known is None:
            (known,) = await run_blocking(self._embedder.embed, [query])
            self._vectors.put(query, known)
        return known

    async def _load_chunks(self, ids: Sequence[str]) -> dict[str, tuple[Chunk, frozenset[str]]]:
        """Load chunks of published editions, each with the stems of its words."""
        generation = self._records.generation
        if generation != self._generation:
            self._chunks, self._generation = LRUCache(), generation
        loaded = {id_: known for id_ in ids if (known := self._chunks.get(id_)) is not None}
        unknown = [id_ for id_ in ids if id_ not in loaded]
        if unknown:
            for chunk in await self._records.find_chunks(unknown):
                loaded[chunk.id] = (chunk, collect_stems(chunk))
                if generation == self._records.generation:
                    self._chunks.put(chunk.id, loaded[chunk.id])
        return loaded
