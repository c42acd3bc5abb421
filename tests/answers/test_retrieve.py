"""Retrieval in a context: selected text, history, preferences and filters, sync and async."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import octavo
from octavo.answers.retrieve import build_question, read_context, read_message
from octavo.answers.steps import read_history
from octavo.errors import InvalidValue, NotFound
from octavo.library import Library
from octavo.testing import TinyEmbedder
from octavo.types import Message, QueryContext, Question, Scope, ScopeType
from octavo.validation import EvidenceState, QuestionStatus
from tests.support import small_books

LOST = "How many boats were lost?"
HILLS = {
    "Paths": "A storm broke the northern road in a single night. Seven boats were lost with all their oars.",
    "Weather": "Rain falls on the hills for most of the year.",
}


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as opened:
        await opened.add(small_books.write_epub(tmp_path / "tides.epub"))
        await opened.add(small_books.write_markdown(tmp_path / "hills.md", HILLS, title="The Hills"))
        yield opened


async def test_a_passage_has_what_the_retrieval_document_asks_for(library: Library) -> None:
    found = await library.retrieve("Who trimmed the lamp?", top_k=2, embeddings=True)
    first = found[0]
    assert (len(found), found[0:2]) == (2, found.results)
    assert "trimmed the lamp" in first.content
    assert (first.chunk_id, first.state) == (first.chunk.id, EvidenceState.RETRIEVED)
    assert (first.source_file, first.source_location) == ("c1.xhtml", "The Tides › Lighthouse")
    assert first.embedding_vector is not None
    (embedded,) = TinyEmbedder().embed([first.content])
    assert len(first.embedding_vector) == len(embedded)
    assert found.query.status is QuestionStatus.COMPLETED
    assert "processed" in found.query.states
    assert (found.interpreted, found.scope) == ("Who trimmed the lamp?", "the whole library")


async def test_vectors_come_only_when_asked_for_and_nothing_is_recorded(library: Library) -> None:
    found = await library.retrieve(LOST)
    assert [item.embedding for item in found] == [None] * len(found)
    assert await library.conversations.list_exchanges() == []


async def test_selected_text_is_the_scope_in_the_book_and_outside_of_it(library: Library) -> None:
    chosen = "Seven boats were lost with all their nets"
    found = await library.retrieve(LOST, {"selected_text": chosen}, embeddings=True)
    assert [item.chunk.section for item in found] == ["Storm"]
    assert found.scope == "your selection in The Tides › Storm"
    own = await library.retrieve(LOST, {"selected_text": "My own note says nine boats."}, embeddings=True)
    assert [item.content for item in own] == ["My own note says nine boats."]
    assert own[0].embedding is not None


async def test_the_history_completes_a_follow_up(library: Library) -> None:
    history = [
        {"role": "user", "content": "Is the keeper of the lighthouse old?"},
        {"role": "assistant", "content": "The keeper of the lighthouse is old."},
    ]
    found = await library.retrieve("Why?", {"conversation_history": history})
    assert found.interpreted == "Why is the keeper of the lighthouse old?"
    assert found[0].chunk.section == "Lighthouse"
    assert (await library.retrieve("Why?")).interpreted == "Why?"
    answered = [e async for e in library.stream(build_question("Why?", {"conversation_history": history}))]
    assert answered[-1].interpreted == found.interpreted  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("filters", "sections"),
    [
        ({"book_id": "the-hills"}, {"Paths", "Weather"}),
        ({"book_id": ["the-hills", "The Tides"], "language": "en"}, {*small_books.TIDES}),
        ({"book_id": "the-tides", "section": "Storm"}, {"Storm"}),
        ({"book_id": "the-tides", "up_to": "Lighthouse"}, {"Harbour", "Lighthouse"}),
        ({"source_file": ["c2.xhtml", "c3.xhtml"]}, {"Storm", "Morning"}),
        ({"language": "fr"}, set()),
        ({"section": None, "book_id": "the-hills"}, {"Paths", "Weather"}),
    ],
)
async def test_filters_leave_out_what_they_do_not_allow(
    library: Library, filters: dict[str, object], sections: set[str]
) -> None:
    found = await library.retrieve(LOST, {"filters": filters}, top_k=20)
    assert {item.chunk.section for item in found} == sections
    assert found.query.status is (QuestionStatus.COMPLETED if sections else QuestionStatus.INSUFFICIENT_DATA)


@pytest.mark.parametrize(
    "filters",
    [{"colour": "red"}, {"section": "Storm", "page": 1}, {"book_id": []}, {"language": 3}, {"section": " "}],
)
async def test_a_filter_that_is_not_understood_is_refused(
    library: Library, filters: dict[str, object]
) -> None:
    with pytest.raises(InvalidValue, match="filters"):
        await library.retrieve(LOST, {"filters": filters})


async def test_filters_do_not_reach_beyond_the_books_one_may_read(library: Library) -> None:
    with pytest.raises(NotFound):
        await library.retrieve(LOST, {"filters": {"book_id": "the-hills"}}, books=["the-tides"])
    found = await library.retrieve(LOST, {"filters": {"source_file": "hills.md"}}, books=["the-tides"])
    assert list(found) == []


async def test_preferences_decide_between_passages_that_fit_equally_well(library: Library) -> None:
    async def first(**preferences: object) -> str:
        found = await library.retrieve(LOST, {"user_preferences": preferences}, top_k=2)
        assert [item.rank for item in found] == [1, 2]
        return found[0].chunk.section

    plain = [item.chunk.section for item in await library.retrieve(LOST, top_k=2)]
    assert set(plain) == {"Storm", "Paths"}
    assert await first(books="The Hills") == await first(sections=["Paths"]) == "Paths"
    assert await first(books=["the-tides"]) == await first(language="en") == "Storm"


async def test_a_preference_hides_nothing(library: Library) -> None:
    found = await library.retrieve(LOST, {"user_preferences": {"books": "the-hills"}}, top_k=20)
    assert {item.chunk.book_id for item in found} == {"the-hills", "the-tides"}


def test_a_context_is_read_from_a_plain_object() -> None:
    read = read_context({"selected_text": None, "conversation_history": [{"role": "user", "content": "Hi"}]})
    assert (read.selected_text, read.conversation_history[0].content) == (None, "Hi")
    assert read_context(None) == QueryContext()
    with pytest.raises(InvalidValue, match="context may have only"):
        read_context({"colour": "red"})
    with pytest.raises(InvalidValue, match="conversation_history"):
        read_context({"conversation_history": "Hi"})
    with pytest.raises(InvalidValue, match="conversation_history"):
        read_context({"conversation_history": ["Hi"]})


def test_a_message_needs_only_its_role_and_its_content() -> None:
    read = read_message({"role": "user", "content": "Hi", "timestamp": "2025-03-01T12:00:00", "id": 7})
    assert (read.id, read.timestamp) == ("7", datetime(2025, 3, 1, 12, tzinfo=UTC))
    with pytest.raises(InvalidValue, match=r"Message.role"):
        read_message({"content": "Hi"})
    with pytest.raises(InvalidValue, match=r"Message.timestamp"):
        read_message({"role": "user", "content": "Hi", "timestamp": "noon"})


def test_what_the_context_leaves_out_stays_as_in_the_question() -> None:
    question = Question(content=LOST, selected_text="nets", filters={"book_id": "a"}, top_k=3)
    assert build_question(question, None) == question
    assert build_question(question, {"filters": {"book_id": "b"}}, top_k=7).filters == {"book_id": "b"}


def test_turns_are_questions_with_the_answers_that_follow_them() -> None:
    def say(role: str, content: str) -> Message:
        return read_message({"role": role, "content": content})

    talk = [say("assistant", "Hello."), say("user", "One?"), say("user", "Two?"), say("assistant", "2.")]
    assert [(turn.question, turn.answer) for turn in read_history(talk)] == [("One?", ""), ("Two?", "2.")]


async def test_the_function_opens_the_library_itself(library: Library, tmp_path: Path) -> None:
    async with Library.open(tmp_path / "other") as other:
        await other.add(small_books.write_markdown(tmp_path / "tides.md"))
    found = await octavo.retrieve(LOST, QueryContext(), data=tmp_path / "other", top_k=1)
    assert found[0].chunk.section == "Storm"


async def test_a_filter_that_names_a_part_is_refused_beside_a_scope(library: Library) -> None:
    part = {"section": "one"}
    scoped = Question(
        content=LOST, book_id="the-tides", filters=part, scope=Scope(type=ScopeType.SECTION, identifier="one")
    )
    selected = Question(content=LOST, book_id="the-tides", filters=part, selected_text="nets")
    for question in (scoped, selected):
        with pytest.raises(InvalidValue, match="must name no part of the book"):
            await library.ask(question)
