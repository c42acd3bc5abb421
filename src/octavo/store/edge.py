"""Chunks in Qdrant Edge: the whole engine inside this process, in one directory.

A batch is checked before any of it is written; what `commit` returned for survives a kill and a power cut;
equal scores come in order of id. The engine never releases the interpreter while it works, so searches run
where they are called, and only longer work goes to a worker thread, in small batches.

The engine takes any folder for an empty store and reports every failure as one kind of exception. Here a
store is created whole or not at all, nothing but a store of the right dimension is opened, and every failure
becomes one of our errors, which names the directory.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import weakref
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from qdrant_edge import (
    CountRequest,
    Distance,
    EdgeConfig,
    EdgeShard,
    EdgeSparseVectorParams,
    EdgeVectorParams,
    FacetRequest,
    FieldCondition,
    Filter,
    MatchAny,
    PayloadSchemaType,
    Point,
    PointVectors,
    Query,
    QueryBatchRequest,
    QueryRequest,
    RangeFloat,
    ScrollRequest,
    SparseVector,
    UpdateOperation,
)

from octavo import validation
from octavo.concurrency import run_blocking
from octavo.errors import LibraryBusy, OctavoError, StorageLow, StoreError
from octavo.protocols import Hit, StoredPoint, StoreHits, Vector, Where
from octavo.store import base
from octavo.store.base import (
    DENSE,
    FILTERED,
    KEYWORDS,
    LEXICAL,
    NUMBERS,
    LibraryLock,
    cut,
    matches_nothing,
    plan_limits,
    read_conditions,
    require_space,
)
from octavo.store.bm25 import Bm25Encoder

if TYPE_CHECKING:
    from qdrant_edge import ConditionType as Condition
    from qdrant_edge import PointId

    from octavo.types import Chunk

BATCH = 256
UPDATE_POINTS = 32
"""Points in one update, during which the engine lets no other thread run."""
RANGES_CHECKED = 8
LOG_WORTH, LOG_MOST = 2_048, 16_384
"""Points in the log that are worth a flush while nobody searches, and that need one in any case."""
QUIET_SECONDS = 2.0
RESERVE_MB = 64
"""What must stay free for a write: the engine grows its files by 32 MB at a time."""
LEAST_MB = 32
"""With less than this free the engine cannot even flush: on a full disk it crashes the process."""
PARTS = ("edge_config.json", "segments", "wal")
REPAIR = "Run `octavo doctor --repair`: it rebuilds the store from the records, with nothing embedded again."
MORE_FILES = "Raise the limit with `ulimit -n 1024` or more, or in your service manager, and try again."
ACCESS = "Check the rights and the owner of this directory, and that its disk is not mounted read-only."

P = ParamSpec("P")
T = TypeVar("T")
IdsByValue = dict[str, dict[str | int, list[str]]]
"""The ids of points by the value of each filtered key."""


class EdgeStore:
    """A `ChunkStore` over the directory at `path`, which must hold one; open until `close`."""

    local = True

    def __init__(
        self, path: Path, *, dimension: int, free_space_mb: int = 256, lock: LibraryLock | None = None
    ) -> None:
        self.path, self.place = path, str(path)
        self.dimension = dimension
        self._shard: EdgeShard = load(path, dimension=dimension)
        self._closed_because = ""
        self._floor_mb = max(free_space_mb, RESERVE_MB)
        self._lock = lock
        self._bm25 = Bm25Encoder()
        # An earlier process may have left a long log.
        self._logged, self._searched_at = LOG_WORTH, 0.0
        me = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: _close_in_child(me))

    async def upsert(
        self, chunks: Sequence[Chunk], *, edition: int, notes: Mapping[str, str] | None = None
    ) -> None:
        """Adds or replaces chunks. Writes nothing when any of them is invalid."""
        await self._run(self._upsert, chunks, edition, notes or {})

    async def delete(self, ids: Collection[str]) -> None:
        """Deletes points. An id that is not stored is no error."""
        for id in ids:
            base.check_id("Chunk.id", id)
        await self._run(self._delete, list(ids))

    async def search(
        self, vector: Vector, words: Mapping[int, float], *, where: Where, limit: int
    ) -> StoreHits:
        """Finds up to `limit` chunks by cosine and up to `limit` by BM25, in one call of the engine."""
        base.check_vector("query vector", vector, dimension=self.dimension)
        validation.check_integer("limit", limit, least=1, most=10_000)
        self._searched_at = time.monotonic()
        allowed = build_filter(where)
        if matches_nothing(where):
            return StoreHits(dense=(), lexical=())
        by_meaning = Query.Nearest(list(vector), using=DENSE)
        by_words = Query.Nearest(_build_sparse(words), using=LEXICAL)
        dense, lexical = self._ask((by_meaning, by_words), allowed, limit)
        return StoreHits(dense=dense, lexical=lexical)

    async def read_digests(self) -> dict[str, str]:
        """Recomputes the digests from what is stored.

        A point that a filter would miss, or whose checksum does not match, is `damaged`.
        """
        return await self._run(self._read_digests)

    async def read_points(self) -> AsyncIterator[StoredPoint]:
        """Reads every point with its note and its vector, a page at a time."""
        offset: PointId | None = None
        while True:
            points, offset = await self._run(self._read_page, offset)
            for point in points:
                yield point
            if offset is None:
                return

    async def count(self) -> int:
        with self._engine() as shard:
            return int(shard.count(CountRequest(exact=True)))

    async def find_lagging_copies(self) -> list[str]:
        """There is one copy only."""
        return []

    async def commit(self) -> None:
        """Returns when everything written so far is on the disk."""
        await self._run(self._flush)

    async def close(self) -> None:
        """Flushes, closes and releases the library's lock. Calling it again does nothing."""
        if self._closed_because:
            return
        try:
            await run_blocking(self._close)
        finally:
            if self._lock is not None:
                self._lock.release()

    def disown(self, why: str) -> None:
        """Closes the store in this process without touching its files, which another process owns."""
        self._closed_because = self._closed_because or why

    def _check_open(self) -> None:
        if self._closed_because:
            raise StoreError(
                f"the store at {self.path} cannot be used: {self._closed_because}",
                hint="Open the library again in the process that is to use it.",
            )

    async def _run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs work in a worker thread. A forked child has none and would wait for ever, so it is refused."""
        self._check_open()
        return await run_blocking(work, *args, **kwargs)

    @contextmanager
    def _engine(self) -> Iterator[EdgeShard]:
        self._check_open()
        with translate_errors(self.path):
            yield self._shard

    def _upsert(self, chunks: Sequence[Chunk], edition: int, notes: Mapping[str, str]) -> None:
        valid = base.check_chunks(chunks, edition=edition, dimension=self.dimension)
        for start in range(0, len(valid), UPDATE_POINTS):
            batch = valid[start : start + UPDATE_POINTS]
            require_space(
                self.path, sum(self._estimate_bytes(chunk, notes) for chunk in batch), self._floor_mb
            )
            points = [self._build_point(chunk, edition, notes.get(chunk.id, "")) for chunk in batch]
            with self._engine() as shard:
                shard.update(UpdateOperation.upsert_points(points))
            self._logged += len(points)

    def _delete(self, ids: list[str]) -> None:
        for start in range(0, len(ids), BATCH):
            batch = ids[start : start + BATCH]
            # Deleting gives space back, so it may go below the floor of what adds.
            require_space(self.path, BATCH * 64, LEAST_MB)
            # Words too damaged to be cleared are deleted with their point.
            with suppress(StoreError):
                self._clear_words(batch)
            with self._engine() as shard:
                shard.update(UpdateOperation.delete_points([*batch]))
            self._logged += len(batch)

    def _clear_words(self, ids: list[str]) -> None:
        """Clears the words of points before they are deleted.

        The engine would count them as indexed for ever, and the index could not be checked any more.
        """
        with self._engine() as shard:
            found = shard.retrieve([*ids], with_payload=False, with_vector=False)
            wordless = [PointVectors(point.id, {LEXICAL: SparseVector([], [])}) for point in found]
            if wordless:
                shard.update(UpdateOperation.update_vectors(wordless))

    def _estimate_bytes(self, chunk: Chunk, notes: Mapping[str, str]) -> int:
        """Estimates what a point needs on the disk: log entry, storage, indexes, and a margin."""
        return 4 * (4 * self.dimension + 4 * (len(chunk.content) + len(notes.get(chunk.id, ""))) + 1024)

    def _build_point(self, chunk: Chunk, edition: int, note: str) -> Point:
        weights = self._bm25.encode_document(base.build_indexed_text(chunk))
        payload, vector = base.build_point(chunk, edition=edition, weights=weights, note=note)
        return Point(chunk.id, {DENSE: vector, LEXICAL: _build_sparse(weights)}, payload)

    def _ask(self, halves: Sequence[Query], allowed: Filter | None, limit: int) -> list[tuple[Hit, ...]]:
        """Asks for a few more than wanted, and once for many more when equal scores cross the cut."""
        for asked in plan_limits(limit):
            requests = [
                QueryRequest(limit=asked, query=q, filter=allowed, with_payload=False) for q in halves
            ]
            with self._engine() as shard:
                answers = shard.query_batch(QueryBatchRequest(requests))
            scored = [[(str(point.id), point.score) for point in answer] for answer in answers]
            cuts = [cut(each, asked=asked, limit=limit) for each in scored]
            if all(complete for _, complete in cuts):
                break
        return [hits for hits, _ in cuts]

    def _read_digests(self) -> dict[str, str]:
        found: dict[str, str] = {}
        with_words: list[str] = []
        by_key: IdsByValue = {key: defaultdict(list) for key in FILTERED}
        offset = None
        while True:
            page = ScrollRequest(limit=BATCH, offset=offset, with_payload=True, with_vector=True)
            with self._engine() as shard:
                records, offset = shard.scroll(page)
            for record in records:
                # Each access to an attribute of a record copies it.
                id, payload = str(record.id), record.payload or {}
                found[id], has_words = _digest_record(payload, record.vector)
                if has_words:
                    with_words.append(id)
                _note_filters(id, payload, by_key)
            if offset is None:
                broken = [*self._find_misby_key(by_key), *self._find_unindexed(with_words)]
                return found | dict.fromkeys(broken, base.DAMAGED)

    def _read_page(self, offset: PointId | None) -> tuple[list[StoredPoint], PointId | None]:
        page = ScrollRequest(limit=BATCH, offset=offset, with_payload=True, with_vector=True)
        with self._engine() as shard:
            records, following = shard.scroll(page)
        points = []
        for record in records:
            payload, vectors = record.payload or {}, record.vector
            digest, _ = _digest_record(payload, vectors)
            dense = vectors.get(DENSE) if isinstance(vectors, dict) else None
            numbers = [x for x in dense if isinstance(x, float)] if isinstance(dense, list) else []
            points.append(base.build_stored_point(str(record.id), payload, numbers, digest=digest))
        return points, following

    def _find_unindexed(self, with_words: list[str]) -> list[str]:
        """Returns all points with words when the index holds fewer: some would not be found by them."""
        with self._engine() as shard:
            indexed = shard.info().indexed_vectors_count
        return with_words if indexed < len(with_words) else []

    def _find_misby_key(self, by_key: IdsByValue) -> Iterator[str]:
        """Yields the points that a filter would miss: the index has another count for their value."""
        for key, by_value in by_key.items():
            # The quick count may be wrong while the index is sound.
            for exact in (False, True):
                request = FacetRequest(key, limit=len(by_value) + 1, exact=exact)
                with self._engine() as shard:
                    counts = {hit.value: hit.count for hit in shard.facet(request)}
                wrong = [ids for value, ids in by_value.items() if counts.get(value) != len(ids)]
                if not wrong:
                    break
            for ids in wrong:
                yield from ids
        for key in base.NUMBERS:
            yield from self._find_out_of_range(key, by_key[key])

    def _find_out_of_range(self, key: str, by_value: Mapping[str | int, list[str]]) -> Iterator[str]:
        """Does the same for ranges, which have an index of their own: checks its counts in a few ranges."""
        values = sorted(value for value in by_value if isinstance(value, int))
        step = len(values) // RANGES_CHECKED + 1
        for part in (values[start : start + step] for start in range(0, len(values), step)):
            within = build_filter(Where(at_least={key: part[0]}, at_most={key: part[-1]}))
            with self._engine() as shard:
                count = shard.count(CountRequest(exact=True, filter=within))
            ids = [id for value in part for id in by_value[value]]
            if count != len(ids):
                yield from ids

    def _flush(self) -> None:
        """Syncs the files, which include the log that the engine replays when the store is next opened.

        A long log makes opening slow, so it is cleared now and then, best while nobody searches.
        """
        require_space(self.path, 0, LEAST_MB)
        quiet = time.monotonic() - self._searched_at > QUIET_SECONDS
        if self._logged < (LOG_WORTH if quiet else LOG_MOST):
            self._check_open()
            sync_files(self.path)
            return
        with self._engine() as shard:
            shard.flush()
        self._logged = 0

    def _close(self) -> None:
        with self._engine() as shard:
            self._closed_because = "it has been closed"
            # Closing writes. On a full disk the log is enough, and it is already written.
            with suppress(StorageLow):
                require_space(self.path, 0, LEAST_MB)
                shard.close()


def _close_in_child(store: weakref.ref[EdgeStore]) -> None:
    copy = store()
    if copy is not None:
        copy.disown("this process was forked from the one that opened it")


def _build_sparse(weights: Mapping[int, float]) -> SparseVector:
    return SparseVector(list(weights), list(weights.values()))


def _note_filters(id: str, payload: Mapping[str, object], by_key: IdsByValue) -> None:
    """Adds a point to the ids under each value that a filter should find it by."""
    for key, by_value in by_key.items():
        value = payload.get(key)
        if isinstance(value, str | int):
            by_value[value].append(id)
        elif isinstance(value, list):
            for one in value:
                by_value[str(one)].append(id)


def _digest_record(payload: Mapping[str, object], vectors: object) -> tuple[str, bool]:
    """Digests a point as it is stored, and says whether it has any words to be found by."""
    if not isinstance(vectors, dict) or not isinstance(words := vectors.get(LEXICAL), SparseVector):
        return base.DAMAGED, False
    # Each access to an attribute copies it.
    indices = words.indices
    digest = base.digest_stored_point(payload, vectors.get(DENSE, ()), indices=indices, weights=words.values)
    return digest, bool(indices)


def build_filter(where: Where) -> Filter | None:
    """Builds the filter for `where`; None where everything passes."""
    wanted = read_conditions(where)
    if wanted is None:
        return None
    must: list[Condition] = [
        FieldCondition(key=key, match=MatchAny([*values])) for key, values in wanted.any_of.items()
    ]
    must += [
        FieldCondition(key=key, range=RangeFloat(gte=least, lte=most))
        for key, (least, most) in wanted.ranges.items()
    ]
    must_not: list[Condition] = [
        FieldCondition(key=key, match=MatchAny([*values])) for key, values in wanted.none_of.items()
    ]
    return Filter(must=must or None, must_not=must_not or None)


def create(path: Path, *, dimension: int) -> None:
    """Creates an empty store at `path`, which must be free. A kill meanwhile leaves nothing there."""
    draft = path.with_name(f"{path.name}.new")
    with translate_errors(path):
        shutil.rmtree(draft, ignore_errors=True)
        if path.is_dir():
            path.rmdir()
        draft.mkdir(parents=True)
        shard = EdgeShard.create(str(draft), _build_config(dimension))
        _create_indexes(shard)
        shard.close()
        draft.rename(path)
        _sync_path(path.parent)


def is_empty(path: Path) -> bool:
    """Whether nothing is at `path`, or an empty folder."""
    with translate_errors(path):
        return not path.exists() or (path.is_dir() and not any(path.iterdir()))


def set_aside(path: Path) -> Path | None:
    """Renames what is at `path`, and returns its new place beside it."""
    with translate_errors(path):
        if is_empty(path):
            return None
        number = 1
        while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
            number += 1
        return path.rename(aside)


def load(path: Path, *, dimension: int) -> EdgeShard:
    """Opens the store at `path`."""
    with translate_errors(path):
        missing = [part for part in PARTS if not (path / part).exists()]
    if is_empty(path):
        raise StoreError(f"the chunk store is missing: there is nothing at {path}", hint=REPAIR)
    if missing:
        raise StoreError(f"{path} is not a whole chunk store: it has no {missing[0]}", hint=REPAIR)
    # The engine maps its files: to write into a hole for which there is no space would kill the process.
    require_space(path, _count_holes(path), LEAST_MB)
    with translate_errors(path):
        _check_point_list(path)
        _stop_counting(path)
        shard = EdgeShard.load(str(path), _build_config(dimension))
        info = shard.info()
        # Replaying the log may have indexed words a second time; loading again counts them once.
        if info.indexed_vectors_count > info.points_count:
            shard.close()
            shard = EdgeShard.load(str(path), _build_config(dimension))
        _create_indexes(shard)
    return shard


def _count_holes(path: Path) -> int:
    """Counts the bytes of the store's files that have no place on the disk yet, as after a sparse copy."""
    with translate_errors(path):
        found = [file.stat() for file in path.rglob("*") if file.is_file()]
    return sum(max(0, each.st_size - each.st_blocks * 512) for each in found)


def _check_point_list(path: Path) -> None:
    """Refuses a list of points with an offset far beyond its end: the engine would allocate it and crash.

    An entry is a kind (2 sets a point, 4 deletes it), the 16 bytes of its UUID and, when set, its offset.
    """
    for file in path.glob("segments/*/mutable_id_tracker.mappings"):
        entries, at = file.read_bytes(), 0
        while entries[at : at + 1] in (b"\2", b"\4"):
            offset = entries[at + 17 : at + 21] if entries[at] == 2 else b""
            if int.from_bytes(offset, "little") > len(entries):
                raise StoreError(f"the store at {path} is damaged: {file.name} is invalid", hint=REPAIR)
            at += 17 + len(offset)


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Turns what the engine raises inside into one of our errors."""
    try:
        yield
    except OctavoError:
        raise
    except Exception as error:
        raise _translate(error, path) from error
    except BaseException as error:
        # The engine's own crash: its class cannot be imported.
        if type(error).__name__ != "PanicException":
            raise
        raise _translate(error, path) from error


def _translate(error: BaseException, path: Path) -> OctavoError:
    message = " ".join(str(error).split())
    low = message.lower()
    if "wouldblock" in low:
        return LibraryBusy(
            f"the store at {path} is in use by another process",
            hint="Wait until it has finished, or stop it.",
        )
    if "too many open files" in low:
        return StoreError(f"this process may not open more files: {message}", hint=MORE_FILES)
    if "no space left" in low or "storagefull" in low:
        return StorageLow(f"the disk of {path} is full: {message}", hint="Free some space and try again.")
    if "expected vector size" in low:
        return StoreError(f"the store at {path} was made for another embedder: {message}", hint=REPAIR)
    if any(words in low for words in ("permission denied", "read-only", "not permitted")):
        return StoreError(f"the store at {path} cannot be written to: {message}", hint=ACCESS)
    return StoreError(f"the store at {path} failed or is damaged: {message[:500]}", hint=REPAIR)


def sync_files(path: Path) -> int:
    """Syncs all files and folders under `path` to the disk; returns how many there are.

    A power cut then leaves what a kill leaves. The engine's own flush does more and waits for the disk as
    often, but lets no other thread run meanwhile.
    """
    with translate_errors(path):
        paths = [path, *path.rglob("*")]
        # A folder comes after its contents. The engine may rename an empty log meanwhile.
        for each in reversed(paths):
            with suppress(FileNotFoundError):
                _sync_path(each)
    return len(paths)


def _build_config(dimension: int) -> EdgeConfig:
    return EdgeConfig(
        vectors=EdgeVectorParams(size=dimension, distance=Distance.Cosine),
        sparse_vectors={LEXICAL: EdgeSparseVectorParams()},
    )


def _stop_counting(path: Path) -> None:
    """Turns off the engine's own weighing of rare words in a store of an earlier version.

    The engine refuses to load a store with another modifier than it was made with. It only says how a search
    weighs words, so nothing else has to change. If a kill leaves some of the files as they were, they are
    changed the next time.
    """
    for file in (path / "edge_config.json", *path.glob("segments/*/segment.json")):
        said = file.read_text(encoding="utf-8")
        config = json.loads(said)
        held = config.get("config", {}).get("sparse_vector_data") or config.get("sparse_vectors") or {}
        if held.get(LEXICAL, {}).pop("modifier", None) is not None:
            draft = file.with_name(f"{file.name}.new")
            draft.write_text(json.dumps(config), encoding="utf-8")
            _sync_path(draft)
            draft.replace(file)
            _sync_path(file.parent)


def _sync_path(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _create_indexes(shard: EdgeShard) -> None:
    kinds = dict.fromkeys(KEYWORDS, PayloadSchemaType.Keyword)
    kinds |= dict.fromkeys(NUMBERS, PayloadSchemaType.Integer)
    existing = shard.info().payload_schema
    for key, kind in kinds.items():
        if key not in existing:
            shard.update(UpdateOperation.create_field_index(key, kind))
