"""Readers turn files into text with places: one module for each format, and one door to all of them.

`read_book` finds out what lies at a path and hands it to the reader of that format, which is imported only
then. Whatever cannot be read as a book raises `BadBook` with a code that says why. `READERS_VERSION` goes up
whenever a reader makes other text of the same bytes, so that books are indexed anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from octavo.errors import BadBook
from octavo.limits import MB, Limits
from octavo.readers.detect import BY_SUFFIX, detect_format
from octavo.readers.files import find_files
from octavo.readers.parsed import COVER_MOST_MB, ParsedBook, make_cover

READERS_VERSION = "1"
COVER_FOLDERS = ("", "src", "images", "img", "assets", "static", "static/img", "docs")
Announce = Callable[[int], None] | None


def read_book(path: Path, limits: Limits, *, announce: Announce = None) -> ParsedBook:
    """The book at a path, a file or a folder; `announce` is told a PDF's number of pages beforehand."""
    if path.is_dir():
        return _with_cover(_read_folder(path, limits, announce), path)
    if not path.exists():
        raise BadBook("not_found", f"there is nothing at {path}")
    if not path.is_file():
        raise BadBook("unsupported_format", f"{path.name} is neither a file nor a folder")
    size = path.stat().st_size
    if size == 0:
        raise BadBook("empty_file", f"{path.name} is empty: it has 0 bytes")
    if size > limits.max_file_mb * MB:
        raise BadBook("too_large", f"{path.name} has {size // MB} MB; the limit is {limits.max_file_mb} MB")
    return _read_file(path, detect_format(path), limits, announce)


def _read_file(path: Path, kind: str, limits: Limits, announce: Announce) -> ParsedBook:
    if kind == "pdf":
        from octavo.readers.pdf import reader as pdf

        return pdf.read_pdf(path, limits, announce=announce)
    if kind == "epub":
        from octavo.readers.epub import reader as epub

        return epub.read_epub(path, limits)
    return _read_written(path, kind, limits)


def _read_written(path: Path, kind: str, limits: Limits) -> ParsedBook:
    """A file or a folder in one of the formats that people write by hand."""
    if kind == "html":
        from octavo.readers.html import reader as html

        return html.read_html(path, limits)
    if kind == "markdown":
        from octavo.readers.markdown import reader as markdown

        return markdown.read_markdown(path, limits)
    from octavo.readers import plain

    return plain.read_plain_text(path, limits)


def _read_folder(path: Path, limits: Limits, announce: Announce) -> ParsedBook:
    from octavo.readers.markdown import docusaurus, mdbook

    if docusaurus.is_docusaurus(path):
        return docusaurus.read_docusaurus(path, limits)
    if mdbook.is_mdbook(path):
        return mdbook.read_mdbook(path, limits)
    files = find_files(path, frozenset(BY_SUFFIX), limits)
    kinds = Counter(BY_SUFFIX[file.suffix.lower()] for file in files)
    pages = kinds["html"] + kinds["markdown"]
    bound = [file for file in files if BY_SUFFIX[file.suffix.lower()] in ("pdf", "epub")]
    if len(files) == 1 or (len(bound) == 1 and pages < 2):
        return read_book((bound or files)[0], limits, announce=announce)
    if pages and len(bound) < 2:
        return _read_written(path, "html" if kinds["html"] >= kinds["markdown"] else "markdown", limits)
    if not files:
        raise BadBook(
            "no_text",
            f"{path.name} holds no file that Octavo reads",
            hint=f"A book's folder has files that end in {', '.join(BY_SUFFIX)}.",
        )
    books = bound or files
    raise BadBook(
        "unsupported_format",
        f"{path.name} holds {len(books)} books ({', '.join(book.name for book in books[:3])}, …)",
        hint="Add them one by one, so that each becomes a book of its own.",
    )


def _with_cover(book: ParsedBook, folder: Path) -> ParsedBook:
    """The book with the picture that lies where a book's folder has its cover, if one does."""
    home = folder.resolve()
    ends = ("png", "jpg", "jpeg", "webp", "gif")
    for file in (folder / place / f"cover.{end}" for place in COVER_FOLDERS for end in ends):
        mine = book.cover is None and file.is_file() and file.resolve().is_relative_to(home)
        if mine and file.stat().st_size <= COVER_MOST_MB * MB and (made := make_cover(file.read_bytes())):
            return replace(book, cover=made)
    return book
