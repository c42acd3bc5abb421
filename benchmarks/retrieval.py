"""Retrieval on the development suite: hit@1, hit@5 and hit@10 of each half of the search, of both, and with
the small reader.

    python -m benchmarks.retrieval SUITE [--only rust_book] [--limit 300] [--data DIR] [--halves]

`--data` keeps the libraries between runs. A hit is what the suite's own scorer calls one. With `--halves`,
the questions about every other book, in the order of their files, are also counted by themselves: what is
chosen on the first half is shown on the second.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.suite import Item, load
from octavo.library import Library
from octavo.protocols import StoreHits
from octavo.search.ranking import fuse
from octavo.search.retrieval import CANDIDATES
from octavo.types import Chunk, Scope

SETS = ("squad2_book", "fairytaleqa", "rust_book", "financebench_pdf")


@dataclass(frozen=True, slots=True)
class Trial:
    """What the store found for one question, and which of it is gold."""

    question: str
    book: str | None
    found: StoreHits
    read: tuple[str, ...]
    """What a search returns, with the small reader."""
    gold: frozenset[str]
    chunks: dict[str, Chunk]


async def trials(suite: Path, name: str, limit: int, data: Path) -> list[Trial]:
    wanted = load(suite, name, limit)
    async with Library.open(data / name) as library:
        ids = {}
        for title, path in wanted.books:
            ids[title] = (await library.add(path, title=title if wanted.titled else None)).id
        return [await _trial(library, item, ids) for item in wanted.items]


async def _trial(library: Library, item: Item, ids: dict[str, str]) -> Trial:
    context = await library._context()
    retriever = library._get_retriever(context)
    bounds = await library._scope.resolve(Scope(), book_id=ids[item.book] if item.book else None)
    found, _ = await retriever._search_groups(item.question, bounds.where, CANDIDATES)
    read = await retriever.search(item.question, bounds=bounds, top_k=10)
    wanted = {hit.id for hit in (*found.dense, *found.lexical)} | {evidence.chunk.id for evidence in read}
    chunks = await context.records.find_chunks(list(wanted))
    gold = frozenset(c.id for c in chunks if item.is_gold(c))
    ranked = tuple(evidence.chunk.id for evidence in read)
    return Trial(item.question, item.book, found, ranked, gold, {c.id: c for c in chunks})


def split_by_book(made: Sequence[Trial], books: Sequence[str]) -> tuple[list[Trial], list[Trial]]:
    """Return the questions about the first, third, … of these books, and those about the others."""
    first = frozenset(books[::2])
    return [t for t in made if t.book in first], [t for t in made if t.book not in first]


def hits(ranked: Iterable[tuple[Sequence[str], frozenset[str]]]) -> str:
    """hit@1 / @5 / @10 in per cent."""
    rows = list(ranked)
    shares = [sum(any(i in gold for i in ids[:k]) for ids, gold in rows) / len(rows) for k in (1, 5, 10)]
    return " / ".join(f"{100 * share:4.1f}" for share in shares)


def report(name: str, made: list[Trial]) -> str:
    dense = hits(([h.id for h in t.found.dense], t.gold) for t in made)
    lexical = hits(([h.id for h in t.found.lexical], t.gold) for t in made)
    both = hits(([f.id for f in fuse(t.found)], t.gold) for t in made)
    read = hits((t.read, t.gold) for t in made)
    return f"| {name} ({len(made)}) | {lexical} | {dense} | {both} | {read} |"


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("suite", type=Path)
    options.add_argument("--only", default=",".join(SETS))
    options.add_argument("--limit", type=int, default=0)
    options.add_argument("--data", type=Path)
    options.add_argument("--halves", action="store_true")
    said = options.parse_args()
    head = "| set (questions) | BM25 hit@1 / @5 / @10 | embedder | both | with the reader |"
    print(f"{head}\n|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(prefix="octavo-retrieval-") as temporary:
        data = said.data or Path(temporary)
        for name in said.only.split(","):
            made = asyncio.run(trials(said.suite, name, said.limit, data))
            print(report(name, made), flush=True)
            if said.halves:
                books = [title for title, _ in load(said.suite, name, said.limit).books]
                for half, part in zip(("first", "second"), split_by_book(made, books), strict=True):
                    print(report(f"{name}, {half} half", part), flush=True)


if __name__ == "__main__":
    main()
