"""Does to a library what bad days do, and counts what held.

    python -m benchmarks.hard_days [--trials 5] [--only records,journal]

Each trial makes or copies a library, does harm to it, and looks at what is left: lost, damaged and outdated
records, changed titles and labels, damaged answers, snapshots while books come in, damaged backups, a full
disk, trailers without end, floods of connections, and uploads and bodies that drip. A
trial holds when nothing that was acknowledged is lost, nothing false is shown without being noticed, and the
service goes on. The kills are a harness of their own, `python -m benchmarks.kills`, and are run here with a
few trials.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import socket
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import ExitStack, asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn

from benchmarks import kills
from octavo.errors import OctavoError
from octavo.library import Library
from octavo.maintenance.backup import back_up, list_snapshots, restore, verify_snapshot
from octavo.server.app import make_app
from octavo.server.run import make_config
from octavo.settings import Settings
from octavo.testing import TinyEmbedder

WORDS = "the tide of harbour 12 and the keeper of the light"
CHANGES = (
    "UPDATE books SET title = 'Another'",
    "UPDATE sections SET title = 'Other'",
    "UPDATE sections SET url = 'https://example.org/'",
    "UPDATE sections SET text_hash = 'gone' WHERE position = 1",
    "UPDATE chunks SET page_label = 'xx'",
    "UPDATE chunks SET section = 'Other'",
    "DELETE FROM chunks WHERE document_position = 2",
)
SECONDS = 20.0


@dataclass
class Row:
    """One kind of harm: how often it was tried, and what did not hold."""

    name: str
    tried: int = 0
    failed: list[str] = field(default_factory=list)

    def note(self, held: bool, why: str) -> None:
        self.tried += 1
        if not held:
            self.failed.append(why)


@dataclass(frozen=True)
class Day:
    """Where the trials take place: a library with one book and one answer, and room beside it."""

    original: Path
    room: Path
    trials: int
    chance: random.Random

    def copy(self, name: str) -> Path:
        to = self.room / name
        shutil.rmtree(to, ignore_errors=True)
        return kills.copy(self.original, to)


async def read_texts(data: Path) -> dict[str, str]:
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        await library.search(WORDS)
        return {s.id: s.text for b in await library.books() for s in await library.contents(b.id)}


async def examine(data: Path, treatment: str = "") -> bool:
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        return all(finding.sound for finding in await library.examine(treatment=treatment))


async def lose_records(day: Day, row: Row) -> None:
    """Delete the records, or put older ones in their place: the books must come back from the store."""
    whole = await read_texts(day.original)
    for number in range(day.trials):
        data = day.copy("lost")
        for file in data.glob("records.sqlite*"):
            file.unlink()
        if number % 2:
            with closing(sqlite3.connect(data / "records.sqlite")):
                pass
        refused = False
        try:
            await read_texts(data)
        except OctavoError:
            refused = True
        sound = await examine(data, "rebuild")
        row.note(refused and sound and await read_texts(data) == whole, f"trial {number}")


async def damage_log(day: Day, row: Row) -> None:
    """Damage the log of the records after a book was added: whatever it costs, no text may be lost."""
    for number in range(day.trials):
        data = day.copy("log")
        await _add_and_keep_log(data)
        whole = await read_texts(kills.copy(data, day.room / f"whole-{number}"))
        _damage(data / "records.sqlite-wal", day.chance)
        try:
            kept = await read_texts(data) == whole
        except OctavoError:
            for file in data.glob("records.sqlite*"):
                file.rename(file.with_name(f"damaged-{file.name}"))
            await examine(data, "rebuild")
            kept = await read_texts(data) == whole
        row.note(kept, f"trial {number}")


async def _add_and_keep_log(data: Path) -> None:
    """Add a book, and put the records back as a kill would leave them: with a long log."""
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        book = data / "gulls.md"
        book.write_text("".join(f"# Gull {n}\n\nThe gull {n} flew over the bay.\n\n" for n in range(40)))
        await library.add(book)
        for end in ("", "-wal"):
            shutil.copy(data / f"records.sqlite{end}", data / f"kept{end}")
    for end in ("", "-wal"):
        (data / f"kept{end}").replace(data / f"records.sqlite{end}")
    (data / "records.sqlite-shm").unlink(missing_ok=True)


def _damage(file: Path, chance: random.Random) -> None:
    content = bytearray(file.read_bytes())
    for _ in range(8):
        content[chance.randrange(len(content))] ^= 0xFF
    file.write_bytes(content)


async def change_records(day: Day, row: Row) -> None:
    """Change what readers see behind the library's back: doctor must notice, and rebuild must repair it."""
    for statement in CHANGES:
        data = day.copy("changed")
        with closing(sqlite3.connect(data / "records.sqlite")) as records, records:
            records.execute(statement)
        noticed = not await examine(data)
        row.note(noticed and await examine(data, "rebuild"), statement)


async def damage_answers(day: Day, row: Row) -> None:
    """Damage one stored answer: it must be reported, and the others checked."""
    for number in range(day.trials):
        data = day.copy("journal")
        broken = day.chance.choice(("{", "[1]", "[{}]", "null"))
        column = day.chance.choice(("citations", "evidence", "receipt"))
        with closing(sqlite3.connect(data / "records.sqlite")) as records, records:
            records.execute(f"UPDATE answers SET {column} = ? WHERE rowid = 1", (broken,))
        async with Library.open(data, embedder=TinyEmbedder()) as library:
            wrong = {verdict.answer_id for verdict in await library.verify() if not verdict.true}
        row.note(len(wrong) == 1, f"trial {number}: {column} = {broken}")


async def take_snapshots(day: Day, row: Row) -> None:
    """Take snapshots while a book comes in: each must restore to the state before or after it."""
    data, folder = day.copy("used"), day.room / "snapshots"
    before = await read_texts(data)
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        adding = asyncio.create_task(library.add(data / "second" / "tides.md"))
        names = [
            (await asyncio.to_thread(back_up, Settings(data=data), folder)).name for _ in range(day.trials)
        ]
        await adding
    after = await read_texts(data)
    for name in names:
        target = day.room / f"restored-{name}"
        restore(Settings(data=target), folder, name=name)
        row.note(
            await examine(target, "repair") and await read_texts(target) in (before, after),
            f"snapshot {name}",
        )


async def damage_backup(day: Day, row: Row) -> None:
    """Damage a backup: it must be noticed, and nothing restored from it."""
    for number in range(day.trials):
        folder = day.room / f"damaged-{number}"
        back_up(Settings(data=day.original), folder)
        _damage(day.chance.choice(sorted((folder / "blocks").glob("*/*"))), day.chance)
        noticed = False
        with suppress(OctavoError):
            verify_snapshot(folder, list_snapshots(folder)[0])
            restore(Settings(data=day.room / f"from-damaged-{number}"), folder)
            noticed = True
        row.note(not noticed, f"trial {number}")


async def fill_disk(day: Day, row: Row) -> None:
    """Leave less than the floor free: adding is refused with the cause, searching and removing go on."""
    data = day.copy("full")
    crowded = Settings(data=data, free_space_mb=10**9)
    async with Library.open(settings=crowded, embedder=TinyEmbedder()) as library:
        refused = False
        try:
            await library.add(data / "second" / "tides.md")
        except OctavoError as error:
            refused = error.code == "storage_low"
        row.note(refused, "adding")
        row.note(bool(await library.search(WORDS)), "searching")
        await library.remove(kills.BOOK)
        row.note(await library.books() == [], "removing")


async def strain_service(day: Day, row: Row) -> None:
    """Trailers without end, idle connections and dripping uploads: the service must answer all the while."""
    async with _serve(day) as port:
        await asyncio.to_thread(_strain, port, row)


async def send_slow_bodies(day: Day, row: Row) -> None:
    """Bodies that do not arrive: requests without a body, and bodies of other addresses, must get through."""
    async with _serve(day) as port:
        await asyncio.to_thread(_send_slow_bodies, port, row)


@asynccontextmanager
async def _serve(day: Day) -> AsyncIterator[int]:
    app = make_app(Settings(data=day.copy("served"), free_space_mb=0), embedder=TinyEmbedder())
    server = uvicorn.Server(make_config(app, host="127.0.0.1", port=0, log=False))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield await asyncio.to_thread(_wait_for_port, server, thread)
    finally:
        server.should_exit = True
        await asyncio.to_thread(thread.join, SECONDS)


def _wait_for_port(server: uvicorn.Server, thread: threading.Thread) -> int:
    while not server.started and thread.is_alive():
        time.sleep(0.05)
    return int(server.servers[0].sockets[0].getsockname()[1])


def _strain(port: int, row: Row) -> None:
    head = b"POST /v1/%s HTTP/1.1\r\nhost: localhost\r\n"
    with closing(_connect(port)) as line:
        sent = 0
        with suppress(OSError):
            line.sendall(head % b"search" + b"transfer-encoding: chunked\r\n\r\n0\r\n")
            for _ in range(60_000):
                sent += line.send(b"x: " + b"a" * 1_000 + b"\r\n")
        row.note(sent < 16 << 20, f"{sent >> 20} MB of trailers were taken")
    with ExitStack() as held:
        form = b"content-type: multipart/form-data; boundary=b\r\ncontent-length: 9000\r\n\r\n--b\r\n"
        for _ in range(64):
            held.enter_context(closing(_connect(port))).sendall(head % b"books" + form)
        row.note(_ask(port, b"/v1/books").startswith(b"HTTP/1.1 200"), "64 dripping uploads")
    with ExitStack() as held:
        for _ in range(300):
            held.enter_context(closing(_connect(port))).sendall(b"GET / HTTP/1.1\r\n")
        row.note(_ask(port, b"/healthz").startswith(b"HTTP/1.1 200"), "300 half-open connections")


def _send_slow_bodies(port: int, row: Row) -> None:
    with ExitStack() as held:
        _hold_bodies(held, port)
        for path in (b"/", b"/healthz", b"/v1/books"):
            row.note(_ask(port, path).startswith(b"HTTP/1.1 200"), f"{path.decode()} during slow bodies")
    with ExitStack() as held:
        _hold_bodies(held, port, b"x-forwarded-for: 203.0.113.1\r\n")
        row.note(_search(port), "a search during slow bodies of another address")
    row.note(_search(port), "a search after slow bodies")


def _hold_bodies(held: ExitStack, port: int, header: bytes = b"") -> None:
    """Begin to send 300 bodies, more than the service takes at once."""
    head = b"POST /v1/search HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9000\r\n"
    for _ in range(300):
        held.enter_context(closing(_connect(port))).sendall(head + header + b"\r\n{")


def _search(port: int) -> bool:
    body = b'{"query": "tide"}'
    head = b"POST /v1/search HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
    kind = b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
    with closing(_connect(port)) as line, suppress(OSError):
        line.sendall(head + kind + body)
        return line.recv(65_536).startswith(b"HTTP/1.1 200")
    return False


def _connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=SECONDS)


def _ask(port: int, path: bytes) -> bytes:
    with closing(_connect(port)) as line, suppress(OSError):
        line.sendall(b"GET " + path + b" HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        return line.recv(65_536)
    return b""


async def kill(day: Day, row: Row) -> None:
    """A few kills at steps of adding and removing; `benchmarks.kills` makes them all."""
    for job in ("add", "remove"):
        steps = len(kills.list_steps(day.original, job, day.room))
        for step in sorted(day.chance.sample(range(1, steps + 1), min(day.trials, steps))):
            data = kills.kill_at_step(day.original, job, step, day.room / f"killed-{job}-{step}")
            remains = await asyncio.to_thread(kills.judge, data, job)
            row.note(remains.sound, f"{job} at step {step}: {remains.why}")


HARMS: dict[str, Callable[[Day, Row], Coroutine[Any, Any, None]]] = {
    "kills": kill,
    "records": lose_records,
    "log": damage_log,
    "changes": change_records,
    "journal": damage_answers,
    "snapshots": take_snapshots,
    "backup": damage_backup,
    "disk": fill_disk,
    "service": strain_service,
    "bodies": send_slow_bodies,
}


async def _answer_twice(data: Path) -> None:
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        for question in ("How did the tide of harbour 12 rise?", "Who wrote it down?"):
            await library.ask(question)


def run(names: list[str], trials: int, *, seed: int = 18) -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory(prefix="octavo-hard-days-") as name:
        original = Path(name) / "original"
        kills.prepare(original)
        asyncio.run(_answer_twice(original))
        for each in names:
            day = Day(original, Path(name), trials, random.Random(seed))
            row = Row(each)
            asyncio.run(HARMS[each](day, row))
            print(
                f"{each:<10} {row.tried:>5} {row.tried - len(row.failed):>5} {len(row.failed):>6}", flush=True
            )
            rows.append(row)
    return rows


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--trials", type=int, default=5)
    options.add_argument("--only", default=",".join(HARMS), help="kinds of harm, separated by commas")
    said = options.parse_args()
    print(f"{'harm':<10} {'tried':>5} {'held':>5} {'failed':>6}")
    failed = [f"{row.name}: {why}" for row in run(said.only.split(","), said.trials) for why in row.failed]
    print("\n".join(failed))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
