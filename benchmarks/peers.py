"""Octavo beside LangChain, LlamaIndex, Haystack, txtai and Chroma: the same weights, in one run.

    python -m benchmarks.peers SUITE --venvs FOLDER [--only squad2_book,rust_book] [--limit 150] [--kills 3]
        [--same-passages]

Each system has an environment of its own under FOLDER, which is made with pip where it is missing (several GB
for txtai), and a process of its own. All embed with the weights that Octavo ships. Books are added and added
again by one system after the other. Each question then goes to all of them in turn, so that a busy machine
slows all alike. Costs are CPU time. A hit is what the suite's scorer calls one, at most ten passages. The
models of Octavo that read passages are off.

A kill: the process gets SIGKILL while it adds a book again, at a random moment; a new process opens what is
there. It held if it opens and answers ten questions as before.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from benchmarks.suite import Item, load
from octavo.types import Chunk

PACKAGES = {
    "langchain": ("langchain", "langchain-classic", "langchain-community", "faiss-cpu", "rank_bm25"),
    "llamaindex": ("llama-index-core", "llama-index-retrievers-bm25"),
    "haystack": ("haystack-ai",),
    "txtai": ("txtai",),
    "chroma": ("chromadb",),
}
# These are given whole paragraphs, or the passages of Octavo.
WITHOUT_SPLITTER = ("txtai", "chroma")
FOR_ALL = ("onnxruntime", "tokenizers", "numpy")
HERE = Path(__file__).parent
MODELS = HERE.parent / "packages" / "octavo-models" / "octavo_models"
DEPTH, AFTER_KILL = 10, 10


class Lost(Exception):
    """The process of a system has ended."""


class Worker:
    """A system in its environment, asked by lines of JSON."""

    def __init__(self, name: str, python: Path, data: Path) -> None:
        command = [str(python), str(HERE / "peer_worker.py"), name, str(MODELS), str(data)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise Lost
        found: dict[str, Any] = json.loads(line)
        return found

    def begin(self, **asked: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()

    def ask(self, **asked: object) -> dict[str, Any]:
        self.begin(**asked)
        return self._read()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        try:
            self._process.communicate(json.dumps({"do": "end"}) + "\n", timeout=60)
        except (OSError, subprocess.TimeoutExpired):
            self.kill()


@dataclass(slots=True)
class Result:
    ingest: float = 0.0
    again: float = 0.0
    queries: list[float] = field(default_factory=list)
    places: list[int | None] = field(default_factory=list)
    shown: list[int] = field(default_factory=list)
    """How many words the first five passages have."""
    held: int = 0
    wall: float = 0.0

    def share_found(self, depth: int) -> str:
        found = sum(place is not None and place < depth for place in self.places)
        return f"{found / max(1, len(self.places)):.3f}".lstrip("0")


def make_environment(name: str, folder: Path) -> Path:
    """Return the Python of a system, after installing it if it is missing."""
    python = folder / name / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder / name)], check=True)
        wanted = [*PACKAGES[name], *FOR_ALL]
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *wanted], check=True)
    return python


def find_place(item: Item, found: Sequence[tuple[str, str]]) -> int | None:
    """Return the place of the first passage that is gold, counted from 0."""
    for place, (source, text) in enumerate(found):
        if item.is_gold(cast(Chunk, SimpleNamespace(content=text, source_file=source))):
            return place
    return None


def count_held(
    name: str, python: Path, data: Path, files: list[str], items: Sequence[Item], kills: int, wall: float
) -> int:
    """Kill the system while it adds a book again, and count how often the next process answers as before."""
    chance, held = random.Random(7), 0
    for _ in range(kills):
        try:
            worker = Worker(name, python, data)
            before = [worker.ask(do="query", question=item.question, k=3)["found"] for item in items]
            worker.begin(do="ingest", files=files)
            time.sleep(wall * chance.uniform(0.05, 1.0))
            worker.kill()
            worker = Worker(name, python, data)
            after = [worker.ask(do="query", question=item.question, k=3)["found"] for item in items]
            worker.close()
        except Lost:
            continue
        held += before == after
    return held


def compare(
    suite: Path, name: str, pythons: dict[str, Path], *, limit: int, kills: int, same: bool = False
) -> dict[str, Result]:
    wanted = load(suite, name, limit)
    files = sorted(str(path) for path in wanted.books[0][1].iterdir())
    results = {system: Result() for system in pythons}
    workers: dict[str, Worker] = {}
    passages: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory(prefix="octavo-peers-") as folder:
        for system, python in pythons.items():
            workers[system] = Worker(system, python, Path(folder) / system)
            began = time.monotonic()
            given = passages if system in WITHOUT_SPLITTER else []
            adding = workers[system].ask(do="ingest", files=files, passages=given)
            results[system].ingest, results[system].wall = adding["seconds"], time.monotonic() - began
            if same and system == "octavo":
                passages = workers[system].ask(do="passages")["found"]
        for system, worker in workers.items():
            given = passages if system in WITHOUT_SPLITTER else []
            results[system].again = worker.ask(do="ingest", files=files, passages=given)["seconds"]
        for item in wanted.items:
            for system, worker in workers.items():
                answer = worker.ask(do="query", question=item.question, k=DEPTH)
                results[system].queries.append(answer["seconds"])
                results[system].places.append(find_place(item, answer["found"]))
                results[system].shown.append(sum(len(text.split()) for _, text in answer["found"][:5]))
        for system, worker in workers.items():
            worker.close()
            where = Path(folder) / system
            some = wanted.items[:AFTER_KILL]
            # Adding again may be much quicker than adding: the kill must fall into it.
            ratio = min(1.0, results[system].again / max(1e-9, results[system].ingest))
            wall = ratio * results[system].wall
            results[system].held = count_held(system, pythons[system], where, files, some, kills, wall)
    return results


def report(name: str, results: dict[str, Result], kills: int) -> None:
    asked = len(next(iter(results.values())).places)
    print(f"\n{name}, {asked} questions\n")
    costs = "| system | add, CPU-s | again, CPU-s | query, p50 CPU-ms "
    print(f"{costs}| hit@1 | hit@5 | hit@10 | words in the first 5 | kills held |\n|{'---|' * 9}")
    for system, found in results.items():
        hits = " | ".join(found.share_found(depth) for depth in (1, 5, 10))
        query = 1e3 * statistics.median(found.queries)
        print(
            f"| {system} | {found.ingest:.1f} | {found.again:.1f} | {query:.1f} | {hits} "
            f"| {statistics.mean(found.shown):.0f} | {found.held} of {kills} |",
            flush=True,
        )


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("suite", type=Path)
    options.add_argument("--venvs", type=Path, required=True)
    options.add_argument("--only", default="squad2_book,rust_book")
    options.add_argument("--systems", default=",".join(PACKAGES))
    options.add_argument("--limit", type=int, default=150)
    options.add_argument("--kills", type=int, default=3)
    options.add_argument("--same-passages", action="store_true", help="give txtai and Chroma those of Octavo")
    said = options.parse_args()
    said.venvs.mkdir(parents=True, exist_ok=True)
    pythons = {"octavo": Path(sys.executable)}
    pythons |= {name: make_environment(name, said.venvs) for name in said.systems.split(",") if name}
    for name in said.only.split(","):
        found = compare(
            said.suite, name, pythons, limit=said.limit, kills=said.kills, same=said.same_passages
        )
        report(name, found, said.kills)


if __name__ == "__main__":
    main()
