"""Conversations over HTTP: whose they are, page by page, and on paper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.answerers import AllSentencesAnswerer, FailingAnswerer, add_tides
from tests.support.serving import PROBLEM, RunningService, create_key, serve_library

LOST = "How many boats were lost?"
SITE = {"origin": "https://docs.example.com"}


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = add_tides(tmp_path_factory.mktemp("tides"))
    with serve_library(folder, answerer=AllSentencesAnswerer("boats"), keys_required=True) as served:
        yield served


def with_key(served: RunningService, name: str = "reader") -> RunningService:
    return replace(served, key=create_key(served.folder, name)[1])


def test_a_session_is_started_asked_in_read_and_ended(closed: RunningService) -> None:
    ann = with_key(closed)
    started = ann.call("POST", "/v1/sessions")
    assert (started.status, started.json["query_count"], started.json["end_time"]) == (201, 0, None)
    id_ = started.json["session_id"]
    answers = [
        ann.post("/v1/ask", {"question": question, "session_id": id_}).json for question in (LOST, "When?")
    ]
    read = ann.get(f"/v1/sessions/{id_}").json
    assert read["turns"] == answers
    assert [turn["question"] for turn in read["turns"]] == [LOST, "When?"]
    assert (read["query_count"], read["session_id"]) == (2, id_)
    ended = ann.call("POST", f"/v1/sessions/{id_}/end")
    assert (ended.status, ended.text) == (204, "")
    after = ann.get(f"/v1/sessions/{id_}").json
    assert after["end_time"] is not None
    assert after["turns"] == answers
    assert ann.call("DELETE", f"/v1/sessions/{id_}").status == 204
    assert ann.get(f"/v1/sessions/{id_}").status == 404
    for answer in answers:
        assert ann.get(f"/v1/answers/{answer['answer_id']}").status == 404


def test_a_conversation_goes_on_from_a_copy_of_an_answer(closed: RunningService) -> None:
    ann, ben = with_key(closed, "carla"), with_key(closed, "dora")
    first = ann.post(
        "/v1/ask", {"question": LOST, "session_id": ann.call("POST", "/v1/sessions").json["session_id"]}
    )
    answer = first.json["answer_id"]
    started = ann.post("/v1/sessions", {"answer_id": answer})
    assert (started.status, started.json["query_count"]) == (201, 1)
    id_ = started.json["session_id"]
    [copy] = ann.get(f"/v1/sessions/{id_}").json["turns"]
    assert copy["answer_id"] != answer
    same = ("answer", "evidence", "confidence", "question")
    assert {name: copy[name] for name in same} == {name: first.json[name] for name in same}
    assert [cited["content_snippet"] for cited in copy["citations"]] == [
        cited["content_snippet"] for cited in first.json["citations"]
    ]
    assert ann.get(f"/v1/answers/{copy['answer_id']}/verification").json["true"]
    later = ann.post("/v1/ask", {"question": "Why?", "session_id": id_}).json
    assert "boats" in later["interpreted"]
    assert ann.call("DELETE", f"/v1/sessions/{id_}").status == 204
    assert ann.get(f"/v1/answers/{answer}").status == 200
    assert ben.post("/v1/sessions", {"answer_id": answer}).status == 404


def test_a_foreign_session_and_an_unknown_one_look_the_same_to_every_route(closed: RunningService) -> None:
    ann, ben = with_key(closed, "ann"), with_key(closed, "ben")
    foreign = ann.call("POST", "/v1/sessions").json["session_id"]
    unknown = "00000000-0000-0000-0000-000000000000"
    for method, path, body in (
        ("GET", "/v1/sessions/{}", None),
        ("DELETE", "/v1/sessions/{}", None),
        ("POST", "/v1/sessions/{}/end", None),
        ("GET", "/v1/sessions/{}/export", None),
        ("POST", "/v1/ask", {"question": LOST, "session_id": "{}"}),
        ("POST", "/query", {"question": LOST, "session_id": "{}"}),
    ):
        told = []
        for id_ in (foreign, unknown):
            sent = None if body is None else {k: v.format(id_) for k, v in body.items()}
            got = ben.call(method, path.format(id_), sent)
            told.append(
                (got.status, got.type, got.text.replace(id_, "ID").replace(got.json["request_id"], ""))
            )
        assert told[0] == told[1]
        assert told[0][:2] == (404, PROBLEM)
    untouched = ann.get(f"/v1/sessions/{foreign}").json
    assert (untouched["end_time"], untouched["turns"]) == (None, [])


@pytest.mark.parametrize("id_", ["..%2f..%2fetc", "x" * 10_000, "%27%20OR%201=1", "a%0ab", "%F0%9F%90%8B"])
def test_an_id_that_is_none_is_refused_or_not_found(closed: RunningService, id_: str) -> None:
    ann = with_key(closed)
    for method, path in (("GET", f"/v1/sessions/{id_}"), ("DELETE", f"/v1/sessions/{id_}")):
        got = ann.call(method, path)
        assert got.status in (400, 404, 422)
        assert got.type == PROBLEM


def test_the_list_has_ones_own_sessions_page_by_page_the_newest_first(closed: RunningService) -> None:
    ann, ben = with_key(closed, "ann"), with_key(closed, "ben")
    made = [ann.call("POST", "/v1/sessions").json["session_id"] for _ in range(5)]
    ben.call("POST", "/v1/sessions")
    seen: list[str] = []
    after = ""
    for _ in range(3):
        page = ann.get(f"/v1/sessions?limit=2{after}").json
        seen += [session["session_id"] for session in page["sessions"]]
        after = f"&after={page['next']}"
    assert seen == made[::-1]
    assert page["next"] is None
    whole = ann.get("/v1/sessions").json
    assert ([s["session_id"] for s in whole["sessions"]], whole["next"]) == (made[::-1], None)
    assert ann.get("/v1/sessions?after=nothing").json == {"sessions": [], "next": None}


@pytest.mark.parametrize(
    "page", ["limit=0", "limit=201", "limit=x", "after=", "after=a%00b", f"after={'x' * 201}"]
)
def test_a_page_that_makes_no_sense_is_refused(closed: RunningService, page: str) -> None:
    got = with_key(closed).get(f"/v1/sessions?{page}")
    assert (got.status, got.type) == (422, PROBLEM)


def test_a_conversation_is_exported_as_markdown_and_as_json(closed: RunningService) -> None:
    ann = with_key(closed)
    id_ = ann.call("POST", "/v1/sessions").json["session_id"]
    ann.post("/v1/ask", {"question": LOST, "session_id": id_})
    page = ann.get(f"/v1/sessions/{id_}/export")
    assert (page.status, page.type) == (200, "text/markdown")
    assert f"## {LOST}" in page.text
    assert "> Seven boats were lost with all their nets." in page.text
    assert page.headers["content-disposition"] == 'attachment; filename="conversation.md"'
    data = ann.get(f"/v1/sessions/{id_}/export?format=json")
    assert (data.type, data.json["questions"][0]["content"]) == ("application/json", LOST)
    assert ann.get(f"/v1/sessions/{id_}/export?format=exe").status == 422


def test_visitors_of_a_site_share_a_key_and_not_their_sessions(closed: RunningService) -> None:
    _, token = create_key(closed.folder, "site", public=True, origins=[SITE["origin"]])
    site = replace(closed, key=token)
    id_ = site.call("POST", "/v1/sessions", headers=SITE).json["session_id"]
    assert site.post("/v1/ask", {"question": LOST, "session_id": id_}, headers=SITE).status == 200
    assert site.get(f"/v1/sessions/{id_}", headers=SITE).status == 200
    assert site.get("/v1/sessions", headers=SITE).status == 403
    assert site.post("/v1/ask", {"question": LOST, "session_id": "talk"}, headers=SITE).status == 404


def test_on_an_open_service_a_new_name_begins_a_session_and_failures_are_no_turns(tmp_path: Path) -> None:
    folder = add_tides(tmp_path)
    with serve_library(folder, answerer=FailingAnswerer()) as served:
        assert served.post("/v1/ask", {"question": LOST, "session_id": "talk"}).status == 502
        talk = served.get("/v1/sessions/talk").json
        assert (talk["turns"], talk["query_count"]) == ([], 1)
        assert [s["session_id"] for s in served.get("/v1/sessions").json["sessions"]] == ["talk"]
        keyed = with_key(served)
        assert keyed.get("/v1/sessions/talk").status == 404
        mine = keyed.call("POST", "/v1/sessions").json["session_id"]
        assert served.get(f"/v1/sessions/{mine}").status == 404


def test_a_conversation_keeps_its_title_what_it_asked_about_and_the_votes(closed: RunningService) -> None:
    ann, ben = with_key(closed, "ann"), with_key(closed, "ben")
    id_ = ann.call("POST", "/v1/sessions").json["session_id"]
    about = {"book_id": "the-tides", "selected_text": "Seven boats were lost with all their nets."}
    asked = ann.post("/v1/ask", {"question": LOST, "session_id": id_, **about}).json
    narrow = {"type": "up-to-position", "identifier": "Storm"}
    ann.post("/v1/ask", {"question": LOST, "session_id": id_, "book_id": "the-tides", "scope": narrow})
    vote = {"vote": "down"}
    assert ann.call("POST", f"/v1/answers/{asked['answer_id']}/feedback", vote).status == 204
    first, second = ann.get(f"/v1/sessions/{id_}").json["turns"]
    assert {name: first[name] for name in (*about, "vote")} == {**about, **vote}
    assert second["scope"] == narrow | {"description": "The Tides, up to and including Storm"}
    assert "vote" not in second

    def list_titles(more: str = "") -> dict[str, str]:
        return {each["session_id"]: each["title"] for each in ann.get(f"/v1/sessions{more}").json["sessions"]}

    assert list_titles()[id_] == LOST
    assert ann.call("PATCH", f"/v1/sessions/{id_}", {"title": " The storm "}).json["title"] == "The storm"
    assert list_titles("?book_id=the-tides") == {id_: "The storm"}
    assert list_titles("?book_id=another") == {}
    assert ann.get(f"/v1/sessions/{id_}").json["title"] == "The storm"
    assert ben.call("PATCH", f"/v1/sessions/{id_}", {"title": "mine"}).status == 404
    assert ann.call("PATCH", f"/v1/sessions/{id_}", {"title": "a\nb"}).status == 422
    assert ann.call("PATCH", f"/v1/sessions/{id_}", {"title": ""}).status == 200
    assert list_titles()[id_] == LOST
