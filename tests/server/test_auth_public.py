"""Books for the public: anyone may ask and search them without a key, and do nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from octavo.limits import ServiceLimits
from tests.support import small_books
from tests.support.answerers import AllSentencesAnswerer, fill_library
from tests.support.serving import RunningService, create_key, serve_library

HILLS = {"Summit": "Nine goats were lost on the summit in spring. The herdsman counted them twice at noon."}
SITE = "https://app.example.com"
ASKED = {"question": "How many were lost?"}
FOUND = {"query": "lost"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("public")
    tides = small_books.write_markdown(folder / "tides.md")
    hills = small_books.write_markdown(folder / "hills.md", HILLS, title="The Hills")
    return fill_library(folder / "library", tides, hills)


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[RunningService]:
    with serve_library(
        folder,
        answerer=AllSentencesAnswerer("lost"),
        host="0.0.0.0",
        origins=(SITE,),
        public_read=("The Hills",),
        service=ServiceLimits(public_per_minute=12),
    ) as service:
        yield service


def test_only_the_chosen_book_is_asked_and_searched_without_a_key(served: RunningService) -> None:
    asked = served.post("/v1/ask", ASKED)
    assert "Nine goats were lost" in asked.json["answer"]
    assert {c["book_id"] for c in asked.json["citations"]} == {"the-hills"}
    found = served.post("/v1/search", FOUND)
    assert {item["book_id"] for item in found.json["results"]} == {"the-hills"}
    assert served.post("/query", ASKED).status == 200
    other = served.post("/v1/ask", ASKED | {"book_id": "the-tides"})
    assert other.status == 404


def test_everything_else_needs_a_key(served: RunningService) -> None:
    for method, path in (
        ("GET", "/v1/books"),
        ("GET", "/v1/books/the-hills/contents"),
        ("GET", "/v1/answers/x"),
        ("POST", "/v1/sessions"),
        ("GET", "/v1/sessions"),
        ("POST", "/v1/check"),
        ("POST", "/v1/books"),
        ("DELETE", "/v1/books/the-hills"),
        ("GET", "/v1/books/the-hills/gaps"),
        ("GET", "/metrics"),
    ):
        body: dict[str, str] | None = {} if method == "POST" else None
        assert served.call(method, path, body).status == 401, path
    assert served.post("/v1/ask", ASKED, key=f"octv_{'0' * 12}_{'0' * 64}").status == 401


def test_visitors_have_no_conversations_that_another_could_continue(served: RunningService) -> None:
    _, key = create_key(served.folder, "reader")
    session = served.post("/v1/sessions", {}, key=key).json["session_id"]
    for path, named in (("/v1/ask", session), ("/v1/ask", "of-nobody"), ("/query", session)):
        refused = served.post(path, ASKED | {"session_id": named})
        assert (refused.status, refused.json["code"]) == (403, "forbidden")
        assert "conversation_history" in refused.json["hint"]


def test_a_key_still_opens_all_books(served: RunningService) -> None:
    _, key = create_key(served.folder, "everything")
    assert served.post("/v1/ask", ASKED | {"book_id": "the-tides"}, key=key).status == 200


def test_a_request_names_several_books_among_those_it_may_read(served: RunningService) -> None:
    _, key = create_key(served.folder, "chooser")
    both = served.post("/v1/search", FOUND | {"books": ["The Hills", "the-tides"], "top_k": 20}, key=key)
    assert {item["book_id"] for item in both.json["results"]} == {"the-hills", "the-tides"}
    one = served.post("/v1/ask", ASKED | {"books": ["the-hills"]}, key=key)
    assert {c["book_id"] for c in one.json["citations"]} == {"the-hills"}
    assert served.post("/v1/ask", ASKED | {"books": ["the-hills", "the-tides"]}).status == 404


def test_a_key_for_some_books_sees_neither_the_tags_nor_the_books_of_others(served: RunningService) -> None:
    _, admin = create_key(served.folder, "librarian", scopes=("admin",))
    _, key = create_key(served.folder, "of the hills", books=("the-hills",))
    for book, tags in (("the-hills", ["shared"]), ("the-tides", ["shared", "secret"])):
        assert served.call("PATCH", f"/v1/books/{book}", {"tags": tags}, key=admin).status == 200
    everything = served.post("/v1/search", FOUND | {"tags": ["shared"], "top_k": 20}, key=admin)
    assert {item["book_id"] for item in everything.json["results"]} == {"the-hills", "the-tides"}
    shared = served.post("/v1/search", FOUND | {"tags": ["shared"], "top_k": 20}, key=key)
    assert {item["book_id"] for item in shared.json["results"]} == {"the-hills"}
    secret = served.post("/v1/ask", ASKED | {"tags": ["secret"]}, key=key)
    assert (secret.status, "shared" in secret.json["detail"]) == (404, True)
    assert "secret" not in served.get("/v1/books", key=key).text
    assert served.get("/v1/books?tag=secret", key=key).status == 404
    assert served.post("/v1/ask", ASKED | {"tags": ["secret"]}).status == 404


def test_a_page_has_to_be_named_in_the_origins(served: RunningService) -> None:
    named = served.post("/v1/search", FOUND, headers={"origin": SITE})
    assert (named.status, named.headers["access-control-allow-origin"]) == (200, SITE)
    strange = served.post("/v1/search", FOUND, headers={"origin": "https://other.example.com"})
    assert (strange.status, strange.json["code"]) == (403, "forbidden")


def test_an_address_that_asks_too_often_has_to_wait(served: RunningService) -> None:
    # The last test here: the others count too.
    statuses = [served.post("/v1/search", FOUND) for _ in range(13)]
    assert statuses[-1].status == 429
    assert int(statuses[-1].headers["retry-after"]) > 0
    _, key = create_key(served.folder, "patient")
    assert served.post("/v1/search", FOUND, key=key).status == 200
