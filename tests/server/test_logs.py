"""Logs: one line of JSON for each request, and nothing in it that must not be kept."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from octavo.server.logs import BackgroundHandler, JsonFormatter, configure_logging, redact_secrets
from tests.support.book_service import Service, serve_books
from tests.support.patience import PATIENCE, wait_until

WORDS = "Seven boats were lost in the storm off Marrow Point"
QUESTION = "How many boats were lost off Marrow Point?"
KEY = "octv_abcdef012345_dGhpcyBpcyBhIHNlY3JldA"


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What the service logs, from the test's own handler; the loggers are as before afterwards."""
    names = ("octavo", "uvicorn")
    before = [(n, logging.getLogger(n).handlers, logging.getLogger(n).propagate) for n in names]
    stream = io.StringIO()
    configure_logging(stream)
    yield stream
    for name, handlers, propagate in before:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(logging.NOTSET)


def lines(written: io.StringIO) -> list[dict[str, Any]]:
    """Those that are whole."""
    return [json.loads(line) for line in written.getvalue().split("\n")[:-1]]


@pytest.fixture
def service(written: io.StringIO, tmp_path: Path) -> Iterator[Service]:
    with serve_books(tmp_path / "library") as made:
        yield made


def test_a_request_is_one_line_with_its_id_route_status_and_time(
    service: Service, written: io.StringIO
) -> None:
    service.call("GET", "/v1/books/moby-dick", headers={"x-request-id": "abc-1"})
    wait_until(lambda: "abc-1" in written.getvalue())  # the response is sent before its line is written
    line = lines(written)[-1]
    assert (line["request_id"], line["method"], line["route"], line["status"], line["caller"]) == (
        "abc-1",
        "GET",
        "/v1/books/{book_id}",
        404,
        "",
    )
    assert line["ms"] >= 0
    assert line["logger"] == "octavo.requests"
    assert line["time"].endswith("+00:00")


def test_no_book_no_question_and_no_key_is_ever_logged(service: Service, written: io.StringIO) -> None:
    service.taken_in(f"# Marrow\n\n{WORDS}.".encode(), name="marrow-point.md", title="Marrow Point")
    bearer = {"authorization": f"Bearer {KEY}"}
    service.post("/v1/ask", {"question": QUESTION})
    service.post("/query", {"question": QUESTION, "top_k": 0})
    service.call("GET", f"/v1/books?key={KEY}", headers=bearer)
    service.call("GET", f"/{KEY}/{WORDS.replace(' ', '%20')}")
    service.call("GET", "/v1/books", headers=bearer)
    service.send(b"", name="marrow-secret.md")
    wait_until(lambda: len(lines(written)) >= 8)
    service.call("GET", "/v1/books", headers={"x-request-id": "the-last"})
    wait_until(lambda: "the-last" in written.getvalue())
    text = written.getvalue()
    for secret in ("Marrow", "marrow", "boats", KEY, KEY.rsplit("_", 1)[1], "octv_"):
        assert secret not in text, secret


def test_health_checks_fill_no_logs(service: Service, written: io.StringIO) -> None:
    for path in ("/healthz", "/readyz", "/metrics"):
        assert service.get(path).status == 200
    service.call("GET", "/v1/books", headers={"x-request-id": "the-last"})
    wait_until(lambda: "the-last" in written.getvalue())
    assert [line["route"] for line in lines(written) if "route" in line] == ["/v1/books"]


def test_files_of_the_page_are_logged_only_when_they_fail_or_for_debugging(
    service: Service, written: io.StringIO
) -> None:
    files = ("/static/app/main.js", "/widget.js", "/widget.de.js")
    assert [service.get(path).status for path in files] == [200, 200, 200]
    assert service.get("/static/nothing.js").status == 404
    service.call("GET", "/v1/books", headers={"x-request-id": "the-last"})
    wait_until(lambda: "the-last" in written.getvalue())
    told = [(line["route"], line["status"]) for line in lines(written) if "route" in line]
    assert told == [("/static/{path:path}", 404), ("/v1/books", 200)]
    logging.getLogger("octavo").setLevel(logging.DEBUG)
    service.call("GET", "/widget.js", headers={"x-request-id": "for-debugging"})
    wait_until(lambda: "for-debugging" in written.getvalue())
    line = next(line for line in lines(written) if line.get("request_id") == "for-debugging")
    assert (line["level"], line["route"]) == ("debug", "/widget.js")


def test_an_error_is_told_by_its_kind_and_place_not_by_its_words(written: io.StringIO) -> None:
    log = logging.getLogger("octavo.server")
    try:
        raise ValueError(f"cannot parse {WORDS!r}")
    except ValueError:
        log.exception("a request failed", extra={"request_id": "r1"})
    line = lines(written)[-1]
    assert (line["error"], line["request_id"], line["level"]) == ("ValueError", "r1", "error")
    assert any("test_logs.py" in place for place in line["at"])
    assert "boats" not in json.dumps(line)


def test_uvicorns_own_words_are_lines_of_json_too(written: io.StringIO) -> None:
    logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
    assert lines(written)[-1]["message"] == "Invalid HTTP request received."


SECRETS = (
    KEY,
    "sk-proj-abcdefghijkl",
    "Authorization: Bearer abc.def-ghi",
    "postgresql+asyncpg://octavo:hunter2@db/octavo",
    "api_key=hunter2",
    "password: hunter2",
)


@pytest.mark.parametrize("secret", SECRETS)
def test_what_looks_like_a_secret_is_blotted_out(secret: str) -> None:
    shown = redact_secrets(f"it failed for {secret} today")
    assert "***" in shown
    assert not any(word in shown for word in ("hunter2", "abcdefghijkl", "abc.def", KEY))
    assert shown.startswith("it failed for ")
    assert shown.endswith(" today")


def test_plain_words_stay_as_they_are() -> None:
    assert redact_secrets("job 12 waits again: the worker stops") == "job 12 waits again: the worker stops"


def test_a_line_stays_a_line(written: io.StringIO) -> None:
    record = logging.LogRecord("octavo", logging.INFO, "", 0, "one\ntwo\r\nthree", None, None)
    assert "\n" not in JsonFormatter().format(record)


def test_a_pipe_that_nobody_empties_holds_up_nothing_and_tells_what_was_lost() -> None:
    end, begin = os.pipe()
    with os.fdopen(begin, "w", encoding="utf-8") as pipe, os.fdopen(end, "rb") as reader:
        handler = BackgroundHandler(pipe, most=10)
        for number in range(2_000):  # far more than a pipe holds
            handler.emit(logging.makeLogRecord({"msg": f"line {number} {'x' * 200}"}))
        os.set_blocking(end, False)
        said = b""
        while b"lines lost" not in said:
            said += reader.read() or b""
            handler.emit(logging.makeLogRecord({"msg": "one more"}))
        assert b"line 0 " in said
        while handler._lines.unfinished_tasks:
            reader.read()


def test_a_service_whose_log_is_never_read_answers_on_and_stops_when_told(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "octavo.cli", "--data", str(tmp_path), "serve", "--port", "0"]
    service = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert service.stderr is not None
        port = re.findall(r"://127.0.0.1:(\d+)", service.stderr.readline())[0]
        connection = HTTPConnection("127.0.0.1", int(port), timeout=PATIENCE)
        for _ in range(600):  # each is a line of more than 150 bytes; a pipe holds 64 kB
            connection.request("GET", "/v1/books")
            assert connection.getresponse().read()
        connection.close()
        service.terminate()
        assert service.wait(PATIENCE) == 0
    finally:
        service.kill()
        service.communicate()
