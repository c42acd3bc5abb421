"""What a client may cost: bodies, JSON, rates, crowds, ranges."""

from __future__ import annotations

import http.client
import json
import math
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import InvalidValue
from octavo.limits import ServiceLimits
from octavo.server import middleware
from octavo.server.middleware import DEEPEST, DISCARDED_MOST, _check_json
from tests.support.answerers import AllSentencesAnswerer, FailingAnswerer, add_tides
from tests.support.patience import PATIENCE, wait_until
from tests.support.serving import PROBLEM, RunningService, create_key, serve_library

LOST = "How many boats were lost?"
MOST = 1024 * 1024


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with serve_library(
        add_tides(tmp_path_factory.mktemp("tides")), answerer=AllSentencesAnswerer("boats")
    ) as served:
        yield served


def head(length: str, path: str = "/v1/ask") -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n{length}\r\n\r\n"
    ).encode()


def refused(said: bytes) -> tuple[int, bool]:
    """The status, and whether the connection was closed; a connection closed without a word is a 400."""
    first, _, rest = (said or b"HTTP/1.1 400\r\nconnection: close").partition(b"\r\n")
    return int(first.split()[1]), b"connection: close" in rest.lower()


def test_a_body_that_says_it_is_too_large_is_refused_before_it_is_sent(service: RunningService) -> None:
    assert refused(service.raw(head(f"content-length: {MOST + 1}"))) == (413, True)
    assert refused(service.raw(head(f"content-length: {10**30}")))[0] in (400, 413)


def test_a_body_without_a_length_is_counted_while_it_comes(service: RunningService) -> None:
    """The client would send 50 MB in pieces; the server stops reading soon after the limit."""
    sent = 0
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as connection:
        connection.sendall(head("transfer-encoding: chunked"))
        piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        try:
            for _ in range(800):
                connection.sendall(piece)
                sent += 0x10000
        except OSError:
            pass
        else:
            pytest.fail("the server read everything")
    assert sent < MOST + DISCARDED_MOST + 16 * MOST  # what the sockets' own buffers take


@pytest.mark.parametrize("length", [True, False], ids=["with its length", "in pieces"])
def test_an_ordinary_client_that_sends_too_much_sees_why_it_is_refused(
    service: RunningService, length: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(middleware, "DISCARDED_SECONDS", PATIENCE)  # however slowly this machine sends it
    body = b'{"question": "' + b"x" * (3 * MOST) + b'"}'
    sent: Any = (
        body if length else iter([body[start : start + 65_536] for start in range(0, len(body), 65_536)])
    )
    with closing(http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)) as client:
        client.request("POST", "/v1/ask", sent, {"content-type": "application/json"})
        response = client.getresponse()
        told = json.loads(response.read())
    assert (response.status, told["code"], response.getheader("connection")) == (413, "too_large", "close")
    assert service.call("GET", "/healthz").status == 200


def test_a_chunked_body_that_is_too_large_gets_a_413(service: RunningService) -> None:
    piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    assert refused(service.raw(head("transfer-encoding: chunked") + piece * 17 + b"0\r\n\r\n")) == (413, True)


def test_a_length_that_is_a_lie_changes_nothing(service: RunningService) -> None:
    body = json.dumps({"question": LOST}).encode()
    short = service.raw(head("content-length: 5") + body)
    assert refused(short)[0] in (400, 422)
    long = service.raw(head("content-length: 5000") + body)
    assert refused(long)[0] in (400, 422)
    both = service.raw(head("content-length: 5\r\ntransfer-encoding: chunked") + b"0\r\n\r\n")
    assert refused(both)[0] in (400, 422)
    assert refused(service.raw(head("content-length: -1") + body))[0] == 400
    assert service.post("/v1/ask", {"question": LOST}).status == 200


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"question": "x"} trailing',
        b'{"question": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"question": "x", "top_k": NaN}',
        b'{"question": "x", "top_k": Infinity}',
        b'{"question": "x", "top_k": 1e999}',
        b'{"question": "x", "question": "y"}',
        b'{"question": "x", "top_k": 1' + b"0" * 5000 + b"}",
        b'{"question": "x", "top_k": 99999999999999999999}',
        b'{"question": "a\\u0000b"}',
        b'\\"' * 300_000,
        b'"' + b'\\"' * 300_000,
    ],
)
def test_json_that_is_broken_or_extravagant_is_refused(service: RunningService, body: bytes) -> None:
    got = service.post("/v1/ask", body)
    assert (got.status, got.type) == (422, PROBLEM)
    assert "Traceback" not in got.text
    assert len(got.text) < 2_000


def test_json_that_is_not_called_json_is_refused_with_advice(service: RunningService) -> None:
    got = service.post("/v1/search", {"query": LOST}, headers={"content-type": "text/plain"})
    assert (got.status, "application/json" in got.json["hint"]) == (422, True)


def test_a_string_of_fifty_megabytes_is_not_read(service: RunningService) -> None:
    assert refused(service.raw(head(f"content-length: {50 * MOST}") + b'{"question": "x'))[0] == 413


SIMPLE = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text() | st.floats(-9, 9)


@given(st.recursive(SIMPLE, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20))
def test_whatever_people_write_passes(value: Any) -> None:
    _check_json(json.dumps(value).encode())
    deep = json.dumps(value)
    for _ in range(DEEPEST + 1):
        deep = f"[{deep}]"
    with pytest.raises(InvalidValue, match="nested deeper"):
        _check_json(deep.encode())


@pytest.mark.parametrize(
    ("question", "status"),
    [("", 422), ("   \n", 422), ("q" * 1_000_000, 422), ("🐋🐳", 200), ("the of and", 200), ("?!", 200)],
)
def test_a_question_is_refused_when_empty_or_endless_and_else_answered_honestly(
    service: RunningService, question: str, status: int
) -> None:
    got = service.post("/v1/ask", {"question": question})
    assert got.status == status
    if status == 422:
        assert (got.type, "q" * 200 in got.text) == (PROBLEM, False)


@pytest.mark.parametrize("top_k", [0, -1, 10**9, "ten", 2.5, None, True, [5]])
def test_a_number_of_passages_that_makes_no_sense_is_refused(service: RunningService, top_k: object) -> None:
    for path, words in (("/v1/ask", "question"), ("/query", "question"), ("/v1/search", "query")):
        # To /query, null is as if nothing was said.
        status = 200 if top_k is None and path == "/query" else 422
        assert service.post(path, {words: LOST, "top_k": top_k}).status == status


def test_thousands_of_ranges_are_passed_over(service: RunningService) -> None:
    flood = {"range": "bytes=" + ",".join(["0-"] * 10_000)}
    for path in ("/healthz", "/v1/books", "/openapi.json"):
        assert service.get(path, headers=flood).status == 200
    assert service.get("/nothing", headers=flood).status == 404


def test_headers_without_an_end_are_refused(service: RunningService) -> None:
    said = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n" + b"x: " + b"y" * 200_000
    assert refused(service.raw(said))[0] in (400, 431)
    assert service.get("/healthz").status == 200


def closed(folder: Path, **limits: Any) -> Any:
    return serve_library(
        folder, answerer=AllSentencesAnswerer("boats"), keys_required=True, service=ServiceLimits(**limits)
    )


def wrong_key(line: http.client.HTTPConnection, key: str) -> int:
    line.request("GET", "/v1/books", headers={"authorization": f"Bearer {key}"})
    response = line.getresponse()
    response.read()
    return response.status


def test_a_thousand_wrong_keys_are_slowed_down_and_the_right_one_still_works(tmp_path: Path) -> None:
    folder = add_tides(tmp_path)
    _, token = create_key(folder)
    with closed(folder) as served:
        with closing(http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE)) as line:
            began = time.monotonic()
            statuses = [wrong_key(line, f"octv_{n:012x}_{n:064x}") for n in range(1_000)]
            minutes = (time.monotonic() - began) / 60
        assert statuses[:20] == [401] * 20
        assert statuses.count(401) <= 20 * (1 + math.ceil(minutes))  # each minute has its share
        assert set(statuses) == {401, 429}
        told = next(got for _ in range(25) if (got := served.get("/v1/books", key="wrong")).status == 429)
        assert 1 <= int(told.headers["retry-after"]) <= 60
        assert told.json["code"] == "too_many_requests"
        assert served.get("/v1/books", key=token).status == 200
        elsewhere = served.get("/v1/books", key="wrong", headers={"x-forwarded-for": "203.0.113.9"})
        assert elsewhere.status == 401


def test_a_key_has_so_many_requests_a_minute(tmp_path: Path) -> None:
    folder = add_tides(tmp_path)
    _, usual = create_key(folder, "usual")
    _, slow = create_key(folder, "slow", per_minute=2)
    with closed(folder, requests_per_minute=4) as served:
        assert [served.get("/v1/books", key=slow).status for _ in range(4)] == [200, 200, 429, 429]
        assert [served.get("/v1/books", key=usual).status for _ in range(6)] == [200] * 4 + [429] * 2
        assert served.get("/healthz", key=usual).status == 200


def test_each_visitor_of_a_site_has_a_limit_and_so_has_the_site(tmp_path: Path) -> None:
    folder, site = add_tides(tmp_path), "https://docs.example.com"
    _, token = create_key(folder, "site", public=True, origins=[site], per_minute=6)

    def visits(served: RunningService, address: str, count: int) -> list[int]:
        headers = {"origin": site, "x-forwarded-for": address}
        return [served.get("/v1/books", key=token, headers=headers).status for _ in range(count)]

    with closed(folder, public_per_minute=3) as served:
        assert visits(served, "203.0.113.1", 4) == [200, 200, 200, 429]
        assert visits(served, "203.0.113.2", 3) == [200, 200, 200]
        assert visits(served, "203.0.113.3", 2) == [429, 429]


def test_whoever_sits_at_the_machine_is_not_counted(tmp_path: Path) -> None:
    limits = ServiceLimits(requests_per_minute=2)
    with serve_library(add_tides(tmp_path), answerer=AllSentencesAnswerer("boats"), service=limits) as served:
        assert {served.get("/v1/books").status for _ in range(6)} == {200}


def test_a_service_with_its_hands_full_says_so_and_recovers(tmp_path: Path) -> None:
    limits, answerer = ServiceLimits(working=2), FailingAnswerer(waits=True)
    with serve_library(add_tides(tmp_path), answerer=answerer, service=limits) as served:
        slow: list[int] = []
        ask = lambda: slow.append(served.post("/v1/ask", {"question": LOST}).status)  # noqa: E731
        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        wait_until(lambda: served.app.state.load.working == 2)
        full = served.post("/v1/search", {"query": LOST})
        assert (full.status, full.json["code"], full.type) == (503, "overloaded", PROBLEM)
        assert int(full.headers["retry-after"]) >= 1
        assert served.get("/healthz").status == 200
        answerer.waits = False
        for thread in threads:
            thread.join()
        assert slow == [502, 502]
        assert served.post("/v1/search", {"query": LOST}).status == 200
        wait_until(lambda: served.app.state.load.working == 0)


def test_a_request_that_takes_too_long_ends_and_its_question_too(tmp_path: Path) -> None:
    limits = ServiceLimits(request_seconds=0.5)
    with serve_library(add_tides(tmp_path), answerer=FailingAnswerer(waits=True), service=limits) as served:
        got = served.post("/v1/ask", {"question": LOST})
        assert (got.status, got.json["code"], got.type) == (503, "timeout", PROBLEM)
        assert "retry-after" in got.headers
        slow = b"POST /v1/ask HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 10\r\n\r\n{"
        with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE) as connection:
            connection.sendall(slow)
            assert refused(connection.recv(65536))[0] == 503
        wait_until(lambda: served.app.state.load.working == 0)


def test_a_draining_service_sends_newcomers_away(tmp_path: Path) -> None:
    with serve_library(add_tides(tmp_path), answerer=AllSentencesAnswerer("boats")) as served:
        served.app.state.load.draining = True
        for got in (served.get("/v1/books"), served.get("/readyz")):
            assert (got.status, got.json["code"]) == (503, "overloaded")
            assert int(got.headers["retry-after"]) >= 1
        assert served.get("/healthz").status == 200
