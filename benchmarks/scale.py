"""How the embedded store grows: the cost of adding, searching and opening, from 10,000 to a million passages.

    python -m benchmarks.scale [--sizes 10000,100000] [--memory-gb 4] [--seconds 600]

Vectors and texts are made up: clusters in 48 dimensions put into 384, and 40 to 80 words with the frequencies
of a language. Each size runs in a process of its own, and only if memory is left and the time is not up; a
size that did not run is named. Times are CPU time of the process, so that a busy machine changes them little.
What the processes cost that rewrite a large store is listed apart. Searching is measured in a process that
has only opened the store, with its memory. The share of the best ten that the search finds is counted against
a search that compares every vector, of the same queries in the same run. In the end a book is added that
nobody may see yet, and all books are searched meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import numpy as np
from qdrant_edge import Query, SparseVector

from octavo.protocols import EVERYWHERE, Hit, Vector, Where
from octavo.settings import Settings
from octavo.store import locate_store, open_store
from octavo.store.base import DENSE, LEXICAL
from octavo.store.bm25 import Bm25Encoder
from octavo.store.edge import EdgeStore
from octavo.store.edge_filters import build_filter
from octavo.types import Chunk

SIZE, LATENT, WORDS, VOCABULARY = 384, 48, (40, 80), 30_000
A_BOOK, AT_ONCE, QUERIES, LIMIT = 2_000, 1_000, 60, 50
# What a passage takes in memory while a store is filled and rewritten, with a margin.
BYTES_A_PASSAGE = 4_000
NEW_EDITION = 1_000_000


class MadeUp:
    """Passages and queries that are the same in every run."""

    def __init__(self, count: int, *, seed: int = 7) -> None:
        shared = np.random.default_rng(7)
        self._centres = shared.normal(size=(max(1, count // 200), LATENT))
        self._turn = shared.normal(size=(LATENT, SIZE))
        self._random = np.random.default_rng(seed)
        frequencies = 1 / (np.arange(VOCABULARY) + 10)
        self._frequencies = frequencies / frequencies.sum()

    def make_vectors(self, count: int) -> list[tuple[float, ...]]:
        near = self._centres[self._random.integers(len(self._centres), size=count)]
        raw = (near + 0.4 * self._random.normal(size=near.shape)) @ self._turn
        raw += 0.3 * self._random.normal(size=raw.shape)
        unit = (raw / np.linalg.norm(raw, axis=1, keepdims=True)).astype(np.float32)
        return [tuple(vector) for vector in unit.tolist()]

    def make_texts(self, count: int, fewest: int, most: int) -> list[str]:
        """Make texts of so many words. Were all of one length, BM25 would give most of them equal scores."""
        numbers = self._random.choice(VOCABULARY, size=(count, most), p=self._frequencies)
        lengths = self._random.integers(fewest, most + 1, size=count)
        return [
            " ".join(f"w{number}x" for number in row[:length])
            for row, length in zip(numbers, lengths, strict=True)
        ]


def make_chunk(number: int, text: str, vector: tuple[float, ...]) -> Chunk:
    book = f"book-{number // A_BOOK}"
    return Chunk(
        id=str(UUID(int=number + 1)),
        chunk_id=number + 1,
        content=text,
        book_id=book,
        section_id="s",
        chapter="Chapter",
        section="Chapter",
        document_position=number % A_BOOK,
        chunk_index=0,
        url=f"book://{book}/s",
        source_file=f"{book}.txt",
        source_location="Chapter",
        source_title=book,
        start=0,
        end=len(text),
        created_at=datetime(2025, 1, 1, tzinfo=UTC),
        heading_path=("Chapter",),
        embedding=vector,
    )


async def measure_adding(count: int, data: Path) -> dict[str, float]:
    """Fill a store with so many passages."""
    settings, made = Settings(data=data, free_space_mb=0), MadeUp(count)
    store = await open_store(settings, dimension=SIZE)
    adding: list[float] = []
    for start in range(0, count, AT_ONCE):
        some = min(AT_ONCE, count - start)
        texts, vectors = made.make_texts(some, *WORDS), made.make_vectors(some)
        chunks = [make_chunk(start + n, texts[n], vectors[n]) for n in range(some)]
        began = time.process_time()
        await store.upsert(chunks, edition=1)
        await store.commit()
        adding.append((time.process_time() - began) / some)
    await store.compact()
    await store.close()
    tenth = max(1, len(adding) // 10)
    return {
        "add, first tenth (ms)": 1e3 * float(np.mean(adding[:tenth])),
        "add, last tenth (ms)": 1e3 * float(np.mean(adding[-tenth:])),
        "rewriting, each (ms)": 1e3 * _read_cpu_of_children() / count,
        "memory to add (MB)": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


async def measure_searches(count: int, data: Path) -> dict[str, float]:
    """Open a store of so many passages and search it, in a process that has done nothing else."""
    made, encoder = MadeUp(count, seed=8), Bm25Encoder()
    queries = list(zip(made.make_vectors(QUERIES), made.make_texts(QUERIES, 8, 8), strict=True))
    one_book = Where(any_of={"book_id": (f"book-{count // A_BOOK // 2}",)})
    began = time.process_time()
    store = await open_store(Settings(data=data, free_space_mb=0), dimension=SIZE, expected=True)
    opening = time.process_time() - began
    costs: dict[str, list[float]] = {"all": [], "book": []}
    best: list[list[str]] = []
    for vector, text in queries:
        words = encoder.encode_query(text)
        for name, where in (("all", EVERYWHERE), ("book", one_book)):
            began = time.process_time()
            found = await store.search(vector, words, where=where, limit=LIMIT)
            costs[name].append(time.process_time() - began)
            if name == "all":
                best.append([hit.id for hit in found.dense[:10]])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    await store.close()
    return {
        "all books p50 (ms)": 1e3 * float(np.median(costs["all"])),
        "all books p95 (ms)": 1e3 * float(np.percentile(costs["all"], 95)),
        "one book p50 (ms)": 1e3 * float(np.median(costs["book"])),
        "one book p95 (ms)": 1e3 * float(np.percentile(costs["book"], 95)),
        "found of the best 10": await _compare_with_exact(locate_store(data), queries, best),
        "open (s)": opening,
        "memory to search (MB)": memory,
    }


async def measure_hiding(count: int, data: Path) -> dict[str, float]:
    """Search all books while one is added, which nobody may see yet; then delete that one again.

    Each query is searched as the store does it, then as if no book were added, and then with a filter that
    asks every passage whether it is hidden.
    """
    made, encoder = MadeUp(count, seed=9), Bm25Encoder()
    texts, vectors = made.make_texts(A_BOOK, *WORDS), made.make_vectors(A_BOOK)
    new = [make_chunk(10 * count + n, texts[n], vectors[n]) for n in range(A_BOOK)]
    queries = list(zip(made.make_vectors(QUERIES), made.make_texts(QUERIES, 8, 8), strict=True))
    hidden = Where(none_of={"edition": (NEW_EDITION,)})
    opened = await open_store(Settings(data=data, free_space_mb=0), dimension=SIZE, expected=True)
    assert isinstance(opened, EdgeStore)
    await opened.upsert(new, edition=NEW_EDITION)
    costs: dict[str, list[float]] = {"hiding": [], "no book added": [], "hiding by a filter alone": []}
    for vector, text in queries:
        words, found = encoder.encode_query(text), {}
        for name in costs:
            where = EVERYWHERE if name == "no book added" else hidden
            began = time.process_time()
            found[name] = _ask(opened, vector, words, where=where, filtered="filter" in name)
            costs[name].append(time.process_time() - began)
        assert found["hiding"] == found["hiding by a filter alone"]
    await opened.delete([chunk.id for chunk in new])
    await opened.close()
    return {
        f"{name}, {share} (ms)": 1e3 * float(np.percentile(cost, percent))
        for name, cost in costs.items()
        for share, percent in (("p50", 50), ("p95", 95))
    }


def _ask(
    store: EdgeStore, vector: Vector, words: Mapping[int, float], *, where: Where, filtered: bool
) -> list[tuple[Hit, ...]]:
    """Search as the store does, or as it did when it had only the filter to leave passages out."""
    allowed = build_filter(where)
    by_words = Query.Nearest(SparseVector(list(words), list(words.values())), using=LEXICAL)
    by_meaning = Query.Nearest(list(vector), using=DENSE)
    attempts = store._plan_attempts(where, allowed, LIMIT)
    if filtered:
        attempts = [attempt for attempt in attempts if attempt.left_out is None]
    return store._ask(((by_meaning, store._choose_params(allowed)), (by_words, None)), attempts, LIMIT)


async def _compare_with_exact(
    path: Path, queries: Sequence[tuple[tuple[float, ...], str]], best: Sequence[Sequence[str]]
) -> float:
    """Search again and compare every vector; return the share of the best ten that were found before."""
    store = EdgeStore(path, dimension=SIZE, free_space_mb=0, exact_most=sys.maxsize)
    shares = []
    for (vector, _), found in zip(queries, best, strict=True):
        exact = await store.search(vector, {}, where=EVERYWHERE, limit=10)
        shares.append(len({hit.id for hit in exact.dense} & set(found)) / len(exact.dense))
    await store.close()
    return float(np.mean(shares))


def _read_cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


PARTS = {"adding": measure_adding, "searching": measure_searches, "hiding": measure_hiding}


def run(count: int, seconds: float) -> dict[str, float] | str:
    """Measure a size, adding and searching in a process each; a sentence if they did not end in time."""
    measured: dict[str, float] = {}
    ends = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="octavo-scale-") as folder:
        for part in PARTS:
            command = [sys.executable, "-m", "benchmarks.scale", "--one", str(count), "--data", folder]
            left = max(1.0, ends - time.monotonic())
            try:
                done = subprocess.run(
                    [*command, "--part", part], check=True, stdout=subprocess.PIPE, text=True, timeout=left
                )
            except subprocess.TimeoutExpired:
                return "not measured: the time was up"
            measured |= json.loads(done.stdout)
    return measured


def report(sizes: Sequence[int], *, memory_gb: float, seconds: float) -> None:
    ends = time.monotonic() + seconds
    names: list[str] = []
    for count in sizes:
        if count * BYTES_A_PASSAGE > memory_gb * 1e9:
            print(f"{count:,} passages: not measured, {memory_gb:g} GB are not enough", flush=True)
            continue
        found = run(count, max(1.0, ends - time.monotonic()))
        if isinstance(found, str):
            print(f"{count:,} passages: {found}", flush=True)
            continue
        if not names:
            names = list(found)
            print(f"| passages | {' | '.join(names)} |\n|---{'|---' * len(names)}|", flush=True)
        print(f"| {count:,} | {' | '.join(f'{found[name]:,.3g}' for name in names)} |", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--sizes", default="10000,100000,1000000")
    options.add_argument("--memory-gb", type=float, default=4.0)
    options.add_argument("--seconds", type=float, default=1_800.0)
    options.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    options.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    said = options.parse_args()
    if said.one:
        print(json.dumps(asyncio.run(PARTS[said.part](said.one, said.data))))
        return
    sizes = [int(size) for size in said.sizes.split(",")]
    report(sizes, memory_gb=said.memory_gb, seconds=said.seconds)


if __name__ == "__main__":
    main()
