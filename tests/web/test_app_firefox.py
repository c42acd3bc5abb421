"""The app in Firefox: a question is asked, and its citation is lit in the book."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support import small_books
from tests.support.answerers import AllSentencesAnswerer, fill_library
from tests.support.browser import serve_page
from tests.support.firefox import FirefoxPage, open_firefox


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("shelf")
    data = fill_library(folder / "library", small_books.write_markdown(folder / "tides.md"))
    with serve_page(data, answerer=AllSentencesAnswerer("boats")) as address:
        yield address


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FirefoxPage]:
    with open_firefox(tmp_path_factory.mktemp("profile")) as page:
        yield page


def test_in_firefox_a_question_is_answered_and_its_citation_lit(firefox: FirefoxPage, base: str) -> None:
    firefox.go(f"{base}/#/books/the-tides")
    firefox.type("#question", "How many boats were lost?")
    claim = firefox.until(
        "document.querySelector('.turn .tools-row') && document.querySelector('.claim').innerText"
    )
    assert "Seven boats were lost with all their nets." in claim
    firefox.click("button.cite")
    marks = "[...document.querySelectorAll('.leaf mark.cited')]"
    lit = firefox.until(f"{marks}.map((mark) => mark.textContent).join('')")
    assert lit == "Seven boats were lost with all their nets."
    box = firefox.until(
        f"{marks}[0].getBoundingClientRect().height > 0 && {marks}[0].getBoundingClientRect()"
    )
    assert 0 <= box["top"] < firefox.evaluate("innerHeight")
    assert firefox.errors == []
