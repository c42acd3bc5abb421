"""A desk with everything that the examples of the help name: real chapters, a site, a report, servers."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

import click

from octavo.cli import octavo
from tests.support import small_books
from tests.support.calibre import add_entry, start_library

ROOT = Path(__file__).parents[2]
_TEXT = Path(__file__).with_name("moby_dick.md")
TYPHOON = {"The Glass": "The glass was falling fast, and the captain had never seen a storm at sea like it."}
HANDBOOK = {"Starting": "The pump is started with the green button, and stopped with the red one."}


@dataclass(frozen=True)
class Example:
    """A line that is shown to users: its words, the variables before them and the file after a `>`.

    `source` is the command before a `|`, whose output it reads.
    """

    line: str
    words: tuple[str, ...]
    variables: Mapping[str, str]
    output: str = ""
    source: str = ""

    @classmethod
    def parse(cls, line: str) -> Example:
        source, _, last = line.rpartition(" | ")
        # What another program is told to start comes after its own words.
        words = shlex.split(last.rpartition(" -- ")[2])
        start = next(n for n, word in enumerate(words) if Path(word).name == "octavo")
        variables = dict(word.split("=", 1) for word in words[:start])
        words = words[start + 1 :]
        mark = next((n for n, word in enumerate(words) if word in (">", ">>")), len(words))
        return cls(line, tuple(words[:mark]), variables, "".join(words[mark + 1 :]), source)


def list_help_examples() -> dict[str, list[str]]:
    """List the examples in the help of every command, by its name: the lines that Click does not wrap."""
    found: dict[str, list[str]] = {}
    for name, command in _walk("", octavo):
        blocks = re.findall(r"\x08\n(.*?)(?:\n\n|\Z)", inspect.cleandoc(command.help or ""), re.DOTALL)
        lines = [re.split(r" {3,}", line.strip())[0] for block in blocks for line in block.splitlines()]
        if lines:
            found[name or "octavo"] = lines
    return found


def _walk(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    for below in getattr(command, "commands", {}).values():
        yield from _walk(f"{name} {below.name}".strip(), below)


def list_page_examples() -> list[tuple[str, str]]:
    """List the commands in README and quick start, each with what the page says that it prints."""
    found: list[tuple[str, str]] = []
    for page in ("README.md", "docs/quick-start.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        for block in re.findall(r"```(?:sh|console)\n(.*?)```", text, re.DOTALL):
            for line in block.splitlines():
                command = line.removeprefix("$ ").removeprefix(".venv/bin/")
                if command.startswith("octavo "):
                    found.append((command, ""))
                elif found and block.startswith("$") and not line.startswith("make"):
                    found[-1] = (found[-1][0], f"{found[-1][1]} {line}".strip())
    return found


def read_chapters() -> dict[str, str]:
    """Read the beginnings of nine chapters of Moby-Dick, which is in the public domain."""
    parts = re.split(r"^## (.+)$", _TEXT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))


def write_desk(folder: Path) -> Path:
    """Write the files that the examples name. `folder` is where they are run, and the home too."""
    folder.mkdir()
    chapters = {title: escape(text).replace("\n\n", "</p><p>") for title, text in read_chapters().items()}
    small_books.write_epub(folder / "moby-dick.epub", chapters, title="Moby-Dick")
    pages = [[f"Page {n} of the report tells what was done."] for n in range(1, 61)]
    pages[44] = ["Revenue in 2022 was 41 million dollars, and interest rates on loans rose to four percent."]
    for name in ("manual.pdf", "annual-report.pdf"):
        small_books.write_pdf(folder / name, pages)
    for place in ("books", "Books"):
        (folder / place).mkdir()
        small_books.write_epub(folder / place / "typhoon.epub", TYPHOON, title="Typhoon")
        small_books.write_epub(folder / place / "tides.epub")
    small_books.write_epub(folder / "handbook.epub", HANDBOOK, title="Handbook")
    (folder / "website").mkdir()
    small_books.write_html(folder / "website" / "index.html")
    calibre = start_library(folder / "Calibre Library")
    (calibre / "tides").mkdir()
    small_books.write_epub(calibre / "tides" / "tides.epub")
    add_entry(calibre, "The Tides", {"EPUB": "tides"}, path="tides")
    (folder / "mine.jsonl").write_text('{"question": "Where does Queequeg come from?"}\n', encoding="utf-8")
    (folder / ".config" / "fish" / "completions").mkdir(parents=True)
    return folder
