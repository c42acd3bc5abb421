"""Finds the passages of a library that answer a query, within the bounds the reader set.

The query is embedded, both halves of the search run in one round trip, their scores are fused, and the best
are read back from the records: what the store says is a pointer, what the records say is the text. A chunk
outside the bounds is dropped even if the store let it through. Vectors of recent queries and recently read
chunks are remembered; the latter only as long as no edition has changed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Generic, TypeVar

from octavo.concurrency import blocking
from octavo.fusion import Fused, fuse
from octavo.protocols import ChunkStore, Embedder
from octavo.records import Records
from octavo.relevance import relevance, stems, wanted
from octavo.scope import Bounds
from octavo.text import clean, collapse
from octavo.types import Chunk, Evidence

CANDIDATES = 50
REMEMBERED = 10_000
T = TypeVar("T")


class Retriever:
    """Searches one open library."""

    def __init__(self, store: ChunkStore, records: Records, embedder: Embedder) -> None:
        self._store, self._records, self._embedder = store, records, embedder
        self._vectors: Remembered[tuple[float, ...]] = Remembered()
        self._chunks: Remembered[tuple[Chunk, frozenset[str]]] = Remembered()
        self._generation = -1

    async def search(self, query: str, *, bounds: Bounds, top_k: int) -> list[Evidence]:
        """Up to `top_k` passages, best first."""
        asked = collapse(clean(query))
        vector = await self.vector(asked)
        limit = max(CANDIDATES, 2 * top_k)
        while True:
            generation = await self._records.refreshed()
            visible = bounds.hiding(self._records.unpublished)
            found = await self._store.search(vector, asked, where=visible.where, limit=limit)
            evidence = await self._read_back(asked, fuse(found), bounds, top_k)
            if generation == await self._records.refreshed():
                return evidence  # else an edition came out meanwhile, and the old one is gone: look again

    async def _read_back(self, query: str, fused: list[Fused], bounds: Bounds, top_k: int) -> list[Evidence]:
        """The best of the fused list as the records have them; what is gone or out of bounds makes room."""
        evidence: list[Evidence] = []
        rest, words, most = fused, wanted(query), 1.0
        while rest and len(evidence) < top_k:
            batch, rest = rest[: top_k - len(evidence)], rest[top_k - len(evidence) :]
            read = await self._read([candidate.id for candidate in batch])
            for candidate in batch:
                chunk, there = read.get(candidate.id, (None, frozenset[str]()))
                if chunk is not None and bounds.holds(chunk):
                    most = min(most, relevance(words, there, candidate))  # none outdoes a better one
                    evidence.append(Evidence(chunk=chunk, relevance_score=most, rank=len(evidence) + 1))
        return evidence

    async def vector(self, query: str) -> tuple[float, ...]:
        """The query's vector, computed once."""
        known = self._vectors.get(query)
        if known is None:
            (known,) = await blocking(self._embedder.embed, [query])
            self._vectors.put(query, known)
        return known

    async def _read(self, ids: Sequence[str]) -> dict[str, tuple[Chunk, frozenset[str]]]:
        """The chunks of ready editions with the stems of their words."""
        generation = self._records.generation
        if generation != self._generation:
            self._chunks, self._generation = Remembered(), generation
        read = {id_: known for id_ in ids if (known := self._chunks.get(id_)) is not None}
        unknown = [id_ for id_ in ids if id_ not in read]
        if unknown:
            for chunk in await self._records.chunks_by_ids(unknown):
                read[chunk.id] = (chunk, stems(chunk))
                if generation == self._records.generation:
                    self._chunks.put(chunk.id, read[chunk.id])
        return read


class Remembered(Generic[T]):
    """The values that were used last, by key."""

    def __init__(self, *, most: int = REMEMBERED) -> None:
        self._most = most
        self._known: OrderedDict[str, T] = OrderedDict()

    def get(self, key: str) -> T | None:
        known = self._known.get(key)
        if known is not None:
            self._known.move_to_end(key)
        return known

    def put(self, key: str, value: T) -> None:
        self._known[key] = value
        if len(self._known) > self._most:
            self._known.popitem(last=False)
