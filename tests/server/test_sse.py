"""Streams over real sockets: alive while silent, stopped when nobody listens, ended with the service."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from fastapi import Request

from octavo.answers.replies import Reply
from octavo.limits import ServiceLimits
from octavo.server.auth import Caller
from octavo.server.load import Load
from octavo.server.sse import Event, EventProducer, EventStream, make_event_stream
from octavo.verification.claims import Sentence
from tests.support.answerers import AllSentencesAnswerer, FailingAnswerer, add_tides, fill_library
from tests.support.patience import PATIENCE, wait_until
from tests.support.serving import RunningService, serve_library

LOST = "How many boats were lost?"
HEADERS = {"content-type": "application/json", "accept": "text/event-stream"}
BODY = json.dumps({"question": LOST})


class Counting:
    """Waits until it is let go, and counts who is waiting and who was sent home."""

    name = "counting"

    def __init__(self) -> None:
        self.waiting = self.cancelled = 0

    async def reply(self, question: str, given: Sequence[Sentence]) -> Reply:
        self.waiting += 1
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        raise AssertionError("nobody stopped it")


def opened(served: RunningService, path: str = "/v1/ask") -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE)
    connection.request("POST", path, BODY, HEADERS)
    return connection


def test_a_silent_stream_shows_that_it_is_alive(tmp_path: Path) -> None:
    limits = ServiceLimits(heartbeat_seconds=0.1)
    served = serve_library(add_tides(tmp_path), answerer=Counting(), service=limits)
    with served as service, closing(opened(service)) as connection:
        response = connection.getresponse()
        lines = [response.readline() for _ in range(12)]
        assert lines.count(b": ping\n") >= 2
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["x-accel-buffering"] == "no"
        response.close()


def test_a_stream_has_its_time_and_says_when_it_is_over(tmp_path: Path) -> None:
    limits, answerer = ServiceLimits(stream_seconds=0.5), Counting()
    with serve_library(add_tides(tmp_path), answerer=answerer, service=limits) as served:
        while not answerer.waiting:  # on a slow machine, the first time may be over before it is reached
            got = served.post("/v1/ask", {"question": LOST}, headers=HEADERS)
            kind, problem = got.events[-1]
            assert (kind, problem["status"], problem["code"]) == ("error", 503, "overloaded")
            assert problem["request_id"] == got.headers["x-request-id"]
        wait_until(lambda: answerer.cancelled == 1)


@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
def test_the_work_stops_when_the_client_leaves(tmp_path: Path, accept: str) -> None:
    answerer = Counting()
    with serve_library(add_tides(tmp_path), answerer=answerer) as served:
        for count in range(1, 6):
            connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE)
            connection.request("POST", "/v1/ask", BODY, HEADERS | {"accept": accept})
            wait_until(lambda: answerer.waiting == count)  # noqa: B023
            connection.close()
            wait_until(lambda: answerer.cancelled == count)  # noqa: B023
        wait_until(lambda: served.app.state.load.working == 0)
    with closing(sqlite3.connect(tmp_path / "library" / "records.sqlite")) as records:
        assert records.execute("SELECT DISTINCT status FROM questions").fetchall() == [("error",)]


def test_a_caller_has_so_many_streams_at_once(tmp_path: Path) -> None:
    limits, answerer = ServiceLimits(streams=2), Counting()
    with serve_library(add_tides(tmp_path), answerer=answerer, service=limits) as served:
        both = [opened(served) for _ in range(2)]
        wait_until(lambda: answerer.waiting == 2)
        third = served.post("/v1/ask", {"question": LOST}, headers=HEADERS)
        assert (third.status, third.json["code"]) == (429, "too_many_requests")
        assert int(third.headers["retry-after"]) >= 1
        assert served.post("/v1/search", {"query": LOST}).status == 200
        both[0].close()
        wait_until(lambda: served.app.state.load.working == 1)
        again = opened(served)
        wait_until(lambda: answerer.waiting == 3)
        for connection in (both[1], again):
            connection.close()


def rss() -> int:
    """Megabytes of memory that this process, with the server in it, has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


def test_fifty_clients_that_never_read_cost_little_and_are_cut(tmp_path: Path) -> None:
    """Each would be sent without end; every generator is closed, and the service serves others meanwhile."""
    begun: list[int] = []
    closed: list[int] = []
    limits = ServiceLimits(streams=100, send_seconds=1.0)
    with serve_library(fill_library(tmp_path / "library"), service=limits) as served:

        @served.app.get("/flood")
        async def flood(request: Request) -> Any:
            async def events() -> AsyncGenerator[Event, None]:
                begun.append(1)
                try:
                    while True:
                        yield "noise", {"text": "x" * 20_000}
                        await asyncio.sleep(0)
                finally:
                    closed.append(1)

            slot = served.app.state.access.hold_stream(Caller(address="127.0.0.1"))
            return await make_event_stream(request, events(), slot=slot, limits=limits)

        before = rss()
        clients = []
        for _ in range(50):
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", served.port))
            client.sendall(b"GET /flood HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
            clients.append(client)
        wait_until(lambda: len(begun) == 50)
        assert served.get("/v1/books").status == 200
        wait_until(lambda: len(closed) == 50)
        assert rss() - before <= 50
        wait_until(lambda: served.app.state.load.working == 0)
        for client in clients:
            client.close()


async def test_a_flow_is_made_by_one_task_and_stops_when_told() -> None:
    tasks, ended = set(), []

    async def events() -> AsyncGenerator[Event, None]:
        try:
            for number in range(1000):
                tasks.add(asyncio.current_task())
                yield "count", {"number": number}
        finally:
            ended.append(True)

    flow = EventProducer(events())
    assert [await flow.next() for _ in range(3)] == [("count", {"number": n}) for n in range(3)]
    await flow.stop()
    assert (ended, len(tasks)) == ([True], 1)


async def test_a_flow_tells_its_end_and_its_failure() -> None:
    async def failing() -> AsyncGenerator[Event, None]:
        yield "one", {}
        raise ZeroDivisionError

    flow = EventProducer(failing())
    assert await flow.next() == ("one", {})
    with pytest.raises(ZeroDivisionError):
        await flow.next()
    await flow.stop()


async def test_a_stream_that_is_cancelled_while_it_cleans_up_gives_back_its_slot() -> None:
    cleaning, may_end, held = asyncio.Event(), asyncio.Event(), ExitStack()
    given_back: list[bool] = []
    held.callback(lambda: given_back.append(may_end.is_set()))

    async def events() -> AsyncGenerator[Event, None]:
        try:
            yield "one", {}
            await asyncio.Event().wait()
        finally:
            cleaning.set()
            await may_end.wait()

    sent: asyncio.Queue[Any] = asyncio.Queue()

    async def receive() -> Any:
        await asyncio.Event().wait()

    stream = EventStream(
        EventProducer(events()), [], ended=False, held=held, load=Load(), limits=ServiceLimits()
    )
    running = asyncio.create_task(stream({"type": "http", "state": {}}, receive, sent.put))
    for _ in range(2):
        await sent.get()
    running.cancel()
    await cleaning.wait()
    running.cancel()
    await asyncio.sleep(0)
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert given_back == [True]


class Mistaken(AllSentencesAnswerer):
    async def reply(self, question: str, given: Sequence[Sentence]) -> Reply:
        raise ZeroDivisionError("secret detail")


def test_a_mistake_of_ours_ends_a_stream_with_an_event_that_tells_no_secrets(tmp_path: Path) -> None:
    with serve_library(add_tides(tmp_path), answerer=Mistaken()) as served:
        streamed = served.post("/v1/ask", {"question": LOST}, headers=HEADERS)
        whole = served.post("/v1/ask", {"question": LOST})
        assert streamed.events[-1][0] == "error"
        assert (streamed.events[-1][1]["code"], whole.status, whole.json["code"]) == (
            "internal",
            500,
            "internal",
        )
        assert "secret" not in streamed.text + whole.text
        assert whole.json["request_id"] == whole.headers["x-request-id"]


SERVER = """
import asyncio, select, sys
from pathlib import Path
import uvicorn
from octavo.answers.replies import Reply
from octavo.server.app import make_app
from octavo.server.run import DrainingServer, make_config
from octavo.settings import Settings
from octavo.testing import TinyEmbedder

class Slow:
    name = "slow"
    async def reply(self, question, given):
        print("reading", flush=True)
        while not select.select([sys.stdin], [], [], 0)[0]:  # until it is told to go on
            await asyncio.sleep(0.02)
        return Reply((), 0.0, 0.0)

app = make_app(Settings(data=Path(sys.argv[1])), embedder=TinyEmbedder(), answerer=Slow())
config = make_config(app, host="127.0.0.1", port=0, log=False)
announce = lambda port: print(port, flush=True)
DrainingServer(config, app.state.load, seconds=float(sys.argv[2]), announce=announce).run()
print("closed", flush=True)
"""


@pytest.mark.parametrize(("patience", "last"), [(PATIENCE, "answered"), (1.0, "error")])
def test_a_service_that_is_told_to_stop_finishes_what_runs_or_says_why_not(
    tmp_path: Path, patience: float, last: str
) -> None:
    command = [sys.executable, "-c", SERVER, str(add_tides(tmp_path)), str(patience)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        port = int(process.stdout.readline())
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        connection.request("POST", "/v1/ask", BODY, HEADERS)
        assert process.stdout.readline() == "reading\n"
        process.send_signal(signal.SIGTERM)
        late = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        wait_until(lambda: _turned_away(late, or_closed=last == "error"))
        if last == "answered":
            process.stdin.write("\n")  # only now does the work go on
            process.stdin.flush()
        text = connection.getresponse().read().decode()
        assert text.split("event: ")[-1].startswith(last)
        assert process.stdout.read() == "closed\n"
        assert process.wait(PATIENCE) == 0
        late.close()
        connection.close()


def _turned_away(connection: http.client.HTTPConnection, *, or_closed: bool) -> bool:
    try:
        connection.request("GET", "/v1/books")
        response = connection.getresponse()
        response.read()
    except (OSError, http.client.HTTPException):
        assert or_closed, "the service closed before its work was done"
        return True
    return (response.status, response.headers["retry-after"]) == (503, "5")


def test_an_outage_is_the_last_event_as_a_problem_document(tmp_path: Path) -> None:
    with serve_library(add_tides(tmp_path), answerer=FailingAnswerer()) as served:
        kind, problem = served.post("/v1/ask", {"question": LOST}, headers=HEADERS).events[-1]
        assert (kind, problem["status"], problem["code"]) == ("error", 502, "model_error")
        assert problem["detail"] == "the model does not answer"
