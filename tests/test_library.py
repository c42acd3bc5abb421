"""The library as programs see it: opened, filled, looked up, searched, emptied."""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import pytest

import octavo
from octavo.answers.calibration import load_calibration, threshold
from octavo.errors import BadBook, InvalidValue, NotFound
from octavo.events import AskEvent, Claimed, last
from octavo.library import Library
from octavo.maintenance import repair
from octavo.models.weights import LARGE
from octavo.search.retrieval import Retriever
from octavo.search.scope import bound_by_books
from octavo.settings import Settings
from octavo.store import compaction
from octavo.store.edge import EdgeStore
from octavo.testing import TinyEmbedder
from octavo.types import Book, Question, Scope, ScopeType
from octavo.verification.check import check
from tests.support import small_books
from tests.support.scripted_reader import ScriptedLarge


@pytest.fixture
def embedder() -> TinyEmbedder:
    return TinyEmbedder()


@pytest.fixture
async def library(tmp_path: Path, embedder: TinyEmbedder) -> AsyncIterator[Library]:
    async with Library.open(tmp_path / "library", embedder=embedder) as opened:
        yield opened


@pytest.fixture
async def tides(library: Library, tmp_path: Path) -> Book:
    return await library.add(small_books.write_markdown(tmp_path / "tides.md"))


async def test_every_result_is_its_sections_text_in_order_of_relevance(library: Library, tides: Book) -> None:
    found = await library.search("who counted the ships at dawn?", top_k=3)
    sections = {s.id: s for s in await library.contents(tides.id)}
    assert found[0].chunk.section == "Harbour"
    assert [e.rank for e in found] == [1, 2, 3]
    scores = [e.relevance_score for e in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 <= score <= 1.0 for score in scores)
    for evidence in found:
        chunk = evidence.chunk
        assert sections[chunk.section_id].text[chunk.start : chunk.end] == chunk.content


async def test_a_repeated_query_is_not_embedded_again(
    library: Library, tides: Book, embedder: TinyEmbedder
) -> None:
    first = await library.search("the lamp at dusk")
    embedded = embedder.embedded
    assert await library.search("  the lamp\nat dusk ", book_id=tides.id) == first
    assert embedder.embedded == embedded


async def test_what_was_found_is_remembered_until_a_book_comes_or_goes(
    library: Library, tides: Book, tmp_path: Path
) -> None:
    first = await library.search("the lamp at dusk", top_k=50)
    assert await library.search("the lamp at dusk", top_k=50) == first
    first.clear()  # the list is the caller's own
    again = await library.search("the lamp at dusk", top_k=50)
    assert {e.chunk.book_id for e in again} == {tides.id}
    assert len(await library.search("the lamp at dusk", top_k=1)) == 1
    hills = small_books.write_markdown(
        tmp_path / "hills.md", {"Top": "A lamp burns at dusk."}, title="The Hills"
    )
    other = await library.add(hills)
    both = await library.search("the lamp at dusk", top_k=50)
    assert {e.chunk.book_id for e in both} == {tides.id, other.id}
    only = await library.search("the lamp at dusk", top_k=50, books=[other.id])
    assert {e.chunk.book_id for e in only} == {other.id}
    assert await library.search("the lamp at dusk", top_k=50, book_id=other.id) == only
    await library.remove(other.id)
    assert await library.search("the lamp at dusk", top_k=50) == again
    with pytest.raises(NotFound):
        await library.search("the lamp at dusk", top_k=50, book_id=other.id)


async def test_what_is_found_while_a_book_changes_is_not_remembered(library: Library, tides: Book) -> None:
    generation = library._records.generation
    async with library._changes():
        during = await library.search("who counted the ships at dawn?")
        assert during
        assert not library._found._known
    assert await library.search("who counted the ships at dawn?") == during
    assert len(library._found._known) == 1
    assert library._records.generation == generation


@pytest.mark.parametrize("query", ["", "  \n", "q" * 1001, "a\x00b"])
async def test_a_query_that_is_none_is_refused(library: Library, query: str) -> None:
    with pytest.raises(InvalidValue, match="query"):
        await library.search(query)


@pytest.mark.parametrize("top_k", [0, -1, 101, 10**9])
async def test_too_few_or_too_many_results_are_refused(library: Library, top_k: int) -> None:
    with pytest.raises(InvalidValue, match="top_k"):
        await library.search("whale", top_k=top_k)


async def test_an_odd_query_is_still_a_query(library: Library, tides: Book) -> None:
    for query in ("🐳", "the of and", "\u200b", "' OR 1=1 --", "x" * 1000):
        assert len(await library.search(query, top_k=2)) <= 2


async def test_an_empty_library_finds_nothing(library: Library) -> None:
    assert await library.search("whale") == []
    assert await library.books() == []
    with pytest.raises(InvalidValue, match="which book"):
        await library.search("whale", scope=Scope(type=ScopeType.SECTION, identifier="One"))


async def test_a_book_is_found_by_id_or_by_its_only_title(
    library: Library, tides: Book, tmp_path: Path
) -> None:
    assert await library.book("the-tides") == await library.book("THE TIDES") == tides
    await library.add(tmp_path / "tides.md", book_id="copy")
    with pytest.raises(InvalidValue, match="the-tides"):
        await library.book("The Tides")
    assert [b.id for b in await library.books()] == ["the-tides", "copy"]
    found = await library.search("ships at dawn", book_id="copy", top_k=100)
    assert {e.chunk.book_id for e in found} == {"copy"}


async def test_removing_a_book_leaves_nothing_of_it_and_the_others_whole(
    library: Library, tides: Book, tmp_path: Path
) -> None:
    other = await library.add(
        small_books.write_text(tmp_path / "other.txt", {"a": "Quite another text stands here."})
    )
    assert await library.remove("The Tides") == tides
    assert await library.books() == [other]
    context = await library._context()
    assert set(await context.store.read_digests()) == set(await context.records.read_digests())
    assert {e.chunk.book_id for e in await library.search("ships at dawn", top_k=100)} == {other.id}
    with pytest.raises(NotFound):
        await library.remove(tides.id)
    assert (await library.add(tmp_path / "tides.md")).id == tides.id


async def test_a_preview_says_what_would_change_and_changes_nothing(
    library: Library, tides: Book, embedder: TinyEmbedder, tmp_path: Path
) -> None:
    embedded = embedder.embedded
    changed = {**small_books.TIDES, "Evening": "In the evening the lamps were lit."}
    path = small_books.write_markdown(tmp_path / "tides.md", changed)
    planned = await library.preview(path)
    assert (planned.book_id, planned.added, planned.changed, planned.removed) == (tides.id, 1, 0, 0)
    assert (planned.kept, planned.chunks_new, planned.chunks_gone) == (4, 1, 0)
    assert (await library.preview(path, book_id="new")).added == 5
    assert await library.books() == [tides]
    assert embedder.embedded == embedded
    await library.add(path)
    assert (await library.preview(path)).chunks_new == 0


async def test_a_folder_is_named_after_itself_even_when_it_is_called_dot(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "guide"
    folder.mkdir()
    small_books.write_markdown(folder / "one.md", title="One")
    small_books.write_markdown(
        folder / "two.md", {"End": "The second file of the guide ends here."}, title="Two"
    )
    monkeypatch.chdir(folder)
    book = await library.add(".")
    assert book.source_file == "guide"
    assert (await library.add(folder)) == book


async def test_a_bad_file_leaves_the_library_as_it_was(library: Library, tides: Book, tmp_path: Path) -> None:
    (tmp_path / "bad.pdf").write_bytes(b"%PDF-1.4 nothing")
    with pytest.raises(BadBook):
        await library.add(tmp_path / "bad.pdf")
    with pytest.raises(BadBook, match="nothing at"):
        await library.add(tmp_path / "missing.md")
    assert await library.books() == [tides]


async def test_a_second_process_is_refused_at_once_and_can_still_look_at_the_catalogue(
    library: Library, tides: Book
) -> None:
    code = (
        "import asyncio, sys\nfrom octavo.library import Library\nfrom octavo.testing import TinyEmbedder\n"
        "async def main():\n"
        "    async with Library.open(sys.argv[1], embedder=TinyEmbedder()) as library:\n"
        "        print(len(await library.contents((await library.books())[0].id)))\n"
        "        try:\n            await library.search('ships')\n"
        "        except Exception as error:\n            print(type(error).__name__, error)\n"
        "asyncio.run(main())\n"
    )
    command = [sys.executable, "-c", code, str(library.settings.data)]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=True)
    sections, refusal = done.stdout.splitlines()
    assert int(sections) == tides.section_count
    assert refusal.startswith("LibraryBusy")
    assert f"in use by process {os.getpid()} " in refusal
    assert await library.search("ships at dawn")


async def test_an_opened_library_can_be_examined_and_used_on(library: Library, tides: Book) -> None:
    assert await library.search("ships at dawn")
    findings = await library.examine(repair=True)
    names = ["folder", "records", "answers", "model", "repair", "store", "second copy"]
    names.append("check before this one")
    assert [(f.what, f.sound) for f in findings] == [(name, True) for name in names]
    assert findings[4].said == "nothing needed repair"
    assert len(await library.search("ships at dawn")) == tides.chunk_count


async def test_a_library_opens_where_the_settings_say(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "elsewhere", chunk_tokens=64)
    async with Library.open(tmp_path / "here", settings=settings) as library:
        assert library.settings.data == tmp_path / "here"
        assert library.settings.chunk_tokens == 64
    async with Library.open(settings=settings) as library:
        assert library.settings == settings


# The models that come with Octavo

LOST = "How many boats were lost?"


def loaded(library: Library) -> list[bool]:
    """Whether the reader's and the verifier's files have been read."""
    return ["_session" in vars(model._model) for model in (library.models.reader, library.models.verifier)]


async def test_without_local_models_neither_is_loaded_and_words_and_meaning_decide(
    library: Library, tides: Book
) -> None:
    assert library.settings.local_models is False
    answer = await library.ask(LOST)
    assert (await library.check("Seven boats were lost.", [small_books.TIDES["Storm"]])).supported
    assert loaded(library) == [False, False]
    receipt = (await library.conversations.find_exchange(answer.id)).receipt
    assert (receipt["local"], receipt["calibration"]) == ([], load_calibration().version)
    context = await library._context()
    plain = Retriever(context.store, context.records, context.embedder)
    assert await library.search(LOST) == await plain.search(LOST, bounds=bound_by_books(), top_k=5)
    support = check("Few boats were lost.", [small_books.TIDES["Storm"]])
    assert await library.check("Few boats were lost.", [small_books.TIDES["Storm"]]) == support


@pytest.mark.usefixtures("local_models")
async def test_by_default_the_reader_finds_the_words_and_the_receipt_names_it(tmp_path: Path) -> None:
    async with Library.open(tmp_path / "library") as library:
        await library.add(small_books.write_markdown(tmp_path / "tides.md"))
        assert loaded(library) == [False, False], "adding a book needs neither"
        events = [event async for event in library.stream(LOST)]
        claims = [event for event in events if isinstance(event, Claimed)]
        assert [(c.text, [c.text[a:b] for a, b in c.marks]) for c in claims[:1]] == [
            ("Seven boats were lost with all their nets.", ["Seven"])
        ]
        assert loaded(library) == [True, False], "the large model's opinion takes the verifier's place"
        entry = await library.conversations.find_exchange((await last(replay(events))).answer.id)
        names = [library.models.reader.name, LARGE.name]
        assert (entry.receipt["local"], entry.receipt["calibration"]) == (names, 3)
        assert entry.receipt["threshold"] == threshold(library.settings.risk, reader="large")
        refused = await library.ask("How many horses were sold at the market?")
        assert refused.refusal is not None


@pytest.mark.usefixtures("local_models")
async def test_with_the_reader_off_no_model_reads_and_the_receipt_names_none(tmp_path: Path) -> None:
    book = small_books.write_markdown(tmp_path / "tides.md")
    async with Library.open(settings=Settings(data=tmp_path / "library", reader="off")) as library:
        await library.add(book)
        answer = await library.ask(LOST)
        receipt = (await library.conversations.find_exchange(answer.id)).receipt
        assert (receipt["local"], receipt["calibration"]) == ([], load_calibration().version)
        assert loaded(library) == [False, False]


@pytest.mark.usefixtures("local_models")
async def test_the_large_model_is_asked_for_questions_and_not_for_searches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = small_books.write_markdown(tmp_path / "tides.md")
    large = ScriptedLarge({"Seven": 6.0}, answer="Seven", support=9.0)
    async with Library.open(settings=Settings(data=tmp_path / "library", reader="large")) as library:
        monkeypatch.setattr(library.models, "large", large)
        await library.add(book)
        await library.search(LOST)
        assert large.count == 0
        answer = await library.ask(LOST)
        receipt = (await library.conversations.find_exchange(answer.id)).receipt
        assert large.count > 0
        assert large.name in str(receipt["local"])
        assert receipt["threshold"] == threshold(library.settings.risk, reader="large")


@pytest.mark.usefixtures("local_models")
async def test_by_default_the_verifier_has_a_say_in_whether_a_claim_is_borne_out(library: Library) -> None:
    passages = ["The Pequod sailed from Nantucket in December 1841 with a crew of thirty men."]
    false, true = passages[0].replace("1841", "1851"), "The Pequod sailed in 1841 with thirty men."
    told = await library.check(false, passages)
    assert loaded(library) == [False, True]
    assert told.score < check(false, passages).score
    assert not told.supported
    told = await library.check(true, passages)
    assert told.score > check(true, passages).score
    assert told.supported


@pytest.mark.usefixtures("local_models")
async def test_a_search_without_the_reader_gives_the_passages_as_they_were_found(
    library: Library, tides: Book
) -> None:
    context, several = await library._context(), "storm harbour tide lamp"
    plain = Retriever(context.store, context.records, context.embedder)
    found = await plain.search(several, bounds=bound_by_books(), top_k=5)
    assert await library.search(several, rerank=False, top_k=5) == found
    assert loaded(library) == [False, False]
    read = await library.search(several, top_k=5)
    assert loaded(library) == [True, False]
    assert {e.chunk.id for e in read} == {e.chunk.id for e in found}
    assert [e.relevance_score for e in read] != [e.relevance_score for e in found]
    assert await library.search(several, rerank=False, top_k=5) == found  # what is remembered is told apart


async def replay(events: list[AskEvent]) -> AsyncGenerator[AskEvent, None]:
    for event in events:
        yield event


async def test_a_question_as_a_value_is_asked_and_recorded_as_it_is(library: Library, tides: Book) -> None:
    question = Question(content="How many boats were lost?", book_id=tides.title, user_id="ada", top_k=3)
    done = await last(library.stream(question))
    assert (done.question.id, done.question.book_id, done.question.top_k) == (question.id, tides.id, 3)
    exchange = await library.conversations.find_exchange(done.answer.id)
    assert exchange.question == done.question
    assert (await library.ask(question.content)).content == done.answer.content


# The names that `octavo` exports


def returned_names() -> dict[str, set[str]]:
    """The names in the return type of each public method of Library."""
    tree = ast.parse(inspect.getsource(Library))
    methods = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and not node.name.startswith("_")
        and node.returns is not None
    ]
    return {
        node.name: {n.id for n in ast.walk(node.returns) if isinstance(n, ast.Name)}
        for node in methods
        if node.returns is not None
    }


def test_what_the_public_methods_return_can_be_imported_from_octavo() -> None:
    # A tool is the type of the agents SDK, which is an extra.
    plain = {"list", "dict", "str", "int", "bool", "bytes", "AsyncGenerator", "AsyncIterator", "FunctionTool"}
    plain |= {"Sequence", "tuple"}
    assert {"ask", "stream", "preview", "check", "verify", "examine", "session"} <= returned_names().keys()
    for method, names in returned_names().items():
        assert all(getattr(octavo, name) for name in names - plain), method


def test_every_exported_name_is_there_and_described() -> None:
    page = (Path(__file__).parent.parent / "docs" / "python.md").read_text(encoding="utf-8")
    for name in octavo.__all__:
        assert getattr(octavo, name) is not None
        assert f"`{name}`" in page, name
    assert set(octavo.__all__) <= set(dir(octavo))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = octavo.nothing


async def test_a_book_is_removed_below_the_floor_of_free_space(tmp_path: Path) -> None:
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        await library.add(small_books.write_markdown(tmp_path / "tides.md"), book_id="tides")
    crowded = Settings(data=tmp_path / "library", free_space_mb=10**9)
    async with Library.open(settings=crowded, embedder=TinyEmbedder()) as library:
        assert (await library.remove("tides")).id == "tides"
        assert await library.books() == []
        assert await library.search("harbour") == []


async def test_a_new_data_folder_is_its_owners_alone(tmp_path: Path) -> None:
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as library:
        assert library.settings.data.stat().st_mode & 0o777 == 0o700


async def test_closing_does_not_wait_for_the_copy_of_a_store_that_is_rewritten(
    tmp_path: Path, embedder: TinyEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    copying = asyncio.Event()

    async def copy_for_ever(*_: object, **__: object) -> None:
        copying.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(compaction, "start_rewriting", copy_for_ever)
    async with asyncio.timeout(60), Library.open(tmp_path / "library", embedder=embedder) as library:
        await library.add(small_books.write_markdown(tmp_path / "tides.md"))
        store = (await library._context()).store
        assert isinstance(store, EdgeStore)
        store._flush_engine()
        store._exact_most = 1
        assert store._start_rewriting() is not None
        await copying.wait()
    async with Library.open(tmp_path / "library", embedder=embedder) as library:
        assert await library.search("ships")
        assert not library.repaired


async def test_a_store_is_closed_also_when_closing_is_cancelled(
    tmp_path: Path, embedder: TinyEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    noting = asyncio.Event()

    async def note_for_ever(*_: object) -> None:
        noting.set()
        await asyncio.Event().wait()

    async def open_and_close() -> None:
        async with Library.open(tmp_path / "library", embedder=embedder) as library:
            await library.add(small_books.write_markdown(tmp_path / "tides.md"))
            monkeypatch.setattr(repair, "expect_writes", note_for_ever)

    async def cancel(work: Coroutine[Any, Any, object]) -> None:
        noting.clear()
        task = asyncio.create_task(work)
        await noting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        monkeypatch.undo()

    await cancel(open_and_close())
    async with Library.open(tmp_path / "library", embedder=embedder) as library:
        assert await library.search("ships")
        monkeypatch.setattr(repair, "expect_writes", note_for_ever)
        await cancel(library.examine())
        assert await library.search("ships")
