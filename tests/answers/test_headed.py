"""What a section says first that is titled as the thing that is asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from octavo.library import Library
from octavo.types import Scope, ScopeType
from tests.support.answerers import ask_truly, fill_library, open_copy

MANUAL = """# Shell Guide

## 3 Redirections

Before a command is run, its input and output may be redirected. The order of redirections matters.

### 3.1 Here Documents

This type of redirection has the shell read from the current source until a line with only a word is seen. \
All of the lines read up to that point are then the input of the command.

### 3.2 Exercises

This exercise has no answer yet.

### 3.3 Appending

| operator | file |
|---|---|
| >> | at its end |

## 4 Quoting

Ten years went by in the old town. Nobody spoke of marks.

### 4.1 Listings

- one
- two

### 4.2 Globs

This kind of pattern stands for all names that fit it.

### 4.3 Notes

These are few.

### 4.4 The Storm

Ten years later he came home. She did not know him, and he said so.

## 5 The Tern

### 5.1 Notes

These are many.

## 6 The Gull

For several days nothing was seen of her above the water. The men waited.
"""


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("headed")
    (folder / "guide.md").write_text(MANUAL, encoding="utf-8")
    return fill_library(folder / "library", folder / "guide.md", chunk_tokens=64)


@pytest.fixture
async def library(shelf: Path, tmp_path: Path) -> AsyncIterator[Library]:
    async with open_copy(shelf, tmp_path, chunk_tokens=64, local_models=False) as opened:
        yield opened


@pytest.mark.parametrize("question", ["what is a here document", "What are here documents?"])
async def test_a_section_tells_what_its_title_is(library: Library, question: str) -> None:
    answer = await ask_truly(library, question)
    assert answer.content.startswith("This type of redirection has the shell read from the current source")
    assert answer.confidence == pytest.approx(0.6)
    assert all(citation.section == "3.1 Here Documents" for citation in answer.citations)


@pytest.mark.parametrize(
    "question",
    [
        "what are exercises",  # not text of the book
        "what is quoting",  # a chapter that does not have the word
        "what are listings",  # a list
        "who is the tern",  # a chapter of a story
        "what is the tern",
        "what is the storm",  # a part of a chapter of a story
        "what is a document",  # only a part of the title
        "what is not a here document",
        "what are notes",  # two sections
    ],
)
async def test_another_title_is_no_definition(library: Library, question: str) -> None:
    answer = await library.ask(question)
    assert answer.confidence != pytest.approx(0.6)


async def test_a_section_is_found_among_several_books(library: Library, tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# Tides\n\n## Moon\n\nThe moon draws the sea.\n", encoding="utf-8")
    await library.add(tmp_path / "other.md")
    answer = await ask_truly(library, "what is a here document")
    assert answer.content.startswith("This type of redirection")


async def test_a_section_out_of_scope_tells_nothing(library: Library) -> None:
    quoting = Scope(type=ScopeType.SECTION, identifier="4 Quoting")
    answer = await library.ask("what is a here document", scope=quoting)
    assert "redirection" not in answer.content
    assert (await ask_truly(library, "what is a glob")).content.startswith("This kind of pattern")
    ahead = Scope(type=ScopeType.UP_TO, identifier="3.1 Here Documents")
    answer = await library.ask("what is a glob", scope=ahead)
    assert "pattern" not in answer.content
