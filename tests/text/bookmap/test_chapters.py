"""Chapters: which headings begin one."""

from __future__ import annotations

from dataclasses import replace

from octavo.text.bookmap.chapters import find_descendants, list_chapters
from octavo.types import Section
from tests.support.mapped_books import make_map, make_section


def make_tree(*rows: tuple[str, str, tuple[str, ...]]) -> list[Section]:
    """Sections from id, text and ancestors."""
    return [
        replace(make_section(text, title=name, position=number), id=name, ancestors=above)
        for number, (name, text, above) in enumerate(rows)
    ]


def name_chapters(sections: list[Section]) -> list[str]:
    return [sections[number].id for number in list_chapters(sections)]


def test_top_headings_are_chapters() -> None:
    tree = make_tree(("a", "Text.", ()), ("a1", "Text.", ("a",)), ("b", "", ()), ("b1", "Text.", ("b",)))
    assert name_chapters(tree) == ["a", "b"]
    assert find_descendants(tree, 0) == [0, 1]


def test_the_title_of_the_book_is_no_chapter() -> None:
    tree = make_tree(("title", "", ()), ("a", "Text.", ("title",)), ("b", "Text.", ("title",)))
    assert name_chapters(tree) == ["a", "b"]
    assert name_chapters([replace(tree[0], text="A preface."), *tree[1:]]) == ["title", "a", "b"]


def test_a_part_is_a_group_of_chapters() -> None:
    tree = make_tree(
        ("part", "", ()),
        ("a", "", ("part",)),
        ("a1", "Text.", ("part", "a")),
        ("b", "Text.", ("part",)),
        ("b1", "Text.", ("part", "b")),
        ("end", "Text.", ()),
    )
    assert name_chapters(tree) == ["a", "b", "end"]


def test_a_volume_is_a_group_of_what_is_called_chapters() -> None:
    tree = make_tree(
        ("volume 1", "", ()),
        ("chapter 1", "Text.", ("volume 1",)),
        ("chapter 2", "Text.", ("volume 1",)),
        ("volume 2", "", ()),
        ("Chapter 3", "Text.", ("volume 2",)),
    )
    assert name_chapters(tree) == ["chapter 1", "chapter 2", "Chapter 3"]


def test_the_gist_of_a_chapter_covers_its_sections() -> None:
    said = "The {} stands on the northern point of the harbour and can be seen for miles."
    rows = [(f"a{n}", said.format(name), ("a",)) for n, name in enumerate(["lamp", "tower", "house", "wall"])]
    opened = make_map(make_tree(("a", "", ()), *rows, ("b", "Nothing here is long.", ())))
    chapter = opened.list_chapters()[0]
    assert [quote.section_id for quote in chapter.gist] == ["a0", "a1", "a2", "a3"]


def test_no_sections_have_no_chapters() -> None:
    assert list_chapters([]) == []
