"""The check that runs beside the service: what a disk changed is found and mended, and the time is noted."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.library import Library
from octavo.maintenance.background_check import read_last_check
from octavo.settings import Settings
from octavo.store import locate_store
from octavo.testing import TinyEmbedder
from tests.support.answerers import change_records
from tests.support.small_books import write_markdown


async def test_a_changed_bit_is_found_and_mended_and_the_time_is_noted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(data=tmp_path / "library", free_space_mb=0)
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        book = await library.add(write_markdown(tmp_path / "tides.md"))
        assert await read_last_check(library.database) is None
        first = await library.check_store()
        assert (first.passages, first.repaired) == (book.chunk_count, 0)
        # The engine maps this file, so that it sees what changes on the disk.
        (vectors,) = locate_store(settings.data).glob("segments/*/vector_storage/vectors/chunk_0.mmap")
        with vectors.open("r+b") as file:
            (byte,) = file.read(1)
            file.seek(0)
            file.write(bytes([byte ^ 1]))
        second = await library.check_store(per_minute=10_000_000)
        assert second.repaired >= 1
        assert "was repaired" in caplog.text
        assert (await library.check_store()).repaired == 0
        last = await read_last_check(library.database)
        assert last is not None
        assert last.finished_at > second.finished_at
        (said,) = [each.said for each in await library.examine() if each.what == "check before this one"]
        assert said == str(last)


async def test_records_that_were_changed_are_found_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(data=tmp_path / "library", free_space_mb=0)
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        await library.add(write_markdown(tmp_path / "tides.md"))
        change_records(settings.data, "UPDATE sections SET title = 'Another'")
        done = await library.check_store()
        assert (done.repaired, done.changed) == (0, 1)
        assert "the sections or their pages of 'the-tides' are not what was published" in caplog.text
        assert await read_last_check(library.database) == done
        assert "passages, 1 book changed in the records" in str(done)
