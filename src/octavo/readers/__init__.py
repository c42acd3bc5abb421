"""Read a file or a folder as a book: text in sections, each with its place.

`read_book` finds out what lies at a path and calls the reader of that format, which is imported only then.
What cannot be read as a book raises `BadBook` with a code that says why. `READERS_VERSION` goes up whenever a
reader makes other text of the same bytes, so that books are indexed again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from octavo.errors import BadBook
from octavo.limits import MB, Limits
from octavo.readers.detect import BY_SUFFIX, detect_format
from octavo.readers.files import find_files, resolve_inside
from octavo.readers.finish import finish_book
from octavo.readers.folders import WHOLE, choose_pages, find_single, get_format
from octavo.readers.parsed import COVER_MOST_MB, ParsedBook, make_cover
from octavo.types import BookFormat

if TYPE_CHECKING:
    from octavo.readers.scans import ScannedPages

# 2: folders of HTML follow the site's own navigation; a page with several top headings is one chapter. Paths
# and web addresses that a line of a PDF breaks after a slash are whole again.
# 3: tables of a PDF have cells: ` | ` stands between them, and their headings above them.
# 4: running heads of a PDF that name the section, or count the pages as `5 / 90`, are left out. Bold headings
# of columns begin no section.
# 5: a page of a manual that a list of figures names stays in its chapter. Boxes that DocBook draws as tables
# are text.
READERS_VERSION = "6"
_PICTURE_FOLDERS = ("", "static", "docs", "src", "public")
# The reader of an archive resolves them while it is open.
_FINISHED = frozenset((BookFormat.EPUB, BookFormat.MOBI))
_DOCUMENTS = ("docx", "odt", "fb2", "mobi")
_COVER_FOLDERS = ("", "src", "images", "img", "assets", "static", "static/img", "docs")
_COVER_NAMES = ("cover.png", "cover.jpg", "cover.jpeg", "cover.webp", "cover.gif")
Announce = Callable[[int], None] | None
OnPage = Callable[[int, int], None] | None
NO_SCANS: ScannedPages = MappingProxyType({})


class _Reading(NamedTuple):
    """How a book is to be read: within which limits, with what OCR has read, and who hears of its pages."""

    limits: Limits
    scans: ScannedPages
    announce: Announce
    on_page: OnPage


def read_book(
    path: Path,
    limits: Limits,
    *,
    scans: ScannedPages = NO_SCANS,
    announce: Announce = None,
    on_page: OnPage = None,
) -> ParsedBook:
    """Read the book at a path, a file or a folder. `announce` gets a PDF's number of pages beforehand.

    `scans` is what OCR has read on pages of a PDF that have no text. `on_page` gets the number of pages read
    so far, and of all, while a PDF or a folder of HTML is read.
    """
    return _read_path(path, _Reading(limits, scans, announce, on_page))


def _read_path(path: Path, reading: _Reading) -> ParsedBook:
    limits = reading.limits
    if path.is_dir():
        return _add_cover(_read_folder(path, reading), path)
    if not path.exists():
        raise BadBook("not_found", f"there is nothing at {path}")
    if not path.is_file():
        raise BadBook("unsupported_format", f"{path.name} is neither a file nor a folder")
    size = path.stat().st_size
    if size == 0:
        raise BadBook("empty_file", f"{path.name} is empty: it has 0 bytes")
    if size > limits.max_file_mb * MB:
        raise BadBook("too_large", f"{path.name} has {size // MB} MB; the limit is {limits.max_file_mb} MB")
    return _finish(_read_format(path, detect_format(path), reading), path.parent, limits)


def _finish(book: ParsedBook, folder: Path, limits: Limits) -> ParsedBook:
    """Resolve the links of a book in files, and take the pictures that lie with them."""
    if book.format in _FINISHED:
        return book

    def load(file: str) -> bytes | None:
        for place in _PICTURE_FOLDERS:
            found = resolve_inside(folder, folder / place, file)
            if found is not None and found.is_file():
                fits = found.stat().st_size <= limits.max_image_mb * MB
                return found.read_bytes() if fits else None
        return None

    return finish_book(book, load, limits)


def _read_format(path: Path, name: str, reading: _Reading) -> ParsedBook:
    """Read a file, or a folder of HTML or Markdown, with the reader of this format."""
    limits, scans, announce, on_page = reading
    if name == "pdf":
        from octavo.readers.pdf.reader import read_pdf

        return read_pdf(path, limits, scans=scans, announce=announce, on_page=on_page)
    if name == "epub":
        from octavo.readers.epub.reader import read_epub

        return read_epub(path, limits)
    if name == "html":
        from octavo.readers.html.reader import read_html

        return read_html(path, limits, on_page=on_page)
    if name == "markdown":
        from octavo.readers.markdown.reader import read_markdown

        return read_markdown(path, limits)
    if name in _DOCUMENTS:
        return _read_document(path, name, limits)
    if name == "rst":
        from octavo.readers.markup.sphinx import read_rst

        return read_rst(path, limits)
    if name == "asciidoc":
        from octavo.readers.markup.asciidoc import read_asciidoc

        return read_asciidoc(path, limits)
    from octavo.readers.plain import read_plain_text

    return read_plain_text(path, limits)


def _read_document(path: Path, name: str, limits: Limits) -> ParsedBook:
    if name == "docx":
        from octavo.readers.documents.docx import read_docx

        return read_docx(path, limits)
    if name == "odt":
        from octavo.readers.documents.odt import read_odt

        return read_odt(path, limits)
    if name == "mobi":
        from octavo.readers.kindle.reader import read_kindle

        return read_kindle(path, limits)
    from octavo.readers.documents.fb2 import read_fb2

    return read_fb2(path, limits)


def _read_folder(path: Path, reading: _Reading) -> ParsedBook:
    """Read a site or book of a known tool, the only book in the folder, or its pages as one book."""
    from octavo.readers.html.fetched import MANIFEST
    from octavo.readers.markdown.docusaurus import is_docusaurus, read_docusaurus
    from octavo.readers.markdown.mdbook import is_mdbook, read_mdbook
    from octavo.readers.markdown.mkdocs import is_mkdocs, read_mkdocs
    from octavo.readers.markup.sphinx import is_sphinx

    limits = reading.limits
    if (path / MANIFEST).is_file():
        return _finish(_read_format(path, "html", reading), path, limits)
    if is_docusaurus(path):
        return _finish(read_docusaurus(path, limits), path, limits)
    if is_mdbook(path):
        return _finish(read_mdbook(path, limits), path, limits)
    if is_mkdocs(path):
        return _finish(read_mkdocs(path, limits), path, limits)
    if is_sphinx(path):
        return _finish(_read_format(path, "rst", reading), path, limits)
    files = find_files(path, frozenset(BY_SUFFIX), limits)
    if single := find_single(files):
        return _read_path(single, reading)
    if pages := choose_pages(files):
        return _finish(_read_format(path, pages, reading), path, limits)
    if not files:
        raise BadBook(
            "no_text",
            f"{path.name} has no file that Octavo reads",
            hint=f"The files of a book's folder end in {', '.join(BY_SUFFIX)}.",
        )
    books = [file for file in files if get_format(file) in WHOLE] or files
    raise BadBook(
        "unsupported_format",
        f"{path.name} holds {len(books)} books ({', '.join(book.name for book in books[:3])}, …)",
        hint="`octavo add FOLDER` adds each of them; a program or an upload adds them one by one.",
    )


def _add_cover(book: ParsedBook, folder: Path) -> ParsedBook:
    """Add the picture that lies where a book's folder has its cover, unless the book has one already."""
    home = folder.resolve()
    for file in (folder / place / name for place in _COVER_FOLDERS for name in _COVER_NAMES):
        is_ours = book.cover is None and file.is_file() and file.resolve().is_relative_to(home)
        if is_ours and file.stat().st_size <= COVER_MOST_MB * MB and (cover := make_cover(file.read_bytes())):
            return replace(book, cover=cover)
    return book
