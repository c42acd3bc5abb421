"""Rewrites a large embedded store so that a search of all of it stays cheap, in a process of its own.

The engine writes new points into a segment that is kept in memory and compared vector by vector. That is
exact, and quick enough for `EXACT_MOST` passages. In a larger store the segments are rewritten: read from the
disk as they are needed, with two bits for each number of a vector, and with a graph that links each vector
to its neighbours. A search follows the links and compares these codes, and then, in each segment, the vectors
themselves of the best ones: more than were asked for, so that all segments together compare at least
`OVERSAMPLING` times as many. Where a filter leaves few points of a segment, all of their codes are compared,
because too many links would lead to others. The links stay as they are until a segment is rewritten, so a
question finds the same each time.

The engine lets no other thread run while it rewrites. So a child process copies the store's folder and
rewrites the copy, while this process goes on searching, and adding as soon as the copy is made. Then the copy
gets what was changed meanwhile and takes the place of the folder. The records can restore every point, and a
kill at any moment leaves one whole store: `drop_leftovers` puts back what was half exchanged.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from qdrant_edge import (
    Distance,
    EdgeConfig,
    EdgeOptimizersConfig,
    EdgeShard,
    EdgeSparseVectorParams,
    EdgeVectorParams,
    HnswIndexConfig,
    Memory,
    Point,
    QuantizationSearchParams,
    SearchParams,
    TurboQuantBitSize,
    TurboQuantQuantizationConfig,
    UpdateOperation,
)

from octavo.errors import MachineError, StoreError
from octavo.store.base import DENSE, LEXICAL
from octavo.store.edge_files import (
    REPAIR,
    is_empty,
    leave_filters_on_disk,
    load,
    sync_files,
    sync_path,
    translate_errors,
)
from octavo.store.index_checksums import save_checksums

EXACT_MOST = 100_000
"""How many passages a search compares vector by vector."""
OVERSAMPLING, LEAST_OVERSAMPLING = 4.0, 1.5
"""How many times more vectors than asked for are compared: in all segments, and in each of many."""
LOOSE_MOST, LOOSE_SHARE = 50_000, 0.03
"""New points are worth rewriting when there are so many, and in a very large store such a share of them.

Until then each of their vectors is compared.
"""
LINKS, LINKS_CHOSEN_FROM = 16, 60
"""To how many others a vector is linked, and how many near ones these are chosen from."""
NEAR, LEAST_NEAR = 1_536, 256
"""How many of the nearest a search keeps while it follows links: in all segments, and in each of many."""
SCANNED_MOST = 60_000
"""Up to so many points of a segment are compared one by one, by their codes."""
SEGMENT_POINTS = 200_000
"""Segments up to this size are merged. Larger ones would cost more to rewrite than they save."""
NICENESS = 10
BATCH = 256
# One entry of the list of a segment's new points: a kind, a UUID and an offset.
_ENTRY_BYTES = 21
_COPIED = b"copied\n"
# PR_SET_PDEATHSIG of Linux.
_SET_DEATH_SIGNAL = 1
_REPLACED, _DRAFT = ".before-compaction", ".compaction-"
EXACT = SearchParams(exact=True, quantization=QuantizationSearchParams(ignore=True))


def search_by_codes(segments: int, *, filtered: bool = False) -> SearchParams:
    """Builds the parameters that compare codes first, and then the vectors of the best in each segment.

    Vectors are read from the disk, and most of the best are in a few of the segments only. With a filter many
    links lead to what is not wanted, so twice as many are followed.
    """
    factor = max(LEAST_OVERSAMPLING, OVERSAMPLING / max(1, segments))
    near = max(LEAST_NEAR, NEAR // max(1, segments)) * (2 if filtered else 1)
    again = QuantizationSearchParams(rescore=True, oversampling=factor)
    return SearchParams(hnsw_ef=near, quantization=again)


def is_compact(path: Path) -> bool:
    """Whether the store at `path` was rewritten, so that its vectors have codes."""
    return any(vectors.get("quantization_config") for vectors in _read_segments(path))


def lacks_links(path: Path) -> bool:
    """Whether the store was rewritten by a version that built no graph."""
    indexes = (vectors.get("index") for vectors in _read_segments(path))
    return any(isinstance(index, dict) and index.get("options", {}).get("m") == 0 for index in indexes)


def count_loose(path: Path) -> int:
    """Counts the points that were written since the store was last rewritten, as of the last flush."""
    files = path.glob("segments/*/mutable_id_tracker.mappings")
    return sum(file.stat().st_size for file in files) // _ENTRY_BYTES


def is_worth_rewriting(path: Path, *, points: int, exact_most: int) -> bool:
    """Whether a store with so many points is large enough, and enough of them are new or none are linked."""
    least = max(LOOSE_SHARE * points, min(LOOSE_MOST, exact_most))
    worth = count_loose(path) >= least or lacks_links(path)
    return points > exact_most and worth


def measure_size(path: Path) -> int:
    """Counts the bytes that the files at `path` take on the disk."""
    return sum(file.stat().st_blocks * 512 for file in path.rglob("*") if file.is_file())


def make_draft(path: Path) -> Path:
    """Makes an empty folder beside the store for its copy."""
    with translate_errors(path):
        return Path(tempfile.mkdtemp(prefix=f"{path.name}{_DRAFT}", dir=path.parent))


async def start_rewriting(path: Path, draft: Path, *, dimension: int) -> asyncio.subprocess.Process:
    """Starts the child process; returns when it has copied the store, which must not change until then."""
    arguments = (str(path), str(draft), str(dimension), str(os.getpid()))
    command = (sys.executable, "-I", "-B", "-m", __name__, *arguments)
    try:
        child = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise MachineError(
            f"cannot start a process to rewrite the store: {error.strerror}",
            hint="Check this machine's limits with `ulimit -a`.",
        ) from error
    try:
        assert child.stdout is not None
        if await child.stdout.readline() != _COPIED:
            raise StoreError(f"the store at {path} could not be copied to be rewritten", hint=REPAIR)
    except BaseException:
        await stop(child)
        raise
    return child


async def stop(child: asyncio.subprocess.Process) -> None:
    """Ends the child process, if it has not ended."""
    with suppress(ProcessLookupError):
        child.kill()
    await child.wait()


def replay(old: EdgeShard, draft: Path, ids: Iterable[str], *, dimension: int) -> None:
    """Writes to the copy what was written to the store, or deleted from it, since the copy was made."""
    wanted = sorted(ids)
    with translate_errors(draft):
        new = load(draft, dimension=dimension)
        try:
            for start in range(0, len(wanted), BATCH):
                batch = wanted[start : start + BATCH]
                records = old.retrieve([*batch], with_payload=True, with_vector=True)
                points = [Point(record.id, record.vector or {}, record.payload) for record in records]
                gone = set(batch) - {str(record.id) for record in records}
                if points:
                    new.update(UpdateOperation.upsert_points(points))
                if gone:
                    new.update(UpdateOperation.delete_points(sorted(gone)))
        finally:
            new.close()
        sync_files(draft)


def exchange(path: Path, draft: Path) -> Path:
    """Puts the copy in the place of the store, both closed; returns where the store is now.

    If that fails, the store stays where it was.
    """
    replaced = path.with_name(f"{path.name}{_REPLACED}")
    with translate_errors(path):
        # An earlier rewriting may have failed to delete it.
        shutil.rmtree(replaced, ignore_errors=True)
        path.rename(replaced)
        try:
            draft.rename(path)
            sync_path(path.parent)
        except OSError:
            put_back(path, draft, replaced)
            raise
    return replaced


def put_back(path: Path, draft: Path, replaced: Path) -> None:
    """Undoes an exchange, as far as it came."""
    with translate_errors(path):
        if path.exists():
            path.rename(draft)
        replaced.rename(path)


def drop_leftovers(path: Path) -> None:
    """Clears what a kill left of a rewriting. If the store was being exchanged, puts it back."""
    replaced = path.with_name(f"{path.name}{_REPLACED}")
    with translate_errors(path):
        if replaced.exists() and is_empty(path):
            if path.exists():
                path.rmdir()
            replaced.rename(path)
            sync_path(path.parent)
        shutil.rmtree(replaced, ignore_errors=True)
        for draft in path.parent.glob(f"{path.name}{_DRAFT}*"):
            shutil.rmtree(draft, ignore_errors=True)


def rewrite(path: Path, *, dimension: int) -> None:
    """Rewrites the segments of the closed store at `path`. The engine lets no other thread run meanwhile."""
    with translate_errors(path):
        leave_filters_on_disk(path)
        shard = EdgeShard.load(str(path), _build_config(dimension))
        shard.optimize()
        shard.close()
        save_checksums(path)
        sync_files(path)


def copy_files(source: Path, target: Path) -> None:
    """Copies a folder, leaving out the holes in its files."""
    for each in sorted(source.rglob("*")):
        place = target / each.relative_to(source)
        if each.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        else:
            _copy_file(each, place)


def _copy_file(source: Path, target: Path) -> None:
    with source.open("rb") as old, target.open("wb") as new:
        size, at = os.fstat(old.fileno()).st_size, 0
        new.truncate(size)
        while at < size:
            try:
                at = os.lseek(old.fileno(), at, os.SEEK_DATA)
            except OSError:
                # Nothing but a hole is left.
                break
            end = os.lseek(old.fileno(), at, os.SEEK_HOLE)
            new.seek(at)
            old.seek(at)
            while at < end:
                at += new.write(old.read(min(end - at, 1 << 20)))


def _read_segments(path: Path) -> Iterator[dict[str, object]]:
    """Reads what the engine says of the vectors of each segment."""
    for file in path.glob("segments/*/segment.json"):
        config = json.loads(file.read_text(encoding="utf-8")).get("config", {})
        found = config.get("vector_data", {}).get(DENSE, {})
        yield found if isinstance(found, dict) else {}


def _build_config(dimension: int) -> EdgeConfig:
    codes = TurboQuantQuantizationConfig(bits=TurboQuantBitSize.Bits2, memory=Memory.Cached)
    kilobytes = max(1, 4 * dimension // 1024)
    graph = HnswIndexConfig(
        m=LINKS,
        ef_construct=LINKS_CHOSEN_FROM,
        full_scan_threshold=max(1, SCANNED_MOST * 4 * dimension // 1024),
        max_indexing_threads=1,
        payload_m=0,
        memory=Memory.Cached,
    )
    return EdgeConfig(
        vectors=EdgeVectorParams(
            size=dimension, distance=Distance.Cosine, memory=Memory.Cold, quantization_config=codes
        ),
        sparse_vectors={LEXICAL: EdgeSparseVectorParams(memory=Memory.Cold)},
        hnsw_config=graph,
        optimizers=EdgeOptimizersConfig(
            indexing_threshold=1,
            default_segment_number=1,
            max_segment_size=SEGMENT_POINTS * kilobytes,
        ),
        payload_memory=Memory.Cold,
    )


def _end_with(parent: int) -> None:
    """Lets the system kill this process when its parent ends, where it can: nobody would use the copy."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


def main() -> None:
    """Copies the store in the first argument to the second, says so, and rewrites the copy."""
    source, draft, dimension = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    _end_with(int(sys.argv[4]))
    os.nice(NICENESS)
    copy_files(source, draft)
    sys.stdout.buffer.write(_COPIED)
    sys.stdout.buffer.flush()
    rewrite(draft, dimension=dimension)


if __name__ == "__main__":
    main()
