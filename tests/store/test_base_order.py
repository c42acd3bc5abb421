"""What a search finds, and in which order, is what a plain loop over all chunks would find.

The loops here are the definition; the store may not differ from them, in whatever order and in whatever
portions it was filled, and however often.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from octavo.errors import InvalidValue
from octavo.protocols import EVERYWHERE, Hit, StoreHits, Where
from octavo.settings import Settings
from octavo.store import Store, open_store
from octavo.store.base import digest_chunk
from octavo.store.bm25 import weigh_by_rarity
from octavo.types import Chunk
from tests.support.store_contract import SIZE, list_numbers, make_chunk, make_vector, words_of

NEAR = 2e-5  # scores are told to five decimals, from 32-bit floats
VOCABULARY = ("whale", "ship", "storm", "harbour", "lantern", "rope", "gull", "ledger")
often = hypothesis_settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    where = Settings(data=tmp_path_factory.mktemp("order"), free_space_mb=0)
    opened = asyncio.run(open_store(where, dimension=SIZE))
    yield opened
    asyncio.run(opened.close())


@pytest.fixture
def store(shared: Store) -> Store:
    asyncio.run(empty(shared))
    return shared


async def empty(store: Store) -> None:
    await store.delete(await store.read_digests())


def make_chunks(seed: int, size: int = 60) -> list[Chunk]:
    """Chunks of all kinds: several books, nested sections, with and without pages, some of them twins."""
    chance = random.Random(seed)
    made: list[Chunk] = []
    for number in range(1, size + 1):
        words = " ".join(chance.choices(VOCABULARY, k=chance.randint(3, 12)))
        directions = [chance.gauss(0, 1) for _ in range(SIZE)]
        twin = made[chance.randrange(len(made))].embedding if made and chance.random() < 0.2 else None
        one = make_chunk(
            number,
            f"{words}.",
            points=directions,
            book_id=chance.choice(("emma", "moby-dick", "das-schloß")),
            section_id=chance.choice(("s1", "s2", "s3")),
            ancestors=tuple(chance.sample(("part-1", "part-2", "Прил. 1"), k=chance.randint(0, 2))),
            page=chance.choice((None, *range(1, 12))),
        )
        ends = one.page_number and one.page_number + chance.randint(0, 2)
        made.append(replace(one, page_end=ends, embedding=twin or one.embedding))
    return made


def compute_cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


def check_against_the_loop(hits: Sequence[Hit], chunks: Sequence[Chunk], query: Sequence[float]) -> None:
    """Right scores, best first, equals by id, nothing twice, and nothing better left out."""
    true = {c.id: compute_cosine(query, c.embedding or ()) for c in chunks}
    assert len({hit.id for hit in hits}) == len(hits)
    for hit in hits:
        assert hit.score == pytest.approx(true[hit.id], abs=NEAR)
    assert list(hits) == sorted(hits, key=lambda hit: (-hit.score, hit.id))
    left_out = true.keys() - {hit.id for hit in hits}
    if hits and left_out:
        assert max(true[id] for id in left_out) <= hits[-1].score + NEAR


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("limit", [1, 7, 59, 60, 200])
async def test_the_nearest_by_meaning_are_those_of_a_plain_loop(store: Store, seed: int, limit: int) -> None:
    chunks = make_chunks(seed)
    await store.upsert(chunks, edition=1)
    query = make_vector(*(random.Random(seed + 100).gauss(0, 1) for _ in range(SIZE)))
    found = await store.search(query, {}, where=EVERYWHERE, limit=limit)
    assert len(found.dense) == min(limit, len(chunks))
    check_against_the_loop(found.dense, chunks, query)


async def ask(store: Store, where: Where = EVERYWHERE, limit: int = 60) -> list[StoreHits]:
    queries = [
        (make_vector(1.0, -0.5, 0.2), "whale in the harbour"),
        (make_vector(0.0, 1.0), "gull rope lantern"),
    ]
    return [await store.search(point, words_of(text), where=where, limit=limit) for point, text in queries]


async def test_the_answer_does_not_depend_on_the_order_or_the_portions_of_filling(store: Store) -> None:
    chunks = make_chunks(7)
    await store.upsert(chunks, edition=1)
    first = await ask(store)
    for seed, portion in ((1, 1), (2, 7), (3, 59)):
        await empty(store)
        shuffled = random.Random(seed).sample(chunks, k=len(chunks))
        for start in range(0, len(shuffled), portion):
            await store.upsert(shuffled[start : start + portion], edition=1)
        assert await ask(store) == first, (seed, portion)


async def test_storing_again_what_is_stored_changes_nothing(store: Store) -> None:
    chunks = make_chunks(8)
    await store.upsert(chunks, edition=1)
    first, digests = await ask(store), await store.read_digests()
    for part in (chunks, chunks[20:40], chunks[::-1], [chunks[3]] * 5):
        await store.upsert(part, edition=1)
        assert await store.count() == len(chunks)
        assert await store.read_digests() == digests == {c.id: digest_chunk(c) for c in chunks}
        assert await ask(store) == first


async def test_a_chunk_that_is_stored_anew_answers_as_what_it_now_is(store: Store) -> None:
    chunks = make_chunks(9)
    await store.upsert(chunks, edition=1)
    anew = make_vector(0.0, 0.0, 1.0)
    changed = [
        replace(
            c, content=f"zeppelin {c.content}", end=c.end + 9, page_number=99, page_end=99, embedding=anew
        )
        for c in chunks[:5]
    ]
    await store.upsert(changed, edition=2)
    where = Where(any_of={"page_number": (99,)})
    found = await store.search(anew, words_of("zeppelin"), where=where, limit=60)
    assert list_numbers(found.dense) == sorted(list_numbers(found.lexical)) == [1, 2, 3, 4, 5]
    older = Where(any_of={"edition": (1,)})
    assert not {1, 2, 3, 4, 5} & set(list_numbers((await ask(store, older))[0].dense))
    everywhere = await store.search(anew, {}, where=EVERYWHERE, limit=60)
    check_against_the_loop(everywhere.dense, [*changed, *chunks[5:]], anew)


async def test_the_more_of_a_word_and_the_rarer_it_is_the_better_a_chunk_is_found_by_it(
    store: Store,
) -> None:
    said = ("whale whale ship", "whale ship ship", "ship ship ship", "ship rope gull")
    await store.upsert([make_chunk(n, f"{words}.") for n, words in enumerate(said, start=1)], edition=1)
    assert list_numbers(
        (await store.search(make_vector(1.0), words_of("whale"), where=EVERYWHERE, limit=9)).lexical
    ) == [1, 2]
    gull_and_ship = words_of("gull ship")
    counts = {word: 1 if word in words_of("gull") else 4 for word in gull_and_ship}
    rare = weigh_by_rarity(gull_and_ship, counts, passages=4)
    found = await store.search(make_vector(1.0), rare, where=EVERYWHERE, limit=9)
    assert list_numbers(found.lexical)[0] == 4
    assert set(list_numbers(found.lexical)) == {1, 2, 3, 4}


KEYWORDS = {
    "book_id": ("emma", "moby-dick", "das-schloß", "nobody"),
    "sections": ("s1", "s2", "part-1", "Прил. 1", "s9"),
    "source_file": ("emma.txt", "das-schloß.txt", "x"),
}
NUMBERS = ("edition", "page_number", "page_end", "document_position")


def sample_values(key: str) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(KEYWORDS[key]), max_size=3).map(tuple)


conditions = st.fixed_dictionaries({}, optional={key: sample_values(key) for key in KEYWORDS})
bounds = st.dictionaries(st.sampled_from(NUMBERS), st.integers(-1, 70), max_size=2)
integers = st.dictionaries(
    st.sampled_from(NUMBERS), st.lists(st.integers(0, 30), max_size=4).map(tuple), max_size=1
)
filters = st.builds(
    Where,
    any_of=st.builds(lambda a, b: {**a, **b}, conditions, integers),
    none_of=st.builds(lambda a, b: {**a, **b}, conditions, integers),
    at_least=bounds,
    at_most=bounds,
)
FILED = make_chunks(11)


def read_values(one: Chunk, key: str) -> tuple[object, ...]:
    """What a filter sees of a chunk under a key."""
    if key == "sections":
        return (*one.ancestors, one.section_id)
    if key == "edition":
        return (1,)
    value = getattr(one, key)
    return () if value is None else (value,)


def passes(one: Chunk, where: Where) -> bool:
    return (
        all(set(read_values(one, key)) & set(wanted) for key, wanted in where.any_of.items())
        and not any(set(read_values(one, key)) & set(banned) for key, banned in where.none_of.items())
        and all(any(v >= least for v in read_values(one, key)) for key, least in where.at_least.items())  # type: ignore[operator]
        and all(any(v <= most for v in read_values(one, key)) for key, most in where.at_most.items())  # type: ignore[operator]
    )


@pytest.fixture
def filed(store: Store) -> Store:
    asyncio.run(store.upsert(FILED, edition=1))
    return store


@given(where=filters)
@hypothesis_settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_a_filter_is_a_plain_condition_on_what_was_stored(filed: Store, where: Where) -> None:
    found = asyncio.run(filed.search(make_vector(1.0), words_of("whale"), where=where, limit=100))
    allowed = [c for c in FILED if passes(c, where)]
    assert sorted(hit.id for hit in found.dense) == sorted(c.id for c in allowed)
    check_against_the_loop(found.dense, allowed, make_vector(1.0))
    assert {hit.id for hit in found.lexical} == {c.id for c in allowed if "whale" in c.content}


@given(where=filters, limit=st.integers(1, 30))
@often
def test_a_smaller_limit_gives_the_beginning_of_the_larger_answer(
    filed: Store, where: Where, limit: int
) -> None:
    few = asyncio.run(filed.search(make_vector(1.0, 2.0), words_of("storm"), where=where, limit=limit))
    many = asyncio.run(filed.search(make_vector(1.0, 2.0), words_of("storm"), where=where, limit=100))
    assert few.dense == many.dense[:limit]
    assert few.lexical == many.lexical[:limit]


@given(
    key=st.sampled_from([*KEYWORDS, *NUMBERS, "text", "digest", "", "title"]),
    wanted=st.lists(st.sampled_from(["emma", 1, True, None, 2.5, b"x", ("a",)]), min_size=1, max_size=3),
)
@often
def test_a_filter_of_odd_values_is_refused_and_never_quietly_finds_nothing(
    filed: Store, key: str, wanted: list[object]
) -> None:
    odd = Where(any_of={key: tuple(wanted)})  # type: ignore[dict-item]
    kinds = {type(value) for value in wanted}
    if key in (*KEYWORDS, *NUMBERS) and kinds in ({int}, {str}):
        asyncio.run(filed.search(make_vector(1.0), {}, where=odd, limit=3))
    else:
        with pytest.raises(InvalidValue):
            asyncio.run(filed.search(make_vector(1.0), {}, where=odd, limit=3))


async def test_digests_and_answers_are_the_same_when_the_store_is_opened_again(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    where = Settings(data=tmp_path_factory.mktemp("again"), free_space_mb=0)
    chunks = make_chunks(12, size=300)
    store = await open_store(where, dimension=SIZE)
    await store.upsert(chunks[:200], edition=1)
    await store.delete([c.id for c in chunks[50:60]])
    await store.upsert(chunks[50:], edition=1)
    first, digests = await ask(store, limit=100), await store.read_digests()
    assert digests == {c.id: digest_chunk(c) for c in chunks}
    for _ in range(2):
        await store.close()
        store = await open_store(where, dimension=SIZE, expected=True)
        assert await store.read_digests() == digests
        assert await ask(store, limit=100) == first
    await store.close()


@given(st.lists(st.integers(-3, 3), min_size=SIZE, max_size=SIZE).filter(any))
@often
def test_a_chunk_is_the_nearest_to_itself_whatever_its_direction(store: Store, way: list[int]) -> None:
    here = make_vector(*way)
    away = tuple(-x for x in here)
    asyncio.run(store.upsert([make_chunk(1, points=way), replace(make_chunk(2), embedding=away)], edition=1))
    found = asyncio.run(store.search(here, {}, where=EVERYWHERE, limit=5)).dense
    assert list_numbers(found) == [1, 2]
    assert [hit.score for hit in found] == pytest.approx([1.0, -1.0], abs=NEAR)
