"""Gists: sentences of the section itself, in order, and from each of its parts."""

from __future__ import annotations

import pytest

from octavo.text.bookmap.gist import stands_alone
from octavo.text.bookmap.scan import mark_section
from octavo.types import Span
from tests.support.mapped_books import STORY


def choose(text: str, blocks: list[Span] | None = None) -> list[str]:
    marks = mark_section(text, blocks or [])
    return [text[slice(*marks.sentences[number])] for number in marks.gist]


def test_a_gist_is_in_order_and_covers_the_parts() -> None:
    text = "\n\n".join(STORY.values())
    gist = choose(text)
    places = [text.index(sentence) for sentence in gist]
    assert places == sorted(places)
    assert len(gist) == 5
    fifths = {place * 5 // len(text) for place in places}
    assert len(fifths) >= 4


def test_a_gist_has_no_sentence_that_only_announces_what_follows() -> None:
    announced = "The harbour light of Saltmere has all these parts and these lamps"
    assert choose(f"{announced}:") == []
    assert choose(f"{announced}.") == [f"{announced}."]


def test_a_gist_prefers_statements_to_dialogue_and_questions() -> None:
    text = (
        "“The harbour light of Saltmere burns all night,” she said. Is the harbour light of Saltmere old? "
        "The harbour light of Saltmere stands on the northern point."
    )
    assert choose(text) == ["The harbour light of Saltmere stands on the northern point."]


@pytest.mark.parametrize(
    ("sentence", "alone"),
    [
        ("The beam turns at a ball.", True),
        ("Similarly, the beam turns.", False),
        ("It turns at a ball.", False),
        ("“The beam turns,” he said.", False),
        ("`Five!' cried the gardener.", False),
        ("Does the beam turn?", False),
        ("This means that:", False),
        ("The beam turns", False),
    ],
)
def test_a_statement_stands_alone_if_it_needs_none_beside_it(sentence: str, alone: bool) -> None:
    assert stands_alone(sentence) is alone


def test_code_and_empty_sections_have_no_gist() -> None:
    code = "harbour = Harbour.open(saltmere). Then close the harbour again with care."
    assert choose(code, [Span(0, len(code))]) == []
    assert choose("") == []
