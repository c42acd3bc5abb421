"""The note about a change is valid after a kill, and void after anything else."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from octavo.store import change_note
from octavo.store.change_note import FILE, SLACK_SECONDS, ChangeNote, can_note


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store's folder with a note of two points, as a killed process left it."""
    folder = tmp_path / "store"
    (folder / "segments").mkdir(parents=True)
    (folder / "wal").mkdir()
    (folder / "segments" / "a").write_text("points")
    note = ChangeNote(folder)
    note.begin()
    note.add(["one"])
    note.add(["two"])
    return folder


def is_void(folder: Path) -> bool:
    found = ChangeNote(folder)
    assert (found.name == "") == (found.ids is None)
    # What is void now must not be taken for valid later.
    assert (found.ids is None) == (not (folder / FILE).exists())
    return found.ids is None


def test_a_folder_without_a_note_has_none(tmp_path: Path) -> None:
    assert is_void(tmp_path)
    assert is_void(tmp_path / "missing")


def test_a_note_lists_what_was_added_to_it(folder: Path) -> None:
    found = ChangeNote(folder)
    assert found.ids == {"one", "two"}
    found.add(["three", "four"])
    assert ChangeNote(folder).ids == {"one", "two", "three", "four"}


def test_a_new_note_lists_what_is_still_in_the_log(folder: Path) -> None:
    note = ChangeNote(folder)
    note.begin()
    assert note.ids == ChangeNote(folder).ids == {"one", "two"}
    note.mark_flushed()
    # Until the next change begins, they belong to this one.
    note.add(["three"])
    again = ChangeNote(folder)
    assert (again.ids, again.logged) == ({"one", "two", "three"}, {"three"})
    again.begin()
    assert ChangeNote(folder).ids == {"three"}


def test_every_note_has_a_name_of_its_own(folder: Path) -> None:
    first = ChangeNote(folder)
    names = {first.name, ChangeNote(folder).name}
    assert len(names) == 1
    assert first.begin() not in names
    assert ChangeNote(folder).name == first.name


def test_a_note_is_void_after_the_system_was_started_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boot = folder.parent / "boot_id"
    boot.write_text("another\n")
    monkeypatch.setattr(change_note, "BOOT_ID", boot)
    assert is_void(folder)


def test_there_is_no_note_where_the_system_does_not_say_when_it_was_started(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_note, "BOOT_ID", folder.parent / "missing")
    assert is_void(folder)
    note = ChangeNote(folder)
    assert not can_note()
    assert note.begin() == ""
    note.add(["two"])
    note.mark_flushed()
    note.stamp()
    assert not (folder / FILE).exists()


def test_a_note_that_is_cut_or_changed_anywhere_is_void(folder: Path) -> None:
    note, link = folder / FILE, folder.with_name("link")
    whole = note.read_bytes()
    # A void note is deleted, and another file might get its inode.
    os.link(note, link)

    def write(said: bytes) -> None:
        note.unlink(missing_ok=True)
        link.write_bytes(said)
        os.link(link, note)

    for at in range(len(whole)):
        ends_a_line = whole[at - 1 : at] == b"\n"
        for damaged in (whole[:at], whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]):
            write(damaged)
            assert is_void(folder) or (ends_a_line and damaged == whole[:at]), damaged
    write(whole)
    assert not is_void(folder)


def test_a_note_is_void_in_a_copy_of_the_folder(folder: Path) -> None:
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    assert is_void(copy)
    # Also in the place of the folder.
    folder.rename(folder.with_name("original"))
    shutil.copytree(folder.with_name("original"), folder)
    assert is_void(folder)


@pytest.mark.parametrize("part", ["segments", "wal", FILE])
def test_a_note_is_void_if_a_part_of_a_copy_has_another_inode(folder: Path, part: str) -> None:
    # The folder itself may get the inode that it had, if it was deleted before it was copied back.
    copied, original = folder / f"{part}.copy", folder / part
    if original.is_dir():
        shutil.copytree(original, copied)
        shutil.rmtree(original)
    else:
        shutil.copy(original, copied)
    copied.rename(original)
    assert is_void(folder)


@pytest.mark.parametrize("changed", ["segments/a", "segments", ".", FILE])
def test_a_note_is_void_if_a_file_was_changed_long_after_the_last_write(
    folder: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    monkeypatch.setattr(change_note, "SLACK_SECONDS", 0)
    ChangeNote(folder).stamp()
    assert not is_void(folder)
    time.sleep(0.05)
    # As when a file is put back from a copy with the times that it had.
    os.utime(folder / changed, ns=(10**18, 10**18))
    assert is_void(folder)


def test_opening_a_store_does_not_make_its_note_void(folder: Path) -> None:
    last = (folder / FILE).stat().st_ctime_ns - SLACK_SECONDS * 10**9 // 2
    os.utime(folder / FILE, ns=(last, last))
    ChangeNote(folder)
    assert (folder / FILE).stat().st_mtime_ns > last


def test_a_note_that_cannot_be_written_leaves_none(folder: Path) -> None:
    (folder / f"{FILE}.new").mkdir()
    note = ChangeNote(folder)
    assert note.begin() == ""
    assert note.ids is None
    assert not (folder / FILE).exists()


def test_a_note_that_was_deleted_meanwhile_is_void(folder: Path) -> None:
    note = ChangeNote(folder)
    (folder / FILE).unlink()
    note.stamp()
    note.add(["three"])
    assert is_void(folder)


def test_a_note_that_may_not_be_touched_is_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("another user's")

    with monkeypatch.context() as patched:
        patched.setattr(os, "utime", refuse)
        note = ChangeNote(folder)
    assert (note.name, note.ids, note.logged) == ("", None, None)
    # Points that are written without a note must not be missing in one.
    note.add(["three"])
    assert is_void(folder)
    assert note.begin()
    assert ChangeNote(folder).ids == set()
