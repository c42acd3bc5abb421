"""Parsed books become sections with stable ids, whole trees of headings and addresses that are valid."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import InvalidValue
from octavo.ingest.edition import (
    CREDENTIALS_LEFT_OUT,
    accept_web_address,
    build_sections,
    choose_title,
    drop_credentials,
    hash_content,
    hash_words,
)
from octavo.readers.parsed import ParsedBook, ParsedSection
from octavo.types import BookFormat, PageMark, Section


def part(
    *path: str, text: str = "Some words.", url: str = "", anchor: str = "", file: str = "b.md"
) -> ParsedSection:
    return ParsedSection(
        title=path[-1], heading_path=path, text=text, source_file=file, url=url, anchor=anchor
    )


def parsed(
    *sections: ParsedSection, title: str = "A Book", format: BookFormat = BookFormat.MARKDOWN
) -> ParsedBook:
    return ParsedBook(title=title, format=format, sections=sections)


def bound(*sections: ParsedSection, base_url: str | None = None) -> tuple[Section, ...]:
    return build_sections(parsed(*sections), book_id="a-book", base_url=base_url)


def hashed(book: ParsedBook, *, title: str = "A Book", source_file: str = "b.md") -> str:
    return hash_content(book, title=title, base_url=None, source_file=source_file)


def test_a_heading_that_is_only_part_of_a_path_becomes_an_empty_section() -> None:
    page = replace(part("Part I", "Chapter 1", text="Opening words."), pages=(PageMark(0, 7, "vii"),))
    above, below = bound(page)
    assert (above.id, above.text, above.ancestors) == ("part-i", "", ())
    assert above.pages == (PageMark(0, 7, "vii"),)
    assert below.ancestors == (above.id,)
    assert (above.position, below.position) == (0, 1)


def test_a_parent_without_a_page_does_not_take_the_address_of_its_first_child() -> None:
    above, below = bound(part("Guides", "Start", url="docs/start"), base_url="https://example.org/")
    assert below.url == "https://example.org/docs/start"
    assert above.url != below.url


def test_sections_of_one_name_are_told_apart_and_keep_their_own_children() -> None:
    first, second, child = bound(part("Notes"), part("Notes"), part("Notes", "Tail"))
    assert (first.id, second.id) == ("notes", "notes~2")
    assert child.ancestors == ("notes~2",)


def test_ids_of_what_did_not_move_stay_when_something_is_inserted() -> None:
    before = {s.id for s in bound(part("One"), part("Two"))}
    after = {s.id for s in bound(part("Zero"), part("One"), part("Two"))}
    assert before < after


@pytest.mark.parametrize(
    ("url", "anchor", "base_url", "expected"),
    [
        ("", "", None, "book://a-book/one"),
        ("ch1.html", "top", None, "book://a-book/one"),
        ("", "", "https://example.org/book/", "https://example.org/book/"),
        ("ch1.html", "", "https://example.org/book", "https://example.org/book/ch1.html"),
        ("ch1.html", "a b", "https://example.org/", "https://example.org/ch1.html#a%20b"),
        ("note: one.html", "", "https://example.org/", "https://example.org/note:%20one.html"),
        ("//evil.example/x", "", "https://example.org/", "https://example.org/evil.example/x"),
        ("https://other.org/p", "x", "https://example.org/", "https://other.org/p#x"),
        ("http://[broken", "", None, "book://a-book/one"),
    ],
)
def test_addresses(url: str, anchor: str, base_url: str | None, expected: str) -> None:
    assert bound(part("One", url=url, anchor=anchor), base_url=base_url)[0].url == expected


titles = st.lists(st.sampled_from(["A", "B", "Ünï", "—", "1", "A b"]), min_size=1, max_size=4)


@given(st.lists(titles, min_size=1, max_size=12))
def test_every_contents_is_a_whole_tree_with_unique_ids(paths: list[list[str]]) -> None:
    sections = bound(*(part(*path) for path in paths))
    by_id = {s.id: s for s in sections}
    assert len(by_id) == len(sections)
    assert [s.position for s in sections] == list(range(len(sections)))
    for section in sections:
        above = [by_id[id_] for id_ in section.ancestors]
        assert [a.heading_path for a in above] == [section.heading_path[:n] for n in range(1, section.level)]
        assert all(a.position < section.position for a in above)


@pytest.mark.parametrize(("given_title", "expected"), [(None, "A Book"), (" Other\n one ", "Other one")])
def test_the_title_is_the_one_given_or_the_books_own(given_title: str | None, expected: str) -> None:
    assert choose_title(parsed(part("One")), given_title) == expected


def test_an_empty_title_is_untitled_when_the_book_has_it_and_refused_when_a_person_gives_it() -> None:
    assert choose_title(parsed(part("One"), title=" \u200b"), None) == "Untitled"
    with pytest.raises(InvalidValue, match="title"):
        choose_title(parsed(part("One")), "  ")


def test_a_long_title_is_shortened() -> None:
    assert len(choose_title(parsed(part("One"), title="word " * 2000), None)) <= 300


def test_the_same_words_in_another_format_have_the_same_words_hash() -> None:
    one = parsed(part("Harbour", text="The ships — at dawn."), format=BookFormat.MARKDOWN)
    other = parsed(part("HARBOUR", text="The   ships - at\ndawn"), format=BookFormat.EPUB)
    assert hash_words(one) == hash_words(other)
    assert hash_words(one) != hash_words(parsed(part("Harbour", text="The ship s at dawn.")))


def test_a_border_between_sections_parts_words_like_any_other() -> None:
    whole = parsed(part("A Book", text="one two three"))
    split = parsed(part("A Book", text="one two"), part("three", text=""))
    assert hash_words(whole) == hash_words(split)


def test_books_without_a_single_word_are_still_told_apart() -> None:
    assert hash_words(parsed(part("A Book", text="∀∃⊢"))) != hash_words(parsed(part("A Book", text="⊢∃∀")))


def test_a_renamed_file_has_the_same_content_hash() -> None:
    first = parsed(part("notes", file="notes.txt"), title="notes")
    renamed = parsed(part("notes copy", file="notes-copy.txt"), title="notes copy")
    original = hashed(first, title="notes", source_file="notes.txt")
    assert hashed(renamed, title="notes", source_file="notes-copy.txt") == original


@pytest.mark.parametrize(
    "changed",
    [
        parsed(part("One", text="Other words.")),
        parsed(part("Two")),
        parsed(part("One", anchor="x")),
        parsed(part("One", url="x.html")),
        parsed(part("One"), part("One", file="c.md")),
        replace(parsed(part("One")), authors=("A. Writer",)),
    ],
)
def test_any_change_of_text_structure_or_address_changes_the_content_hash(changed: ParsedBook) -> None:
    assert hashed(changed) != hashed(parsed(part("One")))


@pytest.mark.parametrize("said", [None, "", "book://x/y", "ftp://x", "https://", "http://a b", "{{ SITE }}"])
def test_what_is_no_address_on_the_web_is_not_taken_for_one(said: str | None) -> None:
    assert accept_web_address(said) is None


def test_a_user_and_a_password_in_a_books_addresses_are_left_out_with_a_warning() -> None:
    page = part("One", url="https://me:secret@example.org/one")
    book = replace(parsed(page, part("Two", url="two")), base_url="https://me:secret@example.org/")
    clean = drop_credentials(book)
    assert clean.base_url == "https://example.org/"
    assert [section.url for section in clean.sections] == ["https://example.org/one", "two"]
    assert clean.warnings == (CREDENTIALS_LEFT_OUT,)
    assert drop_credentials(clean) is clean
