"""The library without `await`: it is written from the asynchronous one, and does the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.sync_library import MODULE, write_module
from octavo.errors import NotFound
from octavo.events import Answered
from octavo.settings import Settings
from octavo.sync import Library, retrieve
from octavo.testing import TinyEmbedder
from tests.support import small_books

LOST = "How many boats were lost?"


def test_the_module_is_what_the_script_writes() -> None:
    assert MODULE.read_text(encoding="utf-8") == write_module(), "run: python -m benchmarks.sync_library"


def test_a_book_is_added_searched_asked_and_removed(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "library", risk=0.9)
    with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        book = library.add(small_books.write_markdown(tmp_path / "tides.md"))
        assert [b.id for b in library.books()] == [book.id]
        assert library.search(LOST, top_k=1)[0].chunk.section == "Storm"
        assert library.retrieve(LOST, {"filters": {"section": "Harbour"}})[0].chunk.section == "Harbour"
        assert library.ask(LOST).content == "Seven boats were lost with all their nets. [1]"
        events = list(library.stream(LOST))
        assert isinstance(events[-1], Answered)
        library.remove(book.id)
        with pytest.raises(NotFound):
            library.book(book.id)


def test_who_stops_listening_stops_the_question(tmp_path: Path) -> None:
    with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        library.add(small_books.write_markdown(tmp_path / "tides.md"))
        for _event in library.stream(LOST):
            break
        assert library.search("boats", top_k=1)


async def test_it_works_inside_of_a_running_loop_and_closes_behind_itself(tmp_path: Path) -> None:
    book = small_books.write_markdown(tmp_path / "tides.md")
    for _ in range(2):
        with Library.open(tmp_path / "library") as library:
            library.add(book)
    assert retrieve(LOST, data=tmp_path / "library", top_k=1)[0].chunk.section == "Storm"
