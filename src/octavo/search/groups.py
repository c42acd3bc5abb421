"""Groups the books of a library by the embedder that made their vectors, and joins what each group finds.

A library of English books is one group, and nothing here changes what it finds. Books in other languages may
have another embedder. A question then has a vector for each group, and the store is searched once for each.
The cosines of the groups are put on one scale before the hits are joined, so that no group comes first just
because its model gives higher numbers. The scores by words need no scale: the records count the words of all
books together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from octavo.protocols import Hit, QueryEmbedder, StoreHits, find_embedder
from octavo.types.books import read_languages

if TYPE_CHECKING:
    from octavo.protocols import Embedder, Where
    from octavo.types import Book

# Two stores agree on scores to this many decimals.
_EXACT = 5


@dataclass(frozen=True, slots=True)
class BookGroup:
    """Books with vectors of one embedder. `languages` are those whose rules their words follow."""

    embedder: Embedder
    books: tuple[str, ...]
    languages: tuple[str, ...]
    alone: bool = True
    """Whether these are all books of the library."""
    main: tuple[str, ...] = ("",)
    """The languages of the books as a whole; some of their sections may be in others."""
    multilingual: bool = False
    """Whether the embedder tells queries from passages, and has cosines on a scale of its own."""

    def bound(self, where: Where) -> Where | None:
        """Return the condition for the books of this group alone; None where it allows none of them."""
        if self.alone:
            return where
        wanted, unwanted = where.any_of.get("book_id"), where.none_of.get("book_id", ())
        kept = tuple(id_ for id_ in self.books if (wanted is None or id_ in wanted) and id_ not in unwanted)
        return replace(where, any_of={**where.any_of, "book_id": kept}) if kept else None

    def scale(self, found: StoreHits) -> StoreHits:
        """Put the cosines of this group on the scale of the English model."""
        if not self.multilingual or not isinstance(self.embedder, QueryEmbedder):
            return found
        scale = self.embedder.scale_cosine
        dense = (Hit(hit.id, round(scale(hit.score), _EXACT)) for hit in found.dense)
        return StoreHits(tuple(dense), found.lexical)


def group_books(books: Sequence[Book], first: Embedder, other: Embedder | None) -> tuple[BookGroup, ...]:
    """Group books by embedder, those of the first embedder first. There is always a group."""
    made: list[BookGroup] = []
    for embedder in (first, other):
        own = [b for b in books if find_embedder(b.index_fingerprint, first, other) is embedder]
        if own or (embedder is first and not books):
            spoken = [read_languages(book.index_fingerprint) for book in own] or [("",)]
            chosen = first if embedder is None else embedder
            made.append(
                BookGroup(
                    chosen,
                    _list_ids(own),
                    languages=tuple(sorted({code for codes in spoken for code in codes})),
                    main=tuple(sorted({codes[0] for codes in spoken})),
                    multilingual=isinstance(chosen, QueryEmbedder),
                )
            )
    return tuple(replace(group, alone=len(made) == 1) for group in made)


def _list_ids(books: Iterable[Book]) -> tuple[str, ...]:
    return tuple(book.id for book in books)


def join_hits(found: Sequence[StoreHits]) -> StoreHits:
    """Join what the groups found, best first, ties in order of id."""
    if len(found) == 1:
        return found[0]
    return StoreHits(
        _sort_hits(hit for one in found for hit in one.dense),
        _sort_hits(hit for one in found for hit in one.lexical),
    )


def _sort_hits(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.id)))
