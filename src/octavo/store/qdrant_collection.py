"""A library's collection on a Qdrant server: how it is made, and told apart from what is not ours.

Every point that Octavo writes carries the name of its library. A collection of another shape, one that holds
points of somebody else, or of another library, is never written to and never emptied: the error says what
was found and how to choose another name.
"""

from __future__ import annotations

from dataclasses import dataclass

from qdrant_client import models

from octavo.errors import StoreError
from octavo.settings import Settings
from octavo.store.payload import KEYWORDS, LEXICAL, LIBRARY, NUMBERS
from octavo.store.qdrant_line import Line

REPAIR = (
    "Run `octavo doctor --repair`: it rebuilds the collection from the records, with nothing embedded again."
)
ANOTHER = (
    "Choose another name with OCTAVO_COLLECTION. `octavo attach` reads a collection without writing to it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a collection is made with."""

    name: str
    dimension: int
    library: str
    shards: int = 1
    replicas: int = 1
    on_disk: bool = False
    quantized: bool = False

    @classmethod
    def of(cls, settings: Settings, *, dimension: int, library: str) -> Shape:
        return cls(
            name=settings.collection,
            dimension=dimension,
            library=library,
            shards=settings.store_shards,
            replicas=settings.store_replicas,
            on_disk=settings.store_on_disk,
            quantized=settings.store_quantized,
        )


async def ready(line: Line, shape: Shape, *, expected: bool) -> None:
    """Makes sure that the collection is there and ours; makes one where none is, unless one is `expected`."""
    if not await line.call("say what it holds", lambda server: server.collection_exists(shape.name)):
        if expected:
            raise StoreError(f"there is no collection {shape.name!r} at {line.url}", hint=REPAIR)
        await _make(line, shape)
        await _index(line, shape)
    await _check_owner(line, shape)
    complaint = await _complaint(line, shape)
    if complaint is not None:
        raise complaint
    await _index(line, shape)


async def replace(line: Line, shape: Shape) -> None:
    """A collection of the right shape in the place of ours, whatever its shape is.

    What is not ours stays as it is, and so do the points of one that has the right shape: they can be mended
    one by one, while others go on searching.
    """
    if await line.call("say what it holds", lambda server: server.collection_exists(shape.name)):
        await _check_owner(line, shape)
        if await _complaint(line, shape) is not None:
            await line.call("drop the collection", lambda server: server.delete_collection(shape.name))
    await ready(line, shape, expected=False)


def ours(library: str) -> models.Filter:
    """The points that this library wrote."""
    return models.Filter(must=[_owned(library)])


def _owned(library: str) -> models.FieldCondition:
    return models.FieldCondition(key=LIBRARY, match=models.MatchValue(value=library))


async def _make(line: Line, shape: Shape) -> None:
    int8 = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
    dense = models.VectorParams(
        size=shape.dimension, distance=models.Distance.COSINE, on_disk=shape.on_disk or None
    )
    sparse = models.SparseVectorParams(
        modifier=models.Modifier.IDF, index=models.SparseIndexParams(on_disk=shape.on_disk)
    )
    try:
        await line.call(
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
        if not await line.call("say what it holds", lambda server: server.collection_exists(shape.name)):
            raise


async def _check_owner(line: Line, shape: Shape) -> None:
    """Refuses a collection with a point of anybody else."""
    strangers, _ = await line.call(
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
            f"the collection {shape.name!r} at {line.url} holds points of {whose}; nothing was changed",
            hint=ANOTHER,
        )


async def _complaint(line: Line, shape: Shape) -> StoreError | None:
    """What is wrong with the collection's shape, as an error to be raised."""
    found = (await line.call("describe it", lambda server: server.get_collection(shape.name))).config.params
    dense, where = found.vectors, f"the collection {shape.name!r} at {line.url}"
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


async def _index(line: Line, shape: Shape) -> None:
    """Indexes for everything that is filtered: a strict server refuses to filter without."""
    kinds = dict.fromkeys((*KEYWORDS, LIBRARY), models.PayloadSchemaType.KEYWORD)
    kinds |= dict.fromkeys(NUMBERS, models.PayloadSchemaType.INTEGER)
    there = (await line.call("describe it", lambda server: server.get_collection(shape.name))).payload_schema
    for key in kinds.keys() - there.keys():
        await _index_one(line, shape.name, key, kinds[key])


async def _index_one(line: Line, name: str, key: str, kind: models.PayloadSchemaType) -> None:
    await line.call(f"index {key}", lambda server: server.create_payload_index(name, key, kind, wait=True))
