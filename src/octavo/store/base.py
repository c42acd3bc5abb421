"""What every store shares: filters, stored points, the order of hits, the library's lock and its disk.

A point's payload has the four keys that every client of the collection may expect (url, text, chunk_id,
source_title) and ours, which `Where` filters on. Its vector is stored as the bytes that the engine keeps, so
that digests need no tolerance and a single flipped bit shows. The *digest* of a chunk covers its payload and
its vector, and is what the records expect of the store. The *checksum* of a point also covers what only the
store knows of it (the edition, the weights of its words and its note), and is stored inside the payload. A
*note* is what the records could be rebuilt from; the store keeps it and does not read it. The *state* of a
store tells whether anything has written to it since it was last closed.

Every engine may return equal scores in any order and cut through the middle of them. Both stores ask for a
few more hits than wanted, and once for many more when equal scores cross the cut; `cut` decides what is
certain.

A library belongs to one process at a time. `LibraryLock` takes `octavo.lock` in the data directory at once or
not at all; the system drops it with the process, so there are no stale locks to clean up. `require_space`
refuses a write while there is still room to refuse it: on a full disk the engine would crash the process.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import shutil
import struct
import sys
import weakref
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID, uuid4

from octavo import validation
from octavo.errors import InvalidValue, LibraryBusy, StorageLow, StoreError
from octavo.limits import MB
from octavo.protocols import Hit, StoredPoint, Values, Where
from octavo.store.change_note import is_note
from octavo.types import COLLECTION, Chunk

Payload = dict[str, str | int | list[str]]
Bounds = tuple[int | None, int | None]
T = TypeVar("T")

DENSE, LEXICAL = "", "bm25"
KEYWORDS = ("book_id", "sections", "source_file")
NUMBERS = ("edition", "page_number", "page_end", "document_position")
FILTERED = (*KEYWORDS, *NUMBERS)
CHECKSUM = "digest"
"""The key of a point's checksum in its payload."""
LIBRARY = "library"
"""The key for the name of the library, on a server only, where several libraries could meet."""
NOTE = "note"
"""The key of a point's note in its payload."""
DAMAGED = "damaged"
UNREAD = "unread"
"""The digest of a point that is there and was not to be read."""
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
# The engine keeps a vector as it is when its squared length is within 1e-6 of 1.
_UNIT_TOLERANCE = 4e-7
_encode_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
LOCK_FILE = "octavo.lock"
DECIMALS = 5
"""Scores that agree to so many decimals are equal."""
FEW_MORE, MANY_MORE = 16, 512


@dataclass(frozen=True, slots=True)
class Conditions:
    """All must hold: one of `any_of`, none of `none_of`, numbers within `ranges`, both ends included."""

    any_of: Mapping[str, Values]
    none_of: Mapping[str, Values]
    ranges: Mapping[str, Bounds]


def matches_nothing(where: Where) -> bool:
    """Whether no point can fulfil all conditions, so that no search is needed."""
    contradicted = any(
        not set(values) - set(where.none_of.get(key, ())) for key, values in where.any_of.items()
    )
    crossed = any(
        where.at_least[key] > where.at_most[key] for key in where.at_least.keys() & where.at_most.keys()
    )
    return contradicted or crossed


def read_conditions(where: Where) -> Conditions | None:
    """Checks a filter and returns its conditions; None where everything passes.

    Only strings and integers are valid: the embedded engine takes a boolean for the number 1 and finds
    nothing.
    """
    wanted, unwanted = _check_values(where.any_of), _check_values(where.none_of)
    found = Conditions(_drop_contradictions(wanted, unwanted), unwanted, _read_ranges(where))
    return found if found.any_of or found.none_of or found.ranges else None


def _check_values(wanted: Mapping[str, Values]) -> dict[str, Values]:
    for key, values in wanted.items():
        validation.check_one_of("Where key", key, FILTERED)
        kinds = {type(value) for value in values}
        if not kinds <= {int} and not kinds <= {str}:
            raise InvalidValue(f"Where[{key}]", "must be all strings or all integers", values)
    return {key: values for key, values in wanted.items() if values}


def _drop_contradictions(wanted: Mapping[str, Values], unwanted: Mapping[str, Values]) -> dict[str, Values]:
    """Leaves out what is both wanted and unwanted: engines differ in which of the two they obey."""
    kept: dict[str, Values] = {}
    for key, values in wanted.items():
        without = unwanted.get(key, ())
        left = tuple(value for value in values if value not in without)
        # Where nothing is left, `matches_nothing` holds, and no engine is asked.
        kept[key] = left or values  # type: ignore[assignment]
    return kept


def _read_ranges(where: Where) -> dict[str, Bounds]:
    for name in ("at_least", "at_most"):
        for key, value in getattr(where, name).items():
            validation.check_one_of("Where key", key, FILTERED)
            validation.check_integer(f"Where.{name}[{key}]", value, least=-validation.LARGEST_EXACT_INTEGER)
    return {
        key: (where.at_least.get(key), where.at_most.get(key)) for key in {**where.at_least, **where.at_most}
    }


def build_payload(chunk: Chunk, *, edition: int) -> Payload:
    """Builds the payload of a chunk without its checksum. Pages are left out where a book has none."""
    payload: Payload = {
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
        payload["page_number"] = chunk.page_number
        payload["page_end"] = chunk.page_end or chunk.page_number
    return payload


def build_indexed_text(chunk: Chunk) -> str:
    """Joins the text that BM25 indexes: the headings that lead to a chunk, those of its table, the chunk."""
    above = (*chunk.heading_path, chunk.context) if chunk.context else chunk.heading_path
    return "\n".join((*above, chunk.content))


def encode_vector(vector: Sequence[float]) -> bytes:
    """Encodes a vector as 32-bit floats of unit length, exactly as the engine keeps them."""
    floats = array("f", vector)
    length = math.hypot(*floats)
    if abs(length * length - 1.0) > _UNIT_TOLERANCE:
        floats = array("f", [x / length for x in floats])
    return floats.tobytes()


def pack_floats(numbers: Sequence[float]) -> bytes:
    """Packs numbers as 32-bit floats, as they are."""
    try:
        # This takes a third of the time that an array takes.
        return struct.pack(f"{len(numbers)}f", *numbers)
    except (struct.error, OverflowError):
        return array("f", numbers).tobytes()


def digest_chunk(chunk: Chunk) -> str:
    """Computes what `ChunkStore.read_digests` reports of this chunk as long as the store is sound."""
    if chunk.embedding is None:
        raise InvalidValue("Chunk.embedding", "must be there before the chunk can be stored", None)
    return digest_payload(build_payload(chunk, edition=1), encode_vector(chunk.embedding))


def digest_payload(payload: Mapping[str, object], vector: bytes) -> str:
    """Computes the digest of a payload and the bytes of its vector."""
    values = _encode_json([payload.get(key) for key in _DIGESTED])
    return blake2b(values.encode() + vector, digest_size=16).hexdigest()


def checksum_point(
    digest: str, edition: object, *, note: object = "", indices: Sequence[int], weights: Sequence[float]
) -> str:
    """Computes a checksum of the digest, the edition, the note and the sparse vector.

    A point without a note, as earlier versions wrote them, has the checksum that they gave it.
    """
    noted = f"{note}\x1f" if note else ""
    checksum = blake2b(f"{digest}\x1f{edition}\x1f{noted}".encode("utf-8", "surrogatepass"), digest_size=16)
    checksum.update(array("Q", indices).tobytes())
    checksum.update(pack_floats(weights))
    return checksum.hexdigest()


def build_point(
    chunk: Chunk, *, edition: int, weights: Mapping[int, float], note: str = ""
) -> tuple[Payload, list[float]]:
    """Builds what is stored of a chunk whose words have these weights: payload with checksum, and vector."""
    vector = encode_vector(chunk.embedding or ())
    payload = build_payload(chunk, edition=edition)
    digest = digest_payload(payload, vector)
    if note:
        payload[NOTE] = note
    payload[CHECKSUM] = checksum_point(
        digest, edition, note=note, indices=list(weights), weights=list(weights.values())
    )
    return payload, array("f", vector).tolist()


def digest_stored_point(
    payload: Mapping[str, object],
    vector: Sequence[float],
    *,
    indices: Sequence[int],
    weights: Sequence[float],
) -> str:
    """Computes the digest of a point as it was read back; `DAMAGED` where its checksum does not match."""
    digest = digest_payload(payload, pack_floats(vector))
    expected = checksum_point(
        digest, payload.get("edition"), note=payload.get(NOTE), indices=indices, weights=weights
    )
    return digest if payload.get(CHECKSUM) == expected else DAMAGED


def build_stored_point(
    id: str, payload: Mapping[str, Any], vector: Sequence[float], *, digest: str
) -> StoredPoint:
    """Builds what the store tells of a point, for those who rebuild the records from it."""
    said = str(payload.get(NOTE, ""))
    return StoredPoint(id, payload, tuple(vector), note=said, sound=digest != DAMAGED)


def check_chunks(chunks: Sequence[Chunk], *, edition: int, dimension: int) -> list[Chunk]:
    """Checks a batch before it is stored. Returns the last of the chunks that share an id."""
    validation.check_integer("edition", edition, least=1)
    last = {chunk.id: chunk for chunk in chunks}
    for chunk in last.values():
        check_id("Chunk.id", chunk.id)
        if chunk.embedding is None:
            raise InvalidValue("Chunk.embedding", "must be there before the chunk can be stored", None)
        check_vector(f"embedding of chunk {chunk.id}", chunk.embedding, dimension=dimension)
    return list(last.values())


def check_id(field: str, value: str) -> None:
    """Raises `InvalidValue` unless the engine would return the id exactly as it was given."""
    try:
        same = str(UUID(value)) == value
    except (ValueError, AttributeError, TypeError):
        same = False
    if not same:
        raise InvalidValue(field, "must be a UUID in lower case with hyphens", value)


def check_vector(field: str, vector: Sequence[float], *, dimension: int) -> None:
    """Raises `InvalidValue` for a vector that the engine would accept and then never find."""
    if len(vector) != dimension:
        raise InvalidValue(field, f"must hold {dimension} numbers (this has {len(vector)})", vector)
    validation.check_unit_vector(field, vector, size=dimension)


def plan_limits(limit: int) -> tuple[int, int]:
    """Returns how many hits to ask for at first, and how many if those are not certain."""
    return limit + FEW_MORE, 2 * limit + MANY_MORE


def cut(
    scored: Sequence[tuple[T, float]], *, asked: int, limit: int, read_id: Callable[[T], str] = str
) -> tuple[tuple[Hit, ...], bool]:
    """Returns the best `limit` hits, equals in order of id, and whether they are certain to be the best.

    When as many came as were asked for, there may be more of the last score: that group is left out, unless
    it is the only one. An engine may take its time to tell an id, so only those that are needed are read.
    """
    rounded = [round(score, DECIMALS) for _, score in scored]
    last = min(rounded, default=0.0)
    whole = [score for score in rounded if score > last] if len(rounded) >= asked else rounded
    certain = len(rounded) < asked or len(whole) >= limit
    floor = min(sorted(whole or rounded, reverse=True)[:limit], default=0.0)
    best = sorted(
        (-score, read_id(each)) for (each, _), score in zip(scored, rounded, strict=True) if score >= floor
    )
    return tuple(Hit(id, -negative) for negative, id in best[:limit]), certain


class LibraryLock:
    """The exclusive lock on one data directory, from construction to `release`."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self._handle: int | None = _take(data)
        me = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: _forget_in_child(me))

    @property
    def held(self) -> bool:
        return self._handle is not None

    def release(self) -> None:
        """Releases the lock. Calling it again does nothing."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.ftruncate(handle, 0)
            os.close(handle)

    def forget(self) -> None:
        """Closes this process's copy of the lock and leaves the lock itself to the parent process."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


def _forget_in_child(lock: weakref.ref[LibraryLock]) -> None:
    # A forked child that kept the descriptor would keep the library locked after its parent's death.
    copy = lock()
    if copy is not None:
        copy.forget()


def _take(data: Path) -> int:
    path = data / LOCK_FILE
    try:
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(
            f"the library at {data} cannot be opened for writing: {error.strerror}",
            hint="Check that the directory exists and belongs to you, or choose another with OCTAVO_DATA.",
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = _read_holder(handle)
        os.close(handle)
        raise LibraryBusy(
            f"the library at {data} is in use by {holder}",
            hint="One process at a time can open a library: wait until it has finished, or stop it. Several "
            "servers, or workers of one, need a shared store: set OCTAVO_STORE_URL.",
        ) from error
    os.ftruncate(handle, 0)
    os.pwrite(handle, json.dumps({"pid": os.getpid(), "command": _describe_command()}).encode(), 0)
    return handle


def _describe_command() -> str:
    name = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"
    return " ".join([name, *sys.argv[1:]])[:200]


def _read_holder(handle: int) -> str:
    try:
        holder = json.loads(os.pread(handle, 4096, 0))
        return f"process {int(holder['pid'])} ({holder['command']})"
    except (ValueError, KeyError, TypeError):
        # It holds the lock and has not yet written its name.
        return "another process"


def require_space(path: Path, bytes_needed: int, floor_mb: int) -> None:
    """Raises `StorageLow` unless `bytes_needed` fit and `floor_mb` stay free on the disk of `path`."""
    existing = path
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    free = shutil.disk_usage(existing).free
    if free < bytes_needed + floor_mb * MB:
        raise StorageLow(
            f"only {free // MB} MB are free on the disk of {path}; this write needs "
            f"{bytes_needed // MB + 1} MB and must leave {floor_mb} MB free",
            hint="Free some space and try again, or lower OCTAVO_FREE_SPACE_MB.",
        )


def locate_store(data: Path) -> Path:
    return data / "store" / COLLECTION


def read_files_state(data: Path) -> str:
    """Names the state of the store's files: the same as long as nothing has written to them.

    The store may be open. A file that goes away meanwhile makes a state that is like no other.
    """
    path = locate_store(data)
    states = []
    try:
        for file in sorted(file for file in path.rglob("*") if file.is_file() and not is_note(file)):
            found = file.stat()
            states.append(f"{file.relative_to(path)} {found.st_size} {found.st_mtime_ns}")
    except OSError:
        return f"unknown {uuid4()}"
    return sha256("\n".join(states).encode()).hexdigest()
