"""Later parts of a long table are found by its caption and its column headings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import SupportsIndex

import pytest

from octavo.ingest.chunking import chunk_book, make_embedded_text
from octavo.ingest.table_heads import HEAD_BYTES, find_head_above, find_table_heads
from octavo.store.base import build_indexed_text
from octavo.types import Chunk, Element, ElementKind, PageMark, Section, Span

HEAD = "Sales of the mill\nYear | Flour | Bran"


def make_section(head: str = HEAD, *, rows: int = 60, row_header: bool = False) -> Section:
    """A paragraph, then a table with a caption, a row of headings and rows of figures."""
    before = "The mill kept its books for many years.\n\n"
    body = "\n".join(f"{1900 + n} | {1000 + n} | {500 + n}" for n in range(rows))
    text = f"{before}{head}\n{body}"
    start = len(before)
    caption = start + head.index("\n")
    markup = [Element(ElementKind.TABLE, start, len(text)), Element(ElementKind.CAPTION, start, caption, 1)]
    at = caption + 1
    for line in text[at:].split("\n"):
        markup.append(Element(ElementKind.ROW, at, at + len(line), 1))
        for number, cell in enumerate(line.split(" | ")):
            header = at < start + len(head) or (row_header and not number)
            where = text.index(cell, at)
            markup.append(
                Element(ElementKind.CELL, where, where + len(cell), 2, {"header": 1} if header else {})
            )
        at += len(line) + 1
    return Section(
        id="sales",
        book_id="mill",
        title="Sales",
        heading_path=("Sales",),
        level=1,
        position=0,
        url="book://mill/sales",
        text=text,
        source_file="mill.pdf",
        blocks=(Span(start, len(text)),),
        markup=tuple(markup),
    )


def pieces(texts: Sequence[str]) -> list[int]:
    return [len(text) // 3 for text in texts]


def chunk(section: Section) -> list[Chunk]:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return chunk_book("The Mill", [section], pieces=pieces, max_pieces=120, target=80, created_at=now)


def test_each_later_part_of_a_table_has_its_head_for_search() -> None:
    section = make_section()
    first, *later = chunk(section)
    assert len(later) > 3
    assert first.context == ""
    for part in later:
        assert part.context == "Sales of the mill · Year | Flour | Bran"
        assert part.context in make_embedded_text(part)
        assert part.context in build_indexed_text(part)
        assert section.text[part.start : part.end] == part.content
        assert pieces([make_embedded_text(part)])[0] <= 120


def test_labels_of_rows_are_not_taken_for_headings_of_columns() -> None:
    (head,) = find_table_heads(make_section(row_header=True))
    assert head.text == "Sales of the mill · Year | Flour | Bran"


def test_a_long_head_keeps_its_beginning_and_its_end() -> None:
    (head,) = find_table_heads(make_section(f"{'Sales of the old mill, ' * 30}\nYear | Flour | Bran"))
    assert head.text.startswith("Sales of the old mill,")
    assert head.text.endswith("Year | Flour | Bran")
    assert len(head.text.encode()) <= HEAD_BYTES + 5


def test_a_short_table_and_prose_need_no_head() -> None:
    assert [made.context for made in chunk(make_section(rows=2))] == [""]


def test_every_part_of_a_table_has_the_caption_below_it_for_search() -> None:
    section = make_section("| \nYear | Flour | Bran")
    named = replace(section, text=f"{section.text}\n\nTable 3.1: What the mill sold\n\nThe mill closed.")
    heads = find_table_heads(named)
    assert [head.text.split(" · ")[0] for head in heads] == ["Table 3.1: What the mill sold"]
    rows = [part for part in chunk(named) if "1000" in part.content or "1050" in part.content]
    assert len(rows) == 2
    assert all(part.context.startswith("Table 3.1: What the mill sold") for part in rows)


def test_the_caption_below_a_captioned_table_is_the_next_ones() -> None:
    section = make_section("Table 3.1: What the mill sold\nYear | Flour | Bran")
    following = replace(section, text=f"{section.text}\n\nTable 3.2: What it bought\n")
    assert [head.text.split(" · ")[0] for head in find_table_heads(following)] == [
        "Table 3.1: What the mill sold"
    ]


@pytest.mark.parametrize(
    ("line", "is_caption"),
    [
        ("Table 3.1 What the mill sold", True),
        ("Table 3. What the mill sold, in tons.", True),
        ("Tab. 3 – Umsatz der Mühle", True),
        ("Exhibit 4: What the mill sold", True),
        ("表3：磨坊的销售额", True),
        ("表 3-1 磨坊的销售额", True),
        ("In 1990 the mill burned down and was not built again", False),
        ("In 1990 Anna Berg sold the mill", False),
        ("Mill 3: it burned down, and nobody built it again.", False),
        ("Table 3 shows what the mill sold", False),
        ("Table 3 Ada Berg had not seen.", False),
    ],
)
def test_prose_below_a_table_is_no_caption(line: str, is_caption: bool) -> None:
    section = make_section("| \nYear | Flour | Bran")
    (head,) = find_table_heads(replace(section, text=f"{section.text}\n\n{line}\n\nThe mill closed."))
    assert head.below is is_caption
    assert head.text.startswith(line) is is_caption


BREAK = "Held for sale, at the lower of what they cost and what they would bring (see the note on mills):"


def make_broken_table(between: str = BREAK, *, row: str = "2000 | 7 | 8", page: int = 1) -> Section:
    """A table, a line that fits into none of its columns, and a row after it on the page of this number."""
    section = make_section(rows=3)
    text = f"{section.text}\n\n{between}\n\n{row}"
    start = len(text) - len(row)
    markup = [Element(ElementKind.TABLE, start, len(text)), Element(ElementKind.ROW, start, len(text), 1)]
    for cell in row.split(" | "):
        where = text.index(cell, start)
        markup.append(Element(ElementKind.CELL, where, where + len(cell), 2))
    pages = [PageMark(number=1, offset=0), *([PageMark(number=page, offset=start)] if page > 1 else [])]
    return replace(section, text=text, markup=(*section.markup, *markup), pages=tuple(pages))


def test_the_second_part_of_a_broken_table_has_the_head_of_the_first() -> None:
    first, second = find_table_heads(make_broken_table())
    assert second.text == first.text == "Sales of the mill · Year | Flour | Bran"
    assert find_head_above([second], second.start, second.end) == first.text


@pytest.mark.parametrize(
    "section",
    [
        make_broken_table(row="2000 | 7"),
        make_broken_table(page=2),
        make_broken_table(between="The mill was sold. " * 30),
        replace(make_broken_table(), pages=()),
    ],
    ids=["other columns", "another page", "prose between", "no pages"],
)
def test_another_table_has_no_head_of_the_one_before(section: Section) -> None:
    assert len(find_table_heads(section)) == 1


class WatchedText(str):
    """A text that remembers how much of it was copied."""

    def __init__(self, _: str) -> None:
        self.copied = 0

    def __getitem__(self, at: SupportsIndex | slice) -> str:
        found = super().__getitem__(at)
        self.copied += len(found)
        return found


@pytest.mark.parametrize("between", [" ", "\n"])
def test_what_is_copied_for_a_caption_does_not_grow_with_the_text_before_the_table(between: str) -> None:
    section = make_section("| \nYear | Flour | Bran")
    before = f"{between.join(['The mill was old.'] * 5_000)}\n\n"
    text = WatchedText(f"{before}{section.text}\n\nTable 3.1: What the mill sold")
    moved = [replace(e, start=e.start + len(before), end=e.end + len(before)) for e in section.markup]
    assert [head.below for head in find_table_heads(replace(section, text=text, markup=tuple(moved)))] == [
        True
    ]
    assert 0 < text.copied < 1_000
