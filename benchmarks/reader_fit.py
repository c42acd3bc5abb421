"""Fits what is made of the reader's scores: is there an answer, is this it, is a passage to the point.

    python -m benchmarks.reader_fit SUITE [--limit 1200] [--data DIR] [--write]

The reader has learnt from the training data, so its scores there look better than they are: the few weights
are fitted on questions of the development suite, asked of the library as a reader would. What is reported is
measured on articles and books that were left out of the fit, five times a fifth. `--write` replaces
src/octavo/answers/confidence_reader.json, src/octavo/search/relevance_reader.json and docs/risk-coverage.svg.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import tempfile
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.answering import PICTURE
from benchmarks.answering_fit import Weighted, auroc, calibration_error, logistic, platt
from benchmarks.risk_coverage import draw_curve
from benchmarks.suite import bare, covers, rows
from octavo.answers.calibration import RISK, load_calibration
from octavo.answers.workspace import Workspace
from octavo.library import AnswererFactory, Library
from octavo.models.cross_encoders import PassageScore
from octavo.search.ranking import fuse, select_reachable
from octavo.types import Scope

COMMAND = "python -m benchmarks.reader_fit SUITE --write"
RANKING = Path(__file__).parent.parent / "src" / "octavo" / "search" / "relevance_reader.json"
TARGET = Path(__file__).parent.parent / "src" / "octavo" / "answers" / "confidence_reader.json"
Numbers = NDArray[np.float64]
ANSWERABLE = {"able": 1, "able_most": 1, "margin_read": 1, "stated": 1, "rank_read": 0, "rank_most": 0}
RIGHT = {"odds": 1, "odds_chunk": 1, "margin": 1, "margin_read": 1, "able": 0, "rank_read": 0}
RIGHT |= {"why": 0, "sequel": 0, "told": 0, "not_sure": -1, "not_even_loose": -1}
CONCISE = 80
BEYOND = 2 / 5  # of the questions that the risk is told for, how many are near misses


@dataclass(frozen=True, slots=True)
class Outcome:
    """A question, what was measured, how it went; `passages` are fit, first-stage score, to the point."""

    book: str
    answerable: bool
    correct: bool
    features: dict[str, float]
    passages: tuple[tuple[float, float, bool], ...]


@dataclass(frozen=True, slots=True)
class Fit:
    answerable: Weighted
    right: Weighted
    slope: float
    offset: float

    def chance(self, given: Sequence[Outcome]) -> Numbers:
        return self.answerable(o.features for o in given)

    def confidence(self, given: Sequence[Outcome]) -> Numbers:
        both = self.chance(given) * self.right(o.features for o in given)
        return np.asarray(1 / (1 + np.exp(-(self.offset + self.slope * np.log(both / (1 - both))))))


def fit(given: Sequence[Outcome]) -> Fit:
    near = [o for o in given if o.book.startswith("squad2_book")]  # others have no unanswerable questions
    can = np.array([o.answerable for o in near], dtype=float)
    answerable = logistic([o.features for o in near], can, signs=ANSWERABLE, weight=np.ones(len(near)))
    told = [o for o in given if o.answerable]
    did = np.array([o.correct for o in told], dtype=float)
    right = logistic([o.features for o in told], did, signs=RIGHT, weight=np.ones(len(told)))
    both = answerable(o.features for o in given) * right(o.features for o in given)
    every = np.array([o.correct for o in given], dtype=float)
    return Fit(answerable, right, *platt(np.log(both / (1 - both)), every, weight=np.ones(len(every))))


def curve(fitted_: Fit, given: Sequence[Outcome]) -> list[tuple[float, float, float]]:
    """For each threshold the share of wrong answers and of answerable questions answered."""
    near = [o for o in given if o.book.startswith("squad2_book")]
    chance = fitted_.chance(near)
    can, did = (np.array([getattr(o, name) for o in near]) for name in ("answerable", "correct"))
    points = []
    for limit in np.arange(0.0, 1.0, 0.01):
        kept, slipped = (chance[can] >= limit).mean(), (chance[~can] >= limit).mean()
        right = (did[can] & (chance[can] >= limit)).mean()
        answers = BEYOND * slipped + (1 - BEYOND) * kept
        wrong = 1 - (1 - BEYOND) * right / answers if answers else 0.0
        points.append((round(float(limit), 2), round(float(wrong), 4), round(float(kept), 4)))
    return points


def read_questions(suite: Path, name: str, limit: int) -> tuple[list[tuple[str, Path]], list[dict[str, Any]]]:
    base = suite / name
    if name == "squad2_book":
        texts = {r["context_id"]: r["text"] for r in rows(base / "contexts.jsonl")}
        items = [
            {**r, "gold": [texts[r["context_id"]]] if r["answerable"] else []}
            for r in rows(base / "qa.jsonl")
        ]
        return [(name, base / "book")], _some(items, limit)
    texts = {r["section_id"]: r["text"] for r in rows(base / "sections.jsonl")}
    books = [(re.sub(r"_html$", "", p.name.split(".")[0]), p) for p in sorted((base / "books").iterdir())]
    kept = [r for r in rows(base / "qa.jsonl") if r["book"] in dict(books)]
    items = [
        {**r, "answerable": True, "gold": [texts[g] for g in r["gold_sections"] if g in texts]} for r in kept
    ]
    return books, _some(items, limit // 2)


def _some(items: list[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    return sorted(items, key=lambda r: zlib.crc32(r["question"].encode()))[:limit]


async def outcomes(suite: Path, name: str, limit: int, data: Path) -> list[Outcome]:
    books, items = read_questions(suite, name, limit)
    found = []
    async with Library.open(data / name) as library:
        ids = {title: (await library.add(path, title=title)).id for title, path in books}
        context = await library._context()
        retriever = library._get_retriever(context)
        factory = AnswererFactory(library.settings, None)
        answerer = (await factory.choose(retriever, context.embedder)).answerer
        for item in items:
            bounds = await library._scope.resolve(Scope(), book_id=ids.get(item.get("book", "")))
            workspace = Workspace(item["question"], bounds, retriever, context.records)
            await workspace.search(item["question"], top_k=5)
            reply = await answerer.reply(item["question"], workspace)
            if reply.features:
                said = " ".join(claim.text for claim in reply.claims)
                right = bool(item["answerable"] and _right(said, item["answers"]))
                title = item.get("book") or item["title"]
                seen = await _passages(item, workspace, retriever)
                found.append(
                    Outcome(f"{name} {title}", item["answerable"], right, dict(reply.features), seen)
                )
    return found


async def _passages(
    item: dict[str, Any], workspace: Workspace, retriever: Any
) -> tuple[tuple[float, float, bool], ...]:
    """What was read for ranking, with whether it is a passage that the question was made from."""
    if not item["gold"]:
        return ()
    vector = await retriever.embed_query(item["question"])
    where = workspace.bounds.exclude(retriever._records.unpublished).where
    fused = select_reachable(
        fuse(await retriever._store.search(vector, item["question"], where=where, limit=50))
    )
    chunks = {id_: chunk for id_, (chunk, _) in (await retriever._load_chunks([f.id for f in fused])).items()}
    kept = [f for f in fused if f.id in chunks]
    scores: list[PassageScore] = await retriever.reranker.score_passages(
        item["question"], [chunks[f.id] for f in kept]
    )
    gold = covers(*item["gold"])
    return tuple((g.fit, f.score, gold(chunks[f.id])) for f, g in zip(kept, scores, strict=True))


def _right(said: str, golds: Sequence[str]) -> bool:
    """The rule of the suite's scorer: concise and containing the answer, or half of its words shared."""
    mine = bare(said)
    for gold in golds:
        words = bare(gold)
        same = sum((Counter(mine) & Counter(words)).values())
        if len(said.split()) <= CONCISE and words and f" {' '.join(words)} " in f" {' '.join(mine)} ":
            return True
        if same and 2 * same / (len(mine) + len(words)) >= 0.5:
            return True
    return False


def judge(name: str, chance: Numbers, sure: Numbers, given: Sequence[Outcome], limit: float) -> None:
    can, did = (np.array([getattr(o, part) for o in given]) for part in ("answerable", "correct"))
    kept = chance >= limit
    mixed = bool(can.any() and not can.all())
    figures = {
        "n": len(given),
        "auroc": auroc(sure, can) if mixed else float("nan"),
        "answered": kept[can].mean(),
        "refused": (~kept[~can]).mean() if mixed else float("nan"),
        "correct": (did & kept)[can].mean(),
        "ece": calibration_error(sure[kept], did[kept]),
    }
    print(f"{name:40}" + "".join(f"{k} {v:.3f}  " for k, v in figures.items()), flush=True)


def report_left_out(given: Sequence[Outcome], limit: float) -> None:
    """Each fifth of the articles and books, judged by a fit without it; then each set by a fit without it."""
    part = np.array([zlib.crc32(o.book.encode()) % 5 for o in given])
    chance, sure = np.zeros(len(given)), np.zeros(len(given))
    for n in range(5):
        made = fit([o for o, p in zip(given, part, strict=True) if p != n])
        here = np.flatnonzero(part == n).tolist()
        chance[here], sure[here] = (f([given[k] for k in here]) for f in (made.chance, made.confidence))
    for name in ("squad2_book", "fairytaleqa"):
        here = np.flatnonzero([o.book.startswith(name) for o in given]).tolist()
        judge(f"{name}, its books left out", chance[here], sure[here], [given[k] for k in here], limit)
    stories = [o for o in given if o.book.startswith("fairytaleqa")]
    made = fit([o for o in given if not o.book.startswith("fairytaleqa")])
    judge(
        "fairytaleqa, the whole set left out", made.chance(stories), made.confidence(stories), stories, limit
    )


def relevance(given: Sequence[Outcome]) -> list[float]:
    """Constant and weights of fit and first-stage score, for the chance that a passage is to the point."""
    seen = [p for o in given for p in o.passages]
    truth = np.array([p[2] for p in seen], dtype=float)
    features = [{"fit": p[0], "found": p[1]} for p in seen]
    made = logistic(features, truth, signs={"fit": 1, "found": 1}, weight=np.ones(len(seen)))
    return [round(float(x), 4) for x in (made.constant, *made.weights)]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("suite", type=Path)
    options.add_argument("--limit", type=int, default=1200)
    options.add_argument("--data", type=Path)
    options.add_argument("--write", action="store_true")
    said = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="octavo-fit-") as temporary:
        data = said.data or Path(temporary)
        given = [
            o
            for name in ("squad2_book", "fairytaleqa")
            for o in asyncio.run(outcomes(said.suite, name, said.limit, data))
        ]
    made = fit(given)
    points = curve(made, given)
    limit = next((t for t, wrong, _ in points if wrong <= RISK), 1.0)
    print(f"{len(given)} questions; threshold at risk {RISK}: {limit}")
    report_left_out(given, limit)
    if said.write:
        origin = {
            "made_by": COMMAND,
            "fitted_on": ["development suite: squad2_book", "development suite: fairytaleqa"],
        }
        ranking = {"version": 1, **origin, "weights": relevance(given)}
        RANKING.write_text(json.dumps(ranking, indent=1) + "\n", encoding="utf-8")
        stored = {
            "version": 2,
            **origin,
            "sentence": dict(load_calibration(reader=True).sentence.weights),
            "answerable": made.answerable.stored(),
            "right": made.right.stored(),
            "calibration": {"slope": round(made.slope, 4), "offset": round(made.offset, 4)},
            "curve": points,
        }
        text = re.sub(
            r"\[\s+([\d.]+),\s+([\d.]+),\s+([\d.]+)\s+\]", r"[\1, \2, \3]", json.dumps(stored, indent=1)
        )
        TARGET.write_text(text + "\n", encoding="utf-8")
        picture = draw_curve(points, risk=RISK, bad="that is wrong", command=COMMAND)
        PICTURE.write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
