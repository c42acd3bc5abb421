"""What a search costs outside the embedder, part by part, and against another version of the library.

    python -m benchmarks.searching BOOK [--against OTHER/src] [--rounds 6]

A stand-in embeds the book and every query, and its time is not counted. The models that come with Octavo are
off, no query is asked twice, ten passages are wanted, and none of them is in memory yet (`--warm`: as it
comes). Each version has a library of its own in a process
of its own; both are asked in turn, so that a busy machine slows both. Medians of CPU time in milliseconds.
With `--ask` whole answers are measured.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import json
import os
import pstats
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from octavo.library import Library
from octavo.settings import Settings
from octavo.testing import TinyEmbedder

A_ROUND = 40
SUBJECTS = (
    *(
        "captain",
        "ship",
        "storm",
        "whale",
        "oil",
        "harpoon",
        "island",
        "crew",
        "sermon",
        "price",
        "rope",
        "sail",
    ),
    *("letter", "night", "deck", "widow", "lamp", "candle", "shark", "tail", "boat", "oar", "mast"),
    *(
        "anchor",
        "coffin",
        "carpenter",
        "blacksmith",
        "forge",
        "leg",
        "jaw",
        "sun",
        "compass",
        "needle",
        "line",
    ),
    *(
        "chapel",
        "inn",
        "chowder",
        "bed",
        "pipe",
        "hat",
        "church",
        "prophet",
        "sailor",
        "mate",
        "savage",
        "idol",
    ),
)
QUESTIONS = (
    "what is said about the {} and the {}?",
    "who has a {} or a {}?",
    "why is the {} with a {}?",
)


class Metered(TinyEmbedder):
    """Notes the CPU time that it takes."""

    spent = 0.0

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        began = time.process_time()
        found = super().embed(texts)
        self.spent += time.process_time() - began
        return found


def make_query(number: int) -> str:
    """Make a query that no other number makes."""
    first = SUBJECTS[number % len(SUBJECTS)]
    second = SUBJECTS[(number + 1 + number // len(SUBJECTS)) % len(SUBJECTS)]
    return QUESTIONS[number % len(QUESTIONS)].format(first, second)


async def serve(book: Path, data: Path, *, ask: bool, warm: bool, profile: Path | None) -> None:
    """Ask a round of queries for each line of input, and write their CPU milliseconds."""
    embedder = Metered()
    settings = Settings(data=data, local_models=False, free_space_mb=0)
    seen = cProfile.Profile() if profile else None
    async with Library.open(settings=settings, embedder=embedder) as library:
        added = await library.add(book)
        await library.search("warm up", top_k=10)
        if ask:
            await library.ask("Is everything warm?")
        retriever = library._get_retriever(await library._context())
        print(json.dumps(added.chunk_count), flush=True)
        number = 0
        while await asyncio.to_thread(sys.stdin.readline):
            took = []
            for _ in range(A_ROUND):
                query = make_query(number)
                number += 1
                if not warm:
                    retriever._generation = -1
                embedder.spent, began = 0.0, time.process_time()
                if seen:
                    seen.enable()
                await (library.ask(query) if ask else library.search(query, top_k=10))
                if seen:
                    seen.disable()
                took.append(1e3 * (time.process_time() - began - embedder.spent))
            print(json.dumps(took), flush=True)
    if seen and profile:
        pstats.Stats(seen).dump_stats(profile)


class Version:
    """A version of the library in a process of its own."""

    def __init__(self, name: str, source: Path | None, said: argparse.Namespace, data: Path) -> None:
        self.name, self.took = name, list[float]()
        command = [sys.executable, "-m", "benchmarks.searching", str(said.book), "--data", str(data)]
        command += [*(["--ask"] if said.ask else []), *(["--warm"] if said.warm else [])]
        paths = [str(source.resolve())] if source else []
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, os.getcwd()])}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.passages = self._read()

    def _read(self) -> list[float] | int:
        assert self._process.stdout is not None
        found: list[float] | int = json.loads(self._process.stdout.readline())
        return found

    def run_round(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        took = self._read()
        assert isinstance(took, list)
        self.took += took

    def close(self) -> None:
        self._process.communicate()


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("book", type=Path)
    options.add_argument("--against", type=Path)
    options.add_argument("--rounds", type=int, default=6)
    options.add_argument("--ask", action="store_true")
    options.add_argument("--warm", action="store_true")
    options.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    options.add_argument("--profile", type=Path, help=argparse.SUPPRESS)
    said = options.parse_args()
    if said.data:
        asyncio.run(serve(said.book, said.data, ask=said.ask, warm=said.warm, profile=said.profile))
        return
    with tempfile.TemporaryDirectory(prefix="octavo-searching-") as folder:
        versions = [Version("here", None, said, Path(folder) / "here")]
        if said.against:
            versions.insert(0, Version("there", said.against, said, Path(folder) / "there"))
        for _ in range(said.rounds):
            for version in versions:
                version.run_round()
        for version in versions:
            version.close()
            cost = statistics.median(version.took)
            print(
                f"{version.name}: {cost:.2f} ms at {version.passages:,} passages ({len(version.took)} asked)"
            )
    if said.against:
        ratio = statistics.median(versions[1].took) / statistics.median(versions[0].took)
        print(f"here / there: {ratio:.2f}")


if __name__ == "__main__":
    main()
