"""Fits the weights of `octavo.relevance`, and shows how well they hold on sets they were not fitted on.

    python -m benchmarks.relevance TRAIN [--write]

TRAIN is the folder of training data (`contexts.jsonl.xz`, `rank.jsonl.xz`). Each set becomes a book whose
sections are its passages. Every question is asked of its own book, where one passage is right, and of
another one, where none is. All sets used are CC BY, CC BY-SA or Apache-2.0; no text of theirs is shipped.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import lzma
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from octavo.library import Library
from octavo.search.ranking import collect_stems, fuse, measure_candidate, weigh_query
from octavo.search.retrieval import CANDIDATES
from octavo.types import Scope

SETS = (
    "rerank_squadshifts_new_wiki",
    "openstax_exercise_pairs",
    "medquad",
    "rerank_squadshifts_reddit",
    "selqa",
)
PASSAGES, QUESTIONS, SHOWN = 250, 200, 8
NAMES = ("cosine", "covered", "standing", "all")
WRITTEN = Path(__file__).parent.parent / "src" / "octavo" / "search" / "relevance.json"
Rows = NDArray[np.float64]


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def books(train: Path, folder: Path) -> dict[str, list[tuple[str, str]]]:
    """Writes a Markdown book for each set; returns its questions, each with the right section's title."""
    pairs: dict[str, list[dict[str, Any]]] = {name: [] for name in SETS}
    for row in rows(train / "rank.jsonl.xz"):
        if row["set"] in pairs:
            pairs[row["set"]].append(row)
    texts = {row["i"]: row["t"] for row in rows(train / "contexts.jsonl.xz")}
    asked: dict[str, list[tuple[str, str]]] = {}
    for name, all_pairs in pairs.items():
        random.Random(3).shuffle(all_pairs)
        kept = list(dict.fromkeys(row["p"] for row in all_pairs))[:PASSAGES]
        sections = (f"## Passage {p}\n\n{texts[p].replace('#', ' ')}\n" for p in kept)
        (folder / f"{name}.md").write_text(f"# {name}\n\n" + "\n".join(sections), encoding="utf-8")
        usable = [(r["q"][:1000], f"Passage {r['p']}") for r in all_pairs if r["p"] in set(kept)]
        asked[name] = usable[:QUESTIONS]
    return asked


async def measure(train: Path, folder: Path) -> dict[str, tuple[Rows, Rows]]:
    asked = books(train, folder)
    made: dict[str, tuple[Rows, Rows]] = {}
    async with Library.open(folder / "library") as library:
        for name in SETS:
            await library.add(folder / f"{name}.md", book_id=name.replace("_", "-"))
        for number, name in enumerate(SETS):
            foreign = SETS[(number + 1) % len(SETS)]
            seen: list[list[float]] = []
            right: list[float] = []
            for book, gold_counts in ((name, True), (foreign, False)):
                for question, title in asked[name]:
                    for values, section in await _list_scores(library, question, book.replace("_", "-")):
                        seen.append(values)
                        right.append(float(gold_counts and section == title))
            made[name] = np.array(seen), np.array(right)
    return made


async def _list_scores(library: Library, question: str, book: str) -> list[tuple[list[float], str]]:
    context = await library._context()
    bounds = await library._scope.resolve(Scope(), book_id=book)
    (vector,) = context.embedder.embed([question])
    words = await library._get_retriever(context).weigh_words(question)
    found = await context.store.search(vector, words, where=bounds.where, limit=CANDIDATES)
    best = fuse(found)[:SHOWN]
    chunks = {c.id: c for c in await context.records.find_chunks([f.id for f in best])}
    query = weigh_query(question)
    return [
        ([1.0, *measure_candidate(query, collect_stems(chunks[f.id]), f).values()], chunks[f.id].section)
        for f in best
    ]


def fit(x: Rows, y: Rows, *, ridge: float = 1e-4) -> Rows:
    """Logistic regression by Newton's method."""
    weights = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ weights))
        slope = x.T @ (p - y) / len(y) + ridge * weights
        bend = (x * (p * (1 - p))[:, None]).T @ x / len(y) + ridge * np.eye(len(weights))
        weights -= np.linalg.solve(bend, slope)
    return weights


def describe_fit(p: Rows, y: Rows) -> str:
    bins = [(p >= low) & (p < low + 0.1 + 1e-9) for low in np.arange(0, 1, 0.1)]
    error = sum(abs(p[b].mean() - y[b].mean()) * b.mean() for b in bins if b.any())
    order = np.argsort(np.argsort(p))
    area = (order[y > 0].sum() - y.sum() * (y.sum() - 1) / 2) / (y.sum() * (len(y) - y.sum()))
    return f"{error:.3f} | {area:.3f}"


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("train", type=Path)
    options.add_argument("--write", action="store_true", help="replace the shipped weights")
    said = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="octavo-relevance-") as folder:
        made = asyncio.run(measure(said.train, Path(folder)))
    print("| left out | calibration error | AUROC |\n|---|---|---|")
    for name, (x, y) in made.items():
        others = [made[other] for other in SETS if other != name]
        weights = fit(np.vstack([o[0] for o in others]), np.hstack([o[1] for o in others]))
        print(f"| {name} | {describe_fit(1 / (1 + np.exp(-x @ weights)), y)} |")
    fitted = fit(np.vstack([x for x, _ in made.values()]), np.hstack([y for _, y in made.values()]))
    named = dict(zip(("constant", *NAMES), (round(float(w), 4) for w in fitted), strict=True))
    print(json.dumps(named))
    if said.write:
        WRITTEN.write_text(json.dumps({"version": 1, "sets": SETS, "weights": named}, indent=1) + "\n")


if __name__ == "__main__":
    main()
