"""The JSON of asking has the names that other programs rely on, and nothing that a scope hides."""

from __future__ import annotations

import json
from dataclasses import replace

from octavo.answers.audit import Verdict
from octavo.events import Answered, Asked, AskEvent, Claimed, Retrieved, Scoped
from octavo.schemas import (
    AnsweredJson,
    Json,
    QueryJson,
    SessionJson,
    SupportJson,
    VerdictJson,
    describe_event,
)
from octavo.types import Session
from octavo.validation import QuestionStatus
from octavo.verification.check import Support
from tests.support.builders import NOON, make_answer, make_evidence, make_question, make_refusal

ASK = {
    "question_id", "question", "status", "answer_id", "answer", "confidence", "citations", "evidence",
    "refusal", "answerer", "processing_time_ms", "states",
}  # fmt: skip
DONE = replace(make_question(), status=QuestionStatus.COMPLETED)


def answered(**more: object) -> Answered:
    return Answered(DONE, make_answer(), "Why is the whale white?", **more)  # type: ignore[arg-type]


def answered_json(event: Answered) -> Json:
    return AnsweredJson.from_event(event).to_json()


def event_json(event: AskEvent) -> Json:
    return describe_event(event).to_json()


def support_json(support: Support) -> Json:
    return SupportJson.from_support(support).to_json()


def session_json(session: Session) -> Json:
    return SessionJson.from_value(session).to_json()


def test_an_answer_has_exactly_the_names_of_the_contract() -> None:
    made = json.loads(json.dumps(answered_json(answered())))
    assert set(made) == ASK
    assert (made["status"], made["refusal"], made["citations"][0]["number"]) == ("completed", None, 1)
    talk = answered_json(Answered(replace(DONE, session_id="talk"), make_answer(), DONE.content))
    assert set(talk) == ASK | {"session_id"}


def test_a_citation_has_every_field_of_the_data_model() -> None:
    (made,) = answered_json(answered())["citations"]
    fields = {"id", "answer_id", "number", "chunk_id", "content_snippet", "start", "end", "relevance_score"}
    fields |= {
        "confidence",
        "retrieved_content_id",
        "source_file",
        "source_location",
        "url",
        "section",
        "page",
    }
    assert fields | {"title", "link", "chunk_number"} <= set(made)
    assert made["end"] - made["start"] == len(made["content_snippet"])


def test_what_was_understood_and_dropped_is_said_when_there_is_something_to_say() -> None:
    event = Answered(DONE, make_answer(), "And why is the whale white?", (("No.", "it does not say so"),))
    made = answered_json(event)
    assert made["interpreted"] == "And why is the whale white?"
    assert made["dropped"] == [{"text": "No.", "reason": "it does not say so"}]


def test_a_refusal_names_the_nearest_sections_and_quotes_nothing_of_them() -> None:
    refused = replace(make_answer(), citations=(), refusal=make_refusal())
    made = answered_json(Answered(DONE, refused, DONE.content))["refusal"]
    assert set(made) == {"reason", "message", "nearest"}
    assert made["reason"] == "not_in_book"
    (near,) = made["nearest"]
    assert (near["section"], near["url"]) == ("The Whiteness", "book://moby-dick/chapter-42")
    assert "content" not in near


def test_query_has_exactly_the_keys_of_the_source_documents() -> None:
    made = QueryJson.from_answer(make_answer()).to_json()
    assert list(made) == ["answer", "citations", "confidence", "processing_time_ms"]
    (cited,) = made["citations"]
    assert list(cited) == ["text", "url", "similarity_score", "chunk_id", "source_title"]
    assert isinstance(cited["chunk_id"], int)


def test_every_event_has_its_shape() -> None:
    shapes = {
        "asked": event_json(Asked(DONE, "Why?")),
        "scoped": event_json(Scoped("Moby Dick")),
        "retrieved": event_json(Retrieved((make_evidence(),))),
        "claimed": event_json(Claimed("It is.", (1, 2), ((0, 2),))),
    }
    assert shapes["asked"] == {"question_id": "q1", "interpreted": "Why?"}
    assert shapes["scoped"] == {"description": "Moby Dick"}
    assert len(shapes["retrieved"]["evidence"]) == 1
    assert shapes["claimed"] == {"text": "It is.", "citations": [1, 2], "marks": [[0, 2]]}
    assert event_json(answered()) == answered_json(answered())


def test_support_has_four_names_and_reasons_only_when_something_speaks_against_it() -> None:
    assert support_json(Support(True, 0.99, 0, "It is.")) == {
        "supported": True, "score": 0.99, "passage": 0, "snippet": "It is.",
    }  # fmt: skip
    assert support_json(Support(False, 0.0, reasons=("no",)))["reasons"] == ["no"]


def test_a_verdict_and_a_session_are_plain_json() -> None:
    verdict = Verdict("a1", 1, True, "in the present edition", "the whale", "Moby Dick")
    assert VerdictJson.from_value(verdict).to_json()["true"] is True
    open_one = Session(session_id="talk", start_time=NOON, query_count=2)
    assert session_json(open_one) == {
        "session_id": "talk", "start_time": NOON.isoformat(), "end_time": None, "query_count": 2,
    }  # fmt: skip
    assert session_json(replace(open_one, end_time=NOON))["end_time"] == NOON.isoformat()


def test_the_sentences_of_an_answer_come_with_their_citations_and_emphasis() -> None:
    claims = (Claimed("It is white.", (1,), ((6, 11),)), Claimed("It is old.", (1, 2)))
    made = json.loads(json.dumps(answered_json(answered(claims=claims))))
    assert set(made) == ASK | {"claims"}
    assert made["claims"] == [event_json(claim) for claim in claims]
    assert made["claims"][0] == {"text": "It is white.", "citations": [1], "marks": [[6, 11]]}
