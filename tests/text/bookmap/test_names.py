"""Capitalised runs: where they begin and end, and what stands around them."""

from __future__ import annotations

import pytest

from octavo.text.bookmap.marks import Cue
from octavo.text.bookmap.names import RUN_MOST
from octavo.text.bookmap.scan import mark_section
from octavo.types import Span


def find_runs(text: str) -> list[str]:
    return [text[run.start : run.end] for run in mark_section(text).runs]


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("we saw Captain Ahab there", ["Captain Ahab"]),
        ("off the Cape of Good Hope and on", ["Cape of Good Hope"]),
        ("with Ahab’s Boat and crew", ["Ahab", "Boat"]),
        ("near James' house", ["James"]),
        ("I said to Mr. Starbuck that I go", ["Mr. Starbuck"]),
        ("a letter to J. R. Miller came", ["J. R. Miller"]),
        ("by Queequeg and Ishmael", ["Queequeg", "Ishmael"]),
        ("the painter Vincent van Gogh died", ["Vincent van Gogh"]),
        ("the field Build-Depends lists it", ["Build-Depends"]),
        ("see https://Example.org/Path for more", []),
    ],
)
def test_a_run_is_what_a_reader_takes_for_a_name(text: str, runs: list[str]) -> None:
    assert find_runs(text) == runs


@pytest.mark.parametrize(
    ("text", "name", "cue"),
    [
        ("Nobody came. Ahab slept.", "Ahab", Cue.OPENS),
        ("They shouted: “Ahab is here.”", "Ahab", Cue.OPENS),
        ("THE WHITE WHALE", "THE WHITE WHALE", Cue.TITLE_CASE),
        ("they saw the Pequod sail", "Pequod", Cue.THE),
        ("they lived in Nantucket then", "Nantucket", Cue.PLACE),
        ("and “no,” said Stubb at last", "Stubb", Cue.SPEAKS),
        ("there was Peleg, who owned her", "Peleg", Cue.PERSON),
        ("he was a Quaker by birth", "Quaker", Cue.ONE_OF),
        ("and that was Ahab’s leg", "Ahab", Cue.OWNS),
        ("a man named Bulkington came", "Bulkington", Cue.NAMED),
    ],
)
def test_a_run_has_cues_of_what_stands_around_it(text: str, name: str, cue: Cue) -> None:
    found = {text[run.start : run.end]: Cue(run.cues) for run in mark_section(text).runs}
    assert cue in found[name]


def test_code_has_no_names() -> None:
    text = "Call it so:\n\nlet Ahab = Whale::New();\n\nthen Ishmael came."
    blocks = [Span(text.index("let"), text.index(";") + 1)]
    assert "Ahab" in find_runs(text)
    marked = mark_section(text, blocks)
    assert "Ahab" not in [text[run.start : run.end] for run in marked.runs]


def test_a_long_line_of_capitals_is_cut() -> None:
    marked = mark_section("we saw " + "Xx" * 5_000 + " there")
    assert all(run.end - run.start <= RUN_MOST for run in marked.runs)
