"""Texts that were laid out for a printer: margins, lines between pages, broken words."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from octavo.limits import Limits
from octavo.readers.page_ends import join_pages
from octavo.readers.plain import read_plain_text

SENTENCE = "The keeper trims the lamp, and the light of the lamp is seen"
PAGE = f"{SENTENCE}\nfrom the ships.\n\n" * 4 + SENTENCE


def make_pages(count: int, *, head: str) -> str:
    """Make pages that end in the middle of a sentence, with a head between each two."""
    return "".join(f"{PAGE}\n\n\n{head.format(n)}\n\n\nby the men at sea.\n\n" for n in range(1, count + 1))


@pytest.mark.parametrize("head", ["Lamp Guide    {}", "Page {} of 90", "- {} - Lamps 3.6"])
def test_lines_between_pages_are_left_out_and_sentences_go_on(head: str) -> None:
    joined = join_pages(make_pages(6, head=head))
    assert joined.count(f"{SENTENCE}\nby the men at sea.") == 6
    assert "Lamp Guide" not in joined
    assert "90" not in joined
    assert "3.6" not in joined


@pytest.mark.parametrize(
    "text",
    [
        make_pages(4, head="Lamp Guide {}"),  # too few to tell
        "".join(f"Day {n}\n\nThe men rowed on.\n\n" for n in range(1, 9)),  # over a heading nothing goes on
        "".join(f"It rained, and then\n\n{n}\n\nit snowed.\n\n" for n in range(1, 9)),  # only numbers
        "".join(f"Cake\n1 cup sugar\n{n % 4} eggs\nbutter\nflour\n\n" for n in range(9)),  # recipes
        "".join(f"f{n}:\n\n  return {n}\n\nend of it\n\n" for n in range(9)),  # a listing
        "".join(f"{PAGE}\n\n{9 - n} eggs\n\nby the men.\n\n" for n in range(8)),  # does not count up
    ],
)
def test_other_lines_that_count_are_kept(text: str) -> None:
    assert join_pages(text) == text


def test_a_broken_word_is_whole_again_and_keeps_a_hyphen_of_its_own() -> None:
    text = (
        "The mon-\n   sters of the deep are well-\n   known. Two mon-\nsters, it is said, "
        "were seen by Alli-\nson.\n\nMonsters are well-known, and there is a co-\nOperation of ships."
    )
    assert join_pages(text) == (
        "The monsters\n   of the deep are well-\n   known. Two monsters,\nit is said, were seen by Allison.\n"
        "\nMonsters are well-known, and there is a co-\nOperation of ships."
    )


def test_a_margin_does_not_hide_headings(tmp_path: Path) -> None:
    parts = ("1.  Lamps", "2.  Winches", "2.1.  Ropes")
    text = "".join(f"          {head}\n\n               {SENTENCE}.\n\n" for head in parts)
    (tmp_path / "guide.txt").write_text(f"\n\n{text}", encoding="utf-8")
    book = read_plain_text(tmp_path / "guide.txt", Limits())
    assert [section.title for section in book.sections] == ["1. Lamps", "2. Winches", "2.1. Ropes"]


def test_a_text_that_is_not_indented_throughout_keeps_its_indents() -> None:
    text = "The winch:\n\n    haul the rope\n    hold the rope\n\nThat is all.\n"
    assert join_pages(text) == text


def test_long_texts_take_little_time() -> None:
    began = time.process_time()
    for text in ("a" * 1_000_000, "ab-\n" * 200_000, "Page 1\n\n" * 100_000, "a -\n" * 200_000):
        join_pages(text)
    assert time.process_time() - began < 20
