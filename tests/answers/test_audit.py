"""Old answers are checked letter by letter, and whatever was changed since is found."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from octavo.errors import NotFound
from octavo.library import Library
from octavo.testing import TinyEmbedder
from tests.support import small_books
from tests.support.answerers import AllSentencesAnswerer, add_tides, change_records
from tests.support.copies import copy_library

LOST = "How many boats were lost?"


@pytest.fixture(scope="module")
def tides(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return add_tides(tmp_path_factory.mktemp("tides"))


@pytest.fixture
async def library(tides: Path, tmp_path: Path) -> AsyncIterator[Library]:
    data = copy_library(tides, tmp_path / "library")
    async with Library.open(data, embedder=TinyEmbedder(), answerer=AllSentencesAnswerer("boats")) as opened:
        yield opened


async def notes(library: Library, answer_id: str | None = None) -> list[tuple[int, bool, str]]:
    return [(v.number, v.true, v.note) for v in await library.verify(answer_id)]


async def test_what_nobody_touched_is_true(library: Library) -> None:
    assert await notes(library) == []
    first, second = await library.ask(LOST), await library.ask("Who spoke of the boats?")
    assert await notes(library, first.id) == [(n, True, "in the present edition") for n in (1, 2)]
    assert len(await notes(library)) == 4
    verdict = (await library.verify(second.question_id))[0]
    assert (verdict.answer_id, verdict.snippet) == (second.id, second.citations[0].content_snippet)
    with pytest.raises(NotFound):
        await library.verify("no-such-answer")


async def test_text_that_was_changed_is_found(library: Library) -> None:
    answer = await library.ask(LOST)
    change_records(
        library.settings.data, "UPDATE texts SET text = replace(text, 'Seven boats', 'Eight boats')"
    )
    found = {v.snippet: (v.true, v.note) for v in await library.verify(answer.id)}
    assert found["Seven boats were lost with all their nets."] == (
        False,
        "the text of the section does not say this at that place",
    )
    assert sum(not true for true, _ in found.values()) == 1


@pytest.mark.parametrize(
    "change",
    [
        "content = replace(content, 'Seven', 'Nine')",
        "citations = replace(citations, 'Seven', 'Nine')",
        "citations = '[]'",
        "citations = replace(citations, '\"number\": 1', '\"number\": 7')",
    ],
)
async def test_an_answer_that_was_changed_is_found(library: Library, change: str) -> None:
    answer = await library.ask(LOST)
    kept = await library.ask("Who spoke of the boats?")
    change_records(library.settings.data, f"UPDATE answers SET {change} WHERE id = '{answer.id}'")
    assert (0, False, "the stored answer was changed afterwards") in await notes(library, answer.id)
    assert all(true for _, true, _ in await notes(library, kept.id))


async def test_an_older_edition_still_bears_its_answers_out(library: Library, tmp_path: Path) -> None:
    answer = await library.ask("Who spoke of the boats?")
    assert {c.section for c in answer.citations} == {"Storm", "Morning"}
    newer = {
        name: text.replace("Seven", "Eight") for name, text in small_books.TIDES.items() if name != "Morning"
    }
    await library.add(small_books.write_markdown(tmp_path / "tides.md", newer))
    assert {(true, note) for _, true, note in await notes(library)} == {(True, "in an earlier edition")}


async def test_a_passage_that_the_new_edition_kept_is_in_the_present_one(
    library: Library, tmp_path: Path
) -> None:
    answer = await library.ask(LOST)
    newer = small_books.TIDES | {"Harbour": "The harbour is closed and nobody counts the ships any more."}
    await library.add(small_books.write_markdown(tmp_path / "tides.md", newer))
    assert {note for _, _, note in await notes(library, answer.id)} == {"in the present edition"}


async def test_without_the_book_nothing_bears_an_answer_out(library: Library) -> None:
    answer = await library.ask(LOST)
    await library.remove("the-tides")
    gone = [(n, False, "the book is no longer in the library") for n in (1, 2)]
    assert await notes(library, answer.id) == gone
    assert {v.checked for v in await library.verify(answer.id)} == {False}, "unknown is not the same as false"


async def test_without_the_record_of_its_edition_a_book_bears_no_answer_out(library: Library) -> None:
    answer = await library.ask(LOST)
    change_records(library.settings.data, "DELETE FROM editions")
    assert {(v.checked, v.note) for v in await library.verify(answer.id)} == {
        (False, "the book is no longer in the library")
    }


async def test_a_book_that_came_back_in_another_edition_does_not_make_old_answers_false(
    library: Library, tmp_path: Path
) -> None:
    answer = await library.ask(LOST)
    await library.remove("the-tides")
    newer = {name: text.replace("Seven", "Eight") for name, text in small_books.TIDES.items()}
    await library.add(small_books.write_markdown(tmp_path / "tides.md", newer))
    found = {v.snippet: v for v in await library.verify(answer.id)}
    lost = found.pop("Seven boats were lost with all their nets.")
    assert (lost.true, lost.checked) == (False, False)
    assert lost.note == "the edition it was quoted from is no longer in the library"
    assert {v.note for v in found.values()} == {"in the present edition"}
    again = await library.ask(LOST)
    change_records(
        library.settings.data, "UPDATE texts SET text = replace(text, 'Eight boats', 'Nine boats')"
    )
    assert [v.checked for v in await library.verify(again.id) if not v.true] == [True]
