"""Plain text: titles, chapters and paragraphs as a reader sees them."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import BadBook
from octavo.limits import Limits
from octavo.readers import plain
from octavo.readers.parsed import ParsedBook
from octavo.readers.plain import find_headings, measure_width, reflow, split_blocks
from octavo.types import BookFormat

PROSE = (
    "It was a bright cold day in the north, and the clocks of the old town were\n"
    "striking one after the other, as if none of them had ever heard the others\n"
    "and each had to tell the hour to the whole of the valley by itself."
)
JOINED = PROSE.replace("\n", " ")


def read_text(tmp_path: Path, text: str | bytes, name: str = "my-book.txt") -> ParsedBook:
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return plain.read_plain_text(tmp_path / name, Limits())


def paths(book: ParsedBook) -> list[str]:
    return [" / ".join(s.heading_path) for s in book.sections]


def test_a_text_without_headings_is_one_section_named_by_its_file(tmp_path: Path) -> None:
    book = read_text(tmp_path, f"{PROSE}\n\n{PROSE}\n")
    assert (book.title, book.format) == ("My book", BookFormat.TEXT)
    (only,) = book.sections
    assert (only.heading_path, only.text) == (("My book",), f"{JOINED}\n\n{JOINED}")
    assert (only.source_file, only.url, only.anchor) == ("my-book.txt", "", "")


GUTENBERG = f"""
The Project Gutenberg eBook of The Whale

This ebook is for the use of anyone anywhere.

Title: The Whale;
       Or, The Sea

Author: Herman M.

Language: English

*** START OF THE PROJECT GUTENBERG EBOOK THE WHALE ***



THE WHALE;

By Herman M.

CONTENTS

ETYMOLOGY.

CHAPTER 1. Loomings.

CHAPTER 2. The Carpet-Bag.

Epilogue



ETYMOLOGY.

{PROSE}

CHAPTER 1. Loomings.

{PROSE}

CHAPTER 2. The Carpet-Bag.

{PROSE}

Epilogue

{PROSE}

*** END OF THE PROJECT GUTENBERG EBOOK THE WHALE ***

Updated editions will replace the previous one. Licence, licence, licence.
"""


def test_a_gutenberg_book_is_read_without_its_licence_and_its_contents_are_no_chapters(
    tmp_path: Path,
) -> None:
    book = read_text(tmp_path, GUTENBERG)
    assert (book.title, book.authors, book.language) == ("The Whale; Or, The Sea", ("Herman M.",), "en")
    chapters = ["ETYMOLOGY", "CHAPTER 1. Loomings.", "CHAPTER 2. The Carpet-Bag.", "Epilogue"]
    assert paths(book) == ["CONTENTS", *chapters]
    assert [s.text for s in book.sections[1:]] == [JOINED] * 4
    assert "licence" not in "".join(s.text for s in book.sections).lower()
    assert "CHAPTER 1. Loomings." in book.sections[0].text


def test_parts_books_acts_and_letters_nest_as_they_do_in_print(tmp_path: Path) -> None:
    lines = [
        "A TALE",
        "By Ann Lee",
        "BOOK ONE",
        "PART I",
        "Chapter 1",
        PROSE,
        "CHAPTER II.",
        "THE STORM",
        PROSE,
    ]
    lines += [
        "PART II",
        "Chapter 1",
        PROSE,
        "BOOK THE SECOND",
        "LETTER IV",
        PROSE,
        "ACT I",
        "SCENE II. A room.",
        PROSE,
    ]
    book = read_text(tmp_path, "\n\n".join(lines))
    assert (book.title, book.authors) == ("A TALE", ("Ann Lee",))
    assert paths(book) == [
        "BOOK ONE",
        "BOOK ONE / PART I",
        "BOOK ONE / PART I / Chapter 1",
        "BOOK ONE / PART I / CHAPTER II: THE STORM",
        "BOOK ONE / PART II",
        "BOOK ONE / PART II / Chapter 1",
        "BOOK THE SECOND",
        "BOOK THE SECOND / LETTER IV",
        "BOOK THE SECOND / ACT I",
        "BOOK THE SECOND / ACT I / SCENE II. A room.",
    ]


def test_a_chapter_title_may_stand_on_the_line_below(tmp_path: Path) -> None:
    book = read_text(
        tmp_path, f"CHAPTER I.\nDown the Rabbit-Hole\n\n{PROSE}\n\nCHAPTER II.\nThe Pool of Tears\n\n{PROSE}"
    )
    assert paths(book) == ["CHAPTER I: Down the Rabbit-Hole", "CHAPTER II: The Pool of Tears"]


@pytest.mark.parametrize(
    "line",
    [
        "Chapter and verse were quoted at him all evening.",
        "Part of the crew was asleep.",
        "Book me a room, she said.",
        "Chapter 5 explains how the parts of the machine fit together, and",
        "Letter I wrote yesterday never came.",
        "PARTING IS SUCH SWEET SORROW",
    ],
)
def test_prose_that_starts_like_a_heading_is_prose(tmp_path: Path, line: str) -> None:
    book = read_text(tmp_path, f"{PROSE}\n\n{line}\n\n{PROSE}")
    assert len(book.sections) == 1
    assert line in book.sections[0].text


RST = """
Policy Manual
*************

Intro text.

* 1. Scope

  * 1.1. Words

Part A
******

1. Scope
========

Scope text.

1.1. Words
----------
Directly below.

2. Files
========

File text.
"""


def test_underlined_headings_nest_in_the_order_of_their_marks(tmp_path: Path) -> None:
    book = read_text(tmp_path, RST)
    assert book.title == "Policy Manual"
    assert paths(book) == [
        "Policy Manual",
        "Part A",
        "Part A / 1. Scope",
        "Part A / 1. Scope / 1.1. Words",
        "Part A / 2. Files",
    ]
    assert book.sections[0].text == "Intro text.\n\n* 1. Scope\n\n* 1.1. Words"
    assert book.sections[3].text == "Directly below."


def test_overlined_headings_and_tables_are_told_apart(tmp_path: Path) -> None:
    table = "=====  =====\nA      B\n=====  =====\n1      2\n=====  ====="
    book = read_text(tmp_path, f"=======\nA Title\n=======\n\nSub\n---\n\n{table}\n\nEnd\n---\n\nBye.\n")
    assert (book.title, paths(book)) == ("A Title", ["Sub", "End"])
    first = book.sections[0]
    assert first.text == table
    assert [first.text[b.start : b.end] for b in first.blocks] == [table]


def test_lines_in_capitals_are_headings_when_they_recur(tmp_path: Path) -> None:
    stories = "\n\n".join(f"{name}\n\n{PROSE}" for name in ("FLAX", "THE RED SHOES", "SNOW MAN"))
    book = read_text(tmp_path, f"A FAIRY BOOK\n\n{stories}")
    assert (book.title, paths(book)) == ("A FAIRY BOOK", ["FLAX", "THE RED SHOES", "SNOW MAN"])


def test_a_shout_and_the_names_of_speakers_are_no_headings(tmp_path: Path) -> None:
    assert len(read_text(tmp_path, f"{PROSE}\n\nSTOP AT ONCE\n\n{PROSE}").sections) == 1
    play = "\n\n".join(
        f"{who}\n\n{PROSE}" for who in ("HAMLET", "GHOST", "HAMLET", "GHOST", "HAMLET", "GHOST")
    )
    assert len(read_text(tmp_path, f"{PROSE}\n\n{play}").sections) == 1


def test_numerals_are_headings_when_they_count(tmp_path: Path) -> None:
    counted = "\n\n".join(f"{n}\n\n{PROSE}" for n in ("I", "II", "III"))
    assert paths(read_text(tmp_path, counted)) == ["I", "II", "III"]
    assert len(read_text(tmp_path, f"{PROSE}\n\n17\n\n{PROSE}").sections) == 1


def test_chapters_of_other_languages_are_found(tmp_path: Path) -> None:
    text = "第一章 はじめに\n\n吾輩は猫である。\n名前はまだ無い。\n\n第二章\n\nどこで生れたか。"
    book = read_text(tmp_path, text)
    assert paths(book) == ["第一章 はじめに", "第二章"]


@pytest.mark.parametrize(
    ("head", "title", "authors"),
    [
        ("Title: My Life\nAuthor: Ann Lee and Bob Ray", "My Life", ("Ann Lee", "Bob Ray")),
        ("Title: My Life\nBy: Ann Lee", "My Life", ("Ann Lee",)),
        ("MY LIFE\n\nby Ann Lee", "MY LIFE", ("Ann Lee",)),
        ("My Life\n\nby Ann Lee", "My Life", ("Ann Lee",)),
        ("My Life", "My book", ()),
    ],
)
def test_the_file_says_what_it_is(tmp_path: Path, head: str, title: str, authors: tuple[str, ...]) -> None:
    book = read_text(tmp_path, f"{head}\n\n{PROSE}")
    assert (book.title, book.authors) == (title, authors)
    assert book.sections[0].text.endswith(JOINED)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty_file"),
        (b"\n" * 1_000_000, "no_text"),
        (b" " * 1_000_000, "no_text"),
        (b"\x00" * 50, "no_text"),
    ],
)
def test_a_file_without_text_is_refused(tmp_path: Path, data: bytes, code: str) -> None:
    with pytest.raises(BadBook) as refused:
        read_text(tmp_path, data)
    assert refused.value.code == code


def test_a_file_that_is_mostly_damage_is_refused_and_little_damage_is_a_warning(tmp_path: Path) -> None:
    good = "Grüße aus dem schönen Köln. ".encode()
    book = read_text(tmp_path, good * 3 + b"\xff\xff\xff\xff")
    assert "my-book.txt" in book.warnings[0]
    assert book.sections[0].text.count("\ufffd") == 4


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "cp1252"])
def test_text_is_decoded_whatever_its_encoding(tmp_path: Path, encoding: str) -> None:
    text = "Schöne Grüße — “bis morgen”, sagte er."
    assert read_text(tmp_path, text.encode(encoding)).sections[0].text == text


def test_a_word_of_a_megabyte_and_a_text_over_its_limit(tmp_path: Path) -> None:
    assert len(read_text(tmp_path, "x" * 1_100_000).sections[0].text) == 1_100_000
    with pytest.raises(BadBook) as refused:
        plain.read_plain_text(tmp_path / "my-book.txt", replace(Limits(), max_text_mb=1))
    assert refused.value.code == "too_large"


@pytest.mark.parametrize(
    "bomb",
    [
        "\n",
        " \n",
        "*** ",
        "AAA\n\n",
        "I\n\n",
        "CHAPTER I\n\n",
        "a\n=\n\n",
        "* a\n",
        "a  b\n",
        "Title: x\n",
        "---\n",
        "\u0301",
        "\u200d",
    ],
)
def test_a_bomb_of_lines_is_read_in_one_go(tmp_path: Path, bomb: str) -> None:
    book = read_text(tmp_path, "Text.\n\n" + bomb * (60_000 // len(bomb)))
    assert book.characters <= 200_000


def reflow_text(text: str, wrapped: int = 72) -> str:
    lines = textwrap.dedent(text).strip("\n").split("\n")
    return reflow(lines, wrapped)[0]


def test_wrapped_prose_is_joined_and_a_parted_word_is_whole_again() -> None:
    assert reflow_text(PROSE) == JOINED
    assert reflow_text(
        """
        The maintainer of the archive may override this for every architecture-
        specific package in the distribution, as long as the change is recorded
        in the log.
        """
    ).startswith("The maintainer of the archive may override this for every architecture-specific package")


def test_verse_keeps_its_lines() -> None:
    verse = (
        "The ribs and terrors in the whale,\n  Arched over me a dismal gloom,\nWhile all the waves rolled by."
    )
    assert reflow_text(verse) == verse


def test_list_items_keep_their_markers_and_lose_their_wrapping() -> None:
    listed = """
        * The first item goes on for a while and is then
          continued here.
        * The second.
          1. An inner one,
             wrapped.
        """
    assert reflow_text(listed) == (
        "* The first item goes on for a while and is then continued here.\n"
        "* The second.\n  1. An inner one, wrapped."
    )


def test_tables_and_listings_keep_their_lay_out() -> None:
    table = "Name      Age    Town\nAnn       7      Rome\nBob       9      Bonn"
    code = "    for x in y:\n        print(x);\n    done();"
    for kept in (table, code):
        assert reflow(kept.split("\n"), 72) == (kept, True)


def test_a_term_and_its_definition_are_two_lines() -> None:
    text = f'"epoch"\n{textwrap.indent(PROSE, "   ")}'
    assert reflow_text(text) == f'"epoch"\n{JOINED}'


def test_paragraphs_that_only_an_indent_parts_are_parted() -> None:
    assert reflow_text(f"    {PROSE}\n    {PROSE}") == f"{JOINED}\n\n{JOINED}"


def test_japanese_lines_join_without_a_space() -> None:
    lines = ["吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当が", "つかぬ。"]
    assert reflow(lines, 30)[0] == "".join(lines)


WORDS = st.lists(
    st.sampled_from(["a", "word", "  ", "\n", "\n\n", "* ", "1. ", "I", "CHAPTER I", "===", "ÄÖ", "中", "-"]),
    max_size=60,
)


@given(WORDS)
def test_no_letter_is_ever_lost_between_the_file_and_the_text(parts: list[str]) -> None:
    text = " ".join(parts)
    found = split_blocks(text)
    wrapped = measure_width(found)
    find_headings(found)
    for lines in found:
        made, _ = reflow(lines, wrapped)
        assert sorted("".join(made.split())) == sorted("".join("".join(lines).split()))
        assert all(line == line.rstrip() for line in made.split("\n"))
