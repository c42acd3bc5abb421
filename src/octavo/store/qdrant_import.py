"""Reads a Qdrant collection that another program filled. Nothing is ever written to it.

Such a collection holds texts under some key, most often with an address, a title and an order, and a dense
vector with or without a name.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from octavo.errors import InvalidValue, NotFound, require_extra
from octavo.store.base import CHECKSUM, LIBRARY
from octavo.store.qdrant_payloads import PayloadKeys, choose_keys, open_payload, read_order, read_text
from octavo.types import COLLECTION
from octavo.validation import LARGEST_EXACT_INTEGER

if TYPE_CHECKING:
    from qdrant_client import models

    from octavo.store.qdrant_client import QdrantConnection

PAGE = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Which collection, on which Qdrant server. `vector` names the one to read where points have several."""

    url: str
    collection: str = COLLECTION
    key: str = field(default="", repr=False)
    vector: str | None = None
    keys: PayloadKeys = field(default_factory=PayloadKeys)
    """Under which keys of the payload the text and the rest are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionPoint:
    """A point as it was found. Its `vector` has unit length, or is None where the point has no valid one."""

    point_id: str | int
    text: str
    url: str
    source_title: str
    chunk_id: int | None
    order: float | None
    vector: array[float] | None


async def read_points(source: Source) -> tuple[list[CollectionPoint], PayloadKeys]:
    """Reads every point that has a text, in the order of their ids; returns the keys that were used too."""
    require_extra("qdrant")
    from octavo.store.qdrant_client import QdrantConnection

    connection = QdrantConnection(source.url, key=source.key)
    found: list[CollectionPoint] = []
    try:
        name = await _find_vector_name(connection, source)
        records, offset = await _read_page(connection, source, None)
        sample = [open_payload(record.payload) for record in records]
        keys = choose_keys(sample, source.keys, place=f"the collection {source.collection!r} at {source.url}")
        while True:
            parsed = (_parse_point(record, name, keys) for record in records)
            found += [point for point in parsed if point is not None]
            if offset is None:
                return found, keys
            records, offset = await _read_page(connection, source, offset)
    finally:
        await connection.close()


async def _find_vector_name(connection: QdrantConnection, source: Source) -> str:
    """Returns the name of the dense vector to read; "" for the one without a name."""
    name = source.collection
    if not await connection.call("say what it holds", lambda server: server.collection_exists(name)):
        existing = (
            await connection.call("list its collections", lambda server: server.get_collections())
        ).collections
        raise NotFound("collection", name, nearest=tuple(one.name for one in existing[:5]))
    params = (await connection.call("describe it", lambda server: server.get_collection(name))).config.params
    found = [*params.vectors] if isinstance(params.vectors, Mapping) else [""]
    if source.vector is not None and source.vector not in found:
        raise InvalidValue("vector", f"must be one of {', '.join(map(repr, found))}", source.vector)
    if source.vector is None and len(found) > 1:
        raise InvalidValue("vector", f"must be chosen: the points have {', '.join(sorted(found))}", None)
    return found[0] if source.vector is None else source.vector


async def _read_page(
    connection: QdrantConnection, source: Source, offset: models.ExtendedPointId | None
) -> tuple[list[models.Record], models.ExtendedPointId | None]:
    return await connection.call(
        "show its points",
        lambda server: server.scroll(
            source.collection, limit=PAGE, offset=offset, with_payload=True, with_vectors=True
        ),
    )


def _parse_point(record: models.Record, vector: str, keys: PayloadKeys) -> CollectionPoint | None:
    payload = open_payload(record.payload)
    text, number = read_text(payload, keys.text), payload.get("chunk_id")
    if not text.strip():
        return None
    if LIBRARY in payload and CHECKSUM in payload:
        raise InvalidValue(
            "collection", "must not be one that Octavo filled: set OCTAVO_STORE_URL to use it", record.id
        )
    return CollectionPoint(
        point_id=record.id if isinstance(record.id, int) else str(record.id),
        text=text,
        url=read_text(payload, keys.url),
        source_title=read_text(payload, keys.title),
        chunk_id=number if type(number) is int and 0 <= number <= LARGEST_EXACT_INTEGER else None,
        order=read_order(payload, keys.order),
        vector=_normalise(record.vector, vector),
    )


def _normalise(vectors: object, name: str) -> array[float] | None:
    found = vectors.get(name) if isinstance(vectors, dict) else vectors
    if not isinstance(found, list) or not all(isinstance(x, int | float) for x in found):
        return None
    length = math.hypot(*found)
    return array("f", (x / length for x in found)) if math.isfinite(length) and length > 0 else None
