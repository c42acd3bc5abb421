"""That passages with the same answer support each other, by how much, and what counts as the same."""

from __future__ import annotations

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.answers.extract import extract_answer
from octavo.answers.features import SentenceMatch, SentenceScore, match_sentences
from octavo.answers.questions import parse_question
from octavo.answers.voting import VOTE_MOST, add_votes, normalise_answer
from octavo.answers.workspace import number_sentences
from octavo.search.scope import bound_by_books
from octavo.verification.claims import Sentence
from tests.support.builders import make_chunk, make_evidence

WHO = "Who built the tower?"


def find_passages(*texts: str) -> list[Sentence]:
    """Each text is a passage of its own, in the order of the evidence."""
    evidence = [make_evidence(make_chunk(t, start=1000 * n), rank=n + 1) for n, t in enumerate(texts)]
    return number_sentences(evidence, bound_by_books())


def see(sentences: list[Sentence], *words: str, margin: float = 3.0) -> dict[str, SentenceScore]:
    """As if a reader had found `words`, one for each sentence, and were equally sure of all of them."""
    seen = {}
    for sentence, answer in zip(sentences, words, strict=True):
        at = sentence.text.index(answer) if answer else 0
        sure = margin if answer else -9.0
        seen[sentence.id] = SentenceScore(1.0, 1.0, sure, at, at + len(answer))
    return seen


def match(sentences: list[Sentence]) -> list[SentenceMatch]:
    return match_sentences(parse_question(WHO), sentences)


THREE = find_passages(
    "Ada Holm built the tower.", "Bo Lind built the tower.", "The tower that was built was Bo Lind’s own."
)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("the King's", "king"),
        ("King", "king"),
        ("Bo Lind’s", "bo lind"),
        ("“Bo Lind”,", "bo lind"),
        ("Seven", "7"),
        ("7", "7"),
        ("1,200", "1200"),
        ("seven boats", "7 boats"),
        ("in the morning", ""),
        ("the", ""),
        ("", ""),
    ],
)
def test_case_articles_punctuation_and_possessives_do_not_count(words: str, expected: str) -> None:
    assert normalise_answer(words) == expected


def test_two_passages_with_the_same_name_gain_and_the_third_does_not() -> None:
    voted = add_votes(match(THREE), [2.0, 1.8, 1.8], see(THREE, "Ada Holm", "Bo Lind", "Bo Lind"))
    assert voted == pytest.approx([2.0, 1.8 + log(2), 1.8 + log(2)])


def test_a_passage_that_is_far_behind_adds_next_to_nothing() -> None:
    voted = add_votes(match(THREE), [2.0, 1.8, -8.0], see(THREE, "Ada Holm", "Bo Lind", "Bo Lind"))
    assert voted[1] == pytest.approx(1.8, abs=0.001)


def test_what_several_passages_say_is_chosen_over_what_one_says() -> None:
    alone = extract_answer(WHO, THREE, seen=see(THREE, "Ada Holm", "Bo Lind", ""))
    both = extract_answer(WHO, THREE, seen=see(THREE, "Ada Holm", "Bo Lind", "Bo Lind"))
    assert alone.words == "Ada Holm"
    assert both.words == "Bo Lind"


def test_words_that_are_not_preferred_to_no_answer_do_not_vote() -> None:
    seen = see(THREE, "Ada Holm", "Bo Lind", "Bo Lind", margin=0.0)
    assert add_votes(match(THREE), [2.0, 1.8, 1.8], seen) == [2.0, 1.8, 1.8]


def test_the_same_words_in_two_sentences_of_one_passage_are_one_vote() -> None:
    sentences = find_passages("Bo Lind came. Then Bo Lind built the tower.", "Ada Holm built the other one.")
    seen = see(sentences, "Bo Lind", "Bo Lind", "Ada Holm")
    assert add_votes(match(sentences), [1.0, 1.0, 1.0], seen) == [1.0, 1.0, 1.0]


def test_a_sentence_that_is_repeated_word_for_word_is_one_vote() -> None:
    sentences = find_passages("Bo Lind built the tower.", "Bo Lind built the tower.")
    assert add_votes(match(sentences), [1.0, 1.0], see(sentences, "Bo Lind", "Bo Lind")) == [1.0, 1.0]


def test_common_words_do_not_vote() -> None:
    sentences = find_passages("They built it in the morning.", "She rose early in the morning.")
    seen = see(sentences, "in the morning", "in the morning")
    assert add_votes(match(sentences), [1.0, 1.0], seen) == [1.0, 1.0]


MANY = find_passages(*(f"Bo Lind built tower number {n}." for n in range(6)))


@given(st.lists(st.floats(-50, 50), min_size=6, max_size=6))
def test_a_gain_is_bounded_and_keeps_the_order_within_the_group(scores: list[float]) -> None:
    voted = add_votes(match(MANY), scores, see(MANY, *["Bo Lind"] * 6))
    gains = [after - before for before, after in zip(scores, voted, strict=True)]
    assert all(-1e-9 <= gain <= VOTE_MOST + 1e-9 for gain in gains)
    assert max(gains) == pytest.approx(min(gains))
    assert voted == add_votes(match(MANY), scores, see(MANY, *["Bo Lind"] * 6))
