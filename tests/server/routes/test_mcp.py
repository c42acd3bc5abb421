"""`/mcp` of a real server and the protocol's own client: keys, scopes, books, hosts, cancellation, crowds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from octavo.limits import ServiceLimits
from tests.support import small_books
from tests.support.answerers import (
    AllSentencesAnswerer,
    FailingAnswerer,
    add_tides,
    fill_library,
    query_records,
)
from tests.support.patience import PATIENCE, wait_until_async
from tests.support.serving import PROBLEM, HttpResponse, RunningService, create_key, serve_library

HILLS = {"Summit": "Nine goats were lost on the summit in spring. The herdsman counted them twice at noon."}
LOST = "How many boats were lost?"
MODES = ("auto", "legacy")
JSON = {"accept": "application/json, text/event-stream"}
LIST: dict[str, object] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


@dataclass(frozen=True)
class Closed:
    """A service that asks everyone for a key, and keys of several kinds."""

    served: RunningService
    reader: str
    other: str
    hills: str
    loader: str
    slow: str


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Closed]:
    folder = tmp_path_factory.mktemp("closed")
    tides = small_books.write_markdown(folder / "tides.md")
    hills = small_books.write_markdown(folder / "hills.md", HILLS, title="The Hills")
    data = fill_library(folder / "library", tides, hills)
    wishes: dict[str, dict[str, Any]] = {
        "reader": {"scopes": ("ask",)},
        "other": {"scopes": ("ask",)},
        "hills": {"scopes": ("ask",), "books": ("the-hills",)},
        "loader": {"scopes": ("ingest",)},
        "slow": {"scopes": ("ask",), "per_minute": 1},
    }
    keys = {name: create_key(data, name, **wish)[1] for name, wish in wishes.items()}
    with serve_library(data, answerer=AllSentencesAnswerer("lost"), host="0.0.0.0") as served:
        yield Closed(served, **keys)


@asynccontextmanager
async def client(served: RunningService, key: str = "", *, mode: str = "auto") -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
        transport = streamable_http_client(f"http://127.0.0.1:{served.port}/mcp", http_client=http)
        async with Client(transport, mode=mode) as assistant:
            yield assistant


async def given(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return dict(result.structured_content or {})


async def code(client: Client, tool: str, **arguments: object) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str((result.meta or {})["octavo/code"])


def post(served: RunningService, key: str = "", **headers: str) -> HttpResponse:
    return served.post(
        "/mcp", LIST, key=key, headers=JSON | {k.replace("_", "-"): v for k, v in headers.items()}
    )


@pytest.mark.parametrize("mode", MODES)
async def test_every_tool_works_over_http(closed: Closed, mode: str) -> None:
    steps: list[str] = []

    async def told(progress: float, total: float | None, message: str | None) -> None:
        steps.append(message or "")

    async with client(closed.served, closed.reader, mode=mode) as assistant:
        assert len((await assistant.list_tools()).tools) == 6
        listed = await given(assistant, "list_books")
        assert {book["id"] for book in listed["books"]} == {"the-tides", "the-hills"}
        found = await given(assistant, "search_book", query="the keeper's lamp", book="the-tides")
        assert found["results"]
        result = await assistant.call_tool(
            "ask_book", {"question": LOST, "book": "the-tides"}, progress_callback=told
        )
        answered = dict(result.structured_content or {})
        (citation,), (passage,) = answered["citations"], answered["evidence"]
        assert citation["content_snippet"] in passage["content"]
        read = await given(assistant, "read_section", book="the-tides", section=citation["section_id"])
        assert read["text"][citation["start"] : citation["end"]] == citation["content_snippet"]
        assert (await given(assistant, "verify_answer", answer_id=answered["answer_id"]))["true"] is True
    assert "reading the question" in steps


def test_no_key_and_a_wrong_one_are_refused_like_everywhere(closed: Closed) -> None:
    for key in ("", "octv_nobody_" + "0" * 64):
        got = post(closed.served, key)
        assert (got.status, got.type, got.headers["www-authenticate"]) == (401, PROBLEM, "Bearer")


def test_a_key_needs_the_scope_ask(closed: Closed) -> None:
    got = post(closed.served, closed.loader)
    assert (got.status, got.json["code"]) == (403, "forbidden")


def test_requests_count_against_the_rate_of_the_key(closed: Closed) -> None:
    statuses = [post(closed.served, closed.slow).status for _ in range(3)]
    assert 429 in statuses


async def test_a_key_for_some_books_sees_no_others(closed: Closed) -> None:
    async with client(closed.served, closed.hills) as assistant:
        assert [b["id"] for b in (await given(assistant, "list_books"))["books"]] == ["the-hills"]
        found = await given(assistant, "search_book", query="boats lost in a storm", top_k=50)
        assert {passage["book_id"] for passage in found["results"]} == {"the-hills"}
        assert await code(assistant, "ask_book", question=LOST, book="the-tides") == "not_found"
        assert await code(assistant, "read_section", book="the-tides", section="storm") == "not_found"


async def test_two_keys_at_once_have_their_own_answers_and_sessions(closed: Closed) -> None:
    async with client(closed.served, closed.reader) as one, client(closed.served, closed.other) as two:
        asked = await asyncio.gather(
            *(
                given(each, "ask_book", question=LOST, session_id="new")
                for each in (one, two)
                for _ in range(3)
            )
        )
        assert len({answer["session_id"] for answer in asked}) == 6
        first, last = asked[0], asked[-1]
        assert (await given(one, "verify_answer", answer_id=first["answer_id"]))["true"] is True
        assert await code(two, "verify_answer", answer_id=first["answer_id"]) == "not_found"
        assert await code(one, "ask_book", question=LOST, session_id=last["session_id"]) == "not_found"
    recorded = closed.served.get(f"/v1/answers/{first['answer_id']}", key=closed.reader)
    assert recorded.json["answer"] == first["answer"]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = add_tides(tmp_path_factory.mktemp("opened"))
    with serve_library(folder, answerer=AllSentencesAnswerer("lost")) as served:
        yield served


async def test_an_open_service_needs_no_key(opened: RunningService) -> None:
    async with client(opened) as assistant:
        assert (await given(assistant, "ask_book", question=LOST))["status"] == "completed"


def test_other_names_and_pages_of_other_sites_are_kept_out(opened: RunningService) -> None:
    assert post(opened).status == 200
    rebound = post(opened, host="evil.example.com")
    assert (rebound.status, rebound.json["code"]) == (400, "bad_host")
    foreign = post(opened, origin="https://evil.example.com")
    assert (foreign.status, foreign.json["code"]) == (403, "forbidden")
    assert "access-control-allow-origin" not in foreign.headers


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_there_are_no_sessions_to_listen_to_or_to_end(opened: RunningService, method: str) -> None:
    got = opened.call(method, "/mcp", headers=JSON)
    assert (got.status, got.headers["allow"]) == (405, "POST")


def test_what_is_not_the_protocol_is_refused_by_it(opened: RunningService) -> None:
    for body in (b"{", b"[]", b'{"jsonrpc": "2.0", "id": 1}'):
        assert opened.post("/mcp", body, headers=JSON).status == 400
    assert opened.post("/mcp", LIST, headers={"accept": "text/html"}).status == 406
    large = b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 2097152\r\n\r\n"
    assert opened.raw(large).startswith(b"HTTP/1.1 413 ")  # before any of it is sent


@pytest.mark.parametrize("mode", MODES)
async def test_a_question_whose_asker_has_left_is_given_up(tmp_path: Path, mode: str) -> None:
    waiting = FailingAnswerer(waits=True)
    with serve_library(await asyncio.to_thread(add_tides, tmp_path), answerer=waiting) as served:
        async with client(served, mode=mode) as assistant:
            asking = asyncio.ensure_future(assistant.call_tool("ask_book", {"question": LOST}))
            await wait_until_async(waiting.reached.is_set)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            assert (await given(assistant, "list_books"))["books"]
            if mode == "auto":  # in older versions of the protocol, only the end of the connection says it
                await wait_until_async(lambda: given_up(served))
        await wait_until_async(lambda: given_up(served) and served.app.state.load.working == 0)


def given_up(served: RunningService) -> bool:
    return query_records(served.app.state.library, "SELECT status FROM questions") == [("error",)]


async def test_questions_at_once_have_a_limit_for_each_key(tmp_path: Path) -> None:
    waiting = FailingAnswerer(waits=True)
    data = await asyncio.to_thread(add_tides, tmp_path)
    with serve_library(data, answerer=waiting, service=ServiceLimits(streams=1)) as served:
        async with client(served) as one, client(served) as two:
            asking = asyncio.ensure_future(one.call_tool("ask_book", {"question": LOST}))
            await wait_until_async(waiting.reached.is_set)
            result = await two.call_tool("ask_book", {"question": LOST})
            assert result.is_error
            assert "streams are open already" in str(result.content)
            asking.cancel()


async def test_a_tag_narrows_the_tools_to_its_books(closed: Closed) -> None:
    for book, tags in (("the-hills", ["high"]), ("the-tides", ["low"])):
        changed = closed.served.call("PATCH", f"/v1/books/{book}", {"tags": tags}, key=closed.loader)
        assert changed.status == 200
    async with client(closed.served, closed.reader) as assistant:
        listed = await given(assistant, "list_books", tag="High")
        assert [(book["id"], book["tags"]) for book in listed["books"]] == [("the-hills", ["high"])]
        found = await given(assistant, "search_book", query="lost", tag="high", top_k=20)
        assert {item["book_id"] for item in found["results"]} == {"the-hills"}
        answered = await given(assistant, "ask_book", question=LOST, tag="high")
        assert {item["book_id"] for item in answered["evidence"]} == {"the-hills"}
        for tool, words in (("search_book", {"query": "lost"}), ("ask_book", {"question": LOST})):
            assert await code(assistant, tool, **words, book="the-tides", tag="high") == "not_found"
    async with client(closed.served, closed.hills) as assistant:
        assert await code(assistant, "search_book", query="lost", tag="low") == "not_found"
