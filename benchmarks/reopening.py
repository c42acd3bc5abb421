"""What opening a library costs: after a clean close, and after kills between changes and during one.

    python -m benchmarks.reopening [--size 100000]

The passages are those that `benchmarks.scale` makes up, in books of 2,000, in the records and in the embedded
store. Each opening is in a process of its own. CPU seconds of the process until the first search could begin,
the loading of modules and of a model left out.
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
from octavo.testing import TinyEmbedder
from octavo.types import Book, BookFormat, Chunk, Section

KILLED = 9
MOMENTS = {"close": "a clean close", "between": "a kill between changes", "during": "a kill during a change"}


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


async def measure(data: Path) -> float:
    began = time.process_time()
    async with open_library(data) as library:
        await library._context()
        return time.process_time() - began


def run_part(part: str, data: Path, size: int) -> str:
    command = [sys.executable, "-m", "benchmarks.reopening", "--part", part, "--data", str(data)]
    done = subprocess.run([*command, "--size", str(size)], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, KILLED):
        raise SystemExit(f"{part} ended with {done.returncode}")
    return done.stdout.strip()


def report(size: int) -> None:
    print("| opened after | CPU seconds |\n|---|---|", flush=True)
    with tempfile.TemporaryDirectory(prefix="octavo-reopening-") as folder:
        data = Path(folder) / "library"
        run_part("fill", data, size)
        for moment, said in MOMENTS.items():
            run_part(moment, data, size)
            print(f"| {said} | {run_part('measure', data, size)} |", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--size", type=int, default=100_000)
    options.add_argument("--part", choices=("fill", "measure", *MOMENTS), help=argparse.SUPPRESS)
    options.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    said = options.parse_args()
    if said.part is None:
        report(said.size)
    elif said.part == "fill":
        asyncio.run(fill(said.data, said.size))
    elif said.part == "measure":
        print(f"{asyncio.run(measure(said.data)):.2f}")
    else:
        asyncio.run(write_again(said.data, said.part))


if __name__ == "__main__":
    main()
