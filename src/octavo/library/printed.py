"""The pages of PDFs as they are printed, drawn when they are asked for.

Pages are drawn by the parser's process, two at a time, from the file that the records keep. Those drawn last
stay in memory, and so does the knowledge that a page cannot be drawn: nobody waits for it again for a while.
A caller beyond those that may wait gets `Overloaded`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple

from octavo import validation
from octavo.errors import BadBook, NotFound, Overloaded
from octavo.limits import MB
from octavo.readers.printed import draw_page, find_boxes
from octavo.records.files import find_file, find_scanner, read_file
from octavo.records.markup import find_lines
from octavo.records.scans import find_scans
from octavo.search.cache import LRUCache

if TYPE_CHECKING:
    from octavo.limits import Limits
    from octavo.records.database import Database
    from octavo.types import Book, PrintedPage, Section

PAGE_WIDTH, NARROWEST, WIDEST = 1_200, 100, 3_000
AT_ONCE = 2
WAITING = 32
"""How many may wait for a page, besides those whose page is being drawn."""
_KEPT_MB = 64
FAILED_SECONDS, BUSY_SECONDS = 600.0, 30.0
"""How long a page that could not be drawn is not tried again, and one that only took too long."""
_HINT = "Only PDFs have pages that can be shown. One from an earlier version must be added again."


def make_page_tag(file: str, number: int, *, width: int, limits: Limits) -> str:
    """Make a name for the picture of a page from what it is drawn from: another picture has another name."""
    drawn_by = f"pypdfium2 {version('pypdfium2')} {limits.max_page_pixels}"
    return sha256(f"{file} {number} {width} {drawn_by}".encode()).hexdigest()[:20]


class _Failure(NamedTuple):
    """A page that could not be drawn: the least width that was tried, when, and what was said."""

    width: int
    at: float
    error: BadBook


class PrintedPages:
    def __init__(self, database: Database, limits: Limits) -> None:
        self._database, self._limits = database, limits
        self._drawing = asyncio.Semaphore(AT_ONCE)
        self._callers = 0
        self._drawn: LRUCache[bytes] = LRUCache(most=_KEPT_MB * MB, measure=len)
        self._failed: LRUCache[_Failure] = LRUCache()

    async def draw(self, book: Book, number: int, *, width: int) -> bytes:
        """Return a page of a book as a PNG."""
        validation.check_integer("width", width, least=NARROWEST, most=WIDEST)
        validation.check_integer("number", number, least=1)
        name = await find_file(self._database, book.id)
        if not name or number > book.page_count:
            raise NotFound("page", str(number), hint=_HINT)
        key = f"{name} {number} {width}"
        page = f"{name} {number}"
        known = self._find(key, page, width)
        if known is not None:
            return known
        async with self._wait():
            # Another caller may have waited for the same page.
            known = self._find(key, page, width)
            if known is not None:
                return known
            data = await self._read(name)
            try:
                drawn = await draw_page(data, number, width=width, limits=self._limits)
            except BadBook as error:
                self._failed.put(page, _Failure(width, time.monotonic(), error))
                raise
        self._drawn.put(key, drawn)
        return drawn

    def _find(self, key: str, page: str, width: int) -> bytes | None:
        """Find a page that was drawn. Raises if it could not be drawn in this width or a smaller one."""
        drawn = self._drawn.get(key)
        failed = self._failed.get(page)
        if drawn is not None or failed is None or width < failed.width:
            return drawn
        # A page that took too long may have been drawn on a busy machine.
        kept = BUSY_SECONDS if failed.error.code == "parser_timeout" else FAILED_SECONDS
        if time.monotonic() - failed.at < kept:
            raise BadBook(failed.error.code, failed.error.message, hint=failed.error.hint)
        return None

    async def locate(self, section: Section, start: int, end: int) -> tuple[PrintedPage, ...]:
        """Return the pages of a section, with boxes around its characters from `start` to `end`."""
        if end:
            validation.check_span("span", start, end)
        name = await find_file(self._database, section.book_id)
        if not name or not section.pages:
            raise NotFound("page", section.id, hint=_HINT)
        lines = await find_lines(self._database, section) if end > start else ()
        pages = {mark.number for mark in section.pages}
        engine = await find_scanner(self._database, section.book_id) if lines else ""
        scans = await find_scans(self._database, name, engine=engine, pages=pages) if lines else {}
        async with self._wait():
            data = await self._read(name)
            return await find_boxes(
                data, section, lines, start=start, end=end, limits=self._limits, scans=scans
            )

    @asynccontextmanager
    async def _wait(self) -> AsyncIterator[None]:
        """Wait for one of the places at which pages are drawn, unless too many wait already."""
        if self._callers >= AT_ONCE + WAITING:
            raise Overloaded(
                f"{self._callers} callers wait for pages already",
                retry_after=2,
                hint="Ask for the page again in a moment.",
            )
        self._callers += 1
        try:
            async with self._drawing:
                yield
        finally:
            self._callers -= 1

    async def _read(self, name: str) -> bytes:
        data = await read_file(self._database, name)
        if not data:
            raise NotFound("file", name, hint="Add the book again: its file in the records is damaged.")
        return data
