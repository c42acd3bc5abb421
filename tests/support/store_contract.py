"""What every `ChunkStore` does alike: each function below is one promise, to be run on an empty store.

A back end runs them all (`PROMISES`) on a store of dimension `SIZE`.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from octavo.errors import InvalidValue
from octavo.protocols import EVERYWHERE, ChunkStore, Hit, Where
from octavo.store.base import digest_chunk
from octavo.store.bm25 import Bm25Encoder
from octavo.types import Chunk

SIZE = 8
NOON = datetime(2025, 3, 1, 12, 0, tzinfo=UTC)


def make_vector(*numbers: float) -> tuple[float, ...]:
    """A unit vector of `SIZE` numbers that points where the first few say."""
    length = math.hypot(*numbers)
    return (*(n / length for n in numbers), *(0.0 for _ in range(SIZE - len(numbers))))


def make_chunk(
    number: int,
    content: str = "The whale is white and large.",
    *,
    points: Sequence[float] = (1.0,),
    book_id: str = "moby-dick",
    section_id: str = "ch-1",
    ancestors: tuple[str, ...] = (),
    headings: tuple[str, ...] = ("Chapter",),
    page: int | None = None,
) -> Chunk:
    return Chunk(
        id=str(UUID(int=number)),
        chunk_id=number,
        content=content,
        book_id=book_id,
        section_id=section_id,
        chapter=headings[0],
        section=headings[-1],
        document_position=number,
        chunk_index=0,
        url=f"book://{book_id}/{section_id}",
        source_file=f"{book_id}.txt",
        source_location=" › ".join(headings),
        source_title=book_id.title(),
        start=0,
        end=len(content),
        created_at=NOON,
        heading_path=headings,
        ancestors=ancestors,
        page_number=page,
        embedding=make_vector(*points),
    )


def words_of(text: str) -> dict[int, float]:
    """The words of a query, each with the same weight: how rare they are is not for the store to say."""
    return Bm25Encoder().encode_query(text)


def list_numbers(hits: Sequence[Hit]) -> list[int]:
    return [UUID(hit.id).int for hit in hits]


async def search_by_meaning(store: ChunkStore, where: Where = EVERYWHERE, *, limit: int = 20) -> list[int]:
    found = await store.search(make_vector(1.0), {}, where=where, limit=limit)
    return list_numbers(found.dense)


async def search_by_words(store: ChunkStore, text: str, *, limit: int = 20) -> list[int]:
    found = await store.search(make_vector(1.0), words_of(text), where=EVERYWHERE, limit=limit)
    return list_numbers(found.lexical)


async def an_empty_store_finds_nothing(store: ChunkStore) -> None:
    found = await store.search(make_vector(1.0), words_of("whale"), where=EVERYWHERE, limit=5)
    assert (found.dense, found.lexical) == ((), ())
    assert await store.read_digests() == {}


async def chunks_are_found_by_meaning_best_first_with_their_cosine(store: ChunkStore) -> None:
    await store.upsert(
        [make_chunk(1, points=(0.0, 1.0)), make_chunk(2, points=(1.0, 1.0)), make_chunk(3)], edition=1
    )
    found = await store.search(make_vector(1.0), {}, where=EVERYWHERE, limit=2)
    assert list_numbers(found.dense) == [3, 2]
    assert [hit.score for hit in found.dense] == pytest.approx([1.0, math.sqrt(0.5)], abs=1e-5)


async def chunks_are_found_by_words_in_any_form(store: ChunkStore) -> None:
    await store.upsert(
        [make_chunk(1, "The harpoons are sharp."), make_chunk(2, "A ship with three masts.")], edition=1
    )
    assert await search_by_words(store, "which harpoon") == [1]


async def the_headings_of_a_chunk_count_among_its_words(store: ChunkStore) -> None:
    await store.upsert([make_chunk(1, headings=("Cetology", "Folio")), make_chunk(2)], edition=1)
    assert await search_by_words(store, "cetology") == [1]


async def a_query_of_empty_words_finds_nothing_by_words(store: ChunkStore) -> None:
    await store.upsert([make_chunk(1)], edition=1)
    assert await search_by_words(store, "the of and") == await search_by_words(store, "") == []


async def a_chunk_of_empty_words_is_kept_soundly_and_found_by_meaning(store: ChunkStore) -> None:
    empty = make_chunk(1, "To be or not to be", headings=("The",))
    await store.upsert([empty, make_chunk(2, points=(0.0, 1.0))], edition=1)
    assert await store.read_digests() == {
        c.id: digest_chunk(c) for c in (empty, make_chunk(2, points=(0.0, 1.0)))
    }
    assert await search_by_meaning(store, limit=1) == [1]
    assert await search_by_words(store, "to be or not to be") == []


async def an_upsert_replaces_what_was_there(store: ChunkStore) -> None:
    await store.upsert([make_chunk(1, "An old sentence about ropes.")], edition=1)
    await store.upsert([make_chunk(1, "A new sentence about sails.", points=(0.0, 1.0))], edition=2)
    assert await search_by_words(store, "ropes") == []
    assert await search_by_words(store, "sails") == [1]
    assert await search_by_meaning(store, Where(any_of={"edition": (1,)})) == []
    assert list(await store.read_digests()) == [str(UUID(int=1))]


async def of_two_chunks_with_one_id_the_last_wins(store: ChunkStore) -> None:
    first, last = make_chunk(1, "The first of the two."), make_chunk(1, "The second of the two.")
    await store.upsert([first, last], edition=1)
    assert await store.read_digests() == {last.id: digest_chunk(last)}


async def a_batch_with_one_bad_vector_writes_nothing(store: ChunkStore) -> None:
    for bad in ((math.nan,) * SIZE, (math.inf,) * SIZE, (0.0,) * SIZE, (1.0, 0.0), None):
        unfit = make_chunk(2)
        object.__setattr__(unfit, "embedding", bad)
        with pytest.raises(InvalidValue, match="embedding"):
            await store.upsert([make_chunk(1), unfit, make_chunk(3)], edition=1)
    assert await store.read_digests() == {}


async def an_id_that_is_no_uuid_is_refused(store: ChunkStore) -> None:
    for bad in ("seven", "00000000000000000000000000000001", "AAAAAAAA-0000-0000-0000-000000000001"):
        with pytest.raises(InvalidValue, match="UUID"):
            await store.upsert([replace(make_chunk(1), id=bad)], edition=1)
        with pytest.raises(InvalidValue, match="UUID"):
            await store.delete([bad])


async def a_query_that_makes_no_sense_is_refused(store: ChunkStore) -> None:
    for query in ((math.nan,) * SIZE, (1.0, 0.0), (0.0,) * SIZE):
        with pytest.raises(InvalidValue, match="query vector"):
            await store.search(query, words_of("whale"), where=EVERYWHERE, limit=5)
    with pytest.raises(InvalidValue, match="limit"):
        await store.search(make_vector(1.0), words_of("whale"), where=EVERYWHERE, limit=0)


async def what_is_deleted_is_gone_and_the_unknown_is_no_error(store: ChunkStore) -> None:
    await store.upsert([make_chunk(1), make_chunk(2)], edition=1)
    await store.delete([make_chunk(1).id, make_chunk(9).id])
    await store.delete([])
    assert await search_by_meaning(store) == [2]
    assert await search_by_words(store, "whale") == [2]


async def every_key_filters_both_halves(store: ChunkStore) -> None:
    await store.upsert([make_chunk(1, page=3), make_chunk(2, book_id="emma", page=5)], edition=1)
    await store.upsert([make_chunk(3, section_id="ch-2", ancestors=("part-1",))], edition=2)
    expected = [
        (Where(any_of={"book_id": ("emma",)}), [2]),
        (Where(any_of={"book_id": ("emma", "moby-dick")}), [1, 2, 3]),
        (Where(any_of={"edition": (2,)}), [3]),
        (Where(any_of={"sections": ("part-1",)}), [3]),
        (Where(any_of={"sections": ("ch-2", "ch-9")}), [3]),
        (Where(any_of={"source_file": ("emma.txt",)}), [2]),
        (Where(none_of={"book_id": ("emma",)}), [1, 3]),
        (Where(none_of={"book_id": ()}), [1, 2, 3]),
        (Where(at_least={"document_position": 2}), [2, 3]),
        (Where(at_most={"document_position": 2}), [1, 2]),
        (Where(at_least={"page_end": 3}, at_most={"page_number": 4}), [1]),
        (Where(any_of={"book_id": ("moby-dick",)}, at_least={"document_position": 2}), [3]),
        (Where(any_of={"book_id": ("emma",)}, none_of={"book_id": ("emma",)}), []),
        (Where(any_of={"edition": (1, 2)}, none_of={"edition": (1,)}), [3]),
        (Where(any_of={"sections": ("ch-2", "part-1")}, none_of={"sections": ("part-1",)}), []),
        (Where(at_least={"page_number": 4}, at_most={"page_number": 3}), []),
    ]
    for where, wanted in expected:
        found = await store.search(make_vector(1.0), words_of("whale"), where=where, limit=9)
        assert (list_numbers(found.dense), list_numbers(found.lexical)) == (wanted, wanted), where


async def a_filter_that_allows_no_value_finds_nothing(store: ChunkStore) -> None:
    await store.upsert([make_chunk(1)], edition=1)
    assert await search_by_meaning(store, Where(any_of={"book_id": ()})) == []


async def a_filter_on_truth_values_or_unknown_keys_is_refused(store: ChunkStore) -> None:
    for where in (
        Where(any_of={"edition": (True,)}),
        Where(none_of={"edition": (1, "one")}),  # type: ignore[dict-item]
        Where(any_of={"colour": ("white",)}),
        Where(at_least={"colour": 1}),
        Where(at_most={"edition": True}),
    ):
        with pytest.raises(InvalidValue, match="Where"):
            await store.search(make_vector(1.0), words_of("whale"), where=where, limit=5)


async def equal_scores_come_in_order_of_id(store: ChunkStore) -> None:
    await store.upsert([make_chunk(number) for number in (5, 2, 9, 7, 1)], edition=1)
    assert await search_by_meaning(store) == await search_by_words(store, "whale") == [1, 2, 5, 7, 9]


async def equal_scores_at_the_cut_are_not_cut_at_random(store: ChunkStore) -> None:
    await store.upsert([make_chunk(n) for n in range(60, 0, -1)], edition=1)
    assert await search_by_meaning(store, limit=10) == list(range(1, 11))
    assert await search_by_words(store, "whale", limit=10) == list(range(1, 11))


async def too_many_equals_at_the_cut_are_left_out_unless_there_is_nothing_else(store: ChunkStore) -> None:
    await store.upsert([make_chunk(n) for n in range(1, 4)], edition=1)
    await store.upsert([make_chunk(n, points=(1.0, 1.0)) for n in range(4, 800)], edition=1)
    assert await search_by_meaning(store, limit=10) == [1, 2, 3]
    assert len(await search_by_words(store, "whale", limit=10)) == 10


async def digests_are_those_that_the_chunks_promise(store: ChunkStore) -> None:
    stored = [
        make_chunk(1, page=3),
        make_chunk(2, "Ärger über “Zeichen” – 鯨 🐋.", ancestors=("a", "b"), points=(3.0, 4.0)),
    ]
    await store.upsert(stored, edition=7)
    await store.commit()
    assert await store.read_digests() == {c.id: digest_chunk(c) for c in stored}


PROMISES: tuple[Callable[[ChunkStore], Awaitable[None]], ...] = (
    an_empty_store_finds_nothing,
    chunks_are_found_by_meaning_best_first_with_their_cosine,
    chunks_are_found_by_words_in_any_form,
    the_headings_of_a_chunk_count_among_its_words,
    a_query_of_empty_words_finds_nothing_by_words,
    a_chunk_of_empty_words_is_kept_soundly_and_found_by_meaning,
    an_upsert_replaces_what_was_there,
    of_two_chunks_with_one_id_the_last_wins,
    a_batch_with_one_bad_vector_writes_nothing,
    an_id_that_is_no_uuid_is_refused,
    a_query_that_makes_no_sense_is_refused,
    what_is_deleted_is_gone_and_the_unknown_is_no_error,
    every_key_filters_both_halves,
    a_filter_that_allows_no_value_finds_nothing,
    a_filter_on_truth_values_or_unknown_keys_is_refused,
    equal_scores_come_in_order_of_id,
    equal_scores_at_the_cut_are_not_cut_at_random,
    too_many_equals_at_the_cut_are_left_out_unless_there_is_nothing_else,
    digests_are_those_that_the_chunks_promise,
)
