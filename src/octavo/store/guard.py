"""Two things that must hold before a library is written to: nobody else has it open, and the disk has room.

A library belongs to one process at a time. `LibraryLock` takes `octavo.lock` in the data directory at once
or not at all; the system drops it with the process, however that ends, so there are no stale locks to clean
up. `require_space` refuses a write while there is still room to refuse it: on a full disk the store would
take the whole process down.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sys
import weakref
from pathlib import Path

from octavo.errors import LibraryBusy, StorageLow, StoreError
from octavo.limits import MB

LOCK_FILE = "octavo.lock"


class LibraryLock:
    """The exclusive right to one data directory, from construction to `release`."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self._handle: int | None = _take(data)
        me = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: _leave_to_parent(me))

    @property
    def held(self) -> bool:
        return self._handle is not None

    def release(self) -> None:
        """Gives the library back. Calling it again does nothing."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.ftruncate(handle, 0)
            os.close(handle)

    def forget(self) -> None:
        """Closes this process' copy of the lock and leaves the lock itself to whoever else has one."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


def _leave_to_parent(lock: weakref.ref[LibraryLock]) -> None:
    # A forked child that kept the descriptor would keep the library locked after its parent's death.
    copy = lock()
    if copy is not None:
        copy.forget()


def _take(data: Path) -> int:
    path = data / LOCK_FILE
    try:
        data.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(
            f"the library at {data} cannot be opened for writing: {error.strerror}",
            hint="Check that the directory exists and belongs to you, or choose another with OCTAVO_DATA.",
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = _holder(handle)
        os.close(handle)
        raise LibraryBusy(
            f"the library at {data} is in use by {holder}",
            hint="One process at a time can open a library: wait until it has finished, or stop it, or use "
            "the /mcp of a running `octavo serve`.",
        ) from error
    os.ftruncate(handle, 0)
    os.pwrite(handle, json.dumps({"pid": os.getpid(), "command": _command()}).encode(), 0)
    return handle


def _command() -> str:
    name = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"
    return " ".join([name, *sys.argv[1:]])[:200]


def _holder(handle: int) -> str:
    try:
        said = json.loads(os.pread(handle, 4096, 0))
        return f"process {int(said['pid'])} ({said['command']})"
    except (ValueError, KeyError, TypeError):
        return "another process"  # it holds the lock but has not yet written its name


def require_space(path: Path, bytes_needed: int, floor_mb: int) -> None:
    """Raises `StorageLow` unless `bytes_needed` fit and `floor_mb` stay free on the disk of `path`."""
    there = path
    while not there.exists() and there != there.parent:
        there = there.parent
    free = shutil.disk_usage(there).free
    if free < bytes_needed + floor_mb * MB:
        raise StorageLow(
            f"only {free // MB} MB are free on the disk of {path}; this write needs "
            f"{bytes_needed // MB + 1} MB and must leave {floor_mb} MB free",
            hint="Free some space and try again, or lower OCTAVO_FREE_SPACE_MB.",
        )
