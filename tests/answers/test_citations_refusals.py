"""A refusal says why in words a person would use, and where to look instead."""

from __future__ import annotations

import pytest

from octavo.answers.citations import (
    pick_nearest,
    refuse_empty_library,
    refuse_out_of_scope,
    refuse_unanswered,
    refuse_without_model,
)
from octavo.types import Evidence, RefusalReason
from tests.support.builders import make_chunk, make_evidence


def found(*sections: str, book_id: str = "moby-dick") -> list[Evidence]:
    return [
        make_evidence(make_chunk(book_id=book_id, section_id=s, heading_path=(s,), start=n), rank=n + 1)
        for n, s in enumerate(sections)
    ]


def test_an_empty_library_says_what_to_do() -> None:
    refusal = refuse_empty_library()
    assert refusal.reason is RefusalReason.EMPTY_LIBRARY
    assert "Add one" in refusal.message


def test_what_the_book_does_not_say_comes_with_the_nearest_sections() -> None:
    refusal = refuse_unanswered(
        "Moby Dick", found("Loomings", "Loomings", "The Line", "Squid", "Brit"), unlikely=True
    )
    assert refusal.reason is RefusalReason.NOT_IN_BOOK
    said = "I found no answer to this in Moby Dick. The nearest I found: “Loomings” and “The Line”."
    assert refusal.message == said
    assert [e.chunk.section for e in refusal.nearest] == ["Loomings", "The Line"]


def test_without_anything_near_nothing_is_named() -> None:
    assert (
        refuse_unanswered("Moby Dick", [], unlikely=True).message == "I found no answer to this in Moby Dick."
    )


def test_being_unsure_is_another_reason_than_finding_nothing() -> None:
    refusal = refuse_unanswered("your selection", found("Loomings"), unlikely=False)
    assert refusal.reason is RefusalReason.BELOW_CONFIDENCE
    assert refusal.message.startswith("I am not sure enough to answer this from your selection. ")


def test_what_stands_elsewhere_is_named_and_widening_is_offered() -> None:
    refusal = refuse_out_of_scope("Moby Dick › Loomings", found("The Whiteness"))
    assert refusal.reason is RefusalReason.NOT_IN_SCOPE
    assert "but the book has one in “The Whiteness”. Widen the search" in refusal.message


@pytest.mark.parametrize("where", ["The Tides", "your selection in The Tides › Storm", "the whole library"])
def test_every_message_is_a_sentence(where: str) -> None:
    near = found("Storm")
    for refusal in (refuse_unanswered(where, near, unlikely=u) for u in (True, False)):
        assert refusal.message[0].isupper()
        assert refusal.message.endswith(".")
    assert refuse_out_of_scope(where, near).message[0].isupper()


def test_the_best_passage_stands_for_its_section_and_sections_of_two_books_are_two() -> None:
    mixed = [*found("A", "A"), *found("A", book_id="other")]
    near = pick_nearest(mixed)
    assert {(e.rank, e.chunk.book_id) for e in near} == {(1, "moby-dick"), (1, "other")}


def test_two_passages_of_the_only_section_that_is_near_are_shown_and_it_is_named_once() -> None:
    near = pick_nearest(found("Storm", "Storm", "Storm"))
    assert [e.rank for e in near] == [1, 2]
    assert refuse_unanswered("The Tides", near, unlikely=True).message.endswith("I found: “Storm”.")


def test_a_title_that_ends_with_a_full_stop_is_followed_by_no_other() -> None:
    where = "Moby-Dick › Chapter 1. Loomings."
    for refusal in (
        refuse_without_model("translate", where),
        refuse_unanswered(where, found("Loomings."), unlikely=True),
        refuse_unanswered(where, [], unlikely=False),
    ):
        assert ".." not in refusal.message
        assert ".”." not in refusal.message


def test_what_lies_ahead_of_the_reader_is_not_given_away() -> None:
    told = refuse_out_of_scope("The Tides, up to Harbour", [make_evidence()], ahead=True)
    assert told.reason is RefusalReason.NOT_IN_SCOPE
    assert told.nearest == ()
    assert "further on" in told.message
    assert make_evidence().chunk.section not in told.message
