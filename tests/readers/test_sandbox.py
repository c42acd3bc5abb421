"""Parsing in a child process: whatever a file does, the parent gets a book or a reason, and lives."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import resource
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import uvloop

from octavo.errors import BadBook
from octavo.limits import Limits
from octavo.readers import child, messages, read_book, sandbox
from octavo.readers.parsed import ParsedBook, ParsedSection
from octavo.readers.sandbox import parse
from octavo.types import BookFormat, Element, ElementKind, PageMark, Span
from tests.support import pdf_files
from tests.support.patience import PATIENCE, wait_until_async

QUICK = Limits(parser_seconds=PATIENCE)


async def find_outcome(folder: Path, data: bytes, limits: Limits = QUICK, *, name: str = "book.pdf") -> str:
    """`ok`, or the code with which the book was refused."""
    path = folder / name
    path.write_bytes(data)
    try:
        await parse(path, limits)
    except BadBook as refused:
        return refused.code
    return "ok"


def list_children() -> list[int]:
    """Parsers that this process has started and that are still there, the dead ones included."""
    tasks = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    started = [int(pid) for task in tasks for pid in task.read_text().split()]
    return [pid for pid in started if _is_parser(pid)]


def _is_parser(pid: int) -> bool:
    """A browser or a database that other tests share may be there too; of the dead no command is left."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return not command or b"octavo.readers.child" in command


async def wait_for_child() -> None:
    """Wait until a child is at work."""
    await wait_until_async(list_children)
    await asyncio.sleep(0.3)


def try_confined(code: str, path: Path) -> list[str]:
    """What a confined parser gets when it tries each line of `code`."""
    program = f"""
from pathlib import Path
from octavo.limits import Limits
from octavo.readers import child
import json, socket, subprocess, os, shutil, tempfile, ctypes
child._confine_process(Path({str(path)!r}), Limits())
results = []
for attempt in {code.splitlines()!r}:
    try:
        exec(attempt)
        results.append("done")
    except BaseException as error:
        results.append(type(error).__name__)
print(json.dumps(results))
"""
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout))


async def test_a_book_comes_back_as_it_was_read(tmp_path: Path) -> None:
    path = tmp_path / "book.pdf"
    path.write_bytes(pdf_files.make_prose(12))
    assert await parse(path, Limits()) == read_book(path, Limits())
    assert list_children() == []


async def test_a_relative_path_and_a_path_with_odd_bytes_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (b"plain.pdf", b"not \xff utf-8.pdf", "📚 ; rm -rf ~.pdf".encode(), b"a\r\nb.pdf"):
        path = Path(os.fsdecode(name))
        path.write_bytes(pdf_files.make_prose(1))
        assert (await parse(path, QUICK)).page_count == 1


async def test_other_formats_go_through_the_same_door(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text("# Notes\n\nSome words.\n\n## More\n\nOther words.\n")
    assert (await parse(path, QUICK)).format is BookFormat.MARKDOWN
    assert (await parse(tmp_path, QUICK)).format is BookFormat.MARKDOWN


@pytest.mark.parametrize("name", ["a.pdf", "a.epub", "a.html", "a.md", "a.txt"])
async def test_an_empty_file_is_empty_in_each_format(tmp_path: Path, name: str) -> None:
    assert await find_outcome(tmp_path, b"", name=name) == "empty_file"


async def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(BadBook) as caught:
        await parse(tmp_path / "nowhere.pdf", QUICK)
    assert caught.value.code == "not_found"
    assert "nowhere.pdf" in caught.value.message


async def test_files_that_are_not_what_they_say_are_refused(tmp_path: Path) -> None:
    packed = tmp_path / "a.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("word/document.xml", "<w/>")
    assert await find_outcome(tmp_path, packed.read_bytes(), name="b.pdf") == "type_mismatch"
    assert await find_outcome(tmp_path, packed.read_bytes(), name="b.epub") == "type_mismatch"
    assert await find_outcome(tmp_path, pdf_files.make_prose(1), name="c.epub") == "type_mismatch"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda: pdf_files.make_book([[], []]), "no_text"),
        (lambda: pdf_files.make_encrypted(b"secret"), "encrypted"),
        (lambda: pdf_files.make_encrypted(b""), "ok"),
        (pdf_files.flate_bomb, "too_large_expanded"),
        (pdf_files.nested_flate_bomb, "too_large_expanded"),
        (pdf_files.page_tree_loop, "damaged_pdf"),
        (pdf_files.page_tree_fan_out, "damaged_pdf"),
        (pdf_files.previous_loop, "ok"),
        (pdf_files.huge_size, "ok"),
        (pdf_files.nested_arrays, "ok"),
        (lambda: b"%PDF-1.7\n" + os.urandom(9000), "damaged_pdf"),
    ],
)
async def test_hostile_pdfs_have_defined_results(
    tmp_path: Path, made: Callable[[], bytes], expected: str
) -> None:
    assert await find_outcome(tmp_path, made()) == expected
    assert list_children() == []


@pytest.mark.parametrize("share", [1, 10, 50, 90, 99])
async def test_a_truncated_pdf_is_never_silent(tmp_path: Path, share: int) -> None:
    data = pdf_files.make_prose(9)
    path = tmp_path / "cut.pdf"
    path.write_bytes(data[: len(data) * share // 100])
    try:
        said = (await parse(path, QUICK)).warnings
    except BadBook as refused:
        said = (refused.code,)
    assert any("cut off" in word or word == "damaged_pdf" for word in said)


async def test_a_form_that_calls_itself_is_stopped_in_time(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    limits = Limits(parser_seconds=1)
    assert await find_outcome(tmp_path, pdf_files.self_calling_form(), limits) == "parser_timeout"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert spent < sandbox.WAITING_FACTOR * limits.parser_seconds + sandbox.GRACE_SECONDS + 1
    assert list_children() == []


async def test_a_text_bomb_dies_for_want_of_memory_and_the_parent_lives(tmp_path: Path) -> None:
    limits = Limits(parser_memory_mb=300, parser_seconds=PATIENCE)
    assert await find_outcome(tmp_path, pdf_files.text_bomb(500_000), limits) == "parser_limit"
    assert await find_outcome(tmp_path, pdf_files.make_prose(1)) == "ok"
    assert list_children() == []


async def test_a_parser_without_room_to_start_is_a_limit_not_a_crash(tmp_path: Path) -> None:
    assert (
        await find_outcome(tmp_path, pdf_files.make_prose(1), Limits(parser_memory_mb=16)) == "parser_limit"
    )


async def test_forty_fuzzed_pdfs_are_each_read_or_refused(tmp_path: Path) -> None:
    """One child reads them all, so that a single crash would lose the answer."""
    for number, data in enumerate(pdf_files.make_fuzzed(40)):
        (tmp_path / f"{number}.pdf").write_bytes(data)
    program = """
import sys
from pathlib import Path
from octavo.errors import BadBook
from octavo.limits import Limits
from octavo.readers import read_book
for path in sorted(Path(sys.argv[1]).iterdir()):
    try:
        book = read_book(path, Limits())
        print("ok" if book.characters else "empty")
    except BadBook as refused:
        print(refused.code)
"""
    done = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-c", program, str(tmp_path)), stdout=asyncio.subprocess.PIPE
    )
    said, _ = await done.communicate()
    outcomes = said.decode().split()
    assert done.returncode == 0
    assert len(outcomes) == 40
    assert set(outcomes) <= {"ok", "no_text", "damaged_pdf", "encrypted", "type_mismatch"}


def test_the_child_says_how_many_pages_a_pdf_has(tmp_path: Path) -> None:
    path = tmp_path / "book.pdf"
    path.write_bytes(pdf_files.make_prose(3))
    done = subprocess.run(
        sandbox._COMMAND, input=messages.write_request(path, QUICK, {}), capture_output=True, check=True
    )
    assert done.stderr == b"pages 3\n"
    assert done.stdout.startswith(messages.BOOK_PREFIX)


async def test_a_pdf_gets_more_time_for_each_of_its_pages_once() -> None:
    clock = asyncio.timeout(None)
    async with clock:
        clock.reschedule(1e9)
        talker = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", "import sys; print('pages 40\\npages 40', file=sys.stderr)"),
            stderr=asyncio.subprocess.PIPE,
        )
        await sandbox._watch_stderr(talker, clock)
        await talker.wait()
    assert clock.when() == pytest.approx(1e9 + 2.0)


def test_the_child_says_now_and_then_how_far_it_is(tmp_path: Path) -> None:
    path = tmp_path / "book.pdf"
    path.write_bytes(pdf_files.make_prose(21))
    request = messages.write_request(path, QUICK, {})
    done = subprocess.run(sandbox._COMMAND, input=request, capture_output=True, check=True)
    assert done.stderr == b"pages 21\nread 10 of 21\nread 20 of 21\n"
    told = [messages.read_pages_read(line) for line in done.stderr.splitlines()]
    assert told == [None, (10, 21), (20, 21)]


@pytest.mark.parametrize(("program", "goes_on"), [("while True: pass", True), ("input()", False)])
async def test_the_clock_stops_only_a_parser_that_uses_no_processor(
    monkeypatch: pytest.MonkeyPatch, program: str, goes_on: bool
) -> None:
    monkeypatch.setattr(sandbox, "_LOOK_SECONDS", 0.1)
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", f"print(flush=True)\n{program}"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdout is not None
    await child.stdout.readline()
    try:
        async with asyncio.timeout(PATIENCE) as deadline:
            watch = asyncio.create_task(sandbox._extend_while_busy(child, deadline, QUICK, 1e6))
            await asyncio.sleep(0.15)
            first = deadline.when()
            assert first is not None
            if goes_on:
                await wait_until_async(lambda: (deadline.when() or 0) > first)
            else:
                await asyncio.sleep(0.3)
                assert deadline.when() == first
            watch.cancel()
    finally:
        child.kill()
        await child.wait()


async def test_a_cancelled_reading_leaves_no_process(tmp_path: Path) -> None:
    path = tmp_path / "slow.pdf"
    path.write_bytes(pdf_files.self_calling_form())
    reading = asyncio.create_task(parse(path, Limits(parser_seconds=PATIENCE)))
    await wait_for_child()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert list_children() == []


async def test_the_parser_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    (tmp_path / "books").mkdir()
    await find_outcome(tmp_path / "books", pdf_files.make_prose(2))
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["book.pdf"]


async def test_the_parser_sees_no_secret_of_its_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OCTAVO_API_KEY", "secret-key")
    path = tmp_path / "slow.pdf"
    path.write_bytes(pdf_files.self_calling_form())
    reading = asyncio.create_task(parse(path, Limits(parser_seconds=PATIENCE)))

    def environment() -> bytes:
        return b"".join(Path(f"/proc/{pid}/environ").read_bytes() for pid in list_children())

    await wait_until_async(environment)
    seen = environment()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert b"LANG" in seen
    assert b"secret-key" not in seen


def test_a_confined_parser_reads_its_book_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "book"
    folder.mkdir()
    (folder / "one.md").write_text("words")
    (tmp_path / "other.txt").write_text("private")
    (folder / "link.md").symlink_to(tmp_path / "other.txt")
    tried = {
        f"open({str(folder / 'one.md')!r}).read()": "done",
        f"os.listdir({str(folder)!r})": "done",
        "import decimal": "done",
        f"open({str(tmp_path / 'other.txt')!r}).read()": "PermissionError",
        f"open({str(folder / 'link.md')!r}).read()": "PermissionError",
        f"open({str(folder / '..' / 'other.txt')!r}).read()": "PermissionError",
        "open('/etc/passwd').read()": "PermissionError",
        f"os.listdir({str(tmp_path)!r})": "PermissionError",
        f"open({str(folder / 'one.md')!r}, 'a')": "PermissionError",
        f"open({str(folder / 'new.md')!r}, 'w')": "PermissionError",
        f"os.remove({str(folder / 'one.md')!r})": "PermissionError",
        f"os.rename({str(folder / 'one.md')!r}, {str(folder / 'b')!r})": "PermissionError",
        f"os.mkdir({str(folder / 'b')!r})": "PermissionError",
    }
    assert try_confined("\n".join(tried), folder) == list(tried.values())
    assert (folder / "one.md").read_text() == "words"


def test_a_confined_parser_has_no_network_and_no_other_programs(tmp_path: Path) -> None:
    tried = (
        "socket.create_connection(('127.0.0.1', 9), timeout=1)",
        "socket.getaddrinfo('localhost', 80)",
        "socket.socket().bind(('127.0.0.1', 0))",
        "subprocess.run(['true'])",
        "os.system('true')",
        "os.fork()",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "os.execv('/bin/true', ['true'])",
        "bytearray(3 << 30)",
    )
    results = try_confined("\n".join(tried), tmp_path)
    assert results[:-1] == ["PermissionError"] * (len(tried) - 1)
    assert results[-1] == "MemoryError"


def test_machine_code_that_walks_around_the_guard_meets_the_kernels_fence(tmp_path: Path) -> None:
    """Python's audit hook does not see calls of the C library: only the kernel refuses them."""
    book, secret = tmp_path / "book.md", tmp_path / "secret.txt"
    book.write_text("words")
    secret.write_text("private")
    if not has_landlock():
        assert try_confined(f"Path({str(book)!r}).read_text()", book) == ["done"]
        return
    tried = {
        _calling("open", book, 0): "done",
        _calling("open", secret, 0): "AssertionError",
        _calling("open", "/etc/passwd", 0): "AssertionError",
        _calling("open", f"/proc/{os.getpid()}/environ", 0): "AssertionError",
        _calling("open", book, os.O_WRONLY): "AssertionError",
        _calling("open", tmp_path / "new.txt", os.O_CREAT | os.O_WRONLY, 0o600): "AssertionError",
        _calling("unlink", book): "AssertionError",
        _calling("rename", book, tmp_path / "b"): "AssertionError",
        _calling("truncate", book, 0): "AssertionError",
        _calling("mkdir", tmp_path / "b", 0o700): "AssertionError",
        _calling("symlink", secret, tmp_path / "b"): "AssertionError",
        "assert ctypes.CDLL(None).execl(b'/bin/true', b'true', None) >= 0": "AssertionError",
        "import decimal, lxml.etree, pypdfium2": "done",
    }
    assert try_confined("\n".join(tried), book) == list(tried.values())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["book.md", "secret.txt"]
    assert book.read_text() == "words"


def test_machine_code_gets_no_socket_of_any_kind(tmp_path: Path) -> None:
    """Not even one that is a file, as of databases and container engines on the same machine."""
    if sys.platform != "linux" or os.uname().machine not in ("x86_64", "aarch64"):
        assert try_confined("socket.socket()", tmp_path) == ["PermissionError"]
        return
    kinds = [
        f"assert ctypes.CDLL(None).socket(int(socket.{family}), int(socket.{kind}), 0) >= 0"
        for family in ("AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK")
        for kind in ("SOCK_STREAM", "SOCK_DGRAM", "SOCK_RAW")
    ]
    around = "assert ctypes.CDLL(None).syscall(425, 1, ctypes.create_string_buffer(120)) >= 0"
    tried = [*kinds, around]
    assert try_confined("\n".join(tried), tmp_path) == ["AssertionError"] * len(tried)
    without = subprocess.run(
        [sys.executable, "-c", f"import ctypes, socket\n{kinds[0]}"], capture_output=True, check=False
    )
    assert without.returncode == 0, without.stderr  # where nothing is fenced in, there are sockets


def _calling(function: str, *arguments: Path | str | int) -> str:
    given = [repr(a if isinstance(a, int) else os.fsencode(a)) for a in arguments]
    return f"assert ctypes.CDLL(None).{function}({', '.join(given)}) >= 0"


def has_landlock() -> bool:
    """Whether this kernel has Landlock; if so, files must be restricted."""
    version = ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1)
    return bool(sys.platform == "linux" and version > 0)


def test_whatever_is_raised_in_the_child_has_an_answer() -> None:
    class Panic(BaseException):
        """As libraries written in Rust raise it."""

    raised = {
        BadBook("drm", "locked"): "drm",
        MemoryError(): "parser_limit",
        ImportError("lib.so: failed to map segment from shared object"): "parser_limit",
        OSError(12, "Cannot allocate memory"): "parser_limit",
        PermissionError(13, "Permission denied"): "not_found",
        FileNotFoundError(2, "gone"): "not_found",
        RecursionError(): "parser_crash",
        UnicodeDecodeError("utf-8", b"", 0, 1, "bad"): "parser_crash",
        Panic("index out of range"): "parser_crash",
        KeyboardInterrupt(): "parser_crash",
    }
    for error, code in raised.items():
        told = child._translate(error)
        assert told.code == code
        assert told.message
        assert told.hint


def test_a_bad_request_is_answered_too() -> None:
    done = subprocess.run(sandbox._COMMAND, input=b"not json", capture_output=True, check=True)
    assert json.loads(done.stdout)["error"]["code"] == "parser_crash"


WAYS_TO_DIE = {
    -24: "parser_timeout",
    -9: "parser_limit",
    -6: "parser_limit",
    -11: "parser_crash",
    -7: "parser_crash",
    127: "parser_limit",
    1: "parser_crash",
    0: "parser_crash",
}


@pytest.mark.parametrize(("code", "expected"), WAYS_TO_DIE.items())
def test_each_way_to_die_has_its_code(code: int, expected: str) -> None:
    with pytest.raises(BadBook) as caught:
        sandbox._raise_exit_error(code, "book.pdf")
    assert caught.value.code == expected


def section(**changes: object) -> ParsedSection:
    sound = ParsedSection(
        title="A",
        heading_path=("A",),
        text="words",
        source_file="a",
        pages=(PageMark(0, 1),),
        blocks=(Span(0, 5),),
    )
    return replace(sound, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changed",
    [
        section(text=7),
        section(title=None),
        section(heading_path=()),
        section(heading_path=("A", 3)),
        section(pages=(PageMark(6, 1),)),
        section(blocks=(Span(2, 6),)),
        section(markup=(Element(ElementKind.LINK, 0, 2, attributes={"url": "javascript:alert(1)"}),)),
    ],
)
def test_a_book_that_does_not_hold_together_is_not_believed(changed: ParsedSection) -> None:
    sound = ParsedBook(title="T", format=BookFormat.PDF, sections=(section(),))
    assert sandbox._read_answer(messages.BOOK_PREFIX + sound.to_json().encode() + b"}", "x") == sound
    broken = replace(sound, sections=(changed,))
    with pytest.raises(BadBook, match="nonsense"):
        sandbox._read_answer(messages.BOOK_PREFIX + broken.to_json().encode() + b"}", "x")


@pytest.mark.parametrize(
    "answer",
    [
        b"hello",
        b"{}",
        b"[]",
        b'{"book": {}}',
        b'{"book": []}',
        b'{"error": 3}',
        b'{"error": {}}',
        b"\xff\xfe",
        b"null",
    ],
)
def test_nonsense_is_a_crash(answer: bytes) -> None:
    with pytest.raises(BadBook) as caught:
        sandbox._read_answer(answer, "book.pdf")
    assert caught.value.code == "parser_crash"


def test_an_unknown_code_from_the_child_is_a_crash() -> None:
    answer = json.dumps({"error": {"code": "made_up", "message": "m", "hint": "h"}}).encode()
    with pytest.raises(BadBook, match="m") as caught:
        sandbox._read_answer(answer, "book.pdf")
    assert caught.value.code == "parser_crash"


async def test_an_answer_without_end_is_cut_off(tmp_path: Path) -> None:
    program = "import sys\nwhile True: sys.stdout.write('x' * 1000000)"
    talker = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program), stdout=asyncio.subprocess.PIPE, start_new_session=True
    )
    with pytest.raises(BadBook) as caught:
        await sandbox._receive(talker, 1 << 20, "book.pdf")
    await sandbox._stop(talker)
    assert caught.value.code == "too_large"
    assert list_children() == []


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_a_child_that_is_killed_before_it_reads_is_a_bad_book_and_no_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., object]
) -> None:
    path = tmp_path / "book.md"
    path.write_text("# A book\n\nWith some text.\n")
    start = sandbox._start

    async def start_and_kill(command: Sequence[str], name: str) -> asyncio.subprocess.Process:
        process = await start(command, name)
        process.kill()
        await process.wait()
        return process

    monkeypatch.setattr(sandbox, "_start", start_and_kill)
    with pytest.raises(BadBook, match="SIGKILL"):
        run(parse(path, QUICK))
