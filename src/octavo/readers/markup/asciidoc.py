"""Read AsciiDoc: one file, a book that includes its chapters, or a folder of pages.

In a folder, a file that includes others is the book. Without one, every page is a chapter: in the order of
Antora's `nav.adoc` where there is one, else by name, with the index first. Files outside of the folder are
never included.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import TYPE_CHECKING

from octavo.errors import BadBook
from octavo.readers.documents.book import build_sections, read_markup, split_title
from octavo.readers.files import check_text_size, find_files
from octavo.readers.markup.adoc import AdocPage
from octavo.readers.markup.project import Entry, Inclusions, ProjectOutline, SourcePage, read_source
from octavo.readers.metadata import build_metadata
from octavo.readers.pages import Heading, Piece
from octavo.readers.parsed import ParsedBook
from octavo.readers.titles import clean_line, make_title
from octavo.types import BookFormat

if TYPE_CHECKING:
    from octavo.limits import Limits

SUFFIXES = frozenset((".adoc", ".asciidoc"))
_INCLUDE = re.compile(r"^include::([^\[\]{}]+\.(?:adoc|asciidoc))\[", re.MULTILINE)
_NAV_LINE = re.compile(r"^(\*{1,6})\s+(?:xref:([^\[\]]+)\[([^\]]*)\]|(.+))$")
_NAV_TITLE = re.compile(r"^\.([^\s.].*)$")
NavLine = tuple[int, str, str]
"""The level of a line of the navigation, its page and its words."""
_FIRST = ("index", "readme", "book", "main", "master")


def read_asciidoc(path: Path, limits: Limits) -> ParsedBook:
    """Read an AsciiDoc file, or a folder of them."""
    if not path.is_dir():
        return _read_book(path, path.name, Inclusions(path, limits), limits)
    files = {p.relative_to(path).as_posix(): p for p in find_files(path, SUFFIXES, limits)}
    if not files:
        raise BadBook("no_text", f"{path.name} has no pages of AsciiDoc")
    inclusions = Inclusions(path, limits)
    if not any(p.name == "nav.adoc" for p in files.values()) and (book := _find_book(files, limits)):
        read = _read_book(files[book], book, inclusions, limits)
        left = len(files.keys() - inclusions.included - {book})
        said = f"{left} of {len(files)} files are left out, {book} does not include them"
        return replace(read, warnings=(*read.warnings, said)) if left else read
    return _read_pages(path, files, inclusions, limits)


def _find_book(files: dict[str, Path], limits: Limits) -> str:
    """Return the file that includes most of the others; '' when none does."""
    included: dict[str, set[str]] = {}
    for file, path in files.items():
        base = PurePosixPath(file).parent.as_posix()
        targets = {normpath(f"{base}/{name.strip()}") for name in _INCLUDE.findall(read_source(path, limits))}
        included[file] = (targets & files.keys()) - {file}
    below = set().union(*included.values())
    tops = sorted((f for f in files if included[f] and f not in below), key=lambda f: -len(included[f]))
    return tops[0] if tops and len(below) >= len(files) // 2 else ""


def _write(
    path: Path, file: str, inclusions: Inclusions, limits: Limits
) -> tuple[AdocPage, tuple[Piece, ...]]:
    page = AdocPage(lambda reference: inclusions.load(path.parent, reference))
    return page, read_markup(page.write(read_source(path, limits)), limits, name=file)


def _read_book(path: Path, file: str, inclusions: Inclusions, limits: Limits) -> ParsedBook:
    page, pieces = _write(path, file, inclusions, limits)
    first, rest = ("", list(pieces)) if page.title else split_title(pieces)
    title = clean_line(page.title or first) or make_title(path.stem)
    keywords = page.attributes.get("keywords", "").split(",")
    author = page.attributes.get("author", "")
    return ParsedBook(
        title=title,
        format=BookFormat.ASCIIDOC,
        sections=build_sections(rest, limits, title=title, source_file=path.name),
        authors=tuple(map(clean_line, page.authors)) or ((clean_line(author),) if author else ()),
        language=page.attributes.get("lang", "")[:20],
        metadata=build_metadata(subjects=keywords, published=page.attributes.get("revdate", "")),
        warnings=inclusions.describe_missing(),
    )


def _read_pages(root: Path, files: dict[str, Path], inclusions: Inclusions, limits: Limits) -> ParsedBook:
    pages: dict[str, SourcePage] = {}
    size = 0
    for file, path in files.items():
        if path.name == "nav.adoc" or "partials" in PurePosixPath(file).parts:
            continue
        page, pieces = _write(path, file, inclusions, limits)
        size += sum(len(piece.text) for piece in pieces)
        check_text_size(size, limits, name=root.name)
        top = (Heading(level=1, text=clean_line(page.title)),) if page.title else ()
        pages[file] = SourcePage(file, (*top, *pieces))
    for included in inclusions.included:
        pages.pop(included, None)
    title, entries = _read_navigation(root, files, limits)
    outline = ProjectOutline(pages, _make_url, title)
    outline.place(entries)
    order = sorted(pages, key=lambda f: (f.count("/"), _rank(f)))
    outline.place([Entry(file) for file in order])
    return ParsedBook(
        title=title,
        format=BookFormat.ASCIIDOC,
        sections=outline.build(limits, name=root.name),
        warnings=inclusions.describe_missing(),
    )


def _rank(file: str) -> int:
    stem = PurePosixPath(file).stem.lower()
    return _FIRST.index(stem) if stem in _FIRST else len(_FIRST)


def _make_url(file: str) -> str:
    """Return the address of a page; Antora publishes the pages of a module without its inner folders."""
    place = re.sub(r"^(?:.*/)?modules/([^/]+)/pages/", lambda m: "" if m[1] == "ROOT" else f"{m[1]}/", file)
    return f"{place.rpartition('.')[0]}.html"


def _read_navigation(root: Path, files: dict[str, Path], limits: Limits) -> tuple[str, list[Entry]]:
    """Read Antora's title and navigation: the pages in order, and the titles above them."""
    component = next((f for f in (root / "antora.yml", *root.glob("*/antora.yml")) if f.is_file()), None)
    named = (
        re.search(r"^title:\s*[\"']?(.*?)[\"']?\s*$", read_source(component, limits), re.M)
        if component
        else None
    )
    entries: list[Entry] = []
    for file, path in files.items():
        if path.name == "nav.adoc":
            home = PurePosixPath(file).parent
            entries += _read_nav_file(read_source(path, limits), home.as_posix())
    return (clean_line(named.group(1)) if named else "") or make_title(root.resolve().name), entries


def _read_nav_file(text: str, home: str) -> list[Entry]:
    lines: list[NavLine] = []
    for line in text.split("\n"):
        if titled := _NAV_TITLE.match(line):
            lines.append((0, "", titled.group(1)))
        elif found := _NAV_LINE.match(line.strip()):
            marks, target, words, plain = found.groups()
            lines.append((len(marks), _resolve_page(target or "", home), words or plain or ""))
    return _nest(lines, 0)[0]


def _resolve_page(target: str, home: str) -> str:
    """Return the file that an Antora reference names, in this module or another one of the component."""
    module, _, page = target.partition("#")[0].rpartition(":")
    base = f"{PurePosixPath(home).parent.as_posix()}/{module.rpartition(':')[2]}" if module else home
    return normpath(f"{base}/pages/{page}") if page else ""


def _nest(lines: list[NavLine], at: int, level: int = -1) -> tuple[list[Entry], int]:
    """Nest the lines of the navigation by their levels."""
    entries: list[Entry] = []
    while at < len(lines) and lines[at][0] > level:
        own, page, title = lines[at]
        below, at = _nest(lines, at + 1, own)
        entries.append(Entry(page, title, tuple(below)))
    return entries, at
