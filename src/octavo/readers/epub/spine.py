"""Place one document of an EPUB's spine in the outline of the book.

Entries of the contents split the document where their fragments stand. A document that the contents do not
name begins with its own heading, is named by its kind (copyright page, dedication), or continues the chapter
before it. Covers, title pages and lists of links have nothing to read and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from octavo.readers.pages import Heading, HtmlPage, PageBreak, Piece, Text
from octavo.readers.titles import is_same_title

if TYPE_CHECKING:
    from octavo.readers.epub.package import TocEntry
    from octavo.readers.outline import Outline

_LABELS = {
    "copyright-page": "Copyright",
    "copyright": "Copyright",
    "colophon": "Colophon",
    "dedication": "Dedication",
    "epigraph": "Epigraph",
    "acknowledgments": "Acknowledgments",
    "acknowledgements": "Acknowledgments",
    "foreword": "Foreword",
    "preface": "Preface",
    "titlepage": "Title page",
    "title-page": "Title page",
}
_COVERS = frozenset(("cover", "coverpage", "cover-image"))
_TITLE_PAGES = frozenset(("titlepage", "title-page", "halftitlepage", "halftitle"))
_CONTENTS = frozenset(("toc", "landmarks", "loi", "lot", "doc-toc"))
_SENTENCE = 15


def find_kinds(attributes: Iterable[Mapping[str, str | None]], guide: str) -> frozenset[str]:
    """Return what a document says it is, in its own attributes and in the package's guide."""
    words = [guide.lower()]
    for element in attributes:
        words += (
            f"{element.get('epub:type') or ''} {element.get('role') or ''}".lower()
            .replace("doc-", "")
            .split()
        )
    return frozenset(words) - {""}


def is_wrapper(page: HtmlPage, kinds: frozenset[str], path: str, *, title: str) -> bool:
    """Whether a document has nothing to read: a cover, a title page, a list of links."""
    stem = PurePosixPath(path).stem.lower()
    words = page.words + sum(len(h.text.split()) for h in page.headings)
    longest = max((len(p.text.split()) for p in page.pieces), default=0)
    if page.linked > 0.8 and words > 4:
        return True
    if kinds & _CONTENTS and page.linked > 0.5:
        return True
    if not page.words and page.headings and all(is_same_title(h.text, title) for h in page.headings):
        return True
    if longest >= _SENTENCE or words > 80:
        return False
    if kinds & _COVERS or stem.startswith("cover"):
        return True
    return bool(kinds & _TITLE_PAGES) or stem in ("titlepage", "title_page", "title-page", "title")


def place_document(
    outline: Outline,
    page: HtmlPage,
    *,
    path: str,
    entries: list[TocEntry],
    kinds: frozenset[str],
    title: str,
    first_label: str | None = None,
) -> None:
    """Add the document's pieces to the outline."""
    pieces = list(page.pieces)
    if first_label is not None:
        pieces.insert(0, Text(text="", breaks=(PageBreak(0, first_label),)))
    outline.start_document(path)
    marks = _find_starts(pieces, entries)
    lead = pieces[: marks[0][0]] if marks else pieces
    if any(p.text for p in lead):
        _place_lead(outline, lead, page, kinds, title)
    else:
        outline.add(lead)
    for number, (start, entry) in enumerate(marks):
        outline.enter(_drop_book_title(title, entry.path), anchor=entry.fragment)
        outline.add(pieces[start : marks[number + 1][0] if number + 1 < len(marks) else None])


def _drop_book_title(title: str, path: tuple[str, ...]) -> tuple[str, ...]:
    """Drop the book's own title, which some contents put above all other entries."""
    return path[1:] if len(path) > 1 and is_same_title(path[0], title) else path


def _find_starts(pieces: list[Piece], entries: list[TocEntry]) -> list[tuple[int, TocEntry]]:
    """Find where each entry begins; one whose fragment is nowhere begins with the entry before it."""
    where: dict[str, int] = {}
    for number, piece in enumerate(pieces):
        for name in piece.ids:
            where.setdefault(name, number)
    first = next((n for n, p in enumerate(pieces) if p.text), 0)
    marks, last = [], 0
    for entry in entries:
        last = where.get(entry.fragment, last) if entry.fragment else 0
        marks.append((0 if last <= first else last, entry))
    return sorted(marks, key=lambda mark: mark[0])


def _place_lead(
    outline: Outline, lead: list[Piece], page: HtmlPage, kinds: frozenset[str], title: str
) -> None:
    """Add what comes before the first entry, or the whole document when the contents do not name it."""
    begins = next(p for p in lead if p.text)
    label = next((_LABELS[k] for k in sorted(kinds) if k in _LABELS), "")
    if isinstance(begins, Heading):
        pass
    elif label:
        outline.enter((label,))
    elif not outline.drafts:
        outline.enter((page.title if page.title and not is_same_title(page.title, title) else title,))
    outline.add(lead)
