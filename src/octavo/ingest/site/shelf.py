"""The folder on disk that keeps a fetched site: its pages, and a log of what was fetched.

Every page is written to the log when it is on the disk, so that a stopped fetch continues where it was. The
next fetch of a finished site asks for each page only if it changed. One process at a time works on a shelf.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from octavo.errors import LibraryBusy
from octavo.readers.html.fetched import MANIFEST, FetchedSite
from octavo.text.clean import make_slug

SITES = "sites"
_LOG, _LOCK, _NEW = ".fetched.jsonl", ".lock", ".new"
_LONGEST = 80
_INDEX = re.compile(r"/index\.x?html?$", re.IGNORECASE)
# A stopped fetch that is older starts again; what did not change is not sent again.
_FRESH_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPage:
    """What is known of an address: the `file` with its page, where it `moved`, or neither if it has none."""

    address: str
    file: str = ""
    moved: str = ""
    etag: str = ""
    modified: str = ""
    robots: str = ""


def locate_shelf(data: Path, address: str) -> Path:
    """Return the folder for the site at an address. It is named after the address."""
    parts = urlsplit(address)
    host = re.sub(r"[^a-z0-9.-]+", "-", parts.netloc.lower()).strip(".-") or "site"
    if parts.path.strip("/") or parts.query:
        mark = hashlib.sha256(address.encode()).hexdigest()[:6]
        host = f"{host}-{make_slug(unquote(parts.path), most=40)}-{mark}"
    return data / SITES / host


def delete_shelf(data: Path, name: str) -> None:
    """Delete what was fetched of the book with this source, unless somebody is adding it again."""
    folder = data / SITES / name
    if name and folder.parent == data / SITES and (folder / _LOG).is_file():
        with suppress(LibraryBusy, OSError), _lock(folder):
            shutil.rmtree(folder, ignore_errors=True)


class Shelf:
    """Opened with `open_shelf`. `pages` is what is known, `fresh` which of it this fetch has seen."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pages: dict[str, StoredPage] = {}
        self.fresh: set[str] = set()
        self._load()
        self._files = {page.file.casefold() for page in self.pages.values()}

    def _load(self) -> None:
        log = self.folder / _LOG
        lines = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
        for line in lines:
            try:
                fields = json.loads(line)
                if fields == {"finished": True}:
                    self.fresh.clear()
                    continue
                page = StoredPage(**fields)
            except (ValueError, TypeError):
                # The line that was being written when the machine stopped.
                continue
            if not page.file or (self.folder / page.file).is_file():
                self.pages[page.address] = page
                self.fresh.add(page.address)
        if lines and time.time() - log.stat().st_mtime > _FRESH_SECONDS:
            self.fresh.clear()

    def read(self, page: StoredPage) -> bytes:
        return (self.folder / page.file).read_bytes()

    def put(self, page: StoredPage, body: bytes | None = None) -> StoredPage:
        """Note what was found at an address, and with `body` write its page."""
        if body is not None:
            known = self.pages.get(page.address)
            file = known.file if known and known.file else self._choose_file(page.address)
            page = StoredPage(**asdict(page) | {"file": file})
            path = self.folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            # A process that is killed here leaves the old page whole.
            (self.folder / _NEW).write_bytes(body)
            os.replace(self.folder / _NEW, path)
        self.pages[page.address] = page
        self.fresh.add(page.address)
        self._append(asdict(page))
        return page

    def find_index_copies(self, addresses: Iterable[str]) -> dict[str, str]:
        """Return each `…/index.html` among the addresses whose stored page is that of `…/`, byte for byte.

        `…/` must be among the addresses too; it is the value. `.htm` and `.xhtml` count as well, in any case
        of letters; an address with a query does not.
        """
        known = dict.fromkeys(addresses)
        copies: dict[str, str] = {}
        for address in known:
            folder = _INDEX.sub("/", address)
            is_index = folder != address and folder in known
            if is_index and self.read(self.pages[folder]) == self.read(self.pages[address]):
                copies[address] = folder
        return copies

    def finish(self, site: FetchedSite) -> Path:
        """Write the manifest, delete what no longer belongs to the site, and return the folder to read."""
        pages = self.folder
        (pages / MANIFEST).write_text(site.to_json(), encoding="utf-8")
        files = {page.file for page in self.pages.values()}
        for file in pages.rglob("*.html"):
            if file.relative_to(pages).as_posix() not in files:
                file.unlink()
        # Those too that this fetch could not get: the next one must know what is on the shelf.
        kept = [asdict(page) for page in self.pages.values()]
        new = self.folder / f"{_LOG}.new"
        new.write_text("".join(f"{json.dumps(p)}\n" for p in (*kept, {"finished": True})), encoding="utf-8")
        os.replace(new, self.folder / _LOG)
        return pages

    def forget(self, addresses: Iterable[str]) -> None:
        for address in addresses:
            self.pages.pop(address, None)

    def _append(self, fields: dict[str, object]) -> None:
        with (self.folder / _LOG).open("a", encoding="utf-8") as log:
            log.write(f"{json.dumps(fields)}\n")

    def _choose_file(self, address: str) -> str:
        """Choose a file name like the address, which no other page has."""
        parts = urlsplit(address)
        names = [quote(unquote(name), safe=" ~@!$&'()+,;=") for name in parts.path.split("/") if name]
        if not names or parts.path.endswith("/"):
            names.append("index")
        *folders, last = (f"_{name}" if name.startswith(".") else name for name in names)
        last = re.sub(r"\.x?html?$", "", last, flags=re.IGNORECASE)
        # A folder never has the name of a file.
        path = [f"{name}_" if name.lower().endswith(".html") else name for name in folders]
        file = "/".join((*path, f"{last}.html"))
        too_long = any(len(name) > _LONGEST for name in (*path, last)) or len(path) > 20
        if parts.query or too_long or MANIFEST in path or file.casefold() in self._files:
            file = f"{last[:_LONGEST]}-{hashlib.sha256(address.encode()).hexdigest()[:12]}.html"
        self._files.add(file.casefold())
        return file


@contextmanager
def open_shelf(folder: Path) -> Iterator[Shelf]:
    """Open a shelf for the only process that may work on it."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _lock(folder):
        yield Shelf(folder)


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    with (folder / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LibraryBusy(
                f"the site in {folder.name} is being fetched or read by somebody else",
                hint="Wait until it is done, then run the command again.",
            ) from None
        yield
