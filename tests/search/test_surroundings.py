"""What is read around a passage keeps its places, ends with whole words and stays in bounds."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from octavo.library import Library
from octavo.models.cross_encoders import LARGE_READ_MOST
from octavo.protocols import Where
from octavo.search.ranking import Candidate
from octavo.search.rerank import Reranker
from octavo.search.retrieval import Retriever
from octavo.search.scope import Bounds, bound_by_books
from octavo.search.surroundings import (
    MOST_AROUND,
    covers,
    find_reach,
    group_covered,
    measure_room,
    widen,
)
from octavo.settings import Settings
from octavo.testing import TinyEmbedder
from octavo.types import CHUNK_MOST, Chunk
from tests.support import small_books
from tests.support.builders import make_chunk
from tests.support.scripted_reader import ScriptedLarge, ScriptedReader


def lay_out(*texts: str, gap: int = 2) -> list[Chunk]:
    """Passages of one section, one behind the other."""
    made, at = [], 0
    for number, text in enumerate(texts):
        made.append(make_chunk(text, start=at, position=number))
        at += len(text) + gap
    return made


def fill(letter: str, words: int) -> str:
    return " ".join([letter * 7] * words)


ROOM = 850


def test_what_stands_around_keeps_its_places() -> None:
    before, here, after = lay_out("The keeper was old.", "He trimmed the lamp.", "Then he slept.")
    wide = widen(here, [before, here, after], ROOM)
    assert wide.content == "The keeper was old.\n\nHe trimmed the lamp.\n\nThen he slept."
    assert (wide.start, wide.end, wide.id) == (0, after.end, here.id)
    for chunk in (before, here, after):
        assert wide.content[chunk.start - wide.start : chunk.end - wide.start] == chunk.content
        assert covers(wide, chunk, chunk.start, chunk.end)


def test_only_so_much_is_read_and_it_begins_and_ends_with_whole_words() -> None:
    before, here, after = lay_out(fill("b", 200), "He trimmed the lamp.", fill("a", 200))
    for room in (100, ROOM):
        wide = widen(here, [before, here, after], room)
        first, last = find_reach(here, room)
        assert first <= wide.start < first + 8
        assert last - 8 < wide.end <= last
        assert last - here.end + here.start - first == room
        assert set(wide.content.split()) == {"b" * 7, "a" * 7, "He", "trimmed", "the", "lamp."}
        assert len(wide.content) == wide.end - wide.start


def test_a_passage_that_stands_alone_stays_as_it_is() -> None:
    before, here = lay_out("The keeper was old.", "He trimmed the lamp.")
    assert widen(here, [here], ROOM) == here
    assert widen(here, [], ROOM) == here
    assert widen(here, [before, here], 0) == here


def test_its_own_text_is_kept_where_passages_overlap() -> None:
    here = make_chunk("He trimmed the lamp at dusk.", start=20)
    other = make_chunk("x" * 60, start=0)
    assert here.content in widen(here, [other], ROOM).content


def test_a_word_without_end_is_cut() -> None:
    before, here, after = lay_out("b" * 1_500, "He trimmed the lamp.", "a" * 1_500)
    wide = widen(here, [before, here, after], ROOM)
    assert (wide.start, wide.end) == find_reach(here, ROOM)


def test_no_more_is_read_around_a_passage_than_the_model_reads() -> None:
    here = make_chunk(fill("h", 50))
    assert measure_room(here, pieces=100, most=320) == MOST_AROUND
    assert measure_room(here, pieces=200, most=320) == 120 * len(here.content) // 200
    assert measure_room(here, pieces=320, most=320) == 0
    assert measure_room(here, pieces=400, most=320) == 0
    long = make_chunk("h" * (CHUNK_MOST - 30))
    assert measure_room(long, pieces=100, most=320) == 30


def test_a_passage_that_is_read_with_another_is_not_read_again() -> None:
    chunks = lay_out("One stone lies.", "Two stones lie.", fill("t", 200), "Four stones lie.")
    ids = {c.id: c for c in chunks}
    wide = {c.id: widen(c, chunks, ROOM) for c in chunks}
    one, two, three, four = ids
    assert group_covered(list(ids), wide, ids) == {one: [two], three: [four]}
    other = make_chunk("Two stones lie.", section_id="elsewhere", start=chunks[1].start)
    wide |= {other.id: other}
    assert group_covered([one, other.id], wide, ids | {other.id: other}) == {one: [], other.id: []}


async def test_the_large_model_reads_what_stands_around() -> None:
    chunks = lay_out("The keeper was old.", "He trimmed the lamp.", "Then he slept.")
    by_id = {c.id: c for c in chunks}
    large = ScriptedLarge()

    async def widen_all(given: Sequence[tuple[Chunk, int]]) -> list[Chunk]:
        return [widen(c, chunks if c in chunks else [], room) for c, room in given]

    far = make_chunk("The gulls came back to the pier.", section_id="elsewhere")
    by_id |= {far.id: far}
    found = [Candidate(id_, 0.9 - n / 10, 0.9 - n / 10, 0.5) for n, id_ in enumerate(by_id)]
    reranker = Reranker(ScriptedReader({"lamp": 3.0, "slept": 1.0, "gulls": 2.0}), large=large)
    ranking = await reranker.rank("Who trimmed it?", found, by_id, reader="large", widen=widen_all)
    ((_, read),) = large.read_for
    assert [passage.text for passage in read] == [widen(chunks[1], chunks, ROOM).content, far.content]
    assert set(ranking.deep) == {chunks[1].id, far.id}
    order = list(ranking.relevance)
    lamp = order.index(chunks[1].id)
    assert {order[lamp + 1], order[lamp + 2]} == {chunks[0].id, chunks[2].id}, "they come with it"
    assert len({ranking.relevance[c.id] for c in chunks}) == 1, "and are as relevant as all of it"


async def test_what_the_large_model_would_not_read_is_not_taken_for_read() -> None:
    chunks = lay_out(fill("b", 40), "He trimmed the lamp.", fill("a", 40))
    by_id = {c.id: c for c in chunks}
    rooms: list[int] = []

    async def widen_all(given: Sequence[tuple[Chunk, int]]) -> list[Chunk]:
        rooms.extend(room for _, room in given)
        return [widen(c, chunks, room) for c, room in given]

    found = [Candidate(id_, 0.9, 0.9, 0.5) for id_ in by_id]
    large = ScriptedLarge(pieces=LARGE_READ_MOST)
    ranking = await Reranker(ScriptedReader(), large=large).rank(
        "Who trimmed it?", found, by_id, reader="large", widen=widen_all
    )
    assert rooms == [0, 0, 0]
    assert all(wide == by_id[id_] for id_, wide in ranking.deep.items())
    assert len(ranking.deep) == 2, "as many as the budget allows"


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    story = [f"The stone of pearl{n} lies deep under the worn stairs of the mill." for n in range(30)]
    path = small_books.write_markdown(tmp_path / "stones.md", {"Stones": "\n\n".join(story)}, title="Stones")
    settings = Settings(data=tmp_path / "library", chunk_tokens=48)
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as library:
        await library.add(path)
        yield library


async def read_widely(library: Library, bounds: Bounds) -> list[tuple[Chunk, Chunk]]:
    context = await library._context()
    retriever = Retriever(context.store, context.records, context.embedder)
    found = await retriever.search("pearl15", bounds=bounds, top_k=3)
    chunks = [item.chunk for item in found]
    assert chunks
    given = [(chunk, ROOM) for chunk in chunks]
    return list(zip(chunks, await retriever._widen(bounds, given), strict=True))


async def test_the_text_around_is_found_in_the_book(library: Library) -> None:
    for chunk, wide in await read_widely(library, bound_by_books()):
        assert wide.content.count("pearl") > chunk.content.count("pearl")
        assert covers(wide, chunk, chunk.start, chunk.end)


async def test_nothing_is_read_beyond_the_place_that_the_reader_has_come_to(library: Library) -> None:
    for last in range(4, 12):
        bounds = Bounds(Where(at_most={"document_position": last}), "so far", ahead=True)
        for chunk, wide in await read_widely(library, bounds):
            assert chunk.document_position <= last
            context = await library._context()
            held = await context.records.find_chunks_within(
                chunk.book_id, chunk.section_id, wide.start, wide.end
            )
            assert max(c.document_position for c in held) <= last


async def test_bounds_that_may_end_within_a_passage_widen_nothing(library: Library) -> None:
    pages = Bounds(Where(at_least={"page_end": 1}, at_most={"page_number": 2}), "two pages")
    assert pages.may_cut
    assert not bound_by_books().may_cut
    assert not Bounds(Where(at_most={"document_position": 3}), "so far", ahead=True).may_cut
    assert not Bounds(Where(at_most={"page_end": 3}), "up to page 3", ahead=True).may_cut
    context = await library._context()
    retriever = Retriever(context.store, context.records, context.embedder)
    (found,) = await retriever.search("pearl15", bounds=bound_by_books(), top_k=1)
    assert await retriever._widen(pages, [(found.chunk, ROOM)]) == [found.chunk]
