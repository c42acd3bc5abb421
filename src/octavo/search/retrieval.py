"""Finds the passages of a library that answer a query, within the bounds the reader set.

The query is embedded, both halves of the search run in one round trip, their scores are fused, and the best
are read back from the records: what the store says is a pointer, what the records say is the text. A chunk
outside the bounds is dropped even if the store let it through. Where there is a reader, it decides which of
the first come first. Vectors of recent queries and recently read chunks are remembered; the latter only as
long as no edition has changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from octavo.concurrency import run_blocking
from octavo.search.cache import LRUCache
from octavo.search.ranking import Candidate, collect_stems, estimate_relevance, fuse, weigh_query
from octavo.search.rerank import Reranker, select_reachable
from octavo.text.clean import clean, collapse
from octavo.types import Chunk, Evidence

if TYPE_CHECKING:
    from octavo.protocols import ChunkStore, Embedder
    from octavo.records.catalogue import Records
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
        """Up to `top_k` passages, best first. Not `rerank`: as they were found, without the reader."""
        asked = collapse(clean(query))
        vector = await self.vector(asked)
        limit = max(CANDIDATES, 2 * top_k)
        while True:
            generation = await self._records.refresh()
            visible = bounds.exclude(self._records.unpublished)
            found = await self._store.search(vector, asked, where=visible.where, limit=limit)
            evidence = await self._read_back(asked, fuse(found), bounds, top_k, rerank)
            if generation == await self._records.refresh():
                return evidence  # else an edition came out meanwhile, and the old one is gone: look again

    async def _read_back(
        self, query: str, candidates: list[Candidate], bounds: Bounds, top_k: int, rerank: bool
    ) -> list[Evidence]:
        """The best of the fused list as the records have them; what is gone or out of bounds makes room."""
        evidence: list[Evidence] = []
        reranked = await self._rerank(query, candidates, bounds) if rerank else {}
        place = {id_: number for number, id_ in enumerate(reranked)}
        rest = sorted(candidates, key=lambda candidate: place.get(candidate.id, len(place)))
        words, most = weigh_query(query), 1.0
        while rest and len(evidence) < top_k:
            batch, rest = rest[: top_k - len(evidence)], rest[top_k - len(evidence) :]
            read = await self._read([candidate.id for candidate in batch])
            for candidate in batch:
                chunk, there = read.get(candidate.id, (None, frozenset[str]()))
                if chunk is not None and bounds.holds(chunk):
                    told = reranked.get(candidate.id)
                    most = min(most, estimate_relevance(words, there, candidate) if told is None else told)
                    evidence.append(Evidence(chunk=chunk, relevance_score=most, rank=len(evidence) + 1))
        return evidence

    async def _rerank(self, query: str, candidates: list[Candidate], bounds: Bounds) -> dict[str, float]:
        """The first candidates in the order that reading them gives, with their relevance."""
        if self.reranker is None or not candidates:
            return {}
        read = await self._read([candidate.id for candidate in select_reachable(candidates)])
        chunks = {id_: chunk for id_, (chunk, _) in read.items() if bounds.holds(chunk)}
        return await self.reranker.rank(query, candidates, chunks)

    async def vector(self, query: str) -> tuple[float, ...]:
        """The query's vector, computed once."""
        known = self._vectors.get(query)
        if known is None:
            (known,) = await run_blocking(self._embedder.embed, [query])
            self._vectors.put(query, known)
        return known

    async def _read(self, ids: Sequence[str]) -> dict[str, tuple[Chunk, frozenset[str]]]:
        """The chunks of ready editions with the stems of their words."""
        generation = self._records.generation
        if generation != self._generation:
            self._chunks, self._generation = LRUCache(), generation
        read = {id_: known for id_ in ids if (known := self._chunks.get(id_)) is not None}
        unknown = [id_ for id_ in ids if id_ not in read]
        if unknown:
            for chunk in await self._records.find_chunks(unknown):
                read[chunk.id] = (chunk, collect_stems(chunk))
                if generation == self._records.generation:
                    self._chunks.put(chunk.id, read[chunk.id])
        return read
