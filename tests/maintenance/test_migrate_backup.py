"""A library is a folder: a copy of it, taken at any moment and opened anywhere, gives the same answers."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from octavo.events import Embedding, IngestEvent, Storing
from octavo.library import Library
from octavo.maintenance.repair import UnknownPoints, find_difference
from octavo.testing import TinyEmbedder
from tests.support import small_books

QUERIES = (
    "the harbour master counted the ships",
    "who trimmed the lamp of the lighthouse",
    "a storm broke the northern pier",
    "the gulls and the bells in the morning",
    "wind and miles in the log of the ship",
)
QUESTIONS = ("How many boats were lost with all their nets?", "What did the keeper of the lighthouse trim?")
Seen = tuple[list[object], list[object], list[object]]


def log_book(path: Path, days: Sequence[int]) -> Path:
    """A book of as many chapters as there are days: more than one batch, when there are many."""
    said = {f"Day {n}": f"On day {n} the log of the ship says wind {n} and {n * 7} miles." for n in days}
    return small_books.write_markdown(path, said, title="The Log")


def copied(data: Path, to: Path) -> Path:
    """As a backup program copies: file after file, holes and all."""
    subprocess.run(["cp", "-R", data, to], check=True)
    return to


async def seen(library: Library) -> Seen:
    """Books, passages and citations: everything that a reader sees."""
    found: list[object] = []
    for query in QUERIES:
        found += [(e.chunk, e.relevance_score, e.rank) for e in await library.search(query, top_k=20)]
    cited: list[object] = []
    for question in QUESTIONS:
        answer = await library.ask(question)
        cited += [answer.content, answer.confidence, answer.refusal and answer.refusal.reason]
        cited += [(c.number, c.chunk, c.start, c.end, c.content_snippet, c.link) for c in answer.citations]
    return [*await library.books()], found, cited


async def opened_and_seen(data: Path) -> Seen:
    embedder = TinyEmbedder()
    async with Library.open(data, embedder=embedder) as library:
        said = await seen(library)
        assert not await find_difference(await library._context())
        assert await library._records.list_pending() == []
        assert await library._records.find_problems() == []
    return said


async def test_a_copy_taken_between_two_adds_answers_as_the_library_did_then(tmp_path: Path) -> None:
    data = tmp_path / "library"
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        await library.add(small_books.write_markdown(tmp_path / "tides.md"))
        then = await seen(library)
        copy = copied(data, tmp_path / "elsewhere")  # while the library is open
        await library.add(log_book(tmp_path / "log.md", range(30)))
        now = await seen(library)
    assert then[2][-1], "nothing was cited: there is nothing to compare"
    assert await opened_and_seen(copy) == then != now
    shutil.rmtree(data)
    assert await opened_and_seen(copied(copy, tmp_path / "a third place")) == then


@pytest.mark.parametrize("moment", [Embedding, Storing])
async def test_a_copy_taken_during_an_add_holds_the_old_edition_whole(
    moment: type[IngestEvent], tmp_path: Path
) -> None:
    """Between two batches of the new edition, with some of it embedded or even stored."""
    data, path = tmp_path / "library", tmp_path / "log.md"
    copies: list[Path] = []

    def listen(event: IngestEvent) -> None:
        if isinstance(event, moment) and not copies:
            copies.append(copied(data, tmp_path / "copy"))

    async with Library.open(data, embedder=TinyEmbedder()) as library:
        await library.add(small_books.write_markdown(tmp_path / "tides.md"))
        await library.add(log_book(path, range(40)))
        then = await seen(library)
        await library.add(log_book(path, range(20, 160)), on_event=listen)
        now = await seen(library)
    assert copies
    assert await opened_and_seen(copies[0]) == then
    assert await opened_and_seen(data) == now != then


async def test_a_copy_of_the_records_alone_brings_the_whole_library_back(tmp_path: Path) -> None:
    data, alone = tmp_path / "library", tmp_path / "alone"
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        await library.add(small_books.write_markdown(tmp_path / "tides.md"))
        then = await seen(library)
    alone.mkdir()
    shutil.copy(data / "records.sqlite", alone)
    embedder = TinyEmbedder()
    async with Library.open(alone, embedder=embedder) as library:
        findings = {f.what: f for f in await library.examine(repair=True)}
        assert findings["store"].sound
        assert embedder.embedded == 1, "only the question whether the model answers"
    assert await opened_and_seen(alone) == then


async def test_the_store_of_yesterday_under_the_records_of_today_is_refused_and_kept(
    tmp_path: Path,
) -> None:
    data = tmp_path / "library"
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        await library.add(small_books.write_markdown(tmp_path / "tides.md"))
    yesterday = copied(data / "store", tmp_path / "yesterday")
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        await library.add(log_book(tmp_path / "log.md", range(10)))
        await library.add(
            small_books.write_markdown(tmp_path / "tides.md", {"Storm": "A second storm came."})
        )
    shutil.rmtree(data / "store")
    yesterday.rename(data / "store")
    # The old edition's passages are in no record any more. They are never deleted unasked.
    with pytest.raises(UnknownPoints, match="nothing was deleted"):
        await opened_and_seen(data)
