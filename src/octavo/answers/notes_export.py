"""Writes a reader's notes for other programs: Markdown for Obsidian, CSV for Anki and Readwise.

Each note has a link that opens its exact words. In Markdown, tables, code and lists are what they are in the
book. What a book or a reader wrote is escaped, so that nothing in
it is read as Markdown, and no cell of a table as a formula.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from octavo.answers.export import NO_SECTIONS, escape_line, make_address, quote_passage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from octavo.answers.export_blocks import Sections
    from octavo.records.notes import Note
    from octavo.types import Book

COLUMNS = ("Highlight", "Title", "Author", "URL", "Note", "Location", "Date")
"""The columns that Readwise knows. Anki takes any."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def make_link(note: Note, base: str) -> str:
    """Return the address of the note's words in the app at `base`."""
    return make_address(note.book_id, note.section_id, note.start, note.end, base=base)


def write_notes_markdown(
    books: Sequence[tuple[Book, Sequence[Note]]], *, base: str, sections: Sections = NO_SECTIONS
) -> str:
    """Write the notes as a page: a heading for each book, a quotation with its link for each note.

    `sections` are those that have notes, with their markup.
    """
    page: list[str] = []
    for book, notes in books:
        page.append(f"# {escape_line(book.title)}")
        if book.authors:
            page.append(escape_line(", ".join(book.authors)))
        for note in notes:
            section = sections.get((note.book_id, note.section_id))
            page.append(quote_passage(section, note.start, note.end, note.text))
            page.append(f"[{escape_line(_describe_place(note))}](<{make_link(note, base)}>)")
            if note.comment:
                page.append(escape_line(note.comment))
    return "\n\n".join(page or ["No notes yet."]) + "\n"


def write_notes_csv(books: Sequence[tuple[Book, Sequence[Note]]], *, base: str) -> str:
    """Write the notes as a table with the columns that Readwise knows."""
    made = io.StringIO()
    table = csv.writer(made, lineterminator="\r\n")
    table.writerow(COLUMNS)
    for book, notes in books:
        for note in notes:
            cells = (note.text, book.title, ", ".join(book.authors))
            more = (note.comment, _describe_place(note), note.created_at.strftime("%Y-%m-%d %H:%M:%S"))
            table.writerow(map(_defuse, (*cells, make_link(note, base), *more)))
    return made.getvalue()


def _describe_place(note: Note) -> str:
    place = [note.section or note.section_id, f"p. {note.page}" if note.page else ""]
    return ", ".join(part for part in place if part)


def _defuse(cell: str) -> str:
    """Keep a spreadsheet from reading a cell as a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell
