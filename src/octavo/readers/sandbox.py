"""Books are parsed in a process of their own, which is killed when it takes too long.

`parse` gives back the book or raises `BadBook`, whatever the file does to its parser: hang, crash, eat the
memory or answer nonsense. The parser sees no secret of this process, shares nothing with it but two pipes,
and is gone, with all that it started, before `parse` returns.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

from octavo.concurrency import blocking
from octavo.errors import BAD_BOOK_CODES, BadBook, MachineError
from octavo.limits import MB, Limits
from octavo.readers import child
from octavo.readers.parsed import ParsedBook

GRACE_SECONDS = 2.0
_ANSWER_MB = 64  # what an answer may have besides the book's text
_COMMAND = (sys.executable, "-I", "-B", "-X", "utf8", "-m", "octavo.readers.child")
_CANNOT_LINK = 127  # how the dynamic linker ends a process that has no memory left to bind a function
_TOOK_TOO_LONG = (signal.SIGXCPU,)
_RAN_OUT = (
    signal.SIGABRT,
    signal.SIGKILL,
    signal.SIGTRAP,
    signal.SIGILL,
)  # how parsers and kernels end for want of memory


async def parse(path: Path, limits: Limits) -> ParsedBook:
    """The book at `path`, read in a child process."""
    process = await _started(path.name)
    try:
        async with asyncio.timeout(limits.parser_seconds + GRACE_SECONDS) as clock:
            _, answer, _ = await asyncio.gather(
                _ask(process, child.request(path.absolute(), limits)),
                _answer(process, limits, path.name),
                _listen(process, clock),
            )
            code = await process.wait()
    except TimeoutError:
        raise BadBook(
            "parser_timeout", f"{path.name} took longer than {limits.parser_seconds:g} s to read"
        ) from None
    finally:
        await asyncio.shield(_end(process))
    if code != 0 or not answer:
        _explain(code, path.name)
    return await blocking(_book, answer, path.name)


async def _started(name: str) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *_COMMAND,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={"LANG": "C.UTF-8", "PATH": os.defpath},
            start_new_session=True,
        )
    except OSError as error:  # no memory for it, too many processes, too many files
        raise MachineError(
            f"no process can be started to read {name}: {error.strerror}",
            hint="Look at the limits of this machine, `ulimit -a`, and try again.",
        ) from error


async def _ask(process: asyncio.subprocess.Process, request: bytes) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(request)
        await process.stdin.drain()
        process.stdin.close()
        await process.stdin.wait_closed()


async def _answer(process: asyncio.subprocess.Process, limits: Limits, name: str) -> bytes:
    """All that the child says on stdout, up to what a book may weigh as JSON."""
    assert process.stdout is not None
    most = (4 * limits.max_text_mb + _ANSWER_MB) * MB
    pieces: list[bytes] = []
    size = 0
    while piece := await process.stdout.read(1 << 16):
        size += len(piece)
        if size > most:
            raise BadBook("too_large", f"{name} holds more than {limits.max_text_mb} MB of text")
        pieces.append(piece)
    return b"".join(pieces)


async def _listen(process: asyncio.subprocess.Process, clock: asyncio.Timeout) -> None:
    """Drains stderr. When the child has counted a PDF's pages, the clock is set later by so much for each."""
    assert process.stderr is not None
    heard, granted = b"", False
    while piece := await process.stderr.read(1 << 12):
        heard = (heard + piece)[-4096:]
        for line in heard.splitlines():
            when = clock.when()
            if line.startswith(b"pages ") and line[6:].isdigit() and not granted and when is not None:
                granted = True
                clock.reschedule(when + child.SECONDS_PER_PAGE * min(int(line[6:]), 100_000))


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kills the child's whole group if it still runs, and waits until it is gone."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                while await pipe.read(1 << 16):
                    pass
    await process.wait()


def _explain(code: int, name: str) -> NoReturn:
    """A child that died without a word."""
    died_by = -code if code < 0 else 0
    how = signal.Signals(died_by).name if died_by else f"exit {code}"
    if died_by in _TOOK_TOO_LONG:
        raise BadBook("parser_timeout", f"{name} took more CPU time than its parser may use")
    if died_by in _RAN_OUT or code == _CANNOT_LINK:
        raise BadBook(
            "parser_limit", f"the parser of {name} ended with {how}, most likely for want of memory"
        )
    raise BadBook("parser_crash", f"the parser of {name} crashed ({how})")


def _book(answer: bytes, name: str) -> ParsedBook:
    try:
        if answer.startswith(child.BOOK):
            return _sane(ParsedBook.from_json(answer[len(child.BOOK) : -1]))
        error = json.loads(answer)["error"]
        code = error["code"] if error["code"] in BAD_BOOK_CODES else "parser_crash"
        refusal = BadBook(code, str(error["message"]), hint=str(error["hint"]))
    except Exception as nonsense:
        raise BadBook(
            "parser_crash", f"the parser of {name} answered nonsense: {type(nonsense).__name__}"
        ) from None
    raise refusal


def _sane(book: ParsedBook) -> ParsedBook:
    """A parser that a file took over may say anything: only text with places inside it is believed."""
    said: list[object] = [book.title, book.language, *book.authors, *book.warnings]
    for section in book.sections:
        said += [
            section.title,
            section.text,
            section.source_file,
            section.url,
            section.anchor,
            *section.heading_path,
        ]
        places = [mark.offset for mark in section.pages] + [span.end for span in section.blocks]
        if not section.heading_path or any(place > len(section.text) for place in places):
            raise ValueError("places outside the text")
    if not book.sections or not all(isinstance(word, str) for word in said):
        raise TypeError("not text")
    return book
