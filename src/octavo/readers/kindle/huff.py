"""Unpack the text of a Kindle book that is compressed with HUFF and CDIC records.

A text is a row of codes of up to 32 bits. Each stands for a phrase of the dictionary, and a phrase may be
compressed in the same way. The HUFF record says how long a code is by its first byte; where that is not
enough, by the lowest code of each length.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from octavo.errors import BadBook
from octavo.limits import MB

_CODE = "bad_document"
_LONGEST = 32
_ALL = 0xFFFFFFFF
_DEEPEST = 16
_MOST_PHRASES = 1 << 20
# A record of text has 4 KB; what a damaged one may unpack to.
_MOST_OUTPUT = MB
# How many codes it may have: a phrase may be empty, and then costs time and no output.
_MOST_CODES = 1 << 16


class HuffDictionary:
    """The codes and the phrases that they stand for."""

    def __init__(self, huff: bytes, dictionaries: Sequence[bytes]) -> None:
        if huff[:4] != b"HUFF" or len(huff) < 16:
            raise BadBook(_CODE, "the codes of the book are damaged")
        first, second = struct.unpack_from(">II", huff, 8)
        if first + 1024 > len(huff) or second + 256 > len(huff):
            raise BadBook(_CODE, "the codes of the book are cut off")
        self._by_byte = struct.unpack_from(">256I", huff, first)
        bounds = struct.unpack_from(">64I", huff, second)
        self._lowest, self._highest = [0], [0]
        for length in range(1, _LONGEST + 1):
            low, high = bounds[2 * length - 2], bounds[2 * length - 1]
            self._lowest.append(low << (_LONGEST - length))
            self._highest.append((high + 1 << (_LONGEST - length)) - 1)
        self._phrases: list[tuple[bytes, bool]] = []
        for record in dictionaries:
            self._add_phrases(record)

    def _add_phrases(self, record: bytes) -> None:
        if record[:4] != b"CDIC" or len(record) < 16:
            raise BadBook(_CODE, "the phrases of the book are damaged")
        total, bits = struct.unpack_from(">II", record, 8)
        count = min(1 << min(bits, 20), max(0, total - len(self._phrases)))
        if 16 + 2 * count > len(record) or len(self._phrases) + count > _MOST_PHRASES:
            raise BadBook(_CODE, "the phrases of the book are cut off")
        for offset in struct.unpack_from(f">{count}H", record, 16):
            length = int.from_bytes(record[16 + offset : 18 + offset], "big")
            phrase = record[18 + offset : 18 + offset + (length & 0x7FFF)]
            self._phrases.append((phrase, bool(length & 0x8000)))

    def unpack(self, packed: bytes) -> bytes:
        """Unpack a record. What is damaged raises `BadBook`."""
        out = bytearray()
        self._unpack(packed, out, 0, iter(range(_MOST_CODES)))
        return bytes(out)

    def _unpack(self, packed: bytes, out: bytearray, depth: int, codes: Iterator[int]) -> None:
        if depth > _DEEPEST:
            raise BadBook(_CODE, "a phrase of the book contains itself")
        bits = 8 * len(packed)
        source = int.from_bytes(packed, "big") << _LONGEST
        at = 0
        while at < bits:
            code = source >> (bits - at) & _ALL
            length, highest = self._find_length(code)
            at += length
            if at > bits:
                return
            if next(codes, None) is None:
                raise BadBook("too_large_expanded", "a record of the book has too many codes")
            number = (highest - code) >> (_LONGEST - length)
            if not 0 <= number < len(self._phrases):
                raise BadBook(_CODE, "a code of the book stands for no phrase")
            phrase, is_text = self._phrases[number]
            if is_text:
                out += phrase
            else:
                self._unpack(phrase, out, depth + 1, codes)
            if len(out) > _MOST_OUTPUT:
                raise BadBook("too_large_expanded", "a record of the book unpacks to more than 1 MB")

    def _find_length(self, code: int) -> tuple[int, int]:
        """Return how many bits the code that begins here has, and the highest code of that length."""
        entry = self._by_byte[code >> 24]
        length = entry & 0x1F
        if length == 0:
            raise BadBook(_CODE, "a code of the book has no length")
        if entry & 0x80:
            return length, ((entry >> 8) + 1 << (_LONGEST - length)) - 1
        while length < _LONGEST and code < self._lowest[length]:
            length += 1
        return length, self._highest[length]
