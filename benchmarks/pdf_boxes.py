"""Measure whether the boxes on the pages of PDFs hold exactly the words that are cited.

    python -m benchmarks.pdf_boxes PDF... [--wrong]

Of the sentences of the PDFs, 1,000 are drawn at random, with a fixed seed. Each is boxed as the page does it.
Then PDFium says which characters of the page have their middle in a box: they must be the sentence and
nothing else, blanks aside. Hyphens at the ends of lines, leaders (`.....`), the bars between cells and the
brackets around the mark of a note do not count, because they are only on the page or only in the text. Then
20 pages are drawn. `--wrong` prints what was boxed wrongly.
"""

from __future__ import annotations

import asyncio
import ctypes
import random
import re
import resource
import statistics
import sys
import unicodedata
from pathlib import Path

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from octavo.ingest.edition import build_sections
from octavo.limits import Limits
from octavo.readers import read_book
from octavo.readers.messages import WantedPage
from octavo.readers.pdf.page import Box, find_boxes
from octavo.readers.printed import draw_page, select_lines
from octavo.text.blocks import list_section_blocks
from octavo.text.sentences import split_sentences
from octavo.types import Section

CITATIONS, PAGES, WIDTH = 1_000, 20, 1_200
_LEADERS = re.compile(r"(?:[.·…]\s*){3,}")
_NOTE_MARK = re.compile(r"(?<=[^\W\d_]{3})\[(\d{1,3})\]")
_GRID = 100_000
Cited = tuple[Path, Section, int, int]


def list_sentences(path: Path) -> list[Cited]:
    """List the sentences of a PDF that have at least three letters or figures."""
    sections = build_sections(read_book(path, Limits()), book_id="book", base_url=None)
    return [
        (path, section, span.start, span.end)
        for section in sections
        for span in split_sentences(section.text, blocks=list_section_blocks(section))
        if sum(c.isalnum() for c in section.text[span.start : span.end]) >= 3
    ]


def squash(text: str) -> str:
    """Return what a text shows, without blanks and what is only on the page or only in the text."""
    plain = unicodedata.normalize("NFKD", _LEADERS.sub("", _NOTE_MARK.sub(r"\1", text)))
    return "".join(c for c in plain if not (c.isspace() or c in "|-\xad\x02\ufffe\u2010"))


def read_boxed(document: pdfium.PdfDocument, number: int, boxes: list[Box]) -> str:
    """Return the characters of a page whose middle is in one of the boxes, as PDFium reads them."""
    page = document[number - 1]
    text_page = page.get_textpage()
    sides = [ctypes.c_double() for _ in range(4)]
    x, y = ctypes.c_int(), ctypes.c_int()
    found = []
    for at in range(text_page.count_chars()):
        if not raw.FPDFText_GetCharBox(text_page, at, *sides):
            continue
        left, right, bottom, top = (side.value for side in sides)
        if right <= left:
            continue
        raw.FPDF_PageToDevice(page, 0, 0, _GRID, _GRID, 0, (left + right) / 2, (bottom + top) / 2, x, y)
        across, down = x.value / _GRID, y.value / _GRID
        if any(box[0] <= across <= box[2] and box[1] <= down <= box[3] for box in boxes):
            found.append(chr(raw.FPDFText_GetUnicode(text_page, at)))
    page.close()
    return "".join(found)


def check(document: pdfium.PdfDocument, data: bytes, section: Section, start: int, end: int) -> str:
    """Return what the boxes of a sentence hold."""
    selected = select_lines(section, section.lines, start, end)
    wanted = [WantedPage(number, lines) for number, lines in selected.items()]
    return "".join(
        read_boxed(document, number, boxes) for number, _, _, boxes in find_boxes(data, wanted) if boxes
    )


async def measure_drawing(cited: list[Cited], files: dict[Path, bytes]) -> list[float]:
    """Return the CPU seconds that drawing pages took, the process included."""
    seconds = []
    for path, section, _, _ in cited[:PAGES]:
        before = _count_seconds()
        await draw_page(files[path], section.pages[0].number, width=WIDTH, limits=Limits())
        seconds.append(_count_seconds() - before)
    return seconds


def _count_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    paths = [Path(name) for name in sys.argv[1:] if name != "--wrong"]
    sentences = [cited for path in paths for cited in list_sentences(path)]
    chosen = random.Random(1).sample(sentences, min(CITATIONS, len(sentences)))
    files = {path: path.read_bytes() for path in paths}
    documents = {path: pdfium.PdfDocument(data) for path, data in files.items()}
    right = boxed = 0
    for path, section, start, end in chosen:
        held = check(documents[path], files[path], section, start, end)
        is_right = squash(held) == squash(section.text[start:end])
        boxed += bool(held)
        right += is_right
        if "--wrong" in sys.argv and not is_right:
            print(f"{path.name} {section.text[start:end]!r}\n   holds {held!r}")
    print(f"{len(chosen)} citations of {len(sentences)} sentences in {len(paths)} PDFs: ", end="")
    print(f"{boxed} have boxes, {right} ({right / len(chosen):.1%}) hold exactly their words")
    seconds = asyncio.run(measure_drawing(chosen, files))
    print(f"drawing a page of {WIDTH} pixels: median {statistics.median(seconds):.2f} CPU s, ", end="")
    print(f"most {max(seconds):.2f}")


if __name__ == "__main__":
    main()
