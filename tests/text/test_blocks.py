"""Blocks are what the markup says, cover the text, and end where sentences have to end."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from octavo.limits import Limits
from octavo.readers import read_book
from octavo.text.blocks import Block, cut_blocks, find_block, list_blocks, split_code
from octavo.text.sentences import split_sentences
from octavo.types import ElementKind

PAGE = """<html><head><title>T</title></head><body><h1>T</h1>
<p>A | b. - No item here.</p>
<ol><li>Take it. Go.<p>Then more.</p></li><li><dl><dt>Oil</dt><dd>It is wet.</dd></dl></li></ol>
<dl><dt>ASCII</dt><dd>A set of characters.</dd></dl>
<table><tr><th>a</th><th>b</th></tr><tr><td>1. one</td><td>2</td></tr></table>
<pre>- x = 1

- y = 2</pre>
</body></html>"""


@pytest.fixture
def page(tmp_path: Path) -> tuple[str, tuple[Block, ...]]:
    (tmp_path / "page.html").write_text(PAGE)
    (section,) = read_book(tmp_path / "page.html", Limits()).sections
    return section.text, list_blocks(section.text, section.markup)


def test_every_block_has_the_kind_that_the_book_gives_it(page: tuple[str, tuple[Block, ...]]) -> None:
    text, blocks = page
    assert [(str(b.kind), text[b.words : b.end]) for b in blocks] == [
        ("paragraph", "A | b. - No item here."),
        ("item", "Take it. Go."),
        ("paragraph", "Then more."),
        ("item", "Oil\n  It is wet."),
        ("term", "ASCII\nA set of characters."),
        ("row", "a | b"),
        ("row", "1. one | 2"),
        ("code", "- x = 1"),
        ("code", "- y = 2"),
    ]
    assert "".join(text.split()) == "".join("".join(text[b.start : b.end] for b in blocks).split())


def test_sentences_end_with_their_block_and_nowhere_by_how_a_line_begins(
    page: tuple[str, tuple[Block, ...]],
) -> None:
    text, blocks = page
    found = [text[s.start : s.end] for s in split_sentences(text, blocks=blocks)]
    assert found[:4] == ["A | b. - No item here.", "1. Take it.", "Go.", "Then more."]
    assert found[-2:] == ["- x = 1", "- y = 2"]


def test_only_the_first_sentence_of_an_item_begins_it(page: tuple[str, tuple[Block, ...]]) -> None:
    text, blocks = page
    item = find_block(blocks, text.index("Go."))
    assert item.kind is ElementKind.ITEM
    assert item.begins(text.index("1. Take"))
    assert not item.begins(text.index("Go."))


def test_a_passage_has_the_blocks_that_it_has_of_its_section(page: tuple[str, tuple[Block, ...]]) -> None:
    text, blocks = page
    start, end = text.index("Go."), text.index("ASCII") + 5
    cut = cut_blocks(blocks, start, end)
    assert [text[start:end][b.start : b.end] for b in cut][:2] == ["Go.", "Then more."]
    assert text[start:end][cut[-1].start : cut[-1].end] == "ASCII"
    assert all(0 <= b.start <= b.words <= b.end <= end - start for b in cut)


def test_the_label_of_a_note_belongs_to_its_note(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# One\n\nA mill.[^old]\n\n[^old]: It is old.\n")
    (section,) = read_book(tmp_path / "a.md", Limits()).sections
    blocks = list_blocks(section.text, section.markup)
    assert section.text[blocks[-1].start : blocks[-1].end] == "[old] It is old."
    assert section.text[blocks[-1].words : blocks[-1].end] == "It is old."


def test_code_is_parted_into_lines_where_that_is_wanted() -> None:
    text = "let x = {};\nlet y = {};"
    (code,) = list_blocks(text)
    assert code.kind is ElementKind.CODE
    assert [text[b.start : b.end] for b in split_code(text, [code])] == text.split("\n")


def test_a_very_long_line_takes_little_more_memory_than_itself() -> None:
    text = ("word " * 100_000).rstrip()
    tracemalloc.start()
    try:
        (block,) = list_blocks(text)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (block.start, block.end) == (0, len(text))
    assert most < 10 * len(text)
