"""A server that is away, slow, failing or cut off: what is tried again, and what is said at last."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from octavo.errors import InvalidValue, StoreError
from octavo.library import Library
from octavo.protocols import EVERYWHERE
from octavo.settings import Settings
from octavo.store.base import digest_chunk
from octavo.store.qdrant import BATCH, QdrantStore, connect
from octavo.store.qdrant_client import RETRIES
from octavo.testing import TinyEmbedder
from tests.support.answerers import AllSentencesAnswerer, assert_well_cited
from tests.support.patience import PATIENCE
from tests.support.qdrant_server import Fault, QdrantServer
from tests.support.small_books import write_markdown
from tests.support.store_contract import SIZE, make_chunk, make_vector, search_by_meaning, words_of

MINE = "library-of-the-test"
UPSERT, SEARCH = "PUT /collections/ai_book_embedding/points", "/points/query"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[QdrantServer]:
    with QdrantServer(tmp_path / "qdrant") as running:
        yield running


@asynccontextmanager
async def open_collection(
    server: QdrantServer, *, tries: int = 3, seconds: float = PATIENCE
) -> AsyncIterator[QdrantStore]:
    retries = replace(RETRIES, tries=tries, pause=0.005)
    settings = Settings(data=Path("unused"), store_url=server.url)
    store = await connect(settings, dimension=SIZE, library=MINE, seconds=seconds, retries=retries)
    try:
        yield store
    finally:
        await store.close()


def count_requests(server: QdrantServer, request: str) -> int:
    return sum(request in one for one in server.requests)


@pytest.mark.parametrize(
    "fault",
    [
        Fault(kind="status", to=UPSERT, status=503),
        Fault(kind="status", to=UPSERT, status=500),
        Fault(kind="status", to=UPSERT, status=429),
        Fault(kind="status", to=UPSERT, status=429, retry_after=0),
        Fault(kind="status", to=UPSERT, status=408),
        Fault(kind="cut", to=UPSERT),
        Fault(kind="lost", to=UPSERT),
        Fault(kind="half", to=UPSERT),
    ],
    ids=lambda fault: f"{fault.kind}-{fault.status}-{fault.retry_after}",
)
async def test_a_write_that_fails_is_made_again_until_all_of_it_is_there(
    server: QdrantServer, fault: Fault
) -> None:
    chunks = [make_chunk(n) for n in range(1, 9)]
    async with open_collection(server) as store:
        server.fail(fault, fault)
        await store.upsert(chunks, edition=1)
        assert await store.read_digests() == {c.id: digest_chunk(c) for c in chunks}
    assert count_requests(server, UPSERT) == 3


async def test_what_the_server_refuses_is_not_tried_again(server: QdrantServer) -> None:
    async with open_collection(server) as store:
        server.fail(Fault(kind="status", to=UPSERT, status=400))
        with pytest.raises(StoreError, match=r"did not store the chunks \(400\): made to fail") as caught:
            await store.upsert([make_chunk(1)], edition=1)
    assert server.url in str(caught.value)
    assert count_requests(server, UPSERT) == 1


async def test_retries_end(server: QdrantServer) -> None:
    async with open_collection(server, tries=2) as store:
        await store.upsert([make_chunk(1)], edition=1)
        server.fail(*[Fault(kind="status", to=SEARCH)] * 2)
        with pytest.raises(StoreError, match=r"did not search: it failed \(503\)") as caught:
            await store.search(make_vector(1.0), words_of("whale"), where=EVERYWHERE, limit=5)
        assert "again in a while" in caught.value.hint
        assert await search_by_meaning(store) == [1]


async def test_no_answer_in_time_counts_as_a_failure(server: QdrantServer) -> None:
    async with open_collection(server, tries=2) as store:
        await store.upsert([make_chunk(1)], edition=1)
        server.fail(*[Fault(kind="slow", to=SEARCH, seconds=1.0)] * 2)
        allowed, store._connection._seconds = store._connection._seconds, 0.2
        with pytest.raises(StoreError, match="did not search"):
            await store.search(make_vector(1.0), words_of("whale"), where=EVERYWHERE, limit=5)
        store._connection._seconds = allowed
        assert await search_by_meaning(store) == [1]


async def test_a_server_that_is_slow_but_in_time_is_waited_for(server: QdrantServer) -> None:
    async with open_collection(server) as store:
        server.fail(Fault(kind="slow", to=SEARCH, seconds=0.2))
        assert await search_by_meaning(store) == []
    assert count_requests(server, SEARCH) == 1


async def test_a_server_that_is_away_at_the_start_is_an_error_that_says_where(tmp_path: Path) -> None:
    with QdrantServer(tmp_path) as gone:
        pass
    with pytest.raises(
        StoreError, match=f"the Qdrant server at {gone.url} did not say what it holds"
    ) as caught:
        async with open_collection(gone, tries=2):
            pass
    assert "OCTAVO_STORE_URL" in caught.value.hint


async def test_a_restart_in_between_loses_nothing_that_was_acknowledged(server: QdrantServer) -> None:
    async with open_collection(server, tries=2) as store:
        await store.upsert([make_chunk(1), make_chunk(2)], edition=1)
        server.stop()
        with pytest.raises(StoreError, match="did not"):
            await store.search(make_vector(1.0), words_of("whale"), where=EVERYWHERE, limit=5)
        server.start()
        assert await search_by_meaning(store) == [1, 2]
        assert await store.read_digests() == {c.id: digest_chunk(c) for c in (make_chunk(1), make_chunk(2))}


async def test_collections_that_appear_while_they_are_made_are_taken(server: QdrantServer) -> None:
    """The answer to the first request is lost: the second is told that the collection exists."""
    server.fail(Fault(kind="lost", to="PUT /collections/ai_book_embedding"))
    async with open_collection(server) as store:
        await store.upsert([make_chunk(1)], edition=1)
        assert await store.count() == 1


async def test_a_long_batch_that_breaks_off_leaves_whole_points_only(server: QdrantServer) -> None:
    chunks = [make_chunk(n) for n in range(1, BATCH + 20)]
    async with open_collection(server, tries=1) as store:
        server.fail(Fault(kind="slow", to=UPSERT), Fault(kind="half", to=UPSERT))
        with pytest.raises(StoreError, match=r"it failed \(500\)"):
            await store.upsert(chunks, edition=1)
        expected = {c.id: digest_chunk(c) for c in chunks}
        stored = await store.read_digests()
        assert len(stored) == BATCH + 9
        assert stored.items() <= expected.items()


async def test_the_addresses_of_a_cluster_are_tried_in_turn(server: QdrantServer, tmp_path: Path) -> None:
    with QdrantServer(tmp_path / "gone") as gone:
        pass
    settings = Settings(data=tmp_path, store_url=f"{gone.url}, {server.url}/")
    retries = replace(RETRIES, tries=1, pause=0.005)
    store = await connect(settings, dimension=SIZE, library=MINE, retries=retries)
    await store.upsert([make_chunk(1)], edition=1)
    assert await search_by_meaning(store) == [1]
    server.stop()
    with pytest.raises(StoreError, match=f"the Qdrant server at {gone.url}, {server.url} did not"):
        await search_by_meaning(store)
    await store.close()


async def test_too_few_copies_are_an_error_in_plain_words(
    server: QdrantServer, caplog: pytest.LogCaptureFixture
) -> None:
    said = "Service internal error: 2 of 3 replicas failed to apply the operation"
    async with open_collection(server, tries=1) as store:
        server.fail(Fault(kind="status", to=UPSERT, status=500, said=said))
        with pytest.raises(StoreError, match="too few copies of the collection can be reached") as caught:
            await store.upsert([make_chunk(1)], edition=1)
    assert "OCTAVO_STORE_QUORUM" in caught.value.hint
    assert said not in str(caught.value)
    assert said in caplog.text


@pytest.mark.parametrize(("quorum", "confirmed"), [(0, 2), (1, 1), (3, 3)])
async def test_more_than_half_of_the_copies_must_confirm_a_write(
    server: QdrantServer, tmp_path: Path, quorum: int, confirmed: int
) -> None:
    settings = Settings(data=tmp_path, store_url=server.url, store_replicas=3, store_quorum=3)
    await (await connect(settings, dimension=SIZE, library=MINE)).close()
    again = settings.model_copy(update={"store_quorum": quorum, "store_replicas": 1})
    store = await connect(again, dimension=SIZE, library=MINE)
    described = await store._connection.call("describe it", lambda c: c.get_collection(store._name))
    assert described.config.params.write_consistency_factor == confirmed
    await store.close()


async def test_more_confirmations_than_copies_are_refused(server: QdrantServer, tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, store_url=server.url, store_replicas=2, store_quorum=3)
    with pytest.raises(InvalidValue, match="store_quorum"):
        await connect(settings, dimension=SIZE, library=MINE)


# The same, seen from a library


async def test_copies_that_missed_a_change_are_named_until_they_are_compared(
    server: QdrantServer, tmp_path: Path
) -> None:
    settings = Settings(data=tmp_path / "library", store_url=server.url, store_replicas=3, free_space_mb=0)
    async with Library.open(settings=settings, embedder=TinyEmbedder()) as tides:
        await tides.prepare()
        server.take_away("ai_book_embedding", 3)
        await tides.add(write_markdown(tmp_path / "tides.md"))
        (behind,) = [found for found in await tides.examine() if found.what == "copies"]
        assert not behind.sound
        assert "shard 0 on server 3 (Dead)" in behind.said
        server.take_away("ai_book_embedding")
        (alike,) = [found for found in await tides.examine() if found.what == "copies"]
        assert alike.sound
        assert "server 3" in alike.said
        assert not [found for found in await tides.examine() if found.what == "copies"]


@asynccontextmanager
async def open_library(tmp_path: Path, server: QdrantServer) -> AsyncIterator[Library]:
    settings = Settings(data=tmp_path / "library", store_url=server.url, free_space_mb=0)
    answerer = AllSentencesAnswerer("lighthouse")
    async with Library.open(settings=settings, embedder=TinyEmbedder(), answerer=answerer) as open_collection:
        yield open_collection


async def test_a_library_lives_on_a_server(tmp_path: Path, server: QdrantServer) -> None:
    async with open_library(tmp_path, server) as tides:
        book = await tides.add(write_markdown(tmp_path / "tides.md"))
        (best, *_) = await tides.search("the lamp of the lighthouse")
        assert best.chunk.section == "Lighthouse"
        await assert_well_cited(tides, await tides.ask("Who trimmed the lamp of the lighthouse?"))
    before = len(server.writes)
    async with open_library(tmp_path, server) as tides:
        assert not tides.repaired
        assert [found.chunk.book_id for found in await tides.search("gulls", top_k=1)] == [book.id]
        assert server.writes[before:] == []
        assert all(finding.sound for finding in await tides.examine())
        await tides.remove(book.id)
        assert await tides.search("gulls") == []
    assert not (tmp_path / "library" / "store").exists()


async def test_a_book_whose_storing_breaks_off_is_not_published_and_goes_in_later(
    tmp_path: Path, server: QdrantServer
) -> None:
    book = write_markdown(tmp_path / "tides.md")
    async with open_library(tmp_path, server) as tides:
        await tides.prepare()
        server.fail(Fault(kind="half", to=UPSERT), *[Fault(kind="status", to=UPSERT)] * 4)
        with pytest.raises(StoreError, match="did not store the chunks"):
            await tides.add(book)
        assert await tides.books() == []
        assert await tides.search("lighthouse") == []
        await tides.add(book)
        assert len(await tides.search("lighthouse")) > 0
        assert all(finding.sound for finding in await tides.examine())


async def test_a_server_that_vanishes_with_a_removal_undone_is_caught_up_with_at_the_next_opening(
    tmp_path: Path, server: QdrantServer
) -> None:
    async with open_library(tmp_path, server) as tides:
        await tides.add(write_markdown(tmp_path / "tides.md"))
        server.fail(*[Fault(kind="cut", to="/points/delete")] * 5)
        with pytest.raises(StoreError, match="did not remove the chunks"):
            await tides.remove("the-tides")
        assert await tides.books() == []
        assert await tides.search("lighthouse") == []
    async with open_library(tmp_path, server) as tides:
        await tides.prepare()
        assert len(tides.repaired.strange) == 4
        assert all(finding.sound for finding in await tides.examine())


async def test_points_that_the_server_lost_are_written_again_when_the_library_is_opened(
    tmp_path: Path, server: QdrantServer
) -> None:
    async with open_library(tmp_path, server) as tides:
        await tides.add(write_markdown(tmp_path / "tides.md"))
        name = await tides._records.ensure_library_id()
        ids = sorted(await tides._records.read_digests())
    store = await connect(Settings(data=tmp_path, store_url=server.url), dimension=384, library=name)
    await store.delete(ids[:2])
    await store.close()
    async with open_library(tmp_path, server) as tides:
        await tides.prepare()
        assert tides.repaired.missing == tuple(ids[:2])
        assert all(finding.sound for finding in await tides.examine())


async def test_a_missing_collection_is_rebuilt_by_the_doctor(tmp_path: Path, server: QdrantServer) -> None:
    async with open_library(tmp_path, server) as tides:
        await tides.add(write_markdown(tmp_path / "tides.md"))
    other = Settings(data=tmp_path / "library", store_url=server.url, collection="elsewhere", free_space_mb=0)
    embedder = TinyEmbedder()
    async with Library.open(settings=other, embedder=embedder) as tides:
        with pytest.raises(StoreError, match="no collection 'elsewhere'"):
            await tides.search("lighthouse")
        before = embedder.embedded
        findings = await tides.examine(repair=True)
        assert [finding.what for finding in findings if not finding.sound] == []
        assert embedder.embedded - before == 1, "only the doctor's own test of the model"
        assert len(await tides.search("lighthouse")) > 0
