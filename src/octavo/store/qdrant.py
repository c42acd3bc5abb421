"""Chunks on a Qdrant server, a cluster or in the cloud: the same `ChunkStore` as the embedded one.

A batch is checked before any of it is sent, and every write waits until the server has applied it, so there
is nothing left for `commit` to do. Words are weighed here and equal scores are ordered here, so that a
search finds what the embedded store would find. Up to about a hundred thousand points the server is asked to
search exactly; beyond that it may use its index, and rescores what it found there.

A library's collection on a Qdrant server: how it is made, and told apart from what is not ours.

Every point that Octavo writes carries the name of its library. A collection of another shape, one that holds
points of somebody else, or of another library, is never written to and never emptied: the error says what
was found and how to choose another name.

`Where` in the words of a Qdrant server.

Opens a library's collection on a Qdrant server, and says what state it is in.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from qdrant_client import models

from octavo import validation
from octavo.concurrency import run_blocking
from octavo.errors import StoreError
from octavo.protocols import Hit, StoreHits, Values, Vector, Where
from octavo.store import base as stored
from octavo.store.base import (
    DENSE,
    KEYWORDS,
    LEXICAL,
    LIBRARY,
    NUMBERS,
    cut,
    matches_nothing,
    plan_limits,
    read_conditions,
)
from octavo.store.bm25 import Bm25Encoder
from octavo.store.qdrant_client import Patience, QdrantConnection
from octavo.validation import text

if TYPE_CHECKING:
    from octavo.settings import Settings
    from octavo.types import Chunk

REPAIR = (
    "Run `octavo doctor --repair`: it rebuilds the collection from the records, with nothing embedded again."
)
ANOTHER = (
    "Choose another name with OCTAVO_COLLECTION. `octavo attach` reads a collection without writing to it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionConfig:
    """What a collection is made with."""

    name: str
    dimension: int
    library: str
    shards: int = 1
    replicas: int = 1
    on_disk: bool = False
    quantized: bool = False

    @classmethod
    def from_settings(cls, settings: Settings, *, dimension: int, library: str) -> CollectionConfig:
        return cls(
            name=settings.collection,
            dimension=dimension,
            library=library,
            shards=settings.store_shards,
            replicas=settings.store_replicas,
            on_disk=settings.store_on_disk,
            quantized=settings.store_quantized,
        )


async def ensure_collection(connection: QdrantConnection, shape: CollectionConfig, *, expected: bool) -> None:
    """Makes sure that the collection is there and ours; makes one where none is, unless one is `expected`."""
    if not await connection.call("say what it holds", lambda server: server.collection_exists(shape.name)):
        if expected:
            raise StoreError(f"there is no collection {shape.name!r} at {connection.url}", hint=REPAIR)
        await _make(connection, shape)
        await _index(connection, shape)
    await _check_owner(connection, shape)
    complaint = await _complaint(connection, shape)
    if complaint is not None:
        raise complaint
    await _index(connection, shape)


async def replace_collection(connection: QdrantConnection, shape: CollectionConfig) -> None:
    """A collection of the right shape in the place of ours, whatever its shape is.

    What is not ours stays as it is, and so do the points of one that has the right shape: they can be mended
    one by one, while others go on searching.
    """
    if await connection.call("say what it holds", lambda server: server.collection_exists(shape.name)):
        await _check_owner(connection, shape)
        if await _complaint(connection, shape) is not None:
            await connection.call("drop the collection", lambda server: server.delete_collection(shape.name))
    await ensure_collection(connection, shape, expected=False)


def match_library(library: str) -> models.Filter:
    """The points that this library wrote."""
    return models.Filter(must=[_owned(library)])


def _owned(library: str) -> models.FieldCondition:
    return models.FieldCondition(key=LIBRARY, match=models.MatchValue(value=library))


async def _make(connection: QdrantConnection, shape: CollectionConfig) -> None:
    int8 = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
    dense = models.VectorParams(
        size=shape.dimension, distance=models.Distance.COSINE, on_disk=shape.on_disk or None
    )
    sparse = models.SparseVectorParams(
        modifier=models.Modifier.IDF, index=models.SparseIndexParams(on_disk=shape.on_disk)
    )
    try:
        await connection.call(
            "make the collection",
            lambda server: server.create_collection(
                shape.name,
                vectors_config=dense,
                sparse_vectors_config={LEXICAL: sparse},
                shard_number=shape.shards,
                replication_factor=shape.replicas,
                write_consistency_factor=shape.replicas,
                on_disk_payload=shape.on_disk,
                quantization_config=models.ScalarQuantization(scalar=int8) if shape.quantized else None,
            ),
        )
    except StoreError:  # another instance may have made it meanwhile, or the answer was lost on the way
        if not await connection.call(
            "say what it holds", lambda server: server.collection_exists(shape.name)
        ):
            raise


async def _check_owner(connection: QdrantConnection, shape: CollectionConfig) -> None:
    """Refuses a collection with a point of anybody else."""
    strangers, _ = await connection.call(
        "show its points",
        lambda server: server.scroll(
            shape.name,
            scroll_filter=models.Filter(must_not=[_owned(shape.library)]),
            limit=1,
            with_payload=[LIBRARY],
            with_vectors=False,
        ),
    )
    if strangers:
        other = (strangers[0].payload or {}).get(LIBRARY)
        whose = "another Octavo library" if other else "somebody else"
        raise StoreError(
            f"the collection {shape.name!r} at {connection.url} holds points of {whose}; nothing was changed",
            hint=ANOTHER,
        )


async def _complaint(connection: QdrantConnection, shape: CollectionConfig) -> StoreError | None:
    """What is wrong with the collection's shape, as an error to be raised."""
    found = (
        await connection.call("describe it", lambda server: server.get_collection(shape.name))
    ).config.params
    dense, where = found.vectors, f"the collection {shape.name!r} at {connection.url}"
    words = (found.sparse_vectors or {}).get(LEXICAL)
    if not isinstance(dense, models.VectorParams):
        return StoreError(f"{where} has no unnamed vector, which Octavo writes", hint=ANOTHER)
    if dense.size != shape.dimension:
        return StoreError(
            f"{where} was made for another embedder: its vectors have {dense.size} numbers, "
            f"and the settings ask for {shape.dimension}",
            hint=REPAIR,
        )
    if dense.distance != models.Distance.COSINE:
        return StoreError(f"{where} compares by {dense.distance}, and Octavo by cosine", hint=REPAIR)
    if words is None or words.modifier != models.Modifier.IDF:
        return StoreError(f"{where} has no sparse vector {LEXICAL!r} with IDF", hint=REPAIR)
    return None


async def _index(connection: QdrantConnection, shape: CollectionConfig) -> None:
    """Indexes for everything that is filtered: a strict server refuses to filter without."""
    kinds = dict.fromkeys((*KEYWORDS, LIBRARY), models.PayloadSchemaType.KEYWORD)
    kinds |= dict.fromkeys(NUMBERS, models.PayloadSchemaType.INTEGER)
    there = (
        await connection.call("describe it", lambda server: server.get_collection(shape.name))
    ).payload_schema
    for key in kinds.keys() - there.keys():
        await _index_one(connection, shape.name, key, kinds[key])


async def _index_one(
    connection: QdrantConnection, name: str, key: str, kind: models.PayloadSchemaType
) -> None:
    await connection.call(
        f"index {key}", lambda server: server.create_payload_index(name, key, kind, wait=True)
    )


def build_filter(where: Where) -> models.Filter | None:
    """The filter for `where`, or None where everything passes."""
    wanted = read_conditions(where)
    if wanted is None:
        return None
    ranges = [
        models.FieldCondition(key=key, range=models.Range(gte=least, lte=most))
        for key, (least, most) in wanted.ranges.items()
    ]
    return models.Filter(
        must=[*_matches(wanted.any_of), *ranges] or None, must_not=[*_matches(wanted.none_of)] or None
    )


def _matches(wanted: Mapping[str, Values]) -> list[models.FieldCondition]:
    return [
        models.FieldCondition(key=key, match=models.MatchAny(any=[*values])) for key, values in wanted.items()
    ]


BATCH = 128
PAGE = 256
EXACT_UP_TO = 100_000
OVERSAMPLING = 3.0


class QdrantStore:
    """A `ChunkStore` over a collection that is there and has the `shape`; open until `close`."""

    local = False

    def __init__(self, connection: QdrantConnection, shape: CollectionConfig) -> None:
        self.dimension = shape.dimension
        self.place = f"{connection.url}/collections/{shape.name}"
        self._connection, self._name, self._library = connection, shape.name, shape.library
        self._ours = match_library(shape.library)
        self._words = Bm25Encoder()
        self._points: int | None = None
        self._closed = False

    async def upsert(self, chunks: Sequence[Chunk], *, edition: int) -> None:
        """Adds or replaces. Nothing is sent when any chunk is unfit."""
        fit = stored.check_chunks(chunks, edition=edition, dimension=self.dimension)
        for start in range(0, len(fit), BATCH):
            points = await run_blocking(self._build_points, fit[start : start + BATCH], edition)
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

    async def search(self, vector: Vector, text: str, *, where: Where, limit: int) -> StoreHits:
        """Up to `limit` chunks by cosine, and up to `limit` by BM25, in one round trip."""
        stored.check_vector("query vector", vector, dimension=self.dimension)
        validation.whole("limit", limit, least=1, most=10_000)
        allowed = build_filter(where)
        if matches_nothing(where):
            return StoreHits(dense=(), lexical=())
        words = self._words.encode_query(text)
        halves: list[tuple[str, models.Query]] = [(DENSE, models.NearestQuery(nearest=list(vector)))]
        if words:  # a query without words finds nothing by them; some servers refuse it
            halves.append((LEXICAL, models.NearestQuery(nearest=_sparse(words))))
        found = await self._ask(halves, allowed, limit)
        return StoreHits(dense=found[0], lexical=found[1] if words else ())

    async def read_digests(self) -> dict[str, str]:
        """Recomputed from what the server really returns; a point whose seal belies it is `damaged`."""
        found: dict[str, str] = {}
        offset: models.ExtendedPointId | None = None
        while True:
            records, offset = await self._read_page(offset)
            for record in records:
                found[str(record.id)] = _digest(record.payload or {}, record.vector)
            if offset is None:
                return found

    async def count(self) -> int:
        self._check_open()
        said = await self._connection.call(
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
            await self._connection.close()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(
                f"the store at {self.place} cannot be used: it has been closed", hint="Open the library anew."
            )

    def _build_points(self, chunks: Sequence[Chunk], edition: int) -> list[models.PointStruct]:
        made = []
        for chunk in chunks:
            weights = self._words.encode_document(stored.build_indexed_text(chunk))
            payload, vector = stored.build_point(chunk, edition=edition, weights=weights)
            vectors: dict[str, models.Vector] = {DENSE: vector, LEXICAL: _sparse(weights)}
            payload[LIBRARY] = self._library
            made.append(models.PointStruct(id=chunk.id, vector=vectors, payload=payload))
        return made

    async def _write(self, what: str, points: list[models.PointStruct]) -> None:
        self._check_open()
        await self._connection.call(what, lambda server: server.upsert(self._name, points=points, wait=True))

    async def _remove(self, ids: list[models.ExtendedPointId]) -> None:
        with suppress(StoreError):  # the points go all the same, and their words in the end with them
            await self._clear_words(ids)
        doomed = models.PointIdsList(points=ids)
        await self._connection.call(
            "remove the chunks",
            lambda server: server.delete(self._name, points_selector=doomed, wait=True),
        )

    async def _read_page(
        self, offset: models.ExtendedPointId | None
    ) -> tuple[list[models.Record], models.ExtendedPointId | None]:
        self._check_open()
        return await self._connection.call(
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

    async def _clear_words(self, ids: list[models.ExtendedPointId]) -> None:
        """Takes the words out of points that are to go: the engine counts them in IDF for long."""
        there = await self._connection.call(
            "show its points",
            lambda server: server.retrieve(self._name, ids, with_payload=False, with_vectors=False),
        )
        nothing: dict[str, models.Vector] = {LEXICAL: models.SparseVector(indices=[], values=[])}
        wordless = [models.PointVectors(id=point.id, vector=nothing) for point in there]
        if wordless:
            await self._connection.call(
                "remove the words", lambda server: server.update_vectors(self._name, wordless, wait=True)
            )

    async def _ask(
        self, halves: Sequence[tuple[str, models.Query]], allowed: models.Filter | None, limit: int
    ) -> list[tuple[Hit, ...]]:
        """Asks for a few more than wanted, and once for many more when equals stand across the cut."""
        params = await self._choose_params()
        for asked in plan_limits(limit):
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
        return await self._connection.call(
            "search", lambda server: server.query_batch_points(self._name, requests)
        )

    async def _choose_params(self) -> models.SearchParams:
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
    return stored.digest_stored_point(
        held, array("f", dense), indices=list(weights), weights=list(weights.values())
    )


async def connect(
    settings: Settings,
    *,
    dimension: int,
    library: str,
    expected: bool = False,
    anew: bool = False,
    patience: Patience | None = None,
) -> QdrantStore:
    """The store on the server, its collection checked, or made, or made `anew`."""
    text("name of the library", library)
    shape = CollectionConfig.from_settings(settings, dimension=dimension, library=library)
    connection = QdrantConnection(settings.store_url, key=settings.store_key, patience=patience)
    try:
        if anew:
            await replace_collection(connection, shape)
        else:
            await ensure_collection(connection, shape, expected=expected)
    except BaseException:
        await connection.close()
        raise
    return QdrantStore(connection, shape)


async def read_collection_state(settings: Settings, *, library: str) -> str:
    """The collection's address and how many points of the library it holds; unlike any other if unknown."""
    connection = QdrantConnection(settings.store_url, key=settings.store_key, patience=Patience(tries=1))
    try:
        said = await connection.call(
            "count its points",
            lambda server: server.count(settings.collection, count_filter=match_library(library), exact=True),
        )
    except StoreError:
        return f"unknown {uuid4()}"
    finally:
        await connection.close()
    return f"{connection.url} {settings.collection} {said.count}"
