"""Who wrote a book, found on its title page where nothing else says so."""

from __future__ import annotations

import pytest

from octavo.readers.byline import find_byline
from octavo.readers.parsed import ParsedSection


def find(text: str, *, title: str = "The Tides") -> tuple[str, ...]:
    return find_byline("The Tides", [make_section("Before", "By no means all."), make_section(title, text)])


def make_section(title: str, text: str) -> ParsedSection:
    return ParsedSection(title=title, heading_path=(title,), text=text, source_file="tides.md")


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("by Ada Berg", ("Ada Berg",)),
        ("Written by Ada Berg and Jan van der Cole", ("Ada Berg", "Jan van der Cole")),
        (
            "by Ada Berg, J. R. Cole, and Mia O’Neill, with contributions from the harbour",
            ("Ada Berg", "J. R. Cole", "Mia O’Neill"),
        ),
        ("*by Ada Berg*", ("Ada Berg",)),
    ],
)
def test_a_line_of_names_on_the_title_page_is_the_authors(line: str, names: tuple[str, ...]) -> None:
    assert find(f"A book about the sea\n\n{line}\n\nThe sea rises and falls.") == names


@pytest.mark.parametrize(
    "line",
    [
        "by the sea and the wind",
        "By Monday the boats were lost.",
        "By Ada Berg’s account the boats were lost in one night of storm",
        "Foreword by Ada Berg",
        "The boats were built by Ada Berg",
        # What would take ages if names could be split in many ways.
        "by " + "A-" * 95 + "!",
    ],
)
def test_other_lines_name_no_author(line: str) -> None:
    assert find(f"A book about the sea\n\n{line}\n\nThe sea rises.") == ()


def test_only_the_title_page_is_looked_at() -> None:
    assert find("by Ada Berg", title="The moon") == ()
    assert find("\n\n".join(["A line."] * 9 + ["by Ada Berg"])) == ()
    assert find_byline("The Tides", []) == ()
