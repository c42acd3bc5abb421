"""The files of an embedded store: which of them are in memory, and which stay on the disk."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from pathlib import Path

import pytest

from octavo.store.edge_files import _read_ahead
from tests.support.patience import wait_until


def count_cached_pages(file: Path) -> int:
    """Counts the pages of a file that the system has in memory."""
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, mmap.MAP_PRIVATE) as mapped:
        pages = -(-len(mapped) // mmap.PAGESIZE)
        found = (ctypes.c_ubyte * pages)()
        address = ctypes.addressof(ctypes.c_char.from_buffer(mapped))
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(len(mapped)), found) == 0
        return sum(page & 1 for page in found)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux is asked to read ahead")
def test_what_the_engine_reads_as_a_whole_is_read_ahead(tmp_path: Path) -> None:
    codes = tmp_path / "segments" / "one" / "vector_storage" / "quantized.data"
    codes.parent.mkdir(parents=True)
    codes.write_bytes(os.urandom(4 << 20))
    with codes.open("rb") as opened:
        os.fsync(opened.fileno())
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    _read_ahead(tmp_path)
    wait_until(lambda: count_cached_pages(codes) == codes.stat().st_size // mmap.PAGESIZE)


def test_a_file_that_cannot_be_read_ahead_is_left_to_the_engine(tmp_path: Path) -> None:
    (tmp_path / "segments" / "one" / "vector_storage" / "quantized.data").mkdir(parents=True)
    _read_ahead(tmp_path)
