"""Pages of PDFs are drawn for a bounded number of callers at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from octavo.errors import BadBook, Overloaded
from octavo.library import Library, printed
from octavo.library.printed import AT_ONCE, NARROWEST, WAITING
from octavo.limits import Limits
from octavo.readers.printed import draw_page
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


async def test_a_page_that_cannot_be_drawn_is_not_tried_at_every_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []

    async def count(data: bytes, number: int, *, width: int, limits: Limits) -> bytes:
        tried.append(width)
        return await draw_page(data, number, width=width, limits=limits)

    monkeypatch.setattr(printed, "draw_page", count)
    words = pdf_files.column(["The ferry leaves the north pier at seven."])
    made = pdf_files.objects([words, words])
    made[12] = b"null"
    (tmp_path / "torn.pdf").write_bytes(pdf_files.write_file(made))
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        book = await library.add(tmp_path / "torn.pdf")
        messages = set()
        for width in (500, 500, 900, 300, 300, 500):
            with pytest.raises(BadBook) as failed:
                await library.page(book.id, 2, width=width)
            messages.add((failed.value.code, failed.value.message, failed.value.hint))
        # A smaller picture might have been possible; a larger one was not.
        assert tried == [500, 300]
        assert len(messages) == 1
        assert (await library.page(book.id, 1, width=500)).startswith(b"\x89PNG")
        monkeypatch.setattr(printed, "FAILED_SECONDS", 0.0)
        with pytest.raises(BadBook):
            await library.page(book.id, 2, width=500)
        assert tried == [500, 300, 500, 500]


async def test_a_page_that_was_drawn_is_shown_though_a_smaller_one_failed_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = True

    async def draw_unless_busy(data: bytes, number: int, *, width: int, limits: Limits) -> bytes:
        if busy and width == 300:
            raise BadBook("parser_timeout", "the parser did not go on")
        return await draw_page(data, number, width=width, limits=limits)

    monkeypatch.setattr(printed, "draw_page", draw_unless_busy)
    words = pdf_files.column(["The ferry leaves the north pier at seven."])
    (tmp_path / "ferry.pdf").write_bytes(pdf_files.make_book([words], title="The Ferry"))
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        book = await library.add(tmp_path / "ferry.pdf")
        drawn = await library.page(book.id, 1, width=500)
        with pytest.raises(BadBook):
            await library.page(book.id, 1, width=300)
        assert await library.page(book.id, 1, width=500) == drawn
        busy = False
        with pytest.raises(BadBook):
            await library.page(book.id, 1, width=300)
        # The machine was busy: that is forgotten sooner than that the page is damaged.
        monkeypatch.setattr(printed, "BUSY_SECONDS", 0.0)
        assert (await library.page(book.id, 1, width=300)).startswith(b"\x89PNG")
