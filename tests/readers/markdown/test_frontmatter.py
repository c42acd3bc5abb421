"""Front matter: read safely, parted exactly, ignored when it is hostile."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.limits import Limits
from octavo.readers.markdown.frontmatter import split_front_matter

LAUGHS = "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n"


def test_yaml_is_parted_from_the_text() -> None:
    matter = split_front_matter("---\ntitle: A book\nnav_order: 3\ndraft: true\n---\n\n# Hi\n", Limits())
    assert matter.body == "\n# Hi\n"
    assert (matter.get_text("title"), matter.get_number("nav_order"), matter.is_true("draft")) == (
        "A book",
        3.0,
        True,
    )
    assert not matter.warning


def test_toml_is_parted_from_the_text() -> None:
    matter = split_front_matter('+++\ntitle = "A book"\nweight = 2\n+++\nText\n', Limits())
    assert (matter.body, matter.get_text("title"), matter.get_number("weight")) == ("Text\n", "A book", 2.0)


@pytest.mark.parametrize(
    "text",
    [
        "# No front matter\n",
        "---\n\nA rule stands above.\n\n---\n\nMore.",
        "---\nno end",
        "",
        "----\na: b\n----\n",
    ],
)
def test_a_text_without_front_matter_stays_whole(text: str) -> None:
    assert split_front_matter(text, Limits()).body == text


def test_empty_front_matter_is_front_matter() -> None:
    assert split_front_matter("---\n---\nText", Limits()).body == "Text"


@pytest.mark.parametrize(
    "hostile",
    [
        LAUGHS,
        "title: !!python/object/apply:os.system ['true']\n",
        "a: " + "[" * 500 + "]" * 500 + "\n",
        "when: 2024-99-99\n",
        "n: " + "9" * 5000 + "\n",
        "? {a: b}\n: c\n",
    ],
)
def test_hostile_front_matter_is_ignored_with_a_warning(hostile: str) -> None:
    matter = split_front_matter(f"---\n{hostile}---\nText\n", Limits())
    assert matter.body == "Text\n"
    assert not matter.values
    assert "front matter" in matter.warning


def test_front_matter_over_its_limit_is_ignored_with_a_warning() -> None:
    limits = replace(Limits(), max_front_matter_kb=1)
    matter = split_front_matter(f"---\ntitle: {'x' * 2000}\n---\nText\n", limits)
    assert (matter.body, matter.get_text("title")) == ("Text\n", "")
    assert "1 kB" in matter.warning


def test_what_broken_yaml_says_line_by_line_is_saved() -> None:
    matter = split_front_matter(
        "---\ntitle: Logs: how to read them\nslug: /logs\nsidebar_position: 4\n---\nText", Limits()
    )
    assert matter.get_text("title") == "Logs: how to read them"
    assert (matter.get_text("slug"), matter.get_number("sidebar_position")) == ("/logs", 4.0)
    assert "not valid YAML" in matter.warning


def test_authors_may_be_a_name_a_list_or_records() -> None:
    assert split_front_matter("---\nauthor: Ann Lee\n---\n", Limits()).authors == ("Ann Lee",)
    assert split_front_matter("---\nauthors: [Ann, Bob]\n---\n", Limits()).authors == ("Ann", "Bob")
    assert split_front_matter("---\nauthors:\n- name: Ann\n  url: x\n- 7\n---\n", Limits()).authors == (
        "Ann",
    )


def test_values_of_other_kinds_are_no_words_and_no_numbers() -> None:
    matter = split_front_matter("---\ntitle: [a]\nsidebar_label: yes\norder: soon\n---\n", Limits())
    assert matter.get_text("title", "sidebar_label") == ""
    assert matter.get_number("order") is None


@given(st.text(max_size=200))
def test_any_head_gives_a_body_that_ends_the_text(text: str) -> None:
    for whole in (text, f"---\n{text}\n---\nend", f"+++\n{text}\n+++\nend"):
        assert whole.endswith(split_front_matter(whole, Limits()).body)
