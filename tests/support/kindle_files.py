"""Small Kindle books written by hand: for old devices, for new ones, and for both in one file."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

NONE = 0xFFFFFFFF
STORED, PALMDOC, HUFF = 1, 2, 17480


def write_file(records: Sequence[bytes]) -> bytes:
    """A Palm database of these records."""
    head = b"A_Tale".ljust(32, b"\0") + bytes(28) + b"BOOKMOBI" + bytes(8) + struct.pack(">H", len(records))
    start = len(head) + 8 * len(records) + 2
    places = b""
    for number, record in enumerate(records):
        places += struct.pack(">II", start, 2 * number)
        start += len(record)
    return head + places + b"\0\0" + b"".join(records)


def write_header(
    text: bytes,
    *,
    version: int,
    records: int = 1,
    compression: int = STORED,
    encryption: int = 0,
    title: str = "A Tale",
    said: Sequence[tuple[int, bytes]] = (),
    numbers: Mapping[int, int] | None = None,
    flags: int = 0,
) -> bytes:
    """Record 0. `said` is what the book says about itself; `numbers` are those at other places."""
    length = 264 - 16
    exth = b"".join(struct.pack(">II", kind, 8 + len(value)) + value for kind, value in said)
    exth = b"EXTH" + struct.pack(">II", 12 + len(exth), len(said)) + exth
    head = bytearray(b"\xff" * 264)
    struct.pack_into(">HHIHHHH", head, 0, compression, 0, len(text), records, 4096, encryption, 0)
    struct.pack_into(">4sIIIII", head, 16, b"MOBI", length, 2, 65001, 1, version)
    fields = {84: 264 + len(exth), 88: len(title.encode()), 128: 0x40, **(numbers or {})}
    for place, number in fields.items():
        struct.pack_into(">I", head, place, number)
    struct.pack_into(">H", head, 242, flags)
    return bytes(head) + exth + title.encode()


def write_number(number: int) -> bytes:
    """A number of seven bits a byte; the last byte is marked."""
    digits = [number & 0x7F | 0x80]
    while number := number >> 7:
        digits.insert(0, number & 0x7F)
    return bytes(digits)


def write_index(
    tags: Sequence[tuple[int, int]],
    entries: Sequence[tuple[bytes, Mapping[int, Sequence[int]]]],
    strings: bytes = b"",
) -> list[bytes]:
    """The records of an index. `tags` are their numbers, each with how many values it has."""
    table = b"".join(bytes((tag, count, 1 << i, 0)) for i, (tag, count) in enumerate(tags)) + b"\0\0\0\1"
    tagx = b"TAGX" + struct.pack(">II", 12 + len(table), 1) + table
    body, places = b"", []
    for name, values in entries:
        places.append(192 + len(body))
        control = sum(1 << i for i, (tag, _) in enumerate(tags) if tag in values)
        numbers = b"".join(write_number(n) for tag, _ in tags for n in values.get(tag, ()))
        body += bytes((len(name),)) + name + bytes((control,)) + numbers
    idxt = b"IDXT" + b"".join(struct.pack(">H", place) for place in places)
    first = bytearray(_start_index(192, 1)) + tagx
    struct.pack_into(">I", first, 52, 1 if strings else 0)
    data = bytearray(_start_index(192, len(entries)))
    struct.pack_into(">I", data, 20, 192 + len(body))
    return [bytes(first), bytes(data) + body + idxt, *([strings] if strings else [])]


def _start_index(length: int, count: int) -> bytes:
    head = bytearray(length)
    struct.pack_into(">4sI", head, 0, b"INDX", length)
    struct.pack_into(">I", head, 24, count)
    return bytes(head)


def write_strings(titles: Sequence[str]) -> tuple[bytes, list[int]]:
    """The strings that an index points at, and where each begins."""
    data, places = b"", []
    for title in titles:
        places.append(len(data))
        data += write_number(len(title.encode())) + title.encode()
    return data, places


def make_old(
    text: bytes,
    contents: Sequence[tuple[int, int, str]] = (),
    *,
    pictures: Sequence[bytes] = (),
    said: Sequence[tuple[int, bytes]] = (),
    compression: int = STORED,
    encryption: int = 0,
    packed: Sequence[bytes] = (),
    flags: int = 0,
    numbers: Mapping[int, int] | None = None,
    more: Sequence[bytes] = (),
) -> bytes:
    """A book of one page; `contents` has place, depth and title. `packed` are other records of the text.

    `more` are records behind the text, if there are no pictures; `numbers` say where they are.
    """
    body = list(packed) or [text]
    numbers = {108: 1 + len(body), **(numbers or {})}
    index: list[bytes] = []
    if contents:
        numbers[244] = 1 + len(body) + len(pictures)
        strings, places = write_strings([title for _, _, title in contents])
        entries = [
            (b"%d" % n, {1: [place], 3: [at], 4: [depth]})
            for n, ((place, depth, _), at) in enumerate(zip(contents, places, strict=True))
        ]
        index = write_index([(1, 1), (3, 1), (4, 1)], entries, strings)
    head = write_header(
        text,
        version=6,
        records=len(body),
        compression=compression,
        encryption=encryption,
        said=said,
        numbers=numbers,
        flags=flags,
    )
    return write_file([head, *body, *more, *pictures, *index])


def write_huff() -> bytes:
    """Codes of 8 bits, 255 less the number of the phrase; after a byte of zeros they have 16."""
    long = 16
    by_byte = [long if byte == 0 else 255 << 8 | 0x80 | 8 for byte in range(256)]
    bounds = [(0, 255 if length == long else 0) for length in range(1, 33)]
    return (
        b"HUFF"
        + struct.pack(">III", 24, 24, 24 + 1024)
        + bytes(8)
        + struct.pack(">256I", *by_byte)
        + b"".join(struct.pack(">II", *bound) for bound in bounds)
    )


def write_codes(numbers: Sequence[int]) -> bytes:
    """The codes of phrases, every second one in its long form."""
    return b"".join(
        bytes((0, 255 - number)) if place % 2 else bytes((255 - number,))
        for place, number in enumerate(numbers)
    )


def write_phrases(texts: Sequence[bytes], packed: Sequence[bytes] = ()) -> bytes:
    """A dictionary of texts, and of others that are codes themselves."""
    entries = [(text, 0x8000) for text in texts] + [(codes, 0) for codes in packed]
    offsets, body = b"", b""
    for data, mark in entries:
        offsets += struct.pack(">H", 2 * len(entries) + len(body))
        body += struct.pack(">H", len(data) | mark) + data
    return b"CDIC" + struct.pack(">III", 16, len(entries), 8) + offsets + body


def make_new(
    pages: Sequence[tuple[bytes, bytes, bytes]],
    contents: Sequence[tuple[int, int, int, str]] = (),
    *,
    said: Sequence[tuple[int, bytes]] = (),
    pictures: Sequence[bytes] = (),
) -> bytes:
    """A book of pages, each with what is before, in and after its only fragment.

    `contents` has the number of a fragment, a place in it, depth and title.
    """
    text, skeletons, fragments = b"", [], []
    for number, (before, inside, after) in enumerate(pages):
        start, length = len(text), len(before) + len(after)
        skeletons.append((b"SKEL%010d" % number, {1: [1, 1], 6: [start, length, start, length]}))
        fragments.append((b"%010d" % (start + len(before)), {3: [number], 4: [number], 6: [0, len(inside)]}))
        text += before + after + inside
    strings, places = write_strings([title for *_, title in contents])
    ncx = [
        (b"%d" % n, {3: [at], 4: [depth], 6: [fragment, place]})
        for n, ((fragment, place, depth, _), at) in enumerate(zip(contents, places, strict=True))
    ]
    records = [text, *pictures]
    numbers = {108: 2}
    for place, made in (
        (248, write_index([(3, 1), (4, 1), (6, 2)], fragments)),
        (252, write_index([(1, 2), (6, 4)], skeletons)),
        (244, write_index([(3, 1), (4, 1), (6, 2)], ncx, strings)),
    ):
        numbers[place] = 1 + len(records)
        records += made
    return write_file([write_header(text, version=8, said=said, numbers=numbers), *records])
