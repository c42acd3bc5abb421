"""A language model is told how a question of its kind is answered, and can read a list."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from octavo.limits import AgentLimits
from octavo.llm import ways
from octavo.llm.ways import describe_way
from octavo.testing import Call, Claims, ModelRequest, Reply, ScriptedModel
from tests.support.answerers import assert_well_cited, fill_library
from tests.support.model_answers import MODEL, open_library_with_model

GOODS = ("salt in barrels", "tar for the boats", "rope of three sizes", "oil for the lamps")
CHEST = "Chest {0} is of oak. It was brought by the crew of boat {0} in May."
BARREL = "Barrel {0} is of beech. It was made by the cooper in the week {0} of his."
CELLAR = f"""# Stores

The loft is dry, and the sails of all boats are kept there from autumn until the thaw has come.

## The cellar

The cellar holds four goods:

{"".join(f"- {goods}{chr(10)}" for goods in GOODS)}
## The attic

The attic holds these chests:

{"".join(f"- {CHEST.format(n)}{chr(10)}" for n in range(1, 31))}
## The yard

The yard holds these barrels:

{"".join(f"- {BARREL.format(n)}{chr(10)}" for n in range(1, 301))}
"""


@pytest.mark.parametrize(
    ("question", "way"),
    [
        ("What is chapter 3 about?", ways.WHOLE_PART),
        ("Summarise the book.", ways.WHOLE_PART),
        ("Who is Starbuck?", ways.IDENTITY),
        ("What is the difference between a sloop and a brig?", ways.COMPARISON),
        ("What does it make, and which release does it use?", ways.SEVERAL),
        ("Which goods are in the cellar?", ways.LISTED),
        ("How do I trim a lamp?", "It asks how something is done: give the steps in order."),
        ("Why is the whale white?", "It asks why: give the cause first."),
        ("Is the cellar dry?", "It asks whether something is so: begin with what decides it."),
        ("How many boats were lost?", "Begin with the number."),
        ("What broke the pier?", ""),
    ],
)
def test_each_kind_has_its_way(question: str, way: str) -> None:
    assert describe_way(question) == way


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stores")
    book = folder / "stores.md"
    book.write_text(CELLAR, encoding="utf-8")
    return fill_library(folder / "library", book)


async def test_a_model_reads_a_whole_list_and_is_told_that_one_is_asked_for(data: Path) -> None:
    def follow(request: ModelRequest) -> Reply:
        assert ways.LISTED in request.text
        lead = next(id_ for id_, text in request.sentences.items() if "four goods" in text)
        if not request.tool_results:
            return [Call("read_list", {"sentence": lead})]
        read = request.tool_results[-1].text
        return Claims([(text, [id_]) for id_, text in request.sentences.items() if text in read])

    async with (
        ScriptedModel(follow) as model,
        open_library_with_model(data, model, mode="agent") as library,
    ):
        answer = await library.ask("Which goods does the cellar hold?")
        assert all(goods in answer.content for goods in GOODS)
        await assert_well_cited(library, answer)
        assert all(verdict.true for verdict in await library.verify(answer.id))
    assert model.failures == []


async def read_list(data: Path, first: str, *, selected: str | None = None) -> str:
    """Return what the model is shown of the list that has these words."""
    shown: list[str] = []

    def follow(request: ModelRequest) -> Reply:
        if request.tool_results:
            shown.append(request.tool_results[-1].text)
            return Claims([])
        return [Call("read_list", {"sentence": next(i for i, t in request.sentences.items() if first in t)})]

    async with (
        ScriptedModel(follow) as model,
        open_library_with_model(data, model, mode="agent") as library,
    ):
        await library.ask(first, book_id="stores", selected_text=selected)
    assert model.failures == []
    return shown[0]


@pytest.mark.parametrize("first", ["The attic holds these chests", "Chest 17 is of oak"])
async def test_every_item_of_a_list_is_read_with_all_its_sentences(data: Path, first: str) -> None:
    read = await read_list(data, first)
    assert "The attic holds these chests:" in read
    assert [int(n) for n in re.findall(r"Chest (\d+) is", read)] == list(range(1, 31))
    assert [int(n) for n in re.findall(r"crew of boat (\d+) in May", read)] == list(range(1, 31))
    assert "more item" not in read


@pytest.mark.parametrize(("first", "start"), [("The yard holds these barrels", 1), ("Barrel 222 is", 222)])
async def test_a_list_that_is_too_long_says_how_many_items_are_left_out(
    data: Path, first: str, start: int
) -> None:
    read = await read_list(data, first)
    begun = [int(n) for n in re.findall(r"Barrel (\d+) is", read)]
    ended = [int(n) for n in re.findall(r"in the week (\d+) of his", read)]
    assert begun == list(range(start, start + len(begun)))
    assert len(ended) >= 40
    assert f"… {300 - len(ended)} more items\n<<<end" in read


async def test_of_items_outside_of_the_selection_the_model_learns_nothing(data: Path) -> None:
    selected = "\n".join(f"- {BARREL.format(n)}" for n in (20, 21, 22))
    read = await read_list(data, "Barrel 21 is of beech", selected=selected)
    assert re.findall(r"Barrel (\d+) is", read) == ["20", "21", "22"]
    assert "more item" not in read


# So long a book takes more tokens than a question has.
CHAPTERS, PARAGRAPHS = 15, 55
TOKENS = AgentLimits().tokens
PARAGRAPH = (
    "In the harbour of {place} the masters counted every sail of the {nth} fleet before the fog came down. "
    "Nobody could say afterwards why the {nth} watch had left its lantern at {place} unlit, or who had gone. "
    "The clerk wrote each of it in his book, and the book of {place} was closed when the {nth} bell had rung."
)


def write_long_book(path: Path) -> Path:
    parts = []
    for chapter in range(1, CHAPTERS + 1):
        told = (PARAGRAPH.format(place=f"Port {chapter}", nth=f"{n}th") for n in range(4, PARAGRAPHS + 4))
        parts.append(f"# Chapter {chapter}\n\n" + "\n\n".join(told))
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def long_book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet")
    book = write_long_book(folder / "fleet.md")
    assert len(book.read_text(encoding="utf-8")) > 4 * TOKENS
    return fill_library(folder / "library", book)


async def test_a_model_tells_a_whole_book_from_gists_within_its_tokens(long_book: Path) -> None:
    gists: list[str] = []

    def follow(request: ModelRequest) -> Reply:
        assert ways.WHOLE_PART in request.text
        if not request.tool_results:
            named = [Call("read_gist", {"part": f"chapter {n}"}) for n in range(1, 11)]
            return [Call("read_gist", {"part": "the book"}), *named]
        gists[:] = [result.text for result in request.tool_results]
        shown = {text: id_ for id_, text in request.sentences.items()}
        return Claims([(text, [id_]) for text, id_ in list(shown.items())[-6:]])

    async with (
        ScriptedModel(follow) as model,
        open_library_with_model(long_book, model, mode="agent", tokens=TOKENS) as library,
    ):
        answer = await library.ask("What is this book about?", book_id="fleet")
        kept = (await library.conversations.find_exchange(answer.id)).receipt
        await assert_well_cited(library, answer)
    assert model.failures == []
    assert len(gists) == 11
    assert all(f"Port {n} " in gist for n, gist in enumerate(gists[1:], 1))
    assert kept["answerer"] == MODEL
    spent: Any = kept["model"]
    assert 0 < spent["tokens_in"] + spent["tokens_out"] <= TOKENS
