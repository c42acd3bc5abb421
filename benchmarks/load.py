"""What the service carries: a separate client over real HTTP against a real server, for a minute and a half.

    python -m benchmarks.load [BOOK] [--rate 150]

CPU times are the server's own, from /proc, so they hold on a busy machine; times on the clock do not, and are
given with how late a timer of an idle process came at the same moment. A stall is how late a timer of the
server's event loop came, beside the same of an idle process. Overload is five times what the service works on
at once. The disconnects are clients that leave a stream before its first event, after it, and so on.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx

from benchmarks.ingest import write_book

Row = tuple[str, str, str]
TICKS = os.sysconf("SC_CLK_TCK")
COUNT = 150  # searches for the CPU figures


class Server:
    """The service in a process of its own."""

    def __init__(self, data: Path, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.stalls = folder / "stalls"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.stall", str(self.stalls), str(data), str(self.port)]
        )
        until = time.monotonic() + 60
        while not self._answers():
            if time.monotonic() > until or self.process.poll() is not None:
                raise RuntimeError("the server did not start")
            time.sleep(0.1)

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/readyz", timeout=2).status_code == 200
        except httpx.HTTPError:
            return False

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) // 1024

    def worst_stall(self, seen: int) -> tuple[float, int]:
        """The worst stall since line `seen`, and how many lines there are now."""
        stalls = self.stalls.read_text().split()[::2]
        return max(map(float, stalls[seen:]), default=0.0), len(stalls)

    def left(self) -> tuple[int, int, int]:
        """How many requests are worked on, tasks there are and files are open, a moment from now."""
        time.sleep(1.2)
        said = httpx.get(f"{self.url}/metrics").text
        working = next(line for line in said.splitlines() if line.startswith("octavo_working_requests "))
        files = len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))
        return int(float(working.split()[1])), int(self.stalls.read_text().split()[-1]), files

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)


def search(client: httpx.Client | httpx.AsyncClient, number: int, *, rerank: bool = True) -> httpx.Request:
    query = f"what is said about subject number {number} and its consequences?"
    body = {"query": query, "top_k": 10, "rerank": rerank}
    return client.build_request("POST", "/v1/search", json=body)


def cpu_per_search(server: Server) -> list[Row]:
    with httpx.Client(base_url=server.url, timeout=30) as client:
        client.send(search(client, -1)).raise_for_status()
        spent = []
        for first, rerank in ((1_000, False), (0, True), (0, True)):  # the last time every query is known
            began = server.cpu()
            for number in range(first, first + COUNT):
                client.send(search(client, number, rerank=rerank)).raise_for_status()
            spent.append((server.cpu() - began) / COUNT * 1000)
    return [
        ("server CPU, a new query with `rerank: false`", f"{spent[0]:.1f} ms", "≤ 7.5 ms"),
        ("server CPU, a new query, the best passages read", f"{spent[1]:.1f} ms", ""),
        ("server CPU, a known query", f"{spent[2]:.1f} ms", "≤ 1.5 ms"),
    ]


async def at_rate(
    server: Server, rate: float, seconds: float, *, known: bool
) -> tuple[list[float], Counter[int]]:
    """Searches sent by the clock, whatever becomes of them: their times, and their statuses."""
    took: list[float] = []
    statuses: Counter[int] = Counter()
    limits = httpx.Limits(max_connections=400, max_keepalive_connections=400, keepalive_expiry=2)
    async with httpx.AsyncClient(base_url=server.url, timeout=30, limits=limits) as client:

        async def one(number: int) -> None:
            began = time.monotonic()
            try:
                response = await client.send(search(client, number % COUNT if known else 10_000 + number))
            except httpx.TransportError:
                statuses[0] += 1  # nobody answered in time
                return
            statuses[response.status_code] += 1
            if response.status_code == 200:
                took.append(time.monotonic() - began)

        async with asyncio.TaskGroup() as group:
            began = time.monotonic()
            for number in range(round(rate * seconds)):
                await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
                group.create_task(one(number))
    return took, statuses


def measure_delay(seconds: float = 1.0) -> float:
    """How late, at the 95th percentile, a timer of an idle process comes on this machine now."""
    gaps = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        before = time.monotonic()
        time.sleep(0.005)
        gaps.append(time.monotonic() - before - 0.005)
    return percentile(gaps, 95) * 1000


def percentile(values: Sequence[float], share: int) -> float:
    if len(values) < 2:
        return values[0] if values else float("nan")
    return statistics.quantiles(values, n=100, method="inclusive")[share - 1]


def times(name: str, took: Sequence[float], statuses: Counter[int], note: str) -> Row:
    figures = f"p50 {percentile(took, 50) * 1000:.0f} ms, p95 {percentile(took, 95) * 1000:.0f} ms"
    return (name, f"{figures}; {dict(sorted(statuses.items()))}", note)


def loads(server: Server, most: float) -> list[Row]:
    rows = []
    for known, rates in ((False, (20.0, 50.0)), (True, (50.0, most))):
        for rate in rates:
            took, statuses = asyncio.run(at_rate(server, rate, 4, known=known))
            kind = "known queries" if known else "new queries"
            note = f"an idle timer is {measure_delay(0.5):.0f} ms late"
            rows.append(times(f"{rate:g} searches/s, {kind}", took, statuses, note))
    return rows


def make_stream_request(question: str) -> bytes:
    """A question whose answer is to come as events."""
    body = json.dumps({"question": question}).encode()
    head = (
        "POST /v1/ask HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    ).encode()
    return head + body


def slow_readers(server: Server, count: int = 50) -> list[Row]:
    """Clients that ask for a stream and never read it."""
    before, lines = server.memory(), []
    for _ in range(count):
        line = socket.create_connection(("127.0.0.1", server.port))
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
        line.sendall(make_stream_request("What is said about the first subject?"))
        lines.append(line)
    took, statuses = asyncio.run(at_rate(server, 20, 3, known=True))
    grown = server.memory() - before
    for line in lines:
        line.close()
    return [
        times(f"20 searches/s beside {count} streams that nobody reads", took, statuses, ""),
        ("memory that they cost", f"{grown} MB", "≤ 50 MB"),
    ]


def upload(server: Server, book: Path) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    start = f'--x\r\ncontent-disposition: form-data; name="file"; filename="{book.name}"\r\n\r\n'
    body = start.encode() + book.read_bytes() + b"\r\n--x--\r\n"
    connection.request("POST", "/v1/books", body, {"content-type": "multipart/form-data; boundary=x"})
    job = json.loads(connection.getresponse().read())["job"]["job_id"]
    connection.close()
    return str(job)


def both_at_once(server: Server, book: Path, most: int) -> list[Row]:
    """Questions while a book is read, to its end; for `most` times five seconds."""
    alone, _ = asyncio.run(at_rate(server, 10, 3, known=True))
    _, seen = server.worst_stall(0)
    idle = book.with_suffix(".idle")
    took, statuses = list[float](), Counter[int]()
    state: dict[str, Any] = {"state": "queued"}
    with subprocess.Popen([sys.executable, "-m", "benchmarks.stall", str(idle)]) as watching:
        try:
            job = upload(server, book)
            while most and state["state"] in ("queued", "running"):
                more, counted = asyncio.run(at_rate(server, 10, 5, known=True))
                took, statuses, most = took + more, statuses + counted, most - 1
                state = httpx.get(f"{server.url}/v1/jobs/{job}", timeout=60).json()
            stall, _ = server.worst_stall(seen)
        finally:
            watching.kill()
    machine = max(map(float, idle.read_text().split()[::2]), default=0.0)
    httpx.delete(f"{server.url}/v1/jobs/{job}")
    ratio = percentile(took, 95) / percentile(alone, 95)
    way = state["progress"]
    read = f"{state['state']}: {way['step']} {way['done']}/{way['total']}"
    return [
        times("10 searches/s while a book is read", took, statuses, f"p95 {ratio:.1f} times that of before"),
        ("the book meanwhile", read, ""),
        (
            "longest stall of the event loop meanwhile",
            f"{stall:.0f} ms",
            f"≤ 100 ms; an idle process: {machine:.0f} ms",
        ),
    ]


async def leave_early(server: Server, events: int) -> None:
    """Asks for a stream, reads so many events of it and is gone."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(make_stream_request("What is said about the first subject?"))
    await writer.drain()
    for part in range(events and events + 1):  # first the head of the response
        await reader.readuntil(b"\n\n" if part else b"\r\n\r\n")
    writer.transport.abort()


def disconnects(server: Server, count: int = 1_000, at_once: int = 8) -> list[Row]:
    async def leave() -> None:
        for start in range(0, count, at_once):
            numbers = range(start, min(count, start + at_once))
            await asyncio.gather(*(leave_early(server, number % 5) for number in numbers))

    before, began = server.left(), server.cpu()
    asyncio.run(leave())
    spent = server.cpu() - began
    names = ("requests", "tasks", "open files")
    told = ", ".join(f"{n}: {a} → {b}" for n, a, b in zip(names, before, server.left(), strict=True))
    return [(f"{count} clients that leave a stream", told, f"no more than before; {spent:.0f} CPU-s")]


def overload(server: Server) -> list[Row]:
    """Five times as many at once as the service works on."""

    async def burst(count: int) -> Counter[int]:
        limits = httpx.Limits(max_connections=count)
        async with httpx.AsyncClient(base_url=server.url, timeout=60, limits=limits) as client:
            questions = [
                client.build_request("POST", "/v1/ask", json={"question": f"What is subject {n} about?"})
                for n in range(count)
            ]
            answers = await asyncio.gather(*(client.send(q) for q in questions))
        assert all("retry-after" in a.headers for a in answers if a.status_code in (429, 503))
        return Counter(answer.status_code for answer in answers)

    statuses = asyncio.run(burst(320))
    began = time.monotonic()
    with httpx.Client(base_url=server.url, timeout=30) as client:
        client.send(search(client, 3)).raise_for_status()
    recovered = time.monotonic() - began
    return [
        ("320 questions at once", f"{dict(sorted(statuses.items()))}", "200 or 503 with Retry-After"),
        ("the next search after that", f"{recovered * 1000:.0f} ms", "≤ 5 s"),
    ]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("book", nargs="?", type=Path)
    options.add_argument("--rate", type=float, default=150)
    said = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="octavo-load-") as name:
        folder = Path(name)
        book = said.book or write_book(8_000, folder / "book.md")
        add = [sys.executable, "-m", "octavo.cli", "--data", str(folder / "library"), "add", str(book)]
        subprocess.run(add, check=True, capture_output=True)
        other = write_book(40_000, folder / "other.md")
        server = Server(folder / "library", folder)
        print("| load | figure | goal or comparison |\n|---|---|---|", flush=True)
        parts: tuple[Callable[[], list[Row]], ...] = (
            lambda: cpu_per_search(server),
            lambda: loads(server, said.rate),
            lambda: slow_readers(server),
            lambda: both_at_once(server, other, 24),
            lambda: disconnects(server),
            lambda: overload(server),
        )
        try:
            for part in parts:
                for row in part():
                    print(f"| {' | '.join(row)} |", flush=True)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
