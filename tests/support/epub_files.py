"""Small real EPUB files for the tests of the archive and the EPUB reader."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

CONTAINER = (
    '<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
    '<rootfiles><rootfile full-path="{}" media-type="application/oebps-package+xml"/></rootfiles></container>'
)


def make_document(body: str, *, title: str = "", attributes: str = "") -> str:
    names = 'xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"'
    head = f"<head><title>{title}</title></head>"
    return f'<?xml version="1.0"?><html {names}>{head}<body {attributes}>{body}</body></html>'


def make_package(
    items: Iterable[str],
    *,
    spine: Iterable[str] | None = None,
    title: str = "A Book",
    extra: str = "",
    toc: str = "",
) -> str:
    """A package whose items and spine are hrefs; `extra` goes into the manifest as it is."""
    listed = list(dict.fromkeys(items))
    ids = {href: f"i{n}" for n, href in enumerate(listed)}
    manifest = "".join(f'<item id="{ids[h]}" href="{h}" media-type="application/xhtml+xml"/>' for h in listed)
    order = "".join(f'<itemref idref="{ids.get(h, h)}"/>' for h in (listed if spine is None else spine))
    return (
        '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title><dc:creator>A. Writer</dc:creator>"
        "<dc:language>en</dc:language></metadata>"
        f"<manifest>{manifest}{extra}</manifest><spine{toc}>{order}</spine></package>"
    )


def make_nav(lists: str) -> str:
    return make_document(f'<nav epub:type="toc"><h1>Contents</h1>{lists}</nav>')


NAV_ITEM = '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
NCX_ITEM = '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'


def write_epub(path: Path, members: Mapping[str, str | bytes], *, opf: str | None = None) -> Path:
    """An EPUB of `members`; without `opf` their documents are listed and read in the order given."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip", compress_type=zipfile.ZIP_STORED)
        if "META-INF/container.xml" not in members:
            archive.writestr("META-INF/container.xml", CONTAINER.format("book.opf"))
        if "book.opf" not in members:
            documents = [name for name in members if name.endswith(".xhtml") and name != "nav.xhtml"]
            archive.writestr("book.opf", make_package(documents) if opf is None else opf)
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def write_overlapping_zip(path: Path, *, entries: int = 50) -> Path:
    """A zip whose entries all point at one and the same packed member."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(b"a" * 1_000_000) + packer.flush()
    return write_raw_zip(path, packed, size=1_000_000, crc=zlib.crc32(b"a" * 1_000_000), entries=entries)


def write_blank_zip(path: Path, *, megabytes: int) -> Path:
    """A zip with one member of nothing but blanks, made from one packed megabyte repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    one = packer.compress(b" " * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return write_raw_zip(path, one * megabytes + packer.flush(), size=megabytes << 20, crc=0, entries=1)


def write_raw_zip(path: Path, packed: bytes, *, size: int, crc: int, entries: int) -> Path:
    name = b"a.xhtml"
    sizes = (crc, len(packed), size, len(name))
    local = struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 0, 8, 0, 0, *sizes, 0) + name + packed
    entry = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, 8, 0, 0, *sizes, 0, 0, 0, 0, 0, 0) + name
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, entries, entries, len(entry) * entries, len(local), 0)
    path.write_bytes(local + entry * entries + end)
    return path
