"""A line of a book is cited for its author, title or date only if it says so."""

from __future__ import annotations

import pytest

from octavo.answers.title_page import is_credits, says_author, says_date, says_title

AUTHORS = ("Ada Berg", "Olaf Lind")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("A handbook for pilots by Ada Berg", True),
        ("THE TIDES\nBY\nADA BERG", True),
        ("A handbook by Olaf Lind and Ada Berg.", True),
        ("Written by Olaf Lind, Ada Berg", True),
        ("Authors: Olaf Lind; Ada Berg", True),
        ("The author is Ada Berg", True),
        ("To Ada Berg, who taught me the sea.", False),
        ("Foreword by Ada Berg", False),
        ("Translated by Ada Berg", False),
        ("The cover was designed by Ada Berg", False),
        ("A handbook by Ada Bergson", False),
        ("It stood by the boat of Ada Berg", False),
        ("Ada Berg", False),
    ],
)
def test_a_name_alone_does_not_say_who_wrote_a_book(line: str, said: bool) -> None:
    assert says_author(line, "Ada Berg", authors=AUTHORS, alone=False) is said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Ada Berg", True),
        ("THE TIDES\n\nAda Berg and Olaf Lind", True),
        ("To Ada Berg", False),
        ("Ada Berg was seen at the harbour", False),
    ],
)
def test_on_a_title_page_a_line_of_names_says_it(line: str, said: bool) -> None:
    assert says_author(line, "Ada Berg", authors=AUTHORS, alone=True) is said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("The Tides", True),
        ("THE TIDES\n\nby Ada Berg", True),
        ("The Tides, by Ada Berg", True),
        ("The tides come twice a day", False),
        ("About the tides", False),
    ],
)
def test_only_a_line_of_its_own_says_the_title(line: str, said: bool) -> None:
    assert says_title(line, "The Tides", authors=AUTHORS) is said


def test_a_line_of_commas_is_no_riddle() -> None:
    # It would take longer than the test may if commas and blanks could be split in many ways.
    assert says_author("by Ada Berg" + " , " * 200 + "x", "Jan Cole", authors=AUTHORS, alone=True) is False


def test_an_imprint_may_say_the_date_in_any_words() -> None:
    line = "The second printing, published in Ness in 1987"
    assert says_date(line, imprint=True)
    assert not says_date(line, imprint=False)


@pytest.mark.parametrize(
    ("title", "inside", "at_edge"),
    [
        ("About the Authors", True, True),
        ("1.2 About the authors", True, True),
        ("Authors", False, True),
        ("B. Contributors", False, True),
        ("Tax credits", False, False),
        ("Greek writers", False, False),
    ],
)
def test_a_section_about_the_authors_is_known_by_its_title(title: str, inside: bool, at_edge: bool) -> None:
    assert (is_credits(title, at_edge=False), is_credits(title, at_edge=True)) == (inside, at_edge)
