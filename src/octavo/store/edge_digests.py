"""Read what an embedded store holds: its points, their digests, and whether its indexes find all of them.

A digest is recomputed from what is stored. The engine does not say which points its indexes have, only how
many, so all points under a value of which the index has another number count as damaged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from qdrant_edge import CountRequest, FacetRequest, ScrollRequest, SparseVector

from octavo.errors import StoreError
from octavo.protocols import StoredPoint, Values, Where
from octavo.store import base
from octavo.store.base import DENSE, FILTERED, LEXICAL
from octavo.store.edge_filters import build_filter
from octavo.store.index_checksums import check_files

if TYPE_CHECKING:
    from qdrant_edge import EdgeShard, PointId, Record

    from octavo.store.change_note import ChangeNote

BATCH = 256
RANGES_CHECKED = 8
IdsByValue = dict[str, dict[str | int, list[str]]]
"""The ids of points by the value of each filtered key."""


class DigestReader:
    """Reads the points of the store at `path`. `engine` lends the engine for one call of it."""

    def __init__(self, path: Path, engine: Callable[[], AbstractContextManager[EdgeShard]]) -> None:
        self._path, self._engine = path, engine

    def read(self, ids: Collection[str] | None, note: ChangeNote) -> dict[str, str]:
        """Recomputes the digests of all points, or of these, and lists the others as `UNREAD`.

        All are read if the index of words lacks more points than have no words, as far as the note can tell.
        Whenever all are, the files by which they are found are checked, too: `StoreError` if any is damaged.
        """
        if ids is None:
            self._check_files()
        found: dict[str, str] = {} if ids is None else dict.fromkeys(self._list_ids(), base.UNREAD)
        pages = self._read_all() if ids is None else self._read_some([id for id in ids if id in found])
        with_words: list[str] = []
        wordless: list[str] = []
        by_key: IdsByValue = {key: defaultdict(list) for key in FILTERED}
        for record in pages:
            # Each access to an attribute of a record copies it.
            id, payload = str(record.id), record.payload or {}
            found[id], has_words = _digest_record(payload, record.vector)
            (with_words if has_words else wordless).append(id)
            _note_filters(id, payload, by_key)
        if ids is not None:
            touched = note.ids or ()
            if self.count_lacking_words() > note.wordless + sum(id in touched for id in wordless):
                return self.read(None, note)
        among = None if ids is None else [str(book) for book in by_key["book_id"]]
        broken = [*self._find_misby_key(by_key, among), *self._find_unindexed(with_words)]
        return found | dict.fromkeys(broken, base.DAMAGED)

    def _check_files(self) -> None:
        """Checks the files by which points are found. The store may be exchanged meanwhile: then again."""
        try:
            check_files(self._path)
        except StoreError:
            with self._engine():
                check_files(self._path)

    def count_lacking_words(self) -> int:
        """Counts the points that the index of words lacks. Most of them have no words at all."""
        with self._engine() as shard:
            info = shard.info()
        # The codes of a store that was rewritten count as indexed, too.
        return max(0, info.points_count - info.indexed_vectors_count)

    def read_page(self, offset: PointId | None) -> tuple[list[StoredPoint], PointId | None]:
        """Reads the points from one on, and says with which the next page begins."""
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

    def _read_all(self, *, whole: bool = True) -> Iterator[Record]:
        """Reads every point, with payload and vectors if `whole`."""
        offset: PointId | None = None
        while True:
            page = ScrollRequest(limit=BATCH, offset=offset, with_payload=whole, with_vector=whole)
            with self._engine() as shard:
                records, offset = shard.scroll(page)
            yield from records
            if offset is None:
                return

    def _read_some(self, ids: Sequence[str]) -> Iterator[Record]:
        for start in range(0, len(ids), BATCH):
            batch = ids[start : start + BATCH]
            with self._engine() as shard:
                records = shard.retrieve([*batch], with_payload=True, with_vector=True)
            yield from records

    def _list_ids(self) -> Iterator[str]:
        return (str(record.id) for record in self._read_all(whole=False))

    def _find_unindexed(self, with_words: list[str]) -> list[str]:
        """Returns all points with words when the index holds fewer: some would not be found by them."""
        with self._engine() as shard:
            indexed = shard.info().indexed_vectors_count
        return with_words if indexed < len(with_words) else []

    def _find_misby_key(self, by_key: IdsByValue, books: Sequence[str] | None) -> Iterator[str]:
        """Yields the points that a filter would miss: the index has another count for their value.

        With `books`, only their points are counted.
        """
        among: Mapping[str, Values] = {} if books is None else {"book_id": (*books,)}
        allowed = build_filter(Where(any_of=among))
        for key, by_value in by_key.items():
            # The quick count may be wrong while the index is sound.
            for exact in (False, True):
                request = FacetRequest(key, limit=len(by_value) + 1, exact=exact, filter=allowed)
                with self._engine() as shard:
                    counts = {hit.value: hit.count for hit in shard.facet(request)}
                wrong = [ids for value, ids in by_value.items() if counts.get(value) != len(ids)]
                if not wrong:
                    break
            for ids in wrong:
                yield from ids
        for key in base.NUMBERS:
            yield from self._find_out_of_range(key, by_key[key], among)

    def _find_out_of_range(
        self, key: str, by_value: Mapping[str | int, list[str]], among: Mapping[str, Values]
    ) -> Iterator[str]:
        """Does the same for ranges, which have an index of their own: checks its counts in a few ranges."""
        values = sorted(value for value in by_value if isinstance(value, int))
        step = len(values) // RANGES_CHECKED + 1
        for part in (values[start : start + step] for start in range(0, len(values), step)):
            within = build_filter(Where(any_of=among, at_least={key: part[0]}, at_most={key: part[-1]}))
            with self._engine() as shard:
                count = shard.count(CountRequest(exact=True, filter=within))
            ids = [id for value in part for id in by_value[value]]
            if count != len(ids):
                yield from ids


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
