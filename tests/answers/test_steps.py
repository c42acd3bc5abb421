"""The steps of asking: where an answer may come from, which claims hold, and what is on the receipt."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from octavo.answers.calibration import load_calibration
from octavo.answers.replies import Answerer
from octavo.errors import InvalidValue
from octavo.library import Library
from octavo.search.rerank import Reranker
from octavo.search.retrieval import Retriever
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from octavo.types import Answer, Refusal, RefusalReason, Scope, ScopeType
from tests.support import small_books
from tests.support.answerers import (
    AllSentencesAnswerer,
    ScriptedAnswerer,
    add_tides,
    assert_well_cited,
    fill_library,
)
from tests.support.copies import copy_library
from tests.support.scripted_reader import ScriptedLarge, ScriptedReader

LOST = "How many boats were lost?"
HARBOUR = Scope(type=ScopeType.SECTION, identifier="Harbour")
QUOTED = {
    "Speech": "“Call me Ishmael,” he said. Some years ago — never mind how long pre-\ncisely — I went on. "
    + " ".join(f"Then came the day number {n}, and the ship sailed on." for n in range(12)),
    "End": "And so the well-known story ends, as it began, with the sea.",
}


@pytest.fixture(scope="module")
def tides(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return add_tides(tmp_path_factory.mktemp("tides"))


@pytest.fixture
def data(tides: Path, tmp_path: Path) -> Path:
    return copy_library(tides, tmp_path / "library")


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("quoted")
    speech = small_books.write_markdown(folder / "speech.md", QUOTED, title="Speech")
    other = small_books.write_markdown(
        folder / "other.md", {"Sea": "The sea was calm that day."}, title="Selection"
    )
    return fill_library(folder / "library", speech, other, chunk_tokens=48)


@pytest.fixture
async def library(shelf: Path) -> AsyncIterator[Library]:
    """Two books, one of them called "Selection", and an answerer that quotes all it is shown."""
    settings = Settings(data=shelf, chunk_tokens=48)
    async with Library.open(
        settings=settings, embedder=TinyEmbedder(), answerer=AllSentencesAnswerer()
    ) as opened:
        yield opened


def snippets(answer: Answer) -> list[str]:
    return [citation.content_snippet for citation in answer.citations]


async def refusal_of(data: Path, answerer: Answerer, *, scope: Scope | None = None) -> Refusal:
    async with Library.open(data, embedder=TinyEmbedder(), answerer=answerer) as opened:
        answer = await opened.ask(LOST, scope=scope)
    assert answer.refusal is not None
    assert (answer.content, answer.citations) == (answer.refusal.message, ())
    return answer.refusal


@pytest.mark.parametrize(
    ("copied", "expected"),
    [
        ('"Call me Ishmael,"\r\n he said', ["“Call me Ishmael,” he said."]),
        ("how long precisely", ["Some years ago — never mind how long pre- cisely — I went on."]),
        ("the well‐\nknown STORY", ["And so the well-known story ends, as it began, with the sea."]),
        ("day number 3, and", ["Then came the day number 3, and the ship sailed on."]),
    ],
)
async def test_a_selection_is_found_through_white_space_quotes_and_hyphens(
    library: Library, copied: str, expected: list[str]
) -> None:
    for scope in (None, Scope(type=ScopeType.SELECTION, identifier=copied)):
        answer = await library.ask("What?", selected_text=None if scope else copied, scope=scope)
        assert snippets(answer) == expected
        assert all(e.chunk.content == expected[0] for e in answer.evidence)
        await assert_well_cited(library, answer)


async def test_a_selection_over_several_passages_is_read_whole(library: Library) -> None:
    days = [f"Then came the day number {n}, and the ship sailed on." for n in range(1, 9)]
    answer = await library.ask("What?", selected_text=" \n".join(days), top_k=20)
    assert len(answer.evidence) > 1
    assert sorted(snippets(answer)) == days


async def test_a_selection_that_no_book_has_is_answered_from_itself_and_says_so(library: Library) -> None:
    text = "Twelve goats ate the grass. Then they slept."
    answer = await library.ask("What did they eat?", selected_text=text)
    assert snippets(answer) == ["Twelve goats ate the grass.", "Then they slept."]
    assert "not found in one piece" in answer.citations[0].source_location
    assert {v.note for v in await library.verify(answer.id)} == {"quoted from the reader's own selection"}
    book = await library.ask("How was the sea?", book_id="selection")
    assert {v.note for v in await library.verify(book.id)} == {"in the present edition"}


@pytest.mark.parametrize("text", ["goats", "…", "\u200b\u200b", "x" * 9])
async def test_a_few_letters_that_no_book_has_are_refused_in_words(library: Library, text: str) -> None:
    with pytest.raises(InvalidValue, match="selected_text is not in the book"):
        await library.ask("What?", selected_text=text)


async def test_a_few_letters_that_a_book_has_are_found_there(library: Library) -> None:
    answer = await library.ask("Who?", selected_text="Ishmael")
    assert snippets(answer) == ["“Call me Ishmael,” he said."]


async def test_a_selection_and_a_narrower_scope_are_not_both_taken(library: Library) -> None:
    section = Scope(type=ScopeType.SECTION, identifier="End")
    with pytest.raises(InvalidValue, match="scope"):
        await library.ask("What?", book_id="speech", scope=section, selected_text="Call me Ishmael")


async def test_among_several_books_a_scope_needs_its_book(library: Library) -> None:
    with pytest.raises(InvalidValue, match="which book"):
        await library.ask("What?", scope=Scope(type=ScopeType.SECTION, identifier="End"))
    books = {c.chunk.book_id for c in (await library.ask("What of the sea?", top_k=20)).citations}
    assert books == {"speech", "selection-2"}


async def test_what_the_book_answers_elsewhere_is_said_with_the_section_that_answers(data: Path) -> None:
    refusal = await refusal_of(data, AllSentencesAnswerer("boats were lost"), scope=HARBOUR)
    assert refusal.reason is RefusalReason.NOT_IN_SCOPE
    assert "“Storm”" in refusal.message
    assert [e.chunk.section for e in refusal.nearest] == ["Storm"]
    assert refusal.excerpts == ("",), "text outside of the scope is not shown"


async def test_what_no_part_of_the_book_answers_is_not_in_the_book(data: Path) -> None:
    refusal = await refusal_of(data, ScriptedAnswerer(answerable=0.0), scope=HARBOUR)
    assert refusal.reason is RefusalReason.NOT_IN_BOOK
    assert [e.chunk.section for e in refusal.nearest] == ["Harbour"]
    assert refusal.nearest[0].chunk.url == "book://the-tides/harbour"
    assert refusal.excerpts[0] in small_books.TIDES["Harbour"]
    assert (await refusal_of(data, ScriptedAnswerer(answerable=0.0))).reason is RefusalReason.NOT_IN_BOOK


async def test_an_answer_that_is_not_sure_enough_is_not_given(data: Path) -> None:
    unsure = ScriptedAnswerer(("Nobody spoke of the boats until the bells had rung.", ["s2"]), answerable=0.5)
    async with Library.open(data, embedder=TinyEmbedder(), answerer=unsure) as library:
        scope = Scope(type=ScopeType.SECTION, identifier="Morning")
        strict = await library.ask("Who spoke of the boats?", scope=scope)
        assert strict.refusal is not None
        assert strict.refusal.reason is RefusalReason.BELOW_CONFIDENCE
    settings = Settings(data=data, risk=0.9)
    async with Library.open(settings=settings, embedder=TinyEmbedder(), answerer=unsure) as library:
        assert (await library.ask("Who spoke of the boats?", scope=scope)).refusal is None


async def test_with_any_risk_taken_nothing_to_say_is_still_a_refusal(data: Path) -> None:
    settings = Settings(data=data, risk=0.9)
    async with Library.open(
        settings=settings, embedder=TinyEmbedder(), answerer=ScriptedAnswerer()
    ) as library:
        answer = await library.ask(LOST)
    assert answer.refusal is not None
    assert answer.refusal.reason is RefusalReason.NOT_IN_BOOK


async def test_the_receipt_says_how_the_answer_came_about(library: Library) -> None:
    answer = await library.ask("How was the sea?", book_id="selection")
    receipt = (await library.conversations.find_exchange(answer.id)).receipt
    (book,) = [b for b in await library.books() if b.id == "selection-2"]
    assert receipt["index"] == {"selection-2": [book.index_fingerprint, book.content_hash]}
    assert receipt["evidence"] == [[e.chunk.id, round(e.relevance_score, 6)] for e in answer.evidence]
    assert receipt["claims"] == [["The sea was calm that day.", ["s1"]]]
    assert (receipt["answerer"], receipt["dropped"], receipt["scope"]) == ("greedy", [], "Selection")


async def test_a_web_page_gets_a_link_to_the_very_words(tmp_path: Path) -> None:
    site = small_books.write_html(tmp_path / "tides.html")
    async with Library.open(
        tmp_path / "library", embedder=TinyEmbedder(), answerer=AllSentencesAnswerer("boats")
    ) as library:
        await library.add(site, base_url="https://example.org/tides.html")
        answer = await library.ask(LOST)
    links = {c.content_snippet: c.link for c in answer.citations}
    lost = links["Seven boats were lost with all their nets."]
    assert lost.startswith("https://example.org/tides.html")
    assert lost.endswith(":~:text=Seven%20boats%20were%20lost%20with%20all%20their%20nets.")


# With the models that come with Octavo

SEVERAL = "How many boats were lost in the storm at night, and in the morning?"


async def ask_with(
    data: Path, reranker: Reranker | None, question: str = LOST
) -> tuple[Answer, dict[str, object]]:
    """Ask a library that reads with these models, and return the answer with its receipt."""
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        context = await library._context()
        library._retriever = Retriever(context.store, context.records, context.embedder, reranker=reranker)
        answer = await library.ask(question)
        return answer, dict((await library.conversations.find_exchange(answer.id)).receipt)


async def test_the_receipt_names_the_models_that_were_used(data: Path) -> None:
    small = ScriptedReader({"Seven": 4.0}, answer="Seven")
    large = ScriptedLarge({"Seven": 6.0}, answer="Seven", support=9.0)
    _, receipt = await ask_with(data, None)
    assert (receipt["local"], receipt["calibration"]) == ([], load_calibration().version)
    _, receipt = await ask_with(data, Reranker(small))
    assert (receipt["local"], receipt["calibration"]) == (
        [small.name],
        load_calibration(reader="small").version,
    )
    assert large.count == 0
    _, receipt = await ask_with(data, Reranker(small, large=large), SEVERAL)
    assert (receipt["local"], receipt["calibration"]) == (
        [small.name, large.name],
        load_calibration(reader="large").version,
    )
    _, receipt = await ask_with(data, Reranker(small, large=large))
    assert receipt["local"] == [large.name], "a passage that stands alone is only read for the answer"


async def test_the_large_model_reads_what_is_asked_and_not_what_is_searched_for(data: Path) -> None:
    large = ScriptedLarge({"Seven": 6.0}, answer="Seven", support=9.0)
    async with Library.open(data, embedder=TinyEmbedder()) as library:
        context = await library._context()
        library._retriever = Retriever(
            context.store,
            context.records,
            context.embedder,
            reranker=Reranker(ScriptedReader({"Seven": 4.0}), large=large),
        )
        await library.search(LOST)
        assert large.count == 0
        await library.ask(LOST)
        read = large.count
        assert read > 0
        await library.ask(LOST)
        assert large.count == read, "what was read is remembered"


async def test_answers_with_the_large_model_are_the_same_every_time(data: Path) -> None:
    answers = []
    for _ in range(2):
        large = ScriptedLarge({"Seven": 6.0}, answer="Seven", support=9.0)
        reranker = Reranker(ScriptedReader({"boats": 4.0}), large=large)
        answer, receipt = await ask_with(data, reranker, SEVERAL)
        shown = [receipt[part] for part in ("evidence", "claims", "told", "answerable", "confidence")]
        answers.append((answer.content, [c.content_snippet for c in answer.citations], shown))
    assert answers[0] == answers[1]
    assert "Seven boats were lost" in str(answers[0][0])
