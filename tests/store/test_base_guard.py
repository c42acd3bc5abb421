"""The library's lock between processes, and the guard on free space."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from octavo.errors import LibraryBusy, StorageLow, StoreError
from octavo.settings import Settings
from octavo.store import open_store, replace_store
from octavo.store.base import LOCK_FILE, LibraryLock, require_space
from tests.support.patience import PATIENCE, wait_until_async

HOLD = """
import sys, time
from pathlib import Path
from octavo.store.base import LibraryLock

lock = LibraryLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def _start_holder(data: Path) -> subprocess.Popen[str]:
    """Another process that holds the lock until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(data)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def _stop(process: subprocess.Popen[str]) -> None:
    process.communicate("", timeout=PATIENCE)


def test_the_lock_makes_the_data_directory(tmp_path: Path) -> None:
    lock = LibraryLock(tmp_path / "new" / "library")
    assert (tmp_path / "new" / "library" / LOCK_FILE).exists()
    lock.release()


def test_a_second_lock_in_the_same_process_is_refused(tmp_path: Path) -> None:
    lock = LibraryLock(tmp_path)
    with pytest.raises(LibraryBusy, match=f"the library at {tmp_path} is in use by process {os.getpid()} "):
        LibraryLock(tmp_path)
    lock.release()


def test_another_process_is_named_with_its_command(tmp_path: Path) -> None:
    other = _start_holder(tmp_path)
    with pytest.raises(LibraryBusy, match=rf"in use by process {other.pid} \(-c ") as refused:
        LibraryLock(tmp_path)
    assert refused.value.hint
    _stop(other)
    LibraryLock(tmp_path).release()


def test_the_lock_of_a_killed_process_is_gone_with_it(tmp_path: Path) -> None:
    other = _start_holder(tmp_path)
    os.kill(other.pid, signal.SIGKILL)
    _stop(other)
    LibraryLock(tmp_path).release()


def test_a_lock_can_be_released_twice_and_taken_again(tmp_path: Path) -> None:
    lock = LibraryLock(tmp_path)
    lock.release()
    lock.release()
    assert not lock.held
    again = LibraryLock(tmp_path)
    assert again.held
    again.release()


def test_a_holder_that_has_not_written_its_name_is_still_a_holder(tmp_path: Path) -> None:
    lock = LibraryLock(tmp_path)
    (tmp_path / LOCK_FILE).write_text("")
    with pytest.raises(LibraryBusy, match="in use by another process"):
        LibraryLock(tmp_path)
    lock.release()


def test_old_words_in_the_file_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).write_text("x" * 5000)
    lock = LibraryLock(tmp_path)
    with pytest.raises(LibraryBusy, match=f"process {os.getpid()}"):
        LibraryLock(tmp_path)
    lock.release()


async def test_an_opening_that_nobody_waits_for_any_more_gives_the_lock_back(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, free_space_mb=0)
    for way in (open_store, replace_store):
        opening = asyncio.ensure_future(way(settings, dimension=8))
        await asyncio.sleep(0)  # a thread is at it now, and cannot be stopped
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        await (await open_store(settings, dimension=8)).close()


async def test_so_does_one_that_is_cancelled_twice(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, free_space_mb=0)
    opening = asyncio.ensure_future(open_store(settings, dimension=8))
    await wait_until_async((tmp_path / LOCK_FILE).exists)
    for _ in range(3):
        opening.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await opening
    await (await open_store(settings, dimension=8)).close()


def test_a_forked_child_neither_keeps_nor_drops_the_lock(tmp_path: Path) -> None:
    lock = LibraryLock(tmp_path)
    child = os.fork()
    if child == 0:
        os._exit(3 if lock.held else 7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    with pytest.raises(LibraryBusy):
        LibraryLock(tmp_path)
    lock.release()


def test_a_place_where_no_directory_can_be_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file/library cannot be opened for writing"):
        LibraryLock(tmp_path / "file" / "library")


def test_enough_space_is_no_error_even_where_nothing_is_yet(tmp_path: Path) -> None:
    require_space(tmp_path / "not" / "yet" / "there", 1024, 0)


def test_too_little_space_says_how_much_there_is_and_what_to_do(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    with pytest.raises(StorageLow, match=r"only \d+ MB are free on the disk of") as refused:
        require_space(tmp_path, 2 * free, 0)
    assert "OCTAVO_FREE_SPACE_MB" in refused.value.hint
    with pytest.raises(StorageLow, match="must leave"):
        require_space(tmp_path, 0, 2 * free // (1 << 20) + 1)
