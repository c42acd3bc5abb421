"""What adding a book costs without its embedding: CPU time, the least of three runs.

    python -m benchmarks.add_cost BOOK …
    PYTHONPATH=OTHER/src python -m benchmarks.add_cost BOOK …

The second form measures the sources of another version, unpacked under OTHER. The book is parsed in this
process, because the parser's own process would run the installed version.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from octavo.library import Library
from octavo.limits import Limits
from octavo.readers import read_book, sandbox
from octavo.readers.parsed import ParsedBook
from octavo.settings import Settings
from octavo.testing import TinyEmbedder

RUNS = 3


async def parse_here(path: Path, limits: Limits, **_: Any) -> ParsedBook:
    return read_book(path, limits)


async def measure(book: Path) -> float:
    """Return the CPU seconds of adding a book to an empty library."""
    with tempfile.TemporaryDirectory(prefix="octavo-add-") as data:
        async with Library.open(settings=Settings(data=Path(data)), embedder=TinyEmbedder()) as library:
            began = time.process_time()
            await library.add(book)
            return time.process_time() - began


def main() -> None:
    vars(sandbox)["parse"] = parse_here
    for book in map(Path, sys.argv[1:]):
        seconds = min(asyncio.run(measure(book)) for _ in range(RUNS))
        print(f"{book.name}: {seconds:.2f} CPU-s")


if __name__ == "__main__":
    main()
