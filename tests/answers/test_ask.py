"""A question's whole way: each step durable before the next, every sentence cited, nothing from outside."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from octavo.errors import ModelError, NotFound
from octavo.events import Answered, Asked, AskEvent, Claimed, Retrieved, Scoped
from octavo.library import Library
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from octavo.types import Answer, RefusalReason, Scope, ScopeType
from octavo.validation import AnswerState, Delivery, QuestionStatus
from tests.support import small_books
from tests.support.answerers import (
    AllSentencesAnswerer,
    FailingAnswerer,
    ScriptedAnswerer,
    add_tides,
    assert_well_cited,
    change_records,
    fill_library,
    query_records,
)
from tests.support.copies import copy_library
from tests.support.embedders import FailingEmbedder

LOST = "How many boats were lost in the storm?"
STAGES = ("interpret", "scope", "retrieve", "answer", "verify", "record")
STATES = "SELECT status, error FROM questions"


@pytest.fixture(scope="module")
def tides(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return add_tides(tmp_path_factory.mktemp("tides"))


@pytest.fixture
def data(tides: Path, tmp_path: Path) -> Path:
    return copy_library(tides, tmp_path / "library")


@pytest.fixture
async def library(data: Path) -> AsyncIterator[Library]:
    """One that answers whatever it finds anything for, so that no test hangs on a calibration."""
    async with Library.open(settings=Settings(data=data, risk=0.9), embedder=TinyEmbedder()) as opened:
        yield opened


async def finished(library: Library, question: str) -> tuple[list[AskEvent], Answered]:
    events = [event async for event in library.stream(question)]
    assert isinstance(events[-1], Answered)
    return events, events[-1]


async def test_an_answer_is_the_books_own_sentence_with_its_footnote(library: Library) -> None:
    events, done = await finished(library, LOST)
    assert done.answer.content == "Seven boats were lost with all their nets. [1]"
    assert done.answer.citations[0].link == "book://the-tides/storm#char=51,93"
    assert [type(e) for e in events] == [Asked, Scoped, Retrieved, Claimed, Answered]
    assert isinstance(events[3], Claimed)
    assert (events[3].citations, done.question.status) == ((1,), QuestionStatus.COMPLETED)
    assert done.answer.state is AnswerState.PUBLISHED
    assert [str(step) for step, _ in done.answer.trace.steps] == [
        "received", "processing", "validated", "formatted",
    ]  # fmt: skip
    assert (await library.ask(LOST)).trace.steps[-1][0] is Delivery.DELIVERED
    await assert_well_cited(library, done.answer)


async def test_every_state_is_on_the_disk_before_the_next_step_begins(library: Library) -> None:
    log = "CREATE TABLE seen (what TEXT, state TEXT, number INTEGER)"
    change_records(library.settings.data, log)
    for table, column in (("questions", "status"), ("answers", "state")):
        for when in ("INSERT", f"UPDATE OF {column}"):
            name, put = f"{table}_{when[:6]}", f"INSERT INTO seen VALUES ('{table}', NEW.{column}, 0)"
            change_records(
                library.settings.data, f"CREATE TRIGGER {name} AFTER {when} ON {table} BEGIN {put}; END"
            )
    seen: dict[str, object] = {}
    async for event in library.stream(LOST):
        seen[event.kind] = query_records(library, STATES)
    assert seen["asked"] == [("pending", None)]
    assert seen["scoped"] == seen["retrieved"] == [("processing", None)]
    assert seen["claimed"] == seen["answered"] == [("completed", None)]
    assert query_records(library, "SELECT what, state FROM seen") == [
        ("questions", "pending"),
        ("questions", "processing"),
        ("answers", "draft"),
        ("answers", "validated"),
        ("answers", "published"),
        ("questions", "completed"),
    ]


async def test_a_model_that_fails_leaves_an_error_with_its_reason_and_no_answer(data: Path) -> None:
    async with Library.open(data, embedder=TinyEmbedder(), answerer=FailingAnswerer()) as library:
        with pytest.raises(ModelError, match="does not answer"):
            await library.ask(LOST)
        assert query_records(library, STATES) == [("error", "ModelError: the model does not answer")]
        assert query_records(library, "SELECT count(*) FROM answers") == [(0,)]
        (entry,) = await library.conversations.list_exchanges()
        assert (entry.answer, entry.question.status) == (None, QuestionStatus.ERROR)


async def test_a_search_that_fails_is_an_error_and_never_a_refusal(data: Path) -> None:
    async with Library.open(data, embedder=FailingEmbedder(free=0)) as library:
        with pytest.raises(ModelError):
            await library.ask(LOST)
        assert query_records(library, STATES) == [("error", "ModelError: the model does not answer")]


async def test_a_scope_that_names_nothing_is_an_error_before_anything_is_searched(library: Library) -> None:
    with pytest.raises(NotFound, match="Harbour"):
        await library.ask(LOST, scope=Scope(type=ScopeType.SECTION, identifier="Harbor"))
    assert query_records(library, "SELECT status FROM questions") == [("error",)]
    with pytest.raises(NotFound, match="the-tides"):
        await library.ask(LOST, book_id="the-tide")


@pytest.mark.parametrize("last", [Asked, Scoped, Retrieved])
async def test_a_reader_who_leaves_leaves_no_question_open(library: Library, last: type[AskEvent]) -> None:
    async with aclosing(library.stream(LOST)) as events:
        async for event in events:
            if isinstance(event, last):
                break
    ((status, error),) = query_records(library, STATES)
    assert status == "error"
    assert "stopped" in error


async def test_a_reader_who_leaves_after_the_answer_has_it(library: Library) -> None:
    async with aclosing(library.stream(LOST)) as events:
        async for event in events:
            if isinstance(event, Claimed):
                break
    assert query_records(library, STATES) == [("completed", None)]


async def test_a_cancelled_question_ends_in_error(data: Path) -> None:
    model = FailingAnswerer(waits=True)
    async with Library.open(data, embedder=TinyEmbedder(), answerer=model) as library:
        asking = asyncio.create_task(library.ask(LOST))
        await model.reached.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        ((status, error),) = query_records(library, STATES)
        assert (status, error.split(":")[0]) == ("error", "CancelledError")


async def test_a_failure_to_note_the_failure_does_not_hide_it(data: Path) -> None:
    async with Library.open(data, embedder=TinyEmbedder(), answerer=FailingAnswerer()) as library:
        stop = "CREATE TRIGGER t BEFORE UPDATE OF error ON questions BEGIN SELECT RAISE(FAIL, 'no'); END"
        change_records(library.settings.data, stop)
        with pytest.raises(ModelError):
            await library.ask(LOST)


async def test_many_questions_at_once_are_all_answered(library: Library) -> None:
    answers = await asyncio.gather(*(library.ask(LOST) for _ in range(6)))
    assert {a.content for a in answers} == {"Seven boats were lost with all their nets. [1]"}
    assert query_records(library, "SELECT status, number FROM questions ORDER BY number") == [
        ("completed", n) for n in range(1, 7)
    ]


def without_ids_and_times(answer: Answer) -> Answer:
    plain = [replace(c, id="c", answer_id="a") for c in answer.citations]
    made = replace(answer, id="a", citations=tuple(plain), question_id="q", processing_time_ms=1)
    return replace(made, timestamp=answer.evidence[0].chunk.created_at, trace=type(answer.trace)())


@pytest.mark.parametrize("question", [LOST, "Where do penguins live?", "What did the harbour master do?"])
async def test_the_same_question_gets_the_same_answer_and_receipt(library: Library, question: str) -> None:
    first, second = await library.ask(question), await library.ask(question)
    assert without_ids_and_times(first) == without_ids_and_times(second)
    receipts = [dict((await library.conversations.find_exchange(a.id)).receipt) for a in (first, second)]
    assert all(isinstance(r.pop("milliseconds"), int) for r in receipts)
    assert all(set(r.pop("stages")) == set(STAGES) for r in receipts)  # type: ignore[call-overload]
    # The seal covers the ids of the citations too, which differ.
    assert all(isinstance(r.pop("seal"), str) for r in receipts)
    assert receipts[0] == receipts[1]
    assert set(receipts[0]) >= {"index", "interpreted", "evidence", "claims", "dropped", "threshold"}


async def test_what_was_asked_and_answered_comes_back_from_the_journal_as_it_was(library: Library) -> None:
    _, done = await finished(library, LOST)
    kept = await library.conversations.find_exchange(done.answer.id)
    assert (kept.question, kept.answer) == (done.question, done.answer)
    assert kept == await library.conversations.find_exchange(done.question.id)


async def test_claims_without_ground_are_dropped_and_the_receipt_says_why(data: Path) -> None:
    says = ScriptedAnswerer(
        ("Seven boats were lost with all their nets.", ["s2"]),
        ("Nine boats were lost with all their nets.", ["s2"]),
        ("Nobody knows.", ["s99"]),
        ("It was a storm.", []),
        ("A storm broke the northern pier in a single night.", ["s1", "s99"]),
        ("", ["s1"]),
    )
    section = Scope(type=ScopeType.SECTION, identifier="Storm")
    async with Library.open(data, embedder=TinyEmbedder(), answerer=says) as library:
        answer = await library.ask(LOST, scope=section)
        assert answer.content == "Seven boats were lost with all their nets. [1]"
        dropped = (await library.conversations.find_exchange(answer.id)).receipt["dropped"]
        assert isinstance(dropped, list)
        assert [text for text, _ in dropped] == [text for text, _ in [(c.text, 0) for c in says.claims[1:]]]
        assert "nine" in dropped[0][1].lower()
        assert all("s99" in reason for text, reason in dropped if text[:3] in ("Nob", "A s"))
        says.claims = says.claims[1:]
        refused = await library.ask(LOST, scope=section)
        assert refused.refusal is not None
        assert refused.citations == ()
        kept = await library.conversations.find_exchange(refused.id)
        assert kept.question.status is QuestionStatus.INSUFFICIENT_DATA
        assert len(kept.receipt["dropped"]) == 5  # type: ignore[arg-type]


async def test_a_sentence_used_twice_keeps_its_number(data: Path) -> None:
    says = ScriptedAnswerer(
        ("Seven boats were lost with all their nets.", ["s2"]),
        ("A storm broke the northern pier in a single night. Seven boats were lost.", ["s1", "s2"]),
    )
    async with Library.open(data, embedder=TinyEmbedder(), answerer=says) as library:
        answer = await library.ask(LOST, scope=Scope(type=ScopeType.SECTION, identifier="Storm"))
        assert re.findall(r"\[\d+\]", answer.content) == ["[1]", "[1]", "[2]"]
        await assert_well_cited(library, answer)


async def test_an_empty_library_says_so_but_a_selection_of_its_own_is_still_read(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "library", risk=0.9)
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        answer = await library.ask(LOST)
        assert answer.refusal is not None
        assert answer.refusal.reason is RefusalReason.EMPTY_LIBRARY
        own = await library.ask(
            "How many goats are there?", selected_text="There are twelve goats on the hill."
        )
        assert own.content == "There are twelve goats on the hill. [1]"


async def test_follow_ups_are_completed_from_the_session_and_say_how(library: Library) -> None:
    await library.ask("What broke the northern pier?", session_id="talk")
    events = [e async for e in library.stream("When?", session_id="talk")]
    assert isinstance(events[0], Asked)
    assert events[0].interpreted == "When did a storm break the northern pier in a single night?"
    assert isinstance(events[-1], Answered)
    assert events[-1].interpreted == events[0].interpreted
    session = await library.session("talk")
    assert (session.query_count, len(session.questions), len(session.answers)) == (2, 2, 2)
    assert [m.role for m in session.messages] == ["user", "assistant"] * 2
    alone = [e async for e in library.stream("When?")]
    assert isinstance(alone[0], Asked)
    assert alone[0].interpreted == "When?"


# A scope is a wall


def told(answer: Answer) -> str:
    """Everything a reader is shown of the book."""
    cited = [c.content_snippet + c.chunk.content for c in answer.citations]
    return "\n".join([answer.content, *cited, *(e.chunk.content for e in answer.evidence)])


def codes(text: str) -> set[str]:
    return set(re.findall(r"pearl\w+", text))


def line(code: str) -> str:
    return f"The stone of pearl{code} lies “deep” under the well-worn stairs."


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A book of nested sections, a book of pages, and one more; each sentence has a word of its own."""
    folder = tmp_path_factory.mktemp("rooms")
    nested = {
        f"Part {p}": " ".join(line(f"{p}x{n}") for n in range(7))
        + "".join(f"\n\n### Room {p}{r}\n\n{line(f'{p}r{r}x0')} {line(f'{p}r{r}x1')}" for r in "ab")
        for p in range(4)
    }
    pages = [[line(f"page{p}x{n}").replace("“", "").replace("”", "") for n in range(5)] for p in range(1, 9)]
    return fill_library(
        folder / "library",
        small_books.write_markdown(folder / "rooms.md", nested, title="Rooms"),
        small_books.write_pdf(folder / "pages.pdf", pages, roman=2),
        small_books.write_markdown(folder / "other.md", {"Only": line("other")}, title="Other"),
        chunk_tokens=48,
    )


@pytest.fixture
async def rooms(shelf: Path) -> AsyncIterator[Library]:
    settings = Settings(data=shelf, chunk_tokens=48)
    async with Library.open(
        settings=settings, embedder=TinyEmbedder(), answerer=AllSentencesAnswerer()
    ) as library:
        yield library


async def seen_in(
    rooms: Library, scope: Scope | None = None, *, book_id: str, text: str | None = None
) -> set[str]:
    answer = await rooms.ask(
        "Which stone lies deep under the stairs?", book_id=book_id, scope=scope, selected_text=text, top_k=20
    )
    assert answer.refusal is None, answer.content
    await assert_well_cited(rooms, answer)
    return codes(told(answer))


async def test_nothing_comes_from_another_book(rooms: Library) -> None:
    assert await seen_in(rooms, book_id="other") == {"pearlother"}
    assert all("page" in code for code in await seen_in(rooms, book_id="pages"))


async def test_nothing_comes_from_another_section(rooms: Library) -> None:
    for section in await rooms.contents("rooms"):
        below = [s for s in await rooms.contents("rooms") if section.id in (s.id, *s.ancestors)]
        scope = Scope(type=ScopeType.SECTION, identifier=section.id)
        assert await seen_in(rooms, scope, book_id="rooms") == codes(" ".join(s.text for s in below))


async def test_nothing_comes_from_further_on_than_the_reader_is(rooms: Library) -> None:
    sections = await rooms.contents("rooms")
    for section in sections:
        scope = Scope(type=ScopeType.UP_TO, identifier=section.id)
        read = [s for s in sections if s.position <= section.position or section.id in s.ancestors]
        assert await seen_in(rooms, scope, book_id="rooms") <= codes(" ".join(s.text for s in read))
    for page in range(3, 9):
        scope = Scope(type=ScopeType.UP_TO, identifier=f"p. #{page}")
        later = {f"pearlpage{p}x" for p in range(page + 1, 9)}
        seen = await seen_in(rooms, scope, book_id="pages")
        assert not [code for code in seen if code[:-1] in later]


async def test_nothing_comes_from_another_page(rooms: Library) -> None:
    shelf = await rooms._context()
    assert all(c.page_number == c.page_end for c in await shelf.records.list_chunks("pages"))
    for first in range(1, 9):
        for last in (first, min(8, first + 1)):
            scope = Scope(type=ScopeType.PAGE, identifier=f"#{first}-#{last}")
            answer = await rooms.ask("Which stone lies deep?", book_id="pages", scope=scope, top_k=20)
            await assert_well_cited(rooms, answer)
            assert codes(told(answer)) == {
                f"pearlpage{p}x{n}" for p in range(first, last + 1) for n in range(5)
            }
            pages = {number for c in answer.citations for number in (c.chunk.page_number, c.chunk.page_end)}
            assert pages <= {first, last}
            for c in answer.citations:
                (code,) = codes(c.content_snippet)
                assert c.link.endswith(f"#page={code[len('pearlpage')]}")


async def test_nothing_comes_from_beside_a_selection_however_it_was_copied(rooms: Library) -> None:
    chance = random.Random(5)
    sections = [s for s in await rooms.contents("rooms") if s.level == 1]
    for _ in range(25):
        section = chance.choice(sections)
        sentences = re.findall(r"The stone.*?stairs\.", section.text)
        start = chance.randrange(len(sentences))
        wanted = sentences[start : start + chance.randint(1, 5)]
        copy_library = chance.choice([" ", "\n", " \t "]).join(wanted)
        copy_library = copy_library.replace("“", chance.choice(['"', "«"])).replace(
            "-", chance.choice(["-\n", "\u00ad", "‐"])
        )
        seen = await seen_in(rooms, book_id="rooms", text=copy_library)
        assert seen == codes(" ".join(wanted))
