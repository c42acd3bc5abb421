"""Pages of PDFs are drawn for a bounded number of callers at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from octavo.errors import Overloaded
from octavo.library import Library
from octavo.library.printed import AT_ONCE, NARROWEST, WAITING
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from tests.support import pdf_files


async def test_callers_beyond_those_that_may_wait_are_told_when_to_come_again(tmp_path: Path) -> None:
    words = pdf_files.column(["The ferry leaves the north pier at seven."])
    (tmp_path / "ferry.pdf").write_bytes(pdf_files.make_book([words], title="The Ferry"))
    settings = Settings(data=tmp_path / "library")
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        book = await library.add(tmp_path / "ferry.pdf")
        widths = range(NARROWEST, NARROWEST + AT_ONCE + WAITING + 1)
        callers = [asyncio.create_task(library.page(book.id, 1, width=width)) for width in widths]
        done, others = await asyncio.wait(callers, return_when=asyncio.FIRST_EXCEPTION)
        for caller in others:
            caller.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        (refused,) = (caller for caller in done if caller.exception())
        with pytest.raises(Overloaded) as told:
            refused.result()
        assert told.value.retry_after > 0
        # Those who left hold no place.
        assert (await library.page(book.id, 1)).startswith(b"\x89PNG")
