"""What a folder is: one book, or a shelf of several, each once and in its best format."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.limits import Limits
from octavo.readers.folders import find_books


def make(root: Path, *names: str) -> Path:
    """Files of these names, with nothing that matters in them."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("words")
    return root


def find(root: Path) -> list[list[str]]:
    books = find_books(root, Limits())
    return [[path.relative_to(root).as_posix() for path in formats] for formats in books]


@pytest.mark.parametrize(
    "names",
    [
        ("book.toml", "src/SUMMARY.md", "src/a.md", "extra/one.pdf", "extra/two.epub"),
        ("docusaurus.config.js", "docs/a.md", "static/a.pdf", "static/b.pdf"),
        ("index.html", "a.html", "b.html", "c.html", "downloads/a.pdf", "downloads/b.epub"),
        ("one.md", "two.md", "three.pdf"),
        ("only.epub", "readme.md"),
    ],
)
def test_a_folder_that_is_one_book_stays_one(tmp_path: Path, names: tuple[str, ...]) -> None:
    assert find(make(tmp_path, *names)) == [["."]]


def test_each_book_of_a_shelf_is_found_once_in_its_best_format(tmp_path: Path) -> None:
    make(tmp_path, "a.pdf", "A.epub", "a.txt", "b.pdf", "README.md", ".hidden.epub", "cover.jpg")
    assert find(tmp_path) == [["A.epub", "a.pdf", "a.txt"], ["b.pdf"]]


def test_folders_in_a_shelf_are_books_or_shelves_themselves(tmp_path: Path) -> None:
    make(tmp_path, "a.epub", "Melville/Moby/moby.epub", "Melville/Moby/moby.pdf", "Melville/Typee/typee.epub")
    make(tmp_path, "rust/book.toml", "rust/src/SUMMARY.md", "site/index.html", "site/b.html", "notes/x.txt")
    assert sorted(find(tmp_path)) == [
        ["Melville/Moby/moby.epub", "Melville/Moby/moby.pdf"],
        ["Melville/Typee/typee.epub"],
        ["a.epub"],
        ["notes/x.txt"],
        ["rust"],
        ["site"],
    ]


def test_projects_side_by_side_are_books_of_their_own(tmp_path: Path) -> None:
    make(tmp_path, "README.md", "one/book.toml", "one/src/SUMMARY.md", "two/book.toml", "two/src/SUMMARY.md")
    assert find(tmp_path) == [["one"], ["two"]]


def test_a_shelf_may_have_more_files_than_a_book(tmp_path: Path) -> None:
    make(tmp_path, *(f"{number}.epub" for number in range(12)))
    assert len(find_books(tmp_path, Limits(max_members=10))) == 12


def test_a_folder_without_anything_to_read_has_no_books(tmp_path: Path) -> None:
    assert find(make(tmp_path, "cover.jpg", "song.mp3")) == []
