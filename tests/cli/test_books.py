"""Many books from the command line: several at once, and a worker that empties the queue."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from octavo.cli import octavo
from octavo.cli.books import run_each
from octavo.errors import BadBook, NotFound, OctavoError, StorageLow
from octavo.ingest.worker import UPLOADS
from octavo.records.database import Database
from octavo.records.jobs import JobQueue, JobState
from octavo.schemas import Json
from tests.support import small_books
from tests.support.answerers import fill_library
from tests.support.patience import PATIENCE, wait_until

OCTAVO = [sys.executable, "-m", "octavo.cli"]


def run(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*OCTAVO, "--data", str(data), *arguments], capture_output=True, text=True, check=False
    )


def queued(data: Path, *names: str) -> list[str]:
    """Books put into the queue as the service does it; the ids of their jobs."""

    async def put() -> list[str]:
        database = await Database.open(data / "records.sqlite")
        queue = JobQueue(database, capacity=9)
        made = []
        for name in names:
            (data / UPLOADS / name).mkdir(parents=True)
            chapter = {"One": f"The {name} was seen off the northern pier at dawn."}
            small_books.write_markdown(data / UPLOADS / name / f"{name}.md", chapter, title=name.title())
            made.append((await queue.put(f"{name}.md", source=f"{name}/{name}.md")).id)
        await database.close()
        return made

    return asyncio.run(put())


def states(data: Path, ids: list[str]) -> list[JobState]:
    async def look() -> list[JobState]:
        database = await Database.open(data / "records.sqlite")
        found = [(await JobQueue(database, capacity=9).find(id)).state for id in ids]
        await database.close()
        return found

    return asyncio.run(look())


def test_several_books_at_once_are_all_taken_in_and_a_bad_one_fails_alone(tmp_path: Path) -> None:
    paths = [
        small_books.write_markdown(
            tmp_path / f"{n}.md", {"One": f"Tide number {n} rose high."}, title=f"Tide {n}"
        )
        for n in range(4)
    ]
    (tmp_path / "empty.md").write_bytes(b"")
    order = [*map(str, paths[:2]), str(tmp_path / "empty.md"), *map(str, paths[2:])]
    added = run(tmp_path / "library", "add", "--json", "--workers", "3", *order)
    assert added.returncode == 1
    said = json.loads(added.stdout)
    assert [book["id"] for book in said["books"]] == ["tide-0", "tide-1", "tide-2", "tide-3"]
    assert [error["code"] for error in said["errors"]] == ["empty_file"]
    assert len(json.loads(run(tmp_path / "library", "list", "--json").stdout)["books"]) == 4


async def made(path: Path) -> Json:
    await asyncio.sleep(0.01 * (9 - int(path.name)))
    return {"name": path.name}


async def test_what_was_done_comes_in_the_order_of_the_paths() -> None:
    done, failed = await run_each([Path(str(n)) for n in range(6)], made, workers=4)
    assert ([book["name"] for book in done], failed) == ([str(n) for n in range(6)], [])


@pytest.mark.parametrize(("error", "tried"), [(BadBook("no_text", "x"), 6), (StorageLow("full"), 2)])
async def test_nothing_new_is_begun_when_the_machine_is_at_fault(error: OctavoError, tried: int) -> None:
    seen = []

    async def one(path: Path) -> Json:
        seen.append(path)
        await asyncio.sleep(0)
        raise error

    _, failed = await run_each([Path(str(n)) for n in range(6)], one, workers=2)
    assert len(seen) == len(failed) == tried


async def test_no_more_than_the_workers_are_at_work() -> None:
    busy = most = 0

    async def one(path: Path) -> Json:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        await asyncio.sleep(0.01)
        busy -= 1
        return {}

    await run_each([Path(str(n)) for n in range(9)], one, workers=3)
    assert most == 3


def test_a_worker_empties_the_queue_and_ends_when_told_to(tmp_path: Path) -> None:
    data = tmp_path / "library"
    ids = queued(data, "gull", "tern")
    worked = run(data, "work", "--until-empty", "--json")
    assert (worked.returncode, json.loads(worked.stdout)) == (0, {"jobs": 2})
    assert states(data, ids) == [JobState.DONE] * 2
    books = json.loads(run(data, "list", "--json").stdout)["books"]
    assert [book["id"] for book in books] == ["gull", "tern"]


def test_a_worker_that_is_told_to_stop_stops(tmp_path: Path) -> None:
    data = tmp_path / "library"
    ids = queued(data, "gull")
    worker = subprocess.Popen([*OCTAVO, "--data", str(data), "work"], stdout=subprocess.PIPE, text=True)
    wait_until(lambda: states(data, ids) == [JobState.DONE])
    wait_until(lambda: not (data / UPLOADS / "gull").exists())  # only then is the job behind it
    worker.send_signal(signal.SIGTERM)
    out, _ = worker.communicate(timeout=PATIENCE)
    assert (worker.returncode, out) == (0, "1 job done.\n")


def test_tags_gather_books_into_collections(tmp_path: Path) -> None:
    tides = small_books.write_markdown(tmp_path / "tides.md")
    hills = small_books.write_markdown(tmp_path / "hills.md", {"Summit": "Goats were lost."}, title="Hills")
    data = fill_library(tmp_path / "library", tides, hills)

    def call(*words: str) -> Result:
        return CliRunner().invoke(octavo, ["--data", str(data), *words])

    assert call("tag", "hills", "High", "old").output == "Hills: high, old\n"
    assert json.loads(call("tag", "hills", "--remove", "old", "--json").output) == {
        "book_id": "hills",
        "tags": ["high"],
    }
    assert call("tag", "the-tides").output == "The Tides: no tags\n"
    assert [line.split()[0] for line in call("list", "--tag", "high").output.splitlines()] == ["hills"]
    assert call("list").output.count("#high") == 1
    shown = json.loads(call("list", "--json").output)["books"]
    assert {book["id"]: book["tags"] for book in shown} == {"hills": ["high"], "the-tides": []}
    nothing = call("search", "boats", "--tag", "low")
    assert isinstance(nothing.exception, NotFound)
    neither = call("search", "lost", "--tag", "high", "--book", "the-tides")
    assert str(neither.exception) == "no book named the-tides with the tag 'high' here"
