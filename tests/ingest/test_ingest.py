"""The way of a book into the library: once, whole or not at all, and only what changed."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import pytest

from octavo.errors import BadBook, ModelError, OctavoError, StorageLow
from octavo.events import Compared, Embedding, IngestEvent, Published, Storing
from octavo.ingest import ingest
from octavo.library import Library
from octavo.maintenance.repair import find_difference
from octavo.records import covers
from octavo.records.options import BookOptions
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from octavo.types import Scope, ScopeType
from tests.support import small_books
from tests.support.embedders import FailingEmbedder, GatedEmbedder
from tests.support.patience import PATIENCE


@dataclass(frozen=True)
class Desk:
    """An open library with a folder to write books in."""

    library: Library
    embedder: TinyEmbedder
    folder: Path


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    embedder = TinyEmbedder()
    async with Library.open(tmp_path / "library", embedder=embedder) as library:
        yield Desk(library, embedder, tmp_path)


def long_book(path: Path, *, chapters: int = 150) -> Path:
    """More chapters than are embedded in one batch."""
    said = {
        f"Day {n}": f"On day {n} the log of the ship says wind {n} and {n * 7} miles."
        for n in range(chapters)
    }
    return small_books.write_markdown(path, said, title="The Log")


async def untouched(library: Library) -> bool:
    """Nothing is on its way, nothing is left over, and store and records agree."""
    context = await library._context()
    records = context.records
    left = await records.list_pending() or await records.list_unsettled() or await records.list_removals()
    return not left and not await find_difference(context)


async def test_adding_the_same_book_twice_does_nothing(desk: Desk) -> None:
    path = small_books.write_markdown(desk.folder / "tides.md")
    seen: list[str] = []
    first = await desk.library.add(path, on_event=lambda event: seen.append(event.kind))
    # A sign of life comes for each second, which a small book may take on a busy machine.
    steps = [kind for kind in seen if kind != "preparing"]
    assert steps == ["parsed", "compared", "embedding", "storing", "published"]
    embedded = desk.embedder.embedded
    again: list[IngestEvent] = []
    assert await desk.library.add(path, on_event=again.append) == first
    assert [event.kind for event in again if event.kind != "preparing"] == ["parsed", "published"]
    assert getattr(again[-1], "unchanged", None) is True
    assert desk.embedder.embedded == embedded
    assert await untouched(desk.library)


async def test_a_renamed_file_and_the_same_words_in_other_formats_are_the_same_book(desk: Desk) -> None:
    first = await desk.library.add(small_books.write_markdown(desk.folder / "tides.md"))
    embedded = desk.embedder.embedded
    shutil.copy(desk.folder / "tides.md", desk.folder / "copy of tides.md")
    for copy in (
        desk.folder / "copy of tides.md",
        small_books.write_html(desk.folder / "tides.html"),
        small_books.write_epub(desk.folder / "t.epub"),
    ):
        assert await desk.library.add(copy) == first, copy
    assert desk.embedder.embedded == embedded


async def test_a_text_that_is_named_after_its_file_is_the_same_book_under_another_name(desk: Desk) -> None:
    first = await desk.library.add(small_books.write_text(desk.folder / "notes.txt"))
    again = await desk.library.add(small_books.write_text(desk.folder / "notes-copy.txt"))
    assert (again, again.title, await desk.library.books()) == (first, "Notes", [first])


async def test_a_new_edition_keeps_its_id_and_embeds_only_what_changed(desk: Desk) -> None:
    library = desk.library
    path = small_books.write_markdown(desk.folder / "tides.md")
    old = await library.add(path)
    embedded = desk.embedder.embedded
    changed = {"Foreword": "This foreword is new and stands before all.", **small_books.TIDES}
    changed["Storm"] = "The storm of the second edition broke the southern pier instead."
    del changed["Morning"]
    new = await library.add(small_books.write_markdown(path, changed))
    assert (new.id, new.added_at) == (old.id, old.added_at)
    assert new.content_hash != old.content_hash
    assert new.updated_at > old.updated_at
    assert desk.embedder.embedded == embedded + 2
    assert await untouched(library)
    texts = [e.chunk.content for e in await library.search("pier gulls boats storm", top_k=100)]
    assert len(texts) == new.chunk_count == 4
    assert not any("gulls" in text or "northern" in text for text in texts)


async def test_positions_of_what_moved_are_right_after_a_new_edition(desk: Desk) -> None:
    library = desk.library
    path = small_books.write_markdown(desk.folder / "tides.md")
    await library.add(path)
    turned = dict(reversed(small_books.TIDES.items()))
    embedded = desk.embedder.embedded
    book = await library.add(small_books.write_markdown(path, turned))
    assert desk.embedder.embedded == embedded
    for number, name in enumerate(turned):
        found = await library.search(
            "the ships, the keeper, the storm, the gulls",
            book_id=book.id,
            scope=Scope(type=ScopeType.UP_TO, identifier=name),
            top_k=100,
        )
        assert {e.chunk.section for e in found} == set(list(turned)[: number + 1])
    assert await untouched(library)


async def test_copies_keep_one_copy_of_the_vectors(desk: Desk) -> None:
    path = small_books.write_markdown(desk.folder / "tides.md")
    first = await desk.library.add(path)
    for number in range(3):
        copy = desk.folder / f"{number}.md"
        copy.write_bytes(path.read_bytes())
        assert (await desk.library.add(copy)).id == first.id
    for number in range(2):  # asked for by name, copies are books of their own, and still embed nothing
        await desk.library.add(path, book_id=f"copy-{number}")
    assert len(await desk.library.books()) == 3
    context = await desk.library._context()
    keys = {key for _, key in (await context.records.read_manifest()).values()}
    assert len(keys) == desk.embedder.embedded == first.chunk_count


async def test_two_adds_of_one_file_at_once_are_one_ingest(desk: Desk) -> None:
    path = small_books.write_markdown(desk.folder / "tides.md")
    one, two = await asyncio.gather(desk.library.add(path), desk.library.add(path))
    assert one == two
    assert desk.embedder.embedded == one.chunk_count


async def test_a_book_that_came_in_meanwhile_is_said_to_be_replaced(desk: Desk) -> None:
    early = small_books.write_markdown(desk.folder / "early.md", {"One": "It rained early in the year."})
    late = small_books.write_markdown(desk.folder / "late.md", {"One": "It rained late in the year."})
    context, seen = await desk.library._context(), list[Compared]()
    steps = ingest(late, context, BookOptions(book_id="rain"), changes=desk.library._changes)
    async with aclosing(steps):
        async for event in steps:
            if isinstance(event, Compared):
                seen.append(event)
                if len(seen) == 1:
                    await desk.library.add(early, book_id="rain")
    assert [bool(compared.replaces) for compared in seen] == [False, True]
    assert "late" in (await desk.library.contents("rain"))[-1].text


@pytest.mark.parametrize(("said", "code"), [("", "empty_file"), ("Hi", "no_text"), (" \n ", "no_text")])
async def test_a_book_with_not_enough_text_is_refused_honestly(desk: Desk, said: str, code: str) -> None:
    path = desk.folder / "short.txt"
    path.write_text(said)
    with pytest.raises(BadBook) as refused:
        await desk.library.add(path)
    assert refused.value.code == code
    assert await desk.library.books() == []


async def test_a_book_of_one_sentence_is_found(desk: Desk) -> None:
    path = desk.folder / "one.txt"
    path.write_text("Call me Ishmael.")
    await desk.library.add(path)
    assert [e.chunk.content for e in await desk.library.search("Ishmael")] == ["Call me Ishmael."]


async def test_a_cancelled_add_leaves_the_library_as_it_was_and_goes_on_where_it_stopped(
    tmp_path: Path,
) -> None:
    embedder = GatedEmbedder(free=2)
    async with Library.open(tmp_path / "library", embedder=embedder) as library:
        adding = asyncio.create_task(library.add(long_book(tmp_path / "log.md")))
        await asyncio.to_thread(embedder.waiting.wait, PATIENCE)
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding
        embedder.gate.set()
        assert await library.books() == []
        assert await untouched(library)
        done = 128  # two batches
        await asyncio.to_thread(embedder.gate.wait)
        embedder.free, before = 99, embedder.embedded
        book = await library.add(tmp_path / "log.md")
        assert embedder.embedded - before == book.chunk_count - done


@pytest.mark.parametrize("step", ["publish", "settle", "save_cover"])
async def test_who_cancels_while_a_book_comes_out_is_told_that_it_is_out(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    seen = list[IngestEvent]()
    doing = covers if step == "save_cover" else (await desk.library._context()).records
    really = getattr(doing, step)

    async def cancelled_meanwhile(*place: object, **more: bool) -> None:
        adding.cancel()
        await asyncio.sleep(0)
        adding.cancel()  # also by one who is impatient
        await really(*place, **more)

    monkeypatch.setattr(doing, step, cancelled_meanwhile)
    path = small_books.write_markdown(desk.folder / "tides.md")
    adding = asyncio.create_task(desk.library.add(path, on_event=seen.append))
    with pytest.raises(asyncio.CancelledError):
        await adding
    assert isinstance(seen[-1], Published)
    assert await desk.library.books() == [seen[-1].book]
    assert await untouched(desk.library)


@pytest.mark.parametrize("free", [0, 1])
async def test_a_failing_embedder_leaves_nothing_behind(tmp_path: Path, free: int) -> None:
    embedder = FailingEmbedder(free=99)
    async with Library.open(tmp_path / "library", embedder=embedder) as library:
        kept = await library.add(small_books.write_markdown(tmp_path / "tides.md"))
        embedder.free = free
        with pytest.raises(ModelError):
            await library.add(long_book(tmp_path / "log.md"))
        assert await library.books() == [kept]
        assert await untouched(library)
        embedder.free = 99
        assert len(await library.search("the harbour master")) == kept.chunk_count


async def test_a_failing_new_edition_leaves_the_old_one(tmp_path: Path) -> None:
    embedder = FailingEmbedder(free=1)
    async with Library.open(tmp_path / "library", embedder=embedder) as library:
        path = small_books.write_markdown(tmp_path / "tides.md")
        old = await library.add(path)
        with pytest.raises(ModelError):
            await library.add(small_books.write_markdown(path, {"Harbour": "Other words stand here now."}))
        assert await library.books() == [old]
        assert await untouched(library)


async def test_a_listener_that_fails_undoes_the_add_at_once(desk: Desk) -> None:
    def listen(event: IngestEvent) -> None:
        if isinstance(event, Embedding):
            raise OctavoError("the pipe is broken")

    with pytest.raises(OctavoError, match="pipe"):
        await desk.library.add(small_books.write_markdown(desk.folder / "tides.md"), on_event=listen)
    assert await desk.library.books() == []
    assert await untouched(desk.library)


async def test_what_a_late_cancel_left_open_is_finished_by_the_next_change(desk: Desk) -> None:
    library = desk.library
    path = small_books.write_markdown(desk.folder / "tides.md")
    await library.add(path)
    context = await library._context()
    book = (await library.books())[0]
    await context.records.remove(book.id)  # as if it had been cancelled before the store was told
    assert not await untouched(library)
    await library.add(
        small_books.write_markdown(desk.folder / "other.md", {"A": "Goats graze."}, title="Hills")
    )
    assert await untouched(library)


async def test_too_little_space_is_said_before_anything_is_written(tmp_path: Path) -> None:
    data, path = tmp_path / "library", small_books.write_markdown(tmp_path / "tides.md")
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        book = await library.add(path)
    embedder = TinyEmbedder()
    crowded = Settings(data=data, free_space_mb=10**9)
    async with Library.open(settings=crowded, embedder=embedder) as library:
        assert len(await library.search("the harbour master")) == book.chunk_count
        embedded = embedder.embedded
        with pytest.raises(StorageLow, match="free"):
            await library.add(long_book(tmp_path / "log.md"))
        assert embedder.embedded == embedded
        assert await library.books() == [book]
        assert await untouched(library)
        assert len(await library.search("the lighthouse")) == book.chunk_count


async def test_an_edition_on_its_way_is_never_found(tmp_path: Path) -> None:
    embedder = GatedEmbedder(free=4)
    async with Library.open(tmp_path / "library", embedder=embedder) as library:
        path = small_books.write_markdown(tmp_path / "tides.md")
        old = await library.add(path)
        await library.search("storm and harbour")
        seen: list[set[str]] = []
        new = {"Storm": "The storm of the second edition broke the harbour."}

        async def look() -> None:
            found = await library.search("storm and harbour", top_k=100)
            seen.append({e.chunk.content for e in found})

        embedder.free = 0
        adding = asyncio.create_task(
            library.add(small_books.write_markdown(path, new | small_books.TIDES | new))
        )
        await asyncio.to_thread(embedder.waiting.wait, PATIENCE)
        await look()
        embedder.gate.set()
        while not adding.done():
            await look()
            await asyncio.sleep(0)
        await look()
        northern, second = "northern pier", "second edition"
        assert len(seen[0]) == old.chunk_count
        assert second not in " ".join(seen[0])
        assert all((northern in " ".join(texts)) != (second in " ".join(texts)) for texts in seen)
        assert second in " ".join(seen[-1])


async def test_an_edition_on_its_way_takes_no_room_from_the_one_that_readers_see(desk: Desk) -> None:
    library = desk.library
    path = small_books.write_markdown(desk.folder / "tides.md")
    await library.add(path)
    old = {e.chunk.id for e in await library.search("storm day wind miles", top_k=100)}
    flood = {f"Day {n}": f"Storm day {n} with storm wind {n} and {n * 7} storm miles." for n in range(150)}
    small_books.write_markdown(path, flood | small_books.TIDES)
    steps = ingest(path, await library._context(), BookOptions(), changes=library._changes)
    async with aclosing(steps):
        async for event in steps:
            found = await library.search("storm day wind miles", top_k=100)
            if isinstance(event, Storing):
                assert event.done == event.total == 150
            if not isinstance(event, Published):
                assert {e.chunk.id for e in found} == old, event.kind
    assert found[0].chunk.section.startswith("Day")


async def test_two_files_of_one_name_with_nothing_in_common_are_two_books(desk: Desk, tmp_path: Path) -> None:
    for folder, text in (
        ("a", "The tide rose over the old stone pier."),
        ("b", "Goats graze upon a quiet hill."),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "notes.txt").write_text(text, encoding="utf-8")
    first = await desk.library.add(tmp_path / "a" / "notes.txt")
    second = await desk.library.add(tmp_path / "b" / "notes.txt")
    assert (first.id, second.id) == ("notes", "notes-2")
    assert len(await desk.library.books()) == 2
