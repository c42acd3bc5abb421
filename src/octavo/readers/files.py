"""Read folders and zip archives that are not trusted.

`find_files` lists the files of a folder in natural order (chapter 2 before chapter 10) and never leaves it:
links to folders are not followed, links to files only when they stay inside. It skips what tools leave behind
(hidden folders, `node_modules`, build output beside its build file). `load_file` reads one file up to the
size limit; `resolve_inside` resolves a reference from one file to another.

`Archive` checks what a zip archive's directory claims: how many members, whether they overlap, whether one is
a link. Reading counts the bytes that really come out and stops at the limits, whatever sizes the archive
states. Members have plain relative paths with `/`; a member with any other name cannot be reached.
"""

from __future__ import annotations

import mmap
import re
import stat
import unicodedata
import zipfile
import zlib
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import unquote

from octavo.errors import BadBook
from octavo.limits import MB, Limits
from octavo.text.clean import clean

if TYPE_CHECKING:
    from octavo.readers.parsed import ParsedSection

_SKIPPED_FOLDERS = frozenset(("node_modules", "bower_components", "__pycache__", "__MACOSX", "venv"))
_BUILD_FOLDERS = frozenset(("build", "dist", "target", "out", "_build", "_site"))
_BUILD_FILES = frozenset(
    ("package.json", "book.toml", "Cargo.toml", "pyproject.toml", "conf.py", "mkdocs.yml", "Makefile")
)
_NUMBERS = re.compile(r"(\d+)")
_READ_SIZE = 1 << 18
# What an archive may unpack to before its ratio counts.
_FREE = 10 * MB
_ENTRY_MARK, _LOCAL_HEADER = b"PK\x01\x02", 30
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, OSError, KeyError)


def find_files(
    root: Path, suffixes: frozenset[str], limits: Limits, *, notes: list[str] | None = None
) -> list[Path]:
    """List every file under `root` with one of the lower-case `suffixes`, in natural order."""
    home = root.resolve()
    found: list[Path] = []
    seen, waiting = 0, [root]
    while waiting:
        folder = waiting.pop()
        entries = _list_folder(folder, root, notes)
        is_built = any(e.name in _BUILD_FILES or e.name.startswith("docusaurus.config.") for e in entries)
        for entry in entries:
            if (
                entry.name.startswith(".")
                or entry.name in _SKIPPED_FOLDERS
                or (is_built and entry.name in _BUILD_FOLDERS)
            ):
                continue
            seen += 1
            if seen > limits.max_members:
                raise BadBook("too_many_members", f"{root.name} has more than {limits.max_members} files")
            linked = entry.is_symlink()
            if entry.is_dir():
                if not linked:
                    waiting.append(entry)
                continue
            if entry.suffix.lower() not in suffixes or not entry.is_file():
                continue
            if linked and not entry.resolve().is_relative_to(home):
                _add_note(
                    notes, f"{entry.relative_to(root).as_posix()}: skipped, it is a link out of the book"
                )
            else:
                found.append(entry)
    return sorted(found, key=lambda p: [make_sort_key(part) for part in p.relative_to(root).parts])


def _list_folder(folder: Path, root: Path, notes: list[str] | None) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError as error:
        _add_note(
            notes, f"{folder.relative_to(root).as_posix()}: skipped, it cannot be opened ({error.strerror})"
        )
        return []


def _add_note(notes: list[str] | None, sentence: str) -> None:
    if notes is not None:
        notes.append(clean(sentence))


def measure_size(path: Path, limits: Limits) -> int:
    """Return the bytes of a file, or of the files in a folder, up to what a book may unpack to."""
    most = limits.max_expanded_mb * MB
    if not path.is_dir():
        return min(most, path.stat().st_size) if path.is_file() else 0
    size, seen, waiting = 0, 0, [path]
    while waiting and size < most and seen < limits.max_members:
        for entry in _list_folder(waiting.pop(), path, None):
            seen += 1
            if entry.is_symlink():
                continue
            if entry.is_dir():
                waiting.append(entry)
            elif entry.is_file():
                size += entry.stat().st_size
    return min(most, size)


def load_file(path: Path, limits: Limits) -> bytes:
    """Read the bytes of a regular file; refuse one that is missing, of another kind, or too large."""
    if not path.is_file():
        raise BadBook("not_found", f"there is no file {path.name!r}")
    most = limits.max_member_mb * MB
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise BadBook("too_large", f"{path.name} is larger than {limits.max_member_mb} MB")
    return data


def resolve_inside(root: Path, base: Path, reference: str) -> Path | None:
    """Resolve `reference`, written in a file of folder `base`; None when it leaves `root`."""
    plain = unquote(reference)
    if "\0" in plain or plain.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", plain):
        return None
    try:
        target = (base / plain.replace("\\", "/")).resolve()
    except (OSError, ValueError, RuntimeError):
        # RuntimeError: links that lead in a circle.
        return None
    return target if target.is_relative_to(root.resolve()) else None


def make_sort_key(name: str) -> list[tuple[int, str]]:
    """Make a sort key that counts, ignoring case: `ch2` comes before `ch10`."""
    return [
        (int(part[:18]), "") if part.isascii() and part.isdigit() else (-1, part)
        for part in _NUMBERS.split(name.casefold())
        if part
    ]


def check_sections(sections: list[ParsedSection], limits: Limits, *, name: str) -> tuple[ParsedSection, ...]:
    """Return the sections of a whole book; refuse it when it has no text or too much."""
    check_text_size(sum(len(s.text) for s in sections), limits, name=name)
    if not any(s.text for s in sections):
        raise BadBook("no_text", f"{name} has no text in it")
    return tuple(sections)


def check_text_size(characters: int, limits: Limits, *, name: str) -> None:
    """Refuse a book with more text than the limit allows."""
    if characters > limits.max_text_mb * MB:
        raise BadBook("too_large", f"{name} has more than {limits.max_text_mb} MB of text")


def resolve_member_name(name: str) -> str | None:
    """Return a member's name or a reference as a path inside the archive; None when it points outside."""
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


def _fold_name(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


class Archive:
    """An open zip archive. `names` are its files. Use it as a context manager."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self.name, self._limits = path.name, limits
        self._count_members(path)
        try:
            self._zip = zipfile.ZipFile(path)
        except _ZIP_ERRORS:
            raise BadBook(
                "damaged_archive", f"{path.name} is a zip archive whose index cannot be read"
            ) from None
        self._bytes_out = self._bytes_in = 0
        try:
            self._members = self._check_members()
        except BaseException:
            self._zip.close()
            raise
        self.names = frozenset(self._members)
        self._by_folded_name = {_fold_name(unquote(name)): name for name in self._members}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()

    def find(self, name: str) -> str | None:
        """Find a member in the archive's own spelling: references often get case and accents wrong."""
        return name if name in self._members else self._by_folded_name.get(_fold_name(name))

    def get_size(self, name: str) -> int:
        """Return the size that the archive states for a member."""
        return self._members[name].file_size

    def read(self, name: str) -> bytes:
        """Read a member, counting the bytes that really come out; refuse too many."""
        info = self._members[name]
        if info.flag_bits & 1:
            raise BadBook("drm", f"{self.name}: {name} is locked with a password")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise BadBook("damaged_archive", f"{self.name}: {name} uses a compression that books do not use")
        pieces: list[bytes] = []
        size = 0
        self._bytes_in += info.compress_size
        try:
            with self._zip.open(info) as member:
                while piece := member.read(_READ_SIZE):
                    size += len(piece)
                    self._spend(len(piece), size, name)
                    pieces.append(piece)
        except _ZIP_ERRORS as error:
            raise BadBook("damaged_archive", f"{self.name}: {name} is damaged ({error})") from None
        return b"".join(pieces)

    def _spend(self, piece: int, size: int, name: str) -> None:
        self._bytes_out += piece
        limits = self._limits
        if size > limits.max_member_mb * MB:
            raise BadBook(
                "too_large_expanded", f"{self.name}: {name} unpacks to more than {limits.max_member_mb} MB"
            )
        if self._bytes_out > limits.max_expanded_mb * MB:
            raise BadBook(
                "too_large_expanded", f"{self.name} unpacks to more than {limits.max_expanded_mb} MB"
            )
        if self._bytes_out > _FREE and self._bytes_out > limits.max_ratio * max(1, self._bytes_in):
            raise BadBook(
                "too_large_expanded", f"{self.name}: {name} unpacks to over {limits.max_ratio} times its size"
            )

    def _count_members(self, path: Path) -> None:
        """Count the entries of the directory before anything is built from them."""
        most = self._limits.max_members
        found, position = 0, 0
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            while (position := data.find(_ENTRY_MARK, position)) >= 0:
                found, position = found + 1, position + len(_ENTRY_MARK)
                if found > most:
                    raise BadBook("too_many_members", f"{self.name} has more than {most} files")

    def _check_members(self) -> dict[str, zipfile.ZipInfo]:
        """Return the members that can be reached, after the checks that need no reading."""
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
        named = ((resolve_member_name(i.filename), i) for i in infos if not i.filename.endswith("/"))
        return {name: info for name, info in named if name is not None}
