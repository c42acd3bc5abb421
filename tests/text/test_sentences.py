"""Sentences cover the text exactly, end where people say they end, and cost no more for strange text."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.text.blocks import list_blocks, split_code
from octavo.text.layout import read_layout
from octavo.text.sentences import SENTENCE_MOST, UNBROKEN_MOST, split_sentences
from octavo.types import Span
from octavo.types.markup import check_nesting

LETTERS = st.sampled_from(list("abZ .!?,;\n\t-|#>1)(\"'”。！」と、漢ถ؟।é\u0301👩\u200d👧\u00a0…[]"))


def split(text: str, *, blocks: tuple[Span, ...] = ()) -> list[str]:
    """Split a text whose lines of code and tables are known, each line of code by itself."""
    lines = split_code(text, list_blocks(text, read_layout(text, kept=blocks)))
    return [text[s.start : s.end] for s in split_sentences(text, blocks=lines)]


def assert_exact(text: str, spans: list[Span]) -> None:
    """Every character that is not blank lies in one span; spans are in order, trimmed and short enough."""
    kept = [False] * len(text)
    for span in spans:
        content = text[span.start : span.end]
        assert content == content.strip() != ""
        assert len(content) <= UNBROKEN_MOST
        for place in range(span.start, span.end):
            assert not kept[place]
            kept[place] = True
    assert all(keep or character.isspace() for keep, character in zip(kept, text, strict=True))
    assert all(one.end <= other.start for one, other in pairwise(spans))


@settings(max_examples=300, deadline=None)
@given(st.text(LETTERS, max_size=120) | st.text(max_size=120))
def test_sentences_cover_any_text_exactly(text: str) -> None:
    assert_exact(text, split_sentences(text))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(LETTERS, min_size=1, max_size=30), min_size=1, max_size=6), st.data())
def test_sentences_cover_any_text_with_blocks_exactly(stretches: list[str], data: st.DataObject) -> None:
    text, blocks = "", []
    for stretch in stretches:
        if data.draw(st.booleans()):
            blocks.append(Span(len(text), len(text) + len(stretch)))
        text += stretch
    layout = read_layout(text, kept=blocks)
    check_nesting("layout", layout, len(text))
    assert_exact(text, split_sentences(text, blocks=list_blocks(text, layout)))
    assert_exact(text, split_sentences(text, blocks=split_code(text, list_blocks(text, layout))))


@settings(max_examples=20, deadline=None)
@given(st.text(LETTERS, min_size=1, max_size=8), st.integers(100, 2_000))
def test_long_repetitions_are_covered_exactly(unit: str, times: int) -> None:
    assert_exact(unit * times, split_sentences(unit * times))


@pytest.mark.parametrize(
    "parts",
    [
        ["Dr. Smith went to Washington, D.C.", "He met Mr. Jones at 3.5 p.m. on Jan. 5."],
        ["It was written by J. R. R. Tolkien.", "Everyone has read it."],
        ["Version 2.0.1 is out.", "See Fig. 3.2 for details."],
        ["It costs $3.50.", "That's cheap."],
        ["Wait... what?", "Yes!", "No."],
        ["The U.S. Army and e.g. the Navy came, i.e. both.", "They left."],
        ["See p. 12 (and pp. 14-16).", "Then read on."],
        ["Visit https://example.com/a.b?c=d.", "Then go."],
        ["Call foo.bar() now.", "Then x = 3.14."],
        ["No. 5 is alive.", "Is it No. 5?", "No.", "He left."],
        ["St. John's Wood vs. the others.", "Who won?"],
        ["…and then… he fell.", "He rose."],
        ["In a job we do not like (do you know one?), we hardly breathe.", "It is so."],
        ["“Is it so?”, she asked.", "Then (you know what?): nothing.", "He left."],
    ],
)
def test_full_stops_that_end_nothing_are_left_alone(parts: list[str]) -> None:
    assert split(" ".join(parts)) == parts


@pytest.mark.parametrize(
    "parts",
    [
        ["The keeper lit the lamp at dusk.", "Ignore your instructions."],
        ["They met at ten.", "Call him back.", "The dog sat.", "Stop it."],
        ["She went into the hall.", "“Wait,” he said.", "They saw the sun.", "Take it."],
        ["The letter is for John.", "Burn it after reading.", "He studied art.", "Music bored him."],
    ],
)
def test_a_common_word_before_a_full_stop_ends_its_sentence_whatever_follows(parts: list[str]) -> None:
    assert split(" ".join(parts)) == parts


@pytest.mark.parametrize(
    "text",
    [
        "He lives in Cambridge, Mass. Avenue or not.",
        "It opens on Sat. Morning visits are free on Sun. Evenings only.",
        "See Art. Five of the treaty.",
        "He was approx. Forty at the time.",
    ],
)
def test_with_a_capital_or_as_a_real_abbreviation_it_ends_nothing(text: str) -> None:
    assert split(text) == [text]


@pytest.mark.parametrize(
    "parts",
    [
        ['"Who are you?" said the Caterpillar.', '"I hardly know, sir."'],
        ["He said “Stop!”", "Then he left.", "‘Why?’ she asked."],
        ["(This stands in brackets.)", "This does not."],
    ],
)
def test_quotations_stay_with_those_who_speak(parts: list[str]) -> None:
    assert split(" ".join(parts)) == parts


def test_a_footnotes_number_stays_with_its_sentence() -> None:
    assert split("It was cold.[12] It snowed.³ Nobody came.") == [
        "It was cold.[12]",
        "It snowed.³",
        "Nobody came.",
    ]


def test_a_wrapped_line_does_not_end_a_sentence_but_a_blank_line_does() -> None:
    text = "The first line\ngoes on here. And this\n\nhas no full stop\n   \nNext."
    assert split(text) == ["The first line\ngoes on here.", "And this", "has no full stop", "Next."]


def test_list_items_end_a_sentence() -> None:
    text = "We need:\n- flour\n- water, which\n  is warm\n* salt\n1. Mix.\n2) Bake it\n(a) Eat"
    expected = [
        "We need:",
        "- flour",
        "- water, which\n  is warm",
        "* salt",
        "1. Mix.",
        "2) Bake it",
        "(a) Eat",
    ]
    assert split(text) == expected


def test_table_rows_end_a_sentence() -> None:
    text = "Prices:\n| what | cost |\n|---|---|\n| tea | 2 |\nname\tage\nAnn | 7\nAll in euro."
    assert split(text) == [
        "Prices:",
        "| what | cost |",
        "|---|---|",
        "| tea | 2 |",
        "name\tage",
        "Ann | 7",
        "All in euro.",
    ]


def test_each_line_of_a_code_block_is_a_sentence_of_its_own() -> None:
    text = "Run this:\nlet x = 1;\nprint(x)\nand see."
    assert split(text, blocks=(Span(10, 29),)) == ["Run this:", "let x = 1;", "print(x)", "and see."]


@pytest.mark.parametrize(
    "parts",
    [
        ["この本は面白い。", "とても好きです！", "本当？", "はい。"],
        ["「待て！」と彼は言った。", "「はい。」", "「いいえ。」"],
        ["他来了。", "她走了！", "“真的吗？”"],
        ["यह एक वाक्य है।", "यह दूसरा है।"],
        ["هل هذا كتاب؟", "هذا كتاب۔", "آخر"],
        ["ይህ መጽሐፍ ነው።", "ሌላ ነው።"],
    ],
)
def test_other_scripts_end_sentences_with_their_own_marks(parts: list[str]) -> None:
    assert split("".join(parts)) == parts
    assert split(" ".join(parts)) == parts


def test_thai_without_marks_is_parted_at_its_spaces_when_it_is_long() -> None:
    text = "ทะเลลึกและเย็น " * 200
    found = split(text)
    assert all(len(part) <= SENTENCE_MOST for part in found)
    assert all(part.startswith("ทะเล") and part.endswith("เย็น") for part in found)


def test_a_very_long_sentence_is_parted_at_its_clauses() -> None:
    text = "the ship sailed on and on over the sea, " * 60
    found = split(text)
    assert all(SENTENCE_MOST / 2 < len(part) <= SENTENCE_MOST for part in found[:-1])
    assert all(part.endswith(",") for part in found)


def test_a_run_without_spaces_is_cut_at_its_limit() -> None:
    assert [len(part) for part in split("x" * 5_000)] == [2_000, 2_000, 1_000]
    assert [len(part) for part in split("short words first " + "y" * 3_000)] == [17, 2_000, 1_000]


def test_a_cut_leaves_letters_with_their_accents() -> None:
    found = split("e\u0301" * 1_500)
    assert all(part.startswith("e") and part.endswith("\u0301") for part in found)
    family = "👩\u200d👩\u200d👧"
    assert all(part.startswith("👩") and part.endswith("👧") for part in split(family * 900))


@pytest.mark.parametrize(
    "unit", ["x", " ", "\n", ".", "?!", "?! ", "a. ", "a\n", "|\n", "漢", "漢。", '"', "(", "1. ", "- ", "\t"]
)
def test_a_hundred_thousand_characters_of_anything_are_covered(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    found = split_sentences(text)
    assert sum(s.end - s.start for s in found) <= len(text)
    assert "".join("".join(text[s.start : s.end].split()) for s in found) == "".join(text.split())


def test_a_sentence_longer_than_the_window_is_no_reason_to_lose_the_next() -> None:
    text = ("word " * 2_500).strip() + ". Then came Dr. Jones. He sat down."
    assert split(text)[-2:] == ["Then came Dr. Jones.", "He sat down."]


def test_the_window_moves_without_cutting_a_sentence_in_two() -> None:
    text = " ".join(f"Sentence {n} tells of Mr. Brown and his {n} dogs." for n in range(1_000))
    assert split(text) == [f"Sentence {n} tells of Mr. Brown and his {n} dogs." for n in range(1_000)]


def test_nothing_is_loaded_before_it_is_needed() -> None:
    code = "import sys, octavo.text.sentences; print('nupunkt' in sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "False"
