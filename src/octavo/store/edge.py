"""Chunks in Qdrant Edge: the whole engine inside this process, in one directory.

A batch is checked before any of it is written; what `commit` returned for survives a kill and a power cut;
equal scores come in order of id. The engine never releases the interpreter while it works, so searches run
where they are called, and only longer work goes to a worker thread, in small batches. A store of more than
`exact_most` points is rewritten now and then by another process, as `compaction` says.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, ParamSpec, TypeVar

from qdrant_edge import (
    CountRequest,
    EdgeShard,
    Filter,
    HasIdCondition,
    Point,
    PointVectors,
    Query,
    QueryBatchRequest,
    QueryRequest,
    ScrollRequest,
    SearchParams,
    SparseVector,
    UpdateOperation,
)

from octavo import validation
from octavo.concurrency import complete, run_blocking
from octavo.errors import OctavoError, StorageLow, StoreError
from octavo.protocols import Hit, StoredPoint, StoreHits, Vector, Where
from octavo.store import base, compaction
from octavo.store.base import (
    DENSE,
    LEXICAL,
    LibraryLock,
    cut,
    matches_nothing,
    plan_limits,
    require_space,
)
from octavo.store.bm25 import Bm25Encoder
from octavo.store.change_note import ChangeNote, can_note
from octavo.store.compaction import EXACT_MOST
from octavo.store.edge_digests import BATCH, DigestReader
from octavo.store.edge_files import LEAST_MB, load, sync_files, translate_errors
from octavo.store.edge_filters import build_filter, build_left_out

if TYPE_CHECKING:
    from qdrant_edge import PointId, ScoredPoint

    from octavo.types import Chunk

log = logging.getLogger(__name__)
UPDATE_POINTS = 32
"""Points in one update, during which the engine lets no other thread run."""
LOG_WORTH, LOG_MOST = 2_048, 16_384
"""Points in the log that are worth a flush while nobody searches, and that need one in any case."""
QUIET_SECONDS = 2.0
RESERVE_MB = 64
"""What must stay free for a write: the engine grows its files by 32 MB at a time."""

P = ParamSpec("P")
T = TypeVar("T")


class _Attempt(NamedTuple):
    """How many hits to ask for, which are allowed, and which of those that come are dropped again."""

    asked: int
    allowed: Filter | None
    left_out: Filter | None = None


class EdgeStore:
    """A `ChunkStore` over the directory at `path`, which must hold one; open until `close`."""

    local = True

    def __init__(
        self,
        path: Path,
        *,
        dimension: int,
        free_space_mb: int = 256,
        lock: LibraryLock | None = None,
        exact_most: int = EXACT_MOST,
    ) -> None:
        self.path, self.place = path, str(path)
        self.dimension = dimension
        # A note that is void is so because of what was done before this opening.
        with translate_errors(path):
            self._note = ChangeNote(path)
        self._shard: EdgeShard = load(path, dimension=dimension)
        self._compact, self._exact_most = compaction.is_compact(path), exact_most
        self._rewriting: asyncio.Task[bool] | None = None
        self._may_rewrite = True
        # What was written or deleted since the store was copied to be rewritten.
        self._touched: set[str] | None = None
        self._writing, self._using = asyncio.Lock(), threading.RLock()
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
        await self._write(self._upsert, chunks, edition, notes or {})

    async def delete(self, ids: Collection[str]) -> None:
        """Deletes points. An id that is not stored is no error."""
        for id in ids:
            base.check_id("Chunk.id", id)
        await self._write(self._delete, list(ids))

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
        how = self._choose_params(allowed)
        attempts = self._plan_attempts(where, allowed, limit)
        dense, lexical = self._ask(((by_meaning, how), (by_words, None)), attempts, limit)
        return StoreHits(dense=dense, lexical=lexical)

    async def read_digests(self, ids: Collection[str] | None = None) -> dict[str, str]:
        """Recomputes the digests from what is stored.

        A point that a filter would miss, or whose checksum does not match, is `damaged`. With `ids`, which
        must be all points of some books, the others are only listed, as `UNREAD`.
        """
        return await self._run(self._reader.read, ids, self._note)

    async def begin_change(self) -> str:
        """Starts to note which points are written, and names that note; "" where it would not be valid."""
        return await self._write(self._begin_change)

    async def find_touched(self, change: str) -> Collection[str] | None:
        """Returns the points that may not be as they were written, if the note of this name is valid."""
        known = bool(change) and change == self._note.name and self._note.ids is not None
        return frozenset(self._note.ids or ()) if known else None

    async def read_points(self) -> AsyncIterator[StoredPoint]:
        """Reads every point with its note and its vector, a page at a time."""
        offset: PointId | None = None
        while True:
            points, offset = await self._run(self._reader.read_page, offset)
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
        """Returns when everything written so far is on the disk. A large store may begin to be rewritten."""
        await self._write(self._flush)
        self._start_rewriting()

    async def compact(self) -> bool:
        """Rewrites the store if that is worth it, and waits for the end. Returns whether it was rewritten."""
        self._check_open()
        rewriting = self._start_rewriting()
        return rewriting is not None and await asyncio.shield(rewriting)

    async def close(self) -> None:
        """Flushes, closes and releases the library's lock. Calling it again does nothing."""
        if self._closed_because:
            return
        await self.stop_rewriting()
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

    async def _write(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs work that writes while no other does. A caller that is cancelled waits until it has ended."""
        # A forked child has no loop to wait with.
        self._check_open()
        async with self._writing:
            return await complete(self._run(work, *args, **kwargs))

    @property
    def _reader(self) -> DigestReader:
        return DigestReader(self.path, self._engine)

    @contextmanager
    def _engine(self) -> Iterator[EdgeShard]:
        # Nobody may ask the engine while its folder is exchanged.
        with self._using:
            self._check_open()
            with translate_errors(self.path):
                yield self._shard

    def _start_rewriting(self) -> asyncio.Task[bool] | None:
        """Starts to rewrite the store, if it is worth it; returns the task that does, if there is one."""
        if self._rewriting is None and self._may_rewrite:
            with self._engine() as shard:
                points = int(shard.count(CountRequest(exact=False)))
                worth = compaction.is_worth_rewriting(self.path, points=points, exact_most=self._exact_most)
            if worth:
                self._rewriting = asyncio.create_task(self._rewrite())
        return self._rewriting

    async def stop_rewriting(self) -> None:
        """Ends a rewriting that is under way, also while it copies, when writes would wait for it."""
        self._may_rewrite = False
        if self._rewriting is not None:
            self._rewriting.cancel()
            await asyncio.wait([self._rewriting])

    async def _rewrite(self) -> bool:
        """Rewrites the store in another process. If that fails, the store stays as it was."""
        try:
            require_space(self.path, 2 * compaction.measure_size(self.path), self._floor_mb)
            draft = compaction.make_draft(self.path)
            try:
                await self._rewrite_copy(draft)
            finally:
                self._touched = None
                await run_blocking(shutil.rmtree, draft, ignore_errors=True)
        except OctavoError as error:
            self._may_rewrite = False
            log.warning("The store was not rewritten, and searching it stays slow: %s", error.message)
            return False
        finally:
            self._rewriting = None
        return True

    async def _rewrite_copy(self, draft: Path) -> None:
        async with self._writing:
            await complete(self._run(self._flush_engine))
            child = await compaction.start_rewriting(self.path, draft, dimension=self.dimension)
            self._touched = set()
        try:
            code = await child.wait()
        finally:
            await compaction.stop(child)
        if code != 0:
            raise StoreError(f"the process that rewrote it ended with {code}", hint="See its messages.")
        await self._write(self._exchange, draft, self._touched)

    def _exchange(self, draft: Path, touched: Collection[str]) -> None:
        """Uses the rewritten copy from now on, or goes on with the store as it was if that fails."""
        with self._engine() as shard:
            if touched:
                compaction.replay(shard, draft, touched, dimension=self.dimension)
            points = shard.info().points_count
            replaced = None
            try:
                self._note.stamp()
                shard.close()
                replaced = compaction.exchange(self.path, draft)
                self._shard = load(self.path, dimension=self.dimension)
                if self._shard.info().points_count != points:
                    self._shard.close()
                    raise StoreError(f"the rewritten store has not all of the {points:,} points", hint="")
            except OctavoError:
                # Whatever it was, such as a full disk: with the engine closed nothing could be searched.
                if replaced is not None:
                    compaction.put_back(self.path, draft, replaced)
                self._shard = load(self.path, dimension=self.dimension)
                raise
            self._compact, self._logged = True, 0
            self._note.mark_flushed()
            # The records do not know this note: until the next change, a kill means that all is compared.
            self._note.begin()
        shutil.rmtree(replaced, ignore_errors=True)

    def _choose_params(self, allowed: Filter | None) -> SearchParams | None:
        """Compares every vector unless there are too many. A store that was never rewritten has no choice."""
        if not self._compact:
            return None
        with self._engine() as shard:
            points = shard.count(CountRequest(exact=False, filter=allowed))
            if points > self._exact_most:
                segments = shard.info().segments_count
                return compaction.search_by_codes(segments, filtered=allowed is not None)
        return compaction.EXACT

    def _begin_change(self) -> str:
        if not can_note():
            return ""
        if self._note.logged is None:
            # Nobody knows what is in the log.
            try:
                require_space(self.path, 0, LEAST_MB)
            except StorageLow:
                return ""
            self._flush_engine()
        wordless = self._reader.count_lacking_words()
        with translate_errors(self.path):
            return self._note.begin(wordless=wordless)

    def _note_touched(self, ids: Collection[str]) -> None:
        """Notes that points are about to be written or deleted."""
        with translate_errors(self.path):
            self._note.add(ids)
        if self._touched is not None:
            self._touched.update(ids)

    def _upsert(self, chunks: Sequence[Chunk], edition: int, notes: Mapping[str, str]) -> None:
        valid = base.check_chunks(chunks, edition=edition, dimension=self.dimension)
        for start in range(0, len(valid), UPDATE_POINTS):
            batch = valid[start : start + UPDATE_POINTS]
            require_space(
                self.path, sum(self._estimate_bytes(chunk, notes) for chunk in batch), self._floor_mb
            )
            points = [self._build_point(chunk, edition, notes.get(chunk.id, "")) for chunk in batch]
            self._note_touched([chunk.id for chunk in batch])
            with self._engine() as shard:
                shard.update(UpdateOperation.upsert_points(points))
            self._logged += len(points)

    def _delete(self, ids: list[str]) -> None:
        for start in range(0, len(ids), BATCH):
            batch = ids[start : start + BATCH]
            # Deleting gives space back, so it may go below the floor of what adds.
            require_space(self.path, BATCH * 64, LEAST_MB)
            self._note_touched(batch)
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
        weights = self._bm25.encode_document(base.build_indexed_text(chunk), language=chunk.language)
        payload, vector = base.build_point(chunk, edition=edition, weights=weights, note=note)
        return Point(chunk.id, {DENSE: vector, LEXICAL: _build_sparse(weights)}, payload)

    def _plan_attempts(self, where: Where, allowed: Filter | None, limit: int) -> list[_Attempt]:
        """Plans to ask for a few more than wanted, and then for many more.

        In a large store it costs much to ask of every point whether it is left out, as those of a book are
        that is being added. Few of them are among the best, so these alone are asked first.
        """
        few, many = (_Attempt(asked, allowed) for asked in plan_limits(limit))
        left_out = build_left_out(where) if self._compact else None
        first = [_Attempt(few.asked, None, left_out)] if left_out is not None else []
        return [*first, few, many]

    def _ask(
        self,
        halves: Sequence[tuple[Query, SearchParams | None]],
        attempts: Sequence[_Attempt],
        limit: int,
    ) -> list[tuple[Hit, ...]]:
        """Asks one attempt after the other, for those halves of which the best hits are not yet certain."""
        found: dict[int, tuple[Hit, ...]] = {}
        uncertain = [*range(len(halves))]
        for attempt in attempts:
            requests = [
                QueryRequest(
                    limit=attempt.asked,
                    query=halves[number][0],
                    filter=attempt.allowed,
                    params=halves[number][1],
                    with_payload=False,
                )
                for number in uncertain
            ]
            with self._engine() as shard:
                answers = shard.query_batch(QueryBatchRequest(requests))
                dropped = _find_left_out(shard, answers, attempt.left_out)
            cuts = {
                number: _cut_answer(answer, dropped, attempt.asked, limit)
                for number, answer in zip(uncertain, answers, strict=True)
            }
            found |= {number: hits for number, (hits, _) in cuts.items()}
            uncertain = [number for number, (_, certain) in cuts.items() if not certain]
            if not uncertain:
                break
        return [found[number] for number in range(len(halves))]

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
        self._flush_engine()

    def _flush_engine(self) -> None:
        with self._engine() as shard:
            self._note.stamp()
            shard.flush()
        self._note.mark_flushed()
        self._logged = 0

    def _close(self) -> None:
        with self._engine() as shard:
            self._closed_because = "it has been closed"
            # Closing writes. On a full disk the log is enough, and it is already written.
            with suppress(StorageLow):
                require_space(self.path, 0, LEAST_MB)
                self._note.stamp()
                shard.close()
                self._note.mark_flushed()


def _close_in_child(store: weakref.ref[EdgeStore]) -> None:
    copy = store()
    if copy is not None:
        copy.disown("this process was forked from the one that opened it")


def _find_left_out(
    shard: EdgeShard, answers: Sequence[Sequence[ScoredPoint]], left_out: Filter | None
) -> Collection[PointId]:
    """Finds the hits that are to be left out, by the filter that finds all such points."""
    if left_out is None or not any(answers):
        return ()
    ids = {point.id for answer in answers for point in answer}
    among = Filter(must=[left_out, HasIdCondition(ids)])
    points, _ = shard.scroll(
        ScrollRequest(limit=len(ids), filter=among, with_payload=False, with_vector=False)
    )
    return {point.id for point in points}


def _cut_answer(
    answer: Sequence[ScoredPoint], dropped: Collection[PointId], asked: int, limit: int
) -> tuple[tuple[Hit, ...], bool]:
    scored = [(point, point.score) for point in answer if not dropped or point.id not in dropped]
    asked -= len(answer) - len(scored)
    return cut(scored, asked=asked, limit=limit, read_id=lambda point: str(point.id))


def _build_sparse(weights: Mapping[int, float]) -> SparseVector:
    return SparseVector(list(weights), list(weights.values()))
