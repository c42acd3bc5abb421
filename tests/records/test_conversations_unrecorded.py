"""On a full disk questions are refused, or answered without a record where the owner allows it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from octavo.errors import NotFound, StorageLow
from octavo.library import Library
from octavo.records import database
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from octavo.types import Answer
from tests.support import small_books


@pytest.fixture
async def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library whose records cannot grow any more: SQLite says that the disk is full."""
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        await library.add(small_books.write_markdown(tmp_path / "tides.md"))
        await library.session("ours")
    with closing(sqlite3.connect(tmp_path / "library" / "records.sqlite")) as records:
        records.execute("VACUUM")
        (pages,) = records.execute("PRAGMA page_count").fetchone()
    monkeypatch.setattr(database, "PRAGMAS", (*database.PRAGMAS, f"max_page_count = {pages}"))
    return tmp_path / "library"


async def ask_until_full(library: Library, *, session_id: str | None = None) -> list[Answer]:
    return [
        await library.ask(f"Who keeps the harbour, {'really, ' * n}and why?", session_id=session_id)
        for n in range(20)
    ]


async def test_without_leave_a_question_that_cannot_be_recorded_is_refused(data: Path) -> None:
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        with pytest.raises(StorageLow, match="is full"):
            await ask_until_full(library)
        assert await library.search("harbour")


async def test_with_leave_it_is_answered_and_nothing_of_it_is_half_recorded(data: Path) -> None:
    settings = Settings(data=data, answer_unrecorded=True)
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        given = await ask_until_full(library, session_id="ours")
        assert len(given) == 20
        with pytest.raises(NotFound):
            await library.conversations.find_exchange(given[-1].id)
        with pytest.raises(NotFound):
            await library.conversations.start_session("ours", owner="somebody else")
        recorded = await library.conversations.list_exchanges()
        assert all(exchange.answer is not None for exchange in recorded)
