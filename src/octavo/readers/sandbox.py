"""Parse a book in a process of its own, which is killed when it takes too long.

The process limits its own processor time. By the clock it may take much longer, on a busy machine, as long as
it goes on: it is given up only when it has used no processor for a while.

`parse` returns the book or raises `BadBook`, whatever the file does to its parser: hang, crash, use up the
memory or answer nonsense. The parser gets none of this process's secrets and shares nothing with it but three
pipes. It is gone, with everything it started, before `parse` returns.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from octavo.concurrency import complete, run_blocking
from octavo.errors import BAD_BOOK_CODES, BadBook, MachineError
from octavo.limits import MB, Limits
from octavo.readers.finish import LINK_SCHEMES
from octavo.readers.messages import (
    BOOK_PREFIX,
    PARSER_MODULE,
    SECONDS_PER_MB,
    SECONDS_PER_PAGE,
    read_page_count,
    read_pages_read,
    write_request,
)
from octavo.readers.parsed import ParsedBook
from octavo.readers.pictures import is_shown

if TYPE_CHECKING:
    from octavo.readers.scans import ScannedPages

GRACE_SECONDS = 2.0
WAITING_FACTOR = 4
OnPage = Callable[[int, int], None]
"""Gets how many pages are read, and of how many."""

# How much slower than an idle machine a busy one may be.
_BUSY_FACTOR = 50
_LOOK_SECONDS = 1.0
_COMMAND = (sys.executable, "-I", "-B", "-X", "utf8", "-m", PARSER_MODULE)
# What an answer may hold besides the book's text.
_ANSWER_EXTRA_MB = 64
_MOST_PAGES = 100_000
# How the dynamic linker exits when it has no memory left to bind a function.
_LINKER_FAILED = 127
_TIMEOUT_SIGNALS = (signal.SIGXCPU,)
# How parsers and kernels end a process for want of memory.
_MEMORY_SIGNALS = (signal.SIGABRT, signal.SIGKILL, signal.SIGTRAP, signal.SIGILL)


async def parse(path: Path, limits: Limits, *, on_page: OnPage | None = None) -> ParsedBook:
    """Read the book at `path` in a child process. `on_page` is called now and then while it reads."""
    book = await parse_with_scans(path, limits, {}, on_page=on_page)
    if not book.sections:
        raise BadBook("no_text", f"all {book.page_count} pages of {path.name} are scans")
    return book


async def parse_with_scans(
    path: Path, limits: Limits, scans: ScannedPages, *, on_page: OnPage | None = None
) -> ParsedBook:
    """Read a book, and use what OCR has read on pages of a PDF that have no text.

    The book names the scanned pages that are not among `scans`; it may have no sections then.
    """
    # A picture takes a third more as text.
    most = (4 * limits.max_text_mb + 2 * limits.max_images_mb + _ANSWER_EXTRA_MB) * MB
    request = await run_blocking(write_request, path.absolute(), limits, scans)
    answer = await run_child(request, path.name, limits, most=most, on_page=on_page)
    return await run_blocking(_read_answer, answer, path.name)


async def run_child(
    request: bytes,
    name: str,
    limits: Limits,
    *,
    most: int,
    on_page: OnPage | None = None,
    command: Sequence[str] = _COMMAND,
) -> bytes:
    """Return the answer of a child process to a request, of `most` bytes at most; `name` is for errors."""
    process = await _start(command, name)
    try:
        seconds = WAITING_FACTOR * limits.parser_seconds + GRACE_SECONDS
        async with asyncio.timeout(seconds) as deadline:
            watch = asyncio.create_task(_extend_while_busy(process, deadline, limits, seconds))
            try:
                _, answer, _ = await asyncio.gather(
                    _send(process, request),
                    _receive(process, most, name),
                    _watch_stderr(process, deadline, on_page),
                )
                code = await process.wait()
            finally:
                watch.cancel()
    except TimeoutError:
        raise BadBook("parser_timeout", f"the parser of {name} did not go on for {seconds:g} s") from None
    finally:
        await complete(_stop(process))
    if code != 0 or not answer:
        _raise_exit_error(code, name)
    return answer


async def _start(command: Sequence[str], name: str) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={"LANG": "C.UTF-8", "PATH": os.defpath},
            start_new_session=True,
        )
    except OSError as error:
        # No memory for it, too many processes, or too many open files.
        raise MachineError(
            f"cannot start a process to read {name}: {error.strerror}",
            hint="Check this machine's limits with `ulimit -a`, then try again.",
        ) from error


async def _send(process: asyncio.subprocess.Process, request: bytes) -> None:
    assert process.stdin is not None
    # A child that is gone already: uvloop raises RuntimeError for that.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError, RuntimeError):
        process.stdin.write(request)
        await process.stdin.drain()
        process.stdin.close()
        await process.stdin.wait_closed()


async def _receive(process: asyncio.subprocess.Process, most: int, name: str) -> bytes:
    """Read all of the child's stdout, up to `most` bytes."""
    assert process.stdout is not None
    pieces: list[bytes] = []
    size = 0
    while piece := await process.stdout.read(1 << 16):
        size += len(piece)
        if size > most:
            raise BadBook("too_large", f"the parser of {name} answered with more than {most // MB} MB")
        pieces.append(piece)
    return b"".join(pieces)


async def _extend_while_busy(
    process: asyncio.subprocess.Process, deadline: asyncio.Timeout, limits: Limits, seconds: float
) -> None:
    """Move the deadline on while the child uses the processor, as long as even a busy machine would take."""
    clock = asyncio.get_running_loop().time
    allowed = limits.parser_seconds + SECONDS_PER_MB * limits.max_expanded_mb
    end, used = clock() + _BUSY_FACTOR * allowed, 0
    while clock() < end:
        await asyncio.sleep(_LOOK_SECONDS)
        now = _count_ticks(process.pid)
        if now > used and (when := deadline.when()) is not None:
            used = now
            deadline.reschedule(max(when, clock() + seconds))


def _count_ticks(pid: int) -> int:
    """Return how much processor time a process has used; 0 where the system does not say."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return int(after_name[11]) + int(after_name[12])
    except (OSError, ValueError, IndexError):
        return 0


async def _watch_stderr(
    process: asyncio.subprocess.Process, deadline: asyncio.Timeout, on_page: OnPage | None = None
) -> None:
    """Drain stderr. When the child has counted a PDF's pages, extend the deadline once, by so much a page."""
    assert process.stderr is not None
    last, is_extended = b"", False
    while piece := await process.stderr.read(1 << 12):
        last = (last + piece)[-4096:]
        for line in last.splitlines():
            if on_page and (told := read_pages_read(line)):
                on_page(*told)
            pages, when = read_page_count(line), deadline.when()
            if pages is not None and not is_extended and when is not None:
                is_extended = True
                deadline.reschedule(when + WAITING_FACTOR * SECONDS_PER_PAGE * min(pages, _MOST_PAGES))


async def _stop(process: asyncio.subprocess.Process) -> None:
    """Kill the child's whole process group if it still runs, and wait until it is gone."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                while await pipe.read(1 << 16):
                    pass
    await process.wait()


def _raise_exit_error(code: int, name: str) -> NoReturn:
    """Explain a child that ended without an answer."""
    number = -code if code < 0 else 0
    how = signal.Signals(number).name if number else f"exit {code}"
    if number in _TIMEOUT_SIGNALS:
        raise BadBook("parser_timeout", f"{name} took more CPU time than its parser may use")
    if number in _MEMORY_SIGNALS or code == _LINKER_FAILED:
        raise BadBook(
            "parser_limit", f"the parser of {name} ended with {how}, most likely because it ran out of memory"
        )
    raise BadBook("parser_crash", f"the parser of {name} crashed ({how})")


def _read_answer(answer: bytes, name: str) -> ParsedBook:
    try:
        if answer.startswith(BOOK_PREFIX):
            book = ParsedBook.from_json(answer[len(BOOK_PREFIX) : -1])
            _check_book(book)
            return book
    except Exception as nonsense:
        raise make_nonsense(name, nonsense) from None
    raise read_refusal(answer, name)


def read_refusal(answer: bytes, name: str) -> BadBook:
    """Return the error that a child answered with."""
    try:
        error = json.loads(answer)["error"]
        code = error["code"] if error["code"] in BAD_BOOK_CODES else "parser_crash"
        return BadBook(code, str(error["message"]), hint=str(error["hint"]))
    except Exception as nonsense:
        return make_nonsense(name, nonsense)


def make_nonsense(name: str, error: Exception) -> BadBook:
    return BadBook("parser_crash", f"the parser of {name} answered nonsense: {type(error).__name__}")


def _check_book(book: ParsedBook) -> None:
    """Accept only text with offsets inside it: a parser that a file has taken over may answer anything."""
    said = book.metadata
    words: list[object] = [book.title, book.language, book.file_hash, *book.authors, *book.warnings]
    words += [*said.subjects, *said.identifiers]
    for section in book.sections:
        words += [
            section.title,
            section.text,
            section.source_file,
            section.url,
            section.anchor,
            *section.heading_path,
        ]
        offsets = [mark.offset for mark in section.pages] + [span.end for span in section.blocks]
        if not section.heading_path or any(offset > len(section.text) for offset in offsets):
            raise ValueError("offsets outside the text")
        for element in section.markup:
            if isinstance(place := element.attributes.get("section"), int) and place >= len(book.sections):
                raise ValueError("a link to no section")
            if not str(element.attributes.get("url", "mailto:")).lower().startswith(LINK_SCHEMES):
                raise ValueError("a link to what no page may open")
    for name, data in book.images.items():
        if sha256(data).hexdigest() != name or not is_shown(data):
            raise ValueError("not a picture")
    if not (book.sections or book.scans) or not all(isinstance(word, str) for word in words):
        raise TypeError("not text")
    if not all(isinstance(page, int) and 1 <= page <= book.page_count for page in book.scans):
        raise ValueError("scans of no page")
