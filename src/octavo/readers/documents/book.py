"""From a document's markup to a book: what all readers share that write their document as HTML first.

Each of them writes its document as plain HTML (headings, paragraphs, lists, tables, code) with all text
escaped. It is then read like any HTML page, so that lists, tables and code look the same from every format.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from octavo.readers.files import check_sections
from octavo.readers.html.dom import parse_page, read_page
from octavo.readers.outline import Outline
from octavo.readers.pages import Heading, Piece

if TYPE_CHECKING:
    from octavo.limits import Limits
    from octavo.readers.parsed import ParsedSection

DEEPEST_HEADING = 6


def write_element(tag: str, markup: str) -> str:
    """Return an element around markup that is written already; '' when there is nothing in it."""
    return f"<{tag}>{markup}</{tag}>" if markup.strip() else ""


def write_heading(level: int, markup: str, *, anchor: str = "") -> str:
    """Return a heading of this level, or of the deepest that there is."""
    tag = f"h{min(max(level, 1), DEEPEST_HEADING)}"
    named = f' id="{escape(anchor)}"' if anchor else ""
    return f"<{tag}{named}>{markup}</{tag}>" if markup.strip() else ""


def write_code(lines: Sequence[str]) -> str:
    """Return lines of code as they are."""
    text = "\n".join(lines).strip("\n")
    # The first line end in a `pre` is not part of its text.
    return f"<pre>\n{escape(text)}</pre>" if text.strip() else ""


def write_formula(tex: str, *, display: bool = False) -> str:
    """Return a formula in TeX as a page has it that leaves drawing to a script."""
    if not tex.strip():
        return ""
    if display:
        return f'<div class="math">\\[{escape(tex.strip())}\\]</div>'
    return f'<span class="math">\\({escape(tex.strip())}\\)</span>'


def read_markup(markup: str, limits: Limits, *, name: str) -> tuple[Piece, ...]:
    """Read the pieces of a document that was written as HTML."""
    tree = parse_page(f"<!DOCTYPE html><html><body>{markup}</body></html>", limits, name=name)
    return read_page(tree).pieces


def build_sections(
    pieces: Sequence[Piece], limits: Limits, *, title: str, source_file: str
) -> tuple[ParsedSection, ...]:
    """Build the sections of a book that is one document. Text before any heading is named by the book."""
    outline = Outline()
    outline.start_document(source_file)
    lead = next((n for n, piece in enumerate(pieces) if isinstance(piece, Heading)), len(pieces))
    if any(piece.text for piece in pieces[:lead]):
        outline.enter((title,))
        outline.add(pieces[:lead])
        outline.leave()
    outline.add(pieces[lead:])
    return check_sections(outline.build_sections(title=title), limits, name=source_file)


def split_title(pieces: Sequence[Piece]) -> tuple[str, list[Piece]]:
    """Return the heading that stands first and above all others as the title, and the other pieces."""
    headings = [piece for piece in pieces if isinstance(piece, Heading)]
    begins = next((piece for piece in pieces if piece.text), None)
    if len(headings) > 1 and begins is headings[0] and all(h.level > headings[0].level for h in headings[1:]):
        return headings[0].text, [piece for piece in pieces if piece is not headings[0]]
    return "", list(pieces)
