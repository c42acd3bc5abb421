"""The part of a book that a reader names: by number, ordinal, title or position."""

from __future__ import annotations

from dataclasses import replace

import pytest

from octavo.answers.parts import LONGEST, Extent, find_untold_title, is_titled, keep_visible, resolve_part
from octavo.types import Section
from tests.support.builders import make_section

NOVEL = (
    "Title Page",
    "Chapter 1. Loomings.",
    "Chapter 2. The Inn.",
    "Chapter 10. The Chase.",
    "Epilogue",
    "Index",
)
LONG = "The sea was calm that day and nobody said a word. " * 80


def make_book(titles: tuple[str, ...], *, files: tuple[str, ...] = ()) -> list[Section]:
    """Make chapters with these titles, and a section "On TITLE" under each of the even ones."""
    made: list[Section] = []
    for number, title in enumerate(titles):
        file = files[number] if files else "book.md"
        chapter = make_section(f"c{number}", heading_path=(title,), position=len(made), text=LONG)
        made.append(replace(chapter, source_file=file))
        if number % 2 == 0:
            below = make_section(
                f"c{number}-on", heading_path=(title, f"On {title}"), position=len(made), text=LONG
            )
            made.append(replace(below, source_file=file, ancestors=(chapter.id,)))
    return made


@pytest.mark.parametrize("name", ["the guidebook", "this handbook", "the whole manual"])
def test_a_word_for_a_book_means_all_of_it(name: str) -> None:
    part = resolve_part(name, make_book(NOVEL))
    assert part is not None
    assert part.whole_book


@pytest.mark.parametrize("name", ["page 2", "the notebook", "the page on whales"])
def test_what_no_title_has_is_no_part(name: str) -> None:
    assert resolve_part(name, make_book(NOVEL)) is None


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("chapter 1", "Chapter 1. Loomings."),
        ("Chapter ten", "Chapter 10. The Chase."),
        ("ch. X", "Chapter 10. The Chase."),
        ("the first chapter", "Chapter 1. Loomings."),
        ("the 2nd chapter", "Chapter 2. The Inn."),
        ("the last chapter", "Epilogue"),
        ("the chapter on the inn", "Chapter 2. The Inn."),
        ("the loomings chapter", "Chapter 1. Loomings."),
        ("the chase page", "Chapter 10. The Chase."),
        ("the page on the inn", "Chapter 2. The Inn."),
        ("“The Chase”", "Chapter 10. The Chase."),
        ("epilogue", "Epilogue"),
    ],
)
def test_a_chapter_is_found_by_number_ordinal_or_title(name: str, first: str) -> None:
    part = resolve_part(name, make_book(NOVEL))
    assert part is not None
    assert part.sections[0].title == first
    assert {section.ancestors for section in part.sections[1:]} <= {(part.sections[0].id,)}


@pytest.mark.parametrize(
    "name",
    [
        *("chapter 7", "chapter 99", "the part on dragons", "the weather", "", "the 40th chapter"),
        *("part 2", "appendix 2", "act 1", "the last letter", "the first day", "👍", "***", "it"),
        *("end of " * 15 + "the book", "x" * (LONGEST + 1), "the end of the end"),
    ],
)
def test_a_part_that_is_not_there_is_none(name: str) -> None:
    assert resolve_part(name, make_book(NOVEL)) is None
    assert resolve_part(name, []) is None


def test_the_whole_book_is_its_chapters_without_what_stands_around_them() -> None:
    part = resolve_part("this book", make_book(NOVEL))
    assert part is not None
    assert part.whole_book
    assert [section.title for section in part.sections] == [
        "Chapter 1. Loomings.", "Chapter 2. The Inn.", "Chapter 10. The Chase.", "Epilogue",
    ]  # fmt: skip


def test_the_end_of_a_book_is_its_last_chapter_with_an_epilogue() -> None:
    part = resolve_part("the end of the book", make_book(NOVEL))
    assert part is not None
    assert part.extent is Extent.END
    assert [section.id for section in part.sections] == ["c3", "c4", "c4-on"]


def test_the_introduction_of_a_chapter_is_its_own_text() -> None:
    part = resolve_part("the introduction of chapter 2", make_book(NOVEL))
    assert part is not None
    assert [section.id for section in part.sections] == ["c2"]


def test_chapters_without_numbers_are_found_by_their_files_or_counted() -> None:
    titles = ("Foreword", "Error Handling", "Smart Pointers")
    filed = resolve_part(
        "chapter 9", make_book(titles, files=("foreword.md", "ch09-00-errors.md", "ch15-00.md"))
    )
    counted = resolve_part("chapter 2", make_book(titles))
    assert filed is not None
    assert counted is not None
    assert (filed.sections[0].title, counted.sections[0].title) == ("Error Handling", "Smart Pointers")


def test_a_numbered_section_is_not_taken_for_another_number() -> None:
    sections = make_book(("1. Start", "1.1. Install", "11. End"))
    found = [resolve_part(name, sections) for name in ("section 1.1", "section 1", "section 11")]
    assert [part and part.sections[0].title for part in found] == ["1.1. Install", "1. Start", "11. End"]


def test_a_chapter_whose_text_stands_under_it_is_told_by_its_first_section() -> None:
    sections = [replace(s, text="") if not s.ancestors else s for s in make_book(NOVEL)]
    book = resolve_part("the book", sections)
    start = resolve_part("the beginning of chapter 2", sections)
    assert book is not None
    assert start is not None
    assert [section.id for section in book.sections] == ["c1", "c2-on", "c3", "c4-on"]
    assert [section.id for section in start.sections] == ["c2-on"]


def test_what_the_reader_may_not_see_is_left_out_of_a_part() -> None:
    part = resolve_part("chapter 2", make_book(NOVEL))
    assert part is not None
    seen = keep_visible(part, {"c2-on"})
    assert seen is not None
    assert [section.id for section in seen.sections] == ["c2-on"]
    assert keep_visible(part, {"c1"}) is None


def test_a_title_page_is_no_chapter() -> None:
    sections = make_book(("Loomings", "The Inn", "The Chase"))
    page = make_section("t", heading_path=("The Whale",), position=0, text="Copyright 1851 by H. Melville.")
    book = [page, *(replace(section, position=section.position + 1) for section in sections)]
    part = resolve_part("chapter 2", book)
    assert part is not None
    assert part.sections[0].title == "The Inn"


@pytest.mark.parametrize("name", ["chapter 3", "part III", "section three"])
def test_a_roman_number_before_a_title_is_its_own(name: str) -> None:
    part = resolve_part(name, make_book(("Cover", "I. The Burial", "II. A Game", "III. The Fire")))
    assert part is not None
    assert part.sections[0].title == "III. The Fire"


def test_a_chapter_has_the_number_of_its_sections() -> None:
    sections = make_book(("Scope", "Applying", "Duties"))
    numbered = [
        replace(section, title="4.1 Lists", heading_path=(section.heading_path[0], "4.1 Lists"))
        if section.ancestors == (sections[0].id,)
        else section
        for section in sections
    ]
    part = resolve_part("chapter 4", numbered)
    assert part is not None
    assert part.sections[0].title == "Scope"


def test_the_notes_are_not_the_end_of_a_book() -> None:
    part = resolve_part(
        "the end of the poem", make_book(("The Fire", "What the Thunder Said", "Notes on the Poem"))
    )
    assert part is not None
    assert part.sections[-1].title == "What the Thunder Said"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("chapter 1", "Chapter 1. Loomings."),
        ("the last chapter", "Epilogue"),
        ("chapter III", "III: Of Individuality"),
        ("chapter five", ""),
        ("the loomings chapter", ""),
        ("epilogue", ""),
        ("the end of chapter 1", ""),
        ("the beginning of chapter 1", ""),
        ("the start of the story", ""),
        ("the whole book", ""),
    ],
)
def test_a_title_is_told_that_the_reader_did_not_name(name: str, told: str) -> None:
    part = resolve_part(name, make_book((*NOVEL[:4], "III: Of Individuality", "Chapter 5", "Epilogue")))
    assert part is not None
    assert find_untold_title(part, name) == told


def test_a_chapter_without_text_of_its_own_keeps_its_title() -> None:
    sections = make_book(("Chapter 1: Whales", "Chapter 2: Ships"))
    part = resolve_part("chapter 1", sections)
    assert part is not None
    seen = keep_visible(part, {"c0-on"})
    assert seen is not None
    assert find_untold_title(seen, "chapter 1") == "Chapter 1: Whales"


def test_the_title_of_a_book_means_the_book() -> None:
    book = make_book(NOVEL)
    whole = resolve_part("this book", book)
    assert resolve_part("moby dick", book, title="Moby-Dick; or, The Whale") == whole
    assert resolve_part("the end of Moby Dick", book, title="Moby Dick") == resolve_part("the end", book)
    assert resolve_part("moby dick", book, title="Emma") is None


def test_the_heading_of_a_title_page_means_the_book() -> None:
    page = make_section("t", heading_path=("MOBY DICK",), position=0, text="Herman Melville (1851)")
    book = [page, *(replace(s, position=s.position + 1) for s in make_book(NOVEL[1:]))]
    for title in ("Moby-Dick; or, The Whale", "moby.txt"):
        part = resolve_part("the end of Moby Dick", book, title=title)
        assert part is not None
        assert part.extent is Extent.END
        assert part == resolve_part("the end", book)


def test_the_heading_above_all_chapters_means_the_book() -> None:
    above = make_section("t", heading_path=("Moby-Dick",), position=0, text="")
    under = (replace(s, position=s.position + 1, ancestors=("t", *s.ancestors)) for s in make_book(NOVEL))
    book = [above, *under]
    part = resolve_part("the end of moby dick", book, title="Moby-Dick")
    assert part is not None
    assert part == resolve_part("the end", book, title="Moby-Dick")
    whole = resolve_part("moby dick", book, title="Moby-Dick")
    assert whole is not None
    assert whole.whole_book


@pytest.mark.parametrize("name", ["Chapter 1", "Introduction", "Letter 1", "Overview", "The Road Not Taken"])
def test_a_short_part_with_a_sentence_is_no_title_page(name: str) -> None:
    for titles in ((name, "Chapter 2", "Chapter 3"), ("Chapter 0", name, "Chapter 2")):
        made = (make_section(t, heading_path=(t,), position=n, text=LONG) for n, t in enumerate(titles))
        book = [replace(section, text="A dog barked.") if section.id == name else section for section in made]
        part = resolve_part(name.lower(), book, title="The Road Not Taken: Poems")
        assert part is not None
        assert not part.whole_book
        assert [section.title for section in part.sections] == [name]


@pytest.mark.parametrize(
    ("name", "title"), [("the end", "The End: A Novel"), ("part 2", "Part 2: The Return")]
)
def test_an_end_and_a_number_mean_a_part_whatever_the_title_is(name: str, title: str) -> None:
    book = make_book(("Part 1", "Part 2", "Part 3"))
    assert resolve_part(name, book, title=title) == resolve_part(name, book)


@pytest.mark.parametrize(
    "title", ["Moby-Dick: The Whale", "Moby-Dick, or The Whale", "Moby-Dick – The Whale", "Moby-Dick - 1"]
)
def test_the_first_part_of_a_title_is_the_title(title: str) -> None:
    assert is_titled("moby dick", title)
    assert not is_titled("the whale", title)


def test_a_story_with_the_title_of_the_book_is_the_story() -> None:
    part = resolve_part("the inn", make_book(("The Chase", "The Inn", "The Line")), title="The Inn")
    assert part is not None
    assert part.sections[0].title == "The Inn"


def test_a_numbered_chapter_with_the_title_of_the_book_leaves_the_title_to_the_book() -> None:
    book = make_book(NOVEL)
    for title in ("The Inn", "The Inn; or, the Chase"):
        assert resolve_part("the inn", book, title=title) == resolve_part("the book", book)
        assert resolve_part("the end of The-Inn", book, title=title) == resolve_part("the end", book)
        part = resolve_part("the chapter on the inn", book, title=title)
        assert part is not None
        assert part.sections[0].title == "Chapter 2. The Inn."


def put_below(book: list[Section], chapter: str, *titles: str) -> list[Section]:
    """Put headings under a chapter."""
    at = next(n for n, section in enumerate(book) if section.id == chapter)
    made = (
        replace(make_section(f"{chapter}.{t}", heading_path=(chapter, t), text=LONG), ancestors=(chapter,))
        for t in titles
    )
    joined = [*book[: at + 1], *made, *book[at + 1 :]]
    return [replace(section, position=n) for n, section in enumerate(joined)]


def test_numbered_headings_within_one_page_number_no_chapters() -> None:
    files = ("preface.md", "ch01-start.md", "ch02-types.md")
    book = put_below(
        make_book(("About", "Start", "Types"), files=files), "c0", "1. Quizzes", "2. Notes", "III. Thanks"
    )
    found = [resolve_part(name, book) for name in ("chapter 2", "the first chapter", "section 2")]
    assert [part and part.sections[0].title for part in found] == ["Types", "Start", "2. Notes"]


def test_numbered_headings_that_begin_anew_in_each_chapter_number_no_chapters() -> None:
    book = put_below(make_book(("Start", "Types", "Traits")), "c0", "1. Aim", "2. Plan")
    book = put_below(book, "c2", "1. Aim", "2. Plan")
    part = resolve_part("chapter 2", book)
    assert part is not None
    assert part.sections[0].title == "Types"


def test_numbered_headings_that_count_on_from_part_to_part_number_the_chapters() -> None:
    book = put_below(make_book(("Youth", "Age")), "c0", "1. The Farm", "2. The Road")
    book = put_below(book, "c1", "3. The House")
    part = resolve_part("chapter 3", book)
    assert part is not None
    assert part.sections[0].title == "3. The House"


def test_a_title_is_found_without_its_apostrophe() -> None:
    book = make_book(("The Attack", "Silver’s Embassy"))
    for name in ("silvers embassy", "Silver's Embassy", "the end of silvers embassy"):
        part = resolve_part(name, book)
        assert part is not None
        assert part.sections[0].title == "Silver’s Embassy"
