"""Readings over Japanese and Chinese words stay where they are in the text, and are marked as readings."""

from __future__ import annotations

from pathlib import Path

from octavo.limits import Limits
from octavo.readers import read_book
from octavo.types import ElementKind
from tests.support.japanese import SENTENCE, write_japanese


def test_a_reading_is_marked_after_the_words_that_it_is_of(tmp_path: Path) -> None:
    (section,) = read_book(write_japanese(tmp_path / "neko.epub"), Limits()).sections
    assert SENTENCE in section.text
    words = {
        kind: [section.text[e.start : e.end] for e in section.markup if e.kind is kind]
        for kind in (ElementKind.RUBY, ElementKind.READING)
    }
    assert words == {
        ElementKind.RUBY: ["東(とう)京(きょう)", "住(す)"],
        ElementKind.READING: ["(とう)", "(きょう)", "(す)"],
    }


def test_columns_from_right_to_left_do_not_make_lines_run_that_way(tmp_path: Path) -> None:
    (section,) = read_book(write_japanese(tmp_path / "neko.epub"), Limits()).sections
    assert all(e.attributes.get("dir") != "rtl" for e in section.markup)
    assert "十月31日の朝、猫は坂を下りた。" in section.text
