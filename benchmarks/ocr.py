"""How well and at what cost scans are read: characters, processor time, memory.

    python -m benchmarks.ocr BOOK.pdf [PAGES] [RESOLUTION]

Draws the first pages of prose of a PDF (100, 200 pixels to the inch), adds the pictures as a book without
text to an empty library, and compares each page with the file's own text: both with their lines joined, in
lower case, and without blanks and hyphens. Tables of contents are left out: OCR makes letters of their dots.
Memory is the most that the library's process and its children had at one moment; what they share counts once.
"""

from __future__ import annotations

import asyncio
import re
import resource
import sys
import tempfile
import threading
import time
from difflib import SequenceMatcher
from io import BytesIO
from pathlib import Path

import pypdfium2 as pdfium

from octavo.events import IngestEvent, Parsed
from octavo.library import Library
from octavo.records.files import find_file
from octavo.records.scans import find_scans
from octavo.testing import TinyEmbedder
from octavo.text.clean import clean
from tests.support.scans import scan_book

_LEAST_CHARACTERS = 200
_LOOK_SECONDS = 0.1
_NOT_COMPARED = re.compile(r"[\s\-‐\xad\x02\ufffe]+")
_DOTS = re.compile(r"(?:\. ?){6}")


def main(pdf: str, count: str = "100", resolution: str = "200") -> None:
    chosen = choose_pages(Path(pdf), int(count))
    texts = [page.get_textpage().get_text_range() for page in pdfium.PdfDocument(chosen)]
    asyncio.run(measure(scan_book(chosen, resolution=int(resolution)), texts))


def choose_pages(path: Path, count: int) -> bytes:
    """A book of the first pages of prose."""
    book, chosen = pdfium.PdfDocument(path), pdfium.PdfDocument.new()
    texts = [page.get_textpage().get_text_range() for page in book]
    prose = [i for i, text in enumerate(texts) if len(text) > _LEAST_CHARACTERS and not _DOTS.search(text)]
    chosen.import_pages(book, prose[:count])
    out = BytesIO()
    chosen.save(out)
    return out.getvalue()


async def measure(scan: bytes, texts: list[str]) -> None:
    events: list[IngestEvent] = []
    with tempfile.TemporaryDirectory() as room:
        path = Path(room) / "scan.pdf"
        path.write_bytes(scan)
        async with Library.open(Path(room) / "library", embedder=TinyEmbedder()) as library:
            memory, before, began = Memory(), count_seconds(), time.monotonic()
            with memory:
                book = await library.add(path, on_event=events.append)
            used, took = count_seconds() - before, time.monotonic() - began
            pages = await find_scans(library.database, await find_file(library.database, book.id))
    for event in events:
        if isinstance(event, Parsed):
            print("; ".join(event.warnings))
    wrong = whole = 0
    for number, text in enumerate(texts, 1):
        found = squeeze(pages[number].text) if number in pages else ""
        wrong += count_differences(squeeze(text), found)
        whole += len(squeeze(text))
    print(f"{len(texts)} pages: {used:.0f} CPU seconds ({used / len(texts):.2f} a page), {took:.0f} s")
    print(f"peak memory {memory.peak / (1 << 20):.0f} MB")
    print(f"character error {wrong / whole:.2%} of {whole} characters")


def squeeze(text: str) -> str:
    return _NOT_COMPARED.sub("", clean(text).casefold())


def count_differences(wanted: str, found: str) -> int:
    """How many characters differ; those in the place of others count once."""
    return sum(
        max(b - a, d - c)
        for kind, a, b, c, d in SequenceMatcher(None, wanted, found, autojunk=False).get_opcodes()
        if kind != "equal"
    )


def count_seconds() -> float:
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


class Memory:
    """Looks every tenth of a second how much memory this process and its children have."""

    def __init__(self) -> None:
        self.peak = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        own = Path("/proc/self").resolve().name
        while not self._ended.wait(_LOOK_SECONDS):
            here = [own, *Path(f"/proc/{own}/task/{own}/children").read_text().split()]
            self.peak = max(self.peak, sum(map(measure_memory, here)))


def measure_memory(process: str) -> int:
    try:
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0
    return 1024 * sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))


if __name__ == "__main__":
    main(*sys.argv[1:4])
