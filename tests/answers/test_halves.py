"""A question of two halves: the second is completed from the first, and a half without an answer is named."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from octavo.answers.calibration import LEAST_CONFIDENCE
from octavo.answers.halves import Half, complete_half
from octavo.answers.replies import Reply, join_replies
from octavo.answers.requests import SeveralRequest, read_request
from octavo.library import Library
from octavo.verification.claims import Claim, UnansweredClaim
from tests.support.answerers import ask_truly, fill_library, open_copy

ISLAND = """---
title: The Island
author: Mira Dahl
---

## The hermit

The food that the hermit dreamed about on the island was cheese. He had lived there alone for nine years.

## The surgeon

The surgeon kept a piece of cheese in a snuff-box. He never opened the box in front of the sailors.

The surgeon kept a piece of chalk in the cabin, and he wrote the names of the sick on the wall with it.

## The voyage

The sails were mended in the harbour before the voyage, and nobody spoke of the island for a month.
"""


@pytest.mark.parametrize(
    ("first", "answer", "other", "made"),
    [
        (
            "what food did he dream about on the island?",
            "cheese",
            "where did the doctor keep a piece of it?",
            "where did the doctor keep a piece of cheese?",
        ),
        (
            "Which tool does the manual name for backups?",
            "",
            "where do I get it?",
            "where do I get the tool?",
        ),
        (
            "since which version are there accounts?",
            "2.3",
            "since which can I write scripts?",
            "since which version can I write scripts?",
        ),
        (
            "what do I press to answer everybody?",
            "",
            "what to answer only the list?",
            "what do I press to answer only the list?",
        ),
        (
            "What are the three ways to preseed?",
            "",
            "can I keep my partitions that way?",
            "can I keep my partitions when I preseed?",
        ),
        (
            "Who stole the magic mirror?",
            "Butou",
            "where had it been hidden?",
            "where had the magic mirror been hidden?",
        ),
        ("What colour is the whale?", "white", "where does it live?", "where does the whale live?"),
        (
            "How far is the moon?",
            "",
            "how long does it take to get there?",
            "how long does it take to get there?",
        ),
        (
            "text installer or graphical one, what's the advantage?",
            "",
            "what does it cost?",
            "What does text installer cost?",
        ),
        ("who built the tower?", "Smith", "what did Jones build?", "what did Jones build?"),
        ("What did Darcy say to Elizabeth?", "", "did she accept?", "Did Elizabeth accept?"),
        ("What did Darcy say to Wickham?", "", "did she accept?", "did she accept?"),
        ("What did Darcy say?", "", "when did he leave?", "When did Darcy leave?"),
        ("Who killed the king?", "", "did she flee?", "did she flee?"),
    ],
)
def test_the_second_half_is_completed_from_the_first_and_its_answer(
    first: str, answer: str, other: str, made: str
) -> None:
    assert complete_half(other, first=first, answer=answer) == made


@pytest.mark.parametrize(
    ("question", "other"),
    [
        ("since which version are there accounts, and since which can i write scripts", "since which can i"),
        ("how do i set a password, and should i use telnet or ssh from outside", "should i use telnet"),
    ],
)
def test_a_second_half_may_begin_with_a_preposition_or_ask_whether(question: str, other: str) -> None:
    read = read_request(question)
    assert isinstance(read, SeveralRequest)
    assert read.asked[1].startswith(other)


def make_reply(*chances: float) -> Reply:
    """A reply to a question of two halves that are so likely to have an answer."""
    claims = tuple(Claim(f"Sentence {n}.", (f"s{n}",)) for n in range(len(chances)))
    halves = tuple(
        Half(f"question {n}?", chance, chance / 2, frozenset([f"s{n}"])) for n, chance in enumerate(chances)
    )
    return Reply(claims, min(chances), min(chances) / 2, halves=halves)


def test_a_half_without_an_answer_is_named_and_the_other_one_kept() -> None:
    reply = make_reply(0.9, 0.1).keep_answered(answerable=0.5, sure=0.1)
    answered, missing = reply.claims
    assert answered.text == "Sentence 0."
    assert isinstance(missing, UnansweredClaim)
    assert "question 1?" in missing.text
    assert reply.answerable == 0.9


@pytest.mark.parametrize(("chance", "sure"), [(0.9, 0.225), (0.3, LEAST_CONFIDENCE), (0.16, 0.08)])
def test_a_half_answer_is_half_as_sure_and_still_told(chance: float, sure: float) -> None:
    reply = make_reply(chance, 0.01).keep_answered(answerable=0.1, sure=0.05)
    assert reply.confidence == pytest.approx(sure)


def test_parts_that_are_kept_are_as_sure_as_all_of_them_together() -> None:
    reply = make_reply(0.9, 0.8, 0.1).keep_answered(answerable=0.5, sure=0.1)
    assert reply.confidence == pytest.approx(0.45 * 0.4 * 2 / 3)


@pytest.mark.parametrize("chances", [(0.9, 0.8), (0.2, 0.1)])
def test_where_both_halves_are_alike_the_least_sure_one_counts(chances: tuple[float, float]) -> None:
    reply = make_reply(*chances)
    assert reply.keep_answered(answerable=0.5, sure=0.1) == reply
    assert reply.answerable == min(chances)


def test_parts_are_right_together_only_if_each_is() -> None:
    first, second = (Reply((Claim(f"Claim {n}.", (f"s{n}",)),), 0.9, 0.8 - n / 10) for n in (0, 1))
    joined = join_replies([first, second], claims_each=None)
    assert joined is not None
    assert [claim.text for claim in joined.claims] == ["Claim 0.", "Claim 1."]
    assert joined.confidence == pytest.approx(0.8 * 0.7)


@pytest.mark.parametrize(("each", "together"), [(0.2, LEAST_CONFIDENCE), (0.05, 0.05)])
def test_parts_that_may_each_be_told_are_told_together(each: float, together: float) -> None:
    replies = [Reply((Claim(f"Claim {n}.", (f"s{n}",)),), 0.9, each) for n in (0, 1)]
    joined = join_replies(replies, claims_each=None)
    assert joined is not None
    assert joined.confidence == together


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("halves")
    (folder / "island.md").write_text(ISLAND, encoding="utf-8")
    return fill_library(folder / "library", folder / "island.md", chunk_tokens=64)


@pytest.fixture
async def library(shelf: Path, tmp_path: Path) -> AsyncIterator[Library]:
    async with open_copy(shelf, tmp_path, chunk_tokens=64) as opened:
        yield opened


async def test_each_half_is_answered_from_its_own_passage(library: Library) -> None:
    question = (
        "What food did the hermit dream about on the island, and where did the surgeon keep a piece of it?"
    )
    answer = await ask_truly(library, question)
    assert "the hermit dreamed about on the island was cheese" in answer.content
    assert "in a snuff-box" in answer.content


async def test_a_half_that_the_book_does_not_answer_is_named_in_the_answer(library: Library) -> None:
    question = (
        "Where did the surgeon keep a piece of cheese, and who won the election of the emperor of Brazil?"
    )
    answer = await ask_truly(library, question)
    assert "in a snuff-box" in answer.content
    assert answer.content.endswith(
        "I found no answer to this half: “who won the election of the emperor of Brazil?”"
    )
    assert {citation.chunk.section for citation in answer.citations} == {"The surgeon"}


async def test_a_half_that_the_catalogue_answers_is_answered_by_it(library: Library) -> None:
    answer = await ask_truly(
        library, "Who wrote this book, and where did the surgeon keep a piece of cheese?"
    )
    assert "Mira Dahl" in answer.content
    assert "in a snuff-box" in answer.content
    assert "no answer" not in answer.content


async def test_what_the_catalogue_answers_stays_where_the_other_half_has_no_answer(library: Library) -> None:
    answer = await library.ask("Who wrote this book, and who won the election of the emperor of Brazil?")
    assert answer.refusal is None
    assert "Mira Dahl" in answer.content
    assert answer.content.endswith("“who won the election of the emperor of Brazil?”")


async def test_all_of_three_questions_are_answered(library: Library) -> None:
    question = (
        "What food did the hermit dream about, where did the surgeon keep a piece of cheese, and who won the"
        " election of the emperor of Brazil?"
    )
    answer = await ask_truly(library, question)
    assert "the hermit dreamed about on the island was cheese" in answer.content
    assert "in a snuff-box" in answer.content
    assert answer.content.endswith(
        "I found no answer to this part: “who won the election of the emperor of Brazil?”"
    )


async def test_a_part_that_asks_two_things_is_not_named(library: Library) -> None:
    question = (
        "Where did the surgeon keep a piece of cheese, and who won the election, which was held in Brazil?"
    )
    answer = await library.ask(question)
    assert "no answer to this half" not in answer.content
