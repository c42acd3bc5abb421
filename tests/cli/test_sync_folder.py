"""`octavo add` with whole shelves, and `octavo sync`: a library that follows a folder."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from octavo.cli.shelves import AddSummary, SourceBook
from octavo.cli.sync_folder import _look, _sync
from octavo.errors import BadBook
from octavo.library import Library
from octavo.schemas import SyncJson
from octavo.testing import TinyEmbedder
from octavo.types import BookMetadata
from octavo.types.books import matches_metadata
from tests.support import small_books
from tests.support.builders import make_book
from tests.support.calibre import add_entry, start_library

CATS = {"One": "The cat sat on the mat for three long days and three nights."}
DOGS = {"One": "The dog ran around the old barn until the moon had risen."}


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as opened:
        yield opened


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    folder = tmp_path / "shelf"
    folder.mkdir()
    small_books.write_epub(folder / "tides.epub")
    small_books.write_text(folder / "tides.txt")
    small_books.write_epub(folder / "cats.epub", CATS, title="Cats")
    return folder


async def sync(library: Library, shelf: Path, *, delete: bool = False, dry_run: bool = False) -> SyncJson:
    result, _ = await _sync(library, shelf, _look(shelf), delete, dry_run, quiet=True)
    return result


async def list_ids(library: Library) -> list[str]:
    return sorted(book.id for book in await library.books())


async def test_a_sync_adds_what_is_new_or_changed_and_reads_nothing_twice(
    library: Library, shelf: Path
) -> None:
    planned = await sync(library, shelf, dry_run=True)
    assert [Path(p).name for p in planned.new] == ["cats.epub", "tides.epub"]
    assert await library.books() == []
    await sync(library, shelf)
    assert await list_ids(library) == ["cats", "the-tides"]
    again = await sync(library, shelf)
    assert (again.new, again.changed, len(again.same), again.books) == ([], [], 2, [])
    # Another book under the same name is a new edition of it, whatever its title.
    small_books.write_epub(shelf / "cats.epub", DOGS, title="Dogs")
    changed = await sync(library, shelf)
    assert [(book.id, book.change.chunks_new) for book in changed.books] == [("cats", 1)]
    assert "dog" in (await library.section("cats", (await library.contents("cats"))[0].id)).text


async def test_what_is_gone_is_removed_only_when_asked_and_a_moved_file_stays(
    library: Library, shelf: Path
) -> None:
    mine = await library.add(small_books.write_markdown(shelf.parent / "mine.md", DOGS, title="Mine"))
    await sync(library, shelf)
    (shelf / "cats.epub").unlink()
    (shelf / "deep").mkdir()
    (shelf / "tides.epub").rename(shelf / "deep" / "moved.epub")
    (shelf / "tides.txt").unlink()
    small_books.write_epub(shelf / "dogs.epub", {"One": "A dog is not a cat, said the old shepherd."})
    told = await sync(library, shelf)
    assert (told.gone, told.removed) == (["cats", "the-tides"], [])
    assert "cats" in await list_ids(library)
    done = await sync(library, shelf, delete=True)
    assert done.removed == ["cats"]
    assert mine.id in await list_ids(library)
    assert "the-tides" in await list_ids(library)
    assert (await sync(library, shelf, delete=True)).gone == []


async def test_a_book_that_lies_in_another_synced_folder_too_is_kept(library: Library, shelf: Path) -> None:
    other = shelf.parent / "other"
    other.mkdir()
    small_books.write_epub(other / "cats.epub", CATS, title="Cats")
    small_books.write_epub(other / "dogs.epub", DOGS, title="Dogs")
    await sync(library, shelf)
    await sync(library, other)
    assert await list_ids(library) == ["cats", "dogs", "the-tides"]
    (shelf / "cats.epub").unlink()
    assert (await sync(library, shelf, delete=True)).removed == []
    (other / "cats.epub").unlink()
    assert (await sync(library, other, delete=True)).removed == ["cats"]


async def test_a_dry_run_names_only_books_that_would_be_removed(
    library: Library, shelf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = shelf / "kept"
    kept.mkdir()
    small_books.write_epub(kept / "dogs.epub", DOGS, title="Dogs")
    other = shelf.parent / "other"
    other.mkdir()
    small_books.write_epub(other / "cats.epub", CATS, title="Cats")
    await sync(library, shelf)
    await sync(library, other)
    for name in ("a", "b", "c"):
        small_books.write_markdown(kept / f"{name}.md", CATS, title=f"Note {name}")
    for name in ("cats.epub", "tides.epub"):
        (shelf / name).unlink()
    await _sync(library, shelf, _look(shelf), delete=True, dry_run=True, quiet=False)
    told = capsys.readouterr().out
    assert f"gone: {shelf / 'cats.epub'} (cats)\n" in told
    assert f"{kept / 'dogs.epub'}: its book is kept" in told
    assert f"gone: {shelf / 'tides.epub'} (the-tides would be removed" in told


async def test_a_file_that_is_still_there_is_not_taken_for_gone(library: Library, shelf: Path) -> None:
    kept = shelf / "kept"
    kept.mkdir()
    small_books.write_epub(kept / "dogs.epub", DOGS, title="Dogs")
    await sync(library, shelf)
    # Notes beside a book make the folder a book of pages, and the book in it a download.
    for name in ("a", "b", "c"):
        small_books.write_markdown(kept / f"{name}.md", CATS, title=f"Note {name}")
    told = await sync(library, shelf, delete=True)
    assert (told.gone, told.removed) == (["dogs"], [])
    assert "dogs" in await list_ids(library)


async def test_a_folder_that_lost_everything_deletes_nothing(library: Library, shelf: Path) -> None:
    await sync(library, shelf)
    for file in shelf.iterdir():
        file.unlink()
    with pytest.raises(BadBook, match="no books now") as caught:
        await sync(library, shelf, delete=True)
    assert "mounted" in caught.value.hint
    assert await list_ids(library) == ["cats", "the-tides"]


async def test_a_book_removed_by_hand_comes_back_and_a_bad_one_is_tried_again(
    library: Library, shelf: Path
) -> None:
    (shelf / "bad.pdf").write_bytes(b"%PDF-1.4 nonsense")
    result, summary = await _sync(library, shelf, _look(shelf), False, False, quiet=True)
    assert [Path(error.path).name for error in result.errors] == ["bad.pdf"]
    assert [error.code for _, error in summary.failed] == ["damaged_pdf"]
    assert len(result.books) == 2
    await library.remove("cats")
    again = await sync(library, shelf)
    assert [Path(path).name for path in again.new] == ["bad.pdf", "cats.epub"]


async def test_a_calibre_book_brings_its_metadata_and_falls_back_to_another_format(
    library: Library, tmp_path: Path
) -> None:
    calibre = start_library(tmp_path / "Calibre")
    (calibre / "A").mkdir()
    (calibre / "A" / "tides.epub").write_bytes(b"PK\3\4 damaged")
    small_books.write_text(calibre / "A" / "tides.txt")
    formats = {"EPUB": "tides", "TXT": "tides"}
    add_entry(calibre, "Tides of Home", formats, path="A", authors=["A. Writer"], tags=["Sea"])
    done = await sync(library, calibre)
    (book,) = await library.books()
    assert [added.id for added in done.books] == [book.id] == ["tides-of-home"]
    assert (book.title, book.authors, book.format) == ("Tides of Home", ("A. Writer",), "text")
    assert book.metadata.subjects == ("Sea",)


def test_a_shelf_a_list_and_a_bad_book_in_one_command(shelf: Path, tmp_path: Path) -> None:
    (shelf / "bad.pdf").write_bytes(b"%PDF-1.4 nonsense")
    dogs = small_books.write_markdown(tmp_path / "dogs.md", DOGS, title="Dogs")
    command = [
        sys.executable,
        "-m",
        "octavo.cli",
        "--data",
        str(tmp_path / "library"),
        "add",
        str(shelf),
        "-",
    ]
    added = subprocess.run(
        command, capture_output=True, text=True, check=False, input=f"{dogs}\n\n{shelf / 'cats.epub'}\n"
    )
    assert added.returncode == 1
    *lines, summary, failure = added.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["Cats", "The Tides", "Dogs"]
    assert summary == "4 books: 3 added, 1 failed"
    assert failure.startswith("  not added: ")
    assert failure.endswith("bad.pdf")
    # The reason is said once, when it happens.
    assert added.stderr.count("bad.pdf cannot be opened as a PDF") == 1
    assert "cannot be opened" not in added.stdout


def test_the_summary_counts_what_was_not_tried() -> None:
    summary = AddSummary(total=3)
    with pytest.raises(BadBook), summary.watch(SourceBook(("a.pdf",))):
        raise BadBook("no_text", "nothing in it")
    assert [(failed.path, failed.code) for failed in summary.describe_failures()] == [("a.pdf", "no_text")]


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        ({}, True),
        ({"author": "herman MELVILLE"}, True),
        ({"author": "herman reader"}, False),
        ({"subject": "sea"}, True),
        ({"subject": "voyages"}, True),
        ({"subject": "cooking"}, False),
        ({"language": "en"}, True),
        ({"language": "en_us"}, True),
        ({"language": "e"}, False),
        ({"author": "melville", "language": "de"}, False),
    ],
)
def test_books_are_chosen_by_author_subject_and_language(wanted: dict[str, str], fits: bool) -> None:
    metadata = BookMetadata(subjects=("Whaling", "Sea stories"), series="Voyages")
    authors = ("Melville, Herman", "A. Reader")
    book = replace(make_book(), authors=authors, language="en-US", metadata=metadata)
    assert matches_metadata(book, **wanted) is fits
