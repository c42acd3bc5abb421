"""A zip archive that is not trusted.

Opening checks what the directory claims: how many members, whether they overlap, whether one is a link.
Reading counts the bytes that really come out and stops at the budget, whatever sizes the archive states.
Names are plain relative paths with `/`; a member whose name is anything else cannot be reached.
"""

from __future__ import annotations

import mmap
import stat
import unicodedata
import zipfile
import zlib
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import unquote

from octavo.errors import BadBook
from octavo.limits import MB, Limits

_STEP = 1 << 18
_FREE = 10 * MB
_ENTRY, _LOCAL_HEADER = b"PK\x01\x02", 30
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, OSError, KeyError)


def safe_name(name: str) -> str | None:
    """A member's name or a reference as a path inside the archive; None when it points out of it."""
    if "\0" in name or "\\" in name or name.startswith("/") or name[1:2] == ":":
        return None
    parts: list[str] = []
    for part in name.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts) or None


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


class Archive:
    """An open archive; `names` are its files. Use it as a context manager."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self.name, self._limits = path.name, limits
        self._count(path)
        try:
            self._zip = zipfile.ZipFile(path)
        except _BROKEN:
            raise BadBook(
                "damaged_archive", f"{path.name} is a zip archive without a readable index"
            ) from None
        self._out = self._in = 0
        try:
            self._members = self._checked()
        except BaseException:
            self._zip.close()
            raise
        self.names = frozenset(self._members)
        self._folded = {_folded(unquote(name)): name for name in self._members}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()

    def find(self, name: str) -> str | None:
        """The member of this name, in the archive's own spelling: books mistake capitals and accents."""
        return name if name in self._members else self._folded.get(_folded(name))

    def size(self, name: str) -> int:
        """How many bytes the archive says that a member has."""
        return self._members[name].file_size

    def read(self, name: str) -> bytes:
        """A member's bytes, as many as really come out; too many are refused."""
        info = self._members[name]
        if info.flag_bits & 1:
            raise BadBook("drm", f"{self.name}: {name} is locked with a password")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise BadBook("damaged_archive", f"{self.name}: {name} is packed as no book is")
        pieces: list[bytes] = []
        size = 0
        self._in += info.compress_size
        try:
            with self._zip.open(info) as member:
                while piece := member.read(_STEP):
                    size += len(piece)
                    self._spend(len(piece), size, name)
                    pieces.append(piece)
        except _BROKEN as broken:
            raise BadBook("damaged_archive", f"{self.name}: {name} is damaged ({broken})") from None
        return b"".join(pieces)

    def _spend(self, piece: int, size: int, name: str) -> None:
        self._out += piece
        limits = self._limits
        if size > limits.max_member_mb * MB:
            raise BadBook(
                "too_large_expanded", f"{self.name}: {name} unpacks to more than {limits.max_member_mb} MB"
            )
        if self._out > limits.max_expanded_mb * MB:
            raise BadBook(
                "too_large_expanded", f"{self.name} unpacks to more than {limits.max_expanded_mb} MB"
            )
        if self._out > _FREE and self._out > limits.max_ratio * max(1, self._in):
            raise BadBook(
                "too_large_expanded", f"{self.name}: {name} unpacks to over {limits.max_ratio} times its size"
            )

    def _count(self, path: Path) -> None:
        """Counts the directory's entries before anything is built from them."""
        most = self._limits.max_members
        found, position = 0, 0
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            while (position := data.find(_ENTRY, position)) >= 0:
                found, position = found + 1, position + len(_ENTRY)
                if found > most:
                    raise BadBook("too_many_members", f"{self.name} holds more than {most} files")

    def _checked(self) -> dict[str, zipfile.ZipInfo]:
        """The members that can be reached, after the checks that need no reading."""
        infos = self._zip.infolist()
        ends = 0
        for info in sorted(infos, key=lambda i: i.header_offset):
            if info.header_offset < ends:
                raise BadBook("archive_overlap", f"{self.name}: {info.filename} overlaps another member")
            ends = info.header_offset + _LOCAL_HEADER + len(info.orig_filename) + info.compress_size
        if ends > self._zip.start_dir:
            raise BadBook("archive_overlap", f"{self.name}: its members overlap its index")
        for info in infos:
            if stat.S_ISLNK(info.external_attr >> 16):
                raise BadBook("unsafe_path", f"{self.name}: {info.filename} is a link, not a file")
        named = ((safe_name(i.filename), i) for i in infos if not i.filename.endswith("/"))
        return {name: info for name, info in named if name is not None}
