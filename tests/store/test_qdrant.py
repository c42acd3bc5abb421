"""The store contract on a Qdrant server over real HTTP, and what is the server's alone: collections, keys.

With `OCTAVO_TEST_QDRANT_URL` set, the same contract also runs on the server at that address, in a collection
of its own that is dropped afterwards.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from octavo.errors import InvalidValue, StoreError
from octavo.protocols import EVERYWHERE, ChunkStore
from octavo.settings import Settings
from octavo.store import open_store, read_store_state, replace_store
from octavo.store.base import DAMAGED, digest_chunk
from octavo.store.qdrant import EXACT_UP_TO, QdrantStore, connect, find_collection
from octavo.store.qdrant_client import RETRIES
from tests.support.qdrant_server import QdrantServer
from tests.support.store_contract import (
    PROMISES,
    SIZE,
    make_chunk,
    make_vector,
    search_by_meaning,
    search_by_words,
    words_of,
)

REAL = os.environ.get("OCTAVO_TEST_QDRANT_URL", "")
MINE = "library-of-the-test"
QUICK = replace(RETRIES, tries=2, pause=0.01)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QdrantServer]:
    with QdrantServer(tmp_path_factory.mktemp("qdrant")) as running:
        yield running


def make_settings(url: str, collection: str = "ai_book_embedding", *, key: str = "") -> Settings:
    return Settings(data=Path("unused"), store_url=url, collection=collection, store_key=key)


@asynccontextmanager
async def open_collection(
    url: str, collection: str = "", *, library: str = MINE, expected: bool = False, dimension: int = SIZE
) -> AsyncIterator[QdrantStore]:
    where = make_settings(url, collection or f"test-{uuid4().hex}")
    store = await connect(
        where, dimension=dimension, library=library, expected=expected, seconds=10, retries=QUICK
    )
    try:
        yield store
    finally:
        await store.close()


async def _empty(store: QdrantStore) -> QdrantStore:
    await store.delete(await store.read_digests())
    return store


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
async def test_a_server_keeps_the_promise_that(
    promise: Callable[[ChunkStore], Awaitable[None]], server: QdrantServer
) -> None:
    async with open_collection(server.url, "contract") as store:
        await promise(await _empty(store))


if REAL:  # registered only where somebody has a server: nothing is skipped in silence

    @pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
    async def test_the_server_at_octavo_test_qdrant_url_keeps_the_promise_that(
        promise: Callable[[ChunkStore], Awaitable[None]],
    ) -> None:
        name = f"octavo-test-{uuid4().hex}"
        key = os.environ.get("OCTAVO_TEST_QDRANT_KEY", "")
        store = await connect(make_settings(REAL, name, key=key), dimension=SIZE, library=MINE)
        try:
            await promise(store)
        finally:
            await store.close()
            drop(name, key)


def drop(collection: str, key: str) -> None:
    address = f"{REAL.rstrip('/')}/collections/{collection}"
    httpx.delete(address, headers={"api-key": key}).raise_for_status()


def ask(server: QdrantServer, path: str, **question: object) -> list[dict[str, dict[str, object]]]:
    """The points that a plain client is shown."""
    said = httpx.post(f"{server.url}/collections/{path}", json=question).raise_for_status().json()["result"]
    points: list[dict[str, dict[str, object]]] = said["points"] if isinstance(said, dict) else said
    return points


def read_config(server: QdrantServer, collection: str) -> dict[str, object]:
    """What a plain client is told of a collection."""
    said = httpx.get(f"{server.url}/collections/{collection}").raise_for_status().json()
    config: dict[str, object] = said["result"]["config"]
    return config | {"indexed": set(said["result"]["payload_schema"])}


def make(server: QdrantServer, collection: str, **config: object) -> None:
    httpx.put(f"{server.url}/collections/{collection}", json=config).raise_for_status()


def change(server: QdrantServer, collection: str, **config: object) -> None:
    httpx.patch(f"{server.url}/collections/{collection}", json=config).raise_for_status()


def remove(server: QdrantServer, collection: str, id: str) -> None:
    address = f"{server.url}/collections/{collection}/points/delete"
    httpx.post(address, json={"points": [id]}).raise_for_status()


def put(server: QdrantServer, collection: str, *points: dict[str, object]) -> None:
    address = f"{server.url}/collections/{collection}/points"
    httpx.put(address, json={"points": list(points)}).raise_for_status()


async def test_a_collection_is_made_as_the_settings_say(server: QdrantServer, tmp_path: Path) -> None:
    where = Settings(
        data=tmp_path,
        store_url=server.url,
        collection="made",
        store_shards=3,
        store_replicas=2,
        store_on_disk=True,
        store_quantized=True,
    )
    await (await open_store(where, dimension=SIZE, library=MINE)).close()
    config = read_config(server, "made")
    params = config["params"]
    assert isinstance(params, dict)
    assert params["vectors"] == {"size": SIZE, "distance": "Cosine", "on_disk": True}
    assert "modifier" not in params["sparse_vectors"]["bm25"]
    assert params["on_disk_payload"] is True
    said = [params[key] for key in ("shard_number", "replication_factor", "write_consistency_factor")]
    assert said == [3, 2, 2]
    assert config["quantization_config"] == {"scalar": {"type": "int8", "quantile": 0.99, "always_ram": True}}
    assert config["indexed"] == {
        *("book_id", "sections", "source_file", "library"),
        *("edition", "page_number", "page_end", "document_position"),
    }


async def test_what_was_stored_is_there_for_the_next_who_opens_it(server: QdrantServer) -> None:
    async with open_collection(server.url, "kept") as store:
        await store.upsert([make_chunk(1), make_chunk(2, "A ship with three masts.")], edition=1)
    async with open_collection(server.url, "kept", expected=True) as store:
        assert await search_by_words(store, "masts") == [2]
        assert await store.count() == 2


async def test_a_plain_client_finds_what_every_such_collection_holds(server: QdrantServer) -> None:
    async with open_collection(server.url, "plain") as store:
        await store.upsert([make_chunk(7)], edition=1)
    (point,) = ask(server, "plain/points/scroll", with_payload=True, with_vector=True)
    wanted = {"url": "book://moby-dick/ch-1", "chunk_id": 7, "source_title": "Moby-Dick"}
    assert wanted.items() <= point["payload"].items()
    assert point["payload"]["text"] == make_chunk(7).content
    assert point["vector"][""] == list(make_vector(1.0))


async def test_a_missing_collection_is_an_error_where_one_is_expected(server: QdrantServer) -> None:
    with pytest.raises(StoreError, match="no collection 'nowhere'") as caught:
        async with open_collection(server.url, "nowhere", expected=True):
            pass
    assert "doctor --repair" in caught.value.hint


async def test_a_collection_of_another_dimension_is_refused_and_can_be_replaced(server: QdrantServer) -> None:
    async with open_collection(server.url, "resized") as store:
        await store.upsert([make_chunk(1)], edition=1)
    with pytest.raises(StoreError, match="another embedder: its vectors have 8 numbers"):
        async with open_collection(server.url, "resized", dimension=4):
            pass
    anew, kept = await replace_store(make_settings(server.url, "resized"), dimension=4, library=MINE)
    assert kept is None
    assert await anew.count() == 0
    await anew.close()


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ({"vectors": {"size": SIZE, "distance": "Dot"}}, "compares by Dot"),
        ({"vectors": {"size": SIZE, "distance": "Cosine"}}, "no sparse vector 'bm25'"),
        ({"vectors": {"text": {"size": SIZE, "distance": "Cosine"}}}, "no unnamed vector"),
    ],
)
async def test_a_collection_of_another_shape_is_refused(
    server: QdrantServer, config: dict[str, object], complaint: str
) -> None:
    name = f"shape-{uuid4().hex}"
    make(server, name, **config)
    with pytest.raises(StoreError, match=complaint):
        async with open_collection(server.url, name):
            pass


async def test_a_collection_that_weighed_words_itself_is_converted(server: QdrantServer) -> None:
    async with open_collection(server.url, "older") as store:
        await store.upsert([make_chunk(1), make_chunk(2, "A ship with three masts.")], edition=1)
        plain = (await store.search(make_vector(1.0), words_of("masts"), where=EVERYWHERE, limit=3)).lexical
    change(server, "older", sparse_vectors={"bm25": {"modifier": "idf"}})
    assert read_config(server, "older")["params"]["sparse_vectors"]["bm25"]["modifier"] == "idf"  # type: ignore[index]
    async with open_collection(server.url, "older", expected=True) as store:
        found = await store.search(make_vector(1.0), words_of("masts"), where=EVERYWHERE, limit=3)
    assert found.lexical == plain


async def test_what_somebody_else_filled_is_never_written_to_nor_replaced(server: QdrantServer) -> None:
    make(
        server,
        "foreign",
        vectors={"size": SIZE, "distance": "Cosine"},
        sparse_vectors={"bm25": {"modifier": "idf"}},
    )
    point = {
        "id": 1,
        "vector": list(make_vector(1.0)),
        "payload": {"url": "https://a.example/", "text": "Words."},
    }
    put(server, "foreign", point)
    before = len(server.writes)
    with pytest.raises(StoreError, match="points of another program; nothing was changed") as caught:
        async with open_collection(server.url, "foreign"):
            pass
    assert "octavo attach" in caught.value.hint
    with pytest.raises(StoreError, match="points of another program; nothing was changed"):
        await replace_store(make_settings(server.url, "foreign"), dimension=SIZE, library=MINE)
    assert server.writes[before:] == []


async def test_two_libraries_cannot_share_a_collection_by_mistake(server: QdrantServer) -> None:
    async with open_collection(server.url, "shared") as store:
        await store.upsert([make_chunk(1)], edition=1)
    with pytest.raises(StoreError, match="points of another Octavo library"):
        async with open_collection(server.url, "shared", library="another"):
            pass
    async with open_collection(server.url, "shared") as store:
        assert await search_by_meaning(store) == [1]


async def test_points_that_others_slip_in_are_neither_counted_nor_removed(server: QdrantServer) -> None:
    async with open_collection(server.url, "slipped") as store:
        await store.upsert([make_chunk(1)], edition=1)
        put(
            server,
            "slipped",
            {"id": 5, "vector": {"": list(make_vector(0.0, 1.0))}, "payload": {"text": "x"}},
        )
        assert await store.count() == 1
        assert list(await store.read_digests()) == [make_chunk(1).id]


async def test_a_point_that_was_tampered_with_is_damaged(server: QdrantServer) -> None:
    async with open_collection(server.url, "tampered") as store:
        await store.upsert([make_chunk(1), make_chunk(2)], edition=1)
        (point,) = ask(server, "tampered/points", ids=[make_chunk(1).id], with_payload=True)
        forged = {**point["payload"], "text": "The whale is green and small."}
        sparse = {"indices": [1], "values": [1.0]}
        put(
            server,
            "tampered",
            {
                "id": make_chunk(1).id,
                "vector": {"": list(make_vector(1.0)), "bm25": sparse},
                "payload": forged,
            },
        )
        assert await store.read_digests() == {
            make_chunk(1).id: DAMAGED,
            make_chunk(2).id: digest_chunk(make_chunk(2)),
        }


async def test_a_key_opens_a_server_that_asks_for_one(tmp_path: Path) -> None:
    with QdrantServer(tmp_path, key="sesame") as locked:
        for key in ("", "wrong"):
            with pytest.raises(StoreError, match="refused the key") as caught:
                await open_store(make_settings(locked.url, key=key), dimension=SIZE, library=MINE)
            assert "OCTAVO_STORE_KEY" in caught.value.hint
            assert "wrong" not in str(caught.value)
        store = await open_store(make_settings(locked.url, key="sesame"), dimension=SIZE, library=MINE)
        await store.upsert([make_chunk(1)], edition=1)
        assert await store.count() == 1
        await store.close()


@pytest.mark.parametrize(
    "url", ["localhost:6333", "ftp://a.example", "http://", "http://a.example:0", "http://u:p@a.example"]
)
async def test_an_address_that_is_none_is_refused_without_showing_a_password(url: str) -> None:
    with pytest.raises(InvalidValue, match="Qdrant server") as caught:
        await open_store(make_settings(url), dimension=SIZE, library=MINE)
    assert "u:p" not in str(caught.value)


async def test_a_closed_store_says_so(server: QdrantServer) -> None:
    async with open_collection(server.url, "closed") as store:
        await store.close()
        await store.close()
        for work in (
            store.search(make_vector(1.0), words_of("whale"), where=EVERYWHERE, limit=1),
            store.upsert([make_chunk(1)], edition=1),
            store.delete([make_chunk(1).id]),
            store.read_digests(),
            store.count(),
            store.commit(),
        ):
            with pytest.raises(StoreError, match="closed"):
                await work


async def test_a_state_changes_with_the_points_and_is_never_the_same_when_unknown(
    server: QdrantServer,
) -> None:
    where = make_settings(server.url, "stateful")
    unknown = await read_store_state(where, library=MINE)
    assert unknown != await read_store_state(where, library=MINE)
    async with open_collection(server.url, "stateful") as store:
        empty = await read_store_state(where, library=MINE)
        await store.upsert([make_chunk(1)], edition=1)
        full = await read_store_state(where, library=MINE)
    assert len({unknown, empty, full}) == 3
    assert full == await read_store_state(where, library=MINE)


async def test_only_a_large_collection_is_searched_by_its_index(server: QdrantServer) -> None:
    async with open_collection(server.url, "large") as store:
        await store.upsert([make_chunk(1)], edition=1)
        assert (await store._choose_params()).exact is True
        store._points = EXACT_UP_TO + 1
        params = await store._choose_params()
        assert not params.exact
        assert params.quantization is not None
        assert params.quantization.rescore is True
        assert await search_by_meaning(store) == [1]


async def test_a_point_without_words_may_come_back_without_a_sparse_vector(server: QdrantServer) -> None:
    empty = make_chunk(1, "To be or not to be", headings=("The",))
    async with open_collection(server.url, "wordless") as store:
        await store.upsert([empty], edition=1)
        (point,) = ask(server, "wordless/points", ids=[empty.id], with_payload=True)
        remove(server, "wordless", empty.id)
        put(
            server,
            "wordless",
            {"id": empty.id, "vector": list(make_vector(1.0)), "payload": point["payload"]},
        )
        assert await store.read_digests() == {empty.id: digest_chunk(empty)}


VERSIONS = [("1.15.4", False), ("2.0.0", False), ("1.16.3", True), ("dev", True)]


@pytest.mark.parametrize(("version", "fits"), VERSIONS)
async def test_a_server_of_another_version_is_refused_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, fits: bool
) -> None:
    monkeypatch.setattr("tests.support.qdrant_collections.VERSION", version)
    with QdrantServer(tmp_path) as server:
        settings = Settings(data=tmp_path / "library", store_url=server.url)
        if fits:
            await (await connect(settings, dimension=SIZE, library="ours")).close()
            return
        with pytest.raises(StoreError, match=f"has version {version}; Octavo needs 1.16 or a later 1.x"):
            await connect(settings, dimension=SIZE, library="ours")
        assert server.writes == []
        assert not await find_collection(settings)
