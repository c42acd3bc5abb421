"""The lines of a plain text show its lists, tables and code, and prose is not taken for them."""

from __future__ import annotations

import pytest

from octavo.text.layout import list_items, read_layout, read_prose
from octavo.types import Element, ElementKind, Span


def describe(text: str, elements: tuple[Element, ...]) -> list[tuple[str, str]]:
    return [(str(e.kind), text[e.start : e.end]) for e in elements]


def find_list(text: str) -> dict[str, str | int] | None:
    return next((dict(e.attributes) for e in read_prose(text) if e.kind is ElementKind.LIST), None)


def test_items_are_inside_their_list_and_their_words_after_their_marks() -> None:
    text = "It needs:\n\n- clean oil\n  from a can\n- water\n\nThat is all."
    assert describe(text, read_layout(text)) == [
        ("paragraph", "It needs:"),
        ("list", "- clean oil\n  from a can\n- water"),
        ("item", "- clean oil\n  from a can"),
        ("paragraph", "clean oil\n  from a can"),
        ("item", "- water"),
        ("paragraph", "water"),
        ("paragraph", "That is all."),
    ]


@pytest.mark.parametrize(
    ("text", "attributes"),
    [
        ("* oil\n* water", {}),
        ("1. oil\n2. water", {"ordered": 1}),
        ("(3) oil\n\n(4) water", {"ordered": 1, "start": 3}),
        ("a) oil\nb) water", {"ordered": 1, "style": "a"}),
        ("(i) oil\n(ii) water", {"ordered": 1, "style": "i"}),
        ("III. oil\nIV. water", {"ordered": 1, "start": 3, "style": "I"}),
        ("— oil\n— water", {}),
    ],
)
def test_a_list_is_numbered_as_its_marks_are(text: str, attributes: dict[str, str | int]) -> None:
    assert find_list(text) == attributes


def test_an_i_after_an_h_is_a_letter() -> None:
    text = "g) one\nh) two\ni) three\nj) four"
    assert [e.kind for e in read_prose(text)].count(ElementKind.LIST) == 1
    assert list_items(text) == ["one", "two", "three", "four"]


@pytest.mark.parametrize(
    "text",
    [
        "A. Smith came late.",
        "— Come in, he said.\n\n— I will not.",
        "– Herein!\n\n– Nein.",
        "I. The mill\n\nIt stood by the river.",
    ],
)
def test_names_and_speech_are_no_lists(text: str) -> None:
    assert find_list(text) is None


def test_numbers_that_do_not_go_on_begin_another_list() -> None:
    lists = [e for e in read_prose("1. a b\n2. c d\n7. e f") if e.kind is ElementKind.LIST]
    assert [e.attributes.get("start", 1) for e in lists] == [1, 7]


def test_rows_and_code_are_known_by_their_signs_or_because_they_are_kept() -> None:
    text = "a | b\n1 | 2\n\nlet x = {y: z};\n\nls -l\n\nPlain words."
    kept = (Span(text.index("ls"), text.index("ls") + 5),)
    kinds = [(kind, words) for kind, words in describe(text, read_layout(text, kept=kept))]
    assert kinds == [
        ("table", "a | b\n1 | 2"),
        ("row", "a | b"),
        ("row", "1 | 2"),
        ("code", "let x = {y: z};\n\nls -l"),
        ("paragraph", "Plain words."),
    ]
    assert {e.kind for e in read_prose(text)} == {ElementKind.PARAGRAPH}
