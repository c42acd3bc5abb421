"""Conversations are deleted when they are old, on request, or with the book whose words they show."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from octavo.errors import NotFound
from octavo.events import Answered
from octavo.library import Library
from octavo.records.conversations import Rating
from octavo.records.idempotency import IdempotentRequests
from octavo.schemas.answers import describe_event
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from tests.support import small_books

WORDS = "Seven boats were lost"


async def fill(data: Path, **settings: object) -> None:
    chosen = Settings(data=data, **settings)
    async with Library.open(settings=chosen, embedder=TinyEmbedder()) as library:
        await library.add(small_books.write_markdown(data.parent / "tides.md"), book_id="tides")
        for session_id in ("old", "new"):
            await library.session(session_id)
            answer = await library.ask("How many boats were lost?", session_id=session_id)
            await library.conversations.rate(Rating(answer.id, "up"), owner="")


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    """A library with a conversation of last year and one of today."""
    await fill(tmp_path / "library")
    then = int((datetime.now(UTC) - timedelta(days=365)).timestamp() * 1_000_000)
    with closing(sqlite3.connect(tmp_path / "library" / "records.sqlite")) as records, records:
        records.execute("UPDATE questions SET timestamp = ? WHERE session_id = 'old'", (then,))
        records.execute("UPDATE sessions SET start_time = ? WHERE session_id = 'old'", (then,))
    return tmp_path / "library"


def count_rows(data: Path) -> dict[str, int]:
    with closing(sqlite3.connect(data / "records.sqlite")) as records:
        names = ("sessions", "questions", "answers", "feedback")
        return {name: records.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}


async def test_a_deleted_session_is_gone_with_all_that_was_said_in_it(data: Path) -> None:
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        with pytest.raises(NotFound):
            await library.conversations.delete_session("new", owner="somebody else")
        await library.conversations.delete_session("new")
        with pytest.raises(NotFound):
            await library.conversations.find_session("new")
    assert set(count_rows(data).values()) == {1}


async def test_what_is_too_old_is_deleted_when_the_library_is_opened(data: Path) -> None:
    async with Library.open(settings=Settings(data=data, keep_days=400), embedder=TinyEmbedder()) as library:
        await library.prepare()
        assert len(await library.conversations.list_sessions()) == 2
    async with Library.open(settings=Settings(data=data, keep_days=90), embedder=TinyEmbedder()) as library:
        await library.prepare()
        assert [each.session_id for each in await library.conversations.list_sessions()] == ["new"]
    assert set(count_rows(data).values()) == {1}


async def test_without_a_setting_everything_is_kept_and_prune_says_how_much_it_deleted(data: Path) -> None:
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        await library.prepare()
        assert await library.prune() == 0
        assert await library.prune(days=90) == 1
        assert await library.prune(days=90) == 0


@pytest.mark.parametrize("keep", [True, False])
async def test_the_owner_chooses_whether_old_answers_keep_the_words_of_a_removed_book(
    data: Path, keep: bool
) -> None:
    settings = Settings(data=data, keep_quotations=keep)
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        await library.remove("tides")
        verdicts = await library.verify()
    assert count_rows(data) == {"sessions": 2, "questions": 2} | dict.fromkeys(
        ("answers", "feedback"), 2 if keep else 0
    )
    assert all(not verdict.checked for verdict in verdicts if verdict.number)
    # The time of the old question was changed above.
    changed = ["the stored answer was changed afterwards"]
    assert [verdict.note for verdict in verdicts if not verdict.number] == (changed if keep else [])
    with closing(sqlite3.connect(data / "records.sqlite")) as records:
        dump = "\n".join(records.iterdump())
    assert (WORDS in dump) is keep


@pytest.mark.parametrize("how", ["session", "old", "book"])
async def test_the_responses_for_repeated_requests_are_deleted_with_their_questions(
    data: Path, how: str
) -> None:
    settings = Settings(data=data, keep_quotations=False)
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        idempotent = IdempotentRequests(library.conversations._database)
        async with idempotent.claim("job", owner="", request=b"a book") as once:
            once.response = {"job": {"job_id": "1"}}
        async with idempotent.claim("k", owner="", request=b"a question") as once:
            async for event in library.stream("How many boats were lost?", session_id="new"):
                if isinstance(event, Answered):
                    once.response = describe_event(event).to_json()
        assert list_keys(data) == ["job", "k"]
        if how == "session":
            await library.conversations.delete_session("old")
            assert list_keys(data) == ["job", "k"]
            await library.conversations.delete_session("new")
        elif how == "book":
            await library.remove("tides")
        else:
            await library.prune(days=1)
            assert list_keys(data) == ["job", "k"]
            await library.conversations.prune(before=datetime.now(UTC) + timedelta(seconds=1))
    assert list_keys(data) == ([] if how == "old" else ["job"])


async def test_prune_deletes_the_responses_of_more_than_a_day_ago(data: Path) -> None:
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        idempotent = IdempotentRequests(library.conversations._database)
        async with idempotent.claim("k", owner="", request=b"a question") as once:
            once.response = {}
        then = int((datetime.now(UTC) - timedelta(days=2)).timestamp() * 1_000_000)
        with closing(sqlite3.connect(data / "records.sqlite")) as records, records:
            records.execute("UPDATE requests SET created_at = ?", (then,))
        await library.prune(days=90)
    assert list_keys(data) == []


def list_keys(data: Path) -> list[str]:
    with closing(sqlite3.connect(data / "records.sqlite")) as records:
        return [key for (key,) in records.execute("SELECT key FROM requests ORDER BY key")]
