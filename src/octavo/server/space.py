"""Space on the disk that uploads have reserved, so that many at once cannot fill what each found free.

An upload reserves before it is read. What it has written counts as used and no longer as reserved. One that
does not say how large it is reserves while it arrives.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from octavo.errors import StorageLow
from octavo.store.base import require_space


class DiskSpace:
    """The disk of one library's folder, on which `floor_mb` stay free."""

    def __init__(self, data: Path, *, floor_mb: int) -> None:
        self._data, self._floor_mb = data, floor_mb
        self._reserved = 0

    @contextmanager
    def reserve(self, count: int) -> Iterator[Reservation]:
        """Reserve `count` bytes until the block ends; raise `StorageLow` when they are not free."""
        self.require(count)
        reservation = Reservation(self, count)
        self._reserved += count
        try:
            yield reservation
        finally:
            self._reserved -= reservation.left

    def require(self, count: int) -> None:
        """Raise `StorageLow` unless `count` bytes are free besides what is reserved."""
        require_space(self._data, self._reserved + count, self._floor_mb)

    def release(self, count: int) -> None:
        self._reserved -= count


class Reservation:
    """Space for one upload. `left` is what it has not used yet."""

    def __init__(self, space: DiskSpace, count: int) -> None:
        self._space, self.left = space, count

    def use(self, count: int) -> None:
        """Note that `count` bytes are about to be written; raise when there is no room for them."""
        covered = min(count, self.left)
        self.left -= covered
        self._space.release(covered)
        # Others than uploads write to this disk too.
        self._space.require(count)


@contextmanager
def translate_full_disk() -> Iterator[None]:
    """Turn a write that found no space into `StorageLow`."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise StorageLow("the disk is full", hint="Free some space and send the book again.") from error
