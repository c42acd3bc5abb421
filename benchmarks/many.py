"""What adding many books at once gains over adding them one after the other.

    python -m benchmarks.many [BOOK…] [--words 4000] [--books 6] [--workers 1,2,4]

Each round adds the same books to a new library in a process of its own. Embedding uses every core whatever
the number of workers, so the gain is what reading, cutting and writing leave idle. Times are ratios within
one run: rounds with one worker stand before and after the others, and show how quiet the machine was.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.ingest import write_book


def run_round(books: Sequence[Path], workers: int, data: Path) -> tuple[float, float]:
    """Wall and CPU seconds of `octavo add --workers N` on these books, in a new library."""
    command = [sys.executable, "-m", "octavo.cli", "--data", str(data), "add", "--workers", str(workers)]
    before, began = os.times(), time.monotonic()
    subprocess.run([*command, *map(str, books)], check=True, capture_output=True)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return time.monotonic() - began, spent


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("given", nargs="*", type=Path)
    options.add_argument("--words", type=int, default=4_000)
    options.add_argument("--books", type=int, default=6)
    options.add_argument("--workers", default="1,2,4")
    said = options.parse_args()
    counts = [int(count) for count in said.workers.split(",")]
    with tempfile.TemporaryDirectory(prefix="octavo-many-") as name:
        folder = Path(name)
        books = said.given or [
            write_book(said.words + 40 * n, folder / f"book {n}.md") for n in range(said.books)
        ]
        print("| workers | wall | as a ratio to one worker | CPU |\n|---|---|---|---|", flush=True)
        alone: list[float] = []
        run_round(books[:1], 1, folder / "warm")
        for number, workers in enumerate([1, *(c for c in counts if c > 1), 1]):
            wall, spent = run_round(books, workers, folder / f"library {number}")
            alone += [wall] if workers == 1 else []
            print(f"| {workers} | {wall:.1f} s | {wall / alone[0]:.2f} | {spent:.1f} s |", flush=True)


if __name__ == "__main__":
    main()
