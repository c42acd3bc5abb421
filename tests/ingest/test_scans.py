"""Scanned pages are read by OCR, with the boxes of their words; without it, the reader is told what to do."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import func, select

from octavo.errors import BadBook
from octavo.events import IngestEvent, Parsed, Preparing
from octavo.ingest.scans import _describe, read_book
from octavo.library import Library
from octavo.limits import Limits
from octavo.readers.scans import ScannedLine, ScannedPage, ScannedWord
from octavo.readers.tesseract import Engine
from octavo.records.files import find_file
from octavo.records.scans import find_scans, list_scans, save_scan
from octavo.records.tables import edition_files, scans
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from tests.readers.test_printed import box, read_section
from tests.support import pdf_files
from tests.support.patience import wait_until_async
from tests.support.pdf_files import Text
from tests.support.scans import bind, count_wrong, make_picture, scan_book

PAGE = [
    Text(72, 760, "The Ferry at Norwick", 18),
    Text(72, 720, "The ferry leaves the north pier at seven every morning and comes back at noon,"),
    Text(72, 708, "with the mail and the bread. In winter it waits for the light, and the keeper of"),
    Text(72, 696, "the lamp signs for both bags. Nobody has ever asked him to sign for the fog that"),
    Text(72, 684, "comes with it, though it is heavier than the mail and later than the bread. A sec-"),
    Text(72, 672, "ond boat was promised in the year of the great storm, and has a berth to this day."),
]
OTHER = [Text(72, 720, "On Sundays the boat stays at the pier, and the bell of the chapel is rung twice.")]
WORDS = " ".join(line.words for line in PAGE[1:]).replace("sec- ond", "second")


def flatten(text: str) -> str:
    return " ".join(text.split())


async def read_text(library: Library, book_id: str) -> str:
    parts = [await library.section(book_id, entry.id) for entry in await library.contents(book_id)]
    return flatten(" ".join(f"{part.title} {part.text}" for part in parts))


async def test_adding_and_listing_are_equally_sure_though_one_page_has_more_words(tmp_path: Path) -> None:
    word = ScannedWord("tide", 0.1, 0.1, 0.2, 0.2)
    pages = {
        number: ScannedPage(sure, (ScannedLine(0.2, 0.1, (word,) * words),))
        for number, sure, words in ((1, 0.9, 40), (2, 0.7, 2))
    }
    (note,) = _describe(pages, (), Engine("tesseract", "", "eng"))
    path = tmp_path / "ferry.pdf"
    path.write_bytes(pdf_files.make_book([PAGE]))
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        await library.add(path)
        for number, page in pages.items():
            await save_scan(library.database, sha256(path.read_bytes()).hexdigest(), number, "", page)
        (summary,) = (await list_scans(library.database)).values()
    assert note == f"2 pages were read by OCR, {summary.confidence:.0%} sure"


async def test_a_scan_is_read_and_a_citation_is_drawn_on_its_page(tmp_path: Path) -> None:
    printed = pdf_files.make_book([PAGE])
    path = tmp_path / "ferry.pdf"
    path.write_bytes(scan_book(printed))
    events: list[IngestEvent] = []
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        book = await library.add(path, on_event=events.append)
        assert book.title == "The Ferry at Norwick"
        (entry, *_) = await library.contents(book.id)
        section = await library.section(book.id, entry.id)
        assert count_wrong(WORDS, flatten(section.text)[-len(WORDS) :]) <= 0.02 * len(WORDS)
        (parsed,) = (event for event in events if isinstance(event, Parsed))
        assert parsed.warnings[0].startswith("1 page was read by OCR, ")
        assert any(isinstance(event, Preparing) for event in events)
        (summary,) = (await list_scans(library.database)).values()
        assert (summary.pages, 0.8 < summary.confidence <= 1) == (1, True)
        assert f", {summary.confidence:.0%} sure" in parsed.warnings[0]

        wanted = "it waits for the light"
        start = section.text.index(wanted)
        (page,) = await library.pages(book.id, section.id, start=start, end=start + len(wanted))
        (found,) = page.boxes
        # The same words in the book that was scanned, whose boxes come from its text.
        (true,) = (await box(printed, await read_section(tmp_path, printed), wanted)).boxes
        assert (found.left, found.right) == pytest.approx((true.left, true.right), abs=0.004)
        assert true.top - 0.004 < found.top < found.bottom < true.bottom + 0.004
        assert found.bottom - found.top > 0.5 * (true.bottom - true.top)


async def test_a_kill_loses_no_page_that_was_read(tmp_path: Path) -> None:
    path = tmp_path / "ferry.pdf"
    path.write_bytes(scan_book(pdf_files.make_book([OTHER, OTHER]), resolution=120))
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:

        async def count() -> int:
            async with library.database.connect() as connection:
                return int(await connection.scalar(select(func.count()).select_from(scans)) or 0)

        adding = asyncio.create_task(library.add(path))
        await wait_until_async(count)
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding
        async with library.database.connect() as connection:
            row = (await connection.execute(select(scans))).first()
        assert row is not None
        # A sign in the page that was saved shows whether it is used or read again.
        (kept,) = (await find_scans(library.database, row.file, pages=[row.page])).values()
        marked = kept.lines[0].words[0]._replace(text="Kept")
        line = kept.lines[0]._replace(words=(marked, *kept.lines[0].words[1:]))
        async with library.database.begin() as connection:
            await connection.execute(scans.delete())
        await save_scan(library.database, row.file, row.page, row.engine, kept._replace(lines=(line,)))
        book = await library.add(path)
        text = await read_text(library, book.id)
        assert text.count("Kept") == 1
        assert "the bell of the chapel" in text
        assert await count() == 2


async def test_only_pages_without_text_are_scanned_and_all_stay_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "mixed.pdf"
    first, last = (pdf_files.make_book([[Text(72, 700, f"This page has text, the {n} one.")]]) for n in "ab")
    path.write_bytes(bind(first, scan_book(pdf_files.make_book([OTHER]), resolution=150), last))
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        book = await library.add(path)
        text = await read_text(library, book.id)
        assert text.index("the a one") < text.index("the bell of the chapel") < text.index("the b one")
        file = await find_file(library.database, book.id)
        assert list(await find_scans(library.database, file)) == [2]
        (entry, *_) = await library.contents(book.id)
        section = await library.section(book.id, entry.id)
        for number, words in ((1, "the a one"), (2, "On Sundays the boat"), (3, "the b one")):
            start = section.text.index(words)
            pages = await library.pages(book.id, section.id, start=start, end=start + len(words))
            assert [page.number for page in pages if page.boxes] == [number]


async def test_without_ocr_the_error_or_the_warning_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = scan_book(pdf_files.make_book([OTHER]), resolution=50)
    scanned, mixed = tmp_path / "scan.pdf", tmp_path / "mixed.pdf"
    scanned.write_bytes(scan)
    mixed.write_bytes(bind(pdf_files.make_book([PAGE]), scan))
    monkeypatch.setenv("PATH", str(tmp_path))
    events: list[IngestEvent] = []
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        with pytest.raises(BadBook) as refused:
            await library.add(scanned)
        assert refused.value.code == "no_text"
        assert "apt install tesseract-ocr" in refused.value.hint
        assert "brew install tesseract" in refused.value.hint
        await library.add(mixed, on_event=events.append)
    (parsed,) = (event for event in events if isinstance(event, Parsed))
    assert "1 page is a scan and not read" in parsed.warnings[-1]
    assert "apt install tesseract-ocr" in parsed.warnings[-1]


async def test_it_can_be_turned_off(tmp_path: Path) -> None:
    path = tmp_path / "scan.pdf"
    path.write_bytes(scan_book(pdf_files.make_book([OTHER]), resolution=50))
    settings = Settings(data=tmp_path / "library", ocr="off")
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        with pytest.raises(BadBook) as refused:
            await library.add(path)
    assert "OCTAVO_OCR" in refused.value.hint


async def test_a_page_with_a_hostile_picture_does_not_spoil_the_others(tmp_path: Path) -> None:
    # It claims 2.5 billion pixels; a page in between is sound.
    bomb = pdf_files.write_file(
        {
            1: b"<< /Type /Catalog /Pages 2 0 R >>",
            2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            3: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
            b"/Resources << /XObject << /Im 5 0 R >> >> >>",
            4: pdf_files.stream(b"595 0 0 842 0 0 cm /Im Do"),
            5: make_picture(b"\0" * 1_000_000, 50_000, 50_000),
        }
    )
    path = tmp_path / "hostile.pdf"
    path.write_bytes(bind(bomb, scan_book(pdf_files.make_book([OTHER]), resolution=150)))
    events: list[IngestEvent] = []
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        book = await library.add(path, on_event=events.append)
        assert "the bell of the chapel" in await read_text(library, book.id)
    (parsed,) = (event for event in events if isinstance(event, Parsed))
    assert parsed.warnings[0].startswith("1 page was read by OCR")


async def test_a_file_that_is_replaced_while_ocr_reads_it_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ferry.pdf"
    path.write_bytes(scan_book(pdf_files.make_book([OTHER]), resolution=120))
    other = scan_book(pdf_files.make_book([PAGE, PAGE]), resolution=50)
    file = sha256(path.read_bytes()).hexdigest()

    def replace_file(done: int, total: int) -> None:
        # Its page is read.
        if done == total:
            path.write_bytes(other)

    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        with pytest.raises(BadBook, match=r"ferry\.pdf has changed while it was read"):
            await read_book(path, await library._context(), on_page=replace_file)
        assert list(await find_scans(library.database, file)) == [1]


async def test_too_many_scans_are_refused_before_ocr_begins(tmp_path: Path) -> None:
    path = tmp_path / "long.pdf"
    path.write_bytes(scan_book(pdf_files.make_book([OTHER, OTHER]), resolution=50))
    settings = Settings(data=tmp_path / "library", limits=Limits(ocr_pages=1))
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        with pytest.raises(BadBook, match="2 scanned pages; OCR reads 1 in one book") as refused:
            await library.add(path)
        async with library.database.connect() as connection:
            assert await connection.scalar(select(func.count()).select_from(scans)) == 0
    assert refused.value.code == "too_large"
    assert "OCTAVO_LIMITS__OCR_PAGES" in refused.value.hint


@pytest.mark.parametrize(
    ("language", "said"),
    [("zh", "`apt install tesseract-ocr-chi-sim`"), ("ur", "`apt install tesseract-ocr-urd`")],
)
async def test_a_warning_names_the_package_of_a_language(tmp_path: Path, language: str, said: str) -> None:
    path = tmp_path / "ferry.pdf"
    path.write_bytes(scan_book(pdf_files.make_book([OTHER]), resolution=120))
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        book = await read_book(path, await library._context(), language=language)
    assert said in book.warnings[-1]


async def test_pictures_without_words_are_no_book(tmp_path: Path) -> None:
    path = tmp_path / "blank.pdf"
    path.write_bytes(scan_book(pdf_files.make_book([[]]), resolution=50))
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        with pytest.raises(BadBook, match="OCR has found no text"):
            await library.add(path)


async def test_what_another_engine_has_read_stays_until_its_edition_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "ferry.pdf"
    path.write_bytes(scan_book(pdf_files.make_book([OTHER]), resolution=120))
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:

        async def list_engines() -> set[str]:
            async with library.database.connect() as connection:
                return set(await connection.scalars(select(scans.c.engine)))

        book = await library.add(path)
        (engine,) = await list_engines()
        # As if an earlier version of the OCR program had read the published edition.
        async with library.database.begin() as connection:
            for table in (scans, edition_files):
                await connection.execute(table.update().values(engine="earlier"))
        await library.preview(path)
        assert await list_engines() == {"earlier", engine}
        file = await find_file(library.database, book.id)
        ((number, page),) = (await find_scans(library.database, file, engine=engine)).items()
        changed = page.lines[0].words[0]._replace(text="Changed")
        line = page.lines[0]._replace(words=(changed, *page.lines[0].words[1:]))
        async with library.database.begin() as connection:
            await connection.execute(scans.delete().where(scans.c.engine == engine))
        await save_scan(library.database, file, number, engine, page._replace(lines=(line,)))
        # The boxes of the published edition are where the earlier engine saw its words.
        (entry, *_) = await library.contents(book.id)
        text = (await library.section(book.id, entry.id)).text
        first = len(text.split()[0])
        (shown,) = await library.pages(book.id, entry.id, start=0, end=first)
        assert shown.boxes
        await library.add(path, book_id=book.id)
        assert await list_engines() == {engine}
        assert "Changed" in await read_text(library, book.id)
