"""Compare how manuals come in with what each says of itself: its title, chapters, depth and pages.

    python -m benchmarks.manuals FOLDER [FOLDER …]

Each folder is a manual in HTML as Debian packages it, such as `/usr/share/doc/postgresql-doc-15/html`. What
a manual says is read here a second time and in another way: the lists of its contents page with Python's own
parser, and the chain of its "next" links where it has one. The table is in `docs/measurements.md`.
"""

from __future__ import annotations

import argparse
import posixpath
import re
import time
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

from octavo.limits import Limits
from octavo.readers import read_book
from octavo.readers.parsed import ParsedBook

_CONTENTS_FILES = ("contents.html", "*_toc.html", "sitemap.html", "docs.html", "index.html", "index.en.html")
_CONTAINERS = frozenset(("toc", "toctree-wrapper", "chapter", "contents", "showhide", "section"))
_LISTS = frozenset(("ul", "ol", "dl"))
_VOID = frozenset(("br", "img", "hr", "input", "meta", "link", "col", "wbr", "area", "base"))
_FIRST = 20
_FEWEST_WORDS = 30


@dataclass
class _Contents(HTMLParser):
    """The links inside the lists of a page's contents, each with the number of lists around it."""

    links: list[tuple[int, str]] = field(default_factory=list)
    title: str = ""
    name: str = ""
    next: str = ""
    words: int = 0
    _open: list[tuple[str, bool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "link" and (given.get("rel") or "").split()[:1] == ["next"]:
            self.next = given.get("href") or ""
        if tag in _VOID:
            return
        classes = (given.get("class") or "").split()
        self._open.append((tag, bool(_CONTAINERS & set(classes))))
        if tag == "h1" and "menu-title" in classes:
            self._open[-1] = ("name", False)
        href = given.get("href") or ""
        depth = sum(name in _LISTS for name, _ in self._open)
        if tag == "a" and depth and any(holds for _, holds in self._open) and ":" not in href:
            self.links.append((depth, unquote(href.partition("#")[0])))

    def handle_endtag(self, tag: str) -> None:
        names = [name for name, _ in self._open]
        if tag == "h1" and "name" in names:
            tag = "name"
        if tag in names:
            del self._open[len(names) - 1 - names[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        inside = {name for name, _ in self._open[-2:]}
        if "title" in inside:
            self.title += data
        elif "name" in inside:
            self.name += data
        elif not {"a", "script", "style"} & {name for name, _ in self._open}:
            self.words += len(re.findall(r"\w\w+", data))


@dataclass(frozen=True)
class Said:
    """What a manual says of itself. `pages` are in its order, each with its depth; `chain` follows "next".

    `texts` are the pages among them with more words than their links have.
    """

    titles: tuple[str, ...]
    pages: dict[str, int]
    chain: tuple[str, ...]
    texts: frozenset[str]


def _parse(path: Path) -> _Contents:
    parser = _Contents()
    parser.feed(path.read_text("utf-8", "replace"))
    return parser


def read_manual(folder: Path) -> Said:
    """Read a manual's own contents page and its chain of pages."""
    best: _Contents | None = None
    pages: dict[str, int] = {}
    for pattern in _CONTENTS_FILES:
        for path in sorted(folder.glob(pattern)):
            found = _parse(path)
            named: dict[str, int] = {}
            for depth, file in found.links:
                target = posixpath.normpath(file) if file else ""
                if target and target != path.name and (folder / target).is_file():
                    named.setdefault(target, depth)
            if len(named) > len(pages):
                best, pages = found, named
    home = folder / "index.html"
    front = _parse(home) if home.is_file() else best
    assert front is not None, f"{folder} has no contents page"
    least = min(pages.values(), default=1)
    titles = tuple(t for t in (front.title, front.name, best.title if best else "") if t)
    chain = _follow(folder)
    texts = (file for file in {*pages, *chain} if _parse(folder / file).words >= _FEWEST_WORDS)
    return Said(titles, {file: d - least + 1 for file, d in pages.items()}, chain, frozenset(texts))


def _follow(folder: Path) -> tuple[str, ...]:
    chain: dict[str, None] = {}
    file = "index.html"
    while file not in chain and (folder / file).is_file():
        chain[file] = None
        following = unquote(_parse(folder / file).next.partition("#")[0])
        file = posixpath.normpath(posixpath.join(posixpath.dirname(file), following)) if following else ""
    return tuple(chain)[1:]


def _fold(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def compare(book: ParsedBook, said: Said) -> list[str]:
    """Return the cells of a manual's row: title, first chapters, depth, pages in place, ids."""
    files = list(dict.fromkeys(s.source_file for s in book.sections))
    starts = {s.source_file: s for s in reversed(book.sections)}
    right = any(_fold(book.title) in _fold(title) for title in said.titles)
    listed = [file for file in said.pages if file in starts]
    got = [file for file in files if file in said.pages]
    agreeing = sum(a == b for a, b in zip(listed[:_FIRST], got[:_FIRST], strict=False))
    chain = [file for file in said.chain if file in starts]
    place = {file: n for n, file in enumerate(f for f in files if f in set(chain))}
    turned = sum(place[b] == place[a] + 1 for a, b in pairwise(chain))
    deepest = max((starts[file].level for file in listed), default=0)
    paths = [s.heading_path for s in book.sections]
    return [
        f"{book.title} ({'as it says' if right else 'NOT as it says'})",
        f"{agreeing} of {min(_FIRST, len(listed))}",
        f"{deepest} / {max(said.pages.values(), default=0)}",
        f"{len(said.texts & set(files))} of {len(said.texts)}",
        f"{turned} of {len(chain) - 1}" if len(chain) > 1 else "–",
        str(len(paths) - len(set(paths))),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    print("| manual | title | first chapters | depth, ours / its own | pages | turns | same path | CPU |")
    print("|---|---|---|---|---|---|---|---|")
    for folder in parser.parse_args().folders:
        started = time.process_time()
        book = read_book(folder, Limits())
        seconds = time.process_time() - started
        cells = [folder.name, *compare(book, read_manual(folder)), f"{seconds:.1f} s"]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
