"""What a connection may cost before there is a request: raw bytes against a real server."""

from __future__ import annotations

import json
import re
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Any

import pytest
import uvicorn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from octavo.limits import LEAST_FILES
from octavo.server.run import HEAD_MOST, LEAST_CONNECTIONS, HttpConnection, find_connection_limit, make_config
from tests.support.patience import PATIENCE, wait_until

OK = b"HTTP/1.1 200"
HEAD = b"GET /a HTTP/1.1\r\nhost: localhost\r\n"


async def said_back(scope: Any, receive: Any, send: Any) -> None:
    """An application that answers with the method, the path and the length of the body."""
    length = 0
    while (message := await receive()).get("more_body") or message.get("body"):
        length += len(message.get("body", b""))
        if not message.get("more_body"):
            break
    body = f"{scope['method']} {scope['path']} {length}".encode()
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@contextmanager
def listening(*, patience: float = 20.0, room: int = 1_000, crowd: int = 1_000) -> Iterator[int]:
    class Patient(HttpConnection):
        head_seconds = patience
        most = room
        most_per_address = crowd

    config = make_config(said_back, host="127.0.0.1", port=0, log=False)
    config.lifespan, config.http = "off", Patient
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with listening() as found:
        yield found


def line_to(port: int) -> Any:
    return closing(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))


def answer(line: socket.socket, enough: bytes = b"") -> bytes:
    """What comes until `enough` of it has, or the server closes the connection."""
    got = b""
    while not enough or enough not in got:
        try:
            piece = line.recv(65_536)
        except ConnectionError:
            break
        if not piece:
            break
        got += piece
    return got


def sent(port: int, said: bytes) -> bytes:
    with line_to(port) as line:
        with suppress(ConnectionError):  # closed with some of it unread; what it said can still be read
            line.sendall(said)
        return answer(line)


def problem(got: bytes) -> dict[str, Any]:
    head, _, body = got.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head
    assert b"connection: close" in head
    told = json.loads(body)
    assert head.startswith(f"HTTP/1.1 {told['status']} {told['title']}".encode())
    assert f"content-length: {len(body)}".encode() in head
    return dict(told)


@pytest.mark.parametrize(
    "head",
    [
        HEAD + b"x: " + b"a" * HEAD_MOST + b"\r\n\r\n",
        HEAD + b"x: a\r\n" * (HEAD_MOST // 4) + b"\r\n",
        b"GET /" + b"a" * HEAD_MOST + b" HTTP/1.1\r\nhost: localhost\r\n\r\n",
    ],
    ids=["one long header", "many headers", "a long address"],
)
def test_a_head_that_is_too_long_is_refused_as_a_whole(port: int, head: bytes) -> None:
    told = problem(sent(port, head))
    assert (told["status"], told["code"]) == (431, "request_header_fields_too_large")
    assert "64 kB" in told["detail"]


CHUNKED = b"POST /a HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n"


@pytest.mark.parametrize(
    "trailer", [b"x: " + b"a" * 1_000 + b"\r\n", b"a" * 1_000], ids=["many trailers", "one without an end"]
)
def test_trailers_without_an_end_are_refused(port: int, trailer: bytes) -> None:
    """The client would send 60 MB after the body; it is stopped soon after the limit of a head."""
    taken = 0
    with line_to(port) as line:
        line.sendall(CHUNKED + b"y: ")
        with suppress(ConnectionError):
            for _ in range(60_000):
                taken += line.send(trailer)
        got = answer(line)
    assert taken < 16 << 20
    if got:  # the response is lost where the client sent on
        assert problem(got)["status"] == 431


def test_a_few_trailers_are_read_over_and_the_next_request_is_answered(port: int) -> None:
    with line_to(port) as line:
        line.sendall(CHUNKED + b"checksum: abc\r\n\r\n")
        assert b"POST /a 2" in answer(line, b"POST /a 2")
        line.sendall(HEAD + b"connection: close\r\n\r\n")
        assert answer(line).startswith(OK)


def test_health_is_told_when_every_connection_is_taken() -> None:
    with listening(patience=PATIENCE, room=2) as port, ExitStack() as held:
        for _ in range(300):
            with suppress(OSError):
                line = held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))
                line.sendall(HEAD)
        got = sent(port, b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert got.startswith(OK)
        assert got.endswith(b'{"status": "ok"}')


def test_one_address_holds_so_many_connections_and_others_are_let_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("octavo.server.run.is_loopback", lambda host: host == "127.0.0.9")
    with listening(patience=PATIENCE, crowd=3) as port, ExitStack() as held:

        def connect(address: str) -> socket.socket:
            place = ("127.0.0.1", port)
            return held.enter_context(socket.create_connection(place, PATIENCE, source_address=(address, 0)))

        def ask(address: str) -> bytes:
            with suppress(ConnectionError):
                line = connect(address)
                line.sendall(HEAD + b"connection: close\r\n\r\n")
                return answer(line)
            return b""

        for _ in range(3):
            connect("127.0.0.2").sendall(HEAD)
        wait_until(lambda: ask("127.0.0.2").startswith(b"HTTP/1.1 429 "))
        # Another address, this machine, and a proxy that uvicorn trusts.
        for address in ("127.0.0.3", "127.0.0.9", "127.0.0.1"):
            assert ask(address).startswith(OK)


def test_a_head_without_an_end_is_cut_off_soon_after_the_limit(port: int) -> None:
    """The client would send 30 MB; it is told to stop, or stopped, long before."""
    taken = 0
    with line_to(port) as line:
        line.sendall(HEAD + b"x: ")
        try:
            for _ in range(600):
                line.sendall(b"a" * 50_000)
                taken += 50_000
        except ConnectionError:
            pass
    assert taken < 15_000_000


def test_a_head_just_below_the_limit_passes_in_one_piece_or_in_many(port: int) -> None:
    said = HEAD + b"x: " + b"a" * (HEAD_MOST - 200) + b"\r\n\r\n"
    for size in (len(said), 9_000):
        with line_to(port) as line:
            for start in range(0, len(said), size):
                line.sendall(said[start : start + size])
            assert answer(line, b"GET /a 0").startswith(OK)


def test_a_long_body_is_none_of_this(port: int) -> None:
    body = b"x" * (4 * HEAD_MOST)
    said = b"POST /b HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n" % len(body)
    with line_to(port) as line:
        for _ in range(3):  # on the same connection, and the next head right behind the body
            line.sendall(said + body)
        assert answer(line, b"POST /b").startswith(OK)
        line.sendall(HEAD + b"\r\n")
        assert b"GET /a 0" in answer(line, b"GET /a 0")


@pytest.mark.parametrize(
    "said",
    [
        b"GET /\xff\xfe HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET @evil.example HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"hello\r\n\r\n",
    ],
    ids=["bytes in the path", "no path", "two lengths", "two other lengths", "TLS", "words"],
)
def test_what_is_no_request_is_refused_as_a_problem(port: int, said: bytes) -> None:
    told = problem(sent(port, said))
    assert (told["status"], told["code"]) == (400, "bad_request")


@pytest.mark.parametrize("said", [b"", b"GET /a HT", HEAD + b"x: ", b"\r\n"])
def test_a_connection_that_does_not_come_to_the_point_is_closed(said: bytes) -> None:
    with listening(patience=0.2) as port, line_to(port) as line:
        line.sendall(said)
        assert answer(line) == b""


def test_a_connection_that_says_a_little_now_and_then_gains_no_time_by_it() -> None:
    with listening(patience=0.5) as port, line_to(port) as line:
        line.sendall(HEAD)
        line.settimeout(0.05)
        began = time.monotonic()
        while time.monotonic() - began < PATIENCE:
            try:
                line.sendall(b"x: y\r\n")
                if line.recv(100) == b"":
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break
        else:
            raise AssertionError("it is still open")


def test_patience_starts_anew_with_each_request() -> None:
    patience, longest = 1.0, 1.0
    while longest >= patience / 2:  # on a busy machine a pause may grow beyond what there is patience for
        assert patience < PATIENCE, "even much patience did not start anew"
        patience *= 2
        with listening(patience=patience) as port, line_to(port) as line:
            longest = 0.0
            for _ in range(4):
                began = time.monotonic()
                with suppress(ConnectionError):
                    line.sendall(HEAD + b"\r\n")
                got = answer(line, b"GET /a 0")
                time.sleep(0.3 * patience)  # together longer than the patience with one of them
                longest = max(longest, time.monotonic() - began)
                if longest >= patience / 2:
                    break
                assert b"GET /a 0" in got


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(noise=st.binary(max_size=300), cut=st.integers(0, 40))
def test_no_bytes_bring_the_server_down(port: int, noise: bytes, cut: int) -> None:
    with line_to(port) as line:
        with suppress(OSError):  # it may have been refused already
            line.sendall(HEAD[:cut] + noise)
            line.shutdown(socket.SHUT_WR)
        got = answer(line)
    assert got == b"" or re.match(rb"HTTP/1\.1 (200|400|431) ", got)
    assert sent(port, HEAD + b"connection: close\r\n\r\n").startswith(OK)


def test_one_connection_more_than_there_is_room_for_is_told_to_come_back() -> None:
    with listening(patience=PATIENCE, room=2) as port, ExitStack() as held:

        def connected() -> socket.socket:
            return held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))

        first, second = connected(), connected()
        for line in (first, second):
            line.sendall(HEAD)  # and the rest of it later
        answers = (told(port) for _ in range(1_000))  # who is held up for a second is sent away without one
        head, _, body = next(filter(None, answers)).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nretry-after: 1\r\n" in head
        assert (json.loads(body)["status"], json.loads(body)["code"]) == (503, "overloaded")
        assert connected().recv(1) == b""  # as is who says nothing
        second.close()
        wait_until(lambda: told(port).startswith(OK))
        first.sendall(b"\r\n")
        assert first.recv(4_096).startswith(OK)


def told(port: int) -> bytes:
    """What a request on a connection of its own is answered with; nothing where that was closed."""
    with suppress(ConnectionError), line_to(port) as line:
        line.sendall(HEAD + b"connection: close\r\n\r\n")
        return answer(line)
    return b""


def test_the_room_is_what_the_files_leave() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        for files, left in ((LEAST_FILES + 100, 100), (LEAST_FILES + 1, LEAST_CONNECTIONS)):
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
            assert find_connection_limit() == left
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
