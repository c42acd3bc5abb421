"""The name of a book's subject is left out of half of a question's vector, other names are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.library import Library
from octavo.records.words import ANY_WORD
from octavo.search.subject import leave_out_subject
from octavo.store.bm25 import Bm25Encoder
from tests.support import small_books
from tests.support.embedders import RecordingEmbedder

ENCODER = Bm25Encoder()


def count(passages: int = 100, **words: int) -> dict[int, int]:
    counts = {index: number for word, number in words.items() for index in ENCODER.encode_query(word)}
    return {**counts, ANY_WORD: passages}


@pytest.mark.parametrize(
    ("question", "bare"),
    [
        ("How many ships did Norwick build in May?", "How many ships did build in May?"),
        ("What is Norwick's largest ship?", "What is largest ship?"),
        ("NORWICK built how many ships?", "built how many ships?"),
        # The first word has a capital in any case, and a word without one is no name.
        ("Norwick built how many ships?", "Norwick built how many ships?"),
        ("does norwick build ships?", "does norwick build ships?"),
        ("Who is Brandt of the yard?", "Who is Brandt of the yard?"),
        ("Who owns Norwick?", "Who owns Norwick?"),
        ("", ""),
    ],
)
def test_only_names_that_many_passages_have_are_left_out(question: str, bare: str) -> None:
    assert leave_out_subject(question, count(norwick=30, brandt=2, ships=60), ENCODER) == bare


@pytest.mark.parametrize(
    ("counts", "left_out"),
    [
        # The words of the book were never counted.
        ({}, False),
        # In a book of a few passages a name in one of them, or in all, proves nothing.
        (count(passages=7, norwick=1), False),
        (count(passages=19, norwick=19), False),
        (count(passages=20, norwick=4), False),
        (count(passages=20, norwick=5), True),
    ],
)
def test_a_name_is_the_subject_only_if_enough_passages_say_so(counts: dict[int, int], left_out: bool) -> None:
    question = "How many ships did Norwick build?"
    bare = "How many ships did build?" if left_out else question
    assert leave_out_subject(question, counts, ENCODER) == bare


@pytest.mark.parametrize(
    ("title", "having", "left_out"),
    [
        ("Norwick Yards: Annual Report", 5, True),
        ("NORWICK 2022", 10, True),
        # A name that stands in the title, but hardly in the book, is what a question may be about.
        ("Norwick Yards: Annual Report", 4, False),
        ("The Yards of the North: Annual Report", 10, False),
        ("", 10, False),
    ],
)
def test_a_name_in_the_title_is_the_subject_if_fewer_passages_have_it(
    title: str, having: int, left_out: bool
) -> None:
    question = "How many ships did Norwick build?"
    bare = "How many ships did build?" if left_out else question
    assert leave_out_subject(question, count(norwick=having), ENCODER, title=title) == bare


async def test_a_question_to_one_book_is_embedded_with_and_without_its_subject(tmp_path: Path) -> None:
    text = {f"Year {n}": f"In the year {n} Norwick built {n} ships of oak and sold them." for n in range(20)}
    embedder = RecordingEmbedder()
    async with Library.open(tmp_path / "library", embedder=embedder) as library:
        book = await library.add(small_books.write_markdown(tmp_path / "yard.md", text))
        embedder.seen.clear()
        await library.search("How much oak did Norwick buy?")
        assert embedder.seen == ["How much oak did Norwick buy?"]
        await library.search("How much oak did Norwick sell?", book_id=book.id)
        assert embedder.seen[1:] == ["How much oak did Norwick sell?", "How much oak did sell?"]


async def test_the_title_of_the_book_names_its_subject(tmp_path: Path) -> None:
    text = {
        f"Year {n}": f"In the year {n} {'Norwick' if n % 4 else 'we'} sold {n} ships."
        for n in range(1, 61, 2)
    } | {f"Note {n}": f"We bought {n} loads of oak and paid for them in coin." for n in range(60)}
    embedder = RecordingEmbedder()
    async with Library.open(tmp_path / "library", embedder=embedder) as library:
        path = small_books.write_markdown(tmp_path / "yard.md", dict(list(text.items())[24:]))
        named = await library.add(path, title="Norwick Yards")
        embedder.seen.clear()
        await library.search("How much oak did Norwick sell?", book_id=named.id)
        assert embedder.seen == ["How much oak did Norwick sell?", "How much oak did sell?"]
        await library.add(path, book_id=named.id, title="A Yard")
        embedder.seen.clear()
        await library.search("How much oak did Norwick buy?", book_id=named.id)
        assert embedder.seen == ["How much oak did Norwick buy?"]
