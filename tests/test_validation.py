"""The rules that the table in `seeds` does not reach, and those that are properties."""

from __future__ import annotations

import math
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo import validation
from octavo.errors import InvalidValue
from octavo.types import BookFormat


@given(st.floats())
def test_a_share_is_taken_exactly_from_0_to_1(value: float) -> None:
    if 0 <= value <= 1:
        validation.check_share("x", value)
    else:
        with pytest.raises(InvalidValue):
            validation.check_share("x", value)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1).filter(lambda v: math.hypot(*v) > 1e-6))
def test_what_is_divided_by_its_length_is_a_unit_vector(numbers: list[float]) -> None:
    length = math.hypot(*numbers)
    validation.check_unit_vector("x", [n / length for n in numbers], size=len(numbers))
    with pytest.raises(InvalidValue, match=f"must have {len(numbers) + 1} numbers"):
        validation.check_unit_vector("x", [n / length for n in numbers], size=len(numbers) + 1)


@pytest.mark.parametrize(
    "value",
    [
        "https://example.org:99999/",
        "http://:80/",
        "ftp://a/b",
        "https://[::1",
        "https://a/\n",
        "book:",
        "//a/b",
    ],
)
def test_what_no_browser_would_open_is_no_url(value: str) -> None:
    with pytest.raises(InvalidValue, match=r"x must be a valid URL"):
        validation.check_url("x", value)


@pytest.mark.parametrize(
    "value", ["book://война-и-мир/часть-1", "http://[::1]:80/", "HTTPS://EXAMPLE.ORG/#:~:text=a"]
)
def test_urls_of_books_and_of_the_web_are_taken(value: str) -> None:
    validation.check_url("x", value)


def test_a_string_that_a_database_refuses_is_refused_first() -> None:
    validation.check_storable("x", "")
    for wrong in ("a\0", "\ud83d"):
        with pytest.raises(InvalidValue, match="no lone surrogates and no NUL"):
            validation.check_text("x", wrong)


def test_json_that_nests_without_end_is_refused() -> None:
    endless: dict[str, object] = {}
    endless["self"] = endless
    with pytest.raises(InvalidValue, match="must be a JSON object"):
        validation.check_json_object("x", endless)


def test_members_spans_and_moments_are_refused_by_name() -> None:
    assert validation.to_member("x", "pdf", BookFormat) is BookFormat.PDF
    with pytest.raises(InvalidValue, match=r"x must be one of text, markdown.*; got 'djvu'"):
        validation.to_member("x", "djvu", BookFormat)
    with pytest.raises(InvalidValue, match=r"x\.end must be greater than start \(3\); got 3"):
        validation.check_span("x", 3, 3)
    with pytest.raises(InvalidValue, match="with a time zone"):
        validation.check_datetime("x", datetime(2025, 1, 1))
