"""Read the container of a Kindle book: a Palm database, its header, and the records of its text.

All numbers come from the file, so every one is checked before it is used. What a publisher has locked is
refused by name. Text that is compressed is unpacked on a budget.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from octavo.errors import BadBook
from octavo.limits import MB
from octavo.readers.kindle.huff import HuffDictionary

if TYPE_CHECKING:
    from octavo.limits import Limits

CODE = "bad_document"
NONE = 0xFFFFFFFF
"""The number of a record that is not there."""
KF8 = 8
"""From this version on a book is XHTML in parts; before, it is one page of HTML."""

_STORED, _PALMDOC, _HUFF = 1, 2, 17480
_UTF_8 = 65001
_SPLIT_AT = 121
_MOST_EXTH = 2_000


class Records:
    """The records of the database."""

    def __init__(self, data: bytes, name: str) -> None:
        self._data, self._name = data, name
        if len(data) < 78 or data[60:68] != b"BOOKMOBI":
            raise BadBook(CODE, f"{name} is not a Kindle book")
        (count,) = struct.unpack_from(">H", data, 76)
        if len(data) < 78 + 8 * count:
            raise BadBook(CODE, f"{name} is cut off in its list of records")
        self._starts = [struct.unpack_from(">I", data, 78 + 8 * i)[0] for i in range(count)]
        self._starts.append(len(data))
        if any(a > b for a, b in pairwise(self._starts)):
            raise BadBook(CODE, f"{name} has records that overlap, or is cut off")

    def __len__(self) -> int:
        return len(self._starts) - 1

    def read(self, number: int) -> bytes:
        if not 0 <= number < len(self):
            raise BadBook(CODE, f"{self._name} lacks record {number}")
        return self._data[self._starts[number] : self._starts[number + 1]]


class Header:
    """Record 0 of a book, or the one that begins its newer half."""

    def __init__(self, records: Records, first: int, name: str) -> None:
        self._head = head = records.read(first)
        self._records, self.first, self._name = records, first, name
        if len(head) < 232 or head[16:20] != b"MOBI":
            raise BadBook(CODE, f"{name} has no header of a Kindle book")
        self._compression, _, self.text_length, self._text_records = struct.unpack_from(">HHIH", head)
        if self._get_short(12):
            raise BadBook("drm", f"{name} is locked by its publisher with Kindle DRM")
        self._length = self.get(20)
        self.version = self.get(36)
        self.is_utf_8 = self.get(28) == _UTF_8
        self.first_image = self.get(108)
        self.exth = self._read_exth() if self.get(128) & 0x40 else {}

    def get(self, place: int) -> int:
        """Return the number at a place; `NONE` beyond the end of the header."""
        if place + 4 > min(len(self._head), 16 + (self._length if place > 20 else place)):
            return NONE
        return int(struct.unpack_from(">I", self._head, place)[0])

    def _get_short(self, place: int) -> int:
        return int(struct.unpack_from(">H", self._head, place)[0])

    def decode(self, data: bytes) -> str:
        return data.decode("utf-8" if self.is_utf_8 else "cp1252", "replace")

    def get_texts(self, kind: int) -> list[str]:
        """Return what the book says about itself under a number of the EXTH header."""
        return [self.decode(value) for value in self.exth.get(kind, ())]

    def get_number(self, kind: int) -> int:
        value = next(iter(self.exth.get(kind, ())), b"")
        return int.from_bytes(value, "big") if 0 < len(value) <= 4 else NONE

    @property
    def title(self) -> str:
        start, length = self.get(84), self.get(88)
        return self.decode(self._head[start : start + length]) if start < len(self._head) else ""

    def _read_exth(self) -> dict[int, list[bytes]]:
        head, at = self._head, 16 + self._length
        if head[at : at + 4] != b"EXTH" or at + 12 > len(head):
            return {}
        (count,) = struct.unpack_from(">I", head, at + 8)
        at += 12
        found: dict[int, list[bytes]] = {}
        for _ in range(min(count, _MOST_EXTH)):
            if at + 8 > len(head):
                break
            kind, length = struct.unpack_from(">II", head, at)
            if length < 8:
                break
            found.setdefault(kind, []).append(head[at + 8 : at + length])
            at += length
        return found

    def read_text(self, limits: Limits) -> bytes:
        """Return the whole text, unpacked."""
        unpack_record = self._choose_unpacker()
        most = limits.max_text_mb * MB
        flags = self._get_short(242) if self._length >= 228 and len(self._head) >= 244 else 0
        text = bytearray()
        for number in range(1, self._text_records + 1):
            packed = _drop_trailer(self._records.read(self.first + number), flags)
            text += unpack_record(packed)
            if len(text) > most:
                raise BadBook("too_large", f"{self._name} has more than {limits.max_text_mb} MB of text")
        return bytes(text)

    def _choose_unpacker(self) -> Callable[[bytes], bytes]:
        if self._compression == _STORED:
            return bytes
        if self._compression == _PALMDOC:
            return unpack
        first, count = self.get(112), self.get(116)
        if self._compression != _HUFF or NONE in (first, count) or count > len(self._records):
            raise BadBook(CODE, f"{self._name} is compressed in an unknown way")
        first += self.first
        phrases = [self._records.read(number) for number in range(first + 1, first + count)]
        return HuffDictionary(self._records.read(first), phrases).unpack


def open_book(data: bytes, name: str) -> tuple[Records, Header, Header]:
    """Return the records, the header to read by, and the one that has the pictures.

    A file for old and new devices has the book twice. The newer half says more of its structure.
    """
    records = Records(data, name)
    header = Header(records, 0, name)
    newer = header.get_number(_SPLIT_AT)
    if header.version < KF8 and 0 < newer < len(records):
        return records, Header(records, newer, name), header
    return records, header, header


def _drop_trailer(record: bytes, flags: int) -> bytes:
    """Drop what stands behind the text of a record."""
    end = len(record)
    for bit in range(1, 16):
        if flags >> bit & 1:
            end -= _read_backwards(record, end)
    if flags & 1 and 0 < end <= len(record):
        end -= (record[end - 1] & 3) + 1
    return record[: max(0, end)]


def _read_backwards(record: bytes, end: int) -> int:
    """Return a number that is written before `end`, seven bits a byte, the lowest last."""
    number = shift = 0
    while end > 0 and shift < 28:
        end -= 1
        number |= (record[end] & 0x7F) << shift
        shift += 7
        if record[end] & 0x80:
            break
    return number


def unpack(packed: bytes) -> bytes:
    """Unpack a record that is compressed as PalmDOC does. What is damaged ends where it does."""
    out = bytearray()
    source = iter(packed)
    for byte in source:
        if byte == 0 or 9 <= byte <= 0x7F:
            out.append(byte)
        elif byte <= 8:
            out += bytes(_take(source, byte))
        elif byte >= 0xC0:
            out += bytes((0x20, byte ^ 0x80))
        else:
            pair = (byte << 8 | next(source, 0)) & 0x3FFF
            distance, length = pair >> 3, (pair & 7) + 3
            if not 0 < distance <= len(out):
                break
            for _ in range(length):
                out.append(out[-distance])
    return bytes(out)


def _take(source: Iterator[int], count: int) -> Iterator[int]:
    for _ in range(count):
        byte = next(source, None)
        if byte is None:
            return
        yield byte
