from __future__ import annotations

import pytest

from octavo.errors import InvalidTransition
from octavo.validation import AnswerState, BookState, Delivery, QuestionStatus, advance, view


def test_equal_words_of_two_machines_are_not_the_same_state() -> None:
    with pytest.raises(InvalidTransition):
        advance(QuestionStatus.PENDING, Delivery.PROCESSING)
    assert view(BookState.PENDING) == ("pending",)


def test_a_refused_step_says_where_one_may_go() -> None:
    with pytest.raises(InvalidTransition, match="to completed or insufficient_data or error"):
        advance(QuestionStatus.PROCESSING, QuestionStatus.PENDING)
    with pytest.raises(InvalidTransition, match="it is final"):
        advance(AnswerState.PUBLISHED, AnswerState.DRAFT)


def test_a_view_gives_the_own_word_first() -> None:
    assert view(QuestionStatus.COMPLETED) == ("completed", "processed")
    assert view(QuestionStatus.ERROR) == ("error",)
