"""Chunks on a Qdrant server, a cluster or in the cloud: the same `ChunkStore` as the embedded one.

A batch is checked before any of it is sent, and every write waits until the server has applied it, so there
is nothing left for `commit` to do. Words are weighed here and equal scores are ordered here, so that a
search finds what the embedded store would find. Up to about a hundred thousand points the server is asked to
search exactly; beyond that it may use its index, and rescores what it found there.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from qdrant_client import models

from octavo import rules
from octavo.concurrency import blocking
from octavo.errors import StoreError
from octavo.protocols import Found, Hit, Vector, Where
from octavo.store import payload as stored
from octavo.store.conditions import matches_nothing
from octavo.store.edge_words import Words
from octavo.store.payload import DENSE, LEXICAL, LIBRARY
from octavo.store.qdrant_collection import Shape, ours
from octavo.store.qdrant_filters import server_filter
from octavo.store.qdrant_line import Line
from octavo.store.ranking import cut, portions
from octavo.types import Chunk

BATCH = 128
PAGE = 256
EXACT_UP_TO = 100_000
OVERSAMPLING = 3.0


class QdrantStore:
    """A `ChunkStore` over a collection that is there and has the `shape`; open until `close`."""

    local = False

    def __init__(self, line: Line, shape: Shape) -> None:
        self.dimension = shape.dimension
        self.place = f"{line.url}/collections/{shape.name}"
        self._line, self._name, self._library = line, shape.name, shape.library
        self._ours = ours(shape.library)
        self._words = Words()
        self._points: int | None = None
        self._closed = False

    async def upsert(self, chunks: Sequence[Chunk], *, edition: int) -> None:
        """Adds or replaces. Nothing is sent when any chunk is unfit."""
        fit = stored.checked(chunks, edition=edition, dimension=self.dimension)
        for start in range(0, len(fit), BATCH):
            points = await blocking(self._made, fit[start : start + BATCH], edition)
            await self._write("store the chunks", points)
        self._points = None

    async def delete(self, ids: Collection[str]) -> None:
        """Removes the points that are there; the others are no error."""
        for id in ids:
            stored.check_id("Chunk.id", id)
        self._check_open()
        listed = list(ids)
        for start in range(0, len(listed), PAGE):
            await self._remove([*listed[start : start + PAGE]])
        self._points = None

    async def search(self, vector: Vector, text: str, *, where: Where, limit: int) -> Found:
        """Up to `limit` chunks by cosine, and up to `limit` by BM25, in one round trip."""
        stored.check_vector("query vector", vector, dimension=self.dimension)
        rules.whole("limit", limit, least=1, most=10_000)
        allowed = server_filter(where)
        if matches_nothing(where):
            return Found(dense=(), lexical=())
        words = self._words.of_query(text)
        halves: list[tuple[str, models.Query]] = [(DENSE, models.NearestQuery(nearest=list(vector)))]
        if words:  # a query without words finds nothing by them; some servers refuse it
            halves.append((LEXICAL, models.NearestQuery(nearest=_sparse(words))))
        found = await self._ask(halves, allowed, limit)
        return Found(dense=found[0], lexical=found[1] if words else ())

    async def digests(self) -> dict[str, str]:
        """Recomputed from what the server really returns; a point whose seal belies it is `damaged`."""
        found: dict[str, str] = {}
        offset: models.ExtendedPointId | None = None
        while True:
            records, offset = await self._page(offset)
            for record in records:
                found[str(record.id)] = _digest(record.payload or {}, record.vector)
            if offset is None:
                return found

    async def count(self) -> int:
        self._check_open()
        said = await self._line.call(
            "count its points",
            lambda server: server.count(self._name, count_filter=self._ours, exact=True),
        )
        return said.count

    async def commit(self) -> None:
        """Nothing is left to do: every write has waited until the server had applied it."""
        self._check_open()

    async def close(self) -> None:
        """Hangs up. Calling it again does nothing."""
        if not self._closed:
            self._closed = True
            await self._line.close()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(
                f"the store at {self.place} cannot be used: it has been closed", hint="Open the library anew."
            )

    def _made(self, chunks: Sequence[Chunk], edition: int) -> list[models.PointStruct]:
        made = []
        for chunk in chunks:
            weights = self._words.of_document(stored.words(chunk))
            payload, vector = stored.sealed(chunk, edition=edition, weights=weights)
            vectors: dict[str, models.Vector] = {DENSE: vector, LEXICAL: _sparse(weights)}
            payload[LIBRARY] = self._library
            made.append(models.PointStruct(id=chunk.id, vector=vectors, payload=payload))
        return made

    async def _write(self, what: str, points: list[models.PointStruct]) -> None:
        self._check_open()
        await self._line.call(what, lambda server: server.upsert(self._name, points=points, wait=True))

    async def _remove(self, ids: list[models.ExtendedPointId]) -> None:
        with suppress(StoreError):  # the points go all the same, and their words in the end with them
            await self._silence(ids)
        doomed = models.PointIdsList(points=ids)
        await self._line.call(
            "remove the chunks",
            lambda server: server.delete(self._name, points_selector=doomed, wait=True),
        )

    async def _page(
        self, offset: models.ExtendedPointId | None
    ) -> tuple[list[models.Record], models.ExtendedPointId | None]:
        self._check_open()
        return await self._line.call(
            "show its points",
            lambda server: server.scroll(
                self._name,
                scroll_filter=self._ours,
                limit=PAGE,
                offset=offset,
                with_payload=True,
                with_vectors=True,
            ),
        )

    async def _silence(self, ids: list[models.ExtendedPointId]) -> None:
        """Takes the words out of points that are to go: the engine counts them in IDF for long."""
        there = await self._line.call(
            "show its points",
            lambda server: server.retrieve(self._name, ids, with_payload=False, with_vectors=False),
        )
        nothing: dict[str, models.Vector] = {LEXICAL: models.SparseVector(indices=[], values=[])}
        wordless = [models.PointVectors(id=point.id, vector=nothing) for point in there]
        if wordless:
            await self._line.call(
                "remove the words", lambda server: server.update_vectors(self._name, wordless, wait=True)
            )

    async def _ask(
        self, halves: Sequence[tuple[str, models.Query]], allowed: models.Filter | None, limit: int
    ) -> list[tuple[Hit, ...]]:
        """Asks for a few more than wanted, and once for many more when equals stand across the cut."""
        params = await self._params()
        for asked in portions(limit):
            requests = [
                models.QueryRequest(
                    query=query,
                    using=name or None,
                    filter=allowed,
                    params=params,
                    limit=asked,
                    with_payload=False,
                )
                for name, query in halves
            ]
            answers = await self._query(requests)
            scored = [[(str(point.id), point.score) for point in answer.points] for answer in answers]
            cuts = [cut(each, asked=asked, limit=limit) for each in scored]
            if all(complete for _, complete in cuts):
                break
        return [hits for hits, _ in cuts]

    async def _query(self, requests: list[models.QueryRequest]) -> list[models.QueryResponse]:
        return await self._line.call("search", lambda server: server.query_batch_points(self._name, requests))

    async def _params(self) -> models.SearchParams:
        """Exact as long as that is quick; the points are counted anew after every change of ours."""
        if self._points is None:
            self._points = await self.count()
        self._check_open()
        if self._points <= EXACT_UP_TO:
            return models.SearchParams(exact=True)
        again = models.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING)
        return models.SearchParams(hnsw_ef=256, quantization=again)


def _sparse(weights: Mapping[int, float]) -> models.SparseVector:
    return models.SparseVector(indices=list(weights), values=list(weights.values()))


def _digest(held: Mapping[str, object], vectors: object) -> str:
    """The digest of a point as it is stored; one without words may come back without a sparse vector."""
    named = vectors if isinstance(vectors, dict) else {DENSE: vectors}
    words, dense = named.get(LEXICAL) or models.SparseVector(indices=[], values=[]), named.get(DENSE)
    if not isinstance(words, models.SparseVector) or not isinstance(dense, list):
        return stored.DAMAGED
    weights = dict(sorted(zip(words.indices, words.values, strict=True)))
    return stored.digest_as_stored(
        held, array("f", dense), indices=list(weights), weights=list(weights.values())
    )
