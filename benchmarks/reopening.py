"""What opening a library costs: after a clean close, after kills between changes and during one.

    python -m benchmarks.reopening [--size 100000] [--keep FOLDER]

The passages are those that `benchmarks.scale` makes up, in books of 2,000, in the records and in the embedded
store. Each opening is in a process of its own. CPU seconds of the process until the first search could begin,
the loading of modules and of a model left out, and the seconds by the clock. In the last row another process
adds a book and gets SIGKILL while it writes. A library in the folder of `--keep` is used again, and one that
was filled there is kept; `python -m benchmarks.scale --one SIZE --part searching --data FOLDER` searches it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from benchmarks.scale import A_BOOK, SIZE, WORDS, MadeUp, make_chunk
from octavo.library import Library
from octavo.settings import Settings
from octavo.store.base import digest_chunk
from octavo.store.edge import EdgeStore
from octavo.testing import TinyEmbedder
from octavo.types import Book, BookFormat, Chunk, Section

KILLED = 9
MOMENTS = {
    "close": "a clean close",
    "between": "a kill between changes",
    "during": "a kill during a change",
    "adding": "a kill while a book was added",
}
# So long after the second book began its process gets the signal.
SECONDS_OF_ADDING = 0.5


def open_library(data: Path) -> AbstractAsyncContextManager[Library]:
    return Library.open(settings=Settings(data=data, free_space_mb=0), embedder=TinyEmbedder(SIZE))


async def fill(data: Path, size: int) -> None:
    """Write so many passages into a new library, book by book."""
    made = MadeUp(size)
    async with open_library(data) as library:
        for number in range(size // A_BOOK):
            texts, vectors = made.make_texts(A_BOOK, *WORDS), made.make_vectors(A_BOOK)
            made_up = [make_chunk(number * A_BOOK + n, texts[n], vectors[n]) for n in range(A_BOOK)]
            await _add(library, f"book-{number}", made_up)
        store = (await library._context()).store
        if isinstance(store, EdgeStore):
            await store.compact()


async def add_more(data: Path, size: int) -> None:
    """Add books, and say when each begins, until the process is killed."""
    made, number = MadeUp(size, seed=time.time_ns()), time.time_ns() // 1_000_000 * A_BOOK
    async with open_library(data) as library:
        while True:
            texts, vectors = made.make_texts(A_BOOK, *WORDS), made.make_vectors(A_BOOK)
            made_up = [make_chunk(number + n, texts[n], vectors[n]) for n in range(A_BOOK)]
            print("adding", flush=True)
            await _add(library, made_up[0].book_id, made_up)
            number += A_BOOK


async def _add(library: Library, book_id: str, made_up: Sequence[Chunk]) -> None:
    chunks, text = [], ""
    for chunk in made_up:
        chunks.append(replace(chunk, start=len(text), end=len(text) + len(chunk.content)))
        text += f"{chunk.content}\n\n"
    url, file, now = f"book://{book_id}/s", f"{book_id}.txt", datetime.now(UTC)
    section = Section(
        id="s",
        book_id=book_id,
        title="Chapter",
        heading_path=("Chapter",),
        level=1,
        position=0,
        url=url,
        text=text,
        source_file=file,
    )
    book = Book(
        id=book_id,
        title=book_id,
        format=BookFormat.TEXT,
        source_file=file,
        content_hash=sha256(text.encode()).hexdigest(),
        index_fingerprint=f"made-up {TinyEmbedder(SIZE).fingerprint}",
        section_count=1,
        added_at=now,
        updated_at=now,
    )
    keys = {chunk.id: sha256(chunk.id.encode()).hexdigest() for chunk in chunks}
    async with library._changes() as context:
        number = await context.records.begin_edition(
            book,
            words_hash=book.content_hash,
            sections=[section],
            chunks=chunks,
            vector_keys=keys,
            digests={chunk.id: digest_chunk(chunk) for chunk in chunks},
        )
        await context.records.save_vectors({keys[c.id]: c.embedding for c in chunks if c.embedding})
        await context.store.upsert(chunks, edition=number)
        await context.store.commit()
        await context.records.publish(book_id, number)
        await context.records.settle(book_id)


async def write_again(data: Path, moment: str) -> None:
    """Write a point again, and end at this moment."""
    async with open_library(data) as library:
        async with library._changes() as context:
            first = (await context.records.list_chunks("book-0"))[0]
            again = await context.records.find_embedded_chunks([first.id])
            edition = (await context.records.list_editions())["book-0"]
            await context.store.upsert(again, edition=edition)
            await context.store.commit()
            if moment == "during":
                os._exit(KILLED)
        if moment == "between":
            os._exit(KILLED)


async def measure(data: Path) -> str:
    began, clock = time.process_time(), time.monotonic()
    async with open_library(data) as library:
        await library._context()
        return f"{time.process_time() - began:.2f} | {time.monotonic() - clock:.1f}"


def run_part(part: str, data: Path, size: int) -> str:
    command = [sys.executable, "-m", "benchmarks.reopening", "--part", part, "--data", str(data)]
    with subprocess.Popen([*command, "--size", str(size)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        if part == "adding":
            # The second book: then the store has been written to.
            for _ in range(2):
                process.stdout.readline()
            time.sleep(SECONDS_OF_ADDING)
            process.kill()
        said = process.stdout.read()
    if process.returncode not in (0, KILLED, -KILLED):
        raise SystemExit(f"{part} ended with {process.returncode}")
    return said.strip()


def report(size: int, data: Path) -> None:
    print("| opened after | CPU seconds | seconds |\n|---|---|---|", flush=True)
    if not data.exists():
        run_part("fill", data, size)
    for moment, said in MOMENTS.items():
        run_part(moment, data, size)
        print(f"| {said} | {run_part('measure', data, size)} |", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--size", type=int, default=100_000)
    options.add_argument("--keep", type=Path)
    options.add_argument("--part", choices=("fill", "measure", *MOMENTS), help=argparse.SUPPRESS)
    options.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    said = options.parse_args()
    if said.part is None:
        with tempfile.TemporaryDirectory(prefix="octavo-reopening-") as folder:
            report(said.size, said.keep or Path(folder) / "library")
    elif said.part == "fill":
        asyncio.run(fill(said.data, said.size))
    elif said.part == "measure":
        print(asyncio.run(measure(said.data)))
    elif said.part == "adding":
        asyncio.run(add_more(said.data, said.size))
    else:
        asyncio.run(write_again(said.data, said.part))


if __name__ == "__main__":
    main()
