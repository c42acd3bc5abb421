"""A backup is one moment of a library in use, verified, small the second time, and restores all of it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from octavo.errors import Conflict, InvalidValue, LibraryBusy, NotFound, RecordsError
from octavo.library import Library
from octavo.maintenance.backup import (
    back_up,
    list_snapshots,
    prune_snapshots,
    restore,
    verify_snapshot,
    verify_snapshots,
)
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from tests.support import small_books
from tests.support.qdrant_server import QdrantServer


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        await library.add(small_books.write_markdown(tmp_path / "tides.md"))
        await library.ask("Who keeps the harbour?")
    (tmp_path / "library" / "octavo.toml").write_text("chunk_tokens = 128\n")
    return tmp_path / "library"


def write_book(path: Path, words: str) -> Path:
    path.write_text(
        "".join(f"# {words} {n}\n\nThe {words} number {n} is long enough.\n\n" for n in range(20))
    )
    return path


async def restore_into(data: Path, folder: Path, name: str = "") -> list[str]:
    """Restore, build the store, and return the titles of the books that can be searched."""
    restore(Settings(data=data), folder, name=name)
    embedder = TinyEmbedder()
    async with Library.open(data, embedder=embedder) as library:
        assert all(finding.sound for finding in await library.examine(repair=True))
        # The doctor's question was embedded, and no passage.
        assert embedder.embedded == 1
        for book in await library.books():
            assert await library.search("the", book_id=book.id)
        assert all(verdict.true for verdict in await library.verify())
        return [book.title for book in await library.books()]


async def test_a_snapshot_of_a_library_in_use_restores_one_moment_of_it(data: Path, tmp_path: Path) -> None:
    folder, settings = tmp_path / "backup", Settings(data=data)
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        adding = asyncio.create_task(library.add(write_book(tmp_path / "gulls.md", "Gull"), title="Gulls"))
        during = [await asyncio.to_thread(back_up, settings, folder) for _ in range(3)]
        await adding
        after = await asyncio.to_thread(back_up, settings, folder)
    for number, snapshot in enumerate(during):
        titles = await restore_into(tmp_path / f"during-{number}", folder, snapshot.name)
        assert titles in (["The Tides"], ["The Tides", "Gulls"])
    assert await restore_into(tmp_path / "after", folder) == ["The Tides", "Gulls"]
    assert (tmp_path / "after" / "octavo.toml").read_text() == "chunk_tokens = 128\n"
    assert list_snapshots(folder) == [each.name for each in (*during, after)]


async def test_the_second_snapshot_writes_only_what_changed(data: Path, tmp_path: Path) -> None:
    folder, settings = tmp_path / "backup", Settings(data=data)
    first, same = back_up(settings, folder), back_up(settings, folder)
    assert first.written > 0
    assert same.written == 0
    assert (same.size, same.files) == (first.size, first.files)
    assert same.digest != first.digest
    assert prune_snapshots(folder, keep=1) == [first.name]
    assert verify_snapshot(folder, same.name).files == first.files
    with pytest.raises(NotFound):
        verify_snapshot(folder, first.name)


@pytest.mark.parametrize("what", ["block", "lost block", "list", "digest"])
def test_damage_is_found_and_nothing_is_restored(data: Path, tmp_path: Path, what: str) -> None:
    folder = tmp_path / "backup"
    snapshot = back_up(Settings(data=data), folder)
    block = next(iter(sorted((folder / "blocks").glob("*/*"))))
    listed = folder / "snapshots" / f"{snapshot.name}.json"
    match what:
        case "block":
            block.write_bytes(block.read_bytes()[:-1] + b"x")
        case "lost block":
            block.unlink()
        case "list":
            listed.write_bytes(listed.read_bytes()[:-9])
        case _:
            listed.write_text(listed.read_text().replace("octavo.toml", "octavo.tomb"))
    with pytest.raises(RecordsError, match="damaged"):
        verify_snapshot(folder, snapshot.name)
    with pytest.raises(RecordsError, match="damaged"):
        restore(Settings(data=tmp_path / "new"), folder)
    assert not (tmp_path / "new" / "records.sqlite").exists()


def test_damage_to_one_snapshot_does_not_keep_the_others_from_being_verified(
    data: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "backup"
    first, second, third = (back_up(Settings(data=data), folder) for _ in range(3))
    for damaged in (first, second):
        listed = folder / "snapshots" / f"{damaged.name}.json"
        listed.write_bytes(listed.read_bytes()[:-9])
    sound, found = verify_snapshots(folder)
    assert [each.name for each in sound] == [third.name]
    assert found.keys() == {first.name, second.name}
    assert all("damaged" in message for message in found.values())


@pytest.mark.parametrize("content", ["[]", "{}", "null", '"x"', "1"])
def test_a_list_of_another_shape_is_damaged_and_the_others_are_verified(
    data: Path, tmp_path: Path, content: str
) -> None:
    folder = tmp_path / "backup"
    first, second = (back_up(Settings(data=data), folder) for _ in range(2))
    (folder / "snapshots" / f"{first.name}.json").write_text(content)
    sound, found = verify_snapshots(folder)
    assert [each.name for each in sound] == [second.name]
    assert "cannot be read" in found[first.name]


def test_damaged_records_are_not_called_a_backup(data: Path, tmp_path: Path) -> None:
    with (data / "records.sqlite").open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * 4096)
    with pytest.raises(RecordsError):
        back_up(Settings(data=data), tmp_path / "backup")
    assert list_snapshots(tmp_path / "backup") == []


async def test_a_library_that_is_there_is_renamed_only_on_request(data: Path, tmp_path: Path) -> None:
    folder, settings = tmp_path / "backup", Settings(data=data)
    back_up(settings, folder)
    with pytest.raises(InvalidValue, match="holds a library already"):
        restore(settings, folder)
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        await library.add(write_book(tmp_path / "gulls.md", "Gull"))
        with pytest.raises(LibraryBusy):
            restore(settings, folder, replace=True)
    restore(settings, folder, replace=True)
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        assert all(finding.sound for finding in await library.examine(repair=True))
        assert len(await library.books()) == 1
    with closing(sqlite3.connect(data / "records.sqlite.replaced-1")) as old:
        assert old.execute("SELECT count(*) FROM books").fetchone() == (2,)


def test_what_is_no_library_and_what_is_on_a_server_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="library"):
        back_up(Settings(data=tmp_path / "none"), tmp_path / "backup")
    with pytest.raises(NotFound, match="snapshot"):
        restore(Settings(data=tmp_path / "none"), tmp_path / "backup")
    elsewhere = Settings(data=tmp_path, records_url="postgresql://octavo@db/octavo")
    with pytest.raises(InvalidValue, match="pg_dump"):
        back_up(elsewhere, tmp_path / "backup")


@pytest.mark.parametrize("named_by", ["settings", "snapshot"])
async def test_a_collection_that_exists_on_a_server_is_not_written(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named_by: str
) -> None:
    folder, new = tmp_path / "backup", tmp_path / "new"
    with QdrantServer(tmp_path / "qdrant") as server:
        shared = Settings(data=tmp_path / "other", store_url=server.url)
        async with Library.open(settings=shared, embedder=TinyEmbedder()) as library:
            await library.add(small_books.write_markdown(tmp_path / "shared.md"))
        if named_by == "snapshot":
            (data / "octavo.toml").write_text(f'store_url = "{server.url}"\n')
        else:
            monkeypatch.setenv("OCTAVO_STORE_URL", server.url)
        back_up(Settings(data=data), folder)
        before = server.writes
        assert before
        with pytest.raises(Conflict, match="ai_book_embedding") as refused:
            await asyncio.to_thread(restore, Settings(data=new), folder)
        assert "OCTAVO_COLLECTION" in refused.value.hint
        assert "OCTAVO_STORE_URL" in refused.value.hint
        assert not new.exists()
        with monkeypatch.context() as changed:
            changed.setenv("OCTAVO_COLLECTION", "restored")
            await asyncio.to_thread(restore, Settings(data=new), folder)
        monkeypatch.setenv("OCTAVO_STORE_URL", "")
        await asyncio.to_thread(restore, Settings(data=tmp_path / "embedded"), folder)
        assert server.writes == before


def test_a_backup_folder_has_one_writer_at_a_time(data: Path, tmp_path: Path) -> None:
    folder, settings = tmp_path / "backup", Settings(data=data)
    first = back_up(settings, folder)
    refused: list[str] = []

    def write_meanwhile(_done: int, _total: int) -> None:
        if not refused:
            # The draft of the records is readable by its owner alone.
            assert [path.stat().st_mode & 0o777 for path in folder.glob("*.draft")] == [0o600]
            for write in (lambda: back_up(settings, folder), lambda: prune_snapshots(folder, keep=1)):
                with pytest.raises(LibraryBusy, match="another backup") as busy:
                    write()
                refused.append(str(busy.value))

    second = back_up(settings, folder, on_step=write_meanwhile)
    assert len(refused) == 2
    assert list_snapshots(folder) == [first.name, second.name]
    assert list(folder.glob("*.draft")) == []


def test_a_snapshot_without_records_is_damaged(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "backup"
    listed = folder / "snapshots" / f"{back_up(Settings(data=data), folder).name}.json"
    content = json.loads(listed.read_text())
    del content["files"]["records.sqlite"], content["digest"]
    encoded = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
    listed.write_text(json.dumps(content | {"digest": hashlib.sha256(encoded).hexdigest()}))
    with pytest.raises(RecordsError, match=r"has no records\.sqlite"):
        verify_snapshot(folder, listed.stem)


def test_everything_that_is_replaced_is_kept_under_another_name(data: Path, tmp_path: Path) -> None:
    folder, settings = tmp_path / "backup", Settings(data=data)
    upload = data / "uploads" / "one" / "book.md"
    upload.parent.mkdir(parents=True)
    upload.write_text("in the snapshot")
    back_up(settings, folder)
    for number in (1, 2):
        (data / "octavo.toml").write_text(f"chunk_tokens = {number + 63}\n")
        upload.write_text(f"later {number}")
        restore(settings, folder, replace=True)
        assert (data / f"octavo.toml.replaced-{number}").read_text() == f"chunk_tokens = {number + 63}\n"
        assert (data / f"uploads.replaced-{number}" / "one" / "book.md").read_text() == f"later {number}"
        assert (data / f"records.sqlite.replaced-{number}").exists()
        assert (data / "octavo.toml").read_text() == "chunk_tokens = 128\n"
        assert upload.read_text() == "in the snapshot"
    for path in (data / "octavo.toml", data / "records.sqlite", upload):
        assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", [b"", b"no block", zlib.compress(b"another block")])
def test_a_damaged_block_is_written_again(data: Path, tmp_path: Path, damage: bytes) -> None:
    folder, settings = tmp_path / "backup", Settings(data=data)
    first = back_up(settings, folder)
    block = next(iter(sorted((folder / "blocks").glob("*/*"))))
    block.write_bytes(damage)
    second = back_up(settings, folder)
    assert second.written == block.stat().st_size
    for name in (first.name, second.name):
        verify_snapshot(folder, name)


def test_a_snapshot_that_cannot_be_read_back_is_not_listed(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "backup"

    def damage_at_the_end(done: int, total: int) -> None:
        if done == total:
            next((folder / "blocks").glob("*/*")).write_bytes(b"no block")

    with pytest.raises(RecordsError, match="damaged"):
        back_up(Settings(data=data), folder, on_step=damage_at_the_end)
    assert list_snapshots(folder) == []
