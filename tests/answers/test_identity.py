"""What something is: which sentences mean what the book mostly speaks of by a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.answers.identity import weigh_other_senses
from octavo.text.blocks import list_blocks
from octavo.verification.claims import Sentence
from tests.support import small_books
from tests.support.answerers import fill_library, open_copy
from tests.support.builders import make_chunk
from tests.support.mapped_books import VOYAGE, make_map, make_section

BIRD = "A flock came by. Petrel is the name of a small grey bird of the sea."


def cut(text: str) -> Sentence:
    chunk = make_chunk(text)
    (block,) = list_blocks(text)
    return Sentence("s1", chunk, 0, len(text), text, 0.5, 1, 0.5, block)


@pytest.mark.parametrize(
    ("name", "text", "is_other"),
    [
        ("the petrel", "Petrel, you know, was the name of a small grey bird.", True),
        ("Petrel", "PETREL means a bird.", True),
        ("Petrel", "The Petrel was a ship.", False),
        ("Petrel", "Here lay the old grey Petrel, and Petrel was her name.", False),
        ("Petrel", "She was a schooner of a hundred tons; name, Petrel.", False),
        ("Petrel", "It was a small grey bird.", False),
        ("Rudd", "Rudd is a fish.", False),
        ("Tern", "Tern is a bird.", False),
    ],
)
def test_a_ship_that_always_has_an_article_is_not_meant_without(
    name: str, text: str, *, is_other: bool
) -> None:
    """The book seldom speaks of the Tern, so nothing is known of that name."""
    opened = make_map([make_section(f"{VOYAGE}\n\n{VOYAGE}\n\n{BIRD}")])
    sentence = cut(text)
    assert (sentence in weigh_other_senses(name, [sentence], opened)) is is_other


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shelf")
    chapters = {"The Voyage": VOYAGE, "The Sea": VOYAGE, "The Birds": BIRD}
    book = small_books.write_markdown(folder / "voyage.md", chapters, title="The Voyage")
    return fill_library(folder / "library", book, chunk_tokens=64)


async def test_what_a_ship_is_is_not_told_by_the_bird_of_its_name(shelf: Path, tmp_path: Path) -> None:
    async with open_copy(shelf, tmp_path, risk=0.9, chunk_tokens=64) as library:
        answer = await library.ask("What is the Petrel?", book_id="the-voyage")
        assert answer.citations
        assert "bird" not in answer.citations[0].content_snippet
