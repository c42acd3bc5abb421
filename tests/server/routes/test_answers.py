"""Answers over HTTP: whose they are, checked again, judged, and given once however often asked for."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from octavo.answers.replies import Reply
from octavo.errors import ModelError
from octavo.library import Library
from octavo.verification.claims import Claim, Sentence
from tests.support.answerers import AllSentencesAnswerer, FailingAnswerer, add_tides, query_records
from tests.support.patience import PATIENCE, wait_until
from tests.support.serving import PROBLEM, RunningService, create_key, serve_library

LOST = "How many boats were lost?"
STREAM = {"accept": "text/event-stream"}


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = add_tides(tmp_path_factory.mktemp("tides"))
    with serve_library(folder, answerer=AllSentencesAnswerer("boats"), keys_required=True) as served:
        yield served


def with_key(served: RunningService, name: str = "reader") -> RunningService:
    return replace(served, key=create_key(served.folder, name)[1])


def counted(served: RunningService, table: str) -> int:
    library: Library = served.app.state.library
    return int(query_records(library, f"SELECT count(*) FROM {table}")[0][0])


def test_an_answer_is_read_and_checked_again_by_its_id_or_its_questions(closed: RunningService) -> None:
    ann = with_key(closed)
    given = ann.post("/v1/ask", {"question": LOST}).json
    for id_ in (given["answer_id"], given["question_id"]):
        assert ann.get(f"/v1/answers/{id_}").json == given
        checked = ann.get(f"/v1/answers/{id_}/verification").json
        assert (checked["true"], len(checked["citations"])) == (True, len(given["citations"]))


class Emphatic:
    """Quotes what is asked for, and emphasises the first word of it."""

    name = "emphatic"

    async def reply(self, question: str, given: Sequence[Sentence]) -> Reply:
        found = [s for s in given if "boats" in s.text]
        claims = tuple(Claim(s.text, (s.id,), marks=((0, s.text.index(" ")),)) for s in found)
        return Reply(claims, float(bool(claims)), 0.9 * bool(claims))


def test_what_is_emphasised_in_an_answer_survives_until_it_is_read_again(tmp_path: Path) -> None:
    with serve_library(add_tides(tmp_path), answerer=Emphatic()) as served:
        body = {"question": LOST, "session_id": "talk"}
        *_, told = (data for kind, data in served.post("/v1/ask", body, headers=STREAM).events)
        streamed = [d for k, d in served.post("/v1/ask", body, headers=STREAM).events if k == "claimed"]
        assert streamed
        assert all(claim["marks"] == [[0, claim["text"].index(" ")]] for claim in streamed)
        assert told["claims"] == streamed
        cited = {number for claim in streamed for number in claim["citations"]}
        assert cited == {citation["number"] for citation in told["citations"]}
        assert served.get(f"/v1/answers/{told['answer_id']}").json == told
        assert [turn["claims"] for turn in served.get("/v1/sessions/talk").json["turns"]] == [streamed] * 2
    with serve_library(tmp_path / "library", answerer=AllSentencesAnswerer("no such word")) as served:
        refused = served.post("/v1/ask", {"question": LOST}).json
        assert refused["refusal"] is not None
        assert "claims" not in refused


def test_a_foreign_answer_and_an_unknown_one_look_the_same(closed: RunningService) -> None:
    ann, ben = with_key(closed, "ann"), with_key(closed, "ben")
    foreign = ann.post("/v1/ask", {"question": LOST}).json["answer_id"]
    unknown = "00000000-0000-0000-0000-000000000000"
    vote = {"vote": "down"}
    for method, path, body in (
        ("GET", "/v1/answers/{}", None),
        ("GET", "/v1/answers/{}/verification", None),
        ("POST", "/v1/answers/{}/feedback", vote),
    ):
        told = []
        for id_ in (foreign, unknown):
            got = ben.call(method, path.format(id_), body)
            told.append(
                (got.status, got.type, got.text.replace(id_, "ID").replace(got.json["request_id"], ""))
            )
        assert told[0] == told[1]
        assert told[0][:2] == (404, PROBLEM)
    assert ann.post(f"/v1/answers/{foreign}/feedback", vote).status == 204


def test_feedback_is_kept_once_for_each_reader_and_answer(closed: RunningService) -> None:
    ann = with_key(closed)
    id_ = ann.post("/v1/ask", {"question": LOST}).json["answer_id"]
    before = counted(closed, "feedback")
    first = {"vote": "down", "reasons": ["wrong passage"], "comment": "The pier, not the boats. 🐋"}
    for body in (first, {"vote": "up"}):
        got = ann.post(f"/v1/answers/{id_}/feedback", body)
        assert (got.status, got.text) == (204, "")
    assert counted(closed, "feedback") == before + 1
    library: Library = closed.app.state.library
    stored = query_records(library, f"SELECT vote, reasons, comment FROM feedback WHERE answer_id = '{id_}'")
    assert stored == [("up", "[]", "")]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"vote": "sideways"},
        {"vote": "up", "reasons": "bad"},
        {"vote": "up", "reasons": ["x"] * 11},
        {"vote": "up", "reasons": ["x" * 101]},
        {"vote": "up", "comment": "x" * 2_001},
        {"vote": "up", "comment": "a\x00b"},
        {"vote": "up", "stars": 5},
    ],
)
def test_feedback_that_makes_no_sense_is_refused(closed: RunningService, body: dict[str, Any]) -> None:
    ann = with_key(closed)
    id_ = ann.post("/v1/ask", {"question": LOST}).json["answer_id"]
    got = ann.post(f"/v1/answers/{id_}/feedback", body)
    assert (got.status, got.type) == (422, PROBLEM)


def test_a_question_that_is_sent_again_under_its_key_is_not_asked_again(closed: RunningService) -> None:
    ann, named = with_key(closed), {"idempotency-key": "first-try"}
    first = ann.post("/v1/ask", {"question": LOST}, headers=named)
    asked = counted(closed, "questions")
    again = ann.post("/v1/ask", {"question": LOST}, headers=named)
    streamed = ann.post("/v1/ask", {"question": LOST}, headers=named | STREAM)
    assert (again.status, again.json) == (200, first.json)
    assert streamed.events == [("answered", first.json)]
    assert counted(closed, "questions") == asked
    other = ann.post("/v1/ask", {"question": "What broke the pier?"}, headers=named)
    assert (other.status, other.json["code"], other.type) == (409, "conflict", PROBLEM)
    assert with_key(closed, "ben").post("/v1/ask", {"question": LOST}, headers=named).json != first.json
    assert ann.post("/v1/ask", {"question": LOST}).json["answer_id"] != first.json["answer_id"]


def test_a_streamed_question_is_remembered_too(closed: RunningService) -> None:
    ann, named = with_key(closed), {"idempotency-key": "streamed"}
    kind, final = ann.post("/v1/ask", {"question": LOST}, headers=named | STREAM).events[-1]
    assert kind == "answered"
    assert ann.post("/v1/ask", {"question": LOST}, headers=named).json == final


@pytest.mark.parametrize("key", ["", "x" * 201, "with space", "ü"])
def test_an_idempotency_key_that_cannot_be_kept_is_refused(closed: RunningService, key: str) -> None:
    got = with_key(closed).post("/v1/ask", {"question": LOST}, headers={"idempotency-key": key})
    assert (got.status, got.type) == (422, PROBLEM)


def test_the_same_question_while_it_is_worked_on_is_told_to_wait(tmp_path: Path) -> None:
    with serve_library(add_tides(tmp_path), answerer=FailingAnswerer(waits=True)) as served:
        named, asked = {"idempotency-key": "k"}, {"question": LOST}
        first = http.client.HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE)
        first.request("POST", "/v1/ask", json.dumps(asked), named | {"content-type": "application/json"})
        wait_until(lambda: counted(served, "requests"))
        for more in ({}, STREAM):
            busy = served.post("/v1/ask", asked, headers=named | more)
            assert (busy.status, busy.json["code"]) == (409, "conflict")
            assert int(busy.headers["retry-after"]) >= 1
        first.close()
        wait_until(lambda: not counted(served, "requests"))  # whoever has left may come back and ask again


class Recovering(AllSentencesAnswerer):
    """Fails the first time."""

    failed = False

    async def reply(self, question: str, given: Sequence[Sentence]) -> Reply:
        if not self.failed:
            self.failed = True
            raise ModelError("the model does not answer")
        return await super().reply(question, given)


def test_a_question_that_failed_may_be_sent_again(tmp_path: Path) -> None:
    with serve_library(add_tides(tmp_path), answerer=Recovering("boats")) as served:
        named = {"idempotency-key": "k"}
        assert served.post("/v1/ask", {"question": LOST}, headers=named).status == 502
        assert counted(served, "requests") == 0
        assert served.post("/v1/ask", {"question": LOST}, headers=named).status == 200
