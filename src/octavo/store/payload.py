"""What is stored of a chunk, and the digests that prove it is still what was stored.

A point's payload has the four keys that every client of the collection may expect (url, text, chunk_id,
source_title) and ours, which `Where` filters on. Its vector is `canonical`: the very bytes that the engine
keeps, so digests need no tolerance and a single flipped bit shows. `digest` is what the records expect of a
chunk; `seal` also covers what only the store knows of it (the edition and the words' weights) and travels
inside the payload.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from uuid import UUID

from octavo import rules
from octavo.errors import InvalidValue
from octavo.types import Chunk

Payload = dict[str, str | int | list[str]]

DENSE, LEXICAL = "", "bm25"
KEYWORDS = ("book_id", "sections", "source_file")
NUMBERS = ("edition", "page_number", "page_end", "document_position")
SEAL = "digest"
LIBRARY = "library"  # on a server only, where several libraries could meet
DAMAGED = "damaged"
_DIGESTED = (
    "url",
    "text",
    "chunk_id",
    "source_title",
    "book_id",
    "sections",
    "page_number",
    "page_end",
    "document_position",
    "source_file",
)
_NORMAL = 4e-7  # the engine leaves a vector alone whose squared length is within 1e-6 of 1
_write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def payload(chunk: Chunk, *, edition: int) -> Payload:
    """The payload of a chunk without its seal. Pages that a book does not have are left out."""
    made: Payload = {
        "url": chunk.url,
        "text": chunk.content,
        "chunk_id": chunk.chunk_id,
        "source_title": chunk.source_title,
        "book_id": chunk.book_id,
        "edition": edition,
        "sections": [*chunk.ancestors, chunk.section_id],
        "document_position": chunk.document_position,
        "source_file": chunk.source_file,
    }
    if chunk.page_number is not None:
        made["page_number"] = chunk.page_number
        made["page_end"] = chunk.page_end or chunk.page_number
    return made


def words(chunk: Chunk) -> str:
    """The text that BM25 indexes: the headings that lead to a chunk, then the chunk."""
    return "\n".join((*chunk.heading_path, chunk.content))


def canonical(vector: Sequence[float]) -> bytes:
    """A vector as 32-bit floats of unit length, exactly as the engine keeps them."""
    kept = array("f", vector)
    length = math.hypot(*kept)
    if abs(length * length - 1.0) > _NORMAL:
        kept = array("f", [x / length for x in kept])
    return kept.tobytes()


def digest(chunk: Chunk) -> str:
    """What `ChunkStore.digests` reports of this chunk as long as the store is sound."""
    if chunk.embedding is None:
        raise InvalidValue("Chunk.embedding", "must be there before the chunk can be stored", None)
    return digest_of(payload(chunk, edition=1), canonical(chunk.embedding))


def digest_of(stored: Mapping[str, object], vector: bytes) -> str:
    """The digest of a payload and the bytes of its vector."""
    said = _write([stored.get(key) for key in _DIGESTED])
    return blake2b(said.encode() + vector, digest_size=16).hexdigest()


def seal(digested: str, edition: object, *, indices: Sequence[int], weights: Sequence[float]) -> str:
    """Covers the digest, the edition and the sparse vector, whose entries stand in order of their index."""
    made = blake2b(f"{digested}\x1f{edition}\x1f".encode(), digest_size=16)
    made.update(array("Q", indices).tobytes())
    made.update(array("f", weights).tobytes())
    return made.hexdigest()


def sealed(chunk: Chunk, *, edition: int, weights: Mapping[int, float]) -> tuple[Payload, list[float]]:
    """What is stored of a chunk whose words have these weights: its payload with its seal, and its vector."""
    vector = canonical(chunk.embedding or ())
    made = payload(chunk, edition=edition)
    digested = digest_of(made, vector)
    made[SEAL] = seal(digested, edition, indices=list(weights), weights=list(weights.values()))
    return made, array("f", vector).tolist()


def digest_as_stored(
    held: Mapping[str, object], vector: Sequence[float], *, indices: Sequence[int], weights: Sequence[float]
) -> str:
    """The digest of a point as it was read back, or `DAMAGED` where its seal belies it."""
    digested = digest_of(held, array("f", vector).tobytes())
    sound = held.get(SEAL) == seal(digested, held.get("edition"), indices=indices, weights=weights)
    return digested if sound else DAMAGED


def checked(chunks: Sequence[Chunk], *, edition: int, dimension: int) -> list[Chunk]:
    """The chunks of a batch, fit to be stored: the last of those that share an id, none with a bad vector."""
    rules.whole("edition", edition, least=1)
    last = {chunk.id: chunk for chunk in chunks}
    for chunk in last.values():
        check_id("Chunk.id", chunk.id)
        if chunk.embedding is None:
            raise InvalidValue("Chunk.embedding", "must be there before the chunk can be stored", None)
        check_vector(f"embedding of chunk {chunk.id}", chunk.embedding, dimension=dimension)
    return list(last.values())


def check_id(field: str, value: str) -> None:
    """Raises `InvalidValue` unless the id is one that the engine hands back as it got it."""
    try:
        same = str(UUID(value)) == value
    except (ValueError, AttributeError, TypeError):
        same = False
    if not same:
        raise InvalidValue(field, "must be a UUID in lower case with hyphens", value)


def check_vector(field: str, vector: Sequence[float], *, dimension: int) -> None:
    """Raises `InvalidValue` for a vector that the engine would take in and then never find."""
    if len(vector) != dimension:
        raise InvalidValue(field, f"must hold {dimension} numbers (this has {len(vector)})", vector)
    rules.unit_vector(field, vector, size=dimension)
