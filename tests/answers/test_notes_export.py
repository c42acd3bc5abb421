"""The notes of a reader as Markdown: tables, code and lists stay what they are in the book."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from octavo.answers.notes_export import write_notes_markdown
from octavo.records.notes import Note
from octavo.types import ElementKind, Section
from tests.answers.test_export_blocks import read_section
from tests.support.builders import make_book

NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)


def note(section: Section, kind: ElementKind) -> Note:
    """A note on the first element of a kind."""
    found = next(element for element in section.markup if element.kind is kind)
    return Note(
        id="n1",
        book_id=section.book_id,
        kind="highlight",
        section_id=section.id,
        start=found.start,
        end=found.end,
        text=section.text[found.start : found.end],
        comment="so it is",
        created_at=NOON,
        updated_at=NOON,
    )


def test_a_note_on_a_table_or_code_has_it_as_such_while_the_words_stand_there(tmp_path: Path) -> None:
    tides, ropes = read_section(tmp_path / "a", "Tides"), read_section(tmp_path / "b", "Ropes")
    (table, code) = note(tides, ElementKind.TABLE), note(ropes, ElementKind.CODE)
    book = make_book()
    drawn = write_notes_markdown([(book, [table])], base="", sections={(tides.book_id, tides.id): tides})
    assert "> | Northern quay | four fathoms |\n" in drawn
    drawn = write_notes_markdown([(book, [code])], base="", sections={(ropes.book_id, ropes.id): ropes})
    assert "> ```python\n> def tie(rope):\n>     return rope * 2\n> ```\n\n" in drawn
    changed = write_notes_markdown([(book, [code])], base="", sections={(ropes.book_id, ropes.id): tides})
    assert "```" not in changed
    assert changed.count("def tie\\(rope)") + changed.count("def tie(rope)") == 1
