"""The parser's process: it may read one book, and nothing else.

Started with `python -I -m octavo.readers.child`. One JSON request comes in on stdin, one JSON answer goes out
on stdout: `{"book": …}` or `{"error": {"code", "message", "hint"}}`. Before a byte of the book is read the
process gives up memory, time and the writing of files to the kernel; then the network, other programs and
every file that is not the book's or Python's, by Python's own guard everywhere and by a fence of the kernel's
where it has one: a hostile file can spoil only its own reading. On stderr goes one line, `pages N`, when a
PDF's pages are counted: it buys the reader more time.
"""

from __future__ import annotations

import errno
import json
import math
import os
import resource
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from octavo.errors import BadBook, OctavoError
from octavo.limits import MB, Limits
from octavo.readers import read_book
from octavo.readers.confine import enclose

SECONDS_PER_PAGE = 0.05
BOOK = b'{"book": '
_OPEN_FILES = 64
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_REFUSED = (
    *("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "pty."),
    *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "shutil."),
    *("os.chmod", "os.chown", "os.kill", "os.putenv", "tempfile.", "sqlite3.", "webbrowser."),
    *("urllib.", "http.", "ftplib.", "smtplib."),
)
_PLACES = ("open", "os.listdir", "os.scandir", "os.chdir")


def main() -> None:
    """Answers one request; whatever goes wrong becomes an answer too."""
    answers = _own_stdout()
    try:
        request = json.loads(sys.stdin.buffer.read())
        path, limits = Path(request["path"]), Limits(**request["limits"])
        _confine(path, limits)
        book = read_book(path, limits, announce=_announcer(limits))
        sent = BOOK + book.to_json().encode("utf-8", "replace") + b"}"
    except BaseException as error:
        sent = json.dumps({"error": _said(error)}).encode()
    view = memoryview(sent)
    while view:
        view = view[os.write(answers, view) :]
    os._exit(0)  # without the libraries' farewells, which a hostile file may have spoiled


def _own_stdout() -> int:
    """Keeps stdout for the answer alone: libraries that print are sent to stderr."""
    answers = os.dup(1)
    os.dup2(2, 1)
    return answers


def _said(error: BaseException) -> dict[str, str]:
    if isinstance(error, OctavoError):
        return {"code": error.code, "message": error.message, "hint": error.hint}
    if isinstance(error, MemoryError) or _is_out_of_memory(error):
        return _fields(BadBook("parser_limit", "the file needs more memory than its parser may use"))
    if isinstance(error, PermissionError):
        return _fields(
            BadBook("not_found", f"the file cannot be opened: {error}", hint="Check who may read it.")
        )
    if isinstance(error, FileNotFoundError):
        return _fields(BadBook("not_found", f"a file vanished while it was read: {error.filename}"))
    return _fields(
        BadBook("parser_crash", f"the file broke its parser: {type(error).__name__}: {str(error)[:200]}")
    )


def _is_out_of_memory(error: BaseException) -> bool:
    """Libraries that are loaded into a full address space fail in their own words."""
    full = isinstance(error, OSError) and error.errno == errno.ENOMEM
    return full or (isinstance(error, ImportError | OSError) and "failed to map segment" in str(error))


def _fields(error: BadBook) -> dict[str, str]:
    return {"code": error.code, "message": error.message, "hint": error.hint}


def _announcer(limits: Limits) -> Callable[[int], None]:
    def announce(pages: int) -> None:
        _allow_seconds(limits.parser_seconds + SECONDS_PER_PAGE * pages)
        os.write(2, f"pages {pages}\n".encode())

    return announce


def _confine(path: Path, limits: Limits) -> None:
    """Gives up all that reading a book does not need. What the machine does not support is left as it is."""
    memory = limits.parser_memory_mb * MB
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _OPEN_FILES if most == resource.RLIM_INFINITY else min(most, _OPEN_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    _allow_seconds(limits.parser_seconds)
    sys.dont_write_bytecode = True
    places = _readable(path)
    enclose(places)
    sys.addaudithook(_guard(places))


def _allow_seconds(seconds: float) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    asked = max(1, math.ceil(seconds))
    resource.setrlimit(
        resource.RLIMIT_CPU, (asked if most == resource.RLIM_INFINITY else min(asked, most), most)
    )


def _readable(path: Path) -> tuple[str, ...]:
    """The places of the book, of Python and of Octavo's own code."""
    code = Path(__file__).resolve().parents[2]
    own = [sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path, str(code), "/usr/share/zoneinfo"]
    return tuple({os.path.realpath(place) for place in (*own, os.fspath(path)) if place})


def _guard(allowed: tuple[str, ...]) -> Callable[[str, tuple[Any, ...]], None]:
    """The audit hook that refuses what a parser has no business with."""

    def inside(place: Any) -> bool:
        if not isinstance(place, str | bytes | os.PathLike):
            return True  # a descriptor that is open already
        real = os.path.realpath(os.fsdecode(place))
        return any(real == root or real.startswith(root.rstrip(os.sep) + os.sep) for root in allowed)

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event in _PLACES:
            writes = event == "open" and isinstance(args[2], int) and args[2] & _WRITES
            if writes or not inside(args[0]):
                raise PermissionError(f"a parser may not {event} {args[0]!r}")
        elif event.startswith(_REFUSED):
            raise PermissionError(f"a parser may not use {event}")

    return hook


def request(path: Path, limits: Limits) -> bytes:
    """What this process expects on its stdin."""
    return json.dumps({"path": os.fspath(path), "limits": asdict(limits)}).encode()


if __name__ == "__main__":
    main()
