"""Plain text of many makes: novels, plays, poems, manuals, memos; each as a reader would divide it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.limits import Limits
from octavo.readers import read_book
from octavo.readers.parsed import ParsedBook
from octavo.readers.plain import find_headings, measure_width, reflow, split_blocks

PROSE = (
    "It was a bright cold day in the north, and the clocks of the old town were\n"
    "striking one after the other, as if none of them had ever heard the others\n"
    "and each had to tell the hour to the whole of the valley by itself."
)
JOINED = PROSE.replace("\n", " ")


def read_parts(tmp_path: Path, *parts: str, name: str = "my-book.txt", gap: str = "\n\n") -> ParsedBook:
    (tmp_path / name).write_text(gap.join(parts), encoding="utf-8")
    return read_book(tmp_path / name, Limits())


def paths(book: ParsedBook) -> list[str]:
    return [" / ".join(s.heading_path) for s in book.sections]


@pytest.mark.parametrize(
    "headings",
    [
        ("CHAPTER I.", "CHAPTER II.", "CHAPTER III."),
        ("Chapter the First", "Chapter the Second", "Chapter the Last"),
        ("CHAPTER ONE", "CHAPTER TWENTY-ONE", "CHAPTER THIRTY TWO"),
        ("Chapter 1: In Which", "Chapter 2: By Which", "Chapter 3: For Which"),
        ("STAVE ONE", "STAVE TWO", "STAVE THREE"),
        ("Letter 1", "Letter 2", "Letter 3"),
        ("FABLE I", "FABLE II", "FABLE III"),
        ("I.", "II.", "III."),
        ("I. The Beginning", "II. The Middle of It", "III. The End"),
        ("1. Getting There", "2. Being There", "3. Coming Back"),
        ("I. A STORM", "II. A CALM", "III. A WRECK"),
        ("Kapitel 1", "Kapitel 2", "Kapitel 3"),
        ("        CHAPTER I", "        CHAPTER II", "        CHAPTER III"),
    ],
)
def test_chapters_are_found_in_every_style_of_heading(tmp_path: Path, headings: tuple[str, ...]) -> None:
    book = read_parts(tmp_path, "My Tale", "by Ann Lee", *(p for h in headings for p in (h, PROSE, PROSE)))
    assert (book.title, book.authors) == ("My Tale", ("Ann Lee",))
    assert [title.casefold() for title in paths(book)] == [h.strip().rstrip(".").casefold() for h in headings]
    assert {s.text for s in book.sections} == {f"{JOINED}\n\n{JOINED}"}


@pytest.mark.parametrize("gap", ["\n\n", "\n\n\n\n\n", "\r\n\r\n", "\n \n\t\n"])
def test_blank_lines_of_any_kind_part_chapters_and_paragraphs(tmp_path: Path, gap: str) -> None:
    book = read_parts(tmp_path, "CHAPTER I", PROSE, "CHAPTER II", PROSE, PROSE, gap=gap)
    assert [s.text for s in book.sections] == [JOINED, f"{JOINED}\n\n{JOINED}"]


def test_a_preface_stands_beside_the_chapters_and_not_above_them(tmp_path: Path) -> None:
    numbered = [part for n in ("I. One", "II. Two", "III. Three") for part in (n, PROSE)]
    book = read_parts(tmp_path, "Preface", PROSE, *numbered, "EPILOGUE", PROSE)
    assert paths(book) == ["Preface", "I. One", "II. Two", "III. Three", "EPILOGUE"]
    tales = [part for n in ("THE FLAX", "THE SHOES", "THE SNOW MAN") for part in (n, PROSE)]
    assert paths(read_parts(tmp_path, "Introduction", PROSE, *tales)) == [
        "Introduction",
        "THE FLAX",
        "THE SHOES",
        "THE SNOW MAN",
    ]


def test_a_preface_inside_a_part_stays_inside_it(tmp_path: Path) -> None:
    book = read_parts(
        tmp_path, "PART I", "Introduction", PROSE, "CHAPTER I", PROSE, "PART II", "CHAPTER I", PROSE
    )
    assert paths(book) == [
        "PART I",
        "PART I / Introduction",
        "PART I / CHAPTER I",
        "PART II",
        "PART II / CHAPTER I",
    ]


@pytest.mark.parametrize(
    "listed",
    [
        "CHAPTER I\nCHAPTER II\nCHAPTER III",
        "CHAPTER I. Of Rivers\nCHAPTER II. Of Towns\nCHAPTER III. Of Rain\nCHAPTER IV. Of Snow",
        "  I. Of Rivers\n II. Of Towns\nIII. Of Rain",
        "CHAPTER I      1\nCHAPTER II    12\nCHAPTER III   31",
    ],
)
def test_a_list_of_contents_is_text_whose_lines_stay_lines(tmp_path: Path, listed: str) -> None:
    chapters = [part for n in ("CHAPTER I", "CHAPTER II", "CHAPTER III") for part in (n, PROSE)]
    book = read_parts(tmp_path, "Contents", listed, *chapters)
    assert paths(book) == ["Contents", "CHAPTER I", "CHAPTER II", "CHAPTER III"]
    assert book.sections[0].text == listed


def test_pictures_and_notes_are_text_and_no_titles(tmp_path: Path) -> None:
    book = read_parts(
        tmp_path,
        "CHAPTER I",
        "[Illustration]",
        PROSE,
        "CHAPTER II\n[Illustration: A map]",
        PROSE,
        "* * * * *",
        "[Transcriber's Note: Spelling kept.]",
        "CHAPTER III",
        "* * *",
        PROSE,
    )
    assert paths(book) == ["CHAPTER I", "CHAPTER II", "CHAPTER III"]
    first, second, third = (s.text for s in book.sections)
    assert first == f"[Illustration]\n\n{JOINED}"
    assert second.startswith("[Illustration: A map]\n\n")
    assert second.endswith("[Transcriber's Note: Spelling kept.]")
    assert third.startswith("* * *\n\n")


def test_numbered_paragraphs_that_are_no_titles_stay_text(tmp_path: Path) -> None:
    steps = ("1. Open the door", "2. Go to the window", "3. Look at the river")
    assert len(read_parts(tmp_path, PROSE, *steps, PROSE).sections) == 1
    names = ("1. Ann Lee", "2. Bob Ray", "3. Cleo Day")
    assert len(read_parts(tmp_path, PROSE, *names, PROSE).sections) == 1
    replies = ("I. Never!", "II. Always?", "III. Never!")
    assert len(read_parts(tmp_path, *(part for r in replies for part in (r, PROSE))).sections) == 1


def test_a_play_has_acts_and_scenes_and_keeps_its_speeches(tmp_path: Path) -> None:
    book = read_parts(
        tmp_path,
        "HAMLET",
        "by William Shakespeare",
        "ACT I",
        "SCENE I. Elsinore. A platform before the castle.",
        "BERNARDO\nWho's there?",
        "FRANCISCO\nNay, answer me: stand, and unfold yourself.",
        "SCENE II. A room of state.",
        "KING\nThough yet of Hamlet our dear brother's death\nThe memory be green,\nIt us befitted.",
        "ACT II",
        "SCENE I. A room.",
        "Exeunt.",
    )
    assert paths(book) == [
        "ACT I",
        "ACT I / SCENE I. Elsinore. A platform before the castle.",
        "ACT I / SCENE II. A room of state.",
        "ACT II",
        "ACT II / SCENE I. A room.",
    ]
    assert book.sections[1].text.startswith("BERNARDO\nWho's there?\n\nFRANCISCO\nNay,")
    assert book.sections[2].text.split("\n")[1:] == [
        "Though yet of Hamlet our dear brother's death",
        "The memory be green,",
        "It us befitted.",
    ]


SONNET = (
    "From fairest creatures we desire increase,\n"
    "That thereby beauty's rose might never die,\n"
    "But as the riper should by time decease,\n"
    "“His tender heir might bear his memory:\n"
    "  Thy self thy foe, to thy sweet self too cruel."
)


def test_a_book_of_poems_keeps_every_line_even_where_the_lines_are_of_a_length(tmp_path: Path) -> None:
    book = read_parts(tmp_path, "SONNETS", *(part for n in ("I", "II", "III") for part in (n, SONNET)))
    assert (book.title, paths(book)) == ("SONNETS", ["I", "II", "III"])
    assert {s.text for s in book.sections} == {SONNET}


def test_narrow_prose_is_not_verse() -> None:
    narrow = textwrap.wrap(JOINED, 40)
    assert reflow(narrow, measure_width([narrow]))[0] == JOINED
    shouted = [line.upper() for line in narrow]
    assert reflow(shouted, measure_width([shouted]))[0] == JOINED.upper()


MANUAL = """LS(1)                     User Commands                     LS(1)

NAME
       ls - list directory contents

SYNOPSIS
       ls [OPTION]... [FILE]...

DESCRIPTION
       List information about the FILEs (the current directory by default).
       Sort entries alphabetically if none of -cftuvSUX nor --sort is speci‐
       fied on the line.

       -a, --all
              do not ignore entries starting with a dot

SEE ALSO
       dir(1)
"""


def test_the_sections_of_a_manual_page_are_those_in_capitals(tmp_path: Path) -> None:
    book = read_parts(tmp_path, MANUAL)
    assert paths(book)[1:] == ["NAME", "SYNOPSIS", "DESCRIPTION", "SEE ALSO"]
    description = book.sections[3].text
    assert (
        "Sort entries alphabetically if none of -cftuvSUX nor --sort is specified on the line." in description
    )
    assert description.endswith("-a, --all\ndo not ignore entries starting with a dot")


MEMO = """Network Working Group                                          J. Postel
Request for Comments: 9999                                           ISI


                         User Datagram Protocol

Table of Contents

   1. Introduction ............................................. 1
   2. Format ................................................... 2
      2.1. Fields .............................................. 2

1.  Introduction

   This User Datagram Protocol is defined to make available a datagram
   mode of packet-switched computer communication in the



Postel                                                          [Page 1]
\f
RFC 9999                  User Datagram Protocol             August 1980


   environment of an interconnected set of computer networks.

2.  Format

    0      7 8     15 16    23 24    31
   +--------+--------+--------+--------+
   |     Source      |   Destination   |
   +--------+--------+--------+--------+



Postel                                                          [Page 2]
\f
RFC 9999                  User Datagram Protocol             August 1980


2.1.  Fields

   Source Port is an optional field, when meaningful, it indicates the
   port of the sending process.

Postel                                                          [Page 3]
"""


def test_a_memo_in_pages_is_read_as_if_it_had_none(tmp_path: Path) -> None:
    book = read_parts(tmp_path, MEMO)
    contents, introduction, layout, fields = book.sections[1:]
    assert contents.title == "Table of Contents"
    assert contents.text.count("\n") == 2
    assert introduction.heading_path == ("1. Introduction",)
    assert introduction.text == (
        "This User Datagram Protocol is defined to make available a datagram mode of packet-switched "
        "computer communication in the environment of an interconnected set of computer networks."
    )
    assert layout.text.count("\n") == 3
    assert fields.heading_path == ("2. Format", "2.1. Fields")
    assert not any("[Page" in s.text or "August 1980" in s.text for s in book.sections)


def test_a_text_that_only_speaks_of_pages_loses_nothing(tmp_path: Path) -> None:
    text = "See the note on [Page 3] and that on [Page 4], both of them long."
    assert read_parts(tmp_path, text).sections[0].text == text


def test_prose_in_other_shapes_comes_through(tmp_path: Path) -> None:
    assert (
        read_parts(tmp_path, "One enormous line. " * 300).sections[0].text
        == ("One enormous line. " * 300).strip()
    )
    spaced = "\n\n".join(["A line of a text that is typed with gaps."] * 4)
    assert read_parts(tmp_path, spaced).sections[0].text == spaced
    mail = f"> quoted\n> twice\n\nHi Bob,\n\n{PROSE}\n\n-- \nAnn"
    assert (
        read_parts(tmp_path, mail).sections[0].text == f"> quoted\n> twice\n\nHi Bob,\n\n{JOINED}\n\n--\nAnn"
    )


OPENINGS = (
    "*** START OF THE PROJECT GUTENBERG EBOOK THE TALE ***",
    "***START OF THIS PROJECT GUTENBERG EBOOK THE TALE***",
    "*** START OF THE PROJECT GUTENBERG EBOOK THE TALE\nOF ANN ***",
)
ENDINGS = (
    "*** END OF THE PROJECT GUTENBERG EBOOK THE TALE ***",
    "End of Project Gutenberg's The Tale, by Ann Lee",
    "***END OF THIS PROJECT GUTENBERG EBOOK THE TALE***",
)


@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize("ending", ENDINGS)
def test_the_licence_around_a_gutenberg_book_goes(tmp_path: Path, opening: str, ending: str) -> None:
    head = (
        "The Project Gutenberg eBook of The Tale\n\nTitle: The Tale\n\nAuthor: Ann Lee\n\nLanguage: English"
    )
    book = read_parts(
        tmp_path, head, opening, "CHAPTER I", PROSE, "CHAPTER II", PROSE, ending, "Licence " * 50
    )
    assert (book.title, book.authors, book.language) == ("The Tale", ("Ann Lee",), "en")
    assert [(s.title, s.text) for s in book.sections] == [("CHAPTER I", JOINED), ("CHAPTER II", JOINED)]


PARTS = (
    "CHAPTER {}", "{}. Title Of It", "PART {}", "SHOUTED {}", "word{} and more of the text", "{}.", "* it {}",
    "Preface", "NAME {}\n   hanging words {}", "Head {}\n------", "[Illustration {}]", "1.{}. Deep Title",
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PARTS), st.integers(1, 30)), min_size=1, max_size=25))
def test_headings_never_overlap_and_no_line_is_lost(drawn: list[tuple[str, int]]) -> None:
    parts = split_blocks("\n\n".join(part.replace("{}", str(number)) for part, number in drawn))
    found = find_headings(parts)
    taken: set[int] = set()
    for place, head in found.items():
        covers = set(range(place, place + head.takes))
        assert not covers & taken
        taken |= covers
        words = " ".join([head.title, *head.rest])
        shown = " ".join(line for number in sorted(covers) for line in parts[number])
        letters = [c for c in shown if c.isalnum()]
        assert [c for c in words if c.isalnum()] == letters
        assert head.title.strip()
