"""Read what the XMP packet of a PDF says about the book: authors, language, subjects, publisher, date.

The packet is XML that stands in the file as it is. Pictures in the file may have packets of their own; where
there are several, the one that the catalog names counts, and none where it cannot be told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.errors import BadBook

if TYPE_CHECKING:
    from octavo.readers.xml import Element

_START, _END = b"<x:xmpmeta", b"</x:xmpmeta>"
_MOST_BYTES = 256 * 1024
_MOST_PACKETS = 1_000
_ABOUT_BYTES = 2_048
_DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
_CATALOG = re.compile(
    rb"/Type\s*/Catalog\b[^>]{0,2048}?/Metadata\s+(\d{1,9})\s+\d+\s+R|"
    rb"/Metadata\s+(\d{1,9})\s+\d+\s+R[^>]{0,2048}?/Type\s*/Catalog\b"
)
_OBJECT = re.compile(rb"(\d{1,9})\s+\d{1,5}\s+obj\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Xmp:
    """What a packet says; all of it may be missing."""

    authors: tuple[str, ...] = ()
    language: str = ""
    subjects: tuple[str, ...] = ()
    publisher: str = ""
    date: str = ""
    identifiers: tuple[str, ...] = ()


def read_xmp(data: bytes) -> Xmp:
    """Read the packet of a PDF. What is damaged or missing says nothing."""
    packet = _choose_packet(data)
    if not packet:
        return Xmp()
    from octavo.readers.xml import parse_xml

    try:
        root = parse_xml(packet, name="the XMP packet", code="damaged_pdf")
    except BadBook:
        return Xmp()
    return Xmp(
        authors=_read_list(root, "creator"),
        language="".join(_read_list(root, "language")[:1]),
        subjects=_read_list(root, "subject"),
        publisher="".join(_read_list(root, "publisher")[:1]),
        date="".join(_read_list(root, "date")[:1]),
        identifiers=_read_list(root, "identifier"),
    )


def _choose_packet(data: bytes) -> bytes:
    packets = list(_find_packets(data))
    if len({packet for packet, _ in packets}) > 1:
        named = [found[1] or found[2] for found in _CATALOG.finditer(data)]
        packets = [(packet, number) for packet, number in packets if named and number == named[-1]]
    return packets[-1][0] if packets else b""


def _find_packets(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield each packet and the number of the object that it is in."""
    end = 0
    for _ in range(_MOST_PACKETS):
        start = data.find(_START, end)
        end = data.find(_END, start) if start >= 0 else -1
        if end < 0:
            return
        if end - start <= _MOST_BYTES:
            before = list(_OBJECT.finditer(data, max(0, start - _ABOUT_BYTES), start))
            yield data[start : end + len(_END)], before[-1][1] if before else b""


def _read_list(root: Element, name: str) -> tuple[str, ...]:
    from octavo.readers.xml import find_all, read_words

    values: list[str] = []
    for node in root.iter(_DUBLIN_CORE + name):
        items = list(find_all(node, "li"))
        values += (read_words(item) for item in items or [node])
    for node in find_all(root, "Description"):
        values.append(str(node.get(_DUBLIN_CORE + name) or ""))
    return tuple(dict.fromkeys(value for value in values if value))
