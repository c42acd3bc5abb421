"""Finds the passages of a library that answer a query, within the bounds of the reader's scope.

The query is embedded, and its words are weighed by how rare they are in the library. Within one book they are
counted in that book, where the name of its subject says nothing, and half of the query's vector is made
without that name. A question that names a measure of accounting is searched by what it is computed from too
(`search.measures`). Both halves of the search run in one round trip, and their scores are fused. The best
chunks are read from the records: the store only points to them. A chunk outside of the bounds is dropped even
if the store returned it. With a reranker, the models that come with Octavo decide which of the first come
first.

Books of several embedders are searched each with a vector of its own (`search.groups`), and passages in
several languages are read each by the model that knows theirs.

A question whose words are misspelt is corrected before (`search.spelling`), by the words of the books that it
may be answered from.

Vectors of queries and chunks are cached; chunks only as long as no edition changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from octavo.concurrency import run_blocking
from octavo.protocols import StoreHits, embed_queries
from octavo.records.words import ANY_WORD
from octavo.search.cache import LRUCache
from octavo.search.cascade import LOOKED_AT
from octavo.search.groups import BookGroup, group_books, join_hits
from octavo.search.measures import Measure, find_measures, have_words
from octavo.search.ranking import (
    DENSE_WEIGHT,
    MULTILINGUAL_WEIGHT,
    Candidate,
    ReaderSize,
    collect_stems,
    estimate_relevance,
    find_stems,
    fuse,
    mix_vectors,
    mix_words,
    raise_candidates,
    weigh_query,
)
from octavo.search.rerank import Ranking, Reranker
from octavo.search.spelling import (
    Corrected,
    Word,
    choose_correction,
    find_words,
    list_corrections,
    write_corrected,
)
from octavo.search.subject import leave_out_subject
from octavo.search.surroundings import find_reach, widen
from octavo.store.bm25 import Bm25Encoder, weigh_by_rarity
from octavo.text.clean import clean, collapse
from octavo.text.english import is_known
from octavo.types import Chunk, Evidence
from octavo.types.books import read_languages

if TYPE_CHECKING:
    from octavo.protocols import ChunkStore, Embedder, Where
    from octavo.records.catalogue import Records
    from octavo.search.scope import Bounds
    from octavo.types import Book

CANDIDATES = 50
# How much the line items that a measure is computed from count beside the question: a share of the vector,
# and the weight of all their words as a multiple of that of all the words of the question.
LINE_ITEMS_SHARE, LINE_ITEMS_WEIGHT = 0.7, 1.5
# What a passage that states the measure itself is raised by.
STATED_LEAD = 0.5
# How many words' counts are kept in memory.
COUNTS_KEPT = 50_000
# In a question with more unknown words than this they are not misspelt, but no English.
MOST_CORRECTED = 5
# Of how many books the counts of all their words are kept.
BOOKS_COUNTED = 8


@dataclass(frozen=True, slots=True)
class FoundEvidence:
    """Passages, best first, what the large model read of some of them and around, and the models that read.

    `deep` has the passages that the large model read by their ids.
    """

    evidence: tuple[Evidence, ...]
    deep: Mapping[str, Chunk] = field(default_factory=lambda: MappingProxyType({}))
    readers: tuple[str, ...] = ()


class Retriever:
    """Searches one open library."""

    def __init__(
        self,
        store: ChunkStore,
        records: Records,
        embedder: Embedder,
        multilingual: Embedder | None = None,
        *,
        reranker: Reranker | None = None,
    ) -> None:
        """`multilingual` is the embedder of books that `embedder` did not embed, if there may be some."""
        self._store, self._records, self._embedder = store, records, embedder
        self.reranker, self._multilingual = reranker, multilingual
        self._groups: tuple[BookGroup, ...] = ()
        # The books in the groups, by id.
        self._books: Mapping[str, Book] = {}
        self._vectors: LRUCache[tuple[float, ...]] = LRUCache()
        self._chunks: LRUCache[Chunk] = LRUCache()
        self._stems: LRUCache[frozenset[str]] = LRUCache()
        self._generation = self._counted_at = self._grouped_at = -1
        self._counts: dict[int, int] = {}
        self._book_counts: LRUCache[Mapping[int, int]] = LRUCache(most=BOOKS_COUNTED)
        self._bm25 = Bm25Encoder()

    @property
    def reader_size(self) -> ReaderSize:
        """The size of the model whose scores answers are made from."""
        return self.reranker.size if self.reranker else "off"

    async def search(
        self, query: str, *, bounds: Bounds, top_k: int, reader: ReaderSize = "small"
    ) -> list[Evidence]:
        """Find up to `top_k` passages, best first. `reader` is the largest model that may read them."""
        return list((await self.find(query, bounds=bounds, top_k=top_k, reader=reader)).evidence)

    async def find(
        self, query: str, *, bounds: Bounds, top_k: int, reader: ReaderSize = "small"
    ) -> FoundEvidence:
        """Find up to `top_k` passages like `search`, and say which models read them."""
        cleaned = collapse(clean(query))
        limit = max(CANDIDATES, 2 * top_k)
        while True:
            generation = await self._records.refresh()
            visible = bounds.exclude(self._records.unpublished)
            found, dense_weight = await self._search_groups(cleaned, visible.where, limit)
            candidates = fuse(found, dense_weight=dense_weight)
            candidates = await self._prefer_stated(cleaned, candidates, _find_only_book(visible.where))
            ranking = await self._rank(cleaned, candidates, bounds, reader)
            evidence = await self._select(cleaned, candidates, bounds, top_k, ranking)
            # If an edition was published in the meantime, the old one is gone: search again.
            if generation == await self._records.refresh():
                return FoundEvidence(tuple(evidence), ranking.deep, ranking.readers)

    async def correct_spelling(self, query: str, *, bounds: Bounds) -> Corrected:
        """Return the query with its misspelt words as the books have them that the bounds are in.

        Where some of very many books are asked, nothing is corrected: it would take too long to count there.
        """
        words = find_words(query) if bounds.passage is None else []
        books = await self._list_asked(bounds.where) if words else ()
        if not words or (books is not None and len(books) > BOOKS_COUNTED):
            return Corrected(query)
        languages = await self._list_languages(books)
        if "" not in languages:
            return Corrected(query)
        unknown = await self._find_unknown(words, languages, books)
        if not 0 < len(unknown) <= MOST_CORRECTED:
            return Corrected(query)
        corrections = (other for word in unknown for other in list_corrections(word.text.lower()))
        indices = {index for other in corrections for index in self._bm25.index_word(other)}
        if books is None:
            # Most of these are no words: their counts are not kept.
            counts: Mapping[int, int] = await self._records.count_passages_with(indices)
        else:
            counts = await self._sum_counts(indices, books)
        chosen = {word: choose_correction(word, counts, self._bm25) for word in unknown}
        held = {word: other for word, other in chosen.items() if other and await self._holds(other, bounds)}
        return write_corrected(query, held)

    async def _list_asked(self, where: Where) -> tuple[str, ...] | None:
        """List the ids of the books that a search is bound to, by id or by file; None if it may find any."""
        books, files = _list_books(where), where.any_of.get("source_file")
        if files is None:
            return books
        having = await self._records.list_books_with(map(str, files))
        return tuple(id_ for id_ in (sorted(having) if books is None else books) if id_ in having)

    async def _list_languages(self, books: Sequence[str] | None) -> list[str]:
        """List the languages of some books and of their sections, or of the library."""
        await self._list_groups()
        asked = [book for id_, book in self._books.items() if books is None or id_ in books]
        return sorted({code for book in asked for code in read_languages(book.index_fingerprint)})

    async def _find_unknown(
        self, words: Sequence[Word], languages: Sequence[str], books: Sequence[str] | None
    ) -> list[Word]:
        """Find the words that neither the books have nor English prose."""
        forms = {word: self._bm25.encode_query(word.text, languages=languages) for word in words}
        indices = {index for found in forms.values() for index in found}
        if books is None:
            counts = await self._count_words(indices, None)
        else:
            counts = await self._sum_counts(indices, books)
        absent = [word for word, found in forms.items() if found and not any(map(counts.get, found))]
        return [word for word in absent if not is_known(word.text)]

    async def _holds(self, word: str, bounds: Bounds) -> bool:
        """Say whether a word may be named within the bounds: not if it is only in what lies ahead."""
        if not bounds.ahead:
            return True
        visible = bounds.exclude(self._records.unpublished)
        words = dict.fromkeys(self._bm25.index_word(word), 1.0)
        for group in await self._list_groups():
            bound = group.bound(visible.where)
            if bound is not None:
                anywhere = (1.0, *[0.0] * (group.embedder.dimension - 1))
                found = await self._store.search(anywhere, words, where=bound, limit=1)
                loaded = await self._load_chunks([hit.id for hit in found.lexical])
                if any(map(bounds.holds, loaded.values())):
                    return True
        return False

    async def _search_groups(self, query: str, where: Where, limit: int) -> tuple[StoreHits, float]:
        """Search the books of each embedder with the vector that it gives the query.

        Also return how much meaning counts beside words.
        """
        found: list[StoreHits] = []
        dense_weight = MULTILINGUAL_WEIGHT
        for group in await self._list_groups():
            bound = group.bound(where)
            if bound is not None:
                vector, words = await self._encode_query(query, group, _find_only_book(bound))
                hits = await self._store.search(vector, words, where=bound, limit=limit)
                found.append(group.scale(hits))
                if not group.multilingual:
                    dense_weight = DENSE_WEIGHT
        return join_hits(found) if found else StoreHits((), ()), dense_weight

    async def _list_groups(self) -> tuple[BookGroup, ...]:
        generation = self._records.generation
        if generation != self._grouped_at:
            books = await self._records.list_books()
            self._groups = group_books(books, self._embedder, self._multilingual)
            self._books = {book.id: book for book in books}
            self._grouped_at = generation
        return self._groups

    async def _encode_query(
        self, query: str, group: BookGroup, book_id: str | None
    ) -> tuple[Sequence[float], dict[int, float]]:
        """Return the vector and the words that the books of a group, or one of them, are searched by."""
        vector = await self._embed_in_book(query, group, book_id)
        words = await self.weigh_words(query, languages=group.languages, book_id=book_id)
        line_items = await self._list_line_items(query, group, book_id)
        if line_items:
            added = await self.embed_query(line_items, group.embedder)
            vector = mix_vectors(vector, added, share=LINE_ITEMS_SHARE)
            rare = await self.weigh_words(line_items, languages=group.languages, book_id=book_id)
            words = mix_words(words, rare, weight=LINE_ITEMS_WEIGHT)
        return vector, words

    async def _list_line_items(self, query: str, group: BookGroup, book_id: str | None) -> str:
        """List what the measures that a query names are computed from. Only English has names of measures.

        A measure of one word that the books have is found by that word.
        """
        named = await self._find_measures(query, book_id) if "" in group.main else []
        wanted = [m for m in named if not (m.word and await self.weigh_words(m.word, book_id=book_id))]
        return ". ".join(measure.line_items for measure in wanted)

    async def _find_measures(self, query: str, book_id: str | None) -> list[Measure]:
        """Find the measures that a query names, where the books have the words of their line items."""
        found = []
        for measure in find_measures(query):
            words = self._bm25.encode_query(measure.line_items)
            if have_words(await self._count_words(words, book_id), words):
                found.append(measure)
        return found

    async def _prefer_stated(
        self, query: str, candidates: list[Candidate], book_id: str | None
    ) -> list[Candidate]:
        """Raise the candidates that state a measure which the query names."""
        measures = await self._find_measures(query, book_id)
        if not measures:
            return candidates
        loaded = await self._load_chunks([candidate.id for candidate in candidates[:LOOKED_AT]])
        stating = {id_ for id_, c in loaded.items() if any(m.is_stated(c.content) for m in measures)}
        return raise_candidates(candidates, stating, by=STATED_LEAD)

    async def _select(
        self, query: str, candidates: list[Candidate], bounds: Bounds, top_k: int, ranking: Ranking
    ) -> list[Evidence]:
        """Read the best candidates from the records. The next ones replace those gone or out of bounds."""
        evidence: list[Evidence] = []
        place = {id_: number for number, id_ in enumerate(ranking.relevance)}
        rest = candidates
        if place:
            rest = sorted(candidates, key=lambda candidate: place.get(candidate.id, len(place)))
        most = 1.0
        while rest and len(evidence) < top_k:
            batch, rest = rest[: top_k - len(evidence)], rest[top_k - len(evidence) :]
            loaded = await self._load_chunks([candidate.id for candidate in batch])
            for candidate in batch:
                chunk = loaded.get(candidate.id)
                if chunk is not None and bounds.holds(chunk):
                    score = ranking.relevance.get(candidate.id)
                    if score is None:
                        words = _weigh_words_of(query, chunk.language)
                        score = estimate_relevance(words, self._find_stems(chunk, words), candidate)
                    most = min(most, score)
                    evidence.append(Evidence(chunk=chunk, relevance_score=most, rank=len(evidence) + 1))
        return evidence

    async def _rank(
        self, query: str, candidates: list[Candidate], bounds: Bounds, reader: ReaderSize
    ) -> Ranking:
        """Let the models read the first candidates that are within the bounds."""
        if self.reranker is None or reader == "off" or not candidates:
            return Ranking()
        loaded = await self._load_chunks([candidate.id for candidate in candidates[:LOOKED_AT]])
        chunks = {id_: chunk for id_, chunk in loaded.items() if bounds.holds(chunk)}
        widened = partial(self._widen, bounds)
        return await self.reranker.rank(query, candidates, chunks, reader=reader, widen=widened)

    async def _widen(self, bounds: Bounds, given: Sequence[tuple[Chunk, int]]) -> list[Chunk]:
        """Widen passages by what stands around them within the bounds, unless these may cut passages."""
        wide = []
        for chunk, room in given:
            around: list[Chunk] = []
            if room and not bounds.may_cut:
                place = (chunk.book_id, chunk.section_id, *find_reach(chunk, room))
                around = await self._records.find_chunks_within(*place)
            wide.append(widen(chunk, [c for c in around if bounds.holds(c)], room))
        return wide

    async def embed_query(self, query: str, embedder: Embedder | None = None) -> tuple[float, ...]:
        """Return the vector that an embedder gives a query, computed once. By default it is the first one."""
        chosen = embedder or self._embedder
        key = query if chosen is self._embedder else f"{chosen.fingerprint}\x1f{query}"
        known = self._vectors.get(key)
        if known is None:
            (known,) = await run_blocking(embed_queries, chosen, [query])
            self._vectors.put(key, known)
        return known

    async def _embed_in_book(self, query: str, group: BookGroup, book_id: str | None) -> Sequence[float]:
        """Return the vector of a query to one book: half of it without the name of the book's subject.

        Only in English are the words with a capital names.
        """
        whole = await self.embed_query(query, group.embedder)
        if book_id is None or any(group.main):
            return whole
        self._forget_old_counts()
        counts, book = await self._count_in_book(book_id), self._books.get(book_id)
        bare = leave_out_subject(query, counts, self._bm25, title=book.title if book else "")
        if bare == query:
            return whole
        return mix_vectors(whole, await self.embed_query(bare, group.embedder), share=0.5)

    def _forget_old_counts(self) -> None:
        generation = self._records.generation
        if generation != self._counted_at or len(self._counts) > COUNTS_KEPT:
            self._counts, self._counted_at, self._book_counts = {}, generation, LRUCache(most=BOOKS_COUNTED)

    async def weigh_words(
        self, query: str, *, languages: Sequence[str] = ("",), book_id: str | None = None
    ) -> dict[int, float]:
        """Weigh the words of a query, as these languages write them, by how rare they are.

        They are counted in one book or, without `book_id`, in the library.
        """
        weights = self._bm25.encode_query(query, languages=languages)
        counts = await self._count_words(weights, book_id)
        return weigh_by_rarity(weights, counts, passages=counts.get(ANY_WORD, 0))

    async def _count_words(self, words: Collection[int], book_id: str | None) -> Mapping[int, int]:
        """Count the passages that have each of these words, and any, in one book or in the library."""
        self._forget_old_counts()
        if book_id is not None and (own := await self._count_in_book(book_id)):
            return own
        counts = self._counts
        unknown = [word for word in (ANY_WORD, *words) if word not in counts]
        if unknown:
            counts |= await self._records.count_passages_with(unknown)
        return counts

    async def _sum_counts(self, words: Collection[int], books: Sequence[str]) -> Mapping[int, int]:
        """Count the passages that have each of these words in a few books."""
        self._forget_old_counts()
        counts: Counter[int] = Counter()
        for book_id in books:
            own = await self._count_in_book(book_id)
            counts.update({word: own.get(word, 0) for word in words})
        return counts

    async def _count_in_book(self, book_id: str) -> Mapping[int, int]:
        known = self._book_counts.get(book_id)
        if known is None:
            known = await self._records.count_passages_of(book_id)
            self._book_counts.put(book_id, known)
        return known

    async def _load_chunks(self, ids: Sequence[str]) -> dict[str, Chunk]:
        """Load chunks of published editions."""
        generation = self._records.generation
        if generation != self._generation:
            self._chunks, self._stems, self._generation = LRUCache(), LRUCache(), generation
        loaded = {id_: known for id_ in ids if (known := self._chunks.get(id_)) is not None}
        unknown = [id_ for id_ in ids if id_ not in loaded]
        if unknown:
            for chunk in await self._records.find_chunks(unknown):
                loaded[chunk.id] = chunk
                if generation == self._records.generation:
                    self._chunks.put(chunk.id, chunk)
        return loaded

    def _find_stems(self, chunk: Chunk, wanted: Collection[str]) -> Collection[str]:
        """Find the wanted stems in a chunk. Where all of them must be collected, do that once."""
        if not chunk.language:
            return find_stems(chunk, wanted)
        known = self._stems.get(chunk.id)
        if known is None:
            known = collect_stems(chunk)
            self._stems.put(chunk.id, known)
        return known


@lru_cache(maxsize=64)
def _weigh_words_of(query: str, language: str) -> Mapping[str, float]:
    return weigh_query(query, language=language)


def _find_only_book(where: Where) -> str | None:
    """Return the id of the book that a search is bound to, if it is one."""
    books = _list_books(where) or ()
    return books[0] if len(books) == 1 else None


def _list_books(where: Where) -> tuple[str, ...] | None:
    """List the ids of the books that a search is bound to; None if it may find any."""
    books = where.any_of.get("book_id")
    return None if books is None else tuple(map(str, books))
