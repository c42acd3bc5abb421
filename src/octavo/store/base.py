"""What a `Where` asks for, checked: the same keys and the same kinds of value for every store.

Only strings and integers pass: the embedded engine takes a boolean for the number 1 and then finds nothing.

What is stored of a chunk, and the digests that prove it is still what was stored.

A point's payload has the four keys that every client of the collection may expect (url, text, chunk_id,
source_title) and ours, which `Where` filters on. Its vector is `canonical`: the very bytes that the engine
keeps, so digests need no tolerance and a single flipped bit shows. `digest` is what the records expect of a
chunk; `seal` also covers what only the store knows of it (the edition and the words' weights) and travels
inside the payload.

Two things that must hold before a library is written to: nobody else has it open, and the disk has room.

A library belongs to one process at a time. `LibraryLock` takes `octavo.lock` in the data directory at once
or not at all; the system drops it with the process, however that ends, so there are no stale locks to clean
up. `require_space` refuses a write while there is still room to refuse it: on a full disk the store would
take the whole process down.

The order of what a search finds: best first, equals in order of id, equals not cut apart at random.

Every engine may return equal scores in any order and cut through the middle of them. Both stores ask for a
few more than wanted, and once for many more when equals stand across the cut; `cut` decides what is certain.

Where the embedded store lies, and whether anything has touched it since it was last closed.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import shutil
import sys
import weakref
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256
from pathlib import Path
from uuid import UUID

from octavo import validation
from octavo.errors import InvalidValue, LibraryBusy, StorageLow, StoreError
from octavo.limits import MB
from octavo.protocols import Hit, Values, Where
from octavo.types import COLLECTION, Chunk

Payload = dict[str, str | int | list[str]]

DENSE, LEXICAL = "", "bm25"
KEYWORDS = ("book_id", "sections", "source_file")
NUMBERS = ("edition", "page_number", "page_end", "document_position")
CHECKSUM = "digest"
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


def build_payload(chunk: Chunk, *, edition: int) -> Payload:
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


def build_indexed_text(chunk: Chunk) -> str:
    """The text that BM25 indexes: the headings that lead to a chunk, then the chunk."""
    return "\n".join((*chunk.heading_path, chunk.content))


def encode_vector(vector: Sequence[float]) -> bytes:
    """A vector as 32-bit floats of unit length, exactly as the engine keeps them."""
    kept = array("f", vector)
    length = math.hypot(*kept)
    if abs(length * length - 1.0) > _NORMAL:
        kept = array("f", [x / length for x in kept])
    return kept.tobytes()


def digest_chunk(chunk: Chunk) -> str:
    """What `ChunkStore.digests` reports of this chunk as long as the store is sound."""
    if chunk.embedding is None:
        raise InvalidValue("Chunk.embedding", "must be there before the chunk can be stored", None)
    return digest_payload(build_payload(chunk, edition=1), encode_vector(chunk.embedding))


def digest_payload(stored: Mapping[str, object], vector: bytes) -> str:
    """The digest of a payload and the bytes of its vector."""
    said = _write([stored.get(key) for key in _DIGESTED])
    return blake2b(said.encode() + vector, digest_size=16).hexdigest()


def checksum_point(
    digested: str, edition: object, *, indices: Sequence[int], weights: Sequence[float]
) -> str:
    """Covers the digest, the edition and the sparse vector, whose entries stand in order of their index."""
    made = blake2b(f"{digested}\x1f{edition}\x1f".encode(), digest_size=16)
    made.update(array("Q", indices).tobytes())
    made.update(array("f", weights).tobytes())
    return made.hexdigest()


def build_point(chunk: Chunk, *, edition: int, weights: Mapping[int, float]) -> tuple[Payload, list[float]]:
    """What is stored of a chunk whose words have these weights: its payload with its seal, and its vector."""
    vector = encode_vector(chunk.embedding or ())
    made = build_payload(chunk, edition=edition)
    digested = digest_payload(made, vector)
    made[CHECKSUM] = checksum_point(digested, edition, indices=list(weights), weights=list(weights.values()))
    return made, array("f", vector).tolist()


def digest_stored_point(
    held: Mapping[str, object], vector: Sequence[float], *, indices: Sequence[int], weights: Sequence[float]
) -> str:
    """The digest of a point as it was read back, or `DAMAGED` where its seal belies it."""
    digested = digest_payload(held, array("f", vector).tobytes())
    sound = held.get(CHECKSUM) == checksum_point(
        digested, held.get("edition"), indices=indices, weights=weights
    )
    return digested if sound else DAMAGED


def check_chunks(chunks: Sequence[Chunk], *, edition: int, dimension: int) -> list[Chunk]:
    """The chunks of a batch, fit to be stored: the last of those that share an id, none with a bad vector."""
    validation.whole("edition", edition, least=1)
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
    validation.unit_vector(field, vector, size=dimension)


FILTERED = (*KEYWORDS, *NUMBERS)
Bounds = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class Conditions:
    """All must hold: one of `any_of`, none of `none_of`, numbers within `ranges`, both ends included."""

    any_of: Mapping[str, Values]
    none_of: Mapping[str, Values]
    ranges: Mapping[str, Bounds]


def matches_nothing(where: Where) -> bool:
    """A condition that allows no value at all: the answer is known without asking."""
    return any(not values for values in where.any_of.values())


def read_conditions(where: Where) -> Conditions | None:
    """The conditions of `where`, or None where everything passes; what makes no sense is refused."""
    made = Conditions(_checked(where.any_of), _checked(where.none_of), _ranges(where))
    return made if made.any_of or made.none_of or made.ranges else None


def _checked(wanted: Mapping[str, Values]) -> dict[str, Values]:
    for key, values in wanted.items():
        validation.one_of("Where key", key, FILTERED)
        kinds = {type(value) for value in values}
        if not kinds <= {int} and not kinds <= {str}:
            raise InvalidValue(f"Where[{key}]", "must be all strings or all integers", values)
    return {key: values for key, values in wanted.items() if values}


def _ranges(where: Where) -> dict[str, Bounds]:
    for name in ("at_least", "at_most"):
        for key, value in getattr(where, name).items():
            validation.one_of("Where key", key, FILTERED)
            validation.whole(f"Where.{name}[{key}]", value, least=-validation.LARGEST_EXACT_INTEGER)
    return {
        key: (where.at_least.get(key), where.at_most.get(key)) for key in {**where.at_least, **where.at_most}
    }


LOCK_FILE = "octavo.lock"


class LibraryLock:
    """The exclusive right to one data directory, from construction to `release`."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self._handle: int | None = _take(data)
        me = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: _leave_to_parent(me))

    @property
    def held(self) -> bool:
        return self._handle is not None

    def release(self) -> None:
        """Gives the library back. Calling it again does nothing."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.ftruncate(handle, 0)
            os.close(handle)

    def forget(self) -> None:
        """Closes this process' copy of the lock and leaves the lock itself to whoever else has one."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


def _leave_to_parent(lock: weakref.ref[LibraryLock]) -> None:
    # A forked child that kept the descriptor would keep the library locked after its parent's death.
    copy = lock()
    if copy is not None:
        copy.forget()


def _take(data: Path) -> int:
    path = data / LOCK_FILE
    try:
        data.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(
            f"the library at {data} cannot be opened for writing: {error.strerror}",
            hint="Check that the directory exists and belongs to you, or choose another with OCTAVO_DATA.",
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = _holder(handle)
        os.close(handle)
        raise LibraryBusy(
            f"the library at {data} is in use by {holder}",
            hint="One process at a time can open a library: wait until it has finished, or stop it, or use "
            "the /mcp of a running `octavo serve`.",
        ) from error
    os.ftruncate(handle, 0)
    os.pwrite(handle, json.dumps({"pid": os.getpid(), "command": _command()}).encode(), 0)
    return handle


def _command() -> str:
    name = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"
    return " ".join([name, *sys.argv[1:]])[:200]


def _holder(handle: int) -> str:
    try:
        said = json.loads(os.pread(handle, 4096, 0))
        return f"process {int(said['pid'])} ({said['command']})"
    except (ValueError, KeyError, TypeError):
        return "another process"  # it holds the lock but has not yet written its name


def require_space(path: Path, bytes_needed: int, floor_mb: int) -> None:
    """Raises `StorageLow` unless `bytes_needed` fit and `floor_mb` stay free on the disk of `path`."""
    there = path
    while not there.exists() and there != there.parent:
        there = there.parent
    free = shutil.disk_usage(there).free
    if free < bytes_needed + floor_mb * MB:
        raise StorageLow(
            f"only {free // MB} MB are free on the disk of {path}; this write needs "
            f"{bytes_needed // MB + 1} MB and must leave {floor_mb} MB free",
            hint="Free some space and try again, or lower OCTAVO_FREE_SPACE_MB.",
        )


DECIMALS = 5  # scores that agree this far are equal
FEW_MORE, MANY_MORE = 16, 512


def plan_limits(limit: int) -> tuple[int, int]:
    """How many to ask for at first, and how many if that cannot be certain."""
    return limit + FEW_MORE, 2 * limit + MANY_MORE


def cut(scored: Iterable[tuple[str, float]], *, asked: int, limit: int) -> tuple[tuple[Hit, ...], bool]:
    """The best `limit`, equals in order of id; and whether they are certain to be the best ones.

    When as many came as were asked for, more of the last score may exist: that group is left out, unless
    there is no other.
    """
    hits = [Hit(id, round(score, DECIMALS)) for id, score in scored]
    hits.sort(key=lambda hit: (-hit.score, hit.id))
    if len(hits) < asked:
        return tuple(hits[:limit]), True
    whole = [hit for hit in hits if hit.score > hits[-1].score]
    return tuple((whole or hits)[:limit]), len(whole) >= limit


def locate_store(data: Path) -> Path:
    return data / "store" / COLLECTION


def read_files_state(data: Path) -> str:
    """Names the state of the store's files: the same as long as nothing has written to them."""
    path = locate_store(data)
    files = sorted(file for file in path.rglob("*") if file.is_file())
    said = []
    for file in files:
        state = file.stat()
        said.append(f"{file.relative_to(path)} {state.st_size} {state.st_mtime_ns}")
    return sha256("\n".join(said).encode()).hexdigest()
