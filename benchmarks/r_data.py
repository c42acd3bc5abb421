"""Reads character vectors out of the data of an R package, without R.

The data folder of a package has an index (`Rdata.rdx`), which says where in `Rdata.rdb` each object lies.
Both are serialised and compressed. Only the types that such an index and a character vector need are read.
"""

from __future__ import annotations

import gzip
import io
import struct
import zlib
from enum import IntEnum
from pathlib import Path
from typing import Any

_HAS_ATTRIBUTES, _HAS_TAG, _UTF8 = 1 << 9, 1 << 10, 8 << 12


class _Type(IntEnum):
    """The types of R that are read here, by their numbers."""

    SYMBOL = 1
    PAIRS = 2
    CHARACTERS = 9
    LOGICAL = 10
    INTEGER = 13
    REAL = 14
    STRINGS = 16
    LIST = 19
    NIL = 254
    REFERENCE = 255


class _Serialised:
    """Objects in R's binary serialisation. Of attributes only `names` is kept."""

    def __init__(self, data: bytes) -> None:
        self._stream, self._symbols = io.BytesIO(data), list[str]()
        if self._stream.read(2) != b"X\n":
            raise ValueError("The data is not in R's binary serialisation.")
        version, _, _ = self._read_integers(3)
        if version == 3:
            # This version names its encoding.
            self._stream.read(self._read_integers(1)[0])

    def read(self) -> Any:
        """Read the next object."""
        (flags,) = self._read_integers(1)
        match flags & 255:
            case _Type.NIL:
                return None
            case _Type.REFERENCE:
                return self._symbols[(flags >> 8 or self._read_integers(1)[0]) - 1]
            case _Type.SYMBOL:
                self._symbols.append(self.read())
                return self._symbols[-1]
            case _Type.PAIRS:
                return self._read_pairs(flags)
            case _Type.CHARACTERS:
                return self._read_characters(flags)
            case kind:
                return self._read_vector(kind, flags)

    def _read_integers(self, count: int) -> tuple[int, ...]:
        return struct.unpack(f">{count}i", self._stream.read(4 * count))

    def _read_pairs(self, flags: int) -> dict[Any, Any]:
        if flags & _HAS_ATTRIBUTES:
            self.read()
        tag = self.read() if flags & _HAS_TAG else None
        return {tag: self.read(), **(self.read() or {})}

    def _read_characters(self, flags: int) -> str | None:
        (length,) = self._read_integers(1)
        if length < 0:
            return None
        return self._stream.read(length).decode("utf-8" if flags & _UTF8 else "latin-1")

    def _read_vector(self, kind: int, flags: int) -> Any:
        (length,) = self._read_integers(1)
        items: list[Any]
        match kind:
            case _Type.LOGICAL | _Type.INTEGER:
                items = list(self._read_integers(length))
            case _Type.REAL:
                items = list(struct.unpack(f">{length}d", self._stream.read(8 * length)))
            case _Type.STRINGS | _Type.LIST:
                items = [self.read() for _ in range(length)]
            case _:
                raise ValueError(f"R's type {kind} is not read here.")
        names = (self.read() or {}).get("names") if flags & _HAS_ATTRIBUTES else None
        return dict(zip(names, items, strict=True)) if names else items


def read_lines(folder: Path, name: str) -> list[str]:
    """Read the character vector called `name` from the data folder of a package."""
    index = _Serialised(gzip.decompress((folder / "Rdata.rdx").read_bytes())).read()["variables"]
    start, length = index[name]
    held = (folder / "Rdata.rdb").read_bytes()[start : start + length]
    # The first four bytes are the length of what was compressed.
    return list(_Serialised(zlib.decompress(held[4:])).read())
