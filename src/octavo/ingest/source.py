"""Find the file or folder of a book that is to be added: a path, a web site, or a zip archive of a folder.

`read_source_file` reads the bytes of a file that was parsed, to store them.
"""

from __future__ import annotations

import errno
import os
import tempfile
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.concurrency import run_blocking
from octavo.errors import BadBook
from octavo.ingest.site import fetch_site, is_web_address
from octavo.ingest.worker import UPLOADS
from octavo.limits import MB
from octavo.readers.detect import BY_SUFFIX, WORD_TEXT
from octavo.readers.files import Archive, find_files
from octavo.readers.folders import find_single
from octavo.store.base import require_space

if TYPE_CHECKING:
    from octavo.events import IngestEvent
    from octavo.limits import Limits
    from octavo.settings import Settings

# Formats that are archives inside: EPUB, Excel, PowerPoint. Word has `WORD_TEXT`, OpenDocument `content.xml`.
_BOOKS_IN_ARCHIVES = ("META-INF/container.xml", "xl/workbook.xml", "ppt/presentation.xml")


@asynccontextmanager
async def locate_book(
    source: str | Path, settings: Settings, on_event: Callable[[IngestEvent], None] | None = None
) -> AsyncIterator[Path]:
    """Give the place of a book while the block runs. A site is fetched, an archive is unpacked first."""
    if isinstance(source, str) and is_web_address(source):
        async with aclosing(fetch_site(source, settings)) as steps:
            async for step in steps:
                if isinstance(step, Path):
                    # The site stays locked until it is read, so nobody changes or deletes it meanwhile.
                    yield step
                elif on_event:
                    on_event(step)
        return
    # An absolute path, so that a book in `.` is named after the folder.
    path = Path(os.path.abspath(source))
    if not _is_folder_archive(path):
        yield path
        return
    # What a killed process leaves there is deleted with old uploads.
    uploads = settings.data / UPLOADS
    uploads.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=uploads, prefix="unpacked-") as room:
        folder = Path(room) / (path.stem.strip(". ") or "book")
        await run_blocking(_unpack, path, folder, settings)
        yield folder


def _is_folder_archive(path: Path) -> bool:
    """Whether this is a zip archive of a folder, and not a format that is one inside."""
    if path.suffix.lower() != ".zip" or not path.is_file() or not zipfile.is_zipfile(path):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.NameToInfo
            document = "content.xml" in names and "mimetype" in names
            document = document or any(WORD_TEXT.fullmatch(name) for name in names)
            return not document and not any(name in names for name in _BOOKS_IN_ARCHIVES)
    except (zipfile.BadZipFile, OSError, ValueError):
        return False


def _unpack(path: Path, folder: Path, settings: Settings) -> None:
    """Write the files of an archive into a folder. The archive counts the bytes that come out."""
    folder.mkdir()
    with Archive(path, settings.limits) as archive:
        for name in sorted(archive.names):
            data = archive.read(name)
            require_space(settings.data, len(data), settings.free_space_mb)
            target = folder / name
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
            except OSError as failed:
                if failed.errno == errno.ENOSPC:
                    raise
                # Two entries are a file and a folder of one name, or a name is too long for the disk.
                raise BadBook("damaged_archive", f"{path.name}: {name[:80]} cannot be unpacked") from None


def read_source_file(path: Path, wanted: str, limits: Limits) -> bytes:
    """Return the bytes with this SHA-256 of the file at a path, or of the only book in the folder there.

    Return b"" for a book whose file is not stored, and for a file that has changed since it was parsed.
    """
    if not wanted:
        return b""
    try:
        file = find_single(find_files(path, frozenset(BY_SUFFIX), limits)) if path.is_dir() else path
        if file is None or file.stat().st_size > limits.max_file_mb * MB:
            return b""
        data = file.read_bytes()
    except OSError:
        return b""
    return data if sha256(data).hexdigest() == wanted else b""
