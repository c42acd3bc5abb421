"""Read the pages of a PDF that are scans with OCR, and the book with what OCR has read.

Each page is drawn by the parser's process and read by the OCR program in a process of its own, one for each
core. It is saved at once, so a book that is added again after a kill goes on with the pages that are left. A
page that cannot be drawn or read is left out, and a warning names it. Where there is no OCR, a book with
other pages is read without its scans, and one without is refused; both say how to get it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.concurrency import run_blocking
from octavo.errors import BadBook
from octavo.ingest.source import read_source_file
from octavo.models.embedding import count_cores
from octavo.readers.printed import draw_scans
from octavo.readers.sandbox import parse_with_scans
from octavo.readers.scans import ScannedPage
from octavo.readers.tesseract import HOW_TO_GET_IT, Engine, find_engine, recognize
from octavo.records.scans import find_scans, save_scan

if TYPE_CHECKING:
    from octavo.ingest.context import LibraryContext
    from octavo.limits import Limits
    from octavo.readers.parsed import ParsedBook
    from octavo.readers.scans import ScannedPages

OnPage = Callable[[int, int], None]
# The most pages that one process draws, one after the other.
_DRAWN_AT_ONCE = 4
_NOTHING = ScannedPage(0.0, ())
_TURNED_OFF = "Scans are read if OCTAVO_OCR is `auto`; it is `off`."
_NOT_INSTALLED = f"Tesseract reads scans: {HOW_TO_GET_IT}. Then add the book again."


async def read_book(
    path: Path, context: LibraryContext, *, language: str = "", on_page: OnPage | None = None
) -> ParsedBook:
    """Read the book at a path, with its scanned pages. `language` is what the caller says of the book.

    `on_page` is called now and then while pages are read, and for each page that OCR has read.
    """
    limits = context.settings.limits
    book = await parse_with_scans(path, limits, {}, on_page=on_page)
    if not book.scans:
        return book
    engine = await _find_engine(context, language or book.language)
    if isinstance(engine, str):
        return _leave_out(book, path.name, engine)
    _require_few(len(book.scans), path.name, limits)
    data = await run_blocking(read_source_file, path, book.file_hash, limits)
    if not data:
        raise _make_changed(path.name)
    job = _Job(context, engine, book.file_hash, data)
    pages, lost = await job.read(book.scans, on_page)
    if not book.sections and not any(page.lines for page in pages.values()):
        raise BadBook("no_text", f"OCR has found no text on the {len(book.scans)} pages of {path.name}")
    # A page that could not be read is passed as one without words: it is no longer to be read.
    given = {**dict.fromkeys(lost, _NOTHING), **pages}
    read = await parse_with_scans(path, limits, given)
    if read.file_hash != book.file_hash or read.scans:
        raise _make_changed(path.name)
    warnings = (*read.warnings, *_describe(pages, lost, engine))
    return replace(read, warnings=warnings, scanner=engine.name)


async def _find_engine(context: LibraryContext, language: str) -> Engine | str:
    """Find the OCR program, or return why there is none."""
    if context.settings.ocr == "off":
        return _TURNED_OFF
    return await find_engine(context.settings.ocr_languages, language=language) or _NOT_INSTALLED


def _require_few(count: int, name: str, limits: Limits) -> None:
    """Refuse a book that OCR would read for hours, and that may then be too much for the parser's memory."""
    if count > limits.ocr_pages:
        raise BadBook(
            "too_large",
            f"{name} has {count} scanned pages; OCR reads {limits.ocr_pages} in one book",
            hint="Split the PDF, or raise OCTAVO_LIMITS__OCR_PAGES and OCTAVO_LIMITS__PARSER_MEMORY_MB.",
        )


def _make_changed(name: str) -> BadBook:
    return BadBook("not_found", f"{name} has changed while it was read", hint="Add it again.")


def _leave_out(book: ParsedBook, name: str, reason: str) -> ParsedBook:
    """Return a book without its scans, with a warning; refuse one that has nothing else."""
    if not book.sections:
        raise BadBook("no_text", f"all {book.page_count} pages of {name} are scans", hint=reason)
    count = len(book.scans)
    warning = f"{count} {'page is a scan' if count == 1 else 'pages are scans'} and not read. {reason}"
    return replace(book, warnings=(*book.warnings, warning))


@dataclass(frozen=True, slots=True)
class _Job:
    """The scanned pages of one file."""

    context: LibraryContext
    engine: Engine
    file: str
    data: bytes

    async def read(
        self, numbers: Sequence[int], on_page: OnPage | None
    ) -> tuple[dict[int, ScannedPage], list[int]]:
        """Return what is on the pages, and the numbers of those that cannot be read."""
        known = await find_scans(self.context.records.database, self.file, engine=self.engine.name)
        pages = {number: known[number] for number in numbers if number in known}
        lost: list[int] = []

        def tell() -> None:
            if on_page:
                on_page(len(pages) + len(lost), len(numbers))

        async def read_some(some: Sequence[int]) -> None:
            async with self.context.recognizing:
                for number, picture in (await self._draw(some)).items():
                    page = await self._recognize(number, picture) if picture else None
                    if page is None:
                        lost.append(number)
                    else:
                        pages[number] = page
                    tell()

        tell()
        left = [number for number in numbers if number not in pages]
        size = max(1, min(_DRAWN_AT_ONCE, len(left) // count_cores()))
        parts = [left[at : at + size] for at in range(0, len(left), size)]
        try:
            async with asyncio.TaskGroup() as group:
                for some in parts:
                    group.create_task(read_some(some))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return pages, sorted(lost)

    async def _draw(self, numbers: Sequence[int]) -> dict[int, bytes]:
        """Draw pages; b"" for one that cannot be drawn."""
        with suppress(BadBook):
            return await self._draw_all(numbers)
        drawn = dict.fromkeys(numbers, b"")
        for number in numbers if len(numbers) > 1 else ():
            with suppress(BadBook):
                drawn |= await self._draw_all((number,))
        return drawn

    async def _draw_all(self, numbers: Sequence[int]) -> dict[int, bytes]:
        drawn = await draw_scans(self.data, numbers, self.context.settings.limits)
        return dict(zip(numbers, drawn, strict=True))

    async def _recognize(self, number: int, picture: bytes) -> ScannedPage | None:
        try:
            page = await recognize(picture, number, self.engine, self.context.settings.limits)
        except BadBook:
            return None
        await save_scan(self.context.records.database, self.file, number, self.engine.name, page)
        return page


def _describe(pages: ScannedPages, lost: Sequence[int], engine: Engine) -> tuple[str, ...]:
    """Say how many pages OCR has read, how sure it is, and what it could not read."""
    said: list[str] = []
    read = [page for page in pages.values() if page.lines]
    if read:
        # The same figure as `octavo list` has: every page counts the same.
        sure = sum(page.confidence for page in read) / len(read)
        were = "1 page was" if len(read) == 1 else f"{len(read)} pages were"
        said.append(f"{were} read by OCR, {sure:.0%} sure")
    if lost:
        said.append(f"OCR could not read {'page' if len(lost) == 1 else 'pages'} {', '.join(map(str, lost))}")
    if engine.missing:
        package = f"tesseract-ocr-{engine.missing.replace('_', '-')}"
        said.append(
            f"Tesseract does not have the language {engine.missing!r} and read the scans as "
            f"{engine.languages!r}; install it (Debian: `apt install {package}`) "
            "and add the book again"
        )
    return tuple(said)
