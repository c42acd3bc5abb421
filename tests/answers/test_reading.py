"""What the large model read around a passage is quoted, verifies, stays in bounds and adds nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from octavo.answers.reading import Reading
from octavo.answers.workspace import number_sentences
from octavo.library import Library
from octavo.search.rerank import Reranker
from octavo.search.retrieval import Retriever
from octavo.search.scope import bound_by_books
from octavo.search.surroundings import widen
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from octavo.types import Scope, ScopeType
from tests.support import small_books
from tests.support.answerers import assert_well_cited
from tests.support.builders import make_chunk, make_evidence
from tests.support.scripted_reader import ScriptedLarge, ScriptedReader, make_passage_score

ASKED = "Which man trimmed the lamp of the lighthouse at dusk?"
FOUND = (
    "Somebody trimmed the lamp of the lighthouse at dusk, and then again at midnight when the fog came in."
)
ANSWER = (
    "It was old Barnaby Quill, the man who had the keys of the tower and never gave them out of his hands."
)


def tell_days(word: str, count: int) -> str:
    return "\n\n".join(f"On {word} {n} the sea was calm and grey all day." for n in range(count))


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    story = f"{tell_days('day', 12)}\n\n{FOUND}\n\n{ANSWER}\n\n{tell_days('night', 12)}"
    path = small_books.write_markdown(
        tmp_path / "light.md", {"The Light": story, "The Sea": tell_days("morning", 30)}, title="Light"
    )
    settings = Settings(data=tmp_path / "library", chunk_tokens=32)
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        await library.add(path)
        context = await library._context()
        large = ScriptedLarge({"Quill": 8.0, "lamp": 2.0}, answer="Barnaby Quill", pieces=40, support=9.0)
        reranker = Reranker(ScriptedReader({"lamp": 20.0}), large=large)
        library._retriever = Retriever(context.store, context.records, context.embedder, reranker=reranker)
        yield library


async def test_an_answer_from_around_is_quoted_and_verifies(library: Library) -> None:
    (first,) = await library.search(ASKED, top_k=1)
    assert FOUND in first.chunk.content
    assert ANSWER not in first.chunk.content, "the answer stands in another passage"
    answer = await library.ask(ASKED, book_id="light", top_k=1)
    assert answer.refusal is None
    assert ANSWER in answer.content
    await assert_well_cited(library, answer)
    assert all(verdict.true for verdict in await library.verify(answer.id))
    own, around = answer.evidence
    assert (own.chunk.id, ANSWER in around.chunk.content) == (first.chunk.id, True)
    assert around.relevance_score == own.relevance_score, "they were read together"


async def test_nothing_beyond_the_place_that_the_reader_has_come_to_is_quoted(library: Library) -> None:
    (first,) = await library.search(ASKED, top_k=1)
    at = first.chunk.document_position
    answer = await library.ask(
        ASKED, book_id="light", scope=Scope(type=ScopeType.UP_TO, identifier=str(at)), top_k=1
    )
    assert ANSWER not in answer.content
    assert all(item.chunk.document_position <= at for item in answer.evidence)
    further = Scope(type=ScopeType.UP_TO, identifier=str(at + 2))
    assert ANSWER in (await library.ask(ASKED, book_id="light", scope=further, top_k=1)).content


async def test_only_passages_that_are_quoted_are_added(library: Library) -> None:
    answer = await library.ask(ASKED, book_id="light", top_k=1)
    assert {item.chunk.id for item in answer.evidence} == {c.chunk.id for c in answer.citations}


def test_a_sentence_is_scored_by_its_own_passage_before_those_around() -> None:
    one = make_chunk("The keeper was old. He slept all day.")
    two = make_chunk("The lamp burned. Nobody saw it.", start=len(one.content) + 2)
    far = make_chunk("The lamp burned elsewhere at night.", section_id="elsewhere")
    sentences = number_sentences(
        [make_evidence(one), make_evidence(two, rank=2), make_evidence(far, rank=3)], bound_by_books()
    )
    wide = [widen(chunk, [one, two], 850) for chunk in (one, two)]
    ranked = zip(wide, (3.0, 5.0), strict=True)
    read = tuple((chunk, make_passage_score(chunk.content, "", rank=rank)) for chunk, rank in ranked)

    def list_ranks(reading: Reading) -> list[float | None]:
        return [seen.rank if seen else None for seen in map(reading.score, sentences)]

    assert list_ranks(Reading(read)) == [3.0, 3.0, 5.0, 5.0, None]
    assert list_ranks(Reading(read[:1])) == [3.0, 3.0, 3.0, 3.0, None]
    assert list_ranks(Reading(()).join(Reading(read[1:]))) == [5.0, 5.0, 5.0, 5.0, None]


def test_the_words_that_answer_are_found_at_their_place_in_the_sentence() -> None:
    before = make_chunk("The keeper was old and slept all day.")
    here = make_chunk("The lamp burned at dusk in the tower.", start=len(before.content) + 2)
    wide = widen(here, [before, here], 850)
    score = make_passage_score(wide.content, "at dusk")
    (sentence,) = number_sentences([make_evidence(here)], bound_by_books())
    seen = Reading(((wide, score),)).score(sentence)
    assert seen is not None
    assert sentence.text[seen.start : seen.end] == "at dusk"
