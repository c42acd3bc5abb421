"""Read a PDF: pages of glyphs in, sections of text out, every word on its right page.

PDFium reads the pages, or OCR has read them before; `layout` drops running heads and joins lines to
paragraphs, `headings` finds where sections begin. What is lost is reported: a page that cannot be read, a
file that is cut off and a book that is mostly blank each leave a warning, and a file without any text is
refused. Pages that are scans are named, so that OCR can read them.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from octavo.errors import BadBook
from octavo.readers.book_words import BookWords
from octavo.readers.files import check_text_size
from octavo.readers.metadata import build_metadata
from octavo.readers.parsed import ParsedBook, ParsedSection
from octavo.readers.parts import build_elements
from octavo.readers.pdf import headings as pdf_headings
from octavo.readers.pdf import scan
from octavo.readers.pdf.headings import OutlineEntry, SectionStart
from octavo.readers.pdf.layout import drop_boilerplate, join_lines, lay_out, measure_leading
from octavo.readers.pdf.lines import WIDE_GAP, PdfLine, PdfPage, Segment
from octavo.readers.pdf.scanned import build_lines, even_out_sizes
from octavo.readers.pdf.xmp import read_xmp
from octavo.readers.titles import clean_line
from octavo.text.clean import clean, collapse
from octavo.types import BookFormat

if TYPE_CHECKING:
    from octavo.limits import Limits
    from octavo.readers.scans import ScannedPage, ScannedPages

OnPage = Callable[[int, int], None] | None
MOST_ENTRIES = 20_000
# A page without text is a scan if pictures cover more than this share of it.
_SCAN_SHARE = 0.25
_MOST_PICTURES = 5_000
_LONGEST_KEYWORDS = 2_000
_LINES = re.compile(r"\r\n|[\r\n\x02\ufffe]")
_BLANKS = re.compile(r"\s+")
# A figure behind a word. It is the mark of a note if it is smaller than the word and raised, in units of the
# word's size. Fewer letters may be a unit with its power.
_FIGURE_AT_WORD = re.compile(r"\d(?<=[^\W\d_]{3}\d)\d{0,2}(?!\w)")
_SMALLER, _RAISED = 0.85, 0.2
# How PDFium writes a hyphen at the end of a line.
_HYPHEN_MARKS = "\x02\ufffe"
_JUNK_TITLE = re.compile(
    r"(?:microsoft (?:word|powerpoint|excel)\b.*|untitled.*|document\d*|title|presentation\d*|slide \d+|"
    r".*[\\/].*|.*\.(?:docx?|rtf|indd|tex|dvi|ps|pdf|html?|qxd|fm|pptx?|xlsx?|p65|odt)|[\W\d_]*)",
    re.IGNORECASE,
)
_NOBODY = re.compile(
    r"(?:admin(?:istrator)?|user|owner|unknown|author|root|anonymous|edgar\b.*|[\W\d_]*)", re.IGNORECASE
)


def read_pdf(
    path: Path,
    limits: Limits,
    *,
    scans: ScannedPages | None = None,
    announce: Callable[[int], None] | None = None,
    on_page: OnPage = None,
) -> ParsedBook:
    """Read the book in a PDF. `announce` gets the number of pages before they are read, `on_page` each.

    `scans` has what OCR has read on pages without text. If there are only pages that it has still to read,
    the book has no sections.
    """
    scans = scans or {}
    data = path.read_bytes()
    scan.refuse_bombs(data, limits)
    with _open_document(data, path.name) as document:
        count = _count_pages(document, data, path.name, limits)
        if announce:
            announce(count)
        entries = _read_outline(document)
        pages, lost = _read_pages(
            document, count, limits, path.name, scans=scans, bold=not entries, on_page=on_page
        )
        pages = even_out_sizes(pages, scans)
        unread = tuple(page.number for page in pages if page.scan)
        warnings = _write_warnings(pages, lost, count, data, path.name)
        pages = drop_boilerplate(pages)
        lines = [line for page in pages for line in page.lines]
        if not lines and not unread:
            raise BadBook("no_text", f"none of the {count} pages of {path.name} has text")
        words = BookWords(line.text for line in lines)
        title = _find_title(document, pages, words, path)
        said = read_xmp(data)
        return ParsedBook(
            title=title,
            format=BookFormat.PDF,
            sections=_build_sections(
                lines, _find_headings(entries, lines, words, title, count), pages, words, title, path.name
            )
            if lines
            else (),
            authors=_read_authors(document) or _clean_names(said.authors),
            language=_read_language(document) or _check_language(said.language),
            metadata=build_metadata(
                subjects=said.subjects or _read_keywords(document),
                publisher=said.publisher,
                published=said.date,
                identifiers=[("", identifier) for identifier in said.identifiers],
            ),
            page_count=count,
            warnings=warnings,
            scans=unread,
            file_hash=sha256(data).hexdigest(),
        )


@contextmanager
def _open_document(data: bytes, name: str) -> Iterator[pdfium.PdfDocument]:
    try:
        document = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        if error.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            raise BadBook("encrypted", f"{name} is locked with a password") from None
        raise BadBook("damaged_pdf", f"{name} cannot be opened as a PDF: {error}") from None
    try:
        yield document
    finally:
        document.close()


def _count_pages(document: pdfium.PdfDocument, data: bytes, name: str, limits: Limits) -> int:
    count = len(document)
    if count < 1 or count > len(data) // 4:
        raise BadBook("damaged_pdf", f"{name} claims {count} pages in {len(data)} bytes")
    if count > limits.max_pages:
        raise BadBook(
            "too_large",
            f"{name} has {count} pages; the limit is {limits.max_pages}",
            hint="Split the PDF, or raise OCTAVO_LIMITS__MAX_PAGES if you trust it.",
        )
    return count


def _read_pages(
    document: pdfium.PdfDocument,
    count: int,
    limits: Limits,
    name: str,
    *,
    scans: ScannedPages,
    bold: bool,
    on_page: OnPage = None,
) -> tuple[list[PdfPage], list[int]]:
    """Return every page that can be read, and the numbers of those that cannot."""
    pages: list[PdfPage] = []
    lost: list[int] = []
    total = 0
    for number in range(1, count + 1):
        if on_page:
            on_page(number, count)
        try:
            page = _read_page(document, number, limits, scans.get(number), bold=bold)
        except pdfium.PdfiumError:
            lost.append(number)
            if len(lost) > 200 and not pages:
                raise BadBook(
                    "damaged_pdf", f"none of the first {len(lost)} pages of {name} can be read"
                ) from None
            continue
        total += sum(len(line.text) for line in page.lines)
        check_text_size(total, limits, name=name)
        pages.append(page)
    if not pages:
        raise BadBook("damaged_pdf", f"none of the {count} pages of {name} can be read")
    return pages, lost


def _read_page(
    document: pdfium.PdfDocument, number: int, limits: Limits, scan: ScannedPage | None, *, bold: bool
) -> PdfPage:
    page = document[number - 1]
    try:
        width, height = page.get_size()
        rotation = page.get_rotation() % 360
        text_page = page.get_textpage()
        try:
            glyphs = text_page.count_chars()
            if glyphs > limits.max_page_chars:
                raise BadBook(
                    "too_large",
                    f"page {number} has {glyphs} characters; the limit is {limits.max_page_chars}",
                )
            lines = tuple(_read_lines(text_page, number, rotation, bold=bold)) if glyphs else ()
        finally:
            text_page.close()
        left, bottom, right, top = page.get_bbox()
        low = {90: -right, 180: -top, 270: left}.get(rotation, bottom)
        high = height or top - bottom or width
        if scan is not None and not lines:
            lines = build_lines(scan, number, width=width, height=high, bottom=low)
        is_scan = scan is None and not lines and _shows_pictures(page, width * height)
        return PdfPage(number, document.get_page_label(number - 1) or None, low, high, lines, is_scan)
    finally:
        page.close()


def _shows_pictures(page: pdfium.PdfPage, area: float) -> bool:
    """Whether pictures cover a good part of the page: it is a scan, or an illustration."""
    covered = 0.0
    for picture in islice(page.get_objects((raw.FPDF_PAGEOBJ_IMAGE,), max_depth=4), _MOST_PICTURES):
        left, bottom, right, top = picture.get_bounds()
        covered += abs((right - left) * (top - bottom))
    return covered > _SCAN_SHARE * area


def _read_lines(
    text_page: pdfium.PdfTextPage, number: int, rotation: int, *, bold: bool
) -> Iterator[PdfLine]:
    """Yield the printed lines of a page in the order in which the file draws them."""
    text = text_page.get_text_range(errors="replace")
    wide = not text.isascii() and max(text) > "\uffff"
    measurer = _LineMeasurer(
        text_page, number, rotation, bold=bold, shifted=wide or len(text) != text_page.count_chars()
    )
    # `at` counts in UTF-16 units, as PDFium does.
    start = at = 0
    for found in [*_LINES.finditer(text), None]:
        end = found.start() if found else len(text)
        segment = text[start:end]
        units = len(segment.encode("utf-16-le", "replace")) // 2 if wide else end - start
        words = segment.strip()
        if words:
            first = at + len(segment) - len(segment.lstrip())
            last = at + units - 1 - (len(segment) - len(segment.rstrip()))
            broken = found is not None and found.group() in _HYPHEN_MARKS
            line = measurer.measure_line(words, first, last, hyphen=broken)
            if line.text:
                yield line
        at += units + (len(found.group()) if found else 0)
        start = found.end() if found else end


class _LineMeasurer:
    """Measures the lines of one page: where they are when the page is upright, and in what type."""

    def __init__(
        self, text_page: pdfium.PdfTextPage, number: int, rotation: int, *, bold: bool, shifted: bool
    ) -> None:
        self._text_page, self._number, self._rotation, self._bold = text_page.raw, number, rotation, bold
        self._box, self._matrix, self._flags = raw.FS_RECTF(), raw.FS_MATRIX(), ctypes.c_int()
        self._name = ctypes.create_string_buffer(96)
        self._shifted = shifted

    def measure_line(self, words: str, first: int, last: int, *, hyphen: bool) -> PdfLine:
        left, y, ahead = self._find_box(first)
        _, other_y, right = self._find_box(last)
        middle = len(words) // 2
        size, bold = self._find_type(first + middle + (words[middle] == " "))
        right = max(right, ahead)
        segments = self._find_segments(words, first, left, right, WIDE_GAP * size) if " " in words else ()
        if hyphen and segments:
            segments = (*segments[:-1], segments[-1]._replace(text=f"{segments[-1].text}-"))
        words = self._mark_notes(words, first)
        if not (words.isascii() and words.isprintable()):
            words = collapse(clean(words))
        return PdfLine(
            self._number,
            words,
            left,
            right,
            min(y, other_y),
            size,
            bold,
            hyphen,
            first,
            last - first + 1,
            segments,
        )

    def _find_segments(
        self, words: str, first: int, left: float, right: float, gap: float
    ) -> tuple[Segment, ...]:
        """Divide the words of a line where the gap between two of them is wide; () if none is."""
        if right - left < 2 * gap or max(words) > "\uffff":
            return ()
        found: list[Segment] = []
        start, begun = 0, left
        for space in _BLANKS.finditer(words):
            at, after = space.span()
            ended, opened = self._find_gap(first + at - 1, first + after)
            # A word that stands to the left of the word before it belongs to another part of the page.
            if not -gap < opened - ended < gap:
                found.append(Segment(words[start:at], begun, ended, first + start, at - start))
                start, begun = after, opened
        if not found:
            return ()
        found.append(Segment(words[start:], begun, right, first + start, len(words) - start))
        return tuple(
            segment._replace(text=text)
            for segment in found
            if (text := collapse(clean(self._mark_notes(segment.text, segment.first))))
        )

    def _mark_notes(self, words: str, first: int) -> str:
        """Put raised figures that stick to a word in brackets, as notes are marked in other formats."""
        if _FIGURE_AT_WORD.search(words) is None or max(words) > "\uffff":
            return words
        return _FIGURE_AT_WORD.sub(
            lambda found: f"[{found[0]}]" if self._is_raised(first + found.start()) else found[0], words
        )

    def _is_raised(self, at: int) -> bool:
        """Whether a character is smaller than the one before it, and stands higher."""
        size, _ = self._find_type(at - 1)
        rise = self._find_box(at)[1] - self._find_box(at - 1)[1]
        return self._find_type(at)[0] < _SMALLER * size and rise > _RAISED * size

    def _find_gap(self, before: int, after: int) -> tuple[float, float]:
        """Return where one glyph ends and another begins. Called for every blank, so it saves calls."""
        if self._rotation or self._shifted:
            return self._find_box(before)[2], self._find_box(after)[0]
        box, page = self._box, self._text_page
        raw.FPDFText_GetLooseCharBox(page, before, box)
        ended = box.right
        raw.FPDFText_GetLooseCharBox(page, after, box)
        return ended, box.left

    def _find_box(self, at: int) -> tuple[float, float, float]:
        """Return the left edge, foot and right edge of a glyph on the page turned upright."""
        box = self._box
        glyph = raw.FPDFText_GetCharIndexFromTextIndex(self._text_page, at) if self._shifted else at
        if not raw.FPDFText_GetLooseCharBox(self._text_page, glyph, box):
            return 0.0, 0.0, 0.0
        if self._rotation == 90:
            return box.bottom, -box.right, box.top
        if self._rotation == 180:
            return -box.right, -box.top, -box.left
        if self._rotation == 270:
            return -box.top, box.left, -box.bottom
        return box.left, box.bottom, box.right

    def _find_type(self, at: int) -> tuple[float, bool]:
        glyph = raw.FPDFText_GetCharIndexFromTextIndex(self._text_page, at) if self._shifted else at
        matrix = self._matrix
        size = raw.FPDFText_GetFontSize(self._text_page, glyph)
        if raw.FPDFText_GetMatrix(self._text_page, glyph, matrix):
            size *= math.hypot(matrix.c, matrix.d)
        if not self._bold:
            return size, False
        raw.FPDFText_GetFontInfo(self._text_page, glyph, self._name, 96, self._flags)
        name = self._name.value.lower()
        return size, b"bold" in name or b"black" in name or b"heavy" in name


def _write_warnings(
    pages: Sequence[PdfPage], lost: Sequence[int], count: int, data: bytes, name: str
) -> tuple[str, ...]:
    """Return what a reader should know about this copy, in sentences."""
    blank = [page.number for page in pages if not page.lines and not page.scan]
    warnings = []
    cut, claimed = scan.is_cut_off(data), scan.count_claimed_pages(data)
    if cut:
        warnings.append(f"{name} is cut off or damaged: its index was rebuilt and text may be missing")
    if claimed > count:
        warnings.append(f"pages lost: {name} should have {claimed} pages, {count} could be found")
    gone = sorted({*lost, *blank}) if cut else list(lost)
    if gone:
        warnings.append(f"pages lost: {_write_ranges(gone)}")
    if 2 * len(blank) > len(pages) and len(blank) < len(pages):
        warnings.append(f"{len(blank)} of {len(pages)} pages of {name} have no text")
    return tuple(warnings)


def _write_ranges(numbers: Sequence[int]) -> str:
    """Write numbers as `1, 3–5, 9`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in runs)


def _read_outline(document: pdfium.PdfDocument) -> list[OutlineEntry]:
    entries: list[OutlineEntry] = []
    for bookmark in document.get_toc():
        if len(entries) == MOST_ENTRIES:
            break
        target = bookmark.get_dest()
        page = target.get_index() if target else None
        entries.append(
            OutlineEntry(
                bookmark.level, bookmark.get_title(), None if page is None else page + 1, _find_height(target)
            )
        )
    return entries


def _find_height(target: pdfium.PdfDest | None) -> float | None:
    """Return the y that a destination points at, if it names one."""
    if target is None:
        return None
    mode, numbers = target.get_view()
    place = {raw.PDFDEST_VIEW_XYZ: 1, raw.PDFDEST_VIEW_FITH: 0, raw.PDFDEST_VIEW_FITBH: 0}.get(mode)
    if place is None and mode == raw.PDFDEST_VIEW_FITR:
        place = 3
    return numbers[place] if place is not None and place < len(numbers) and numbers[place] else None


def _find_headings(
    entries: Sequence[OutlineEntry], lines: Sequence[PdfLine], words: BookWords, title: str, count: int
) -> list[SectionStart]:
    found = pdf_headings.locate_outline(entries, lines, words=words, book_title=title)
    if found:
        return found
    found = pdf_headings.detect_headings(lines, words=words, pages=count)
    if not found and count > pdf_headings.RUN_OF_PAGES:
        found = pdf_headings.split_into_runs(lines)
    return found


def _build_sections(
    lines: Sequence[PdfLine],
    headings: Sequence[SectionStart],
    pages: Sequence[PdfPage],
    words: BookWords,
    title: str,
    name: str,
) -> tuple[ParsedSection, ...]:
    """Cut the book at its headings; what comes before the first one goes under the book's title."""
    labels = {page.number: page.label for page in pages}
    leading = measure_leading(lines)
    sections: list[ParsedSection] = []
    first = headings[0].start if headings else len(lines)
    front = [SectionStart((title,), 0, 0)] if first > 0 else []
    starts = [*front, *headings]
    for heading, following in zip(starts, [*starts[1:], None], strict=True):
        end = following.start if following else len(lines)
        body = min(heading.body, end)
        laid = lay_out(lines[body:end], words=words, leading=leading, label=labels.get)
        sections.append(
            ParsedSection(
                title=heading.path[-1],
                heading_path=heading.path,
                text=laid.text,
                source_file=name,
                pages=laid.pages,
                blocks=laid.blocks,
                markup=build_elements(laid.markup),
                lines=laid.lines,
            )
        )
    return tuple(sections)


def _find_title(document: pdfium.PdfDocument, pages: Sequence[PdfPage], words: BookWords, path: Path) -> str:
    """Return the title that the file states, or the largest words on its first page, or the file's name."""
    stated = pdf_headings.clean_title(document.get_metadata_value("Title"))
    if stated and not _JUNK_TITLE.fullmatch(stated):
        return stated
    lines = next((page.lines for page in pages if page.lines), ())
    sizes = sorted({round(line.size, 1) for line in lines}, reverse=True)
    if len(sizes) > 1 and sizes[0] > 1.3 * sizes[1]:
        large = [i for i, line in enumerate(lines) if round(line.size, 1) == sizes[0]]
        printed = pdf_headings.clean_title(join_lines([lines[i] for i in large], words))
        together = large[-1] - large[0] == len(large) - 1
        if together and 4 <= len(printed) <= 150 and not _JUNK_TITLE.fullmatch(printed):
            return printed
    return pdf_headings.clean_title(path.stem.replace("_", " ")) or "Untitled"


def _read_authors(document: pdfium.PdfDocument) -> tuple[str, ...]:
    stated = pdf_headings.clean_title(document.get_metadata_value("Author"))
    return _clean_names(re.split(r"\s*(?:;|\s&\s|\s+and\s+)\s*", stated))


def _clean_names(names: Sequence[str]) -> tuple[str, ...]:
    lines = map(clean_line, names)
    return tuple(name for name in lines if name and not _NOBODY.fullmatch(name))


def _read_keywords(document: pdfium.PdfDocument) -> list[str]:
    stated = collapse(clean(document.get_metadata_value("Keywords")))
    return re.split(r"\s*[;,]\s*", stated) if len(stated) <= _LONGEST_KEYWORDS else []


def _read_language(document: pdfium.PdfDocument) -> str:
    length = raw.FPDFCatalog_GetLanguage(document, None, 0)
    if not 2 < length <= 80:
        return ""
    buffer = (ctypes.c_ushort * (length // 2))()
    raw.FPDFCatalog_GetLanguage(document, buffer, length)
    stated = bytes(buffer).decode("utf-16-le", "replace").strip("\0 ")
    return _check_language(stated)


def _check_language(stated: str) -> str:
    return stated if re.fullmatch(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*", stated) else ""
