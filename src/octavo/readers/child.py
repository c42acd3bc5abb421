"""The parser process: it reads one book, or draws pages of a PDF, and can do nothing else.

The library starts it with `python -I -m octavo.readers.child` and talks to it as `messages` describes. Before
it reads a byte of the book, the process limits its own memory, CPU time (by the size of the book) and file
sizes. Then it gives up the
network, other programs and every file that belongs neither to the book nor to Python: with an audit hook on
every system, and with the kernel's own confinement where there is one. A hostile file can spoil only its own
reading.
"""

from __future__ import annotations

import errno
import json
import math
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from octavo.errors import BadBook, OctavoError
from octavo.limits import MB, Limits
from octavo.readers import read_book
from octavo.readers.confine import confine
from octavo.readers.files import measure_size
from octavo.readers.markdown.docusaurus_files import list_files_above
from octavo.readers.messages import (
    SECONDS_PER_MB,
    SECONDS_PER_PAGE,
    read_page_request,
    read_request,
    write_book,
    write_error,
    write_page_count,
    write_pages_read,
    write_pictures,
)

_MOST_OPEN_FILES = 64
_PAGES_BETWEEN_LINES = 10
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_REFUSED_EVENTS = (
    *("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "pty."),
    *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "shutil."),
    *("os.chmod", "os.chown", "os.kill", "os.putenv", "tempfile.", "sqlite3.", "webbrowser."),
    *("urllib.", "http.", "ftplib.", "smtplib."),
)
_PATH_EVENTS = ("open", "os.listdir", "os.scandir", "os.chdir")


def main() -> None:
    """Answer one request. Whatever goes wrong becomes an answer too."""
    stdout = _reserve_stdout()
    try:
        head, _, data = sys.stdin.buffer.read().partition(b"\n")
        answer = _show_pages(head, data) if data else _read_book(head)
    except BaseException as error:
        refusal = _translate(error)
        answer = write_error(code=refusal.code, message=refusal.message, hint=refusal.hint)
    view = memoryview(answer)
    while view:
        view = view[os.write(stdout, view) :]
    # Skip the libraries' exit handlers: a hostile file may have damaged them.
    os._exit(0)


def _read_book(raw: bytes) -> bytes:
    path, limits, scans = read_request(raw)
    seconds = _confine_process(path, limits)
    book = read_book(path, limits, scans=scans, announce=_make_announcer(seconds), on_page=_tell_page)
    return write_book(book.to_json())


def _show_pages(raw: bytes, data: bytes) -> bytes:
    request = read_page_request(raw)
    _confine_process(None, request.limits)
    from octavo.readers.pdf.page import draw_page, draw_scans, find_boxes

    if request.scans:
        return write_pictures(draw_scans(data, request.scans, request.limits))
    if request.drawing is not None:
        return draw_page(data, *request.drawing, request.limits)
    return json.dumps(find_boxes(data, request.boxes)).encode()


def _reserve_stdout() -> int:
    """Keep stdout for the answer: what libraries print goes to stderr."""
    stdout = os.dup(1)
    os.dup2(2, 1)
    return stdout


def _translate(error: BaseException) -> OctavoError:
    if isinstance(error, OctavoError):
        return error
    if isinstance(error, MemoryError) or _is_out_of_memory(error):
        return BadBook("parser_limit", "the file needs more memory than its parser may use")
    if isinstance(error, PermissionError):
        return BadBook("not_found", f"the file cannot be opened: {error}", hint="Check who may read it.")
    if isinstance(error, FileNotFoundError):
        return BadBook("not_found", f"a file vanished while it was read: {error.filename}")
    return BadBook("parser_crash", f"the file broke its parser: {type(error).__name__}: {str(error)[:200]}")


def _is_out_of_memory(error: BaseException) -> bool:
    """Recognise how a library fails when it is loaded into a full address space."""
    full = isinstance(error, OSError) and error.errno == errno.ENOMEM
    return full or (isinstance(error, ImportError | OSError) and "failed to map segment" in str(error))


def _make_announcer(seconds: float) -> Callable[[int], None]:
    def announce(pages: int) -> None:
        _limit_cpu_seconds(seconds + SECONDS_PER_PAGE * pages)
        os.write(2, write_page_count(pages))

    return announce


def _tell_page(done: int, total: int) -> None:
    if done % _PAGES_BETWEEN_LINES == 0:
        os.write(2, write_pages_read(done, total))


def _confine_process(path: Path | None, limits: Limits) -> float:
    """Give up everything that reading the book at `path` does not need, as far as the system allows.

    Without a path, what was sent along with the request is all there is to read.

    Returns the seconds of processor time that are left for the book.
    """
    size = 0 if path is None else measure_size(path, limits)
    seconds = limits.parser_seconds + SECONDS_PER_MB * (size // MB)
    memory = limits.parser_memory_mb * MB
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _MOST_OPEN_FILES if most == resource.RLIM_INFINITY else min(most, _MOST_OPEN_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    _limit_cpu_seconds(seconds)
    sys.dont_write_bytecode = True
    paths = _list_readable_paths(path)
    confine(paths)
    sys.addaudithook(_make_audit_hook(paths))
    return seconds


def _limit_cpu_seconds(seconds: float) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    asked = max(1, math.ceil(seconds))
    resource.setrlimit(
        resource.RLIMIT_CPU, (asked if most == resource.RLIM_INFINITY else min(asked, most), most)
    )


def _list_readable_paths(book: Path | None) -> tuple[str, ...]:
    """List where the book, if there is one, Python and Octavo's own code are."""
    code = Path(__file__).resolve().parents[2]
    own = [sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path, str(code), "/usr/share/zoneinfo"]
    own += [] if book is None else [os.fspath(path) for path in (book, *list_files_above(book))]
    return tuple({os.path.realpath(path) for path in own if path})


def _make_audit_hook(allowed: tuple[str, ...]) -> Callable[[str, tuple[Any, ...]], None]:
    """Make the hook that refuses writing, paths outside `allowed`, programs and the network."""

    def is_allowed(path: Any) -> bool:
        if not isinstance(path, str | bytes | os.PathLike):
            # A descriptor that is open already.
            return True
        real = os.path.realpath(os.fsdecode(path))
        return any(real == root or real.startswith(root.rstrip(os.sep) + os.sep) for root in allowed)

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event in _PATH_EVENTS:
            writes = event == "open" and isinstance(args[2], int) and args[2] & _WRITE_FLAGS
            if writes or not is_allowed(args[0]):
                raise PermissionError(f"a parser may not {event} {args[0]!r}")
        elif event.startswith(_REFUSED_EVENTS):
            raise PermissionError(f"a parser may not use {event}")

    return hook


if __name__ == "__main__":
    main()
