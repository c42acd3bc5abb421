"""Heading ids as GitHub, Docusaurus and mdBook make them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.readers.sections import Anchors, make_github_anchor, make_mdbook_anchor


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Hello, World!", "hello-world"),
        ("What is `match`?", "what-is-match"),
        ("Appendix D - Useful Tools", "appendix-d---useful-tools"),
        ("v0.27.0", "v0270"),
        ("snake_case & more", "snake_case--more"),
        ("Über uns", "über-uns"),
        ("第1章 はじめに", "第1章-はじめに"),
        ("हिन्दी", "हिन्दी"),
        ("🚀 Launch", "-launch"),
    ],
)
def test_ids_follow_the_publishing_tools(title: str, expected: str) -> None:
    assert make_github_anchor(title) == expected
    assert make_mdbook_anchor(title) == expected


def test_mdbook_trims_where_github_does_not() -> None:
    assert (make_github_anchor(" a b "), make_mdbook_anchor(" a b ")) == ("-a-b-", "a-b")


def test_repeated_headings_count_up() -> None:
    page = Anchors()
    assert [page.make("Example") for _ in range(3)] == ["example", "example-1", "example-2"]


def test_a_counted_id_that_is_taken_is_passed_over() -> None:
    page = Anchors()
    assert [page.make(t) for t in ("Foo", "Foo 1", "Foo")] == ["foo", "foo-1", "foo-2"]


def test_an_explicit_id_is_taken_as_it_is() -> None:
    page = Anchors()
    assert page.make("Anything", "my-id") == "my-id"
    assert page.make("My id") == "my-id-1"


@given(st.lists(st.sampled_from(["a", "A", "a 1", "a-1", "b", "a 1 1"]), max_size=12))
def test_ids_of_a_page_are_never_the_same(titles: list[str]) -> None:
    page = Anchors()
    made = [page.make(t) for t in titles]
    assert len(set(made)) == len(made)
