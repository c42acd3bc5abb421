"""`octavo serve` as people start it: a process of its own, spoken to over its port, and told to stop."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.patience import PATIENCE

OCTAVO = [sys.executable, "-m", "octavo.cli"]
QUIET = os.environ | {"OCTAVO_LOCAL_MODELS": "false"}


def run(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*OCTAVO, *words], capture_output=True, text=True, check=False, env=QUIET, **more)


@contextmanager
def started(*words: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The process and its port, once it says that it listens."""
    with subprocess.Popen([*OCTAVO, *words], stderr=subprocess.PIPE, text=True, env=QUIET) as process:
        try:
            assert process.stderr is not None
            lines: list[str] = []
            while not (found := re.search(r"serves .* on http://\S+:(\d+) ", lines[-1] if lines else "")):
                lines.append(process.stderr.readline())
                assert lines[-1], "".join(lines)
            yield process, int(found[1])
        finally:
            process.kill()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("library"))


def test_a_started_service_answers_logs_in_json_and_stops_when_told(data: str) -> None:
    with started("--data", data, "serve", "--port", "0") as (process, port):
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as line:
            line.request("GET", "/v1/books", headers={"x-request-id": "first"})
            response = line.getresponse()
            assert (response.status, json.loads(response.read())) == (200, {"books": [], "next": None})
            assert "server" not in {name.lower() for name, _ in response.getheaders()}
        with closing(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)) as flood:
            with suppress(ConnectionError):  # closed with some of it unread; what it said can still be read
                flood.sendall(b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx: " + b"a" * 200_000 + b"\r\n\r\n")
            assert flood.recv(4_096).startswith(b"HTTP/1.1 431 ")
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        said = process.stderr.read()
        assert process.wait(PATIENCE) == 0
    logged = [json.loads(row) for row in said.splitlines() if row.startswith("{")]
    request = next(row for row in logged if row.get("request_id") == "first")
    assert (request["route"], request["status"], request["caller"]) == ("/v1/books", 200, "")
    assert "Traceback" not in said


def test_commands_go_through_the_service_that_has_the_library_open(data: str, tmp_path: Path) -> None:
    book = tmp_path / "tides.md"
    book.write_text("# Tides\n\nThe water rose twice a day. Nobody knew why.", encoding="utf-8")
    with started("--data", data, "serve", "--port", "0"):
        assert "added as 'tides'" in run("--data", data, "add", "tides.md", cwd=tmp_path).stdout
        asked = run("--data", data, "ask", "How often did the water rise?", "--json")
        assert "The water rose twice a day." in json.loads(asked.stdout)["answer"]
        # Another server needs the store for itself.
        refused = run("--data", data, "serve", "--port", "0")
        assert (refused.returncode, "is in use by" in refused.stderr) == (1, True)
        assert "OCTAVO_STORE_URL" in refused.stderr
        assert (Path(data) / "service.sock").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({}, "there is no valid key"),
        ({"OCTAVO_KEYS_REQUIRED": "false"}, "could read the library and change it"),
    ],
    ids=["no key", "no keys wanted"],
)
def test_a_service_that_would_let_strangers_in_does_not_start(
    data: str, variables: dict[str, str], why: str
) -> None:
    command = [*OCTAVO, "--data", data, "serve", "--host", "0.0.0.0", "--port", "0"]
    refused = subprocess.run(
        command, capture_output=True, text=True, check=False, env=QUIET | variables, timeout=PATIENCE
    )
    assert refused.returncode == 1
    assert why in refused.stderr


def test_a_port_that_is_taken_is_said_so(data: str) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = str(taken.getsockname()[1])
        failed = run("--data", data, "serve", "--port", port, timeout=PATIENCE)
        for_programs = run("--data", data, "serve", "--port", port, "--json", timeout=PATIENCE)
    assert (failed.returncode, for_programs.returncode) == (1, 1)
    said = f"octavo: cannot listen on 127.0.0.1, port {port}: address already in use"
    assert failed.stderr.lower().startswith(said)
    assert "--port" in failed.stderr
    assert json.loads(for_programs.stdout)["error"]["code"] == "environment"


def test_a_service_with_a_key_on_any_address_lets_only_its_holder_in(data: str) -> None:
    made = run("--data", data, "keys", "create", "admin", "--scope", "admin", "--json")
    token = re.search(r"octv_[0-9a-f]{12}_[0-9a-f]{64}", made.stdout)
    assert token is not None
    with (
        started("--data", data, "serve", "--host", "0.0.0.0", "--port", "0") as (_, port),
        closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as line,
    ):
        for headers, status in (({}, 401), ({"authorization": f"Bearer {token[0]}"}, 200)):
            line.request("GET", "/v1/books", headers=headers)
            response = line.getresponse()
            response.read()
            assert response.status == status


def test_a_second_signal_stops_at_once(data: str) -> None:
    with (
        started("--data", data, "serve", "--port", "0") as (process, port),
        closing(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)) as line,
    ):
        line.sendall(b"POST /v1/books HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 999\r\n")
        line.sendall(b"content-type: multipart/form-data; boundary=x\r\n\r\n--x")  # and nothing more
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as other:
            other.request("GET", "/healthz")
            assert other.getresponse().read() == b'{"status":"ok"}'
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) is not None


def test_books_for_the_public_are_named_at_the_start(data: str) -> None:
    refused = run("--data", data, "serve", "--port", "0", "--public-read", "no-such-book", timeout=PATIENCE)
    assert (refused.returncode, "no-such-book" in refused.stderr) == (2, True)
    with (
        started("--data", data, "serve", "--host", "0.0.0.0", "--port", "0", "--public-read", "all") as (
            _,
            port,
        ),
        closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as line,
    ):
        for path, body, status in (
            ("/query", {"question": "How often did the water rise?"}, 200),
            ("/v1/check", {}, 401),
        ):
            line.request("POST", path, json.dumps(body), {"content-type": "application/json"})
            response = line.getresponse()
            response.read()
            assert response.status == status
