"""Ways in that were found by looking for them: what is somebody else's stays unseen, whoever asks and how."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from octavo.errors import RecordsError
from octavo.limits import ServiceLimits
from octavo.server.auth import PROXY_HEADERS, AccessControl, Caller, normalise_address
from octavo.server.load import Load
from octavo.server.middleware import ARRIVING, LimitsMiddleware
from octavo.server.routes.jobs import find_visible_owner
from tests.support import small_books
from tests.support.answerers import AllSentencesAnswerer, FailingAnswerer, add_tides, fill_library
from tests.support.patience import PATIENCE, wait_until
from tests.support.serving import PROBLEM, RunningService, create_key, serve_library

LOST = "How many boats were lost?"
SITE = "https://docs.example.com"


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = add_tides(tmp_path_factory.mktemp("tides"))
    with serve_library(folder, answerer=AllSentencesAnswerer("boats"), keys_required=True) as served:
        yield served


def with_key(served: RunningService, name: str = "reader", **wishes: object) -> RunningService:
    return replace(served, key=create_key(served.folder, name, **wishes)[1])


@pytest.mark.parametrize("header", PROXY_HEADERS)
def test_what_comes_through_a_proxy_does_not_sit_at_this_machine(tmp_path: Path, header: str) -> None:
    """A proxy on this machine would lend everyone its address; who is called 127.0.0.1 is not believed."""
    with serve_library(add_tides(tmp_path), answerer=AllSentencesAnswerer("boats")) as served:
        assert served.get("/v1/books").status == 200
        got = served.get("/v1/books", headers={header: "127.0.0.1"})
        assert (got.status, got.json["code"]) == (401, "unauthorized")
        assert served.post("/v1/ask", {"question": LOST}, headers={header: "127.0.0.1"}).status == 401
        keyed = with_key(served)
        assert keyed.get("/v1/books", headers={header: "127.0.0.1"}).status == 200
        assert served.get("/healthz", headers={header: "127.0.0.1"}).status == 200


def test_only_who_says_that_no_keys_are_required_leaves_it_to_the_proxy(tmp_path: Path) -> None:
    with serve_library(
        add_tides(tmp_path), answerer=AllSentencesAnswerer("boats"), keys_required=False
    ) as served:
        assert served.get("/v1/books", headers={"x-forwarded-for": "203.0.113.9"}).status == 200
        assert served.get("/v1/books", headers={"host": "evil.example"}).status == 400


def test_one_visitor_cannot_use_up_what_a_site_has_for_all(tmp_path: Path) -> None:
    folder = add_tides(tmp_path)
    _, token = create_key(folder, "site", public=True, origins=[SITE], per_minute=6)
    limits = ServiceLimits(public_per_minute=3)
    with serve_library(
        folder, answerer=AllSentencesAnswerer("boats"), keys_required=True, service=limits
    ) as served:

        def visits(address: str, count: int) -> list[int]:
            headers = {"origin": SITE, "x-forwarded-for": address}
            return [served.get("/v1/books", key=token, headers=headers).status for _ in range(count)]

        assert visits("203.0.113.1", 20) == [200] * 3 + [429] * 17
        assert visits("203.0.113.2", 3) == [200] * 3


def test_visitors_who_share_a_key_do_not_share_the_names_of_their_requests(closed: RunningService) -> None:
    site = with_key(closed, "site", public=True, origins=[SITE])

    def asked(address: str, question: str = LOST) -> tuple[int, str]:
        headers = {"origin": SITE, "x-forwarded-for": address, "idempotency-key": "1"}
        got = site.post("/v1/ask", {"question": question}, headers=headers)
        return got.status, got.json.get("answer_id", got.json.get("code"))

    first = asked("203.0.113.1")
    assert first[0] == 200
    assert asked("203.0.113.1") == first
    other = asked("203.0.113.2")
    assert other[0] == 200
    assert other != first
    assert asked("203.0.113.3", "What broke the pier?")[0] == 200
    assert asked("203.0.113.1", "What broke the pier?") == (409, "conflict")


def test_a_list_that_goes_on_after_a_foreign_session_is_as_empty_as_after_an_unknown_one(
    closed: RunningService,
) -> None:
    ann, ben = with_key(closed, "ann"), with_key(closed, "ben")
    mine = [ben.call("POST", "/v1/sessions").json["session_id"] for _ in range(2)]
    foreign = ann.call("POST", "/v1/sessions").json["session_id"]
    assert ben.get(f"/v1/sessions?after={foreign}").json == {"sessions": [], "next": None}
    assert ben.get("/v1/sessions?after=unknown").json == {"sessions": [], "next": None}
    after = ben.get(f"/v1/sessions?after={mine[1]}").json["sessions"]
    assert [session["session_id"] for session in after] == [mine[0]]


def test_jobs_name_books_so_a_restricted_administrator_sees_only_its_own(tmp_path: Path) -> None:
    assert find_visible_owner(Caller(owner="a", scopes=("admin",))) is None
    assert find_visible_owner(Caller(owner="a", scopes=("admin",), books=("the-tides",))) == "a"
    assert find_visible_owner(Caller(owner="a", scopes=("ingest",))) == "a"
    assert find_visible_owner(Caller()) is None


def test_a_public_key_can_only_ask(closed: RunningService) -> None:
    site = with_key(closed, "site", public=True, origins=[SITE])
    for method, path in (
        ("POST", "/v1/books"),
        ("DELETE", "/v1/books/the-tides"),
        ("GET", "/v1/jobs"),
        ("GET", "/v1/jobs/x"),
        ("GET", "/v1/jobs/x/events"),
        ("DELETE", "/v1/jobs/x"),
        ("GET", "/metrics"),
        ("GET", "/v1/sessions"),
    ):
        got = site.call(method, path, headers={"origin": SITE})
        assert (got.status, got.json["code"]) == (403, "forbidden"), path
    assert site.get("/v1/config", headers={"origin": SITE}).json["may"] == ["ask"]


def test_an_answer_is_as_unknown_to_another_key_over_every_way_in(closed: RunningService) -> None:
    ann, ben = with_key(closed, "ann"), with_key(closed, "ben")
    given = ann.post("/v1/ask", {"question": LOST}).json
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    accept = {"accept": "application/json, text/event-stream"}

    def verified(answer_id: str) -> str:
        params = {"name": "verify_answer", "arguments": {"answer_id": answer_id}}
        got = ben.post("/mcp", {**call, "params": params}, headers=accept)
        assert got.status == 200
        return got.text.replace(answer_id, "ID")

    for id_ in (given["answer_id"], given["question_id"]):
        assert verified(id_) == verified("0" * len(id_))
        assert ben.get(f"/v1/answers/{id_}").status == 404
        assert ben.post(f"/v1/answers/{id_}/feedback", {"vote": "up"}).status == 404
        assert ann.get(f"/v1/answers/{id_}").json == given


def test_ids_with_bytes_that_no_database_takes_are_refused_by_the_tools(closed: RunningService) -> None:
    ann = with_key(closed)
    accept = {"accept": "application/json, text/event-stream"}
    for name, arguments in (
        ("verify_answer", {"answer_id": "a\x00b"}),
        ("ask_book", {"question": LOST, "session_id": "a\x00b"}),
        ("ask_book", {"question": "How many\x00 boats?"}),
    ):
        params = {"name": name, "arguments": arguments}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        got = ann.post("/mcp", call, headers=accept)
        assert got.status == 200
        assert '"isError":true' in got.text.replace(" ", "")
        assert "invalid" in got.text
    assert ann.post("/v1/ask", {"question": "How many\x00 boats?"}).status == 422


def test_a_page_that_may_read_may_use_the_protocol_of_assistants(tmp_path: Path) -> None:
    with serve_library(add_tides(tmp_path), origins=(SITE,)) as served:
        asked = {"origin": SITE, "access-control-request-method": "POST"}
        preflight = served.call("OPTIONS", "/mcp", headers=asked)
        allowed = preflight.headers["access-control-allow-headers"].split(", ")
        needed = "accept content-type authorization mcp-protocol-version mcp-session-id mcp-method mcp-name"
        assert set(needed.split()) | {"last-event-id", "idempotency-key", "x-request-id"} <= set(allowed)
        read = served.get("/v1/books", headers={"origin": SITE})
        exposed = read.headers["access-control-expose-headers"].split(", ")
        assert exposed == ["x-request-id", "retry-after", "location"]


def test_records_that_do_not_answer_are_no_reason_for_a_bare_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(self: AccessControl, origin: str) -> bool:
        raise RecordsError(f"the records are away, and so is {origin}")

    with serve_library(add_tides(tmp_path), origins=(SITE,)) as served:
        monkeypatch.setattr(AccessControl, "allows_origin", away)
        got = served.get("/healthz", headers={"origin": SITE})
        assert (got.status, got.json["status"]) == (200, "ok")
        assert "access-control-allow-origin" not in got.headers
        assert served.get("/nothing", headers={"origin": SITE}).type == PROBLEM


def slow_body(port: int, *, address: str = "") -> socket.socket:
    line = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    head = "POST /v1/ask HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    head += f"x-forwarded-for: {address}\r\n" if address else ""
    line.sendall(f"{head}content-length: 100\r\n\r\n{{".encode())
    return line


def test_bodies_that_do_not_arrive_keep_nobody_elses_place(tmp_path: Path) -> None:
    """Nobody needs a key to send a body slowly."""
    limits = ServiceLimits(working=2)
    folder = add_tides(tmp_path)
    with serve_library(
        folder, answerer=AllSentencesAnswerer("boats"), keys_required=True, service=limits
    ) as served:
        load = served.app.state.load
        ann = with_key(served)
        lines = [slow_body(served.port) for _ in range(2 * ARRIVING - 1)]
        wait_until(lambda: load.arriving == len(lines))
        assert load.working == 0
        assert ann.post("/v1/search", {"query": LOST}).status == 200
        lines.append(slow_body(served.port))
        wait_until(lambda: load.arriving == 2 * ARRIVING)
        got = ann.post("/v1/search", {"query": LOST})
        assert (got.status, got.json["code"]) == (503, "overloaded")
        for path in ("/", "/healthz", "/v1/books", "/v1/books/the-tides/contents"):
            assert ann.get(path).status == 200, path
        assert ann.call("DELETE", "/v1/sessions/unknown").status == 404
        for line in lines:
            line.close()
        wait_until(lambda: load.arriving == 0)
        assert ann.post("/v1/search", {"query": LOST}).status == 200


def test_one_address_cannot_take_all_places_of_arriving_bodies(tmp_path: Path) -> None:
    limits, folder = ServiceLimits(working=2, bodies=3), add_tides(tmp_path)
    with serve_library(
        folder, answerer=AllSentencesAnswerer("boats"), keys_required=True, service=limits
    ) as served:
        load = served.app.state.load
        ann = with_key(served)

        def search(address: str) -> tuple[int, str]:
            got = ann.post("/v1/search", {"query": LOST}, headers={"x-forwarded-for": address})
            return got.status, got.json.get("code", "")

        lines = [slow_body(served.port, address="203.0.113.1") for _ in range(3)]
        wait_until(lambda: load.arriving == 3)
        assert search("203.0.113.1") == (429, "too_many_requests")
        assert search("203.0.113.2") == (200, "")
        assert ann.get("/v1/books", headers={"x-forwarded-for": "203.0.113.1"}).status == 200
        for line in lines:
            line.close()
        wait_until(lambda: load.arriving == 0)
        assert search("203.0.113.1") == (200, "")
        assert not load.arriving_by_address


async def test_a_body_that_takes_too_long_is_refused_and_the_connection_closed() -> None:
    told: list[dict[str, object]] = []

    async def nothing() -> dict[str, object]:
        await asyncio.sleep(0.05)
        return {"type": "http.request", "body": b"", "more_body": True}

    async def noted(message: dict[str, object]) -> None:
        told.append(message)

    async def unreached(scope: object, receive: object, send: object) -> None:
        raise AssertionError("the request never was whole")

    load = Load()
    intake = LimitsMiddleware(unreached, limits=ServiceLimits(), upload_bytes=1, load=load, body_seconds=0.2)
    scope = {"type": "http", "method": "POST", "path": "/v1/ask", "headers": []}
    await intake(scope, nothing, noted)  # type: ignore[arg-type]
    assert told[0]["status"] == 408
    assert (b"connection", b"close") in told[0]["headers"]  # type: ignore[operator]
    assert b'"timeout"' in told[1]["body"]  # type: ignore[operator]
    assert (load.arriving, load.working) == (0, 0)


def test_a_request_that_finds_no_place_once_its_body_is_there_is_told_to_come_back(tmp_path: Path) -> None:
    limits, answerer = ServiceLimits(working=1), FailingAnswerer(waits=True)
    with serve_library(add_tides(tmp_path), answerer=answerer, service=limits) as served:
        load = served.app.state.load
        late = slow_body(served.port)
        wait_until(lambda: load.arriving == 1)
        asking = threading.Thread(target=lambda: served.post("/v1/ask", {"question": LOST}))
        asking.start()
        wait_until(lambda: load.working == 1)
        late.sendall(b'"question": "' + b"a" * 84 + b'"}')
        assert late.recv(65_536).startswith(b"HTTP/1.1 503 ")
        late.close()
        answerer.waits = False
        asking.join()


@pytest.mark.parametrize("length", [501, 20_000])
def test_a_name_that_no_book_could_have_is_not_looked_for(closed: RunningService, length: int) -> None:
    ann = with_key(closed, "ann", scopes=("ask", "ingest"))
    for path in ("/v1/books/{}", "/v1/books/{}/contents", "/v1/books/the-tides/sections/{}", "/v1/jobs/{}"):
        got = ann.get(path.format("a" * length))
        assert (got.status, got.type) == (422, PROBLEM)
        assert len(got.text) < 1_000


def test_whatever_a_proxy_calls_its_client_fits_where_it_is_counted() -> None:
    assert len(normalise_address(("x" * 10_000, 1))) == 48


def test_a_restricted_key_is_told_nothing_of_other_books_by_what_it_may_ask(tmp_path: Path) -> None:
    hills = small_books.write_markdown(
        tmp_path / "hills.md", {"Summit": "Nine goats were lost on the summit."}, title="The Hills"
    )
    tides = small_books.write_markdown(tmp_path / "tides.md")
    folder = fill_library(tmp_path / "library", tides, hills)
    with serve_library(folder, answerer=AllSentencesAnswerer("lost"), keys_required=True) as served:
        tides_only = with_key(served, "tides", books=["the-tides"], scopes=("ask", "ingest"))
        scopes = [{"type": "section", "identifier": "Summit"}, {"type": "page", "identifier": "1"}]
        bodies: list[dict[str, object]] = [{"question": "How many goats were lost on the summit?"}]
        bodies += [bodies[0] | {"scope": scope} for scope in scopes]
        for body in bodies:
            got = tides_only.post("/v1/ask", body)
            assert "The Hills" not in got.text, body
            assert "the-hills" not in got.text, body
        assert tides_only.get("/v1/books/The%20Hills").status == 404
        assert "hills" not in tides_only.get("/v1/books/hill").text.lower().replace("'hill'", "")
        assert tides_only.call("DELETE", "/v1/books/the-hills").status == 404
        assert {b["id"] for b in with_key(served).get("/v1/books").json["books"]} == {
            "the-hills",
            "the-tides",
        }
