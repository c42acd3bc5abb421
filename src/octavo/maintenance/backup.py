"""Back up a library while it is in use, and restore it.

The records are the source of truth, vectors included, so a backup holds the records, the settings file and
the uploads that still wait. The store is built again from the records. A backup folder has `blocks`, each
stored once under its SHA-256, and `snapshots`, each a list of files and their blocks. A new snapshot writes
only the blocks that changed or were damaged. A snapshot counts from the moment its list is there, and its
list is written last. A lock on the folder admits one writer at a time.

The records are copied in one read transaction of SQLite, so a snapshot is one moment, whatever others write
meanwhile. Every block is read back before the snapshot counts. The *digest* of a snapshot covers its list,
and with that every byte of every file.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from octavo.errors import Conflict, InvalidValue, LibraryBusy, NotFound, OctavoError, RecordsError, StorageLow
from octavo.settings import FILE, Settings
from octavo.store import has_collection
from octavo.store.base import LibraryLock, locate_store

RECORDS, UPLOADS = "records.sqlite", "uploads"
BLOCK_BYTES = 64 * 1024
VERSION = 1
_DRAFTS = "records-*.draft"
_LOCK = "backup.lock"
_POSTGRES = "Back up PostgreSQL with `pg_dump`; `octavo doctor --repair` builds the store again from it."
OnStep = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One moment of a library. `written` counts the bytes that this snapshot added to the backup folder."""

    name: str
    digest: str
    files: Mapping[str, int]
    written: int = 0

    @property
    def size(self) -> int:
        return sum(self.files.values())


def back_up(settings: Settings, folder: Path, *, on_step: OnStep | None = None) -> Snapshot:
    """Add a snapshot of the library to the backup folder, and read it back. The library may be in use."""
    if settings.records_url:
        raise InvalidValue("backup", f"is for records in SQLite. {_POSTGRES}", "records in PostgreSQL")
    if not (settings.data / RECORDS).exists():
        raise NotFound("library", str(settings.data), hint="Name its folder with --data or OCTAVO_DATA.")
    with _translate_errors(folder):
        _make_folders(folder)
        with _lock_folder(folder):
            draft = _make_draft(folder)
            try:
                _copy_records(settings.data / RECORDS, draft)
                sources = {RECORDS: draft} | _find_other_files(settings.data)
                listed, written = _write_files(folder, sources, on_step or (lambda *_: None))
            finally:
                draft.unlink(missing_ok=True)
            name = _choose_name(folder)
            content = {"version": VERSION, "name": name, "files": listed}
            _verify_files(folder, name, listed)
            digest = _digest(content)
            _write_whole(folder / "snapshots" / f"{name}.json", _encode(content | {"digest": digest}))
    return Snapshot(name, digest, _get_sizes(listed), written)


def list_snapshots(folder: Path) -> list[str]:
    """Return the names of the snapshots, the oldest first."""
    return sorted(path.stem for path in (folder / "snapshots").glob("*.json"))


def verify_snapshot(folder: Path, name: str) -> Snapshot:
    """Read every byte of a snapshot; raise if anything is missing or was changed."""
    content = _read_list(folder, name)
    with _translate_errors(folder):
        _verify_files(folder, name, content["files"])
    return Snapshot(name, content["digest"], _get_sizes(content["files"]))


def verify_snapshots(folder: Path) -> tuple[list[Snapshot], dict[str, str]]:
    """Read every byte of all snapshots; return those that are sound, and what is wrong with the others."""
    sound: list[Snapshot] = []
    damaged: dict[str, str] = {}
    for name in list_snapshots(folder):
        try:
            sound.append(verify_snapshot(folder, name))
        except OctavoError as error:
            damaged[name] = error.message
    return sound, damaged


def _verify_files(folder: Path, name: str, files: Mapping[str, Mapping[str, Any]]) -> None:
    if RECORDS not in files:
        raise _make_damaged(folder, f"snapshot {name} has no {RECORDS}")
    for file, said in files.items():
        whole = hashlib.sha256()
        for block in _read_blocks(folder, said["blocks"]):
            whole.update(block)
        if whole.hexdigest() != said["sha256"]:
            raise _make_damaged(folder, f"{file} of snapshot {name} is not what was written")


def _get_sizes(files: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    return {file: said["size"] for file, said in files.items()}


def prune_snapshots(folder: Path, *, keep: int) -> list[str]:
    """Delete all snapshots but the newest `keep`, and the blocks that only they had; return their names."""
    if keep < 1:
        raise InvalidValue("keep", "must be at least 1", keep)
    if not list_snapshots(folder):
        return []
    with _translate_errors(folder), _lock_folder(folder):
        names = list_snapshots(folder)
        gone, kept = names[:-keep], names[-keep:]
        needed = {
            block
            for name in kept
            for said in _read_list(folder, name)["files"].values()
            for block in said["blocks"]
        }
        for name in gone:
            (folder / "snapshots" / f"{name}.json").unlink()
        for path in (folder / "blocks").glob("*/*"):
            if path.name not in needed:
                path.unlink()
    return gone


def restore(settings: Settings, folder: Path, *, name: str = "", replace: bool = False) -> Snapshot:
    """Put a snapshot, by default the newest, into the library's folder. Build the store again after it.

    With `replace`, what is there is renamed, not deleted. Nothing is changed before the snapshot is verified.
    A collection that exists on a Qdrant server is refused: others may use it. With a server, call this where
    no event loop runs.
    """
    if settings.records_url:
        raise InvalidValue("restore", f"is for records in SQLite. {_POSTGRES}", "records in PostgreSQL")
    names = list_snapshots(folder)
    if not names or (name and name not in names):
        raise NotFound("snapshot", name or str(folder), hint="`octavo backup DIR` makes one.")
    snapshot = verify_snapshot(folder, name or names[-1])
    _refuse_used_collection(settings, folder, snapshot)
    data = settings.data
    with _translate_errors(data):
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        free = shutil.disk_usage(data).free
        if free < snapshot.size:
            raise StorageLow(f"the disk of {data} has too little space for {snapshot.size:,} bytes")
        lock = LibraryLock(data)
        try:
            _require_empty(data, replace=replace)
            drafts = _write_drafts(folder, snapshot, data)
            _check_integrity(drafts[RECORDS])
            _set_aside(data, snapshot.files)
            for file, draft in drafts.items():
                (data / file).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                draft.replace(data / file)
            _sync_folder(data)
        finally:
            lock.release()
    return snapshot


def _make_folders(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for part in ("blocks", "snapshots"):
        (folder / part).mkdir(exist_ok=True, mode=0o700)


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Hold the lock on a backup folder. The system releases it if the process dies."""
    handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LibraryBusy(
                f"another backup writes to {folder}", hint="Wait until it has finished, then try again."
            ) from None
        yield
    finally:
        os.close(handle)


def _make_draft(folder: Path) -> Path:
    """Make an empty file for the copy of the records, and delete those that a killed backup left."""
    for left in folder.glob(_DRAFTS):
        left.unlink()
    handle, path = tempfile.mkstemp(prefix="records-", suffix=".draft", dir=folder)
    os.close(handle)
    return Path(path)


def _create_private(path: Path) -> BinaryIO:
    """Create a file that only its owner may read, in place of one that is there."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")


def _copy_records(source: Path, draft: Path) -> None:
    """Copy the database in one read transaction, and check the copy."""
    address = f"{source.resolve().as_uri()}?mode=ro"
    with (
        closing(sqlite3.connect(address, uri=True, timeout=30)) as reading,
        closing(sqlite3.connect(draft)) as writing,
    ):
        writing.execute("PRAGMA journal_mode = OFF")
        reading.backup(writing)
    _check_integrity(draft)


def _check_integrity(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        # The copy of a database in WAL mode would leave a log beside it.
        database.execute("PRAGMA journal_mode = DELETE")
        said = [line for (line,) in database.execute("PRAGMA integrity_check")]
    if said != ["ok"]:
        raise RecordsError(
            f"the records are damaged: {'; '.join(said[:3])}", hint="`octavo doctor` says more about it."
        )


def _find_other_files(data: Path) -> dict[str, Path]:
    found = {FILE: data / FILE} if (data / FILE).is_file() else {}
    for path in sorted((data / UPLOADS).glob("*/*")):
        if path.is_file() and path.name != "part":
            found[str(path.relative_to(data))] = path
    return found


def _write_files(
    folder: Path, sources: Mapping[str, Path], on_step: OnStep
) -> tuple[dict[str, dict[str, Any]], int]:
    """Write the blocks that are not there yet. Return the list of the files, and the bytes written."""
    listed: dict[str, dict[str, Any]] = {}
    written = done = 0
    total = sum(path.stat().st_size for path in sources.values() if path.exists())
    for file, path in sources.items():
        whole, names, size = hashlib.sha256(), [], 0
        try:
            reading = path.open("rb")
        except FileNotFoundError:
            if file == RECORDS:
                raise
            # An upload that was read meanwhile is in the records now, or will be sent again.
            continue
        with reading:
            while block := reading.read(BLOCK_BYTES):
                whole.update(block)
                names.append(hashlib.sha256(block).hexdigest())
                written += _write_block(folder, names[-1], block)
                size += len(block)
                done += len(block)
                on_step(done, total)
        listed[file] = {"size": size, "sha256": whole.hexdigest(), "blocks": names}
    return listed, written


def _write_block(folder: Path, name: str, block: bytes) -> int:
    path = _locate_block(folder, name)
    if _is_sound(path):
        return 0
    path.parent.mkdir(exist_ok=True, mode=0o700)
    packed = zlib.compress(block, 1)
    _write_whole(path, packed)
    return len(packed)


def _is_sound(path: Path) -> bool:
    """Say whether a block is there and has the digest that it is named after."""
    try:
        return hashlib.sha256(zlib.decompress(path.read_bytes())).hexdigest() == path.name
    except (FileNotFoundError, zlib.error):
        return False


def _locate_block(folder: Path, name: str) -> Path:
    return folder / "blocks" / name[:2] / name


def _write_whole(path: Path, content: bytes) -> None:
    """Write a file that is whole and on the disk, or absent."""
    draft = path.with_name(f"{path.name}.new")
    with _create_private(draft) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _choose_name(folder: Path) -> str:
    """Name a snapshot after the time, and after every other one."""
    taken = list_snapshots(folder)
    name = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    latest = taken[-1] if taken else ""
    if name <= latest:
        stem, _, number = latest.partition("-")
        name = f"{stem}-{int(number or 0) + 1:06}"
    return name


def _read_blocks(folder: Path, names: list[str]) -> Iterator[bytes]:
    for name in names:
        try:
            block = zlib.decompress(_locate_block(folder, name).read_bytes())
        except (FileNotFoundError, zlib.error):
            raise _make_damaged(folder, f"block {name[:12]} is missing or damaged") from None
        if hashlib.sha256(block).hexdigest() != name:
            raise _make_damaged(folder, f"block {name[:12]} is damaged")
        yield block


def _read_list(folder: Path, name: str) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads((folder / "snapshots" / f"{name}.json").read_bytes())
        said = content.pop("digest")
    except FileNotFoundError:
        raise NotFound("snapshot", name) from None
    except (ValueError, KeyError, AttributeError, TypeError):
        # It may be JSON of another shape.
        raise _make_damaged(folder, f"the list of snapshot {name} cannot be read") from None
    if said != _digest(content):
        raise _make_damaged(folder, f"the list of snapshot {name} was changed")
    return content | {"digest": said}


def _encode(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(_encode(content)).hexdigest()


def _make_damaged(folder: Path, said: str) -> RecordsError:
    return RecordsError(
        f"the backup at {folder} is damaged: {said}", hint="Try an older snapshot, or another copy."
    )


def _refuse_used_collection(settings: Settings, folder: Path, snapshot: Snapshot) -> None:
    """Raise if the restored library would write to a collection that exists on a Qdrant server.

    The settings file of the snapshot may name a server too, and counts once it is restored.
    """
    for each in (settings, _read_restored_settings(folder, snapshot)):
        if each.store_url and asyncio.run(has_collection(each)):
            raise Conflict(
                f"restoring would write to the collection {each.collection!r} at {each.store_url}, which "
                "exists and may be in use",
                hint="Set OCTAVO_COLLECTION to another name, or OCTAVO_STORE_URL to nothing for the embedded "
                "store, and restore again.",
            )


def _read_restored_settings(folder: Path, snapshot: Snapshot) -> Settings:
    with tempfile.TemporaryDirectory() as place:
        said = _read_list(folder, snapshot.name)["files"].get(FILE, {"blocks": []})
        (Path(place) / FILE).write_bytes(b"".join(_read_blocks(folder, said["blocks"])))
        return Settings(data=Path(place))


def _require_empty(data: Path, *, replace: bool) -> None:
    if not replace and (data / RECORDS).exists():
        raise InvalidValue(
            "data folder", "holds a library already; --replace renames it and restores", str(data)
        )


def _write_drafts(folder: Path, snapshot: Snapshot, data: Path) -> dict[str, Path]:
    """Write the files of a snapshot beside their places."""
    drafts: dict[str, Path] = {}
    files = _read_list(folder, snapshot.name)["files"]
    for number, (file, said) in enumerate(files.items()):
        if Path(file).is_absolute() or ".." in Path(file).parts:
            raise _make_damaged(folder, f"a file is named {file!r}")
        drafts[file] = data / f"restoring-{number}"
        with _create_private(drafts[file]) as writing:
            for block in _read_blocks(folder, said["blocks"]):
                writing.write(block)
            writing.flush()
            os.fsync(writing.fileno())
    return drafts


def _set_aside(data: Path, files: Iterable[str]) -> None:
    """Rename the records with their log, the store, the uploads, and every other file to be restored.

    A settings file stays if the snapshot has none.
    """
    ends = {data / f"{RECORDS}{end}": end for end in ("", "-wal", "-shm")}
    store = locate_store(data)
    # Uploads go as one folder: a renamed file among them would count as an upload.
    others = {data / UPLOADS, store} | {data / file for file in files if Path(file).parts[0] != UPLOADS}
    number = 1
    while any(_find_replaced(folder, number) for folder in (data, store.parent)):
        number += 1
    for path in (*ends, *sorted(others - ends.keys())):
        if path.exists():
            # SQLite finds a log only under the name of its database with the end added.
            end = ends.get(path, "")
            path.replace(path.with_name(f"{path.name.removesuffix(end)}.replaced-{number}{end}"))


def _find_replaced(folder: Path, number: int) -> bool:
    ends = ("", "-wal", "-shm")
    return any(any(folder.glob(f"*.replaced-{number}{end}")) for end in ends)


@contextmanager
def _translate_errors(place: Path) -> Iterator[None]:
    try:
        yield
    except OctavoError:
        raise
    except sqlite3.Error as error:
        raise RecordsError(
            f"the records cannot be copied: {error}", hint="`octavo doctor` checks the library."
        ) from error
    except OSError as error:
        full = error.errno in (28, 122)
        kind = StorageLow if full else RecordsError
        raise kind(
            f"{error.filename or place} cannot be read or written: {error.strerror}",
            hint="Free some space and try again." if full else "Check the folder and its rights.",
        ) from error
