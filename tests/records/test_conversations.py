"""Conversations: every step of a question and its answer is on the disk when the call returns."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from octavo.errors import InvalidTransition, NotFound, RecordsError
from octavo.records.answer_rows import SEALED_COLUMNS, StoredAnswer, checksum_answer
from octavo.records.catalogue import Records
from octavo.records.conversations import Conversations
from octavo.records.database import Database
from octavo.records.lost_answers import list_lost_answers
from octavo.types import Question, Scope, ScopeType, Trace
from octavo.validation import AnswerState, Delivery, QuestionStatus
from tests.support.builders import NOON, make_answer, make_question, make_refusal
from tests.support.places import RecordsPlace, SqliteFile

FROZEN = "3:bc813f5b4b431d3c78e3c4fb3c376501d19c758ba331937981a12e64dc30f0a6"


@pytest.fixture
def conversations(records: Records) -> Conversations:
    return Conversations(records.database)


def build_question(number: int, *, session_id: str | None = None) -> Question:
    return replace(make_question(f"Question {number}?", id=f"q{number}"), session_id=session_id)


async def record_exchange(conversations: Conversations, asked: Question, *, refused: bool = False) -> None:
    await conversations.receive(asked, interpreted=f"{asked.content} Really?")
    begun = await conversations.begin(asked)
    answer = replace(make_answer(id=f"a-{asked.id}", question_id=asked.id))
    if refused:
        answer = replace(answer, citations=(), refusal=make_refusal())
    await conversations.save_draft(answer, receipt={"draft": True})
    await conversations.publish(begun, await conversations.mark_validated(answer), receipt={})


async def test_a_question_and_its_answer_come_back_equal(conversations: Conversations) -> None:
    scope = Scope(type=ScopeType.SECTION, identifier="Loomings", description="the first chapter")
    asked = replace(
        build_question(1),
        scope=scope,
        selected_text="Call me Ishmael",
        user_id="u",
        user_context={"page": 3},
        filters={"a": [1]},
        user_preferences={"short": True},
    )
    await conversations.receive(asked, interpreted="Who is Ishmael?")
    begun = await conversations.begin(asked)
    trace = Trace().reach(Delivery.RECEIVED, NOON)
    answer = replace(make_answer(question_id="q1"), trace=trace, interpreted="Who is Ishmael?")
    await conversations.save_draft(answer, receipt={})
    valid = await conversations.mark_validated(answer)
    done, shown = await conversations.publish(begun, valid, receipt={"threshold": 0.5})
    entry = await conversations.find_exchange(answer.id)
    assert (entry.question, entry.answer, entry.interpreted) == (done, shown, "Who is Ishmael?")
    assert entry.receipt == {"threshold": 0.5, "seal": entry.receipt["seal"]}
    assert (done.status, shown.state) == (QuestionStatus.COMPLETED, AnswerState.PUBLISHED)


async def test_a_refusal_ends_its_question_as_insufficient_data(conversations: Conversations) -> None:
    await record_exchange(conversations, build_question(1), refused=True)
    entry = await conversations.find_exchange("q1")
    assert entry.question.status is QuestionStatus.INSUFFICIENT_DATA
    assert entry.answer is not None
    assert entry.answer.refusal == make_refusal()


async def test_a_step_that_the_states_do_not_have_raises_and_changes_nothing(
    conversations: Conversations,
) -> None:
    asked = build_question(1)
    await conversations.receive(asked, interpreted=asked.content)
    begun = await conversations.begin(asked)
    with pytest.raises(InvalidTransition):
        await conversations.begin(asked)
    answer = make_answer(question_id="q1")
    await conversations.save_draft(answer, receipt={})
    with pytest.raises(InvalidTransition):
        await conversations.publish(begun, answer, receipt={})
    valid = await conversations.mark_validated(answer)
    with pytest.raises(InvalidTransition):
        await conversations.mark_validated(answer)
    await conversations.publish(begun, valid, receipt={})
    for again in (conversations.publish(begun, valid, receipt={}), conversations.fail(begun, "too late")):
        with pytest.raises(InvalidTransition):
            await again
    entry = await conversations.find_exchange("q1")
    assert (entry.question.status, entry.error) == (QuestionStatus.COMPLETED, None)


async def test_a_draft_goes_through_its_states_to_its_publication_in_one_transaction(
    conversations: Conversations,
) -> None:
    asked = build_question(1)
    await conversations.receive(asked, interpreted=asked.content)
    begun = await conversations.begin(asked)
    draft = replace(make_answer(question_id="q1"), trace=Trace().reach(Delivery.RECEIVED, NOON))
    done, shown = await conversations.publish_draft(begun, draft, receipt={"threshold": 0.5})
    entry = await conversations.find_exchange(draft.id)
    assert (entry.question, entry.answer) == (done, shown)
    assert entry.receipt == {"threshold": 0.5, "seal": entry.receipt["seal"]}
    assert (done.status, shown.state) == (QuestionStatus.COMPLETED, AnswerState.PUBLISHED)
    for wrong in (draft.to(AnswerState.VALIDATED), shown):
        with pytest.raises(InvalidTransition):
            await conversations.publish_draft(begun, wrong, receipt={})


async def test_a_draft_of_a_question_that_has_ended_leaves_nothing(
    conversations: Conversations, place: RecordsPlace
) -> None:
    asked = build_question(1)
    await conversations.receive(asked, interpreted=asked.content)
    begun = await conversations.begin(asked)
    await conversations.fail(begun, "ModelError: no")
    with pytest.raises(InvalidTransition):
        await conversations.publish_draft(begun, make_answer(question_id="q1"), receipt={})
    assert place.rows("SELECT count(*) FROM answers") == [(0,)]
    assert (await conversations.find_exchange("q1")).error == "ModelError: no"


KILLED_WHILE_PUBLISHING = """
import asyncio, os, signal, sys
from pathlib import Path
from octavo.records import conversations
from octavo.records.database import Database
from octavo.records.lost_answers import list_lost_answers
from tests.support.builders import make_answer, make_question

async def main() -> None:
    journal = conversations.Conversations(await Database.open(Path(sys.argv[1])))
    asked = make_question(id="q1")
    await journal.receive(asked, interpreted="?")
    begun = await journal.begin(asked)
    conversations.save_gap = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    await journal.publish_draft(begun, make_answer(question_id="q1"), receipt={})

asyncio.run(main())
"""


async def test_a_kill_before_the_publication_is_whole_leaves_no_answer_and_an_open_question(
    tmp_path: Path,
) -> None:
    file = tmp_path / "records.sqlite"
    command = [sys.executable, "-c", KILLED_WHILE_PUBLISHING, str(file)]
    killed = await asyncio.to_thread(subprocess.run, command, check=False)
    assert killed.returncode == -signal.SIGKILL
    database = await Database.open(file)
    conversations = Conversations(database)
    assert SqliteFile(file).rows("SELECT count(*) FROM answers") == [(0,)]
    assert (await conversations.find_exchange("q1")).question.status is QuestionStatus.PROCESSING
    await conversations.fail_abandoned()
    assert (await conversations.find_exchange("q1")).question.status is QuestionStatus.ERROR
    await database.close()


@pytest.mark.parametrize("begun", [True, False])
async def test_a_question_fails_however_far_it_had_come(conversations: Conversations, begun: bool) -> None:
    asked = build_question(1)
    await conversations.receive(asked, interpreted=asked.content)
    if begun:
        await conversations.begin(asked)
    await conversations.fail(asked, "ModelError: no")
    entry = await conversations.find_exchange("q1")
    assert (entry.question.status, entry.error, entry.answer) == (
        QuestionStatus.ERROR,
        "ModelError: no",
        None,
    )


async def test_a_draft_is_nobodys_to_see(conversations: Conversations) -> None:
    asked = build_question(1)
    await conversations.receive(asked, interpreted=asked.content)
    await conversations.begin(asked)
    await conversations.save_draft(make_answer(question_id="q1"), receipt={})
    assert (await conversations.find_exchange("a1")).answer is None
    with pytest.raises(NotFound):
        await conversations.list_stored_answers("a1")
    assert await conversations.list_stored_answers() == []


async def test_a_session_counts_its_questions_and_holds_them_in_order(conversations: Conversations) -> None:
    started = await conversations.start_session("talk")
    assert (started.query_count, started.end_time) == (0, None)
    for number in (1, 2, 3):
        await record_exchange(conversations, build_question(number, session_id="talk"), refused=number == 2)
    await record_exchange(conversations, build_question(4))
    session = await conversations.find_session("talk")
    assert session.query_count == 3
    assert [q.id for q in session.questions] == ["q1", "q2", "q3"]
    assert [a.id for a in session.answers] == ["a-q1", "a-q2", "a-q3"]
    assert [(m.role, m.query_id) for m in session.messages[:3]] == [
        ("user", "q1"),
        ("assistant", "q1"),
        ("user", "q2"),
    ]
    assert session.messages[1].source_references == session.answers[0].citations
    assert [e.question.id for e in await conversations.list_exchanges()] == ["q1", "q2", "q3", "q4"]


async def test_a_session_ends_once_and_goes_on_when_it_is_taken_up_again(
    conversations: Conversations,
) -> None:
    new = await conversations.start_session()
    ended = await conversations.end_session(new.session_id)
    assert ended.end_time is not None
    assert await conversations.end_session(new.session_id) == ended
    assert (await conversations.start_session(new.session_id)).end_time is None
    assert (await conversations.find_session(new.session_id)).end_time is None
    other = await conversations.start_session()
    assert [s.session_id for s in await conversations.list_sessions()] == [other.session_id, new.session_id]


async def test_the_last_turns_are_remembered_and_refusals_say_nothing(conversations: Conversations) -> None:
    await conversations.start_session("talk")
    for number in range(1, 6):
        await record_exchange(conversations, build_question(number, session_id="talk"), refused=number == 4)
    await conversations.receive(build_question(6, session_id="talk"), interpreted="Not answered yet?")
    said = make_answer().content
    turns = [(f"Question {n}? Really?", said if n != 4 else "") for n in (3, 4, 5)]
    assert await conversations.list_turns("talk", most=3) == turns


@pytest.mark.parametrize("call", ["find_session", "end_session", "find_exchange", "list_stored_answers"])
async def test_what_is_not_there_is_said_to_be_not_there(conversations: Conversations, call: str) -> None:
    with pytest.raises(NotFound, match="'nothing'"):
        await getattr(conversations, call)("nothing")


def test_the_checksum_of_a_stored_answer_stays_what_it_was() -> None:
    """A row and its checksum as they were once stored. A change of either breaks those of every library."""
    row = {
        "id": "a-q1",
        "question_id": "q1",
        "state": "published",
        "content": "Ahab [1].",
        "confidence": 0.75,
        "processing_time_ms": 12,
        "timestamp": 1_700_000_000_000_000,
        "citations": [],
        "evidence": [],
        "refusal": None,
        "trace": [["started", "2026-01-01T00:00:00"]],
        "receipt": {"threshold": 0.5, "seal": FROZEN},
    }
    asked = {"content": "Who?", "interpreted": None, "selected_text": None, "book_id": None, "timestamp": 1}
    assert tuple(row) == SEALED_COLUMNS
    stored = StoredAnswer("a-q1", "Ahab [1].", (), {}, {"threshold": 0.5, "seal": FROZEN}, None, row, asked)
    assert checksum_answer(stored) == FROZEN


async def test_a_damaged_answer_is_not_read_but_can_be_checked(
    conversations: Conversations, place: RecordsPlace
) -> None:
    await record_exchange(conversations, build_question(1))
    (kept,) = await conversations.list_stored_answers("q1")
    assert kept.receipt["seal"] == checksum_answer(kept)
    other = "CAST(replace(CAST(citations AS TEXT), 'whiteness', 'blackness') AS JSON)"
    if isinstance(place, SqliteFile):
        other = "replace(citations, 'whiteness', 'blackness')"
    place.rows(f"UPDATE answers SET citations = {other}")
    with pytest.raises(RecordsError, match="damaged"):
        await conversations.find_exchange("q1")
    (kept,) = await conversations.list_stored_answers("a-q1")
    assert kept.receipt["seal"] != checksum_answer(kept)


@pytest.mark.parametrize(
    "change",
    [
        "answers SET confidence = 0.123",
        "answers SET processing_time_ms = 1",
        "answers SET timestamp = timestamp + 1",
        "answers SET evidence = replace(CAST(evidence AS TEXT), 'rank\": ', 'rank\": 1')::json",
        "answers SET trace = '[]'",
        "answers SET receipt = replace(CAST(receipt AS TEXT), '0.5', '0.6')::json",
        "questions SET content = 'Another?'",
        "questions SET timestamp = timestamp + 1",
    ],
)
async def test_a_change_of_any_field_of_an_answer_or_of_its_question_is_noticed(
    conversations: Conversations, place: RecordsPlace, change: str
) -> None:
    asked = build_question(1)
    await conversations.receive(asked, interpreted="Question one?")
    trace = Trace()
    for step in (Delivery.RECEIVED, Delivery.PROCESSING, Delivery.VALIDATED, Delivery.FORMATTED):
        trace = trace.reach(step, NOON)
    draft = replace(make_answer(question_id="q1"), trace=trace)
    begun = await conversations.begin(asked)
    _, shown = await conversations.publish_draft(begun, draft, receipt={"threshold": 0.5})
    await conversations.deliver(shown)
    (kept,) = await conversations.list_stored_answers()
    assert kept.receipt["seal"] == checksum_answer(kept)
    place.rows(f"UPDATE {change.replace('::json', '') if isinstance(place, SqliteFile) else change}")
    (kept,) = await conversations.list_stored_answers()
    assert kept.receipt.get("seal") != checksum_answer(kept)


@pytest.mark.parametrize(
    "seal",
    [
        "2:34612f783ad7ac9876b03fffd31a4d84a6803dec2371f932a6a8aad0a6b4f0e0",
        "040104aea5cc2e5dbe87073852bfe607f8d737152d1600e388afd16bcf773ea4",
    ],
)
async def test_the_checksum_of_an_answer_from_an_earlier_version_still_holds(
    conversations: Conversations, place: RecordsPlace, seal: str
) -> None:
    await record_exchange(conversations, build_question(1))
    place.rows(f"""UPDATE answers SET receipt = '{{"seal": "{seal}"}}'""")
    (kept,) = await conversations.list_stored_answers()
    assert checksum_answer(kept) == seal
    place.rows("UPDATE answers SET content = 'Another.'")
    (kept,) = await conversations.list_stored_answers()
    assert checksum_answer(kept) != seal


async def test_a_deleted_answer_and_a_deleted_question_of_a_session_are_noticed(
    conversations: Conversations, records: Records, place: RecordsPlace
) -> None:
    await conversations.start_session("talk")
    for number in (1, 2, 3, 4):
        await record_exchange(conversations, build_question(number, session_id="talk"), refused=number == 3)
    await conversations.delete_question("q4")
    assert await list_lost_answers(records.database) == []
    assert (await conversations.find_session("talk")).query_count == 3
    place.rows("DELETE FROM answers WHERE question_id IN ('q1', 'q3')")
    assert [id_ for id_, _ in await list_lost_answers(records.database)] == ["q1", "q3"]
    place.rows("DELETE FROM questions WHERE id = 'q1'")
    assert [id_ for id_, _ in await list_lost_answers(records.database)] == ["q3", "talk"]


async def test_what_a_dead_process_left_unanswered_ends_in_error(conversations: Conversations) -> None:
    await conversations.receive(build_question(1), interpreted="Question 1?")
    await conversations.receive(build_question(2), interpreted="Question 2?")
    await conversations.begin(build_question(2))
    await record_exchange(conversations, build_question(3))
    await conversations.fail_abandoned()
    left = {
        entry.question.id: (str(entry.question.status), entry.error)
        for entry in await conversations.list_exchanges()
    }
    ended = ("error", "the process that worked on it ended")
    assert left == {"q1": ended, "q2": ended, "q3": ("completed", None)}


async def test_what_another_instance_may_be_working_on_is_left_to_it(
    conversations: Conversations, place: RecordsPlace
) -> None:
    fresh = replace(build_question(1), timestamp=datetime.now(UTC) - timedelta(minutes=5))
    await conversations.receive(fresh, interpreted="Question 1?")
    await conversations.fail_abandoned()
    status = (await conversations.find_exchange("q1")).question.status
    alone = isinstance(place, SqliteFile)  # who has the file has the only instance
    assert status is (QuestionStatus.ERROR if alone else QuestionStatus.PENDING)
