"""What a question asks for, as far as its form tells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.answers.questions import (
    Expected,
    QuestionKind,
    Role,
    is_negative,
    parse_question,
    write_question,
)


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("who is ahab", "Who is ahab?"),
        ("  whats the quota ", "Whats the quota?"),
        ("in which year did it sink", "In which year did it sink?"),
        ("did it sink?", "Did it sink?"),
        ("Why. ", "Why."),
        ("tell me about ahab", "tell me about ahab"),
        ("isolated boats", "isolated boats"),
        ("", ""),
    ],
)
def test_a_question_is_written_as_the_readers_learned_questions(typed: str, asked: str) -> None:
    assert write_question(typed) == asked


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who was the Norse leader?", Expected.PERSON),
        ("Which king signed the treaty?", Expected.PERSON),
        ("When were the Normans in Normandy?", Expected.DATE),
        ("In what year did the war begin?", Expected.DATE),
        ("What century was it built in?", Expected.DATE),
        ("Where did the king live?", Expected.PLACE),
        ("In which country is Normandy?", Expected.PLACE),
        ("Which area of China did Japan conquer?", Expected.PLACE),
        ("How many tin soldiers are there?", Expected.NUMBER),
        ("How much did the bread cost?", Expected.NUMBER),
        ("How old was the boy?", Expected.NUMBER),
        ("What is the population of Warsaw?", Expected.NUMBER),
        ("Why did the well run dry?", Expected.REASON),
        ("What caused the crisis?", Expected.REASON),
        ("How did the girl feel when she saw it?", Expected.FEELING),
        ("What did the king say to him?", Expected.SPEECH),
        ("What is a lifetime?", Expected.ANYTHING),
        ("What did the fox eat?", Expected.ANYTHING),
    ],
)
def test_the_expected_answer_follows_from_the_form(question: str, expected: Expected) -> None:
    assert parse_question(question).expected is expected


@pytest.mark.parametrize(
    "question",
    ["What happened when the trunk burnt?", "What did she do when he came?", "Who was king when it fell?"],
)
def test_a_when_inside_a_question_does_not_ask_for_a_date(question: str) -> None:
    assert parse_question(question).expected is not Expected.DATE


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What is ownership?", QuestionKind.DEFINITION),
        ("What are smart pointers?", QuestionKind.DEFINITION),
        ("What does borrowing mean?", QuestionKind.DEFINITION),
        ("Define photosynthesis", QuestionKind.DEFINITION),
        ("What are the three types of rock?", QuestionKind.LIST),
        ("List the stages of sleep", QuestionKind.LIST),
        ("Which two cities burned?", QuestionKind.LIST),
        ("How do I add a book?", QuestionKind.HOW_TO),
        ("How can you sharpen a knife?", QuestionKind.HOW_TO),
        ("Why is the whale white?", QuestionKind.WHY),
        ("Is the whale white?", QuestionKind.YES_NO),
        ("Did the king return?", QuestionKind.YES_NO),
        ("What is the difference between a crate and a module?", QuestionKind.COMPARISON),
        ("Compare stacks and queues", QuestionKind.COMPARISON),
        ("What happened after the fire?", QuestionKind.SEQUEL),
        ("What did the wolf do after he ate?", QuestionKind.SEQUEL),
        ("Who led the Normans?", QuestionKind.FACT),
    ],
)
def test_the_kind_follows_from_the_form(question: str, kind: QuestionKind) -> None:
    assert parse_question(question).kind is kind


def test_names_numbers_and_superlatives_are_told_from_other_words() -> None:
    roles = {f.text: f.role for f in parse_question("Who led the largest army of Prussia in 1756?").focus}
    assert roles == {
        "led": Role.WORD,
        "largest": Role.EXTREME,
        "army": Role.WORD,
        "Prussia": Role.NAME,
        "1756": Role.NUMBER,
    }


def test_words_that_only_name_the_sort_of_answer_are_marked() -> None:
    roles = {f.text: f.role for f in parse_question("Which oil producer is an ally of France?").focus}
    assert roles["oil"] is roles["producer"] is Role.SORT
    assert roles["ally"] is Role.WORD


def test_a_verb_right_after_what_is_no_sort() -> None:
    roles = {f.text: f.role for f in parse_question("What ruined the plans of the general?").focus}
    assert roles["ruined"] is Role.WORD


@pytest.mark.parametrize("word", ["west", "forest", "interest", "priest"])
def test_words_that_merely_end_in_est_are_no_superlatives(word: str) -> None:
    assert all(f.role is not Role.EXTREME for f in parse_question(f"What lies in the {word} there?").focus)


@pytest.mark.parametrize("word", ["largest", "first", "only", "most", "oldest", "last"])
def test_superlatives_and_ordinals_are_extremes(word: str) -> None:
    assert any(
        f.role is Role.EXTREME for f in parse_question(f"What was the {word} ship of the fleet?").focus
    )


@pytest.mark.parametrize("text", ["He did not come.", "She never wept.", "They can't fly.", "Nobody knew."])
def test_negations_are_seen(text: str) -> None:
    assert is_negative(text)
    assert parse_question(f"Why is it that {text}").negated


@pytest.mark.parametrize("text", ["He came.", "She knows nowhere better.", "A knot is tied."])
def test_words_that_look_like_negations_are_none(text: str) -> None:
    assert not is_negative(text)


def test_a_word_counts_once() -> None:
    focus = parse_question("Which wolf was the wolf of the wolves?").focus
    assert [f.text for f in focus] == ["wolf"]


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    understood = parse_question(text)
    assert understood.text == text
    assert all(0.0 < f.weight <= 1.0 for f in understood.focus)
    assert len({f.stem for f in understood.focus}) == len(understood.focus)
