"""The marks of a list's items in an answer."""

from __future__ import annotations

from octavo.answers.lists import drop_lone_mark
from octavo.answers.workspace import number_sentences
from octavo.search.scope import bound_by_books
from octavo.verification.claims import Claim
from tests.support.builders import make_chunk, make_evidence

STEPS = "Do as follows.\n\n1. Let the lamp grow cold.\n2. Unscrew the cap. Mind the wick.\n3. Wipe the glass."


def quote(*wanted: str) -> tuple[Claim, ...]:
    """Quote sentences of the steps as an answer does."""
    sentences = number_sentences([make_evidence(make_chunk(STEPS))], bound_by_books())
    claims = [Claim(s.text, (s.id,), ((3, 6),)) for w in wanted for s in sentences if w in s.text]
    assert len(claims) == len(wanted)
    return drop_lone_mark(claims, {sentence.id: sentence for sentence in sentences})


def test_an_item_that_is_quoted_alone_has_no_number() -> None:
    lead, item = quote("follows", "Unscrew")
    assert (lead.text, lead.marks) == ("Do as follows.", ((3, 6),))
    assert (item.text, item.marks) == ("Unscrew the cap.", ((0, 3),))


def test_items_of_one_list_keep_their_numbers() -> None:
    assert [claim.text for claim in quote("Unscrew", "Wipe")] == ["2. Unscrew the cap.", "3. Wipe the glass."]


def test_what_is_no_first_sentence_of_an_item_is_left_as_it_is() -> None:
    assert [claim.text for claim in quote("Mind")] == ["Mind the wick."]
