"""Answers of how something came to somebody: whether that person is named where they stand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from octavo.answers.presence import REACH, find_people, has_people, is_near
from octavo.answers.replies import Reply
from octavo.answers.workspace import Workspace
from octavo.library import Library
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from octavo.text.blocks import list_blocks
from octavo.text.bookmap.describe import MapDescriber
from octavo.verification.claims import Claim, Sentence
from tests.support import small_books
from tests.support.builders import make_chunk
from tests.support.mapped_books import VOYAGE, make_map, make_section

WEATHER = "The rain fell on the empty quay, and the tide went out. " * 30
END = "Then he fell from the mast into the sea."


@pytest.fixture(scope="module")
def voyage() -> MapDescriber:
    return make_map([make_section(VOYAGE + "\n\n" + WEATHER + END)])


@pytest.mark.parametrize(
    ("question", "people"),
    [
        ("how did rudd die?", ["Rudd"]),
        ("How did Tom Hale's captain, Rudd, die?", ["Tom Hale", "Rudd"]),
        ("how did the mate die?", []),
        ("how did the tern leak?", []),
    ],
)
def test_people_are_found_by_their_longest_names(
    voyage: MapDescriber, question: str, people: list[str]
) -> None:
    assert [entity.name for entity in find_people(question, voyage)] == people


def cut(opened: MapDescriber, start: int, end: int) -> Sentence:
    section = opened.linked.sections[0]
    text = section.text[start:end]
    chunk = make_chunk(text, book_id="book", section_id=section.id, start=start)
    (block,) = list_blocks(text)
    return Sentence("s1", chunk, start, end, text, 0.5, 1, 0.5, block)


def test_somebody_is_near_a_sentence_that_names_them_or_follows_soon(voyage: MapDescriber) -> None:
    (rudd,) = find_people("how did rudd die?", voyage)
    text = voyage.linked.sections[0].text
    sold, last = text.index("Rudd sold the Petrel"), len(text)
    assert is_near(rudd, cut(voyage, sold, sold + 20), voyage)
    assert is_near(rudd, cut(voyage, len(VOYAGE) + 2, len(VOYAGE) + 50), voyage)
    assert last - len(END) - text.rindex("Rudd") > REACH
    assert not is_near(rudd, cut(voyage, last - len(END), last), voyage)


def test_somebody_is_near_whose_name_stands_in_the_heading_or_at_the_end_of_the_section_before() -> None:
    opened = make_map([make_section(VOYAGE), make_section(END + " " + WEATHER, title="The Fall", position=1)])
    (rudd,) = find_people("how did rudd die?", opened)
    section = opened.linked.sections[1]
    chunk = make_chunk(END, book_id="book", section_id=section.id, heading_path=("The Fall",))
    (block,) = list_blocks(END)
    first = Sentence("s1", chunk, 0, len(END), END, 0.5, 1, 0.5, block)
    assert is_near(rudd, first, opened), "he is named a few lines before, in the section before"
    late = replace(first, start=len(section.text) - 20, end=len(section.text))
    assert not is_near(rudd, late, opened)
    headed = replace(late, chunk=replace(chunk, heading_path=("The Death of Rudd",)))
    assert is_near(rudd, headed, opened)


class Visitor:
    """Keeps the workspace that it is given, and answers nothing."""

    name = "visitor"

    def __init__(self) -> None:
        self.workspaces: list[Workspace] = []

    async def reply(self, question: str, workspace: Workspace) -> Reply:
        self.workspaces.append(workspace)
        return Reply((), 0.0, 0.0)


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    parts = {"The Voyage": VOYAGE, "The Weather": WEATHER + END}
    book = small_books.write_markdown(tmp_path / "voyage.md", parts, title="The Voyage")
    visitor, settings = Visitor(), Settings(data=tmp_path / "library", chunk_tokens=64)
    async with Library.open(settings=settings, embedder=TinyEmbedder(), answerer=visitor) as library:
        await library.add(book)
        await library.ask("Who fell from the mast?", book_id="the-voyage")
        yield visitor.workspaces[0]


async def claim(workspace: Workspace, words: str) -> Claim:
    found = await workspace.search(words, top_k=10)
    sentence = next(sentence for sentence in found if words in sentence.text)
    return Claim(sentence.text, (sentence.id,))


async def test_only_how_something_came_to_somebody_has_to_stand_near_a_name(workspace: Workspace) -> None:
    near, far = await claim(workspace, "Rudd sold the Petrel"), await claim(workspace, "fell from the mast")
    assert await has_people("how did Rudd die?", (near,), workspace)
    assert not await has_people("how did Rudd die?", (far,), workspace)
    assert await has_people("how did Rudd die?", (far, near), workspace)
    for question in (
        "how did the cook die?",
        "where did Rudd die?",
        "why did Rudd fall?",
        "how old is Rudd?",
        "how does Rudd keep the log?",
    ):
        assert await has_people(question, (far,), workspace)
