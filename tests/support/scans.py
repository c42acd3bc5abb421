"""Scans: PDFs whose pages are pictures of the pages of another PDF, without any text."""

from __future__ import annotations

import zlib
from io import BytesIO

import pypdfium2 as pdfium

from tests.support import pdf_files


def scan_book(data: bytes, *, resolution: int = 200) -> bytes:
    """A book of pictures of the pages of this book, in grey, so many pixels to the inch."""
    pages: dict[int, bytes] = {}
    kids: list[bytes] = []
    for page in pdfium.PdfDocument(data):
        wide, high = page.get_size()
        bitmap = page.render(scale=resolution / 72, grayscale=True)
        rows = bytes(bitmap.buffer)
        pixels = b"".join(rows[y * bitmap.stride :][: bitmap.width] for y in range(bitmap.height))
        number = 10 + 3 * len(kids)
        kids.append(b"%d 0 R" % number)
        pages[number] = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %g %g] /Contents %d 0 R "
            b"/Resources << /XObject << /Im %d 0 R >> >> >>" % (wide, high, number + 1, number + 2)
        )
        pages[number + 1] = pdf_files.stream(b"%g 0 0 %g 0 0 cm /Im Do" % (wide, high))
        pages[number + 2] = make_picture(pixels, bitmap.width, bitmap.height)
    tree = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    return pdf_files.write_file({1: b"<< /Type /Catalog /Pages 2 0 R >>", 2: tree, **pages})


def make_picture(pixels: bytes, width: int, height: int) -> bytes:
    """A grey picture. It may claim to be larger than its pixels."""
    kind = b"/Type /XObject /Subtype /Image /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /FlateDecode"
    return pdf_files.stream(zlib.compress(pixels, 1), kind + b" /Width %d /Height %d" % (width, height))


def bind(*books: bytes) -> bytes:
    """One book of the pages of these."""
    bound = pdfium.PdfDocument.new()
    for book in books:
        bound.import_pages(pdfium.PdfDocument(book))
    out = BytesIO()
    bound.save(out)
    return out.getvalue()


def count_wrong(wanted: str, found: str) -> int:
    """How many characters must be changed, added or taken out to make one text of the other."""
    row = list(range(len(found) + 1))
    for i, a in enumerate(wanted, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(found, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]
