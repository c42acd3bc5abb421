"""Which candidates are read, in what order they come out, and that none is read twice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from octavo.library import Library
from octavo.search.cascade import ASKED, LARGE, SMALL
from octavo.search.ranking import Candidate, ReaderSize, estimate_read_relevance, raise_candidates
from octavo.search.rerank import Ranking, Reranker, level
from octavo.search.retrieval import Retriever
from octavo.search.scope import bound_by_books
from octavo.testing import TinyEmbedder
from octavo.types import Book, Scope
from tests.support import small_books
from tests.support.builders import make_chunk
from tests.support.scripted_reader import ScriptedLarge, ScriptedReader

TEXTS = {
    "a": "The harbour master counted the ships.",
    "b": "The keeper trimmed the lamp at dusk.",
    "c": "A storm broke the northern pier.",
    "d": "In the morning the gulls came back.",
    "e": "Seven boats were lost at night.",
    "f": "Nobody spoke of the boats.",
    "g": "The bells had rung at noon.",
}
CHUNKS = {id_: make_chunk(text, id=id_, section_id=id_) for id_, text in TEXTS.items()}
DUSK = "Who trimmed the lamp?"


def found(*scores: float) -> list[Candidate]:
    return [Candidate(id_, score, score, 0.5) for id_, score in zip(TEXTS, scores, strict=False)]


def read_ids(reader: ScriptedReader) -> list[str]:
    texts = [passage.text for _, passages in reader.read_for for passage in passages]
    return [id_ for text in texts for id_, known in TEXTS.items() if known == text]


async def test_no_other_candidate_is_read() -> None:
    reader = ScriptedReader()
    await Reranker(reader).rank(DUSK, found(0.9, 0.8, 0.7, 0.3), CHUNKS)
    assert read_ids(reader) == ["a", "b", "c"]
    assert reader.read_for[0][0] == DUSK


async def test_a_first_candidate_that_stands_alone_is_not_read_at_all() -> None:
    reader = ScriptedReader()
    assert await Reranker(reader).rank(DUSK, found(0.9, 0.1), CHUNKS) == Ranking()
    assert await Reranker(reader).rank(DUSK, [], CHUNKS) == Ranking()
    assert reader.count == 0


async def test_a_candidate_whose_text_is_not_there_is_not_read() -> None:
    reader = ScriptedReader()
    there = {id_: chunk for id_, chunk in CHUNKS.items() if id_ != "a"}
    ranked = await Reranker(reader).rank(DUSK, found(0.9, 0.8, 0.7), there)
    assert read_ids(reader) == ["b", "c"]
    assert set(ranked.relevance) == {"b", "c"}


async def order(reranker: Reranker, candidates: list[Candidate], reader: ReaderSize = "small") -> list[str]:
    return list((await reranker.rank(DUSK, candidates, CHUNKS, reader=reader)).relevance)


def fit(value: float) -> float:
    """How well a passage fits that the reader scores with this value."""
    return SMALL.fit(value, value)


async def test_what_the_reader_thinks_and_how_it_was_found_decide_together() -> None:
    fused = found(0.9, 0.8, 0.7)
    assert await order(Reranker(ScriptedReader()), fused) == ["a", "b", "c"]
    assert fit(0.5) - fit(0.0) < SMALL.found * 0.1 < fit(0.6) - fit(0.0)
    assert await order(Reranker(ScriptedReader({"lamp": 0.5})), fused) == ["a", "b", "c"]
    assert await order(Reranker(ScriptedReader({"lamp": 0.6})), fused) == ["b", "a", "c"]
    assert await order(Reranker(ScriptedReader({"pier": 9.0})), fused) == ["c", "a", "b"]


async def test_ties_go_by_id_whatever_order_they_came_in() -> None:
    fused = list(reversed(found(0.5, 0.5, 0.5)))
    assert await order(Reranker(ScriptedReader()), fused) == ["a", "b", "c"]


@pytest.mark.parametrize(("rank", "score"), [(-20.0, 0.0), (0.0, 0.5), (20.0, 1.0)])
def test_relevance_is_a_probability_that_grows_with_both(rank: float, score: float) -> None:
    assert 0.0 <= estimate_read_relevance(rank, score) <= 1.0
    assert estimate_read_relevance(rank + 1, score) > estimate_read_relevance(rank, score)
    assert estimate_read_relevance(rank, score + 0.1) > estimate_read_relevance(rank, score)


async def test_each_candidate_has_the_relevance_of_its_fit_and_score() -> None:
    ranked = await Reranker(ScriptedReader({"lamp": 4.0})).rank(DUSK, found(0.9, 0.8), CHUNKS)
    assert ranked.relevance == {
        "b": estimate_read_relevance(fit(4.0), 0.8),
        "a": estimate_read_relevance(fit(0.0), 0.9),
    }


@pytest.mark.parametrize("reader", ["small", "large"])
async def test_a_lead_decides_the_order_and_adds_no_relevance(reader: ReaderSize) -> None:
    led = raise_candidates(found(0.9, 0.8, 0.7), {"c"}, by=0.4)
    reranker = Reranker(ScriptedReader(), large=ScriptedLarge())
    plain = await reranker.rank(DUSK, found(0.9, 0.8, 0.7), CHUNKS, reader=reader)
    ranked = await reranker.rank(DUSK, led, CHUNKS, reader=reader)
    assert list(ranked.relevance) == ["c", "a", "b"]
    # All three have the mean: the one that was put first is less relevant by itself.
    assert sum(ranked.relevance.values()) == pytest.approx(sum(plain.relevance.values()))
    assert max(ranked.relevance.values()) <= max(plain.relevance.values())


# Remembered


async def test_what_was_read_once_is_not_read_again() -> None:
    reader = ScriptedReader({"lamp": 3.0})
    reranker = Reranker(reader)
    first = await reranker.rank(DUSK, found(0.9, 0.8, 0.7), CHUNKS)
    assert await reranker.rank(DUSK, found(0.9, 0.8, 0.7), CHUNKS) == first
    scores = await reranker.score_passages(DUSK, [CHUNKS["b"], CHUNKS["d"], CHUNKS["a"]])
    assert [g.rank for g in scores] == [3.0, 0.0, 0.0]
    assert read_ids(reader) == ["a", "b", "c", "d"]


async def test_another_question_or_another_part_of_the_chunk_is_read_anew() -> None:
    reader = ScriptedReader()
    reranker = Reranker(reader)
    whole = CHUNKS["a"]
    part = replace(whole, content=whole.content[:18], end=whole.start + 18)
    await reranker.score_passages(DUSK, [whole])
    await reranker.score_passages(DUSK, [part])
    await reranker.score_passages("Who counted the ships?", [whole])
    assert [passages[0].text for _, passages in reader.read_for] == [
        whole.content,
        part.content,
        whole.content,
    ]


async def test_a_chunk_that_is_given_twice_is_read_once() -> None:
    reader = ScriptedReader({"ships": 2.0})
    scores = await Reranker(reader).score_passages(DUSK, [CHUNKS["a"], CHUNKS["a"]])
    assert scores[0] is scores[1]
    assert reader.count == 1


async def test_headings_are_read_with_the_chunk() -> None:
    reader = ScriptedReader()
    await Reranker(reader).score_passages(
        DUSK, [make_chunk(heading_path=("Part I", "Lamps")), make_chunk(heading_path=("x",))]
    )
    assert [p.heading for p in reader.read_for[0][1]] == ["Part I › Lamps", "x"]


# With a large model


async def test_the_large_model_decides_the_order_of_what_it_reads() -> None:
    small, large = ScriptedReader({"lamp": 2.0}), ScriptedLarge({"pier": 9.0})
    reranker = Reranker(small, large=large)
    ranking = await reranker.rank(DUSK, found(0.9, 0.8, 0.7), CHUNKS, reader="large")
    assert list(ranking.relevance) == ["c", "b", "a"], "the small reader decides between the other two"
    assert list(ranking.deep) == ["c", "b", "a"]
    assert read_ids(large) == ["b", "a", "c"], "the best by the small reader first"
    assert ranking.readers == (small.name, large.name)


async def test_a_search_does_not_use_the_large_model() -> None:
    small, large = ScriptedReader({"lamp": 2.0}), ScriptedLarge({"pier": 9.0})
    ranking = await Reranker(small, large=large).rank(DUSK, found(0.9, 0.8, 0.7), CHUNKS)
    assert list(ranking.relevance) == ["b", "a", "c"]
    assert (ranking.deep, ranking.readers, large.count) == ({}, (small.name,), 0)


async def test_without_a_large_model_the_small_reader_decides() -> None:
    small = ScriptedReader({"lamp": 2.0})
    ranking = await Reranker(small).rank(DUSK, found(0.9, 0.8, 0.7), CHUNKS, reader="large")
    assert ranking == await Reranker(small).rank(DUSK, found(0.9, 0.8, 0.7), CHUNKS)
    assert ranking.deep == {}


async def test_no_model_reads_when_reading_is_off() -> None:
    small, large = ScriptedReader(), ScriptedLarge()
    ranking = await Reranker(small, large=large).rank(DUSK, found(0.9, 0.8), CHUNKS, reader="off")
    assert (ranking, small.count, large.count) == (Ranking(), 0, 0)


@pytest.mark.parametrize(("language", "expected"), [("", ["a", "b", "c"]), ("de", ["a", "c", "b"])])
async def test_passages_in_other_languages_are_spread_over_sections(
    language: str, expected: list[str]
) -> None:
    written = {"language": language} if language else {}
    chunks = {id_: replace(CHUNKS[id_], section_id="ab"[id_ == "c"], metadata=written) for id_ in "abc"}
    reranker = Reranker(ScriptedReader(), multilingual=ScriptedLarge())
    ranked = await reranker.rank(DUSK, found(0.9, 0.8, 0.7), chunks)
    assert list(ranked.relevance) == expected


@pytest.mark.parametrize(
    ("chances", "levelled"),
    [
        ([], []),
        ([0.9, 0.5, 0.1], [0.9, 0.5, 0.1]),
        ([0.9, 0.2, 0.8], [0.9, 0.5, 0.5]),
        ([0.2, 0.8, 0.8, 0.1], [0.6, 0.6, 0.6, 0.1]),
        ([0.1, 0.2, 0.3], [0.2, 0.2, 0.2]),
    ],
)
def test_chances_are_averaged_where_they_rise(chances: list[float], levelled: list[float]) -> None:
    found = level({str(n): chance for n, chance in enumerate(chances)})
    assert list(found.values()) == pytest.approx(levelled)
    assert list(found) == [str(n) for n in range(len(chances))]


async def test_a_weak_passage_of_another_section_does_not_hide_a_better_one() -> None:
    german = Ranking(level({"a": 0.9, "d": 0.2, "b": 0.85}))
    assert list(Ranking({"e": 0.5}).join(german).relevance) == ["a", "d", "b", "e"]


@pytest.mark.parametrize("language", ["", "de"])
async def test_as_many_passages_are_read_in_other_languages_as_in_english(language: str) -> None:
    written = {"language": language} if language else {}
    made = [make_chunk(f"Passage {n}.", id=f"{n:02}", section_id=f"s{n}") for n in range(30)]
    chunks = {chunk.id: replace(chunk, metadata=written) for chunk in made}
    candidates = [Candidate(id_, 0.5, 0.5, 0.5) for id_ in chunks]
    small, multilingual = ScriptedReader(), ScriptedLarge()
    ranked = await Reranker(small, multilingual=multilingual).rank(DUSK, candidates, chunks)
    assert list(ranked.relevance) == list(chunks)[: SMALL.depth]
    assert (small.count, multilingual.count) == ((0, SMALL.depth) if language else (SMALL.depth, 0))


@pytest.mark.parametrize(("reader", "most"), [("small", SMALL.depth), ("large", ASKED.depth)])
async def test_more_is_read_for_a_question_than_for_a_search(reader: ReaderSize, most: int) -> None:
    made = [make_chunk(f"Passage {n}.", id=f"{n:02}", section_id=f"s{n}") for n in range(50)]
    chunks = {chunk.id: chunk for chunk in made}
    small = ScriptedReader()
    candidates = [Candidate(id_, 0.5, 0.5, 0.5) for id_ in chunks]
    await Reranker(small, large=ScriptedLarge()).rank(DUSK, candidates, chunks, reader=reader)
    assert small.count == most


@pytest.mark.parametrize(("reader", "read"), [("small", 0), ("large", 2)])
async def test_what_is_far_below_the_best_is_read_for_a_question_only(reader: ReaderSize, read: int) -> None:
    small = ScriptedReader()
    await Reranker(small, large=ScriptedLarge()).rank(DUSK, found(0.9, 0.3), CHUNKS, reader=reader)
    assert small.count == read


async def test_what_the_large_model_did_not_read_follows_in_its_old_order() -> None:
    affordable = 2
    pieces = int(LARGE.budget_ms / LARGE.piece_ms / affordable)
    small = ScriptedReader({"lamp": 2.0, "gulls": 1.9, "boats": 1.0})
    large = ScriptedLarge({"ships": -9.0, "lamp": -20.0}, pieces=pieces)
    plain = await order(Reranker(small), found(0.9, 0.8, 0.7, 0.8, 0.75, 0.7))
    ranking = await Reranker(small, large=large).rank(
        DUSK, found(0.9, 0.8, 0.7, 0.8, 0.75, 0.7), CHUNKS, reader="large"
    )
    assert large.count == affordable
    assert set(ranking.deep) == set(plain[:affordable])
    assert list(ranking.relevance)[affordable:] == plain[affordable:]


async def test_the_first_stage_counts_beside_the_large_model_too() -> None:
    assert LARGE.found > 0
    reranker = Reranker(ScriptedReader(), large=ScriptedLarge())
    assert await order(reranker, found(0.9, 0.8, 0.7), "large") == ["a", "b", "c"]


async def test_scores_are_cached_for_each_model() -> None:
    small, large = ScriptedReader({"lamp": 2.0}), ScriptedLarge({"lamp": 5.0})
    reranker = Reranker(small, large=large)
    first = await reranker.rank(DUSK, found(0.9, 0.8), CHUNKS, reader="large")
    assert await reranker.rank(DUSK, found(0.9, 0.8), CHUNKS, reader="large") == first
    assert (small.count, large.count) == (2, 2)
    assert [s.rank for s in await reranker.score_passages(DUSK, [CHUNKS["b"]])] == [2.0]
    assert [s.rank for s in await reranker.score_deeply(DUSK, [CHUNKS["b"]])] == [5.0]
    assert (small.count, large.count) == (2, 2)


async def test_what_is_cached_does_not_change_what_the_budget_allows() -> None:
    large = ScriptedLarge(pieces=int(LARGE.budget_ms / LARGE.piece_ms / 2))
    reranker, chunks = Reranker(ScriptedReader(), large=large), list(CHUNKS.values())
    for _ in range(3):
        assert len(await reranker.score_deeply(DUSK, chunks)) == 2
    assert large.count == 2


# In a search


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    async with Library.open(tmp_path / "library", embedder=TinyEmbedder()) as opened:
        yield opened


@pytest.fixture
async def tides(library: Library, tmp_path: Path) -> Book:
    return await library.add(small_books.write_markdown(tmp_path / "tides.md"))


async def searcher(library: Library, reader: ScriptedReader) -> Retriever:
    context = await library._context()
    return Retriever(context.store, context.records, context.embedder, reranker=Reranker(reader))


async def sections(retriever: Retriever, query: str, *, top_k: int = 4) -> list[str]:
    evidence = await retriever.search(query, bounds=bound_by_books(), top_k=top_k)
    relevance = [e.relevance_score for e in evidence]
    assert relevance == sorted(relevance, reverse=True)
    assert [e.rank for e in evidence] == list(range(1, len(evidence) + 1))
    return [e.chunk.section for e in evidence]


async def test_the_reader_decides_which_of_the_first_comes_first(library: Library, tides: Book) -> None:
    query = "the boats in the morning and the storm at night"
    plain = await sections(await searcher(library, ScriptedReader()), query)
    turned = await sections(
        await searcher(library, ScriptedReader({TEXTS["d"][:20]: 1.0, "Seven": 9.0})), query
    )
    assert turned[0] == "Storm"
    assert sorted(turned) == sorted(plain)
    assert await sections(await searcher(library, ScriptedReader({"gulls": 9.0})), query) != turned


async def test_reading_brings_nothing_in_and_leaves_nothing_out(library: Library, tides: Book) -> None:
    with_reader = await searcher(library, ScriptedReader({"lamp": 9.0, "ships": -9.0}))
    for query in ("the lamp at dusk", "ships", "who?", "🐳"):
        known = await library.search(query, top_k=4)
        read = await with_reader.search(query, bounds=bound_by_books(), top_k=4)
        assert {e.chunk.id for e in read} == {e.chunk.id for e in known}


async def test_a_search_that_is_repeated_reads_nothing(library: Library, tides: Book) -> None:
    reader = ScriptedReader()
    retriever = await searcher(library, reader)
    first = await sections(retriever, "the boats in the morning and the storm at night")
    count = reader.count
    assert await sections(retriever, " the boats in the morning\nand the storm at night") == first
    assert count == reader.count > 0


async def test_a_chunk_out_of_bounds_or_gone_is_never_read(
    library: Library, tides: Book, tmp_path: Path
) -> None:
    other = await library.add(
        small_books.write_text(tmp_path / "o.txt", {"a": "Boats of another book lie here."})
    )
    found_ = {b: [e.chunk.id for e in await library.search("boats", book_id=b)] for b in (tides.id, other.id)}
    reader = ScriptedReader()
    retriever = await searcher(library, reader)
    close = [*found_[other.id], make_chunk("This one is gone.").id, *found_[tides.id]]
    fused = [Candidate(id_, 0.9, 0.9, 0.5) for id_ in close]  # a store that keeps to no bounds
    bounds = await library._scope.resolve(Scope(), book_id=tides.id)
    ranking = await retriever._rank("boats", fused, bounds, "small")
    evidence = await retriever._select("boats", fused, bounds, 5, ranking)
    assert [e.chunk.book_id for e in evidence] == [tides.id] * 4
    assert reader.count == 4
    assert not any("another book" in p.text for _, passages in reader.read_for for p in passages)
