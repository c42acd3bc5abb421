"""The word by which a book calls itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.answers.own_name import ask_in_own_word, find_own_word
from octavo.answers.replies import Reply
from octavo.answers.workspace import Workspace
from octavo.library import Library
from octavo.testing import TinyEmbedder

LAMPS = """# Lamps

## Scope

The purpose of this document is to keep every lamp of the coast alight in winter and in summer.

## Oil

A book of the sea was kept in the tower, and its purpose was to count the ships that passed in the night.
This document says nothing about the purpose of bells, nor about the purpose of the boats of the pilots.
"""


@pytest.mark.parametrize(
    ("texts", "word"),
    [
        (["In this manual we say this.", "This manual ends; this guide is another."], "manual"),
        (["This manual is alone."], None),
        (["There is a book, and the book is old."], None),
        ([], None),
    ],
)
def test_a_book_calls_itself_by_the_word_that_it_repeats(texts: list[str], word: str | None) -> None:
    assert find_own_word(texts) == word


class OwnWord:
    """Gives no answer, and keeps the question in the book's own word."""

    name = "own-word"
    asked: str | None = None

    async def reply(self, question: str, workspace: Workspace) -> Reply:
        self.asked = await ask_in_own_word(question, workspace)
        return Reply((), answerable=0.0, confidence=0.0)


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("What is the purpose of the book?", "What is the purpose of this document?"),
        ("who is this manual for", "who is this document for"),
        ("what is the purpose of this document?", None),
        ("what does the reference point to?", None),
        ("what was the book of the sea for?", None),
        ("what is the purpose of bells?", None),
    ],
)
async def test_a_question_about_the_book_is_asked_in_the_books_own_word(
    tmp_path: Path, question: str, asked: str | None
) -> None:
    path = tmp_path / "lamps.md"
    path.write_text(LAMPS, encoding="utf-8")
    answerer = OwnWord()
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder(), answerer=answerer) as library:
        await library.add(path)
        await library.ask(question)
    assert answerer.asked == asked
