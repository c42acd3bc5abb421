"""What taking a book in costs, and what a search costs on top of embedding its query.

    python -m benchmarks.ingest [BOOK] [--pdf FILE] [--words 1000000]

Times are CPU times of this process, or ratios inside one run, so they hold on a busy machine. Without BOOK a
made-up one of 100,000 words is used. `--words` sets the size of the book for the memory test, which runs the
real command line in a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from octavo.library import Library
from octavo.limits import Limits
from octavo.models.loading import load_embedder
from octavo.protocols import Embedder
from octavo.readers.pdf import reader
from octavo.settings import Settings

ROOFLINE = {
    "fp32": 4_100,
    "int8": 14_200,
}  # word pieces per CPU-second of one core of the machine in the notes


class Metered:
    """An embedder that knows how much CPU time it has used and how much it has read."""

    def __init__(self, behind: Embedder) -> None:
        self._behind = behind
        self.fingerprint, self.dimension, self.max_pieces = (
            behind.fingerprint,
            behind.dimension,
            behind.max_pieces,
        )
        self.seconds = 0.0
        self.read = self.texts = 0

    def count_pieces(self, texts: Sequence[str]) -> list[int]:
        return self._behind.count_pieces(texts)

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        began = time.process_time()
        vectors = self._behind.embed(texts)
        self.seconds += time.process_time() - began
        self.texts += len(texts)
        self.read += sum(self._behind.count_pieces(texts))
        return vectors


def cpu() -> float:
    """Of this process and of the parsers it has started."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def write_book(words: int, path: Path) -> Path:
    """Chapters of sentences over a vocabulary of 20,000 words, common ones common."""
    chance = random.Random(11)
    letters = "etaoinshrdlucmfwypvbgk"
    vocabulary = ["".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(20_000)]
    weights = [1 / (rank + 3) for rank in range(len(vocabulary))]
    with path.open("w", encoding="utf-8") as book:
        book.write("# A made-up book\n")
        written = 0
        while written < words:
            if written % 4_000 < 20:
                book.write(f"\n\n## Chapter {written // 4_000 + 1}\n\n")
            sentence = chance.choices(vocabulary, weights, k=20)
            book.write(" ".join(sentence).capitalize() + (".\n\n" if chance.random() < 0.2 else ". "))
            written += 20
    return path


async def measure_adding(book: Path, data: Path) -> list[tuple[str, str, str]]:
    settings = Settings(data=data)
    embedder = Metered(load_embedder(settings))
    async with Library.open(settings=settings, embedder=embedder) as library:
        await library.books()
        began = cpu()
        added = await library.add(book)
        first, embedded = cpu() - began, embedder.seconds
        rate = embedder.read / embedder.seconds
        texts, began = embedder.texts, cpu()
        await library.add(book)
        again, again_texts = cpu() - began, embedder.texts - texts
        search, bare, cached = await _measure_searching(library, embedder)
    name = "int8" if "int8" in embedder.fingerprint else "fp32"
    return [
        ("passages", f"{added.chunk_count}", ""),
        ("CPU outside embedding", f"{1 - embedded / first:.1%}", "≤ 5 %"),
        (
            "word pieces per CPU-second",
            f"{rate:,.0f}",
            f"{rate / ROOFLINE[name]:.2f} of the notes' {name} roofline",
        ),
        ("texts embedded when added again", f"{again_texts}", "0"),
        ("adding again, CPU", f"{again:.2f} s", f"{again / first:.1%} of the first time"),
        ("search, p50 as a ratio to embedding the query", f"{search / bare:.2f}", "≤ 1.5"),
        ("search, p50 of a known query", f"{cached / bare:.2f}", "the same unit"),
        ("embedding a query, p50 CPU", f"{bare * 1000:.1f} ms", ""),
    ]


_ASKED = 200


async def _measure_searching(library: Library, embedder: Metered) -> tuple[float, float, float]:
    """Median CPU seconds of a search, of embedding its query alone, and of the search asked again."""
    queries = [f"what is said about subject number {n} and its consequences?" for n in range(_ASKED)]
    await library.search("warm up")
    searches, bare, cached = [], [], []
    for query in queries:
        began = time.process_time()
        await library.search(query, top_k=10)
        searches.append(time.process_time() - began)
        began = time.process_time()
        embedder.embed([query])
        bare.append(time.process_time() - began)
        began = time.process_time()
        await library.search(query, top_k=10)
        cached.append(time.process_time() - began)
    return statistics.median(searches), statistics.median(bare), statistics.median(cached)


def pages(file: Path) -> tuple[str, str, str]:
    began = time.process_time()
    read = reader.read_pdf(file, Limits())
    spent = time.process_time() - began
    return ("PDF pages per CPU-second", f"{read.page_count / spent:.0f}", "≥ 250")


def memory(words: int, folder: Path) -> tuple[str, str, str]:
    """Peak of the whole command line, parser included, on a book of `words` words."""
    book = write_book(words, folder / "large.md")
    code = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], capture_output=True, text=True)\n"
        "sys.stderr.write(done.stderr)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024, done.returncode)\n"
    )
    octavo = [sys.executable, "-m", "octavo.cli", "--data", str(folder / "large"), "add", str(book)]
    said = subprocess.run([sys.executable, "-c", code, *octavo], capture_output=True, text=True, check=True)
    peak, failed = said.stdout.split()
    if failed != "0":
        raise RuntimeError(said.stderr)
    return (f"peak memory, {words:,} words", f"{peak} MB", "≤ 600 MB")


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("book", nargs="?", type=Path)
    options.add_argument("--pdf", type=Path)
    options.add_argument("--words", type=int, default=1_000_000)
    said = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="octavo-ingest-") as name:
        folder = Path(name)
        book = said.book or write_book(100_000, folder / "book.md")
        print("| measure | figure | goal or comparison |\n|---|---|---|")
        rows = asyncio.run(measure_adding(book, folder / "library"))
        if said.pdf:
            rows.append(pages(said.pdf))
        if said.words:
            rows.append(memory(said.words, folder))
        for row in rows:
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
