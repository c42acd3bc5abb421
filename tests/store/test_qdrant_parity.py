"""The embedded store and a server find the same, in the same order, with scores that agree.

Three engines are asked the same: Qdrant Edge in this process, the same chunks on a server over HTTP,
and, as an oracle that shares no code with either, the pure Python engine that comes with qdrant-client.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from qdrant_client import AsyncQdrantClient, models

from octavo.protocols import EVERYWHERE, Hit, Where
from octavo.records.words import ANY_WORD, count_words
from octavo.settings import Settings
from octavo.store import Store, open_store
from octavo.store.base import build_indexed_text, build_payload
from octavo.store.bm25 import Bm25Encoder, weigh_by_rarity
from octavo.store.qdrant import build_filter
from octavo.types import Chunk
from tests.support.qdrant_server import QdrantServer
from tests.support.store_contract import SIZE, make_chunk, words_of

VOCABULARY = ("whale", "ship", "storm", "harbour", "lantern", "rope", "gull", "ledger", "the", "mast")
BOOKS, SECTIONS = ("emma", "moby-dick", "das-schloß"), ("s1", "s2", "part-1", "Прил. 1")
LIBRARY = "library-of-the-test"


def make_chunks(seed: int, size: int = 150) -> list[Chunk]:
    """Chunks of all kinds, a fifth of them twins in vector, in words or in both."""
    chance = random.Random(seed)
    made: list[Chunk] = []
    for number in range(1, size + 1):
        text = " ".join(chance.choices(VOCABULARY, k=chance.randint(3, 14)))
        one = make_chunk(
            number,
            f"{text}.",
            points=[chance.gauss(0, 1) for _ in range(SIZE)],
            book_id=chance.choice(BOOKS),
            section_id=chance.choice(SECTIONS[:2]),
            ancestors=tuple(chance.sample(SECTIONS[2:], k=chance.randint(0, 2))),
            page=chance.choice((None, *range(1, 12))),
        )
        if made and chance.random() < 0.2:
            one = replace(one, embedding=chance.choice(made).embedding)
        made.append(one)
    return made


def make_filters(chance: random.Random, count: int) -> list[Where]:
    made = [EVERYWHERE]
    for _ in range(count - 1):
        any_of: dict[str, tuple[str, ...]] = {}
        none_of: dict[str, tuple[str, ...]] = {}
        if chance.random() < 0.5:
            any_of["book_id"] = tuple(chance.sample(BOOKS, k=chance.randint(1, 2)))
        if chance.random() < 0.4:
            any_of["sections"] = tuple(chance.sample(SECTIONS, k=chance.randint(1, 3)))
        if chance.random() < 0.3:
            none_of["sections"] = (chance.choice(SECTIONS),)
        least = {"document_position": chance.randint(0, 90)} if chance.random() < 0.4 else {}
        most = {"page_number": chance.randint(1, 12)} if chance.random() < 0.3 else {}
        made.append(Where(any_of=any_of, none_of=none_of, at_least=least, at_most=most))
    return made


@dataclass(frozen=True, slots=True)
class Stores:
    edge: Store
    server: Store
    oracle: AsyncQdrantClient

    async def fill(self, chunks: Sequence[Chunk], *, edition: int = 1) -> None:
        for store in (self.edge, self.server):
            await store.upsert(chunks, edition=edition)
        weights = Bm25Encoder()
        points = []
        for one in chunks:
            made = weights.encode_document(build_indexed_text(one))
            sparse = models.SparseVector(indices=list(made), values=list(made.values()))
            vectors: dict[str, models.Vector] = {"": list(one.embedding or ()), "bm25": sparse}
            held = build_payload(one, edition=edition)
            points.append(models.PointStruct(id=one.id, vector=vectors, payload=held))
        await self.oracle.upsert("oracle", points)

    async def drop(self, ids: list[str]) -> None:
        for store in (self.edge, self.server):
            await store.delete(ids)
        await self.oracle.delete("oracle", models.PointIdsList(points=[*ids]))

    async def search_oracle(
        self, query: Sequence[float], text: str, where: Where
    ) -> tuple[list[Hit], list[Hit]]:
        """Everything that passes, in both halves, in our order."""
        allowed = build_filter(where)
        sparse = Bm25Encoder().encode_query(text)
        asked = models.SparseVector(indices=list(sparse), values=list(sparse.values()))
        halves = []
        for vector, name in ((list(query), None), (asked, "bm25")):
            found = await self.oracle.query_points(
                "oracle", query=vector, using=name, query_filter=allowed, limit=1000, with_payload=False
            )
            hits = [Hit(str(point.id), round(point.score, 5)) for point in found.points]
            halves.append(sorted(hits, key=lambda hit: (-hit.score, hit.id)))
        return halves[0], halves[1]

    async def agree(self, query: Sequence[float], text: str, where: Where, *, limit: int) -> None:
        """Both stores find what the oracle finds, and the same vectors in exactly the same order."""
        dense, lexical = await self.search_oracle(query, text, where)
        words = words_of(text)
        found = [
            await store.search(query, words, where=where, limit=limit) for store in (self.edge, self.server)
        ]
        assert found[0].dense == found[1].dense, (where, limit)
        for one in found:
            agree(one.dense, dense, limit=limit)
            agree(one.lexical, lexical, limit=limit)


@asynccontextmanager
async def stores(tmp_path: Path) -> AsyncIterator[Stores]:
    oracle = AsyncQdrantClient(":memory:")
    await oracle.create_collection(
        "oracle",
        vectors_config=models.VectorParams(size=SIZE, distance=models.Distance.COSINE),
        sparse_vectors_config={"bm25": models.SparseVectorParams()},
    )
    with QdrantServer(tmp_path / "qdrant") as running:
        data = tmp_path / "data"
        edge = await open_store(Settings(data=data, free_space_mb=0), dimension=SIZE)
        server = await open_store(Settings(data=data, store_url=running.url), dimension=SIZE, library=LIBRARY)
        try:
            yield Stores(edge, server, oracle)
        finally:
            await edge.close()
            await server.close()
            await oracle.close()


def agree(found: Sequence[Hit], all_of_them: Sequence[Hit], *, limit: int) -> None:
    """Up to the last decimal: sums of 32-bit floats in another order may round to its neighbour."""
    scores = {hit.id: hit.score for hit in all_of_them}
    assert len(found) == min(limit, len(scores))
    for hit, right in zip(found, all_of_them, strict=False):
        assert hit.score == pytest.approx(right.score, abs=2.1e-5)
        assert hit.score == pytest.approx(scores[hit.id], abs=2.1e-5)


@pytest.mark.parametrize("seed", [1, 2])
async def test_three_engines_find_the_same(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    chunks = make_chunks(seed)
    checks = 0
    async with stores(tmp_path) as all_stores:
        await all_stores.fill(chunks)
        for where in make_filters(chance, 20):
            for limit in (3, 25, 200):
                query = chance.choice(chunks).embedding or ()
                text = " ".join(chance.choices(VOCABULARY, k=chance.randint(0, 4)))
                await all_stores.agree(query, text, where, limit=limit)
                checks += 1
        assert await all_stores.server.read_digests() == await all_stores.edge.read_digests()
    assert checks == 60


async def test_they_still_do_after_changes_and_deletions(tmp_path: Path) -> None:
    chance = random.Random(7)
    chunks = make_chunks(3, 120)
    async with stores(tmp_path) as all_stores:
        await all_stores.fill(chunks)
        await all_stores.drop([one.id for one in chunks[::3]])
        renewed = [replace(one, embedding=chunks[0].embedding) for one in chunks[1::3]]
        await all_stores.fill(renewed, edition=2)
        assert await all_stores.server.read_digests() == await all_stores.edge.read_digests()
        for where in (
            *make_filters(chance, 12),
            Where(any_of={"edition": (2,)}),
            Where(none_of={"edition": (2,)}),
        ):
            query = chance.choice(chunks).embedding or ()
            text = " ".join(chance.choices(VOCABULARY, k=3))
            await all_stores.agree(query, text, where, limit=20)


async def test_three_shards_find_what_one_finds(tmp_path: Path) -> None:
    """A cluster merges what its shards find by score. That works only if every shard scores alike."""
    chunks = make_chunks(21, size=90)
    counts = count_words(chunks)
    whole, *parts = [
        await open_store(Settings(data=tmp_path / str(n), free_space_mb=0), dimension=SIZE) for n in range(4)
    ]
    await whole.upsert(chunks, edition=1)
    # The shards are uneven in what they hold: in each another word is rare.
    by_word = sorted(chunks, key=lambda chunk: ("whale" in chunk.content, "rope" in chunk.content, chunk.id))
    for number, part in enumerate(parts):
        await part.upsert(by_word[30 * number : 30 * number + 30], edition=1)
    vector = make_chunk(1).embedding or ()
    for text in ("whale rope", "gull", "storm in the harbour", "the ledger of the whale"):
        words = weigh_by_rarity(words_of(text), counts, passages=counts[ANY_WORD])
        one = await whole.search(vector, words, where=EVERYWHERE, limit=90)
        merged = [
            hit
            for part in parts
            for hit in (await part.search(vector, words, where=EVERYWHERE, limit=90)).lexical
        ]
        assert one.lexical == tuple(sorted(merged, key=lambda hit: (-hit.score, hit.id)))
        assert one.lexical
    for store in (whole, *parts):
        await store.close()
