"""What reading more candidates brings, and what it costs: hit@1, hit@5 and CPU milliseconds a question.

    python -m benchmarks.cascade SUITE [--only SET] [--limit 300] [--depth 20] [--large 5] [--data DIR]
        [--dump FILE]
    python -m benchmarks.cascade --dump FILE

Each question is searched for, and the reader reads the first `--depth` candidates one by one. With `--large`,
the large model reads so many of those that the reader puts first. `--dump` writes the raw scores of every
candidate as JSON lines. Without SUITE, the table is made from such a file, and no
model runs. `--data` keeps the libraries between runs. CPU times are those of the process, on one thread, and
stages that a method does without are not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.suite import Item, load, rows
from octavo.library import Library
from octavo.models.cross_encoders import HeadedText, LargeModel, Reader
from octavo.search.cascade import (
    LARGE,
    SMALL,
    SmallRules,
    choose_batch,
    count_affordable,
    order_totals,
    select_candidates,
    select_contenders,
)
from octavo.search.ranking import Candidate, fuse
from octavo.search.retrieval import CANDIDATES
from octavo.types import Chunk, Scope

SETS = ("squad2_book", "fairytaleqa", "rust_book")
Row = dict[str, Any]
# The candidates of one question in the order of the first stage, and how one method orders them at what cost.
Method = Callable[[Sequence[Row]], tuple[list[str], float]]


def score_passage(reader: Reader, question: str, chunk: Chunk, kind: str) -> Row:
    """Return the raw scores of one passage, and the CPU milliseconds that they took."""
    began = time.process_time()
    (score,) = reader.read(question, [_add_headings(chunk)])
    margin = score.find_answer(0, len(chunk.content)).margin
    return {
        f"{kind}_rank": round(score.rank, 4),
        f"{kind}_answerable": round(score.answerable, 4),
        f"{kind}_margin": margin,
        f"{kind}_ms": round((time.process_time() - began) * 1000, 2),
    }


async def collect(suite: Path, name: str, limit: int, depth: int, large: int, data: Path) -> list[Row]:
    """Read the candidates of every question of one set."""
    wanted = load(suite, name, limit)
    readers = Reader(threads=1), LargeModel(threads=1)
    found: list[Row] = []
    async with Library.open(data / name) as library:
        ids = {title: (await library.add(path, title=title)).id for title, path in wanted.books}
        for number, item in enumerate(wanted.items):
            about = {"set": name, "question": number, "book": item.book or ""}
            read = await collect_question(library, item, ids, readers, depth, large)
            found += [about | row for row in read]
    return found


async def collect_question(
    library: Library,
    item: Item,
    ids: dict[str, str],
    readers: tuple[Reader, LargeModel],
    depth: int,
    large: int,
) -> list[Row]:
    """Search for one question and read its first candidates."""
    context = await library._context()
    bounds = await library._scope.resolve(Scope(), book_id=ids[item.book] if item.book else None)
    began = time.process_time()
    (vector,) = context.embedder.embed([item.question])
    words = await library._get_retriever(context).weigh_words(item.question)
    found = await context.store.search(vector, words, where=bounds.where, limit=CANDIDATES)
    first = fuse(found)[:depth]
    chunks = {chunk.id: chunk for chunk in await context.records.find_chunks([c.id for c in first])}
    took = round((time.process_time() - began) * 1000, 2)
    rows_found = [
        {
            "candidate": candidate.id,
            "section": f"{chunks[candidate.id].book_id}/{chunks[candidate.id].section_id}",
            "gold": item.is_gold(chunks[candidate.id]),
            "score": round(candidate.score, 5),
            "cosine": round(candidate.cosine, 5),
            "search_ms": took,
            "pieces": readers[0].count_pieces(item.question, _add_headings(chunks[candidate.id])),
            **score_passage(readers[0], item.question, chunks[candidate.id], "small"),
        }
        for candidate in first
        if candidate.id in chunks
    ]
    totals = {row["candidate"]: total_small(row, SMALL) for row in rows_found}
    best = set(order_totals(totals)[:large])
    return [
        row | score_passage(readers[1], item.question, chunks[row["candidate"]], "large")
        if row["candidate"] in best
        else row
        for row in rows_found
    ]


def _add_headings(chunk: Chunk) -> HeadedText:
    return HeadedText(chunk.content, " › ".join(chunk.heading_path))


def total_small(row: Row, rules: SmallRules) -> float:
    return rules.total(rules.fit(row["small_rank"], row["small_answerable"]), row["score"])


def total_large(row: Row, small: float) -> float:
    fit = LARGE.fit(row["large_rank"], row["large_answerable"])
    return LARGE.total(fit, row["score"]) + LARGE.small * small


def keep_order(found: Sequence[Row]) -> tuple[list[str], float]:
    return [row["candidate"] for row in found], 0.0


def use_reader(rules: SmallRules) -> Method:
    """Order as the reranker does with these rules: what was read, then the rest as it was found."""

    def order(found: Sequence[Row]) -> tuple[list[str], float]:
        totals = read_small(found, rules)
        cost = sum(row["small_ms"] for row in found if row["candidate"] in totals)
        rest = (row["candidate"] for row in found if row["candidate"] not in totals)
        return [*order_totals(totals), *rest], cost

    return order


def read_small(found: Sequence[Row], rules: SmallRules) -> dict[str, float]:
    """Return the totals of the candidates that the small reader would read."""
    by_id = {row["candidate"]: row for row in found}
    candidates = [Candidate(id_, row["score"], 0.0, row["cosine"]) for id_, row in by_id.items()]
    selected = select_candidates(candidates, {id_: row["section"] for id_, row in by_id.items()}, rules)
    totals: dict[str, float] = {}
    while len(selected) > 1 and (batch := choose_batch(selected, totals, rules)):
        totals |= {candidate.id: total_small(by_id[candidate.id], rules) for candidate in batch}
    return totals


def use_both(found: Sequence[Row]) -> tuple[list[str], float]:
    """Order as the reranker does for a question: the large model reads the best of the small reader."""
    small, cost = use_reader(SMALL)(found)
    totals, by_id = read_small(found, SMALL), {row["candidate"]: row for row in found}
    read = [id_ for id_ in select_contenders(totals) if "large_rank" in by_id[id_]]
    read = read[: count_affordable([by_id[id_]["pieces"] for id_ in read])]
    deep = order_totals({id_: total_large(by_id[id_], totals[id_]) for id_ in read})
    cost += sum(by_id[id_]["large_ms"] for id_ in deep)
    return [*deep, *(id_ for id_ in small if id_ not in deep)], cost


def list_methods(found: Sequence[Sequence[Row]]) -> dict[str, Method]:
    depth = max(map(len, found))
    every = replace(SMALL, reach=2.0, section_most=depth, batch=depth)
    depths = {f"reader, first {n}": use_reader(replace(every, depth=n)) for n in (5, 10, 20) if n <= depth}
    shipped: dict[str, Method] = {
        "search alone": keep_order,
        **depths,
        "reader, as shipped": use_reader(SMALL),
    }
    has_large = any("large_rank" in row for question in found for row in question)
    return shipped | ({"large model on top": use_both} if has_large else {})


def report(found: Sequence[Row]) -> None:
    """Print what each method finds in each set, and what it costs on top of the search."""
    print("| set (questions) | method | hit@1 | hit@5 | CPU ms |\n|---|---|---|---|---|")
    for name, of_set in groupby(found, key=lambda row: str(row["set"])):
        questions = [list(q) for _, q in groupby(of_set, key=lambda row: int(row["question"]))]
        for method, order in list_methods(questions).items():
            ordered = [order(question) for question in questions]
            golds = [{row["candidate"] for row in question if row["gold"]} for question in questions]
            hits = [
                sum(not gold.isdisjoint(ids[:k]) for (ids, _), gold in zip(ordered, golds, strict=True))
                for k in (1, 5)
            ]
            shares = " | ".join(f"{hit / len(questions):.3f}" for hit in hits)
            cost = sum(ms for _, ms in ordered) / len(questions)
            print(f"| {name} ({len(questions)}) | {method} | {shares} | {cost:.0f} |", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("suite", type=Path, nargs="?")
    options.add_argument("--only", default=",".join(SETS))
    options.add_argument("--limit", type=int, default=300)
    options.add_argument("--depth", type=int, default=20)
    options.add_argument("--large", type=int, default=0)
    options.add_argument("--data", type=Path)
    options.add_argument("--dump", type=Path)
    said = options.parse_args()
    if said.suite is None:
        report(list(rows(said.dump)))
        return
    found: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="octavo-cascade-") as temporary:
        data = said.data or Path(temporary)
        for name in said.only.split(","):
            found += asyncio.run(collect(said.suite, name, said.limit, said.depth, said.large, data))
            if said.dump:
                said.dump.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
    report(found)


if __name__ == "__main__":
    main()
