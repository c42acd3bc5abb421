"""The protocols of Octavo's replaceable parts, with no more than Octavo needs of them.

An Embedder turns text into unit vectors. A SupportModel scores whether passages support a claim. A ChunkStore
stores chunks and finds them by meaning and by words. Fusion and ordering happen in `search.ranking`, so that
results are the same with every store.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from octavo.types import Chunk

Vector = Sequence[float]
Values = tuple[str, ...] | tuple[int, ...]


class Embedder(Protocol):
    """Turns text into unit vectors. It blocks: call it through `concurrency.run_blocking`."""

    @property
    def fingerprint(self) -> str:
        """Names the model, its weights and its precision: two that differ must never share an index."""
        ...

    @property
    def dimension(self) -> int: ...

    @property
    def max_pieces(self) -> int:
        """How many word pieces the model reads; the rest of a longer text is invisible to it."""
        ...

    def count_pieces(self, texts: Sequence[str]) -> list[int]:
        """Counts the word pieces of each text, without the model's own marks."""
        ...

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Returns one unit vector for each text, in order."""
        ...


@runtime_checkable
class TrainedEmbedder(Embedder, Protocol):
    """An embedder that came in place of earlier versions of itself."""

    @property
    def replaces(self) -> Collection[str]:
        """The fingerprints of earlier versions, whose vectors this one's can still be compared with."""
        ...


@runtime_checkable
class QueryEmbedder(TrainedEmbedder, Protocol):
    """An embedder that gives a question another vector than the same words in a book."""

    def embed_queries(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Returns one unit vector for each question, in order."""
        ...

    def scale_cosine(self, cosine: float) -> float:
        """Returns where a cosine of this model stands on the scale of the English one."""
        ...


def find_embedder(fingerprint: str, first: Embedder, other: Embedder | None) -> Embedder:
    """Finds the one of two embedders that made an index, it or an earlier version; else the first."""
    return other if other is not None and is_made_by(fingerprint, other) else first


def is_made_by(fingerprint: str, embedder: Embedder) -> bool:
    """Says whether an embedder made an index, or an earlier version of it that can be compared with it."""
    return any(fingerprint.endswith(f" {one}") for one in list_versions(embedder))


def list_versions(embedder: Embedder) -> tuple[str, ...]:
    """Lists the fingerprints of an embedder and of its earlier versions, its own first."""
    earlier = embedder.replaces if isinstance(embedder, TrainedEmbedder) else ()
    return (embedder.fingerprint, *earlier)


def embed_queries(embedder: Embedder, texts: Sequence[str]) -> list[tuple[float, ...]]:
    """Embeds questions, in the way of the embedder where it has one of its own."""
    embed = embedder.embed_queries if isinstance(embedder, QueryEmbedder) else embedder.embed
    return embed(texts)


class SupportModel(Protocol):
    """A trained verifier of claims. Blocking: call it through `concurrency.run_blocking`."""

    def __call__(self, claim: str, passages: Sequence[str], /) -> Sequence[float]:
        """Return for each passage the log odds that it supports the claim."""
        ...


@dataclass(frozen=True, slots=True)
class Where:
    """A filter with the same meaning in every store. All conditions must hold.

    Keys: book_id, edition, sections (a section and its ancestors), page_number, page_end,
    document_position, source_file.
    """

    any_of: Mapping[str, Values] = field(default_factory=lambda: MappingProxyType({}))
    none_of: Mapping[str, Values] = field(default_factory=lambda: MappingProxyType({}))
    at_least: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    at_most: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


EVERYWHERE = Where()


class Hit(NamedTuple):
    """A chunk's id with the score one half of the search gave it."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class StoreHits:
    """The two halves of a search, each best first, ties in order of id."""

    dense: tuple[Hit, ...]
    lexical: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class StoredPoint:
    """A point as the store holds it. It is not `sound` when its checksum is wrong."""

    id: str
    payload: Mapping[str, Any]
    vector: tuple[float, ...]
    note: str
    sound: bool


class ChunkStore(Protocol):
    """Stores chunks by id. What was written before `commit` returned survives a kill and a power cut."""

    async def upsert(
        self, chunks: Sequence[Chunk], *, edition: int, notes: Mapping[str, str] | None = None
    ) -> None:
        """Adds or replaces chunks with their notes. Every chunk is checked before any is written."""
        ...

    async def delete(self, ids: Collection[str]) -> None: ...

    async def search(
        self, vector: Vector, words: Mapping[int, float], *, where: Where, limit: int
    ) -> StoreHits:
        """Finds up to `limit` chunks by cosine to `vector`, and up to `limit` by BM25 for these words.

        The weights of the words say how rare they are, so that no store has to count.
        """
        ...

    async def read_digests(self, ids: Collection[str] | None = None) -> dict[str, str]:
        """Returns a digest of each stored point (payload and vector), to be compared with the records.

        With `ids`, which must be all points of some books, others need not be read: they are `UNREAD`.
        """
        ...

    async def begin_change(self) -> str:
        """Starts to note which points are written, and names that note; "" if the store makes none."""
        ...

    async def find_touched(self, change: str) -> Collection[str] | None:
        """Returns the points that may not be as they were written, if the note of this name is valid."""
        ...

    def read_points(self) -> AsyncIterator[StoredPoint]:
        """Reads every point with its note and its vector."""
        ...

    async def count(self) -> int:
        """Counts the points."""
        ...

    async def find_lagging_copies(self) -> list[str]:
        """Names the copies of the store that may have missed a write; none where there is only one."""
        ...

    async def commit(self) -> None:
        """Returns when everything written so far is on the disk."""
        ...

    async def compact(self) -> bool:
        """Rewrites a large store, if it is worth it, so that searching stays cheap. Says whether it did."""
        ...
