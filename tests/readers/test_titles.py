"""Titles: cleaned, made of file names, compared."""

from __future__ import annotations

import pytest

from octavo.readers.titles import clean_line, is_same_title, make_title


@pytest.mark.parametrize(
    ("stem", "title"),
    [
        ("03-first_steps", "First steps"),
        ("getting-started", "Getting started"),
        ("1984", "1984"),
        ("API", "API"),
        ("___", "Untitled"),
        ("2. Setup", "Setup"),
    ],
)
def test_a_file_name_reads_as_a_title(stem: str, title: str) -> None:
    assert make_title(stem) == title


def test_a_heading_is_one_clean_line_of_bounded_length() -> None:
    assert clean_line("  a\n b\u202e \0c ") == "a b c"
    assert len(clean_line("word " * 4000)) <= 300


def test_titles_are_the_same_whatever_their_case_and_points() -> None:
    assert is_same_title("Chapter I.", "CHAPTER I")
    assert not is_same_title("Chapter I", "Chapter II")
