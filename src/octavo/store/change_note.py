"""A note in an embedded store's folder: which points are being written.

After a kill, only these points and those that the engine had nowhere but in its log can differ from what was
written, as long as the system runs on: what a process gave to the system is not lost with the process. So the
note lists both, each point before it is written, and need not be synced. It has a name, which the records
save before the change begins; a copy of the records from another time has another name. It also says how many
points had no words, so that the index of words is not taken for damaged because it lacks them.

A note is void if it is damaged, if the system was started anew since, if the folder, the note or the engine's
folders are others by their inode numbers, and if anything in the folder was changed more than `SLACK_SECONDS`
after the last write that the note knows of, as when files were put back from a copy. Then the whole store has
to be compared.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from uuid import uuid4
from zlib import crc32

FILE = "octavo-change"
_DRAFT = f"{FILE}.new"
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
"""Where Linux names the time since it was started. Other systems have no such file, and no note is valid."""
SLACK_SECONDS = 10
"""How long a single write may take until it is taken for another program's."""
_FLUSHED = "flushed"
_LASTING = ("segments", "wal")
"""Folders that the engine never replaces."""


class ChangeNote:
    """The note in the folder of a store that is about to be opened. A void one is deleted.

    `name` is "", `wordless` 0 and the others are None while there is none. `ids` are all points that the note
    lists, and `logged` those that the engine may have only in its log. `wordless` is how many points had no
    words when it began.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.name, self.wordless = "", 0
        self.ids: set[str] | None = None
        self.logged: set[str] | None = None
        found = _read_valid(folder)
        if found is None:
            with suppress(OSError):
                (folder / FILE).unlink()
        else:
            self.name, self.wordless, self.ids, self.logged = found
            # Opening the store writes to its files.
            self.stamp()

    def begin(self, *, wordless: int = 0) -> str:
        """Starts a new note with the points in the log; returns its name, and "" if there can be none.

        Where there was no note, the log must be empty.
        """
        logged = self.logged or set()
        boot, name = _read_boot_id(), str(uuid4())
        self._forget()
        if boot:
            try:
                self._write({"name": name, "boot": boot, "wordless": wordless}, logged)
                self.name, self.wordless, self.ids, self.logged = name, wordless, {*logged}, logged
            except OSError:
                # Points that are written from now on would not be in the note before.
                (self._folder / FILE).unlink(missing_ok=True)
        return self.name

    def add(self, ids: Collection[str]) -> None:
        """Notes points that are about to be written or deleted."""
        if self.ids is not None and self.logged is not None:
            self._append(" ".join(ids))
            self.ids.update(ids)
            self.logged.update(ids)

    def mark_flushed(self) -> None:
        """Notes that the log is empty now."""
        if self.logged:
            self.logged.clear()
            # The note lists too much without it.
            with suppress(OSError):
                self._append(_FLUSHED)

    def stamp(self) -> None:
        """Notes that the engine is about to write to its files."""
        if self.ids is not None:
            try:
                os.utime(self._folder / FILE)
            except OSError:
                # Somebody deleted it, or it is another user's: that is no note, and no reason to fail.
                self._forget()
                with suppress(OSError):
                    (self._folder / FILE).unlink()

    def _forget(self) -> None:
        self.name, self.wordless, self.ids, self.logged = "", 0, None, None

    def _append(self, text: str) -> None:
        with (self._folder / FILE).open("ab", buffering=0) as file:
            file.write(_build_line(text))

    def _write(self, said: Mapping[str, str | int], ids: Collection[str]) -> None:
        draft = self._folder / _DRAFT
        # The file must be there to have a number, which it keeps when it is renamed.
        draft.touch()
        header = json.dumps({**said, "place": _locate(self._folder, draft)})
        draft.write_bytes(_build_line(header) + _build_line(" ".join(ids)))
        draft.replace(self._folder / FILE)


def can_note() -> bool:
    """Whether a note can be valid at all on this system."""
    return bool(_read_boot_id())


def is_note(file: Path) -> bool:
    """Whether a file is the note, or the draft of one."""
    return file.name in (FILE, _DRAFT)


def _build_line(text: str) -> bytes:
    return f"{crc32(text.encode()):08x} {text}\n".encode()


def _parse_lines(said: bytes) -> list[str]:
    """Returns the lines without their checksums; raises `ValueError` if any is damaged."""
    *lines, rest = said.decode().split("\n")
    texts = [line[9:] for line in lines]
    if rest or any(
        _build_line(text) != f"{line}\n".encode() for line, text in zip(lines, texts, strict=True)
    ):
        raise ValueError("a line is damaged")
    return texts


def _locate(folder: Path, note: Path) -> list[int]:
    """Returns the numbers of the device, the folder, the engine's folders and the note.

    A copy may get the number of a folder that was deleted before, but hardly each at the same place.
    """
    parts = (folder, *(folder / part for part in _LASTING), note)
    return [folder.stat().st_dev, *(part.stat().st_ino for part in parts)]


def _read_boot_id() -> str:
    try:
        return BOOT_ID.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _read_valid(folder: Path) -> tuple[str, int, set[str], set[str]] | None:
    """Reads the note in a folder: its name, the number without words, its points and those in the log.

    None if it is void.
    """
    try:
        header, *lists = _parse_lines((folder / FILE).read_bytes())
        said = json.loads(header)
        here = {"boot": _read_boot_id(), "place": _locate(folder, folder / FILE)}
        last = (folder / FILE).stat().st_mtime_ns + SLACK_SECONDS * 10**9
        if not here["boot"] or any(said[key] != value for key, value in here.items()):
            return None
        if any(each.stat().st_ctime_ns > last for each in (folder, *folder.rglob("*"))):
            return None
        return str(said["name"]), int(said["wordless"]), *_parse_ids(lists)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _parse_ids(lists: Iterable[str]) -> tuple[set[str], set[str]]:
    ids: set[str] = set()
    logged: set[str] = set()
    for text in lists:
        if text == _FLUSHED:
            logged.clear()
        else:
            ids.update(text.split())
            logged.update(text.split())
    return ids, logged
