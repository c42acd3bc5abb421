"""Kills a library in the middle of its work and looks at what is left.

    python -m benchmarks.kills [--kills 200]

Each trial copies a library that holds the first edition of a book, starts a process that adds the second
edition (or removes the book), kills it with SIGKILL at one step, and opens what is left in a fresh process.
The library must then hold the first edition or the second one, whole: the records, every point of the store
and a search must agree. Steps are the calls that the flow makes to the records and the store, so no step is
left out when the flow changes; the other trials kill at random moments. `compared` counts how much of the
store each opening read: nothing, some books or all.

The control looks at the same remains without letting Octavo recover them. It must find fault with some,
or the harness proves nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from octavo.ingest.context import LibraryContext
from octavo.library import Library
from octavo.maintenance.repair import Difference, find_difference
from octavo.store.edge import EdgeStore
from octavo.testing import TinyEmbedder

BOOK = "the-tides"
READY = "READY"


def edition(number: int) -> str:
    """A small book: some sections stay, some change, some come and go between editions."""
    chapters = []
    for chapter in range(1, 9):
        if chapter == 3 and number == 2:
            continue
        said = f"edition {number}" if chapter % 2 else "every edition"
        body = "\n\n".join(
            f"Paragraph {p} of chapter {chapter} in {said} tells how the tide of harbour {chapter * p} rose, "
            f"and how the keeper of light {chapter + p} wrote it down before the evening bell."
            for p in range(1, 7)
        )
        chapters.append(f"## Harbour {chapter}\n\n{body}\n")
    if number == 2:
        chapters.insert(0, "## Before the harbours\n\nA foreword that only the second edition has.\n")
    return "# The Tides\n\n" + "\n".join(chapters)


@dataclass(frozen=True, slots=True)
class Remains:
    """What a fresh process finds: which edition, and whether everything agrees about it."""

    edition: str
    sound: bool
    why: str = ""
    compared: str = field(default="", compare=False)


class Tripwire:
    """Stands in front of the records or the store, and kills the process at the chosen call."""

    def __init__(self, behind: object, steps: Steps) -> None:
        self._behind, self._steps = behind, steps

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._behind, name)
        if not callable(found):
            return found

        async def called(*args: object, **kwargs: object) -> object:
            self._steps.reach(f"before {name}")
            result = await found(*args, **kwargs)
            self._steps.reach(f"after {name}")
            return result

        return called


class Steps:
    """Counts the steps, says each one aloud, and dies at the chosen number."""

    def __init__(self, fatal: int) -> None:
        self.count, self._fatal = 0, fatal

    def reach(self, name: str) -> None:
        self.count += 1
        print(f"{self.count} {name}", flush=True)
        if self.count == self._fatal:
            os.kill(os.getpid(), signal.SIGKILL)


class TrippingLibrary(Library):
    """A library whose records and store are behind tripwires once it has been opened."""

    fatal = 0

    async def _context(self) -> LibraryContext:
        if self._opened is None:
            context = await super()._context()
            steps = Steps(self.fatal)
            records: Any = Tripwire(context.records, steps)
            store: Any = Tripwire(context.store, steps)
            self._records = records
            self._opened = LibraryContext(context.settings, records, store, context.embedder)
            print(READY, flush=True)
        return await super()._context()


async def work(data: Path, job: str, fatal: int) -> None:
    """The process that is going to be killed."""
    TrippingLibrary.fatal = fatal
    async with TrippingLibrary.open(data, embedder=TinyEmbedder()) as library:
        if job == "remove":
            await library.remove(BOOK)
        else:
            await library.add(data / "second" / "tides.md")


@contextmanager
def watch_reading() -> Iterator[list[str]]:
    """Lists how much of a store was read each time that it was compared: `some` books, or `all`."""
    read: list[str] = []
    read_digests = EdgeStore.read_digests

    async def watch(store: EdgeStore, ids: Collection[str] | None = None) -> dict[str, str]:
        read.append("all" if ids is None else "some")
        return await read_digests(store, ids)

    EdgeStore.read_digests = watch  # type: ignore[assignment, method-assign]
    try:
        yield read
    finally:
        EdgeStore.read_digests = read_digests  # type: ignore[method-assign]


async def look(data: Path) -> Remains:
    """Opens what is left as any user would, and looks at it from every side."""
    with watch_reading() as read:
        remains = await _look(data)
    # The last time is ours.
    return replace(remains, compared=" ".join(read[:-1]) or "nothing")


async def _look(data: Path) -> Remains:
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        context = await library._context()
        differing = await find_difference(context)
        if differing:
            return Remains("?", sound=False, why=f"store and records differ: {differing}")
        books = await library.books()
        if not books:
            return Remains("none", sound=True)
        found = await library.search("the tide of harbour 12 and the keeper of the light", top_k=100)
        sections = {s.id: s for s in await library.contents(BOOK)}
        texts = " ".join(s.text for s in sections.values())
        number = "2" if "edition 2" in texts else "1"
        for hit in found:
            if sections[hit.chunk.section_id].text[hit.chunk.start : hit.chunk.end] != hit.chunk.content:
                return Remains(number, sound=False, why="a passage is not its section's text")
        mixed = "edition 1" in texts and "edition 2" in texts
        whole = len(found) == books[0].chunk_count
        return Remains(number, sound=whole and not mixed, why="" if whole else f"{len(found)} passages found")


async def look_without_recovery(data: Path) -> Remains:
    """The control: the store and the records as the kill left them."""
    from octavo.maintenance import repair as composition

    async def nothing(_: LibraryContext, *, state: str | None = None) -> Difference:  # noqa: ARG001
        return Difference()

    kept = composition.recover
    composition.recover = nothing  # type: ignore[assignment]
    try:
        return await look(data)
    finally:
        composition.recover = kept


def prepare(data: Path) -> None:
    """A library with the first edition, and the second one beside it, not yet added."""
    for name, number in (("first", 1), ("second", 2)):
        (data / name).mkdir(parents=True)
        (data / name / "tides.md").write_text(edition(number), encoding="utf-8")

    async def fill() -> None:
        async with Library.open(data, embedder=TinyEmbedder()) as library:
            await library.add(data / "first" / "tides.md")

    asyncio.run(fill())


def copy(original: Path, to: Path) -> Path:
    """A copy that keeps holes as holes: a shard is mostly holes."""
    subprocess.run(["cp", "-a", "--sparse=always", str(original), str(to)], check=True)
    return to


def start(data: Path, job: str, fatal: int) -> subprocess.Popen[str]:
    asked = ["--work", job, "--fatal", str(fatal), "--data", str(data)]
    command = [sys.executable, "-m", "benchmarks.kills", *asked]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent.parent)


def list_steps(original: Path, job: str, room: Path) -> list[str]:
    """The names of all steps of a job that nobody kills."""
    process = start(copy(original, room / f"steps-{job}"), job, 0)
    said, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"{job} failed with nobody killing it")
    return [line.split(" ", 1)[1] for line in said.splitlines() if line[:1].isdigit()]


def kill_at_step(original: Path, job: str, step: int, to: Path) -> Path:
    data = copy(original, to)
    process = start(data, job, step)
    process.communicate()
    if process.returncode != -signal.SIGKILL:
        raise RuntimeError(f"{job} outlived step {step}")
    return data


def kill_at_random(original: Path, job: str, within: float, to: Path, chance: random.Random) -> Path:
    """Kills at a random moment of the flow, counted from when the library is open."""
    data = copy(original, to)
    process = start(data, job, 0)
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == READY:
            break
    time.sleep(chance.uniform(0, within))
    with suppress(ProcessLookupError):
        process.kill()
    process.communicate()
    return data


def judge(data: Path, job: str, looking: Callable[[Path], Any] = look) -> Remains:
    remains: Remains = asyncio.run(looking(data))
    allowed = ("1", "none") if job == "remove" else ("1", "2")
    if remains.sound and remains.edition not in allowed:
        return replace(remains, sound=False, why="neither the old state nor the new one")
    return remains


def duration(original: Path, job: str, room: Path) -> float:
    """How long the flow takes once the library is open."""
    process = start(copy(original, room / f"time-{job}"), job, 0)
    assert process.stdout is not None
    began = time.monotonic()
    for line in process.stdout:
        if line.strip() == READY:
            began = time.monotonic()
    process.wait()
    return time.monotonic() - began


def run(kills: int, *, seed: int = 7) -> dict[str, Any]:
    """One kill at each step of each job, then random ones up to `kills`; and the control."""
    tally: dict[str, Any] = {"kills": 0, "old": 0, "new": 0, "broken": []}
    tally |= {"control_trials": 0, "control_faults": 0, "compared": Counter()}
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="octavo-kills-") as name:
        room = Path(name)
        prepare(room / "original")
        trials: list[tuple[str, int]] = []
        for job in ("add", "remove"):
            trials += [(job, n + 1) for n in range(len(list_steps(room / "original", job, room)))]
        spans = {job: duration(room / "original", job, room) for job in ("add", "remove")}
        for number in range(max(kills, len(trials))):
            at_random = (chance.choice(("add", "add", "remove")), 0)
            job, step = trials[number] if number < len(trials) else at_random
            to = room / f"trial-{number}"
            if step:
                data = kill_at_step(room / "original", job, step, to)
                control = judge(copy(data, room / f"control-{number}"), job, look_without_recovery)
                tally["control_trials"] += 1
                tally["control_faults"] += not control.sound
            else:
                data = kill_at_random(room / "original", job, spans[job], to, chance)
            remains = judge(data, job)
            tally["kills"] += 1
            tally["compared"][remains.compared] += 1
            if not remains.sound:
                tally["broken"].append((job, step, remains.why))
            else:
                tally["old" if remains.edition == "1" else "new"] += 1
            subprocess.run(["rm", "-rf", str(to), str(room / f"control-{number}")], check=True)
    return tally


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--work", choices=("add", "remove"), help=argparse.SUPPRESS)
    options.add_argument("--fatal", type=int, default=0, help=argparse.SUPPRESS)
    options.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    said = options.parse_args()
    if said.work:
        asyncio.run(work(said.data, said.work, said.fatal))
        return
    tally = run(said.kills)
    print(json.dumps(tally, indent=1))
    sys.exit(bool(tally["broken"]) or not tally["control_faults"])


if __name__ == "__main__":
    main()
