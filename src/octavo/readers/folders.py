"""Tell what a folder is: one book, or a shelf with several.

A folder is one book when a publishing tool made it, when it has only one file that is a book by itself, or
when it is pages (HTML, Markdown) with at most one such file among them. Everything else is a shelf:
`find_books` lists its books, each with the formats it comes in, the best first. Only names are looked at, so
this is safe outside of the parser's process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.readers.detect import BY_SUFFIX
from octavo.readers.files import find_files
from octavo.readers.html.fetched import MANIFEST

if TYPE_CHECKING:
    from octavo.limits import Limits

# Formats whose file is a book by itself, and formats whose files may be the pages of one.
WHOLE = frozenset(("pdf", "epub", "docx", "odt", "fb2", "mobi"))
PAGES = ("html", "markdown", "rst", "asciidoc")
# Where a book lies in several formats, the one that says most about its structure is read.
_BEST_FIRST = ("epub", "fb2", "mobi", "docx", "odt", "html", "markdown", "rst", "asciidoc", "pdf", "text")
_MOST_ENTRIES = 1_000_000
_ABOUT = frozenset(
    ("readme", "license", "licence", "copying", "changelog", "contributing", "index", "authors")
)


def get_format(file: Path) -> str:
    """Return the format that a file's name says; '' for none that Octavo reads."""
    return BY_SUFFIX.get(file.suffix.lower(), "")


def is_project(folder: Path) -> bool:
    """Whether a folder is what a publishing tool makes a book from, or a fetched site."""
    from octavo.readers.markdown.docusaurus import is_docusaurus
    from octavo.readers.markdown.mdbook import is_mdbook
    from octavo.readers.markdown.mkdocs import is_mkdocs
    from octavo.readers.markup.sphinx import is_sphinx

    checks = (is_docusaurus, is_mdbook, is_mkdocs, is_sphinx)
    return (folder / MANIFEST).is_file() or any(check(folder) for check in checks)


def choose_pages(files: Sequence[Path]) -> str:
    """Return the format of the pages that a folder's files are together; '' when they are no such book."""
    formats = Counter(get_format(file) for file in files)
    pages = {name: formats[name] for name in PAGES if formats[name]}
    whole = sum(formats[name] for name in WHOLE)
    # A site may offer downloads of itself.
    is_site = any(f.stem.lower() == "index" and get_format(f) == "html" for f in _list_top(files))
    if not pages or (whole > 1 and not (is_site and formats["html"] > whole)):
        return ""
    return max(pages, key=lambda name: pages[name])


def find_single(files: Sequence[Path]) -> Path | None:
    """Return the one file of a folder that is the book, if it is clear which."""
    whole = [file for file in files if get_format(file) in WHOLE]
    pages = sum(get_format(file) in PAGES for file in files)
    if len(files) == 1 or (len(whole) == 1 and pages < 2):
        return (whole or list(files))[0]
    return None


def find_books(folder: Path, limits: Limits) -> list[tuple[Path, ...]]:
    """List the books in a folder, each as the paths of its formats.

    A folder that is a book is listed alone. One without anything to read has no books.
    """
    if is_project(folder):
        return [(folder,)]
    files = find_files(folder, frozenset(BY_SUFFIX), replace(limits, max_members=_MOST_ENTRIES))
    if not files:
        return []
    if find_single(files) or (choose_pages(files) and not _holds_projects(folder, files)):
        return [(folder,)]
    return _collect(folder, files)


def _collect(folder: Path, files: Sequence[Path]) -> list[tuple[Path, ...]]:
    """List the books of a folder that is a shelf, and of the folders in it."""
    loose: dict[str, list[Path]] = {}
    inside: dict[Path, list[Path]] = {}
    for file in files:
        parts = file.relative_to(folder).parts
        if len(parts) > 1:
            inside.setdefault(folder / parts[0], []).append(file)
        elif get_format(file) in WHOLE or file.stem.lower() not in _ABOUT:
            loose.setdefault(file.stem.casefold(), []).append(file)
    books = [tuple(sorted(formats, key=rank_format)) for formats in loose.values()]
    for below, held in inside.items():
        if is_project(below):
            books.append((below,))
        elif len({file.with_suffix("") for file in held}) == 1:
            books.append(tuple(sorted(held, key=rank_format)))
        elif single := find_single(held):
            books.append((single,))
        elif choose_pages(held) and not _holds_projects(below, held):
            books.append((below,))
        else:
            books += _collect(below, held)
    return books


def rank_format(file: Path) -> tuple[int, str]:
    """Return a sort key that puts the best format of a book first."""
    return _BEST_FIRST.index(get_format(file)), file.name


def _holds_projects(folder: Path, files: Sequence[Path]) -> bool:
    """Whether the folder only keeps several projects side by side."""
    tops = [f for f in files if f.parent == folder and f.stem.lower() != "readme"]
    below = {folder / file.relative_to(folder).parts[0] for file in files if file.parent != folder}
    return not tops and sum(is_project(place) for place in below) > 1


def _list_top(files: Sequence[Path]) -> list[Path]:
    """Return the files that lie highest in the tree."""
    depth = min((len(file.parts) for file in files), default=0)
    return [file for file in files if len(file.parts) == depth]
