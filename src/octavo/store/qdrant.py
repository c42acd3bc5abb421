"""Chunks on a Qdrant server, a cluster or in the cloud: the same `ChunkStore` as the embedded one.

A batch is checked before any of it is sent, and every write waits until the server has applied it, so that
`commit` has nothing left to do. Words are weighed here and equal scores are ordered here, so that a search
finds what the embedded store would find. Up to about a hundred thousand points the server is asked to search
exactly; beyond that it may use its index, and rescores what it found there.

Every point that Octavo writes carries the name of its library. A collection of another shape, or one that
holds points of another library or another program, is never written to and never emptied: the error says what
was found and how to choose another name.
"""

from __future__ import annotations

from array import array
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import uuid4

from qdrant_client import models

from octavo import validation
from octavo.concurrency import RetryPolicy, run_blocking
from octavo.errors import StoreError
from octavo.protocols import Hit, StoredPoint, StoreHits, Values, Vector, Where
from octavo.store import base
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
from octavo.store.qdrant_client import CALL_SECONDS, RETRIES, QdrantConnection
from octavo.store.qdrant_copies import choose_quorum, count_copies, ensure_quorum, find_lagging

if TYPE_CHECKING:
    from octavo.settings import Settings
    from octavo.types import Chunk

BATCH = 128
PAGE = 256
EXACT_UP_TO = 100_000
OVERSAMPLING = 3.0
REPAIR = (
    "Run `octavo doctor --repair`: it rebuilds the collection from the records, with nothing embedded again."
)
LOST = (
    "If the records of this library were lost, `octavo doctor --rebuild` reads its books back. Run it "
    "only if no other library uses the collection: what one removes, the other loses."
)
ANOTHER = (
    "Choose another name with OCTAVO_COLLECTION. `octavo attach` reads a collection without writing to it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionConfig:
    """How a library's collection is created."""

    name: str
    dimension: int
    library: str
    shards: int = 1
    replicas: int = 1
    quorum: int = 0
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
            quorum=settings.store_quorum,
            on_disk=settings.store_on_disk,
            quantized=settings.store_quantized,
        )


async def connect(
    settings: Settings,
    *,
    dimension: int,
    library: str,
    expected: bool = False,
    replace_wrong: bool = False,
    seconds: float = CALL_SECONDS,
    retries: RetryPolicy = RETRIES,
) -> QdrantStore:
    """Opens the store on the server, and checks or creates its collection.

    `replace_wrong` replaces a collection of ours that has the wrong shape.
    """
    validation.check_text("name of the library", library)
    config = CollectionConfig.from_settings(settings, dimension=dimension, library=library)
    connection = QdrantConnection(
        settings.store_url, key=settings.store_key, seconds=seconds, retries=retries
    )
    try:
        # A server that does not fit is left as it is.
        await connection.check_version()
        if replace_wrong:
            await replace_collection(connection, config)
        else:
            await ensure_collection(connection, config, expected=expected)
    except BaseException:
        await connection.close()
        raise
    return QdrantStore(connection, config)


async def find_collection(settings: Settings) -> bool:
    """Says whether the collection exists. Raises `StoreError` if the server cannot be asked."""
    connection = QdrantConnection(settings.store_url, key=settings.store_key)
    try:
        return await connection.call(
            "say what it holds", lambda server: server.collection_exists(settings.collection)
        )
    finally:
        await connection.close()


async def find_owner(settings: Settings) -> str:
    """Finds the library whose points the collection holds; "" if there is none, or not one alone."""
    connection = QdrantConnection(settings.store_url, key=settings.store_key)
    name = settings.collection
    try:
        if not await connection.call("say what it holds", lambda server: server.collection_exists(name)):
            return ""
        owner = await _read_owner(connection, name, None)
        others = models.Filter(must_not=[_match_owner(owner)]) if owner else None
        return owner if owner and await _read_owner(connection, name, others) is None else ""
    finally:
        await connection.close()


async def _read_owner(connection: QdrantConnection, name: str, among: models.Filter | None) -> str | None:
    """Reads the library of some point; "" for a point of another program, None where there is no point."""
    found, _ = await connection.call(
        "show its points",
        lambda server: server.scroll(
            name, scroll_filter=among, limit=1, with_payload=[LIBRARY], with_vectors=False
        ),
    )
    return str((found[0].payload or {}).get(LIBRARY) or "") if found else None


async def read_collection_state(settings: Settings, *, library: str) -> str:
    """The collection's address and how many points of the library it has; a unique value if unknown."""
    once = replace(RETRIES, tries=1)
    connection = QdrantConnection(settings.store_url, key=settings.store_key, retries=once)
    try:
        found = await connection.call(
            "count its points",
            lambda server: server.count(settings.collection, count_filter=match_library(library), exact=True),
        )
    except StoreError:
        return f"unknown {uuid4()}"
    finally:
        await connection.close()
    return f"{connection.url} {settings.collection} {found.count}"


class QdrantStore:
    """A `ChunkStore` over a collection that exists and matches `config`; open until `close`."""

    local = False

    def __init__(self, connection: QdrantConnection, config: CollectionConfig) -> None:
        self.dimension = config.dimension
        self.place = f"{connection.url}/collections/{config.name}"
        self._connection, self._name, self._library = connection, config.name, config.library
        self._ours = match_library(config.library)
        self._bm25 = Bm25Encoder()
        self._points: int | None = None
        self._closed = False

    async def upsert(
        self, chunks: Sequence[Chunk], *, edition: int, notes: Mapping[str, str] | None = None
    ) -> None:
        """Adds or replaces chunks. Sends nothing when any of them is invalid."""
        valid = base.check_chunks(chunks, edition=edition, dimension=self.dimension)
        for start in range(0, len(valid), BATCH):
            points = await run_blocking(
                self._build_points, valid[start : start + BATCH], edition, notes or {}
            )
            await self._write("store the chunks", points)
        self._points = None

    async def delete(self, ids: Collection[str]) -> None:
        """Deletes points. An id that is not stored is no error."""
        for id in ids:
            base.check_id("Chunk.id", id)
        self._check_open()
        all_ids = list(ids)
        for start in range(0, len(all_ids), PAGE):
            await self._remove([*all_ids[start : start + PAGE]])
        self._points = None

    async def search(
        self, vector: Vector, words: Mapping[int, float], *, where: Where, limit: int
    ) -> StoreHits:
        """Finds up to `limit` chunks by cosine and up to `limit` by BM25, in one round trip."""
        base.check_vector("query vector", vector, dimension=self.dimension)
        validation.check_integer("limit", limit, least=1, most=10_000)
        allowed = build_filter(where)
        if matches_nothing(where):
            return StoreHits(dense=(), lexical=())
        halves: list[tuple[str, models.Query]] = [(DENSE, models.NearestQuery(nearest=list(vector)))]
        # Some servers refuse a sparse query without words, which would find nothing anyway.
        if words:
            halves.append((LEXICAL, models.NearestQuery(nearest=_build_sparse(words))))
        found = await self._ask(halves, allowed, limit)
        return StoreHits(dense=found[0], lexical=found[1] if words else ())

    async def stop_rewriting(self) -> None:
        """The server rewrites its collections itself."""

    async def begin_change(self) -> str:
        """No note is made: a kill of this process is none of the server."""
        return ""

    async def find_touched(self, change: str) -> None:  # noqa: ARG002
        return None

    async def read_digests(self, ids: Collection[str] | None = None) -> dict[str, str]:  # noqa: ARG002
        """Recomputes the digests from what the server returns; a point with a wrong checksum is `damaged`.

        All points are read in any case. When all copies of the collection are there, only what all of them
        hold alike is returned.
        """
        found: dict[str, str] = {}
        offset: models.ExtendedPointId | None = None
        compare = await self._can_compare_copies()
        while True:
            records, offset = await self._read_page(offset, compare=compare)
            for record in records:
                found[str(record.id)] = _digest_record(record.payload or {}, record.vector)
            if offset is None:
                return found

    async def read_points(self) -> AsyncIterator[StoredPoint]:
        """Reads every point with its note and its vector, a page at a time."""
        offset: models.ExtendedPointId | None = None
        while True:
            records, offset = await self._read_page(offset)
            for record in records:
                payload, vectors = record.payload or {}, record.vector
                dense = vectors.get(DENSE) if isinstance(vectors, dict) else vectors
                numbers = array(
                    "f", [x for x in dense if isinstance(x, float | int)] if isinstance(dense, list) else []
                )
                digest = _digest_record(payload, vectors)
                yield base.build_stored_point(str(record.id), payload, numbers, digest=digest)
            if offset is None:
                return

    async def count(self) -> int:
        self._check_open()
        found = await self._connection.call(
            "count its points",
            lambda server: server.count(self._name, count_filter=self._ours, exact=True),
        )
        return found.count

    async def compact(self) -> bool:
        """The server indexes its collections itself."""
        return False

    async def commit(self) -> None:
        """Does nothing: every write has waited until the server had applied it."""
        self._check_open()

    async def close(self) -> None:
        """Closes the connection. Calling it again does nothing."""
        if not self._closed:
            self._closed = True
            await self._connection.close()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(
                f"the store at {self.place} cannot be used: it has been closed",
                hint="Open the library again.",
            )

    def _build_points(
        self, chunks: Sequence[Chunk], edition: int, notes: Mapping[str, str]
    ) -> list[models.PointStruct]:
        made = []
        for chunk in chunks:
            weights = self._bm25.encode_document(base.build_indexed_text(chunk), language=chunk.language)
            note = notes.get(chunk.id, "")
            payload, vector = base.build_point(chunk, edition=edition, weights=weights, note=note)
            vectors: dict[str, models.Vector] = {DENSE: vector, LEXICAL: _build_sparse(weights)}
            payload[LIBRARY] = self._library
            made.append(models.PointStruct(id=chunk.id, vector=vectors, payload=payload))
        return made

    async def _write(self, what: str, points: list[models.PointStruct]) -> None:
        self._check_open()
        await self._connection.call(what, lambda server: server.upsert(self._name, points=points, wait=True))

    async def _remove(self, ids: list[models.ExtendedPointId]) -> None:
        selected = models.PointIdsList(points=ids)
        await self._connection.call(
            "remove the chunks",
            lambda server: server.delete(self._name, points_selector=selected, wait=True),
        )

    async def find_lagging_copies(self) -> list[str]:
        """Names the copies of the collection that may have missed a write, as the cluster sees them."""
        self._check_open()
        if await count_copies(self._connection, self._name) == 1:
            return []
        return await find_lagging(self._connection, self._name)

    async def _can_compare_copies(self) -> bool:
        self._check_open()
        several = await count_copies(self._connection, self._name) > 1
        return several and not await find_lagging(self._connection, self._name)

    async def _read_page(
        self, offset: models.ExtendedPointId | None, *, compare: bool = False
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
                consistency=models.ReadConsistencyType.ALL if compare else None,
            ),
        )

    async def _ask(
        self, halves: Sequence[tuple[str, models.Query]], allowed: models.Filter | None, limit: int
    ) -> list[tuple[Hit, ...]]:
        """Asks for a few more than wanted, and once for many more when equal scores cross the cut."""
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
        """Searches exactly while that is quick. The points are counted again after every write of ours."""
        if self._points is None:
            self._points = await self.count()
        self._check_open()
        if self._points <= EXACT_UP_TO:
            return models.SearchParams(exact=True)
        again = models.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING)
        return models.SearchParams(hnsw_ef=256, quantization=again)


async def ensure_collection(
    connection: QdrantConnection, config: CollectionConfig, *, expected: bool
) -> None:
    """Checks that the collection is ours; creates it where none is, unless one is `expected` there."""
    if not await connection.call("say what it holds", lambda server: server.collection_exists(config.name)):
        if expected:
            raise StoreError(f"there is no collection {config.name!r} at {connection.url}", hint=REPAIR)
        await _create(connection, config)
        await _create_indexes(connection, config)
    await _check_owner(connection, config)
    await _stop_counting(connection, config)
    mismatch = await _find_mismatch(connection, config)
    if mismatch is not None:
        raise mismatch
    await ensure_quorum(connection, config.name, config.quorum)
    await _create_indexes(connection, config)


async def replace_collection(connection: QdrantConnection, config: CollectionConfig) -> None:
    """Replaces our collection when it has the wrong shape.

    A collection that is not ours raises. One that has the right shape keeps its points: they can be repaired
    one by one, while others go on searching.
    """
    if await connection.call("say what it holds", lambda server: server.collection_exists(config.name)):
        await _check_owner(connection, config)
        await _stop_counting(connection, config)
        if await _find_mismatch(connection, config) is not None:
            await connection.call("drop the collection", lambda server: server.delete_collection(config.name))
    await ensure_collection(connection, config, expected=False)


def match_library(library: str) -> models.Filter:
    """Builds the filter for the points that this library wrote."""
    return models.Filter(must=[_match_owner(library)])


def _match_owner(library: str) -> models.FieldCondition:
    return models.FieldCondition(key=LIBRARY, match=models.MatchValue(value=library))


async def _create(connection: QdrantConnection, config: CollectionConfig) -> None:
    int8 = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
    dense = models.VectorParams(
        size=config.dimension, distance=models.Distance.COSINE, on_disk=config.on_disk or None
    )
    sparse = models.SparseVectorParams(index=models.SparseIndexParams(on_disk=config.on_disk))
    try:
        await connection.call(
            "make the collection",
            lambda server: server.create_collection(
                config.name,
                vectors_config=dense,
                sparse_vectors_config={LEXICAL: sparse},
                shard_number=config.shards,
                replication_factor=config.replicas,
                write_consistency_factor=choose_quorum(config.replicas, config.quorum),
                on_disk_payload=config.on_disk,
                quantization_config=models.ScalarQuantization(scalar=int8) if config.quantized else None,
            ),
        )
    except StoreError:
        # Another instance may have created it meanwhile, or the response was lost on the way.
        if not await connection.call(
            "say what it holds", lambda server: server.collection_exists(config.name)
        ):
            raise


async def _check_owner(connection: QdrantConnection, config: CollectionConfig) -> None:
    """Refuses a collection that holds a point of another library or program."""
    foreign = models.Filter(must_not=[_match_owner(config.library)])
    other = await _read_owner(connection, config.name, foreign)
    if other is not None:
        whose = "another Octavo library" if other else "another program"
        raise StoreError(
            f"the collection {config.name!r} at {connection.url} holds points of {whose}; "
            "nothing was changed",
            hint=f"{ANOTHER} {LOST}" if other else ANOTHER,
        )


async def _stop_counting(connection: QdrantConnection, config: CollectionConfig) -> None:
    """Turns off the server's own weighing of rare words in a collection of an earlier version.

    It only says how a search weighs words, so no point has to be written again.
    """
    found = await connection.call("describe it", lambda server: server.get_collection(config.name))
    words = (found.config.params.sparse_vectors or {}).get(LEXICAL)
    if words is not None and words.modifier == models.Modifier.IDF:
        plain = models.SparseVectorParams(modifier=models.Modifier.NONE)
        # Where the server refuses, the check of the collection's shape says what to do.
        with suppress(StoreError):
            await connection.call(
                "leave the weights of words alone",
                lambda server: server.update_collection(config.name, sparse_vectors_config={LEXICAL: plain}),
            )


async def _find_mismatch(connection: QdrantConnection, config: CollectionConfig) -> StoreError | None:
    """Returns an error that says what is wrong with the collection's shape, or None."""
    found = (
        await connection.call("describe it", lambda server: server.get_collection(config.name))
    ).config.params
    dense, where = found.vectors, f"the collection {config.name!r} at {connection.url}"
    words = (found.sparse_vectors or {}).get(LEXICAL)
    if not isinstance(dense, models.VectorParams):
        return StoreError(f"{where} has no unnamed vector, which Octavo writes", hint=ANOTHER)
    if dense.size != config.dimension:
        return StoreError(
            f"{where} was made for another embedder: its vectors have {dense.size} numbers, "
            f"and the settings ask for {config.dimension}",
            hint=REPAIR,
        )
    if dense.distance != models.Distance.COSINE:
        return StoreError(f"{where} compares by {dense.distance}, and Octavo by cosine", hint=REPAIR)
    if words is None:
        return StoreError(f"{where} has no sparse vector {LEXICAL!r}", hint=REPAIR)
    if words.modifier == models.Modifier.IDF:
        return StoreError(f"{where} still weighs words as earlier versions of Octavo did", hint=REPAIR)
    return None


async def _create_indexes(connection: QdrantConnection, config: CollectionConfig) -> None:
    """Creates an index for every filtered key: a strict server refuses to filter without one."""
    kinds = dict.fromkeys((*KEYWORDS, LIBRARY), models.PayloadSchemaType.KEYWORD)
    kinds |= dict.fromkeys(NUMBERS, models.PayloadSchemaType.INTEGER)
    there = (
        await connection.call("describe it", lambda server: server.get_collection(config.name))
    ).payload_schema
    for key in kinds.keys() - there.keys():
        await _create_index(connection, config.name, key, kinds[key])


async def _create_index(
    connection: QdrantConnection, name: str, key: str, kind: models.PayloadSchemaType
) -> None:
    await connection.call(
        f"index {key}", lambda server: server.create_payload_index(name, key, kind, wait=True)
    )


def build_filter(where: Where) -> models.Filter | None:
    """Builds the filter for `where`; None where everything passes."""
    wanted = read_conditions(where)
    if wanted is None:
        return None
    ranges = [
        models.FieldCondition(key=key, range=models.Range(gte=least, lte=most))
        for key, (least, most) in wanted.ranges.items()
    ]
    return models.Filter(
        must=[*_build_matches(wanted.any_of), *ranges] or None,
        must_not=[*_build_matches(wanted.none_of)] or None,
    )


def _build_matches(wanted: Mapping[str, Values]) -> list[models.FieldCondition]:
    return [
        models.FieldCondition(key=key, match=models.MatchAny(any=[*values])) for key, values in wanted.items()
    ]


def _build_sparse(weights: Mapping[int, float]) -> models.SparseVector:
    return models.SparseVector(indices=list(weights), values=list(weights.values()))


def _digest_record(payload: Mapping[str, object], vectors: object) -> str:
    """Digests a point as it is stored. A point without words may come back without a sparse vector."""
    named = vectors if isinstance(vectors, dict) else {DENSE: vectors}
    words, dense = named.get(LEXICAL) or models.SparseVector(indices=[], values=[]), named.get(DENSE)
    if not isinstance(words, models.SparseVector) or not isinstance(dense, list):
        return base.DAMAGED
    weights = dict(sorted(zip(words.indices, words.values, strict=True)))
    return base.digest_stored_point(
        payload, array("f", dense), indices=list(weights), weights=list(weights.values())
    )
