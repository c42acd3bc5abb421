"""Who gets in, and what they find there: keys, scopes, books, origins, hosts, headers."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from octavo.server.auth import is_listed, is_loopback, normalise_address
from octavo.server.routes.reference import write_page
from tests.support import small_books
from tests.support.answerers import AllSentencesAnswerer, fill_library
from tests.support.serving import PROBLEM, HttpResponse, RunningService, create_key, revoke_key, serve_library

LOST = "How many boats were lost?"
HILLS = {"Summit": "Nine goats were lost on the summit in spring. The herdsman counted them twice at noon."}
SITE = "https://docs.example.com"
MAY = ["ask", "ingest", "gaps", "admin"]


def two_books(folder: Path) -> Path:
    tides = small_books.write_markdown(folder / "tides.md")
    hills = small_books.write_markdown(folder / "hills.md", HILLS, title="The Hills")
    return fill_library(folder / "library", tides, hills)


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service that asks everyone for a key; the client has one that may do everything."""
    folder = two_books(tmp_path_factory.mktemp("closed"))
    _, token = create_key(folder, "all", scopes=("admin",))
    with serve_library(
        folder, answerer=AllSentencesAnswerer("lost"), host="0.0.0.0", origins=("https://app.example.com",)
    ) as served:
        yield replace(served, key=token)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = two_books(tmp_path_factory.mktemp("opened"))
    with serve_library(
        folder, answerer=AllSentencesAnswerer("lost"), origins=("https://app.example.com",)
    ) as served:
        yield served


def without_id(got: HttpResponse) -> tuple[int, Any, dict[str, str]]:
    told = {k: v for k, v in got.headers.items() if k not in ("x-request-id", "date")}
    return got.status, {k: v for k, v in got.json.items() if k != "request_id"}, told


def test_missing_wrong_revoked_and_expired_keys_are_refused_alike(closed: RunningService) -> None:
    gone, token = create_key(closed.folder, "gone")
    revoke_key(closed.folder, gone.id)
    _, expired = create_key(closed.folder, "expired", days=1e-9)
    wrong = [f"octv_{gone.id}_{'0' * 64}", "octv_", "nonsense", token, expired]
    refused = [closed.get("/v1/books", key=each) for each in wrong]
    refused.append(closed.get("/v1/books", key="", headers={"authorization": "Basic YTpi"}))
    missing = closed.get("/v1/books", key="")
    assert (missing.status, missing.type, missing.json["code"]) == (401, PROBLEM, "unauthorized")
    assert missing.headers["www-authenticate"] == "Bearer"
    assert all(without_id(got) == without_id(missing) for got in refused)
    assert closed.get("/v1/books").status == 200


@pytest.mark.parametrize("path", ["/v1/books?key={}", "/v1/books/{}/contents", "/v1/ask?access_token={}"])
def test_a_key_in_the_address_is_refused_even_if_it_is_the_right_one(
    closed: RunningService, path: str
) -> None:
    for key in ("", closed.key):
        got = closed.get(path.format(closed.key), key=key)
        assert (got.status, got.type) == (401, PROBLEM)
        assert closed.key not in got.text


def test_a_key_that_is_revoked_while_the_service_runs_stops_working(closed: RunningService) -> None:
    key, token = create_key(closed.folder, "short-lived")
    assert closed.get("/v1/books", key=token).status == 200
    revoke_key(closed.folder, key.id)
    time.sleep(1.05)
    assert closed.get("/v1/books", key=token).status == 401


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/books"),
        ("GET", "/v1/books/the-tides/contents"),
        ("POST", "/v1/ask"),
        ("POST", "/query"),
        ("POST", "/v1/search"),
        ("POST", "/v1/check"),
        ("GET", "/v1/answers/x"),
        ("GET", "/v1/answers/x/verification"),
        ("POST", "/v1/answers/x/feedback"),
        ("POST", "/v1/sessions"),
        ("GET", "/v1/sessions"),
        ("GET", "/v1/sessions/x"),
        ("DELETE", "/v1/sessions/x"),
        ("GET", "/v1/sessions/x/export"),
    ],
)
def test_every_route_needs_a_key_with_the_scope_it_names(
    closed: RunningService, method: str, path: str
) -> None:
    body: dict[str, str] | None = {} if method == "POST" else None
    assert closed.call(method, path, body, key="").status == 401
    _, loader = create_key(closed.folder, "loader", scopes=("ingest",))
    got = closed.call(method, path, body, key=loader)
    assert (got.status, got.json["code"], got.type) == (403, "forbidden", PROBLEM)
    assert "`ask`" in got.json["detail"]


def test_every_route_of_the_api_is_closed(closed: RunningService) -> None:
    """Also those that other tests do not name: what is reached without a key is only what is meant to be."""
    described = closed.get("/openapi.json", key="").json["paths"]
    free = {"/healthz", "/readyz", "/v1/config"}
    for path, methods in described.items():
        for method in methods:
            got = closed.call(method.upper(), re.sub(r"\{\w+\}", "x", path), key="")
            assert got.status == (200 if path in free else 401), (method, path, got.status)


def test_anyone_learns_what_the_service_is_and_what_they_may_do(
    closed: RunningService, opened: RunningService
) -> None:
    stranger = closed.get("/v1/config", key="").json
    assert (stranger["keys_required"], stranger["may"], stranger["upload_mb"]) == (True, [], 100)
    assert closed.get("/v1/config").json["may"] == MAY
    _, asker = create_key(closed.folder, "asker")
    assert closed.get("/v1/config", key=asker).json["may"] == ["ask"]
    assert closed.get("/v1/config", key="wrong").status == 401
    here = opened.get("/v1/config").json
    assert (here["keys_required"], here["may"], here["model"]) == (False, MAY, None)


def test_a_restricted_key_searches_and_asks_only_its_books(closed: RunningService) -> None:
    _, token = create_key(closed.folder, "tides only", books=["the-tides"])
    found = closed.post("/v1/search", {"query": "lost goats on the summit", "top_k": 50}, key=token).json
    assert {r["book_id"] for r in found["results"]} == {"the-tides"}
    everything = closed.post("/v1/search", {"query": "lost goats on the summit", "top_k": 50}).json
    assert {r["book_id"] for r in everything["results"]} == {"the-tides", "the-hills"}
    for path in ("/v1/ask", "/query"):
        got = closed.post(path, {"question": "How many goats were lost on the summit?"}, key=token)
        assert got.status == 200
        assert "goats were lost" not in got.text.lower().replace("how many goats were lost", "")
        assert "the-hills" not in got.text
    assert [b["id"] for b in closed.get("/v1/books", key=token).json["books"]] == ["the-tides"]


def test_a_selection_from_a_book_that_the_key_may_not_read_is_not_found_in_it(closed: RunningService) -> None:
    _, token = create_key(closed.folder, "tides only", books=["the-tides"])
    body = {"question": "How many?", "selected_text": HILLS["Summit"][:45]}
    got = closed.post("/v1/ask", body, key=token)
    assert got.status == 200
    assert "The Hills" not in got.text
    assert "The Hills" in closed.post("/v1/ask", body).text


FOREIGN = [
    ("GET", "/v1/books/{}", None),
    ("PATCH", "/v1/books/{}", {"title": "Mine"}),
    ("DELETE", "/v1/books/{}", None),
    ("GET", "/v1/books/{}/cover", None),
    ("GET", "/v1/books/{}/contents", None),
    ("GET", "/v1/books/{}/sections/x", None),
    ("GET", "/v1/books/{}/sections/x/pages", None),
    ("GET", "/v1/books/{}/pages/1", None),
    ("GET", "/v1/books/{}/map", None),
    ("GET", "/v1/books/{}/map/x", None),
    ("POST", "/v1/ask", {"question": LOST, "book_id": "{}"}),
    ("POST", "/query", {"question": LOST, "book_id": "{}"}),
    ("POST", "/query", {"question": LOST, "filters": {"book_id": "{}"}}),
    ("POST", "/v1/search", {"query": LOST, "book_id": "{}"}),
]


@pytest.mark.parametrize(("method", "path", "body"), FOREIGN)
def test_a_foreign_book_and_an_unknown_one_look_the_same(
    closed: RunningService, method: str, path: str, body: Any
) -> None:
    _, token = create_key(closed.folder, "tides only", books=["the-tides"], scopes=("ask", "ingest"))

    def got(name: str) -> tuple[int, Any, dict[str, str]]:
        asked = None if body is None else eval(repr(body).replace("{}", name))
        status, told, headers = without_id(closed.call(method, path.format(name), asked, key=token))
        headers.pop("content-length")
        return status, str(told).replace(name, "NAME"), headers

    assert got("the-hills") == got("the-dales")
    assert got("the-hills")[0] == 404
    assert "the-tides" in got("the-hills")[1]
    assert closed.call(method, path.format("The Hills").replace(" ", "%20"), None, key=token).status in (
        404,
        405,
        422,
    )


def test_an_origin_that_is_allowed_may_read_and_send(closed: RunningService) -> None:
    create_key(closed.folder, "site", public=True, origins=[SITE])
    time.sleep(1.05)
    for origin in ("https://app.example.com", SITE):
        asked = {"origin": origin, "access-control-request-method": "POST"}
        preflight = closed.call("OPTIONS", "/v1/ask", key="", headers=asked)
        assert (preflight.status, preflight.text) == (204, "")
        assert preflight.headers["access-control-allow-origin"] == origin
        assert "authorization" in preflight.headers["access-control-allow-headers"]
        read = closed.get("/v1/books", headers={"origin": origin})
        assert (read.status, read.headers["access-control-allow-origin"]) == (200, origin)
        assert "origin" in read.headers["vary"].lower()
        refused = closed.get("/v1/books", key="", headers={"origin": origin})
        assert (refused.status, refused.headers["access-control-allow-origin"]) == (401, origin)
    assert "access-control-allow-credentials" not in read.headers


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "*",
        "https://app.example.com.evil.example",
        "https://evilapp.example.com",
        "http://app.example.com",
        "https://app.example.com:444",
        "https://APP.example.com",
        "https://app.example.com/",
        "",
    ],
)
def test_other_origins_null_and_look_alikes_get_no_cors_headers(closed: RunningService, origin: str) -> None:
    asked = {"origin": origin, "access-control-request-method": "POST"}
    for got in (
        closed.call("OPTIONS", "/v1/ask", headers=asked),
        closed.get("/v1/books", headers={"origin": origin}),
    ):
        assert not [name for name in got.headers if name.startswith("access-control")]


def test_a_public_key_asks_only_from_the_sites_it_names(closed: RunningService) -> None:
    _, token = create_key(closed.folder, "site", public=True, origins=[SITE], books=["the-tides"])
    asked = {"question": LOST}
    assert closed.post("/v1/ask", asked, key=token, headers={"origin": SITE}).status == 200
    for headers in ({}, {"origin": "https://evil.example"}, {"origin": "null"}):
        got = closed.post("/v1/ask", asked, key=token, headers=headers)
        assert (got.status, got.json["code"]) == (403, "forbidden")
    listed = closed.get("/v1/sessions", key=token, headers={"origin": SITE})
    assert (listed.status, listed.json["code"]) == (403, "forbidden")


def test_a_page_of_another_site_cannot_use_an_open_service(opened: RunningService) -> None:
    asked = {"question": LOST}
    assert opened.post("/v1/ask", asked, headers={"origin": "https://evil.example"}).status == 403
    assert opened.post("/v1/ask", asked, headers={"origin": "null"}).status == 403
    assert opened.post("/v1/ask", asked, headers={"origin": "https://app.example.com"}).status == 200
    assert opened.post("/v1/ask", asked, headers={"origin": f"http://127.0.0.1:{opened.port}"}).status == 200


def test_an_open_service_is_open_only_to_its_own_machine(opened: RunningService) -> None:
    """A proxy on the same machine names the client it speaks for."""
    assert opened.get("/v1/books", headers={"x-forwarded-for": "203.0.113.9"}).status == 401
    _, token = create_key(opened.folder, "visitor")
    assert opened.get("/v1/books", key=token, headers={"x-forwarded-for": "203.0.113.9"}).status == 200
    assert opened.get("/v1/books").status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8321", "127.0.0.1.evil.example", "a b", "", "@x"]
)
def test_an_open_service_answers_only_to_its_own_names(opened: RunningService, host: str) -> None:
    got = opened.get("/v1/books", headers={"host": host})
    assert (got.status, got.type, got.json["code"]) == (400, PROBLEM, "bad_host")
    assert "location" not in got.headers
    for ours in ("localhost", "127.0.0.1:1", "[::1]:8321", "app.example.com"):
        assert opened.get("/v1/books", headers={"host": ours}).status == 200


def test_a_service_with_named_hosts_answers_to_no_others(tmp_path: Path) -> None:
    with serve_library(
        fill_library(tmp_path / "library"), host="0.0.0.0", hosts=("books.example.com",)
    ) as served:
        assert served.get("/healthz", headers={"host": "books.example.com"}).status == 200
        assert served.get("/healthz", headers={"host": "evil.example"}).status == 400


@pytest.mark.parametrize(
    "path",
    ["/@google.com", "//evil.example", "//evil.example/v1/books/", "/v1/books/", "/..%2f..%2fetc/passwd",
     "/v1/books/..%2f..%2f/contents", "/v1/books/%00/contents", "/static/..%2f..%2fsettings.py", "/%0d%0ax:y",
     "/v1/answers/%00", "/v1/sessions/%00", "/\\evil", "/v1/sessions/..%2f..", "http://evil.example/v1/x"],
)  # fmt: skip
def test_an_odd_path_leads_nowhere(opened: RunningService, path: str) -> None:
    got = opened.get(path, headers={"host": "127.0.0.1"})
    assert got.status in (400, 404)
    assert got.type == PROBLEM
    assert "location" not in got.headers


def test_every_response_says_what_browsers_may_do_with_it(closed: RunningService) -> None:
    answers = [
        closed.get("/healthz"),
        closed.get("/v1/books", key=""),
        closed.get("/nothing"),
        closed.post("/v1/ask", b"{"),
        closed.get("/v1/books", headers={"host": "a b"}),
    ]
    assert [got.status for got in answers] == [200, 401, 404, 422, 400]
    for got in answers:
        assert "default-src 'none'" in got.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in got.headers["content-security-policy"]
        assert got.headers["x-content-type-options"] == "nosniff"
        assert got.headers["referrer-policy"] == "no-referrer"
        assert got.headers["cache-control"] == "no-store"


def test_the_description_for_people_names_every_route_and_loads_nothing(closed: RunningService) -> None:
    page = closed.get("/docs")
    assert page.status == 200
    assert "script-src" not in page.headers["content-security-policy"]
    assert "<script" not in page.text
    assert "://" not in page.text.split("<h1>")[0]
    for path in closed.get("/openapi.json").json["paths"]:
        assert path in page.text


def test_nothing_in_the_description_becomes_markup() -> None:
    hostile = {
        "description": "<script>x</script>",
        "parameters": [{"name": "<b>", "in": "query"}],
        "responses": {},
    }
    page = write_page({"info": {"title": "<i>", "version": "1"}, "paths": {"/<u>": {"get": hostile}}})
    assert not [mark for mark in ("<script", "<em>", "<i>", "<u>") if mark in page]


def test_a_request_keeps_its_id_or_gets_one(closed: RunningService) -> None:
    given = closed.get("/nothing", headers={"x-request-id": "trace-7.a_B"})
    assert given.headers["x-request-id"] == given.json["request_id"] == "trace-7.a_B"
    for odd in ("a b", "x" * 65, "<script>", ""):
        made = closed.get("/nothing", headers={"x-request-id": odd})
        assert re.fullmatch(r"[0-9a-f]{32}", made.headers["x-request-id"])
        assert made.json["request_id"] == made.headers["x-request-id"]
    assert closed.get("/healthz").headers["x-request-id"] != closed.get("/healthz").headers["x-request-id"]


@pytest.mark.parametrize(
    ("host", "own"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("localhost", True), ("::1", True), ("[::1]", True),
     ("::ffff:127.0.0.1", True), ("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("a.com", False)],
)  # fmt: skip
def test_loopback_is_told_from_the_rest(host: str, own: bool) -> None:
    assert is_loopback(host) is own


def test_clients_are_counted_by_address_and_homes_with_ipv6_as_one() -> None:
    assert normalise_address(("203.0.113.9", 1)) == "203.0.113.9"
    assert (
        normalise_address(("2001:db8::1", 1)) == normalise_address(("2001:db8::ffff:1", 2)) == "2001:db8::/64"
    )
    assert normalise_address(("::ffff:203.0.113.9", 1)) == "203.0.113.9"
    assert normalise_address(("testclient", 1)) == "testclient"
    assert normalise_address(None) == "127.0.0.1"


@pytest.mark.parametrize(
    ("host", "names", "listed"),
    [
        ("10.1.2.3", "10.0.0.0/8", True),
        ("11.1.2.3", "10.0.0.0/8", False),
        ("::ffff:10.1.2.3", "192.168.0.1, 10.0.0.0/8", True),
        ("2001:db8::7", "2001:db8::/32", True),
        ("2001:db9::7", "2001:db8::/32,10.0.0.0/8", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("10.1.2.3", "proxy.example", False),
        ("/run/proxy.sock", "/run/proxy.sock", True),
        ("/run/proxy.sock", "10.0.0.0/8", False),
        ("10.1.2.3", "*", True),
        ("10.1.2.3", "", False),
    ],
)
def test_proxies_are_listed_by_address_and_by_network(host: str, names: str, listed: bool) -> None:
    assert is_listed(host, names.split(",")) is listed
