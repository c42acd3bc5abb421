"""A service that may open few files, as a process of its own: it holds what it can and refuses the rest."""

from __future__ import annotations

import http.client
import json
import os
import re
import resource
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import pytest

from octavo.limits import LEAST_FILES
from tests.support import small_books
from tests.support.patience import PATIENCE, wait_until

OCTAVO = [sys.executable, "-m", "octavo.cli"]
QUIET = os.environ | {"OCTAVO_LOCAL_MODELS": "false"}
FILES = 64
CROWD = 100


def limited(files: int, *words: str) -> subprocess.Popen[str]:
    """The command line in a process that may open so many files."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    return subprocess.Popen(
        [*OCTAVO, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=QUIET,
        preexec_fn=limit,
    )


@contextmanager
def serving(data: Path) -> Iterator[tuple[subprocess.Popen[str], int, str]]:
    """The process, its port, and what it said before it listened."""
    with limited(FILES, "--data", str(data), "serve", "--port", "0", "--json") as process:
        try:
            assert process.stderr is not None
            said = ""
            while not (found := re.search(r"on http://\S+:(\d+) ", said)):
                line = process.stderr.readline()
                assert line, said
                said += line
            yield process, int(found[1]), said
        finally:
            process.kill()


def asked(port: int, number: int) -> int:
    """The status of a search; 0 for a connection that was closed without a word."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    with closing(line), suppress(OSError, http.client.HTTPException):
        body = json.dumps({"query": f"how many boats were lost in storm {number}?"})
        line.request("POST", "/v1/search", body, {"content-type": "application/json"})
        response = line.getresponse()
        told = json.loads(response.read())
        assert response.status == 200 or (told["code"], response.getheader("retry-after")) == (
            "overloaded",
            "1",
        )
        return response.status
    return 0


def spoken(line: socket.socket) -> int:
    """The status of a request on a connection that has been held open; 0 as above."""
    with suppress(OSError):
        line.sendall(b"GET /v1/books HTTP/1.1\r\nhost: localhost\r\n\r\n")
        return int((line.recv(65_536).split() or [b"", b"0"])[1])
    return 0


def open_files(process: subprocess.Popen[str]) -> int:
    return len(list(Path(f"/proc/{process.pid}/fd").iterdir()))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("few")
    with limited(
        LEAST_FILES,
        "--data",
        str(folder / "library"),
        "add",
        str(small_books.write_markdown(folder / "tides.md")),
    ) as adding:
        said = adding.communicate(timeout=PATIENCE)
    assert adding.returncode == 0, said
    return folder / "library"


def test_a_crowd_is_held_as_far_as_the_files_go_and_refused_beyond(data: Path) -> None:
    with serving(data) as (process, port, said):
        assert f"enough for {FILES - LEAST_FILES} connections at once" in said
        assert asked(port, 0) == 200
        idle = open_files(process)
        with ExitStack() as crowd:
            held = []
            for _ in range(CROWD):
                with suppress(OSError):
                    held.append(
                        crowd.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))
                    )
            during = {asked(port, number) for number in range(3)}
            answers = Counter(spoken(line) for line in held)
            assert during | set(answers) <= {0, 200, 503}
            assert answers[200] <= FILES - LEAST_FILES  # fewer where the first had to wait too long
            assert open_files(process) < FILES
        wait_until(lambda: asked(port, 1) == 200)
        assert [asked(port, number) for number in range(20)] == [200] * 20
        wait_until(lambda: open_files(process) <= idle + 2)
        assert process.poll() is None
        process.terminate()
        assert process.wait(PATIENCE) == 0


def test_a_library_is_sound_after_a_crowd(data: Path) -> None:
    with limited(FILES, "--data", str(data), "doctor", "--json") as process:
        out, _ = process.communicate(timeout=PATIENCE)
    assert json.loads(out)["sound"] is True


@pytest.mark.parametrize("command", [["add", __file__], ["serve", "--port", "0"]], ids=lambda c: c[0])
def test_a_process_that_may_open_too_few_files_says_so(data: Path, command: list[str]) -> None:
    with limited(LEAST_FILES - 1, "--data", str(data), *command) as process:
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert said.startswith(f"octavo: this process may open only {LEAST_FILES - 1} files at a time")
    assert "ulimit -n" in said
    assert "Traceback" not in said
