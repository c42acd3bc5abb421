"""How replies to the sides of a comparison are put together with what is said of both."""

from __future__ import annotations

import pytest

from octavo.answers.replies import Reply, join_comparison
from octavo.verification.claims import Claim


def reply(*sentences: str, sure: float) -> Reply:
    """Make a reply that quotes sentences, each with its id for a text."""
    claims = tuple(Claim(id_, (id_,)) for id_ in sentences)
    return Reply(claims, answerable=sure, confidence=sure)


def told(joined: Reply | None) -> tuple[list[str], float]:
    assert joined is not None
    return [claim.text for claim in joined.claims], round(joined.confidence, 4)


def test_two_sides_come_first_where_they_are_as_sure_as_what_is_said_of_both() -> None:
    sides = [reply("one", "more of one", sure=0.8), reply("other", sure=0.7)]
    assert told(join_comparison(sides, reply("both", sure=0.3))) == (["one", "other", "both"], 0.56)


def test_what_is_said_of_both_is_the_answer_where_it_is_surer_than_the_sides_together() -> None:
    sides = [reply("one", sure=0.07), reply("other", sure=0.24)]
    both = reply("they differ", "the one is fat", sure=0.47)
    assert told(join_comparison(sides, both)) == (["they differ", "the one is fat"], 0.47)


def test_a_side_that_is_surer_than_what_is_said_of_both_opens_the_answer() -> None:
    sides = [reply("one", "more of one", sure=0.7), reply("other", sure=0.2)]
    assert told(join_comparison(sides, reply("they differ", sure=0.5))) == (["one", "they differ"], 0.5)


def test_nothing_is_said_twice_of_a_side_and_of_both() -> None:
    sides = [reply("they differ", sure=0.7), reply("other", sure=0.2)]
    both = reply("they differ", "and so on", sure=0.5)
    assert told(join_comparison(sides, both)) == (["they differ", "and so on"], 0.5)


@pytest.mark.parametrize("sure", [0.0, 0.6])
def test_a_comparison_without_any_claims_is_no_reply(sure: float) -> None:
    assert join_comparison([reply(sure=0.0), reply(sure=0.0)], reply(sure=sure)) is None
