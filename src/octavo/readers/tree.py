"""A safe walk over a folder that holds a book.

`walk` lists the files a reader asks for, naturally sorted (chapter 2 before chapter 10), and never leaves
the folder: links to folders are not followed, links to files only when they stay inside. What tools leave
behind (hidden folders, `node_modules`, build output beside its build file) is not part of a book. `load`
reads one file and never more of it than a book's member may have; `inside` resolves what a file says about
another.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

from octavo.errors import BadBook
from octavo.limits import MB, Limits
from octavo.readers.parsed import ParsedSection
from octavo.text import clean, collapse

LONGEST_TITLE = 300
_NEVER = frozenset(("node_modules", "bower_components", "__pycache__", "__MACOSX", "venv"))
_BUILT = frozenset(("build", "dist", "target", "out", "_build", "_site"))
_BUILD_FILES = frozenset(
    ("package.json", "book.toml", "Cargo.toml", "pyproject.toml", "conf.py", "mkdocs.yml", "Makefile")
)
_NUMBERS = re.compile(r"(\d+)")
_ORDER = re.compile(r"^\d+\s*[-_.)]+\s*(?=\D)")


def walk(
    root: Path, suffixes: frozenset[str], limits: Limits, *, notes: list[str] | None = None
) -> list[Path]:
    """Every file under `root` with one of the lower-case `suffixes`, in natural order, links out left out."""
    home = root.resolve()
    found: list[Path] = []
    seen, waiting = 0, [root]
    while waiting:
        folder = waiting.pop()
        entries = _entries(folder, root, notes)
        built = any(e.name in _BUILD_FILES or e.name.startswith("docusaurus.config.") for e in entries)
        for entry in entries:
            if entry.name.startswith(".") or entry.name in _NEVER or (built and entry.name in _BUILT):
                continue
            seen += 1
            if seen > limits.max_members:
                raise BadBook("too_many_members", f"{root.name} holds more than {limits.max_members} files")
            linked = entry.is_symlink()
            if entry.is_dir():
                if not linked:
                    waiting.append(entry)
                continue
            if entry.suffix.lower() not in suffixes or not entry.is_file():
                continue
            if linked and not entry.resolve().is_relative_to(home):
                _note(notes, f"{entry.relative_to(root).as_posix()}: a link out of the book was skipped")
            else:
                found.append(entry)
    return sorted(found, key=lambda p: [natural(part) for part in p.relative_to(root).parts])


def _entries(folder: Path, root: Path, notes: list[str] | None) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError as closed:
        _note(notes, f"{folder.relative_to(root).as_posix()}: could not be opened ({closed.strerror})")
        return []


def _note(notes: list[str] | None, sentence: str) -> None:
    if notes is not None:
        notes.append(clean(sentence))


def load(path: Path, limits: Limits) -> bytes:
    """The bytes of a plain file; refused when it is missing, no plain file, or too large."""
    if not path.is_file():
        raise BadBook("not_found", f"there is no file {path.name!r}")
    most = limits.max_member_mb * MB
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise BadBook("too_large", f"{path.name} is larger than {limits.max_member_mb} MB")
    return data


def inside(root: Path, base: Path, reference: str) -> Path | None:
    """The file that `reference`, written in a file of folder `base`, means; None when it leaves `root`."""
    plain = unquote(reference)
    if "\0" in plain or plain.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", plain):
        return None
    try:
        target = (base / plain.replace("\\", "/")).resolve()
    except (OSError, ValueError, RuntimeError):  # the last for links that lead in a circle
        return None
    return target if target.is_relative_to(root.resolve()) else None


def natural(name: str) -> list[tuple[int, str]]:
    """A sort key that counts: `ch2` before `ch10`, capitals among small letters."""
    return [
        (int(part[:18]), "") if part.isascii() and part.isdigit() else (-1, part)
        for part in _NUMBERS.split(name.casefold())
        if part
    ]


def title_of(stem: str) -> str:
    """A file or folder name as a title: `03-first_steps` reads `First steps`."""
    words = collapse(clean(re.sub(r"[-_]+", " ", _ORDER.sub("", stem))))
    return heading(words[:1].upper() + words[1:]) or "Untitled"


def heading(text: str) -> str:
    """Any text as one line that a table of contents can show; may be empty."""
    return one_line(clean(text))


def one_line(text: str) -> str:
    """The same for text that is clean already."""
    line = collapse(text)
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1].rstrip() + "…"


def bound(sections: list[ParsedSection], limits: Limits, *, name: str) -> tuple[ParsedSection, ...]:
    """The sections of a whole book, refused when there is no text or too much of it."""
    size = sum(len(s.text) for s in sections)
    if size > limits.max_text_mb * MB:
        raise BadBook("too_large", f"{name} holds more than {limits.max_text_mb} MB of text")
    if not any(s.text for s in sections):
        raise BadBook("no_text", f"{name} holds no text")
    return tuple(sections)
