"""The service over real HTTP: exact shapes, honest statuses, the same answer streamed or not."""

from __future__ import annotations

import http.client
import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from octavo.answers.replies import Answerer
from octavo.server.app import make_app
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from tests.support.answerers import AllSentencesAnswerer, FailingAnswerer, add_tides, fill_library
from tests.support.patience import PATIENCE, wait_until

LOST = "How many boats were lost?"
EVIDENCE = {
    "id", "chunk_id", "book_id", "content", "relevance_score", "source_file", "source_location", "chapter",
    "section", "page_number", "page_label", "url", "start", "end", "source_title", "section_id", "state",
}  # fmt: skip
ASK = {
    "question_id", "status", "answer_id", "answer", "confidence", "citations", "evidence", "refusal",
    "processing_time_ms", "question", "answerer", "states",
}  # fmt: skip


@dataclass(frozen=True)
class Got:
    status: int
    type: str
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass
class Service:
    """A server in a thread, with a client to it."""

    server: uvicorn.Server
    thread: threading.Thread
    port: int = field(default=0)

    def call(self, method: str, path: str, body: object = None, *, accept: str = "application/json") -> Got:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        headers = {"content-type": "application/json", "accept": accept}
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, data if body is not None else None, headers)
        response = connection.getresponse()
        got = Got(response.status, response.headers.get_content_type(), response.read().decode())
        connection.close()
        return got

    def post(self, path: str, **body: object) -> Got:
        return self.call("POST", path, body)


def served(
    data: Path, answerer: Answerer | None, *, local_models: bool = False, risk: float = 0.2
) -> Iterator[Service]:
    settings = Settings(data=data, local_models=local_models, risk=risk)
    app = make_app(settings, embedder=TinyEmbedder(), answerer=answerer)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical"))
    service = Service(server, threading.Thread(target=server.run))
    service.thread.start()
    while not server.started and service.thread.is_alive():
        time.sleep(0.02)
    service.port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield service
    finally:
        server.should_exit = True
        service.thread.join(PATIENCE)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    yield from served(add_tides(tmp_path_factory.mktemp("tides")), AllSentencesAnswerer("boats"))


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    yield from served(fill_library(tmp_path_factory.mktemp("empty") / "library"), FailingAnswerer())


def test_it_is_healthy_and_ready(service: Service) -> None:
    assert service.call("GET", "/healthz").json == {"status": "ok"}
    assert service.call("GET", "/readyz").json == {"status": "ready", "books": 1}


def test_search_has_its_shape(service: Service) -> None:
    got = service.post("/v1/search", query="who counted the ships at dawn?", book_id="the-tides", top_k=2)
    assert set(got.json) == {"results", "processing_time_ms"}
    assert [set(r) for r in got.json["results"]] == [EVIDENCE, EVIDENCE]
    assert got.json["results"][0]["section"] == "Harbour"
    assert len(service.post("/v1/search", query="boats", top_k=100).json["results"]) == 4
    scope = {"type": "section-specific", "identifier": "Storm"}
    assert [r["section"] for r in service.post("/v1/search", query="boats", scope=scope).json["results"]] == [
        "Storm"
    ]


def test_ask_has_its_shape_and_true_citations(service: Service) -> None:
    got = service.post("/v1/ask", question=LOST).json
    assert set(got) == ASK | {"claims"}
    assert (got["status"], got["refusal"]) == ("completed", None)
    assert {frozenset(e) for e in got["evidence"]} == {frozenset(EVIDENCE)}
    contents = {e["id"]: e["content"] for e in got["evidence"]}
    for number, cited in enumerate(got["citations"], start=1):
        assert cited["number"] == number
        assert cited["content_snippet"] in contents[cited["chunk_id"]]
        section = service.call("GET", f"/v1/books/the-tides/sections/{cited['section_id']}").json
        assert section["text"][cited["start"] : cited["end"]] == cited["content_snippet"]
    assert set(service.post("/v1/ask", question=LOST, session_id="talk").json) == {
        *ASK,
        "claims",
        "session_id",
    }


def test_a_refusal_is_a_result_and_not_an_error(service: Service) -> None:
    scope = {"type": "section-specific", "identifier": "Harbour"}
    got = service.post("/v1/ask", question=LOST, scope=scope)
    assert (got.status, got.json["status"]) == (200, "insufficient_data")
    assert set(got.json) == ASK
    assert set(got.json["refusal"]) == {"reason", "message", "nearest"}
    assert got.json["refusal"]["reason"] == "not_in_scope"
    assert "Seven boats" not in got.text
    assert got.json["refusal"]["nearest"][0]["url"] == "book://the-tides/storm"
    plain = service.post("/query", question=LOST, scope=scope)
    assert plain.status == 200
    assert (plain.json["citations"], plain.json["answer"]) == ([], got.json["answer"])


def test_query_is_the_contract_to_the_letter(service: Service) -> None:
    got = service.post("/query", question=LOST, top_k=3, filters={}, book_id="the-tides").json
    assert set(got) == {"answer", "citations", "confidence", "processing_time_ms"}
    cited = {"text", "url", "similarity_score", "chunk_id", "source_title"}
    assert {frozenset(c) for c in got["citations"]} == {frozenset(cited)}
    assert isinstance(got["citations"][0]["chunk_id"], int)
    assert isinstance(got["processing_time_ms"], int)


def test_filters_narrow_a_query_and_unknown_ones_are_refused(service: Service) -> None:
    inside = service.post("/query", question=LOST, filters={"book_id": "the-tides", "section": "Storm"}).json
    outside = service.post(
        "/query", question=LOST, filters={"book_id": "the-tides", "section": "Harbour"}
    ).json
    assert (bool(inside["citations"]), outside["citations"]) == (True, [])
    assert service.post("/query", question=LOST, filters={"book_id": "nope"}).status == 404
    assert service.post("/query", question=LOST, filters={"colour": "red"}).status == 422
    assert service.post("/query", question=LOST, filters={"section": "Storm", "page": "1"}).status == 422


def test_check_has_its_shape(service: Service) -> None:
    passages = ["Nothing here.", "Seven boats were lost with all their nets."]
    got = service.post(
        "/v1/check", claim="Seven boats were lost with all their nets.", passages=passages
    ).json
    assert set(got) == {"supported", "score", "passage", "snippet"}
    assert (got["supported"], got["passage"], got["snippet"]) == (True, 1, passages[1])
    none = service.post("/v1/check", claim="Cats can fly.", passages=[]).json
    assert (none["supported"], none["passage"], none["snippet"]) == (False, None, None)


def events_of(got: Got) -> list[tuple[str, Any]]:
    parts = [block.split("\n") for block in got.text.strip().split("\n\n")]
    return [(kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for kind, data in parts]


def without_ids(answer: dict[str, Any]) -> str:
    ids = {answer["question_id"], answer["answer_id"], *(c["id"] for c in answer["citations"])}
    text = json.dumps(answer | {"processing_time_ms": 1})
    for id_ in ids:
        text = text.replace(id_, "id")
    return text


def test_a_stream_ends_with_the_very_object_that_json_gives(service: Service) -> None:
    got = service.call("POST", "/v1/ask", {"question": LOST}, accept="text/event-stream")
    assert (got.status, got.type) == (200, "text/event-stream")
    events = events_of(got)
    assert [kind for kind, _ in events] == ["asked", "scoped", "retrieved", "claimed", "claimed", "answered"]
    final = events[-1][1]
    assert service.call("GET", f"/v1/answers/{final['answer_id']}").json == final
    assert without_ids(service.post("/v1/ask", question=LOST).json) == without_ids(final)


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_an_answer_is_delivered_when_it_was_sent(service: Service, accept: str) -> None:
    got = service.call("POST", "/v1/ask", {"question": LOST}, accept=accept)
    final = events_of(got)[-1][1] if accept == "text/event-stream" else got.json
    assert final["states"] == {"question": ["completed", "processed"], "answer": ["published", "completed"]}
    quoted = {citation["chunk_id"] for citation in final["citations"]}
    states = {item["id"]: item["state"] for item in final["evidence"]}
    assert states == {id_: "validated" if id_ in quoted else "retrieved" for id_ in states}
    assert set(states.values()) == {"validated", "retrieved"}
    path = f"/v1/answers/{final['answer_id']}/trace"
    # The response is sent before the delivery is recorded.
    wait_until(lambda: service.call("GET", path).json["trace"][-1]["step"] == "delivered")
    trace = service.call("GET", path).json
    steps = ["received", "processing", "validated", "formatted", "delivered"]
    assert [step["step"] for step in trace["trace"]] == steps
    times = [step["at"] for step in trace["trace"]]
    assert times == sorted(times)
    assert (trace["answer_id"], trace["states"]) == (final["answer_id"], final["states"])


def test_query_takes_what_lenient_front_ends_send(service: Service) -> None:
    asked = {
        "question": LOST,
        "top_k": None,
        "book_id": None,
        "filters": {"book_id": ["the-tides"], "section": "Storm"},
        "conversation_history": [{"role": "user", "content": "Hello", "id": 1}],
        "user_preferences": {"length": "short", "theme": "dark"},
        "user_context": {"page": "/storm"},
        "user_id": "ann",
        "colour": "red",
    }
    got = service.call("POST", "/query/", asked)
    assert (got.status, set(got.json)) == (200, {"answer", "citations", "confidence", "processing_time_ms"})
    assert [c["source_title"] for c in got.json["citations"]] == ["The Tides"] * len(got.json["citations"])
    assert got.json["citations"]


def test_the_history_of_a_query_is_checked_and_used(service: Service) -> None:
    history = [{"role": "user", "content": "Is the northern pier broken?"}]
    history.append({"role": "assistant", "content": "The northern pier is broken."})
    assert service.post("/query", question="Why?", conversation_history=history).status == 200
    bad = service.post("/query", question="Why?", conversation_history=[{"role": "system", "content": "x"}])
    assert bad.status == 422


def test_a_wrong_call_is_told_before_a_stream_begins(service: Service) -> None:
    scope = {"type": "section-specific", "identifier": "Harbor"}
    for body in ({"question": LOST, "book_id": "nothing"}, {"question": LOST, "scope": scope}):
        got = service.call("POST", "/v1/ask", body, accept="text/event-stream")
        assert (got.status, got.type) == (404, "application/problem+json")


@pytest.mark.parametrize("path", ["/query", "/v1/ask"])
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"question": ""},
        {"question": "  \n "},
        {"question": "q" * 1001},
        {"question": "a\ud800b"},
        {"question": 7},
        {"question": LOST, "top_k": 0},
        {"question": LOST, "top_k": 21},
        {"question": LOST, "selected_text": ""},
        {"question": LOST, "selected_text": "x" * 501},
        {"question": LOST, "selected_text": "goats"},
        {"question": LOST, "scope": {"type": "chapter"}},
        {"question": LOST, "scope": {"type": "full-book", "colour": "red"}},
        {"question": LOST, "scope": {"type": "section-specific"}},
    ],
)
def test_a_bad_body_is_a_422_with_a_problem_document(
    service: Service, path: str, body: dict[str, object]
) -> None:
    got = service.call("POST", path, body)
    assert (got.status, got.type) == (422, "application/problem+json")
    assert {"type", "title", "status", "code", "detail"} <= set(got.json)
    assert "Traceback" not in got.text


def test_a_body_that_is_no_json_is_a_422(service: Service) -> None:
    assert service.call("POST", "/query", b"{what").status == 422
    assert service.post("/v1/search", query="x", top_k=101).status == 422
    assert service.post("/v1/search", query="x", scope={"type": "selection", "identifier": "y"}).status == 422
    assert service.post("/v1/check", claim="", passages=[]).status == 422


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/ask", {"question": LOST, "book_id": "nothing"}),
        ("POST", "/query", {"question": LOST, "book_id": "nothing"}),
        ("POST", "/v1/ask", {"question": LOST, "scope": {"type": "page-specific", "identifier": "3"}}),
        ("GET", "/v1/books/nothing/contents", None),
        ("GET", "/v1/books/the-tides/sections/nothing", None),
        ("GET", "/v1/answers/nothing", None),
        ("GET", "/v1/answers/nothing/verification", None),
        ("GET", "/no/such/path", None),
    ],
)
def test_what_is_not_there_is_a_404_with_a_problem_document(
    service: Service, method: str, path: str, body: object
) -> None:
    got = service.call(method, path, body)
    assert (got.status, got.type, got.json["status"]) == (404, "application/problem+json", 404)
    assert got.json["code"] == "not_found"


def test_books_contents_and_verification_are_there(service: Service) -> None:
    assert [b["id"] for b in service.call("GET", "/v1/books").json["books"]] == ["the-tides"]
    sections = service.call("GET", "/v1/books/the-tides/contents").json["sections"]
    assert [s["title"] for s in sections] == ["Harbour", "Lighthouse", "Storm", "Morning"]
    asked = service.post("/v1/ask", question=LOST).json
    checked = service.call("GET", f"/v1/answers/{asked['answer_id']}/verification").json
    assert checked["true"] is True
    assert len(checked["citations"]) == len(asked["citations"])


def test_a_follow_up_says_how_it_was_understood(service: Service) -> None:
    service.post("/v1/ask", question="What broke the northern pier?", session_id="storm")
    got = service.post("/v1/ask", question="When?", session_id="storm").json
    assert "northern pier" in got["interpreted"]


def test_a_misspelt_question_says_how_it_was_understood(service: Service) -> None:
    question, meant = "Who trims the lamp of the lihgthouse?", "Who trims the lamp of the lighthouse?"
    got = service.post("/v1/ask", question=question).json
    assert (got["question"], got["interpreted"]) == (question, meant)
    stored = service.call("GET", f"/v1/answers/{got['answer_id']}").json
    assert stored["interpreted"] == meant
    streamed = service.call("POST", "/v1/ask", {"question": question}, accept="text/event-stream")
    assert dict(events_of(streamed))["answered"]["interpreted"] == meant


def test_the_models_that_come_along_answer_over_http(tides: Path) -> None:
    with contextmanager(served)(tides, None, local_models=True, risk=0.5) as service:
        got = service.call("POST", "/v1/ask", {"question": LOST}, accept="text/event-stream")
        claims = [body for name, body in events_of(got) if name == "claimed"]
        first = claims[0]
        assert first["text"] == "Seven boats were lost with all their nets."
        assert [first["text"][a:b] for a, b in first["marks"]] == ["Seven"]
        refused = service.post("/v1/ask", question="Who translated the poems of Ovid?").json
        assert refused["refusal"]["reason"] in ("not_in_book", "below_confidence")
        assert refused["citations"] == []
        checked = service.post("/v1/check", claim="Seven boats were lost.", passages=[first["text"]]).json
        assert checked["supported"] is True
        asked = {"query": "storm harbour tide lamp", "top_k": 4}
        read, found = (service.post("/v1/search", **asked, rerank=r).json["results"] for r in (True, False))
        assert {r["id"] for r in read} == {r["id"] for r in found}
        assert [r["relevance_score"] for r in read] != [r["relevance_score"] for r in found]
        assert service.post("/v1/search", **asked).json["results"] == read
        assert service.post("/v1/search", **asked, rerank="no").status == 422
        assert service.post("/v1/ask", question=LOST, rerank=False).status == 422


def test_an_outage_is_an_error_and_never_a_refusal(broken: Service) -> None:
    got = broken.post("/v1/ask", question=LOST)
    assert (got.status, got.type, got.json["code"]) == (502, "application/problem+json", "model_error")
    streamed = events_of(broken.call("POST", "/v1/ask", {"question": LOST}, accept="text/event-stream"))
    assert streamed[-1][0] == "error"
    assert streamed[-1][1]["code"] == "model_error"
    assert broken.call("GET", "/readyz").json == {"status": "ready", "books": 0}


def test_a_client_that_hangs_up_leaves_no_question_open(tmp_path: Path) -> None:
    data = fill_library(tmp_path / "library")
    with contextmanager(served)(data, FailingAnswerer(waits=True)) as service:
        body = json.dumps({"question": LOST})
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
        headers = {"content-type": "application/json", "accept": "text/event-stream"}
        connection.request("POST", "/v1/ask", body, headers)
        response = connection.getresponse()
        assert b"asked" in response.readline()
        response.close()
        connection.close()
        assert status_in_time(data) == "error"


def status_in_time(data: Path) -> str:
    """The status of the only question, once it has left the work behind."""

    def status() -> str:
        with closing(sqlite3.connect(data / "records.sqlite")) as other:
            ((found,),) = other.execute("SELECT status FROM questions").fetchall()
        return str(found)

    wait_until(lambda: status() not in ("pending", "processing"))
    return status()
