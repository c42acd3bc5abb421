"""Chunks in Qdrant Edge: the whole engine inside this process, in one directory.

Promises: a batch is checked before any of it is written; what `commit` returned for survives a kill and a
power cut; equal scores come in order of id, and equals are not cut apart at random; every failure of the
engine is one of our errors and names the directory. The engine never frees the interpreter while it works,
so searches run where they are called, and only longer work goes to a worker thread, in small portions.

A Qdrant Edge directory: how it is made, opened and told apart from what is none.

The engine takes any folder for an empty store and says everything in one kind of exception. Here a store
is made whole or not at all, nothing but a store of the right dimension is opened, and what the engine says
is turned into our errors, once, by its words.

`Where` in the words of Qdrant Edge.
"""

from __future__ import annotations

import os
import shutil
import time
import weakref
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
    Modifier,
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
from octavo.protocols import Hit, StoreHits, Vector, Where
from octavo.store import base as stored
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

    from octavo.types import Chunk

PARTS = ("edge_config.json", "segments", "wal")
REPAIR = "Run `octavo doctor --repair`: it rebuilds the store from the records, with nothing embedded again."
LEAST_MB = 32
"""With less than this free the engine cannot even flush: on a full disk it dies, and the process with it."""
MORE_FILES = "Raise the limit with `ulimit -n 1024` or more, or in your service manager, and try again."
ACCESS = "Check the rights and the owner of this directory, and that its disk is not mounted read-only."


def create(path: Path, *, dimension: int) -> None:
    """Makes an empty store at `path`, where nothing may be. A kill in between leaves nothing there."""
    draft = path.with_name(f"{path.name}.new")
    with translate_errors(path):
        shutil.rmtree(draft, ignore_errors=True)
        if path.is_dir():
            path.rmdir()
        draft.mkdir(parents=True)
        shard = EdgeShard.create(str(draft), _config(dimension))
        _index(shard)
        shard.close()
        draft.rename(path)
        _sync(path.parent)


def is_empty(path: Path) -> bool:
    """Nothing is at `path`, or a folder with nothing in it."""
    with translate_errors(path):
        return not path.exists() or (path.is_dir() and not any(path.iterdir()))


def set_aside(path: Path) -> Path | None:
    """Gives what is at `path` another name beside it, and says which."""
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
    require_space(path, 0, LEAST_MB)
    with translate_errors(path):
        _check_places(path)
        shard = EdgeShard.load(str(path), _config(dimension))
        said = shard.info()
        if said.indexed_vectors_count > said.points_count:  # the log wrote words a second time over the files
            shard.close()
            shard = EdgeShard.load(str(path), _config(dimension))
        _index(shard)
    return shard


def _check_places(path: Path) -> None:
    """Refuses a list of points with a place far beyond its end: the engine would ask for the memory and die.

    An entry is a kind (2 sets a point, 4 takes it away), the 16 bytes of its UUID and, when set, its place.
    """
    for file in path.glob("segments/*/mutable_id_tracker.mappings"):
        listed, at = file.read_bytes(), 0
        while listed[at : at + 1] in (b"\2", b"\4"):
            place = listed[at + 17 : at + 21] if listed[at] == 2 else b""
            if int.from_bytes(place, "little") > len(listed):
                raise StoreError(f"the store at {path} is damaged: {file.name} makes no sense", hint=REPAIR)
            at += 17 + len(place)


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """What the engine raises inside, as one of our errors."""
    try:
        yield
    except OctavoError:
        raise
    except Exception as error:
        raise _ours(error, path) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # the engine's own crash: it is not importable
            raise
        raise _ours(error, path) from error


def _ours(error: BaseException, path: Path) -> OctavoError:
    said = " ".join(str(error).split())
    low = said.lower()
    if "wouldblock" in low:
        return LibraryBusy(
            f"the store at {path} is in use by another process",
            hint="Wait until it has finished, or stop it.",
        )
    if "too many open files" in low:
        return StoreError(f"this process may not open more files: {said}", hint=MORE_FILES)
    if "no space left" in low or "storagefull" in low:
        return StorageLow(f"the disk of {path} is full: {said}", hint="Free some space and try again.")
    if "expected vector size" in low:
        return StoreError(f"the store at {path} was made for another embedder: {said}", hint=REPAIR)
    if any(words in low for words in ("permission denied", "read-only", "not permitted")):
        return StoreError(f"the store at {path} cannot be written to: {said}", hint=ACCESS)
    return StoreError(f"the store at {path} failed or is damaged: {said[:500]}", hint=REPAIR)


def sync_files(path: Path) -> int:
    """Returns when all that lies under `path` is on the disk: a power cut then leaves what a kill leaves.

    The engine's own flush does more and waits for the disk as often, but lets no other thread run meanwhile.
    Says how many files and folders there are.
    """
    with translate_errors(path):
        there = [path, *path.rglob("*")]
        for place in reversed(there):  # a folder after what is in it
            with suppress(FileNotFoundError):  # the engine has just given an empty log its name
                _sync(place)
    return len(there)


def _config(dimension: int) -> EdgeConfig:
    return EdgeConfig(
        vectors=EdgeVectorParams(size=dimension, distance=Distance.Cosine),
        sparse_vectors={LEXICAL: EdgeSparseVectorParams(modifier=Modifier.Idf)},
    )


def _sync(place: Path) -> None:
    handle = os.open(place, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _index(shard: EdgeShard) -> None:
    kinds = dict.fromkeys(KEYWORDS, PayloadSchemaType.Keyword)
    kinds |= dict.fromkeys(NUMBERS, PayloadSchemaType.Integer)
    there = shard.info().payload_schema
    for key, kind in kinds.items():
        if key not in there:
            shard.update(UpdateOperation.create_field_index(key, kind))


def build_filter(where: Where) -> Filter | None:
    """The filter for `where`, or None where everything passes."""
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


BATCH = 256
AT_ONCE = 32  # points in one update: the engine lets no other thread run meanwhile
STRETCHES = 8
LOG_WORTH, LOG_MOST = 2_048, 16_384  # points in the log that are worth a flush; that need one, whoever asks
QUIET_SECONDS = 2.0
RESERVE_MB = 64  # the engine grows its files by 32 MB at a time

P = ParamSpec("P")
T = TypeVar("T")
Filed = dict[str, dict[str | int, list[str]]]


class EdgeStore:
    """A `ChunkStore` over the directory at `path`, which must hold one; open until `close`."""

    local = True

    def __init__(
        self, path: Path, *, dimension: int, free_space_mb: int = 256, lock: LibraryLock | None = None
    ) -> None:
        self.path, self.place = path, str(path)
        self.dimension = dimension
        self._shard: EdgeShard = load(path, dimension=dimension)
        self._why_shut = ""
        self._floor_mb = max(free_space_mb, RESERVE_MB)
        self._lock = lock
        self._words = Bm25Encoder()
        self._logged, self._asked = LOG_WORTH, 0.0  # an earlier process may have left a long log
        me = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: _shut_in_child(me))

    async def upsert(self, chunks: Sequence[Chunk], *, edition: int) -> None:
        """Adds or replaces. Nothing is written when any chunk is unfit."""
        await self._run(self._upsert, chunks, edition)

    async def delete(self, ids: Collection[str]) -> None:
        """Removes the points that are there; the others are no error."""
        for id in ids:
            stored.check_id("Chunk.id", id)
        await self._run(self._delete, list(ids))

    async def search(self, vector: Vector, text: str, *, where: Where, limit: int) -> StoreHits:
        """Up to `limit` chunks by cosine, and up to `limit` by BM25, in one call of the engine."""
        stored.check_vector("query vector", vector, dimension=self.dimension)
        validation.whole("limit", limit, least=1, most=10_000)
        self._asked = time.monotonic()
        allowed = build_filter(where)
        if matches_nothing(where):
            return StoreHits(dense=(), lexical=())
        by_meaning = Query.Nearest(list(vector), using=DENSE)
        by_words = Query.Nearest(_sparse(self._words.encode_query(text)), using=LEXICAL)
        dense, lexical = self._ask((by_meaning, by_words), allowed, limit)
        return StoreHits(dense=dense, lexical=lexical)

    async def read_digests(self) -> dict[str, str]:
        """Recomputed from what is really stored; a point that a filter or its seal belies is `damaged`."""
        return await self._run(self._read_digests)

    async def count(self) -> int:
        with self._engine() as shard:
            return int(shard.count(CountRequest(exact=True)))

    async def commit(self) -> None:
        """Returns when everything written so far is on the disk."""
        await self._run(self._flush)

    async def close(self) -> None:
        """Flushes, closes and gives the library back. Calling it again does nothing."""
        if self._why_shut:
            return
        try:
            await run_blocking(self._close)
        finally:
            if self._lock is not None:
                self._lock.release()

    def disown(self, why: str) -> None:
        """Shuts the store for this process without touching its files, which another one owns."""
        self._why_shut = self._why_shut or why

    def _check_open(self) -> None:
        if self._why_shut:
            raise StoreError(
                f"the store at {self.path} cannot be used: {self._why_shut}",
                hint="Open the library anew in the process that is to use it.",
            )

    async def _run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """In a worker thread; but not in a forked child, which has none and would wait for one for ever."""
        self._check_open()
        return await run_blocking(work, *args, **kwargs)

    @contextmanager
    def _engine(self) -> Iterator[EdgeShard]:
        self._check_open()
        with translate_errors(self.path):
            yield self._shard

    def _upsert(self, chunks: Sequence[Chunk], edition: int) -> None:
        fit = stored.check_chunks(chunks, edition=edition, dimension=self.dimension)
        for start in range(0, len(fit), AT_ONCE):
            batch = fit[start : start + AT_ONCE]
            require_space(self.path, sum(map(self._estimate_bytes, batch)), self._floor_mb)
            points = [self._build_point(chunk, edition) for chunk in batch]
            with self._engine() as shard:
                shard.update(UpdateOperation.upsert_points(points))
            self._logged += len(points)

    def _delete(self, ids: list[str]) -> None:
        for start in range(0, len(ids), BATCH):
            batch = ids[start : start + BATCH]
            require_space(self.path, BATCH * 64, self._floor_mb)
            with suppress(StoreError):  # words that are damaged beyond this go with their point all the same
                self._clear_words(batch)
            with self._engine() as shard:
                shard.update(UpdateOperation.delete_points([*batch]))
            self._logged += len(batch)

    def _clear_words(self, ids: list[str]) -> None:
        """Takes the words out of points that are to go: the engine would count them for ever in every IDF."""
        with self._engine() as shard:
            there = shard.retrieve([*ids], with_payload=False, with_vector=False)
            wordless = [PointVectors(point.id, {LEXICAL: SparseVector([], [])}) for point in there]
            if wordless:
                shard.update(UpdateOperation.update_vectors(wordless))

    def _estimate_bytes(self, chunk: Chunk) -> int:
        """About four times the bytes of a point: its log entry, its storage, its indexes, and a margin."""
        return 4 * (4 * self.dimension + 4 * len(chunk.content) + 1024)

    def _build_point(self, chunk: Chunk, edition: int) -> Point:
        weights = self._words.encode_document(stored.build_indexed_text(chunk))
        made, vector = stored.build_point(chunk, edition=edition, weights=weights)
        return Point(chunk.id, {DENSE: vector, LEXICAL: _sparse(weights)}, made)

    def _ask(self, halves: Sequence[Query], allowed: Filter | None, limit: int) -> list[tuple[Hit, ...]]:
        """Asks for a few more than wanted, and once for many more when equals stand across the cut."""
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
        worded: list[str] = []
        filed: Filed = {key: defaultdict(list) for key in FILTERED}
        offset = None
        while True:
            page = ScrollRequest(limit=BATCH, offset=offset, with_payload=True, with_vector=True)
            with self._engine() as shard:
                records, offset = shard.scroll(page)
            for record in records:
                id, held = str(record.id), record.payload or {}  # each look at a record copies it
                found[id], has_words = _digest(held, record.vector)
                if has_words:
                    worded.append(id)
                _file(id, held, filed)
            if offset is None:
                broken = [*self._find_misfiled(filed), *self._find_unindexed(worded)]
                return found | dict.fromkeys(broken, stored.DAMAGED)

    def _find_unindexed(self, worded: list[str]) -> list[str]:
        """All points with words, when their index holds fewer: it weighs every word wrong."""
        with self._engine() as shard:
            indexed = shard.info().indexed_vectors_count
        return worded if indexed < len(worded) else []

    def _find_misfiled(self, filed: Filed) -> Iterator[str]:
        """The points that a filter would miss: the index counts others under their value."""
        for key, by_value in filed.items():
            for exact in (False, True):  # the quick count may be off while the index is sound
                request = FacetRequest(key, limit=len(by_value) + 1, exact=exact)
                with self._engine() as shard:
                    counts = {hit.value: hit.count for hit in shard.facet(request)}
                wrong = [ids for value, ids in by_value.items() if counts.get(value) != len(ids)]
                if not wrong:
                    break
            for ids in wrong:
                yield from ids
        for key in stored.NUMBERS:
            yield from self._find_out_of_range(key, filed[key])

    def _find_out_of_range(self, key: str, by_value: Mapping[str | int, list[str]]) -> Iterator[str]:
        """The same for ranges, which have an index of their own: it must count right in a few stretches."""
        values = sorted(value for value in by_value if isinstance(value, int))
        step = len(values) // STRETCHES + 1
        for stretch in (values[start : start + step] for start in range(0, len(values), step)):
            within = build_filter(Where(at_least={key: stretch[0]}, at_most={key: stretch[-1]}))
            with self._engine() as shard:
                count = shard.count(CountRequest(exact=True, filter=within))
            ids = [id for value in stretch for id in by_value[value]]
            if count != len(ids):
                yield from ids

    def _flush(self) -> None:
        """The files as they are suffice, since the log in them is read again when the store is next opened.

        That takes the longer, the longer the log: it is cleared now and then, best while nobody is asking.
        """
        require_space(self.path, 0, LEAST_MB)
        quiet = time.monotonic() - self._asked > QUIET_SECONDS
        if self._logged < (LOG_WORTH if quiet else LOG_MOST):
            self._check_open()
            sync_files(self.path)
            return
        with self._engine() as shard:
            shard.flush()
        self._logged = 0

    def _close(self) -> None:
        with self._engine() as shard:
            self._why_shut = "it has been closed"
            with suppress(StorageLow):  # closing writes; on a full disk the log must do, and it does
                require_space(self.path, 0, LEAST_MB)
                shard.close()


def _shut_in_child(store: weakref.ref[EdgeStore]) -> None:
    copy = store()
    if copy is not None:
        copy.disown("this process was forked from the one that opened it")


def _sparse(weights: Mapping[int, float]) -> SparseVector:
    return SparseVector(list(weights), list(weights.values()))


def _file(id: str, held: Mapping[str, object], filed: Filed) -> None:
    """Notes a point under the values that the filters should find it by."""
    for key, by_value in filed.items():
        value = held.get(key)
        if isinstance(value, str | int):
            by_value[value].append(id)
        elif isinstance(value, list):
            for one in value:
                by_value[str(one)].append(id)


def _digest(held: Mapping[str, object], vectors: object) -> tuple[str, bool]:
    """The digest of a point as it is stored, and whether it has any words to be found by."""
    if not isinstance(vectors, dict) or not isinstance(words := vectors.get(LEXICAL), SparseVector):
        return stored.DAMAGED, False
    indices = words.indices  # each look at it copies it
    digest = stored.digest_stored_point(held, vectors.get(DENSE, ()), indices=indices, weights=words.values)
    return digest, bool(indices)
