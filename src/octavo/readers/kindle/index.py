"""Read an index of a Kindle book: entries with a name and numbers under tags.

The first record of an index says which tags there are, the next ones hold the entries, and the last ones the
strings that entries point at.
"""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from octavo.errors import BadBook
from octavo.readers.kindle.palm import CODE

if TYPE_CHECKING:
    from octavo.readers.kindle.palm import Records

_MOST_ENTRIES = 200_000
_MOST_VALUES = 1_000
_MOST_RECORDS = 5_000


class IndexEntry(NamedTuple):
    name: bytes
    values: dict[int, list[int]]

    def get(self, tag: int, place: int = 0) -> int | None:
        values = self.values.get(tag, [])
        return values[place] if place < len(values) else None


class _Tag(NamedTuple):
    tag: int
    values: int
    mask: int
    ends: int


class Index(NamedTuple):
    entries: list[IndexEntry]
    strings: dict[int, bytes]
    """The records of strings, by the number that their first byte has."""

    def find_string(self, offset: int | None) -> bytes:
        if offset is None:
            return b""
        data, at = self.strings.get(offset >> 16, b""), offset & 0xFFFF
        length, at = _read_number(data, at, len(data))
        return data[at : at + length]


def read_index(records: Records, first: int) -> Index:
    """Read the index that begins with record `first`."""
    head = records.read(first)
    tags, controls = _read_tags(head)
    (count,) = struct.unpack_from(">I", head, 24)
    (strings,) = struct.unpack_from(">I", head, 52)
    if count > _MOST_RECORDS or strings > _MOST_RECORDS:
        raise BadBook(CODE, "an index of the book has too many records")
    entries: list[IndexEntry] = []
    for number in range(first + 1, first + 1 + count):
        entries += _read_entries(records.read(number), tags, controls)
        if len(entries) > _MOST_ENTRIES:
            raise BadBook(CODE, "an index of the book has too many entries")
    after = first + 1 + count
    return Index(entries, {i: records.read(after + i) for i in range(strings)})


def _read_tags(head: bytes) -> tuple[list[_Tag], int]:
    if head[:4] != b"INDX" or len(head) < 56:
        raise BadBook(CODE, "an index of the book is damaged")
    (at,) = struct.unpack_from(">I", head, 4)
    if head[at : at + 4] != b"TAGX" or at + 12 > len(head):
        raise BadBook(CODE, "an index of the book has no tags")
    length, controls = struct.unpack_from(">II", head, at + 4)
    tags = [_Tag(*head[i : i + 4]) for i in range(at + 12, min(at + length, len(head) - 3), 4)]
    return tags, controls


def _read_entries(data: bytes, tags: list[_Tag], controls: int) -> list[IndexEntry]:
    if data[:4] != b"INDX" or len(data) < 28:
        raise BadBook(CODE, "a record of an index is damaged")
    start, count = struct.unpack_from(">II", data, 20)
    if data[start : start + 4] != b"IDXT" or start + 4 + 2 * count > len(data):
        raise BadBook(CODE, "a record of an index is damaged")
    places = [*struct.unpack_from(f">{count}H", data, start + 4), start]
    return [_read_entry(data[place:end], tags, controls) for place, end in pairwise(places) if place < end]


def _read_entry(data: bytes, tags: list[_Tag], controls: int) -> IndexEntry:
    name = data[1 : 1 + data[0]]
    marks, at = data[1 + len(name) :], 1 + len(name) + controls
    wanted: list[tuple[int, int, int]] = []
    control = 0
    for tag in tags:
        if tag.ends:
            control += 1
            continue
        value = marks[control] & tag.mask if control < len(marks) else 0
        if not value:
            continue
        if value == tag.mask and tag.mask.bit_count() > 1:
            # So many bytes of numbers follow.
            size, at = _read_number(data, at, len(data))
            wanted.append((tag.tag, 0, size))
        else:
            lowest = (tag.mask & -tag.mask).bit_length() - 1
            wanted.append((tag.tag, (value >> lowest) * tag.values, 0))
    values: dict[int, list[int]] = {}
    for name_of_tag, count, size in wanted:
        end = min(len(data), at + size) if size else len(data)
        numbers: list[int] = []
        while at < end and (size or len(numbers) < count) and len(numbers) < _MOST_VALUES:
            number, at = _read_number(data, at, end)
            numbers.append(number)
        values[name_of_tag] = numbers
    return IndexEntry(name, values)


def _read_number(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Read a number of seven bits a byte, the highest first; the last byte is marked."""
    number = 0
    for place in range(at, min(at + 5, end)):
        number = number << 7 | data[place] & 0x7F
        if data[place] & 0x80:
            return number, place + 1
    return number, min(at + 5, end)
