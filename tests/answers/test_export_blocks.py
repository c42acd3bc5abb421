"""A quoted table, listing or list is one in the export, and nothing in it breaks out of the quotation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyromark
import pytest

from octavo.answers.export import escape_line, write_markdown
from octavo.answers.export_blocks import find_sections, write_passage
from octavo.errors import NotFound
from octavo.limits import Limits
from octavo.readers import read_book
from octavo.types import Element, ElementKind, Section
from tests.support import illustrated
from tests.support.builders import (
    make_answer,
    make_chunk,
    make_citation,
    make_evidence,
    make_question,
    make_session,
)


def read_section(folder: Path, title: str) -> Section:
    """A section of the illustrated book, as the library would have it."""
    chart, boats = illustrated.write_books(folder)
    for book in (chart, boats):
        for section in read_book(book, Limits()).sections:
            if section.title == title:
                return make_section(section.text, section.markup)
    raise AssertionError(title)


def make_section(text: str, markup: tuple[Element, ...]) -> Section:
    return Section(
        id="s42",
        book_id="moby-dick",
        title="One",
        heading_path=("One",),
        level=1,
        position=0,
        url="book://moby-dick/s42",
        text=text,
        source_file="one.html",
        markup=markup,
    )


def write_kind(section: Section, kind: ElementKind) -> str:
    found = next(e for e in section.markup if e.kind is kind)
    return write_passage(section, found.start, found.end, escape=escape_line)


def test_a_table_keeps_its_caption_header_and_cells(tmp_path: Path) -> None:
    assert write_kind(read_section(tmp_path, "Tides"), ElementKind.TABLE).split("\n") == [
        "Heights of the tide",
        "",
        "| Port | Height |",
        "| --- | --- |",
        "| Northern quay | four fathoms |",
        "| five fathoms |  |",
    ]


def test_code_has_its_language_and_lists_their_numbers(tmp_path: Path) -> None:
    section = read_section(tmp_path, "Ropes")
    assert write_kind(section, ElementKind.CODE) == "```python\ndef tie(rope):\n    return rope * 2\n```"
    listed = write_kind(section, ElementKind.LIST)
    assert listed == "3. Take a rope.\n   - A long one.\n4. Tie the knot."


def test_an_item_from_the_middle_of_a_list_keeps_its_number(tmp_path: Path) -> None:
    section = read_section(tmp_path, "Ropes")
    start = section.text.index("Tie the knot.")
    said = write_passage(section, start, start + len("Tie the knot."), escape=escape_line)
    assert said == "4. Tie the knot."


def test_items_with_letters_keep_them(tmp_path: Path) -> None:
    text = "a) clean oil from a can\nb) water. It is cold.\nc) rags"
    (tmp_path / "mill.txt").write_text(f"The Mill\n\nChapter 1\n\nIt needs:\n\n{text}\n\nThat is all.\n")
    read = next(s for s in read_book(tmp_path / "mill.txt", Limits()).sections if text in s.text)
    section = make_section(read.text, read.markup)
    for words, written in (
        (text, "- a) clean oil from a can\n- b) water. It is cold.\n- c) rags"),
        ("It is cold.", "- b) It is cold."),
    ):
        start = section.text.index(words)
        assert write_passage(section, start, start + len(words), escape=escape_line) == written


def test_part_of_a_row_is_a_row_and_prose_is_left_to_the_quotation(tmp_path: Path) -> None:
    section = read_section(tmp_path, "Tides")
    start = section.text.index("four fathoms")
    said = write_passage(section, start, start + len("four fathoms"), escape=escape_line)
    assert said == "|  |\n| --- |\n| four fathoms |"
    assert write_passage(section, 0, 10, escape=escape_line) == ""


def test_an_export_draws_what_is_quoted_and_links_to_the_exact_words(tmp_path: Path) -> None:
    section = read_section(tmp_path, "Tides")
    chunk = make_chunk(section.text)
    snippet = "Northern quay | four fathoms"
    cited = make_citation(snippet, chunk=chunk)
    answer = make_answer("See this. [1]", citations=[cited], evidence=[make_evidence(chunk)])
    session = replace(make_session(), query_count=1, questions=(make_question("And?"),), answers=(answer,))
    page = write_markdown(session, sections={("moby-dick", "s42"): section}, base="https://app.test/")
    assert "    > | Northern quay | four fathoms |" in page.split("\n")
    place = f"https://app.test/#/books/moby-dick/sections/s42?start={cited.start}&end={cited.end}"
    assert f"[open these words](<{place}>)" in page
    changed = replace(section, text=f"x{section.text}")
    moved = write_markdown(session, sections={("moby-dick", "s42"): changed})
    assert "open these words" not in moved
    assert "| Northern quay |" not in moved


@pytest.mark.parametrize(
    ("words", "kind", "attributes"),
    [
        ("```\n# Free\n<b>x</b>", ElementKind.CODE, {"language": "a`\n# b"}),
        ("| a | <b>x</b> [l](http://e.org)", ElementKind.LIST, {}),
    ],
)
def test_a_hostile_block_stays_inside_its_quotation(
    words: str, kind: ElementKind, attributes: dict[str, str]
) -> None:
    markup = [Element(kind, 0, len(words), 0, attributes)]
    if kind is ElementKind.LIST:
        markup.append(Element(ElementKind.ITEM, 0, len(words), 1))
    section = make_section(words, tuple(markup))
    said = write_passage(section, 0, len(words), escape=escape_line)
    drawn = pyromark.html("\n".join(f"> {line}" for line in said.split("\n")))
    assert drawn.startswith("<blockquote>")
    assert drawn.rstrip().endswith("</blockquote>")
    assert "<h1>" not in drawn
    assert "<b>" not in drawn
    assert "<a " not in drawn


async def test_a_section_that_is_gone_is_left_out() -> None:
    async def find(book: str, section: str) -> Section:
        raise NotFound("section", section)

    assert await find_sections([("moby-dick", "s42")], find) == {}


def test_a_passage_that_would_lose_a_word_is_written_as_text() -> None:
    text = "- Run this:\n\noctavo add\n\n- Wait."
    kinds = (
        (ElementKind.LIST, 0, 32, 0),
        (ElementKind.ITEM, 0, 23, 1),
        (ElementKind.PARAGRAPH, 2, 11, 2),
        (ElementKind.CODE, 13, 23, 2),
        (ElementKind.ITEM, 25, 32, 1),
        (ElementKind.PARAGRAPH, 27, 32, 2),
    )
    markup = tuple(Element(kind, start, end, depth) for kind, start, end, depth in kinds)
    section = make_section(text, markup)
    assert write_passage(section, 0, len(text), escape=escape_line) == ""
    assert write_passage(section, 0, 12, escape=escape_line) == "- Run this:"
