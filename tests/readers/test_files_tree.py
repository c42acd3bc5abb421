"""The walk over a folder: natural order, nothing from outside, nothing that tools left behind."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.errors import BadBook
from octavo.limits import Limits
from octavo.readers.files import check_sections, find_files, load_file, make_sort_key, resolve_inside
from octavo.readers.parsed import ParsedSection

MD = frozenset((".md",))


def write_files(root: Path, *names: str) -> None:
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {name}\n")


def names(root: Path, found: list[Path]) -> list[str]:
    return [p.relative_to(root).as_posix() for p in found]


def test_chapter_two_comes_before_chapter_ten(tmp_path: Path) -> None:
    write_files(tmp_path, "ch10.md", "ch2.md", "ch1.md", "part2/a.md", "part10/a.md")
    found = names(tmp_path, find_files(tmp_path, MD, Limits()))
    assert found == ["ch1.md", "ch2.md", "ch10.md", "part2/a.md", "part10/a.md"]


def test_only_the_asked_suffixes_are_found_whatever_their_case(tmp_path: Path) -> None:
    write_files(tmp_path, "a.md", "b.MD", "c.txt", "d")
    assert names(tmp_path, find_files(tmp_path, MD, Limits())) == ["a.md", "b.MD"]


def test_hidden_folders_and_what_tools_left_behind_are_no_part_of_a_book(tmp_path: Path) -> None:
    write_files(tmp_path, "a.md", ".git/b.md", "node_modules/x/c.md", "__MACOSX/d.md", ".e.md")
    assert names(tmp_path, find_files(tmp_path, MD, Limits())) == ["a.md"]


def test_a_build_folder_is_skipped_only_beside_its_build_file(tmp_path: Path) -> None:
    write_files(tmp_path, "site/docs/a.md", "site/build/b.md", "book/build/c.md")
    (tmp_path / "site" / "package.json").write_text("{}")
    assert names(tmp_path, find_files(tmp_path, MD, Limits())) == ["book/build/c.md", "site/docs/a.md"]


def test_a_link_that_leads_out_of_the_folder_is_skipped_and_noted(tmp_path: Path) -> None:
    write_files(tmp_path, "book/a.md", "secret.md")
    (tmp_path / "book" / "b.md").symlink_to(tmp_path / "secret.md")
    notes: list[str] = []
    assert names(tmp_path / "book", find_files(tmp_path / "book", MD, Limits(), notes=notes)) == ["a.md"]
    assert notes == ["b.md: skipped, it is a link out of the book"]


def test_a_link_inside_the_folder_is_followed_but_a_loop_of_folders_is_not(tmp_path: Path) -> None:
    write_files(tmp_path, "a.md", "sub/b.md")
    (tmp_path / "c.md").symlink_to(tmp_path / "a.md")
    (tmp_path / "sub" / "again").symlink_to(tmp_path, target_is_directory=True)
    assert names(tmp_path, find_files(tmp_path, MD, Limits())) == ["a.md", "c.md", "sub/b.md"]


def test_more_files_than_a_book_has_are_refused(tmp_path: Path) -> None:
    write_files(tmp_path, *(f"{n}.md" for n in range(6)))
    with pytest.raises(BadBook) as refused:
        find_files(tmp_path, MD, replace(Limits(), max_members=5))
    assert refused.value.code == "too_many_members"


def test_folders_count_as_much_as_files(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"empty{number}").mkdir()
    with pytest.raises(BadBook, match="more than 5 files"):
        find_files(tmp_path, MD, replace(Limits(), max_members=5))
    assert find_files(tmp_path, MD, replace(Limits(), max_members=6)) == []


def test_folders_may_lie_as_deep_as_the_disk_allows(tmp_path: Path) -> None:
    deep = "/".join(["d"] * 800)
    write_files(tmp_path, f"{deep}/a.md")
    assert names(tmp_path, find_files(tmp_path, MD, Limits())) == [f"{deep}/a.md"]


def test_links_that_lead_nowhere_or_to_themselves_are_no_files(tmp_path: Path) -> None:
    write_files(tmp_path, "a.md")
    (tmp_path / "gone.md").symlink_to(tmp_path / "nothing.md")
    (tmp_path / "self.md").symlink_to(tmp_path / "self.md")
    assert names(tmp_path, find_files(tmp_path, MD, Limits())) == ["a.md"]
    assert resolve_inside(tmp_path, tmp_path, "self.md") is None


def test_a_folder_that_is_not_there_is_noted_and_empty(tmp_path: Path) -> None:
    notes: list[str] = []
    assert find_files(tmp_path / "none", MD, Limits(), notes=notes) == []
    assert notes == [".: skipped, it cannot be opened (No such file or directory)"]


def test_a_file_is_loaded_up_to_its_limit(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(b"x" * (1 << 20))
    limits = replace(Limits(), max_member_mb=1)
    assert len(load_file(file, limits)) == 1 << 20
    file.write_bytes(b"x" * ((1 << 20) + 1))
    with pytest.raises(BadBook) as refused:
        load_file(file, limits)
    assert refused.value.code == "too_large"


def test_a_missing_file_or_a_pipe_is_not_found(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    for name in ("none.md", "pipe.md"):
        with pytest.raises(BadBook) as refused:
            load_file(tmp_path / name, Limits())
        assert refused.value.code == "not_found"


@pytest.mark.parametrize(
    "reference",
    [
        "../secret.md",
        "../../etc/passwd",
        "%2e%2e/secret.md",
        "/etc/passwd",
        "C:\\secret.md",
        "..\\secret.md",
        "a\0b",
        "\\\\host\\share",
        "sub/../../secret.md",
        "%2Fetc%2Fpasswd",
        "link/secret.md",
    ],
)
def test_a_reference_that_leads_out_means_nothing(tmp_path: Path, reference: str) -> None:
    write_files(tmp_path, "book/a.md", "secret.md")
    (tmp_path / "book" / "link").symlink_to(tmp_path, target_is_directory=True)
    assert resolve_inside(tmp_path / "book", tmp_path / "book", reference) is None


def test_a_reference_that_stays_inside_is_resolved(tmp_path: Path) -> None:
    write_files(tmp_path, "src/part/a.md", "code/b.rs")
    found = resolve_inside(tmp_path, tmp_path / "src" / "part", "../../code/b.rs")
    assert found == (tmp_path / "code" / "b.rs").resolve()


@given(st.lists(st.text(max_size=12), max_size=8))
def test_natural_order_is_an_order_for_any_names(words: list[str]) -> None:
    once = sorted(words, key=make_sort_key)
    assert sorted(once, key=make_sort_key) == once


def section(text: str) -> ParsedSection:
    return ParsedSection(title="A", heading_path=("A",), text=text, source_file="a.md")


def test_a_book_without_text_and_a_book_with_too_much_are_refused() -> None:
    for text, code in (("", "no_text"), ("x" * ((1 << 20) + 1), "too_large")):
        with pytest.raises(BadBook) as refused:
            check_sections([section(text)], replace(Limits(), max_text_mb=1), name="a.md")
        assert refused.value.code == code
