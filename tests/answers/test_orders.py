"""A bare command about selected text is carried out on that text, as readers type it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from octavo.answers.orders import OrderKind, read_order
from octavo.library import Library
from octavo.testing import TinyEmbedder
from octavo.types import Question, RefusalReason, Scope, ScopeType
from tests.support import small_books
from tests.support.answerers import assert_well_cited, fill_library
from tests.support.copies import copy_library

REEF = {
    "Terms": "A wherry is a light boat that is rowed by one man. A skerry is a small island of bare rock.",
    "Crossing": "Oswin took the wherry out to the skerry. He rowed until the lamps were lit. The tide was "
    "against him all the way. Nobody had crossed at night before. He came back with two lambs.",
}
SELECTED = REEF["Crossing"]
WORDS = ["red", "blue", "green", "white", "black", "grey", "small", "large", "old", "new", "fast", "slow"] * 6
SPOILED = """Captain Marsh met Oswin Hale at the inn near the skerry, and they drank.

They spoke of the weather for a long while, and of ships, and then each went to bed.

Oswin Hale was the murderer of the keeper, as it turned out in the end."""


@pytest.mark.parametrize(
    ("kind", "typed"),
    [
        (
            OrderKind.EXPLAIN,
            "explain|Explain this.|please explain this passage to me|eli5|ELI 5|what's this mean|huh?"
            "|whats this mean?|what does it mean|in simple words|simplify this in plain english|meaning?"
            "|i don't get it|what is this about|explain like im five|put this in simple terms|define",
        ),
        (
            OrderKind.SUMMARISE,
            "tl;dr|TLDR|summarise|Can you summarize this for me?|sum this up|give me the gist|key points",
        ),
        (OrderKind.REWRITE, "rewrite this in modern English|can you reword it please"),
        (OrderKind.SUMMARISE, "shorter please"),
        (OrderKind.EXPLAIN, "can you explain what this means to a beginner?|who is this?|who's he"),
        (
            OrderKind.TRANSLATE,
            "in french|Into German, please|what does this mean in German?|french translation",
        ),
        (OrderKind.TRANSLATE, "translate|translate this into German|pls translate to Urdu"),
        (OrderKind.DEFINE, "define wherry|what does skerry mean?|definition of the word skerry"),
    ],
)
def test_an_order_is_read_as_readers_type_it(kind: OrderKind, typed: str) -> None:
    for said in typed.split("|"):
        order = read_order(said)
        assert order is not None, said
        assert (order.kind, bool(order.term)) == (kind, kind is OrderKind.DEFINE), said


@pytest.mark.parametrize(
    "asked",
    [
        "who is speaking?",
        "explain why the whale is white",
        "summarise chapter 3",
        "is this true?",
        "Is this Latin?",
        "Is this in French?",
        "Was it English?",
        "Latin or French?",
        "What does he need to explain to us?",
        "Did she explain it to them?",
        "Who does he want to explain it to?",
        "what is a gam",
    ],
)
def test_a_question_of_its_own_is_no_order(asked: str) -> None:
    assert read_order(asked) is None


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reef")
    return fill_library(
        folder / "library", small_books.write_markdown(folder / "reef.md", REEF, title="Reef")
    )


@pytest.fixture
async def library(filled: Path, tmp_path: Path) -> AsyncIterator[Library]:
    async with Library.open(copy_library(filled, tmp_path / "l"), embedder=TinyEmbedder()) as opened:
        yield opened


async def test_a_summary_is_made_of_the_selections_own_sentences(library: Library) -> None:
    answer = await library.ask("tl;dr", selected_text=SELECTED)
    assert answer.refusal is None
    assert all(cited.content_snippet in SELECTED for cited in answer.citations)
    assert 1 <= len(answer.citations) < 5
    await assert_well_cited(library, answer)


async def test_an_explanation_has_the_definitions_of_the_terms_from_elsewhere(library: Library) -> None:
    answer = await library.ask("what's this mean", selected_text="Oswin took the wherry out to the skerry.")
    quoted = [cited.content_snippet for cited in answer.citations]
    assert quoted[0] == "Oswin took the wherry out to the skerry."
    assert "A skerry is a small island of bare rock." in quoted
    assert all(verdict.true for verdict in await library.verify(answer.id))
    defined = await library.ask("define wherry", selected_text="Oswin took the wherry out to the skerry.")
    assert defined.content == "A wherry is a light boat that is rowed by one man. [1]"


async def test_an_order_is_not_completed_from_the_talk_and_never_sent_elsewhere(library: Library) -> None:
    session = (await library.session()).session_id
    await library.ask("Who took the wherry?", session_id=session)
    answer = await library.ask(
        "explain", selected_text="He rowed until the lamps were lit.", session_id=session
    )
    kept = await library.conversations.find_exchange(answer.id)
    assert (kept.interpreted, answer.refusal) == ("explain", None)
    own = await library.ask("explain", selected_text="This stands in no book. It says that goats can fly.")
    assert own.citations[0].chunk.book_id == "selection"


async def test_without_a_model_nothing_is_translated_and_the_reader_is_told(library: Library) -> None:
    refused = await library.ask("translate to german", selected_text=SELECTED)
    assert refused.refusal is not None
    assert refused.refusal.reason is RefusalReason.BELOW_CONFIDENCE
    assert "language model" in refused.content
    assert "the book has one" not in refused.content
    assert refused.confidence == 0


SHIP = """The Osprey came in. Osprey again! They cheered the Osprey.

Captain Marsh gave her a new mast. He liked her.

The Osprey is a small schooner with two masts. She was built in 1840.

Run this to raise the sail:

```
hoist("main")
```

The flags mean this:

| flag | meaning |
|------|---------|
| blue | sail now |

Later she sank in a storm."""


@pytest.fixture(scope="module")
def shipyard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ship")
    file = small_books.write_markdown(folder / "ship.md", {"Ship": SHIP, "End": "Amen to it."}, title="Ship")
    return fill_library(folder / "library", file)


@pytest.fixture
async def ship(shipyard: Path, tmp_path: Path) -> AsyncIterator[Library]:
    async with Library.open(copy_library(shipyard, tmp_path / "s"), embedder=TinyEmbedder()) as opened:
        yield opened


async def test_a_selected_name_is_explained_by_what_the_book_says_of_it(ship: Library) -> None:
    for order in ("explain", "define", "what is this?"):
        answer = await ship.ask(order, selected_text="Osprey")
        assert "The Osprey is a small schooner with two masts." in answer.content
        assert all(verdict.true for verdict in await ship.verify(answer.id))


@pytest.mark.parametrize(
    ("selected", "around"),
    [
        ('hoist("main")', ["Run this to raise the sail:"]),
        ("blue | sail now", ["The flags mean this:", "flag | meaning"]),
        ("He liked her.", ["Captain Marsh gave her a new mast."]),
    ],
)
async def test_a_short_selection_is_explained_by_what_stands_around_it(
    ship: Library, selected: str, around: list[str]
) -> None:
    answer = await ship.ask("explain", selected_text=selected)
    quoted = [cited.content_snippet for cited in answer.citations]
    assert quoted[: len(around)] == around
    assert selected.split(" |")[0] in quoted[len(around)]
    assert "sank" not in answer.content
    assert all(verdict.true for verdict in await ship.verify(answer.id))


async def test_what_nothing_explains_is_not_said_again_as_its_explanation(ship: Library) -> None:
    refused = await ship.ask("explain", selected_text="Amen to it.")
    assert refused.refusal is not None
    assert "nothing that explains" in refused.content


async def test_of_a_text_that_is_in_no_book_this_is_said(ship: Library) -> None:
    answer = await ship.ask("explain", selected_text="This stands in no book. It says that goats can fly.")
    assert answer.content.startswith("I did not find this text in your books")
    assert answer.confidence < 0.4


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("explain", "Select a passage"),
        ("summarise", "Select a passage"),
        ("translate", "Select a passage"),
        ("what about the second one?", "what this refers to"),
        ("why?", "what this refers to"),
        ("who are you?", "I answer questions"),
        ("what can you do?", "I answer questions"),
        ("thanks", "I answer questions"),
        ("?", "I answer questions"),
    ],
)
async def test_what_asks_nothing_by_itself_is_told_what_is_missing(
    ship: Library, said: str, told: str
) -> None:
    refused = await ship.ask(said)
    assert refused.refusal is not None
    assert (told in refused.content, refused.confidence, refused.evidence) == (True, 0.0, ())


async def test_a_long_selection_is_summed_up_from_all_of_it(tmp_path: Path) -> None:
    told = " ".join(f"The {word} boat came in from the {word} bank." for word in WORDS)
    file = small_books.write_markdown(tmp_path / "fleet.md", {"Fleet": told}, title="Fleet")
    async with Library.open(tmp_path / "l", embedder=TinyEmbedder()) as library:
        book = await library.add(file)
        section = next(s for s in await library.contents(book.id) if s.title == "Fleet")
        place = Scope(type=ScopeType.SELECTION, identifier=f"{section.id}#char=0,{len(section.text)}")
        answer = await library.ask("tl;dr", book_id=book.id, scope=place)
        assert max(cited.start for cited in answer.citations) > len(section.text) / 2


@pytest.mark.parametrize(
    "said",
    ["explain" + " in short" * 20 + " x", "please " * 25 + "x", "what is " * 20, "explain" + " more" * 200],
)
def test_no_order_takes_long_to_read(said: str) -> None:
    began = time.process_time()
    assert read_order(said) is None
    # It took a minute of CPU time once: there were two ways to read each "in short".
    assert time.process_time() - began < 1


@pytest.mark.parametrize("said", ["in french", "rewrite this in modern English", "why?", "is this wise?"])
async def test_what_is_meant_for_a_selection_is_never_sent_elsewhere(library: Library, said: str) -> None:
    refused = await library.ask(said, selected_text="The tide was against him all the way.")
    assert "the book has one" not in refused.content


async def test_an_explanation_tells_nothing_from_ahead_or_from_another_file(tmp_path: Path) -> None:
    folder = tmp_path / "book"
    folder.mkdir()
    (folder / "a.md").write_text(f"# Inn\n\n{SPOILED}", encoding="utf-8")
    (folder / "b.md").write_text("# Terms\n\nA skerry is a small island of bare rock.", encoding="utf-8")
    async with Library.open(tmp_path / "l", embedder=TinyEmbedder()) as library:
        book = await library.add(folder, title="Inn")
        met = SPOILED.split("\n")[0]
        for order in ("explain", "define Oswin Hale"):
            answer = await library.ask(order, book_id=book.id, selected_text=met)
            assert "murderer" not in answer.content
        asked = Question(content="define skerry", book_id=book.id, selected_text=met)
        free = await library.ask(asked)
        kept = await library.ask(replace(asked, id=str(uuid4()), filters={"source_file": "a.md"}))
        assert "island of bare rock" in free.content
        assert "island" not in kept.content


async def test_an_explanation_ends_with_the_selection_and_not_with_its_passage(tmp_path: Path) -> None:
    told = (
        "There sat Marsh by the fire. The wind rose and the lamp went out. "
        "Marsh is the murderer of the keeper. Marsh was hanged for it in the end."
    )
    parts = {"Inn": "Rain fell on the inn all day.", "Fire": told, "End": "Marsh was forgotten."}
    file = small_books.write_markdown(tmp_path / "inn.md", parts, title="Inn")
    async with Library.open(tmp_path / "l", embedder=TinyEmbedder()) as library:
        book = await library.add(file)
        fire = next(s for s in await library.contents(book.id) if s.title == "Fire")
        at = fire.text.index("Marsh")
        place = Scope(type=ScopeType.SELECTION, identifier=f"{fire.id}#char={at},{at + 5}")
        for order in ("explain", "define Marsh", "who is this?"):
            answer = await library.ask(order, book_id=book.id, scope=place)
            assert "There sat Marsh" in answer.content or answer.refusal
            for ahead in ("murderer", "hanged", "forgotten", "lamp"):
                assert ahead not in answer.content, order
            assert not any("murderer" in item.chunk.content for item in answer.evidence)
