from __future__ import annotations

import inspect

import pytest

from octavo import errors
from octavo.errors import BAD_BOOK_CODES, BadBook, InvalidValue, NotFound, OctavoError

TREE = [e for _, e in inspect.getmembers(errors, inspect.isclass) if issubclass(e, OctavoError)]


def test_the_docstring_draws_the_whole_tree() -> None:
    drawn = errors.__doc__ or ""
    assert [e.__name__ for e in TREE if e.__name__ not in drawn] == []


def test_every_error_has_a_code_of_its_own() -> None:
    assert len({e.code for e in TREE}) == len(TREE)


@pytest.mark.parametrize("code", BAD_BOOK_CODES)
def test_every_bad_book_says_what_to_do(code: str) -> None:
    bad = BadBook(code, "moby-dick.epub is no book")
    assert (bad.code, bad.message) == (code, "moby-dick.epub is no book")
    assert bad.hint.endswith(".")


def test_an_unknown_bad_book_code_is_a_mistake_of_ours() -> None:
    with pytest.raises(ValueError, match="unknown bad-book code 'odd'"):
        BadBook("odd", "…")


def test_a_long_value_is_shown_in_part() -> None:
    assert len(str(InvalidValue("Book.title", "must be short", "x" * 10_000))) < 120


def test_what_is_not_found_names_what_is_near() -> None:
    missing = NotFound("book", "mobydick", nearest=("moby-dick",), hint="octavo list shows them all")
    assert str(missing) == "no book 'mobydick' here; the nearest are: moby-dick"
    assert isinstance(missing, LookupError)


def test_a_value_that_cannot_be_written_down_is_named_by_its_kind() -> None:
    assert "got a int" in str(InvalidValue("Chunk.start", "must be small", 10**5000))
