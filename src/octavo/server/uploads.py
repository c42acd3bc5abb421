"""Uploads: `multipart/form-data`, written to the disk while it arrives, never held in memory.

The number of parts, the lengths of headers and fields and the size of the file are limited while they are
read. What exceeds a limit is refused at once, and what was written of it is removed before the response is
sent. The file's name never chooses a place on the disk. It is our own because starlette's form parser does
not limit the size of a file, writes to the system's temporary folder, and takes a body that was cut off for
an empty form.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from uuid import uuid4

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from octavo.concurrency import run_blocking
from octavo.limits import MB
from octavo.server.space import Reservation, translate_full_disk
from octavo.text.clean import clean, collapse

FIELDS = ("title", "base_url", "book_id")
FILE = "file"
PARTS_MOST, FIELD_MOST, NAME_MOST = 8, 4_000, 120
_WRITE_BYTES = 1 << 20
GRACE_SECONDS = 10.0
_NOT_IN_NAMES = re.compile(r"[^\w .,'()+-]")
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)")
_CLOSE = {"connection": "close"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A file that has arrived completely. `source` is its path under the folder of uploads."""

    id: str
    name: str
    source: str
    size: int
    digest: bytes
    """Hash of the file, its name and the fields: equal for equal requests."""
    fields: Mapping[str, str]


def make_safe_name(given: str) -> str:
    """Make a file name that is valid on every file system and keeps the meaning of the given one."""
    last = re.split(r"[/\\]", collapse(clean(given)))[-1]
    plain = collapse(_NOT_IN_NAMES.sub(" ", last)).strip(" .")
    stem, dot, suffix = plain.rpartition(".")
    stem, suffix = (stem, suffix[:10]) if dot and stem else (plain, "")
    short = stem.encode()[: NAME_MOST - len(suffix.encode()) - 1].decode("utf-8", "ignore").strip(" .")
    named = f"{short or 'book'}{f'.{suffix}' if suffix else ''}"
    return f"book {named}" if _RESERVED.match(named) else named


def read_boundary(content_type: str) -> bytes:
    """Read the boundary between the parts; refuse another type of body."""
    kind, options = parse_options_header(content_type)
    if kind.lower() != b"multipart/form-data":
        raise HTTPException(415, "a book is sent as multipart/form-data, with the file in the part `file`")
    boundary = options.get(b"boundary", b"")
    if not boundary or len(boundary) > 200:
        raise make_parse_error("it names no boundary between its parts")
    return boundary


def make_parse_error(why: str) -> HTTPException:
    return HTTPException(400, f"the multipart body cannot be read: {why}", headers=_CLOSE)


@asynccontextmanager
async def receive_upload(
    body: AsyncGenerator[bytes, None],
    *,
    content_type: str,
    uploads: Path,
    most_bytes: int,
    reserved: Reservation,
    kb_per_second: float,
) -> AsyncIterator[Upload]:
    """Write the upload to the disk, within the reserved space. It is removed when the block raises.

    One that is slower than `kb_per_second` on average, after `GRACE_SECONDS`, is refused.
    """
    form = UploadForm(read_boundary(content_type), most_bytes=most_bytes)
    id = str(uuid4())
    folder = uploads / id
    try:
        with translate_full_disk():
            folder.mkdir(parents=True)
            with (folder / "part").open("xb") as file:
                await _write_body(_require_pace(body, kb_per_second), form, file, reserved)
                await run_blocking(_sync_file, file)
        name = make_safe_name(form.name)
        (folder / "part").rename(folder / name)
        yield Upload(
            id=id,
            name=name,
            source=f"{id}/{name}",
            size=form.size,
            digest=form.digest(),
            fields=dict(form.fields),
        )
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


async def _require_pace(
    body: AsyncGenerator[bytes, None], kb_per_second: float
) -> AsyncGenerator[bytes, None]:
    """Yield the body; raise when it falls behind the pace."""
    loop = asyncio.get_running_loop()
    until = loop.time() + GRACE_SECONDS
    try:
        while True:
            async with asyncio.timeout_at(until):
                try:
                    piece = await anext(body)
                except StopAsyncIteration:
                    return
            until += len(piece) / 1024 / kb_per_second
            yield piece
    except TimeoutError:
        said = f"the upload is slower than {kb_per_second:g} kB in a second"
        raise HTTPException(408, said, headers=_CLOSE) from None


async def _write_body(
    body: AsyncGenerator[bytes, None], form: UploadForm, file: IO[bytes], reserved: Reservation
) -> None:
    try:
        async for piece in body:
            form.feed(piece)
            if form.waiting >= _WRITE_BYTES:
                reserved.use(form.waiting)
                await run_blocking(file.write, form.take())
    except ClientDisconnect:
        raise HTTPException(400, "the client left during the upload", headers=_CLOSE) from None
    form.end()
    reserved.use(form.waiting)
    await run_blocking(file.write, form.take())


def _sync_file(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


@dataclass(slots=True)
class _Part:
    headers: dict[str, bytes] = field(default_factory=dict)
    header: tuple[bytes, bytes] = (b"", b"")
    name: str = ""
    value: bytearray = field(default_factory=bytearray)


class UploadForm:
    """Parses the parts of a body as they arrive. The file's bytes wait until they are taken."""

    def __init__(self, boundary: bytes, *, most_bytes: int) -> None:
        self.fields: dict[str, str] = {}
        self.name = ""
        self.size = self.waiting = 0
        self._most, self._parts = most_bytes, 0
        self._ended = self._has_file = False
        self._part = _Part()
        self._pieces: list[bytes] = []
        self._hash = hashlib.sha256()
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin_part,
                "on_header_field": lambda data, start, end: self._take_header(data[start:end], b""),
                "on_header_value": lambda data, start, end: self._take_header(b"", data[start:end]),
                "on_header_end": self._end_header,
                "on_headers_finished": self._end_headers,
                "on_part_data": lambda data, start, end: self._take_data(data[start:end]),
                "on_part_end": self._end_part,
                "on_end": self._end_body,
            },
        )

    def feed(self, piece: bytes) -> None:
        try:
            self._parser.write(piece)
        except MultipartParseError as wrong:
            raise make_parse_error(str(wrong)[:200]) from None

    def end(self) -> None:
        """Check that the body is complete."""
        if not self._ended:
            raise make_parse_error("it ends too early")
        if not self._has_file:
            raise HTTPException(422, "there is no file in the part `file`")

    def take(self) -> bytes:
        made, self._pieces, self.waiting = b"".join(self._pieces), [], 0
        return made

    def digest(self) -> bytes:
        said = repr((self.name, sorted(self.fields.items()), self._hash.hexdigest()))
        return hashlib.sha256(said.encode()).digest()

    def _begin_part(self) -> None:
        self._parts += 1
        if self._parts > PARTS_MOST:
            raise make_parse_error(f"it has more than {PARTS_MOST} parts")
        self._part = _Part()

    def _take_header(self, name: bytes, value: bytes) -> None:
        self._part.header = (self._part.header[0] + name, self._part.header[1] + value)

    def _end_header(self) -> None:
        name, value = self._part.header
        self._part.headers[name.decode("latin-1").lower()] = value
        self._part.header = (b"", b"")

    def _end_headers(self) -> None:
        kind, options = parse_options_header(
            self._part.headers.get("content-disposition", b"").decode("latin-1")
        )
        name = options.get(b"name", b"").decode("utf-8", "replace")
        if kind.lower() != b"form-data" or name not in (FILE, *FIELDS):
            known = ", ".join((FILE, *FIELDS))
            raise HTTPException(422, f"a part is named {name[:40]!r}; the parts are {known}", headers=_CLOSE)
        if name in self.fields or (name == FILE and self._has_file):
            raise HTTPException(422, f"the part {name!r} is there twice", headers=_CLOSE)
        self._part.name = name
        if name == FILE:
            if b"filename" not in options:
                raise HTTPException(422, "the part `file` has no file name", headers=_CLOSE)
            self._has_file = True
            self.name = options[b"filename"].decode("utf-8", "replace")

    def _take_data(self, data: bytes) -> None:
        if self._part.name == FILE:
            self.size += len(data)
            if self.size > self._most:
                said = f"the file has more than {self._most // MB} MB, which is the limit"
                raise HTTPException(413, said, headers=_CLOSE)
            self._hash.update(data)
            self._pieces.append(bytes(data))
            self.waiting += len(data)
            return
        self._part.value += data
        if len(self._part.value) > FIELD_MOST:
            raise HTTPException(413, f"the part {self._part.name!r} is too long", headers=_CLOSE)

    def _end_part(self) -> None:
        if self._part.name in FIELDS:
            value = self._part.value.decode("utf-8", "replace").strip()
            if value:
                self.fields[self._part.name] = value

    def _end_body(self) -> None:
        self._ended = True
